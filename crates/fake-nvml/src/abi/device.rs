//! How a GPU runs: clocks, temperature, power, memory, its link to the host.

use std::ffi::{c_int, c_uint, c_ulonglong};

use nvml_wrapper_sys::bindings as sys;
use nvml_wrapper_sys::bindings::nvmlDevice_t;

use super::{Device, OutParam, expect_newer, expect_version, exports, get, with_device, with_gpu, write};
use crate::return_codes::{INVALID_ARGUMENT, NOT_SUPPORTED, NvmlResult};
use crate::state::{Clocks, Gpu, Thresholds};

exports! {
    fn nvmlDeviceGetClockInfo(device: nvmlDevice_t, kind: c_uint, clock: OutParam<'_, c_uint>) {
        get(SYMBOL, device, clock, |gpu| clock_of(&gpu.clocks, kind))
    }

    fn nvmlDeviceGetMaxClockInfo(device: nvmlDevice_t, kind: c_uint, clock: OutParam<'_, c_uint>) {
        get(SYMBOL, device, clock, |gpu| clock_of(&gpu.clocks_max, kind))
    }

    fn nvmlDeviceGetMaxCustomerBoostClock(device: nvmlDevice_t, kind: c_uint, clock: OutParam<'_, c_uint>) {
        get(SYMBOL, device, clock, |gpu| clock_of(&gpu.clocks_max, kind))
    }

    fn nvmlDeviceGetClock(device: nvmlDevice_t, kind: c_uint, id: c_uint, clock: OutParam<'_, c_uint>) {
        get(SYMBOL, device, clock, |gpu| match id {
            sys::nvmlClockId_enum_NVML_CLOCK_ID_CURRENT => clock_of(&gpu.clocks, kind),
            sys::nvmlClockId_enum_NVML_CLOCK_ID_CUSTOMER_BOOST_MAX => clock_of(&gpu.clocks_max, kind),
            _ if id < sys::nvmlClockId_enum_NVML_CLOCK_ID_COUNT => Err(NOT_SUPPORTED),
            _ => Err(INVALID_ARGUMENT),
        })
    }

    fn nvmlDeviceGetCurrentClocksEventReasons(device: nvmlDevice_t, reasons: OutParam<'_, c_ulonglong>) {
        get(SYMBOL, device, reasons, |gpu| Ok(gpu.clocks_event_reasons))
    }

    fn nvmlDeviceGetCurrentClocksThrottleReasons(device: nvmlDevice_t, reasons: OutParam<'_, c_ulonglong>) {
        get(SYMBOL, device, reasons, |gpu| Ok(gpu.clocks_event_reasons))
    }

    fn nvmlDeviceGetSupportedClocksEventReasons(device: nvmlDevice_t, reasons: OutParam<'_, c_ulonglong>) {
        get(SYMBOL, device, reasons, |_| Ok(KNOWN_REASONS))
    }

    fn nvmlDeviceGetSupportedClocksThrottleReasons(device: nvmlDevice_t, reasons: OutParam<'_, c_ulonglong>) {
        get(SYMBOL, device, reasons, |_| Ok(KNOWN_REASONS))
    }

    fn nvmlDeviceGetPerformanceState(device: nvmlDevice_t, state: OutParam<'_, c_uint>) {
        get(SYMBOL, device, state, |gpu| Ok(gpu.performance_state))
    }

    fn nvmlDeviceGetPowerState(device: nvmlDevice_t, state: OutParam<'_, c_uint>) {
        get(SYMBOL, device, state, |gpu| Ok(gpu.performance_state))
    }

    fn nvmlDeviceGetComputeMode(device: nvmlDevice_t, mode: OutParam<'_, c_uint>) {
        get(SYMBOL, device, mode, |_| Ok(0))
    }

    fn nvmlDeviceGetUtilizationRates(device: nvmlDevice_t, rates: OutParam<'_, sys::nvmlUtilization_t>) {
        with_gpu(SYMBOL, device, |device| {
            whole(device)?;
            let gpu = &device.gpu;
            let told = sys::nvmlUtilization_t { gpu: gpu.utilization_percent, memory: gpu.memory_utilization_percent };
            write(rates, told)
        })
    }

    fn nvmlDeviceGetTemperature(device: nvmlDevice_t, sensor: c_uint, celsius: OutParam<'_, c_uint>) {
        get(SYMBOL, device, celsius, |gpu| match sensor {
            sys::nvmlTemperatureSensors_enum_NVML_TEMPERATURE_GPU => Ok(gpu.temperature.gpu_celsius),
            _ => Err(INVALID_ARGUMENT),
        })
    }

    fn nvmlDeviceGetTemperatureV(device: nvmlDevice_t, info: Option<&mut sys::nvmlTemperature_v1_t>) {
        with_gpu(SYMBOL, device, |device| {
            expect_newer(device.moment)?;
            let info = info.ok_or(INVALID_ARGUMENT)?;
            expect_version::<sys::nvmlTemperature_v1_t>(info.version, 1)?;
            if info.sensorType != sys::nvmlTemperatureSensors_enum_NVML_TEMPERATURE_GPU {
                return Err(INVALID_ARGUMENT);
            }
            info.temperature = c_int::try_from(device.gpu.temperature.gpu_celsius).unwrap_or(c_int::MAX);
            Ok(())
        })
    }

    fn nvmlDeviceGetTemperatureThreshold(device: nvmlDevice_t, threshold: c_uint, celsius: OutParam<'_, c_uint>) {
        get(SYMBOL, device, celsius, |gpu| threshold_of(gpu, threshold))
    }

    fn nvmlDeviceGetMarginTemperature(device: nvmlDevice_t, info: Option<&mut sys::nvmlMarginTemperature_v1_t>) {
        with_gpu(SYMBOL, device, |device| {
            expect_newer(device.moment)?;
            let info = info.ok_or(INVALID_ARGUMENT)?;
            expect_version::<sys::nvmlMarginTemperature_v1_t>(info.version, 1)?;
            info.marginTemperature = device.gpu.margin_celsius();
            Ok(())
        })
    }

    fn nvmlDeviceGetPowerUsage(device: nvmlDevice_t, power: OutParam<'_, c_uint>) {
        get(SYMBOL, device, power, |gpu| Ok(gpu.power.usage_mw))
    }

    fn nvmlDeviceGetPowerManagementMode(device: nvmlDevice_t, mode: OutParam<'_, c_uint>) {
        get(SYMBOL, device, mode, |_| Ok(1))
    }

    fn nvmlDeviceGetPowerManagementLimit(device: nvmlDevice_t, limit: OutParam<'_, c_uint>) {
        get(SYMBOL, device, limit, |gpu| Ok(gpu.power.limit_mw))
    }

    fn nvmlDeviceGetPowerManagementDefaultLimit(device: nvmlDevice_t, limit: OutParam<'_, c_uint>) {
        get(SYMBOL, device, limit, |gpu| Ok(gpu.power.default_mw))
    }

    fn nvmlDeviceGetPowerManagementLimitConstraints(device: nvmlDevice_t, min: OutParam<'_, c_uint>, max: OutParam<'_, c_uint>) {
        with_gpu(SYMBOL, device, |device| {
            write(min, device.gpu.power.min_mw)?;
            write(max, device.gpu.power.max_mw)
        })
    }

    fn nvmlDeviceGetEnforcedPowerLimit(device: nvmlDevice_t, limit: OutParam<'_, c_uint>) {
        get(SYMBOL, device, limit, |gpu| Ok(gpu.power.enforced_mw))
    }

    fn nvmlDeviceGetTotalEnergyConsumption(device: nvmlDevice_t, energy: OutParam<'_, c_ulonglong>) {
        get(SYMBOL, device, energy, |gpu| Ok(gpu.power.energy_mj))
    }

    fn nvmlDeviceGetMemoryInfo(device: nvmlDevice_t, info: OutParam<'_, sys::nvmlMemory_t>) {
        with_device(SYMBOL, device, |device| {
            let memory = memory_of(device);
            // Before version 2 what the driver keeps was told as used.
            let used = memory.used + memory.reserved;
            write(info, sys::nvmlMemory_t { total: memory.total, free: memory.free, used })
        })
    }

    fn nvmlDeviceGetMemoryInfo_v2(device: nvmlDevice_t, info: Option<&mut sys::nvmlMemory_v2_t>) {
        with_device(SYMBOL, device, |device| {
            let info = info.ok_or(INVALID_ARGUMENT)?;
            expect_version::<sys::nvmlMemory_v2_t>(info.version, 2)?;
            *info = sys::nvmlMemory_v2_t { version: info.version, ..memory_of(device) };
            Ok(())
        })
    }

    fn nvmlDeviceGetBAR1MemoryInfo(device: nvmlDevice_t, info: OutParam<'_, sys::nvmlBAR1Memory_t>) {
        get(SYMBOL, device, info, |gpu| {
            let total = gpu.memory_bytes.next_power_of_two();
            Ok(sys::nvmlBAR1Memory_t { bar1Total: total, bar1Free: total, bar1Used: 0 })
        })
    }

    fn nvmlDeviceGetMemoryBusWidth(device: nvmlDevice_t, bits: OutParam<'_, c_uint>) {
        get(SYMBOL, device, bits, |gpu| Ok(gpu.memory_bus_bits))
    }

    fn nvmlDeviceGetCurrPcieLinkGeneration(device: nvmlDevice_t, generation: OutParam<'_, c_uint>) {
        get(SYMBOL, device, generation, |gpu| Ok(gpu.pcie.now.generation))
    }

    fn nvmlDeviceGetCurrPcieLinkWidth(device: nvmlDevice_t, lanes: OutParam<'_, c_uint>) {
        get(SYMBOL, device, lanes, |gpu| Ok(gpu.pcie.now.lanes))
    }

    fn nvmlDeviceGetMaxPcieLinkGeneration(device: nvmlDevice_t, generation: OutParam<'_, c_uint>) {
        get(SYMBOL, device, generation, |gpu| Ok(gpu.pcie.best.generation))
    }

    fn nvmlDeviceGetGpuMaxPcieLinkGeneration(device: nvmlDevice_t, generation: OutParam<'_, c_uint>) {
        get(SYMBOL, device, generation, |gpu| Ok(gpu.pcie.best.generation))
    }

    fn nvmlDeviceGetMaxPcieLinkWidth(device: nvmlDevice_t, lanes: OutParam<'_, c_uint>) {
        get(SYMBOL, device, lanes, |gpu| Ok(gpu.pcie.best.lanes))
    }

    fn nvmlDeviceGetPcieReplayCounter(device: nvmlDevice_t, replays: OutParam<'_, c_uint>) {
        get(SYMBOL, device, replays, |gpu| Ok(gpu.pcie.replays))
    }

    fn nvmlDeviceGetViolationStatus(device: nvmlDevice_t, policy: c_uint, time: OutParam<'_, sys::nvmlViolationTime_t>) {
        with_gpu(SYMBOL, device, |device| {
            let violations = device.gpu.violations;
            let violation = match policy {
                sys::nvmlPerfPolicyType_enum_NVML_PERF_POLICY_POWER => violations.sw_power_cap_ns,
                sys::nvmlPerfPolicyType_enum_NVML_PERF_POLICY_THERMAL => violations.sw_thermal_ns,
                sys::nvmlPerfPolicyType_enum_NVML_PERF_POLICY_SYNC_BOOST => violations.sync_boost_ns,
                _ if policy < sys::nvmlPerfPolicyType_enum_NVML_PERF_POLICY_COUNT => 0,
                _ => return Err(INVALID_ARGUMENT),
            };
            // NVML tells the moment in microseconds and the length in nanoseconds.
            let at = device.moment.state.started_at_ms.saturating_add(device.moment.now_ms).saturating_mul(1000);
            write(time, sys::nvmlViolationTime_t { referenceTime: at, violationTime: violation })
        })
    }
}

/// Every reason that NVML 13.0 names.
const KNOWN_REASONS: u64 = 0x1ff;

fn clock_of(clocks: &Clocks, kind: c_uint) -> NvmlResult<u32> {
    match kind {
        sys::nvmlClockType_enum_NVML_CLOCK_GRAPHICS => Ok(clocks.graphics_mhz),
        sys::nvmlClockType_enum_NVML_CLOCK_SM => Ok(clocks.sm_mhz),
        sys::nvmlClockType_enum_NVML_CLOCK_MEM => Ok(clocks.memory_mhz),
        sys::nvmlClockType_enum_NVML_CLOCK_VIDEO => Ok(clocks.video_mhz),
        _ => Err(INVALID_ARGUMENT),
    }
}

fn threshold_of(gpu: &Gpu, threshold: c_uint) -> NvmlResult<u32> {
    let temperature = &gpu.temperature;
    if threshold >= sys::nvmlTemperatureThresholds_enum_NVML_TEMPERATURE_THRESHOLD_COUNT {
        return Err(INVALID_ARGUMENT);
    }
    if temperature.thresholds == Thresholds::Distances {
        return Err(NOT_SUPPORTED);
    }
    match threshold {
        sys::nvmlTemperatureThresholds_enum_NVML_TEMPERATURE_THRESHOLD_SHUTDOWN => Ok(temperature.shutdown_celsius),
        sys::nvmlTemperatureThresholds_enum_NVML_TEMPERATURE_THRESHOLD_SLOWDOWN => Ok(temperature.slowdown_celsius),
        sys::nvmlTemperatureThresholds_enum_NVML_TEMPERATURE_THRESHOLD_MEM_MAX => Ok(temperature.memory_max_celsius),
        sys::nvmlTemperatureThresholds_enum_NVML_TEMPERATURE_THRESHOLD_GPU_MAX => Ok(temperature.gpu_max_celsius),
        _ => Err(NOT_SUPPORTED),
    }
}

/// How busy a GPU is cannot be told while it is cut into instances.
fn whole(device: &Device<'_>) -> NvmlResult {
    if device.gpu.instances().is_empty() { Ok(()) } else { Err(NOT_SUPPORTED) }
}

fn memory_of(device: &Device<'_>) -> sys::nvmlMemory_v2_t {
    let (total, reserved, used) = match &device.instance {
        Some(instance) => (instance.memory_mib << 20, 0, 0),
        None => (device.gpu.memory_bytes, device.gpu.memory_reserved_bytes, device.gpu.used_bytes()),
    };
    let free = total.saturating_sub(reserved).saturating_sub(used);
    sys::nvmlMemory_v2_t { version: 0, total, reserved, free, used }
}
