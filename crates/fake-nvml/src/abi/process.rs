//! Who works on a GPU.

use std::ffi::c_uint;

use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlProcessInfo_v1_t, nvmlProcessInfo_v2_t};

use super::{Device, exports, with_device, write_list};

exports! {
    fn nvmlDeviceGetComputeRunningProcesses(
        device: nvmlDevice_t,
        count: Option<&mut c_uint>,
        infos: *mut nvmlProcessInfo_v1_t,
    ) {
        with_device(SYMBOL, device, |device| {
            let told: Vec<_> = processes(device)
                .iter()
                .map(|info| nvmlProcessInfo_v1_t { pid: info.pid, usedGpuMemory: info.usedGpuMemory })
                .collect();
            write_list(count, infos, &told)
        })
    }

    fn nvmlDeviceGetComputeRunningProcesses_v2(
        device: nvmlDevice_t,
        count: Option<&mut c_uint>,
        infos: *mut nvmlProcessInfo_v2_t,
    ) {
        with_device(SYMBOL, device, |device| write_list(count, infos, &processes(device)))
    }

    fn nvmlDeviceGetComputeRunningProcesses_v3(
        device: nvmlDevice_t,
        count: Option<&mut c_uint>,
        infos: *mut nvmlProcessInfo_v2_t,
    ) {
        with_device(SYMBOL, device, |device| write_list(count, infos, &processes(device)))
    }

    fn nvmlDeviceGetGraphicsRunningProcesses_v2(
        device: nvmlDevice_t,
        count: Option<&mut c_uint>,
        infos: *mut nvmlProcessInfo_v2_t,
    ) {
        with_device(SYMBOL, device, |_| write_list(count, infos, &[]))
    }

    fn nvmlDeviceGetGraphicsRunningProcesses_v3(
        device: nvmlDevice_t,
        count: Option<&mut c_uint>,
        infos: *mut nvmlProcessInfo_v2_t,
    ) {
        with_device(SYMBOL, device, |_| write_list(count, infos, &[]))
    }

    fn nvmlDeviceGetMPSComputeRunningProcesses_v3(
        device: nvmlDevice_t,
        count: Option<&mut c_uint>,
        infos: *mut nvmlProcessInfo_v2_t,
    ) {
        with_device(SYMBOL, device, |_| write_list(count, infos, &[]))
    }
}

/// What NVML says where there is no instance.
const NO_INSTANCE: c_uint = c_uint::MAX;

fn processes(device: &Device<'_>) -> Vec<nvmlProcessInfo_v2_t> {
    // The script does not say which instance a process is in.
    let (gpu_instance, compute_instance) = device
        .instance
        .as_ref()
        .map_or((NO_INSTANCE, NO_INSTANCE), |instance| (instance.gpu_instance, instance.compute_instance));
    let listed = if device.instance.is_some() { &[] } else { device.gpu.processes.as_slice() };
    let tell = |process: &crate::state::Process| nvmlProcessInfo_v2_t {
        pid: process.pid,
        usedGpuMemory: process.memory_bytes,
        gpuInstanceId: gpu_instance,
        computeInstanceId: compute_instance,
    };
    listed.iter().map(tell).collect()
}
