//! One GPU in NVML: its identity, read once, and a sample at every poll (`gpu/sample.rs`). Values that a GPU does not
//! support are left out. An error that means a lost GPU or driver ends the poll.

mod sample;

use mainstay_model::{Gpu, GpuUuid, PciAddress, Serial, TextError};
use mainstay_signal::Place;
use nvml_wrapper::Device;
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureThreshold};
use nvml_wrapper::error::NvmlError;
use nvml_wrapper_sys::bindings::field_id as id;

pub(super) use sample::GpuSample;

use super::ffi;
use crate::text;

/// NVML's own bound, `NVML_NVLINK_MAX_LINKS`.
const LINKS_MAX: u16 = 18;

/// What is asked of every link. Before NVLink 5 checksums and recoveries are counted under other numbers than since.
const OF_LINKS: [u32; 5] = [
    id::NVML_FI_DEV_NVLINK_GET_STATE,
    id::NVML_FI_DEV_NVLINK_ERROR_DL_CRC,
    id::NVML_FI_DEV_NVLINK_ERROR_DL_RECOVERY,
    id::NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS,
    id::NVML_FI_DEV_NVLINK_COUNT_EFFECTIVE_ERRORS,
];

/// Why a query failed: this GPU, or the whole driver, no longer responds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QueryError {
    /// This GPU does not answer, or not before it is reset.
    Gpu,
    /// The driver does not.
    Driver,
}

/// An open NVML device with its identity, limits and supported fields.
#[derive(Debug)]
pub(super) struct GpuHandle<'nvml> {
    pub(super) device: Device<'nvml>,
    pub(super) gpu: Gpu,
    pub(super) place: Place,
    pub(super) product: Option<String>,
    pub(super) board: Option<String>,
    pub(super) vbios: Option<String>,
    pub(super) gsp: Option<String>,
    /// Chassis, slot and tray, of a rack that knows its places.
    pub(super) seat: Option<String>,
    watts_default: Option<u32>,
    sm_mhz_max: Option<u32>,
    chip_max: Option<u32>,
    memory_max: Option<u32>,
    links: u16,
    /// Fields that it may answer; those that it does not support are asked once.
    wanted: Vec<(u32, u32)>,
}

fn words_of(seat: &ffi::RackLocation) -> String {
    let chassis = seat.chassis.split(|byte| *byte == 0).next().unwrap_or_default();
    let chassis = text::token(&String::from_utf8_lossy(chassis), seat.chassis.len());
    format!("{chassis} slot {} tray {}", seat.slot, seat.tray)
}

/// What an answer means. What this GPU or this driver does not have is no answer; what fails is told.
pub(super) fn optional<T>(answer: Result<T, NvmlError>, trouble: &mut Option<String>) -> Result<Option<T>, QueryError> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(NvmlError::GpuLost | NvmlError::ResetRequired | NvmlError::IrqIssue) => Err(QueryError::Gpu),
        Err(NvmlError::DriverNotLoaded | NvmlError::Uninitialized | NvmlError::LibRmVersionMismatch) => {
            Err(QueryError::Driver)
        }
        Err(
            NvmlError::NotSupported
            | NvmlError::FunctionNotFound
            | NvmlError::FailedToLoadSymbol(_)
            | NvmlError::NoData
            | NvmlError::NotFound
            | NvmlError::InvalidArg
            | NvmlError::UnexpectedVariant(_),
        ) => Ok(None),
        Err(error) => {
            trouble.get_or_insert_with(|| error.to_string());
            Ok(None)
        }
    }
}

// === impl GpuHandle ===

impl<'nvml> GpuHandle<'nvml> {
    /// Everything about a GPU that does not change while the driver is loaded.
    pub(super) fn open(device: Device<'nvml>, index: u32) -> Result<Option<Self>, QueryError> {
        let mut trouble = None;
        let pci = optional(device.pci_info(), &mut trouble)?.map(|info| Place::pci_or_node(&info.bus_id));
        let Some(Place::Pci(pci)) = pci else { return Ok(None) };
        let uuid = optional(device.uuid(), &mut trouble)?.unwrap_or_else(|| format!("GPU-at-{pci}"));
        // Cards for the desktop have no serial; the driver's id is as lasting as one.
        let serial = optional(device.serial(), &mut trouble)?.filter(|serial| serial.chars().any(|c| c != '0'));
        let serial = serial.unwrap_or_else(|| uuid.clone());
        let serial = name(&serial, Serial::BYTES_MAX, &pci, Serial::parse);
        let (Some(serial), Some(uuid)) = (serial, name(&uuid, GpuUuid::BYTES_MAX, &pci, GpuUuid::parse)) else {
            return Ok(None);
        };
        let gpu = Gpu { index: u16::try_from(index).unwrap_or(u16::MAX), serial, uuid, pci: pci.clone() };
        let mut met = Self {
            product: optional(device.name(), &mut trouble)?,
            board: optional(device.board_part_number(), &mut trouble)?,
            vbios: optional(device.vbios_version(), &mut trouble)?,
            gsp: optional(device.gsp_firmware_version(), &mut trouble)?,
            seat: optional(ffi::seat(&device), &mut trouble)?.map(|seat| words_of(&seat)),
            watts_default: optional(device.power_management_limit_default(), &mut trouble)?.map(watts),
            sm_mhz_max: optional(device.max_clock_info(Clock::SM), &mut trouble)?,
            chip_max: optional(device.temperature_threshold(TemperatureThreshold::GpuMax), &mut trouble)?,
            memory_max: optional(device.temperature_threshold(TemperatureThreshold::MemoryMax), &mut trouble)?,
            links: 0,
            wanted: Vec::new(),
            place: Place::Pci(pci),
            gpu,
            device,
        };
        met.plan(&mut trouble)?;
        Ok(Some(met))
    }

    /// Which fields to ask for.
    fn plan(&mut self, trouble: &mut Option<String>) -> Result<(), QueryError> {
        let count = optional(ffi::fields(&self.device, &[(id::NVML_FI_DEV_NVLINK_LINK_COUNT, 0)]), trouble)?;
        let count = count.and_then(|values| values.first().copied()?.ok()).unwrap_or(0);
        self.links = u16::try_from(count).unwrap_or(0).min(LINKS_MAX);
        self.wanted = [
            id::NVML_FI_DEV_GET_GPU_RECOVERY_ACTION,
            id::NVML_FI_DEV_MEMORY_TEMP,
            id::NVML_FI_DEV_PCIE_REPLAY_COUNTER,
            // `nvmlDeviceGetPcieThroughput` would block for 20 ms in each direction.
            id::NVML_FI_DEV_PCIE_COUNT_TX_BYTES,
            id::NVML_FI_DEV_PCIE_COUNT_RX_BYTES,
            id::NVML_FI_DEV_TEMPERATURE_GPU_MAX_TLIMIT,
        ]
        .map(|field| (field, 0))
        .to_vec();
        for link in 0..u32::from(self.links) {
            self.wanted.extend(OF_LINKS.map(|field| (field, link)));
        }
        Ok(())
    }

    /// Gives it a serial of its own where two GPUs of one board have the board's.
    pub(super) fn tell_apart(&mut self) {
        let module = ffi::module_id(&self.device).unwrap_or_else(|_| u32::from(self.gpu.index));
        let text = text::token(&format!("{}/{module}", self.gpu.serial), Serial::BYTES_MAX);
        if let Ok(serial) = Serial::parse(&text) {
            self.gpu.serial = serial;
        }
    }

    /// What the driver wants done with it: told apart from the look, because an event says only that it changed.
    pub(super) fn recovery_action(&self) -> Result<Option<u32>, QueryError> {
        let field = [(id::NVML_FI_DEV_GET_GPU_RECOVERY_ACTION, 0)];
        let values = optional(ffi::fields(&self.device, &field), &mut None)?;
        Ok(values.and_then(|values| values.first().copied()?.ok()).and_then(|action| u32::try_from(action).ok()))
    }
}

/// A name that the model takes; the place where it does not.
fn name<T>(words: &str, bytes_max: usize, pci: &PciAddress, parse: impl Fn(&str) -> Result<T, TextError>) -> Option<T> {
    parse(&text::token(words, bytes_max)).or_else(|_| parse(pci.as_str())).ok()
}

const fn watts(milliwatts: u32) -> u32 {
    milliwatts / 1_000
}
