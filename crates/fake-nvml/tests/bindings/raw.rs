//! What nvml-wrapper does not wrap, through its own table of functions.

#![expect(unsafe_code, reason = "raw calls of NVML, which is what is tested")]

use std::mem;

use nvml_wrapper::error::{NvmlError, nvml_try};
use nvml_wrapper::{Device, EventSet, Nvml};
use nvml_wrapper_sys::bindings as sys;
use serde_json::{Value, json};

use crate::reading::told;

/// A function of the table, or that it is not there.
macro_rules! function {
    ($nvml:expr, $name:ident) => {
        $nvml.lib().$name.as_ref().map_err(|error| NvmlError::FailedToLoadSymbol(error.to_string()))
    };
}

/// Calls a function that fills one struct.
macro_rules! fill {
    ($device:expr, $name:ident, $struct:expr) => {{
        let mut filled = $struct;
        // SAFETY: the struct is of the type that the function takes, and lives through the call.
        function!($device.nvml(), $name).and_then(|call| unsafe {
            nvml_try(call($device.handle(), (&raw mut filled).cast()))?;
            Ok(filled)
        })
    }};
}

fn zero<T: Copy>() -> T {
    // SAFETY: only used for the plain structs of NVML, all numbers and arrays of numbers.
    unsafe { mem::zeroed() }
}

pub(crate) const fn version<T>(version: u32) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "NVML's structs are small")]
    let size = size_of::<T>() as u32;
    size | version << 24
}

pub(crate) fn remapped_rows(device: &Device<'_>) -> Value {
    let mut rows = [0_u32; 4];
    let [corrected, uncorrected, pending, failed] = &mut rows;
    // SAFETY: four numbers for four numbers.
    let done = function!(device.nvml(), nvmlDeviceGetRemappedRows)
        .and_then(|call| unsafe { nvml_try(call(device.handle(), corrected, uncorrected, pending, failed)) });
    told(done.map(|()| rows))
}

pub(crate) fn histogram(device: &Device<'_>) -> Value {
    let found = fill!(device, nvmlDeviceGetRowRemapperHistogram, zero::<sys::nvmlRowRemapperHistogramValues_t>());
    told(found.map(|rows| {
        json!({ "max": rows.max, "high": rows.high, "partial": rows.partial, "low": rows.low, "none": rows.none })
    }))
}

pub(crate) fn sram(device: &Device<'_>, said: u32) -> Value {
    let asked = sys::nvmlEccSramErrorStatus_v1_t { version: said, ..zero() };
    told(fill!(device, nvmlDeviceGetSramEccErrorStatus, asked).map(|found| {
        json!({
            "aggregateUncParity": found.aggregateUncParity, "aggregateUncSecDed": found.aggregateUncSecDed,
            "aggregateCor": found.aggregateCor, "volatileUncParity": found.volatileUncParity,
            "volatileUncSecDed": found.volatileUncSecDed, "volatileCor": found.volatileCor,
            "aggregateUncBucketL2": found.aggregateUncBucketL2, "aggregateUncBucketSm": found.aggregateUncBucketSm,
            "aggregateUncBucketPcie": found.aggregateUncBucketPcie,
            "aggregateUncBucketMcu": found.aggregateUncBucketMcu,
            "aggregateUncBucketOther": found.aggregateUncBucketOther,
            "bThresholdExceeded": found.bThresholdExceeded,
        })
    }))
}

pub(crate) fn fabric(device: &Device<'_>, said: u32) -> Value {
    let asked = sys::nvmlGpuFabricInfo_v3_t { version: said, ..zero() };
    told(fill!(device, nvmlDeviceGetGpuFabricInfoV, asked).map(|found| {
        let mut told = json!({
            "clusterUuid": found.clusterUuid, "status": found.status, "cliqueId": found.cliqueId,
            "state": found.state, "healthMask": found.healthMask,
        });
        if said == version::<sys::nvmlGpuFabricInfo_v3_t>(3) {
            told["healthSummary"] = found.healthSummary.into();
        }
        told
    }))
}

pub(crate) fn platform(device: &Device<'_>, said: u32) -> Value {
    let asked = sys::nvmlPlatformInfo_v2_t { version: said, ..zero() };
    told(fill!(device, nvmlDeviceGetPlatformInfo, asked).map(|found| {
        let single = [found.slotNumber, found.trayIndex, found.hostId, found.peerType, found.moduleId];
        [found.ibGuid.as_slice(), &found.chassisSerialNumber, &single].concat()
    }))
}

pub(crate) fn margin(device: &Device<'_>, said: u32) -> Value {
    let asked = sys::nvmlMarginTemperature_v1_t { version: said, marginTemperature: 0 };
    told(fill!(device, nvmlDeviceGetMarginTemperature, asked).map(|found| found.marginTemperature))
}

pub(crate) fn temperature(device: &Device<'_>, said: u32) -> Value {
    let asked = sys::nvmlTemperature_v1_t { version: said, ..zero() };
    told(fill!(device, nvmlDeviceGetTemperatureV, asked).map(|found| found.temperature))
}

pub(crate) fn memory(device: &Device<'_>, said: u32) -> Value {
    let asked = sys::nvmlMemory_v2_t { version: said, ..zero() };
    told(fill!(device, nvmlDeviceGetMemoryInfo_v2, asked).map(|found| found.total))
}

pub(crate) fn pci_ext(device: &Device<'_>, said: u32) -> Value {
    let asked = sys::nvmlPciInfoExt_v1_t { version: said, ..zero() };
    told(fill!(device, nvmlDeviceGetPciInfoExt, asked).map(|found| found.bus))
}

pub(crate) fn module_id(device: &Device<'_>) -> Value {
    told(fill!(device, nvmlDeviceGetModuleId, 0_u32))
}

pub(crate) fn gpu_instance(device: &Device<'_>) -> Value {
    told(fill!(device, nvmlDeviceGetGpuInstanceId, 0_u32))
}

pub(crate) fn compute_instance(device: &Device<'_>) -> Value {
    told(fill!(device, nvmlDeviceGetComputeInstanceId, 0_u32))
}

pub(crate) fn event_kinds(device: &Device<'_>) -> Result<u64, NvmlError> {
    fill!(device, nvmlDeviceGetSupportedEventTypes, 0_u64)
}

/// nvml-wrapper 0.13 has this call, but lets the library write into a copy that it drops: it always answers `Unknown`.
pub(crate) fn remote_device_type(device: &Device<'_>, link: u32) -> Value {
    let mut kind = 0;
    // SAFETY: one number for one number.
    let done = function!(device.nvml(), nvmlDeviceGetNvLinkRemoteDeviceType)
        .and_then(|call| unsafe { nvml_try(call(device.handle(), link, &raw mut kind)) });
    told(done.map(|()| kind))
}

/// The legacy PCI id, which nvml-wrapper drops.
pub(crate) fn legacy_bus_id(device: &Device<'_>, link: Option<u32>) -> Value {
    let mut info = zero::<sys::nvmlPciInfo_t>();
    // SAFETY: the struct is of the type that the functions take.
    let done = match link {
        None => function!(device.nvml(), nvmlDeviceGetPciInfo_v3)
            .and_then(|call| unsafe { nvml_try(call(device.handle(), &raw mut info)) }),
        Some(link) => function!(device.nvml(), nvmlDeviceGetNvLinkRemotePciInfo_v2)
            .and_then(|call| unsafe { nvml_try(call(device.handle(), link, &raw mut info)) }),
    };
    let text = info.busIdLegacy.iter().take_while(|byte| **byte != 0).map(|byte| char::from(byte.to_ne_bytes()[0]));
    told(done.map(|()| text.collect::<String>()))
}

pub(crate) fn fields(device: &Device<'_>, wanted: &[(u32, u32)]) -> Value {
    let ask = |&(field, scope)| sys::nvmlFieldValue_t { fieldId: field, scopeId: scope, ..zero() };
    let mut values: Vec<sys::nvmlFieldValue_t> = wanted.iter().map(ask).collect();
    let count = i32::try_from(values.len()).unwrap_or(0);
    // SAFETY: as many structs as are said.
    let done = function!(device.nvml(), nvmlDeviceGetFieldValues)
        .and_then(|call| unsafe { nvml_try(call(device.handle(), count, values.as_mut_ptr())) });
    told(done.map(|()| values.iter().map(field).collect::<Vec<Value>>()))
}

fn field(found: &sys::nvmlFieldValue_t) -> Value {
    if found.nvmlReturn != sys::nvmlReturn_enum_NVML_SUCCESS {
        return json!({ "error": found.nvmlReturn });
    }
    // SAFETY: the type says which of them it is; all are numbers.
    let value = unsafe {
        match found.valueType {
            sys::nvmlValueType_enum_NVML_VALUE_TYPE_UNSIGNED_INT => json!(found.value.uiVal),
            sys::nvmlValueType_enum_NVML_VALUE_TYPE_UNSIGNED_LONG_LONG => json!(found.value.ullVal),
            sys::nvmlValueType_enum_NVML_VALUE_TYPE_SIGNED_INT => json!(found.value.siVal),
            _ => json!(null),
        }
    };
    json!([found.valueType, value])
}

/// Registers for kinds that nvml-wrapper does not name.
pub(crate) fn register(device: &Device<'_>, kinds: u64, set: &EventSet<'_>) -> Result<(), NvmlError> {
    // SAFETY: both handles are of this library and alive.
    function!(device.nvml(), nvmlDeviceRegisterEvents)
        .and_then(|call| unsafe { nvml_try(call(device.handle(), kinds, set.handle())) })
}

/// The next event with its kind, which nvml-wrapper cuts to those it names.
pub(crate) fn wait(nvml: &Nvml, set: &EventSet<'_>, timeout_ms: u32) -> Result<(Option<u32>, u64, u64), NvmlError> {
    let mut data = zero::<sys::nvmlEventData_t>();
    // SAFETY: the set is alive, the struct is of the type that the function takes, and the device is one that it named.
    function!(nvml, nvmlEventSetWait_v2).and_then(|call| unsafe {
        nvml_try(call(set.handle(), &raw mut data, timeout_ms))?;
        let device = Device::new(data.device, nvml);
        Ok((device.index().ok(), data.eventType, data.eventData))
    })
}

/// A call with a handle that nobody gave out.
pub(crate) fn name_of_nobody(nvml: &Nvml) -> Value {
    let mut room = [0_u8; 96];
    // SAFETY: the buffer is as long as is said; the handle is refused before anything is done with it.
    let done = function!(nvml, nvmlDeviceGetName)
        .and_then(|call| unsafe { nvml_try(call(std::ptr::without_provenance_mut(64), room.as_mut_ptr().cast(), 96)) });
    told(done)
}

/// The name into a buffer of this length.
pub(crate) fn name_into(device: &Device<'_>, length: u32) -> Value {
    let mut room = [0_u8; 96];
    // SAFETY: the buffer is longer than any length that a test says.
    let done = function!(device.nvml(), nvmlDeviceGetName)
        .and_then(|call| unsafe { nvml_try(call(device.handle(), room.as_mut_ptr().cast(), length.min(96))) });
    told(done)
}

/// One `nvmlShutdown`, whoever opened.
pub(crate) fn shutdown_once(nvml: &Nvml) {
    // SAFETY: it takes nothing.
    if let Ok(call) = function!(nvml, nvmlShutdown) {
        unsafe { call() };
    }
}
