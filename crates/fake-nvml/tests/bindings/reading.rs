//! Everything that an agent reads, through nvml-wrapper, as JSON under the names of NVML's functions; `read.py` does the
//! same with NVIDIA's binding.

use nvml_wrapper::enum_wrappers::device::{
    Clock, EccCounter, MemoryError, MemoryLocation, PerformanceState, TemperatureSensor, TemperatureThreshold,
};
use nvml_wrapper::enum_wrappers::nv_link::ErrorCounter;
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::struct_wrappers::device::PciInfo;
use nvml_wrapper::{Device, Nvml};
use nvml_wrapper_sys::bindings as sys;
use serde::Serialize;
use serde_json::{Value, json};

use crate::raw;

const LIFES: [EccCounter; 2] = [EccCounter::Volatile, EccCounter::Aggregate];
const KINDS: [MemoryError; 2] = [MemoryError::Corrected, MemoryError::Uncorrected];

/// What a call answered, or the number of its error.
pub(crate) fn told<T: Serialize>(answer: Result<T, NvmlError>) -> Value {
    match answer {
        Ok(value) => json!(value),
        Err(error) => json!({ "error": number(&error) }),
    }
}

/// The `nvmlReturn_t` that an error came from.
#[expect(clippy::wildcard_enum_match_arm, reason = "the others are nvml-wrapper's own and have no number")]
pub(crate) fn number(error: &NvmlError) -> u32 {
    match error {
        NvmlError::Uninitialized => 1,
        NvmlError::InvalidArg => 2,
        NvmlError::NotSupported => 3,
        NvmlError::NoPermission => 4,
        NvmlError::NotFound => 6,
        NvmlError::InsufficientSize(_) => 7,
        NvmlError::DriverNotLoaded => 9,
        NvmlError::Timeout => 10,
        NvmlError::FailedToLoadSymbol(_) | NvmlError::FunctionNotFound => 13,
        NvmlError::GpuLost => 15,
        NvmlError::ResetRequired => 16,
        NvmlError::LibRmVersionMismatch => 18,
        NvmlError::InUse => 19,
        NvmlError::UnexpectedVariant(code) => *code,
        NvmlError::Unknown => 999,
        _ => u32::MAX,
    }
}

/// The fields that are read: every number that NVML 13.0 has and two beyond, and links one by one and together.
pub(crate) fn wanted() -> Vec<(u32, u32)> {
    let scopes = [3, 17, 18, u32::MAX];
    let every = (0..=275).map(|field| (field, 0));
    let linked = (161..=172).chain(201..=222).flat_map(|field| scopes.map(|scope| (field, scope)));
    every.chain(linked).collect()
}

pub(crate) fn read(nvml: &Nvml) -> Value {
    let count = nvml.device_count();
    let gpus: Vec<Value> = (0..count.as_ref().copied().unwrap_or(0)).map(|index| gpu(nvml, index)).collect();
    json!({
        "system": {
            "nvmlSystemGetDriverVersion": told(nvml.sys_driver_version()),
            "nvmlSystemGetNVMLVersion": told(nvml.sys_nvml_version()),
            "nvmlSystemGetCudaDriverVersion_v2": told(nvml.sys_cuda_driver_version()),
            "nvmlDeviceGetCount_v2": told(count),
        },
        "gpus": gpus,
    })
}

fn gpu(nvml: &Nvml, index: u32) -> Value {
    let device = match nvml.device_by_index(index) {
        Ok(device) => device,
        Err(error) => return told(Err::<(), _>(error)),
    };
    let mut found = identity(&device);
    for (name, value) in running(&device).into_iter().chain(health(&device)) {
        found[name] = value;
    }
    found["links"] = (0..19).map(|index| link(&device, index)).collect();
    found["fields"] = raw::fields(&device, &wanted());
    let instances = (0..8).map(|at| match device.mig_device_by_index(at) {
        Ok(device) => instance(&device),
        Err(error) => told(Err::<(), _>(error)),
    });
    found["instances"] = instances.collect();
    found
}

fn identity(device: &Device<'_>) -> Value {
    json!({
        "nvmlDeviceGetIndex": told(device.index()),
        "nvmlDeviceGetName": told(device.name()),
        "nvmlDeviceGetUUID": told(device.uuid()),
        "nvmlDeviceGetSerial": told(device.serial()),
        "nvmlDeviceGetBoardPartNumber": told(device.board_part_number()),
        "nvmlDeviceGetVbiosVersion": told(device.vbios_version()),
        "nvmlDeviceGetInforomImageVersion": told(device.info_rom_image_version()),
        "nvmlDeviceGetGspFirmwareVersion": told(device.gsp_firmware_version()),
        "nvmlDeviceGetArchitecture": told(device.architecture().map(|architecture| architecture.as_c())),
        "nvmlDeviceGetCudaComputeCapability": told(device.cuda_compute_capability().map(|is| [is.major, is.minor])),
        "nvmlDeviceGetMinorNumber": told(device.minor_number()),
        "nvmlDeviceGetModuleId": raw::module_id(device),
        "nvmlDeviceGetPciInfo_v3": told(device.pci_info().map(|info| pci(&info, &raw::legacy_bus_id(device, None)))),
        "nvmlDeviceGetGpuFabricInfoV": {
            "v2": raw::fabric(device, raw::version::<sys::nvmlGpuFabricInfo_v2_t>(2)),
            "v3": raw::fabric(device, raw::version::<sys::nvmlGpuFabricInfo_v3_t>(3)),
        },
        "nvmlDeviceGetPlatformInfo": raw::platform(device, raw::version::<sys::nvmlPlatformInfo_v2_t>(2)),
        "nvmlDeviceGetMigMode": told(device.mig_mode().map(|mode| [mode.current, mode.pending])),
        "nvmlDeviceGetMaxMigDeviceCount": told(device.mig_device_count()),
        "nvmlDeviceGetSupportedEventTypes": told(raw::event_kinds(device)),
        "nvmlDeviceGetComputeRunningProcesses_v3": told(device.running_compute_processes().map(|running| {
            running.iter().map(|one| json!([one.pid, memory_of(&one.used_gpu_memory)])).collect::<Vec<_>>()
        })),
    })
}

fn running(device: &Device<'_>) -> Vec<(&'static str, Value)> {
    let clocks = [Clock::Graphics, Clock::SM, Clock::Memory, Clock::Video];
    let thresholds = [
        TemperatureThreshold::Shutdown,
        TemperatureThreshold::Slowdown,
        TemperatureThreshold::MemoryMax,
        TemperatureThreshold::GpuMax,
    ];
    let list = |values: Vec<Value>| Value::from(values);
    vec![
        ("nvmlDeviceGetClockInfo", list(clocks.iter().map(|kind| told(device.clock_info(*kind))).collect())),
        ("nvmlDeviceGetMaxClockInfo", list(clocks.iter().map(|kind| told(device.max_clock_info(*kind))).collect())),
        (
            "nvmlDeviceGetCurrentClocksEventReasons",
            told(device.current_throttle_reasons_strict().map(|reasons| reasons.bits())),
        ),
        ("nvmlDeviceGetPerformanceState", told(device.performance_state().map(state))),
        (
            "nvmlDeviceGetUtilizationRates",
            told(device.utilization_rates().map(|rates| json!({ "gpu": rates.gpu, "memory": rates.memory }))),
        ),
        ("nvmlDeviceGetTemperature", told(device.temperature(TemperatureSensor::Gpu))),
        ("nvmlDeviceGetTemperatureV", raw::temperature(device, raw::version::<sys::nvmlTemperature_v1_t>(1))),
        (
            "nvmlDeviceGetTemperatureThreshold",
            list(thresholds.iter().map(|kind| told(device.temperature_threshold(*kind))).collect()),
        ),
        ("nvmlDeviceGetMarginTemperature", raw::margin(device, raw::version::<sys::nvmlMarginTemperature_v1_t>(1))),
        ("nvmlDeviceGetPowerUsage", told(device.power_usage())),
        ("nvmlDeviceGetPowerManagementLimit", told(device.power_management_limit())),
        ("nvmlDeviceGetPowerManagementDefaultLimit", told(device.power_management_limit_default())),
        (
            "nvmlDeviceGetPowerManagementLimitConstraints",
            told(device.power_management_limit_constraints().map(|within| [within.min_limit, within.max_limit])),
        ),
        ("nvmlDeviceGetEnforcedPowerLimit", told(device.enforced_power_limit())),
        ("nvmlDeviceGetTotalEnergyConsumption", told(device.total_energy_consumption())),
        (
            "nvmlDeviceGetMemoryInfo_v2",
            told(
                device
                    .memory_info()
                    .map(|is| json!({ "total": is.total, "reserved": is.reserved, "free": is.free, "used": is.used })),
            ),
        ),
        ("nvmlDeviceGetCurrPcieLinkGeneration", told(device.current_pcie_link_gen())),
        ("nvmlDeviceGetCurrPcieLinkWidth", told(device.current_pcie_link_width())),
        ("nvmlDeviceGetMaxPcieLinkGeneration", told(device.max_pcie_link_gen())),
        ("nvmlDeviceGetMaxPcieLinkWidth", told(device.max_pcie_link_width())),
        ("nvmlDeviceGetPcieReplayCounter", told(device.pcie_replay_counter())),
        ("nvmlDeviceGetFanSpeed_v2", told(device.fan_speed(0))),
    ]
}

fn health(device: &Device<'_>) -> Vec<(&'static str, Value)> {
    let places = [
        MemoryLocation::L1Cache,
        MemoryLocation::L2Cache,
        MemoryLocation::Device,
        MemoryLocation::RegisterFile,
        MemoryLocation::Texture,
        MemoryLocation::Shared,
        MemoryLocation::Cbu,
        MemoryLocation::SRAM,
    ];
    let mut totals = Vec::new();
    let mut counters = Vec::new();
    for (life, kind) in LIFES.into_iter().flat_map(|life| KINDS.map(move |kind| (life, kind))) {
        totals.push(told(device.total_ecc_errors(kind, life)));
        let read = |place: &MemoryLocation| told(device.memory_error_counter(kind, life, *place));
        counters.extend(places.iter().map(read));
    }
    vec![
        (
            "nvmlDeviceGetEccMode",
            told(device.is_ecc_enabled().map(|is| [u32::from(is.currently_enabled), u32::from(is.pending_enabled)])),
        ),
        ("nvmlDeviceGetTotalEccErrors", totals.into()),
        ("nvmlDeviceGetMemoryErrorCounter", counters.into()),
        ("nvmlDeviceGetSramEccErrorStatus", raw::sram(device, raw::version::<sys::nvmlEccSramErrorStatus_v1_t>(1))),
        ("nvmlDeviceGetRemappedRows", raw::remapped_rows(device)),
        ("nvmlDeviceGetRowRemapperHistogram", raw::histogram(device)),
    ]
}

fn link(device: &Device<'_>, index: u32) -> Value {
    let link = device.link_wrapper_for(index);
    let counters = [ErrorCounter::DlReplay, ErrorCounter::DlRecovery, ErrorCounter::DlCrcFlit, ErrorCounter::DlCrcData];
    json!({
        "nvmlDeviceGetNvLinkState": told(link.is_active().map(u32::from)),
        "nvmlDeviceGetNvLinkVersion": told(link.version()),
        "nvmlDeviceGetNvLinkRemoteDeviceType": raw::remote_device_type(device, index),
        "nvmlDeviceGetNvLinkRemotePciInfo_v2":
            told(link.remote_pci_info().map(|info| pci(&info, &raw::legacy_bus_id(device, Some(index))))),
        "nvmlDeviceGetNvLinkErrorCounter":
            counters.into_iter().map(|counter| told(link.error_counter(counter))).collect::<Vec<_>>(),
    })
}

fn instance(device: &Device<'_>) -> Value {
    json!({
        "nvmlDeviceGetName": told(device.name()),
        "nvmlDeviceGetUUID": told(device.uuid()),
        "nvmlDeviceGetGpuInstanceId": raw::gpu_instance(device),
        "nvmlDeviceGetComputeInstanceId": raw::compute_instance(device),
        "nvmlDeviceGetAttributes_v2": told(device.attributes().map(|is| json!({
            "multiprocessorCount": is.multiprocessor_count,
            "gpuInstanceSliceCount": is.gpu_instance_slice_count,
            "computeInstanceSliceCount": is.compute_instance_slice_count,
            "memorySizeMB": is.memory_size_mb,
        }))),
        "nvmlDeviceGetMemoryInfo_v2": told(device.memory_info().map(|is| is.total)),
        "nvmlDeviceIsMigDeviceHandle": told(device.mig_is_mig_device_handle().map(u32::from)),
        "nvmlDeviceGetTemperature": told(device.temperature(TemperatureSensor::Gpu)),
    })
}

fn pci(info: &PciInfo, legacy: &Value) -> Value {
    let mut told = json!({
        "busId": info.bus_id, "busIdLegacy": legacy, "domain": info.domain, "bus": info.bus, "device": info.device,
        "pciDeviceId": info.pci_device_id,
    });
    // Of the other end of a link NVML does not tell the board, and nvml-wrapper knows that.
    if let Some(board) = info.pci_sub_system_id {
        told["pciSubSystemId"] = board.into();
    }
    told
}

fn memory_of(used: &UsedGpuMemory) -> Option<u64> {
    match used {
        UsedGpuMemory::Used(bytes) => Some(*bytes),
        UsedGpuMemory::Unavailable => None,
    }
}

fn state(state: PerformanceState) -> u32 {
    state.as_c()
}
