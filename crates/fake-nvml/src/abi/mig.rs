//! GPUs that are cut into instances.

use std::ffi::c_uint;

use nvml_wrapper_sys::bindings as sys;
use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlGpuInstance_t};

use super::inventory::device_handle;
use super::{OutParam, exports, flag, get, with_device, with_gpu, write, write_list};
use crate::handle::{Handle, Kind};
use crate::return_codes::{INVALID_ARGUMENT, NO_PERMISSION, NOT_FOUND, NOT_SUPPORTED, NvmlResult};
use crate::session;
use crate::snapshot::Snapshot;
use crate::state::{MigInstance, MigMode};

/// No GPU is cut into more.
const MIG_DEVICES_MAX: c_uint = 7;

exports! {
    fn nvmlDeviceGetMigMode(device: nvmlDevice_t, current: OutParam<'_, c_uint>, pending: OutParam<'_, c_uint>) {
        with_gpu(SYMBOL, device, |device| {
            let mig = device.gpu.mig.as_ref().ok_or(NOT_SUPPORTED)?;
            write(current, flag(mig.current == MigMode::Enabled))?;
            write(pending, flag(mig.pending == MigMode::Enabled))
        })
    }

    fn nvmlDeviceSetMigMode(device: nvmlDevice_t, _mode: c_uint, _activation: OutParam<'_, c_uint>) {
        // The hand that changes a fake node is its state file.
        with_gpu(SYMBOL, device, |_| Err(NO_PERMISSION))
    }

    fn nvmlDeviceGetMaxMigDeviceCount(device: nvmlDevice_t, count: OutParam<'_, c_uint>) {
        get(SYMBOL, device, count, |gpu| Ok(if gpu.mig.is_some() { MIG_DEVICES_MAX } else { 0 }))
    }

    fn nvmlDeviceGetMigDeviceHandleByIndex(device: nvmlDevice_t, index: c_uint, mig: OutParam<'_, nvmlDevice_t>) {
        with_gpu(SYMBOL, device, |device| {
            if device.gpu.mig.is_none() {
                return Err(NOT_SUPPORTED);
            }
            if index >= MIG_DEVICES_MAX {
                return Err(INVALID_ARGUMENT);
            }
            let part = u8::try_from(index).map_err(|_| INVALID_ARGUMENT)?;
            device.gpu.instances().get(usize::from(part)).ok_or(NOT_FOUND)?;
            write(mig, device_handle(device.call, device.index, part + 1).to_pointer())
        })
    }

    fn nvmlDeviceIsMigDeviceHandle(device: nvmlDevice_t, is: OutParam<'_, c_uint>) {
        with_device(SYMBOL, device, |device| write(is, flag(device.instance.is_some())))
    }

    fn nvmlDeviceGetDeviceHandleFromMigDeviceHandle(mig: nvmlDevice_t, device: OutParam<'_, nvmlDevice_t>) {
        with_device(SYMBOL, mig, |found| {
            found.instance.as_ref().ok_or(INVALID_ARGUMENT)?;
            write(device, device_handle(found.call, found.index, 0).to_pointer())
        })
    }

    fn nvmlDeviceGetGpuInstanceId(device: nvmlDevice_t, id: OutParam<'_, c_uint>) {
        with_device(SYMBOL, device, |device| write(id, device.instance.as_ref().ok_or(NOT_SUPPORTED)?.gpu_instance))
    }

    fn nvmlDeviceGetComputeInstanceId(device: nvmlDevice_t, id: OutParam<'_, c_uint>) {
        with_device(SYMBOL, device, |device| write(id, device.instance.as_ref().ok_or(NOT_SUPPORTED)?.compute_instance))
    }

    fn nvmlDeviceGetAttributes_v2(device: nvmlDevice_t, attributes: OutParam<'_, sys::nvmlDeviceAttributes_t>) {
        with_device(SYMBOL, device, |device| {
            let instance = device.instance.as_ref().ok_or(NOT_SUPPORTED)?;
            write(attributes, sys::nvmlDeviceAttributes_t {
                multiprocessorCount: instance.multiprocessors,
                sharedCopyEngineCount: instance.slices,
                sharedDecoderCount: 0,
                sharedEncoderCount: 0,
                sharedJpegCount: 0,
                sharedOfaCount: 0,
                gpuInstanceSliceCount: instance.slices,
                computeInstanceSliceCount: instance.slices,
                memorySizeMB: instance.memory_mib,
            })
        })
    }

    fn nvmlDeviceGetGpuInstances(
        device: nvmlDevice_t,
        profile: c_uint,
        instances: *mut nvmlGpuInstance_t,
        count: Option<&mut c_uint>,
    ) {
        with_gpu(SYMBOL, device, |device| {
            if device.gpu.mig.is_none() {
                return Err(NOT_SUPPORTED);
            }
            let handle = |at: usize| instance_handle(device.call.life, device.index, at);
            let listed = device.gpu.instances().iter().enumerate().filter(|(_, instance)| instance.profile_id == profile);
            let handles: Vec<nvmlGpuInstance_t> = listed.map(|(at, _)| handle(at)).collect();
            // NVML takes no length here: the caller's array is as long as the profile has instances.
            let count = count.ok_or(INVALID_ARGUMENT)?;
            *count = MIG_DEVICES_MAX;
            write_list(Some(count), instances, &handles)
        })
    }

    fn nvmlDeviceGetGpuInstanceById(device: nvmlDevice_t, id: c_uint, instance: OutParam<'_, nvmlGpuInstance_t>) {
        with_gpu(SYMBOL, device, |device| {
            let at = device.gpu.instances().iter().position(|instance| instance.gpu_instance == id).ok_or(NOT_FOUND)?;
            write(instance, instance_handle(device.call.life, device.index, at))
        })
    }

    fn nvmlGpuInstanceGetInfo(instance: nvmlGpuInstance_t, info: OutParam<'_, sys::nvmlGpuInstanceInfo_t>) {
        session::call(SYMBOL, |call, moment| {
            let handle = Handle::of(instance, Kind::GpuInstance, call.life)?;
            let found = instance_of(moment, handle)?;
            write(info, sys::nvmlGpuInstanceInfo_t {
                device: device_handle(call, u32::from(handle.index), 0).to_pointer(),
                id: found.gpu_instance,
                profileId: found.profile_id,
                placement: sys::nvmlGpuInstancePlacement_t { start: found.start, size: found.size },
            })
        })
    }
}

fn instance_handle(life: u16, gpu: u32, at: usize) -> nvmlGpuInstance_t {
    let index = u16::try_from(gpu).unwrap_or(u16::MAX);
    let part = u8::try_from(at + 1).unwrap_or(u8::MAX);
    Handle { kind: Kind::GpuInstance, life, index, part }.to_pointer()
}

fn instance_of(moment: &Snapshot<'_>, handle: Handle) -> NvmlResult<MigInstance> {
    let gpu = moment.gpu(u32::from(handle.index)).ok_or(INVALID_ARGUMENT)?;
    let at = usize::from(handle.part).checked_sub(1).ok_or(INVALID_ARGUMENT)?;
    gpu.instances().get(at).cloned().ok_or(INVALID_ARGUMENT)
}
