//! Safe wrappers for NVML functions that nvml-wrapper does not cover, or whose results it truncates. All unsafe code of
//! the agent is here (decision 0017). Layouts and numbers are those of nvml-wrapper-sys.

#![expect(unsafe_code, reason = "raw calls of NVML, and the end of a process that hangs in one")]

use std::ffi::{c_int, c_uint};
use std::mem;

use nvml_wrapper::error::{NvmlError, nvml_sym, nvml_try};
use nvml_wrapper::{Device, EventSet, Nvml};
use nvml_wrapper_sys::bindings as sys;

/// As many fields as are asked for at once. NVML states no bound; its own tools ask for fewer.
pub(super) const FIELDS_MAX: usize = 64;

/// Remapped rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Rows {
    pub(super) corrected: u32,
    pub(super) uncorrected: u32,
    pub(super) pending: u32,
    pub(super) failed: u32,
}

/// Banks that have few spare rows left, and none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SpareRows {
    pub(super) low: u32,
    pub(super) none: u32,
}

/// Errors of the SRAM since the driver was loaded, and whether there were too many in the GPU's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sram {
    pub(super) corrected: u64,
    pub(super) uncorrected: u64,
    pub(super) over_threshold: bool,
}

/// What the fabric says of a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fabric {
    pub(super) cluster: [u8; 16],
    pub(super) clique: u32,
    pub(super) state: u8,
    pub(super) status: u32,
    pub(super) mask: u32,
}

/// Chassis, slot and tray of a GPU, as the rack reports them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RackLocation {
    pub(super) chassis: [u8; 16],
    pub(super) slot: u8,
    pub(super) tray: u8,
}

/// An event, by the handle of its GPU: one that fell off the bus tells not even its index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) handle: usize,
    pub(super) kind: u64,
    pub(super) data: u64,
    pub(super) gpu_instance: Option<u32>,
}

/// Calls a function that fills one struct or number.
macro_rules! fill {
    ($device:expr, $name:ident, $asked:expr) => {{
        let mut filled = $asked;
        let call = nvml_sym($device.nvml().lib().$name.as_ref())?;
        // SAFETY: the handle is of this library, which is open while the device lives; what is filled is of the type that
        // the function takes (or begins with it, where a version says so) and outlives the call.
        nvml_try(unsafe { call($device.handle(), (&raw mut filled).cast()) })?;
        Ok(filled)
    }};
}

fn zero<T: Copy>() -> T {
    // SAFETY: only used for plain structs of NVML, all numbers, unions and arrays of numbers, and pointers that may be null.
    unsafe { mem::zeroed() }
}

/// NVML's version of a struct: its size, and a number in the highest byte.
const fn version_of<T>(version: u32) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "NVML's structs are small")]
    let bytes = size_of::<T>() as u32;
    bytes | version << 24
}

/// How many rows were remapped, whether one waits for a reset, whether one could not be.
pub(super) fn remapped_rows(device: &Device<'_>) -> Result<Rows, NvmlError> {
    let mut rows = Rows::default();
    let call = nvml_sym(device.nvml().lib().nvmlDeviceGetRemappedRows.as_ref())?;
    let Rows { corrected, uncorrected, pending, failed } = &mut rows;
    // SAFETY: the handle is of this library; four numbers for four numbers.
    nvml_try(unsafe { call(device.handle(), corrected, uncorrected, pending, failed) })?;
    Ok(rows)
}

/// What is left of the spare rows, by bank.
pub(super) fn spare_rows(device: &Device<'_>) -> Result<SpareRows, NvmlError> {
    let rows: Result<_, NvmlError> =
        fill!(device, nvmlDeviceGetRowRemapperHistogram, zero::<sys::nvmlRowRemapperHistogramValues_t>());
    rows.map(|rows| SpareRows { low: rows.low, none: rows.none })
}

/// Errors of the SRAM.
pub(super) fn sram(device: &Device<'_>) -> Result<Sram, NvmlError> {
    let version = version_of::<sys::nvmlEccSramErrorStatus_v1_t>(1);
    let asked = sys::nvmlEccSramErrorStatus_v1_t { version, ..zero() };
    let found: Result<_, NvmlError> = fill!(device, nvmlDeviceGetSramEccErrorStatus, asked);
    found.map(|found| Sram {
        corrected: found.volatileCor,
        uncorrected: found.volatileUncParity.saturating_add(found.volatileUncSecDed),
        over_threshold: found.bThresholdExceeded != 0,
    })
}

/// What the fabric says of a GPU. Version 2 has everything that is used; older drivers know no newer one.
pub(super) fn fabric(device: &Device<'_>) -> Result<Fabric, NvmlError> {
    let asked = sys::nvmlGpuFabricInfo_v2_t { version: version_of::<sys::nvmlGpuFabricInfo_v2_t>(2), ..zero() };
    let found: Result<_, NvmlError> = fill!(device, nvmlDeviceGetGpuFabricInfoV, asked);
    found.map(|found| Fabric {
        cluster: found.clusterUuid,
        clique: found.cliqueId,
        state: found.state,
        status: found.status,
        mask: found.healthMask,
    })
}

/// Where a GPU sits in a rack that knows its places. Drivers before version 2 of the struct do not tell.
pub(super) fn seat(device: &Device<'_>) -> Result<RackLocation, NvmlError> {
    let asked = sys::nvmlPlatformInfo_v2_t { version: version_of::<sys::nvmlPlatformInfo_v2_t>(2), ..zero() };
    let found: Result<_, NvmlError> = fill!(device, nvmlDeviceGetPlatformInfo, asked);
    found.map(|found| RackLocation {
        chassis: found.chassisSerialNumber,
        slot: found.slotNumber,
        tray: found.trayIndex,
    })
}

/// How far the GPU is from slowing down, in degrees; below zero it does.
pub(super) fn margin(device: &Device<'_>) -> Result<i32, NvmlError> {
    let version = version_of::<sys::nvmlMarginTemperature_v1_t>(1);
    let asked = sys::nvmlMarginTemperature_v1_t { version, marginTemperature: 0 };
    let found: Result<_, NvmlError> = fill!(device, nvmlDeviceGetMarginTemperature, asked);
    found.map(|found| found.marginTemperature)
}

/// Its place on the baseboard.
pub(super) fn module_id(device: &Device<'_>) -> Result<u32, NvmlError> {
    fill!(device, nvmlDeviceGetModuleId, 0_u32)
}

/// Which kinds of events a GPU tells.
pub(super) fn event_kinds(device: &Device<'_>) -> Result<u64, NvmlError> {
    fill!(device, nvmlDeviceGetSupportedEventTypes, 0_u64)
}

/// Fields by number and scope (a link), each with its own answer: a number, or an `nvmlReturn_t`. At most [`FIELDS_MAX`].
pub(super) fn fields(device: &Device<'_>, wanted: &[(u32, u32)]) -> Result<Vec<Result<i64, u32>>, NvmlError> {
    let ask = |&(field, scope): &(u32, u32)| sys::nvmlFieldValue_t { fieldId: field, scopeId: scope, ..zero() };
    let mut values: Vec<sys::nvmlFieldValue_t> = wanted.iter().take(FIELDS_MAX).map(ask).collect();
    let count = c_int::try_from(values.len()).unwrap_or(0);
    let call = nvml_sym(device.nvml().lib().nvmlDeviceGetFieldValues.as_ref())?;
    // SAFETY: the handle is of this library, and there are as many structs as are said.
    nvml_try(unsafe { call(device.handle(), count, values.as_mut_ptr()) })?;
    Ok(values.iter().map(number).collect())
}

fn number(found: &sys::nvmlFieldValue_t) -> Result<i64, u32> {
    if found.nvmlReturn != sys::nvmlReturn_enum_NVML_SUCCESS {
        return Err(found.nvmlReturn);
    }
    // SAFETY: the type says which of them was written, and the struct was zero before; all of them are numbers.
    unsafe {
        match found.valueType {
            sys::nvmlValueType_enum_NVML_VALUE_TYPE_UNSIGNED_INT => Ok(found.value.uiVal.into()),
            sys::nvmlValueType_enum_NVML_VALUE_TYPE_SIGNED_INT => Ok(found.value.siVal.into()),
            sys::nvmlValueType_enum_NVML_VALUE_TYPE_UNSIGNED_SHORT => Ok(found.value.usVal.into()),
            sys::nvmlValueType_enum_NVML_VALUE_TYPE_UNSIGNED_LONG
            | sys::nvmlValueType_enum_NVML_VALUE_TYPE_UNSIGNED_LONG_LONG => {
                Ok(i64::try_from(found.value.ullVal).unwrap_or(i64::MAX))
            }
            sys::nvmlValueType_enum_NVML_VALUE_TYPE_SIGNED_LONG_LONG => Ok(found.value.sllVal),
            // A double is never a count.
            _ => Err(sys::nvmlReturn_enum_NVML_ERROR_NOT_SUPPORTED),
        }
    }
}

/// Registers for kinds that nvml-wrapper does not name.
pub(super) fn register(device: &Device<'_>, kinds: u64, set: &EventSet<'_>) -> Result<(), NvmlError> {
    let call = nvml_sym(device.nvml().lib().nvmlDeviceRegisterEvents.as_ref())?;
    // SAFETY: both handles are of this library and alive.
    nvml_try(unsafe { call(device.handle(), kinds, set.handle()) })
}

/// The next event with its kind and instance, which nvml-wrapper cuts to what it names.
pub(super) fn wait(nvml: &Nvml, set: &EventSet<'_>, timeout_millis: u32) -> Result<Event, NvmlError> {
    /// NVML's word for no MIG instance.
    const NO_INSTANCE: c_uint = c_uint::MAX;
    let mut data = zero::<sys::nvmlEventData_t>();
    let call = nvml_sym(nvml.lib().nvmlEventSetWait_v2.as_ref())?;
    // SAFETY: the set is of this library and alive, and the struct is of the type that the function takes.
    nvml_try(unsafe { call(set.handle(), &raw mut data, timeout_millis) })?;
    let gpu_instance = Some(data.gpuInstanceId).filter(|instance| *instance != NO_INSTANCE);
    Ok(Event { handle: data.device.addr(), kind: data.eventType, data: data.eventData, gpu_instance })
}

/// A device's handle as a number, to find it again in an event.
pub(super) fn handle(device: &Device<'_>) -> usize {
    // SAFETY: the pointer is looked at and not followed.
    unsafe { device.handle() }.addr()
}

/// Ends the process without the destructors of libraries: where a thread hangs within one of them, these would wait for it.
pub(crate) fn end_at_once(status: u8) -> ! {
    unsafe extern "C" {
        safe fn _exit(status: c_int) -> !;
    }
    _exit(status.into())
}
