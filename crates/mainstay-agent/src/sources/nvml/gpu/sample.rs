//! Reads the states and counters of one GPU once.

use mainstay_signal::{FabricFault, Flag, HotComponent, Link, Load, Memory, NvlinkCounter, Reading, Slowdown};
use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{Clock, EccCounter, MemoryError, MemoryLocation, TemperatureSensor};
use nvml_wrapper_sys::bindings as sys;
use nvml_wrapper_sys::bindings::field_id as id;

use super::super::ffi::{self, FIELDS_MAX};
use super::super::snapshot::{GpuStatus, MigStatus};
use super::{GpuHandle, QueryError, optional, watts};

/// A GPU is cut into at most seven.
const INSTANCES_MAX: u32 = 8;

/// States and counters of one GPU at one poll.
#[derive(Debug, Default)]
pub(in super::super) struct GpuSample {
    pub(in super::super) readings: Vec<Reading>,
    pub(in super::super) now: GpuStatus,
    pub(in super::super) load: Option<Load>,
    /// Links by whether they are up.
    pub(in super::super) links: Vec<(u16, Link)>,
    /// Whether the fabric says that this GPU is part of it; nothing where there is none.
    pub(in super::super) in_fabric: Option<Link>,
    /// What could not be read, of what should be readable.
    pub(in super::super) trouble: Option<String>,
}

// === impl GpuSample ===

impl GpuSample {
    fn nvlink_count(&mut self, link: u16, counter: NvlinkCounter, count: u64) {
        add(&mut self.now.nvlink_errors, count);
        self.readings.push(Reading::NvlinkCount(link, counter, count));
    }
}

/// Adds to a sum of the counters that a GPU has; without any of them there is no sum.
fn add(sum: &mut Option<u64>, count: u64) {
    *sum = Some(sum.unwrap_or(0).saturating_add(count));
}

// === impl GpuHandle ===

impl GpuHandle<'_> {
    /// Its states and counters.
    pub(in super::super) fn look(&mut self, watts_wanted: Option<u32>) -> Result<GpuSample, QueryError> {
        let mut look = GpuSample::default();
        look.now.index = u32::from(self.gpu.index);
        look.now.uuid = self.gpu.uuid.to_string();
        look.now.pci = self.gpu.pci.to_string();
        self.memory(&mut look)?;
        self.running(&mut look, watts_wanted)?;
        self.fields(&mut look)?;
        self.cut(&mut look)?;
        self.fabric(&mut look)?;
        Ok(look)
    }

    fn memory(&self, look: &mut GpuSample) -> Result<(), QueryError> {
        let device = &self.device;
        for (kind, place, memory) in [
            (MemoryError::Uncorrected, MemoryLocation::Device, Memory::Dram),
            (MemoryError::Corrected, MemoryLocation::Device, Memory::Dram),
        ] {
            let count = device.memory_error_counter(kind, EccCounter::Volatile, place);
            if let Some(count) = optional(count, &mut look.trouble)? {
                look.readings.push(match kind {
                    MemoryError::Uncorrected => Reading::EccUncorrected(memory, count),
                    MemoryError::Corrected => Reading::EccCorrected(memory, count),
                });
            }
        }
        if let Some(sram) = optional(ffi::sram(device), &mut look.trouble)? {
            look.readings.extend([
                Reading::EccUncorrected(Memory::Sram, sram.uncorrected),
                Reading::EccCorrected(Memory::Sram, sram.corrected),
                Reading::SramThreshold(flag(sram.over_threshold)),
            ]);
        }
        for reading in &look.readings {
            if let Reading::EccCorrected(_, count) = reading {
                add(&mut look.now.ecc_corrected, *count);
            }
            if let Reading::EccUncorrected(_, count) = reading {
                add(&mut look.now.ecc_uncorrected, *count);
            }
        }
        if let Some(memory) = optional(device.memory_info(), &mut look.trouble)? {
            (look.now.memory_used_bytes, look.now.memory_size_bytes) = (Some(memory.used), Some(memory.total));
        }
        if let Some(rows) = optional(ffi::remapped_rows(device), &mut look.trouble)? {
            look.now.remapped_rows = Some(rows.corrected.saturating_add(rows.uncorrected));
            look.readings.push(Reading::RemapPending(flag(rows.pending != 0)));
            look.readings.push(Reading::RemapFailed(flag(rows.failed != 0)));
        }
        if let Some(rows) = optional(ffi::spare_rows(device), &mut look.trouble)? {
            look.readings.push(Reading::SpareRows { low: rows.low, none: rows.none });
        }
        Ok(())
    }

    fn running(&self, look: &mut GpuSample, watts_wanted: Option<u32>) -> Result<(), QueryError> {
        let device = &self.device;
        if let Some(reasons) = optional(device.current_throttle_reasons(), &mut look.trouble)? {
            look.now.clock_reasons = Some(reasons.bits());
            for (bit, why) in [
                (ThrottleReasons::HW_SLOWDOWN, Slowdown::Hardware),
                (ThrottleReasons::HW_THERMAL_SLOWDOWN, Slowdown::Thermal),
                (ThrottleReasons::SW_THERMAL_SLOWDOWN, Slowdown::SoftwareThermal),
                (ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN, Slowdown::PowerBrake),
            ] {
                look.readings.push(Reading::Slowdown(why, flag(reasons.contains(bit))));
            }
        }
        look.now.celsius = optional(device.temperature(TemperatureSensor::Gpu), &mut look.trouble)?;
        look.now.margin_celsius = optional(ffi::margin(device), &mut look.trouble)?;
        if let (Some(celsius), Some(max)) = (look.now.celsius, self.chip_max) {
            look.readings.push(Reading::TooHot(HotComponent::Chip, flag(celsius > max)));
        }
        look.now.watts = optional(device.power_usage(), &mut look.trouble)?.map(watts);
        look.now.watts_default = self.watts_default;
        look.now.watts_enforced = optional(device.enforced_power_limit(), &mut look.trouble)?.map(watts);
        if let (Some(enforced_watts), Some(wanted_watts)) =
            (look.now.watts_enforced, watts_wanted.or(self.watts_default))
        {
            look.readings.push(Reading::PowerLimit { enforced_watts, wanted_watts });
        }
        look.now.sm_mhz = optional(device.clock_info(Clock::SM), &mut look.trouble)?;
        look.now.sm_mhz_max = self.sm_mhz_max;
        if let Some(busy) = optional(device.utilization_rates(), &mut look.trouble)? {
            look.now.busy_percent = Some(busy.gpu);
            look.load = Some(if busy.gpu > 0 { Load::Busy } else { Load::Idle });
        }
        Ok(())
    }

    fn fields(&mut self, look: &mut GpuSample) -> Result<(), QueryError> {
        look.now.links = u32::from(self.links);
        let mut unsupported = Vec::new();
        for part in self.wanted.chunks(FIELDS_MAX) {
            let Some(values) = optional(ffi::fields(&self.device, part), &mut look.trouble)? else { continue };
            for (&(field, scope), value) in part.iter().zip(values) {
                match value {
                    Ok(value) => self.field(field, scope, value, look),
                    Err(sys::nvmlReturn_enum_NVML_ERROR_GPU_IS_LOST) => return Err(QueryError::Gpu),
                    Err(
                        sys::nvmlReturn_enum_NVML_ERROR_NOT_SUPPORTED
                        | sys::nvmlReturn_enum_NVML_ERROR_INVALID_ARGUMENT,
                    ) => unsupported.push((field, scope)),
                    Err(_) => {}
                }
            }
        }
        self.wanted.retain(|asked| !unsupported.contains(asked));
        Ok(())
    }

    fn field(&self, field: u32, scope: u32, value: i64, look: &mut GpuSample) {
        let (count, link) = (u64::try_from(value).unwrap_or(0), u16::try_from(scope).unwrap_or(u16::MAX));
        match field {
            id::NVML_FI_DEV_GET_GPU_RECOVERY_ACTION => {
                let action = u32::try_from(value).unwrap_or(u32::MAX);
                look.now.recovery_action = Some(action);
                look.readings.push(Reading::RecoveryAction(action));
            }
            id::NVML_FI_DEV_MEMORY_TEMP => {
                look.now.memory_celsius = u32::try_from(value).ok();
                if let (Some(celsius), Some(max)) = (look.now.memory_celsius, self.memory_max) {
                    look.readings.push(Reading::TooHot(HotComponent::Memory, flag(celsius > max)));
                }
            }
            id::NVML_FI_DEV_PCIE_REPLAY_COUNTER => {
                look.now.pcie_replays = Some(count);
                look.readings.push(Reading::PcieReplays(count));
            }
            id::NVML_FI_DEV_PCIE_COUNT_TX_BYTES => look.now.pcie_transmit_bytes = Some(count),
            id::NVML_FI_DEV_PCIE_COUNT_RX_BYTES => look.now.pcie_receive_bytes = Some(count),
            // Where thresholds are told as distances alone.
            id::NVML_FI_DEV_TEMPERATURE_GPU_MAX_TLIMIT => {
                if let (Some(margin), None) = (look.now.margin_celsius, self.chip_max) {
                    look.readings.push(Reading::TooHot(HotComponent::Chip, flag(i64::from(margin) < value)));
                }
            }
            id::NVML_FI_DEV_NVLINK_GET_STATE => {
                let up = value != i64::from(sys::NVML_NVLINK_STATE_INACTIVE);
                look.now.links_up += u32::from(up);
                look.links.push((link, if up { Link::Up } else { Link::Down }));
            }
            id::NVML_FI_DEV_NVLINK_ERROR_DL_CRC => look.nvlink_count(link, NvlinkCounter::Crc, count),
            id::NVML_FI_DEV_NVLINK_ERROR_DL_RECOVERY | id::NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS => {
                look.nvlink_count(link, NvlinkCounter::Recovery, count);
            }
            id::NVML_FI_DEV_NVLINK_COUNT_EFFECTIVE_ERRORS => {
                look.nvlink_count(link, NvlinkCounter::Effective, count);
            }
            _ => {}
        }
    }

    fn cut(&self, look: &mut GpuSample) -> Result<(), QueryError> {
        let Some(mode) = optional(self.device.mig_mode(), &mut look.trouble)? else { return Ok(()) };
        let mut mig = MigStatus { enabled: mode.current == 1, pending: mode.pending == 1, instances: Vec::new() };
        if mig.enabled {
            for index in 0..INSTANCES_MAX {
                // The places of instances that were taken away are empty.
                let instance = optional(self.device.mig_device_by_index(index), &mut look.trouble)?;
                let Some(instance) = instance else { continue };
                mig.instances.extend(optional(instance.uuid(), &mut look.trouble)?);
            }
        }
        look.now.mig = Some(mig);
        Ok(())
    }

    fn fabric(&self, look: &mut GpuSample) -> Result<(), QueryError> {
        let Some(fabric) = optional(ffi::fabric(&self.device), &mut look.trouble)? else { return Ok(()) };
        match u32::from(fabric.state) {
            sys::NVML_GPU_FABRIC_STATE_NOT_SUPPORTED => return Ok(()),
            sys::NVML_GPU_FABRIC_STATE_COMPLETED if fabric.status == sys::nvmlReturn_enum_NVML_SUCCESS => {
                look.in_fabric = Some(Link::Up);
            }
            // Not begun, under way, or ended with an error: who registers GPUs did not.
            _ => look.in_fabric = Some(Link::Down),
        }
        let cluster: String = fabric.cluster.iter().map(|byte| format!("{byte:02x}")).collect();
        look.now.fabric = Some(format!("{cluster}/{}", fabric.clique));
        look.readings.extend(FabricFault::ALL.map(|fault| Reading::Fabric(fault, flag(says(fabric.mask, fault)))));
        Ok(())
    }
}

/// Whether a mask of `NVML_GPU_FABRIC_HEALTH_MASK_…` says so: 1 is true, except of the configuration, where 1 is right.
fn says(mask: u32, fault: FabricFault) -> bool {
    let of = |shift: u32, width: u32| mask >> shift & width;
    let set = |shift, width| of(shift, width) == sys::NVML_GPU_FABRIC_HEALTH_MASK_DEGRADED_BW_TRUE;
    match fault {
        FabricFault::Bandwidth => {
            set(sys::NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_DEGRADED_BW, sys::NVML_GPU_FABRIC_HEALTH_MASK_WIDTH_DEGRADED_BW)
        }
        FabricFault::RouteRecovery => set(
            sys::NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_ROUTE_RECOVERY,
            sys::NVML_GPU_FABRIC_HEALTH_MASK_WIDTH_ROUTE_RECOVERY,
        ),
        FabricFault::Route => set(
            sys::NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_ROUTE_UNHEALTHY,
            sys::NVML_GPU_FABRIC_HEALTH_MASK_WIDTH_ROUTE_UNHEALTHY,
        ),
        FabricFault::AccessTimeout => set(
            sys::NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_ACCESS_TIMEOUT_RECOVERY,
            sys::NVML_GPU_FABRIC_HEALTH_MASK_WIDTH_ACCESS_TIMEOUT_RECOVERY,
        ),
        FabricFault::Configuration => {
            let configuration = of(
                sys::NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_INCORRECT_CONFIGURATION,
                sys::NVML_GPU_FABRIC_HEALTH_MASK_WIDTH_INCORRECT_CONFIGURATION,
            );
            configuration > sys::NVML_GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_NONE
        }
    }
}

const fn flag(set: bool) -> Flag {
    if set { Flag::Set } else { Flag::Clear }
}
