//! Which GPUs there are, and what identifies them.

use std::ffi::{c_char, c_int, c_uint};

use nvml_wrapper_sys::bindings as sys;
use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlPciInfo_t, nvmlPciInfoExt_v1_t};

use super::{
    OutParam, chars, expect_version, exports, flag, get, get_text, read_text, with_device, with_gpu, write, write_text,
};
use crate::handle::{Handle, Kind};
use crate::return_codes::{GPU_IS_LOST, INVALID_ARGUMENT, NOT_FOUND, NOT_SUPPORTED, NvmlResult};
use crate::session::{self, Call};
use crate::snapshot::Snapshot;
use crate::state::{Gpu, Pci};

exports! {
    fn nvmlUnitGetCount(count: OutParam<'_, c_uint>) { session::call(SYMBOL, |_, _| write(count, 0)) }

    fn nvmlDeviceGetCount(count: OutParam<'_, c_uint>) { session::call(SYMBOL, |_, moment| write(count, count_of(moment))) }

    fn nvmlDeviceGetCount_v2(count: OutParam<'_, c_uint>) { session::call(SYMBOL, |_, moment| write(count, count_of(moment))) }

    fn nvmlDeviceGetHandleByIndex(index: c_uint, device: OutParam<'_, nvmlDevice_t>) {
        session::call(SYMBOL, |call, moment| open(call, moment, index, 0, device))
    }

    fn nvmlDeviceGetHandleByIndex_v2(index: c_uint, device: OutParam<'_, nvmlDevice_t>) {
        session::call(SYMBOL, |call, moment| open(call, moment, index, 0, device))
    }

    fn nvmlDeviceGetHandleBySerial(serial: *const c_char, device: OutParam<'_, nvmlDevice_t>) {
        session::call(SYMBOL, |call, moment| {
            let serial = read_text(serial)?;
            open(call, moment, find(moment, |gpu| gpu.serial == serial)?, 0, device)
        })
    }

    fn nvmlDeviceGetHandleByUUID(uuid: *const c_char, device: OutParam<'_, nvmlDevice_t>) {
        session::call(SYMBOL, |call, moment| {
            let uuid = read_text(uuid)?;
            let within = |gpu: &Gpu| gpu.instances().iter().position(|instance| instance.uuid == uuid);
            let index = find(moment, |gpu| gpu.uuid == uuid || within(gpu).is_some())?;
            let gpu = moment.gpu(index).ok_or(NOT_FOUND)?;
            let part = within(&gpu).and_then(|at| u8::try_from(at + 1).ok()).unwrap_or(0);
            open(call, moment, index, part, device)
        })
    }

    fn nvmlDeviceGetHandleByPciBusId(bus_id: *const c_char, device: OutParam<'_, nvmlDevice_t>) {
        session::call(SYMBOL, |call, moment| by_bus_id(call, moment, bus_id, device))
    }

    fn nvmlDeviceGetHandleByPciBusId_v2(bus_id: *const c_char, device: OutParam<'_, nvmlDevice_t>) {
        session::call(SYMBOL, |call, moment| by_bus_id(call, moment, bus_id, device))
    }

    fn nvmlDeviceGetIndex(device: nvmlDevice_t, index: OutParam<'_, c_uint>) {
        with_gpu(SYMBOL, device, |device| write(index, device.index))
    }

    fn nvmlDeviceGetName(device: nvmlDevice_t, name: *mut c_char, length: c_uint) {
        with_device(SYMBOL, device, |device| match &device.instance {
            Some(instance) => write_text(name, length, &format!("{} MIG {}", device.gpu.name, instance.profile)),
            None => write_text(name, length, &device.gpu.name),
        })
    }

    fn nvmlDeviceGetUUID(device: nvmlDevice_t, uuid: *mut c_char, length: c_uint) {
        with_device(SYMBOL, device, |device| {
            write_text(uuid, length, device.instance.as_ref().map_or(&device.gpu.uuid, |instance| &instance.uuid))
        })
    }

    fn nvmlDeviceGetSerial(device: nvmlDevice_t, serial: *mut c_char, length: c_uint) {
        get_text(SYMBOL, device, serial, length, |gpu| &gpu.serial)
    }

    fn nvmlDeviceGetBoardPartNumber(device: nvmlDevice_t, part: *mut c_char, length: c_uint) {
        get_text(SYMBOL, device, part, length, |gpu| &gpu.board_part_number)
    }

    fn nvmlDeviceGetVbiosVersion(device: nvmlDevice_t, version: *mut c_char, length: c_uint) {
        get_text(SYMBOL, device, version, length, |gpu| &gpu.vbios)
    }

    fn nvmlDeviceGetInforomImageVersion(device: nvmlDevice_t, version: *mut c_char, length: c_uint) {
        get_text(SYMBOL, device, version, length, |gpu| &gpu.inforom_image)
    }

    fn nvmlDeviceGetGspFirmwareVersion(device: nvmlDevice_t, version: *mut c_char) {
        // This function takes no length: its buffer is NVML_GSP_FIRMWARE_VERSION_BUF_SIZE by definition.
        get_text(SYMBOL, device, version, sys::NVML_GSP_FIRMWARE_VERSION_BUF_SIZE, |gpu| &gpu.gsp_firmware)
    }

    fn nvmlDeviceGetGspFirmwareMode(device: nvmlDevice_t, enabled: OutParam<'_, c_uint>, default: OutParam<'_, c_uint>) {
        with_gpu(SYMBOL, device, |_| {
            write(enabled, 1)?;
            write(default, 1)
        })
    }

    fn nvmlDeviceGetBrand(device: nvmlDevice_t, brand: OutParam<'_, c_uint>) {
        get(SYMBOL, device, brand, |_| Ok(sys::nvmlBrandType_enum_NVML_BRAND_NVIDIA))
    }

    fn nvmlDeviceGetArchitecture(device: nvmlDevice_t, architecture: OutParam<'_, c_uint>) {
        get(SYMBOL, device, architecture, |gpu| Ok(gpu.architecture))
    }

    fn nvmlDeviceGetCudaComputeCapability(device: nvmlDevice_t, major: OutParam<'_, c_int>, minor: OutParam<'_, c_int>) {
        with_gpu(SYMBOL, device, |device| {
            let number = |number: u32| c_int::try_from(number).unwrap_or(0);
            write(major, number(device.gpu.compute_capability.0))?;
            write(minor, number(device.gpu.compute_capability.1))
        })
    }

    fn nvmlDeviceGetNumGpuCores(device: nvmlDevice_t, cores: OutParam<'_, c_uint>) {
        get(SYMBOL, device, cores, |gpu| Ok(gpu.cores))
    }

    fn nvmlDeviceGetMinorNumber(device: nvmlDevice_t, minor: OutParam<'_, c_uint>) {
        get(SYMBOL, device, minor, |gpu| Ok(gpu.minor))
    }

    fn nvmlDeviceGetModuleId(device: nvmlDevice_t, module: OutParam<'_, c_uint>) {
        get(SYMBOL, device, module, |gpu| Ok(gpu.module_id))
    }

    fn nvmlDeviceGetNumaNodeId(device: nvmlDevice_t, node: OutParam<'_, c_uint>) {
        get(SYMBOL, device, node, |gpu| Ok(gpu.numa_node))
    }

    fn nvmlDeviceGetBoardId(device: nvmlDevice_t, board: OutParam<'_, c_uint>) {
        get(SYMBOL, device, board, |gpu| Ok(gpu.pci.bus << 8))
    }

    fn nvmlDeviceGetMultiGpuBoard(device: nvmlDevice_t, multi: OutParam<'_, c_uint>) {
        get(SYMBOL, device, multi, |_| Ok(0))
    }

    fn nvmlDeviceGetPersistenceMode(device: nvmlDevice_t, mode: OutParam<'_, c_uint>) {
        get(SYMBOL, device, mode, |_| Ok(1))
    }

    fn nvmlDeviceGetDisplayActive(device: nvmlDevice_t, active: OutParam<'_, c_uint>) {
        get(SYMBOL, device, active, |_| Ok(0))
    }

    fn nvmlDeviceGetC2cModeInfoV(device: nvmlDevice_t, info: OutParam<'_, sys::nvmlC2cModeInfo_v1_t>) {
        get(SYMBOL, device, info, |gpu| Ok(sys::nvmlC2cModeInfo_v1_t { isC2cEnabled: flag(gpu.c2c_links > 0) }))
    }

    fn nvmlDeviceGetPciInfo_v3(device: nvmlDevice_t, info: OutParam<'_, nvmlPciInfo_t>) {
        get(SYMBOL, device, info, |gpu| Ok(pci_info(&gpu.pci)))
    }

    fn nvmlDeviceGetPciInfo_v2(device: nvmlDevice_t, info: OutParam<'_, nvmlPciInfo_t>) {
        get(SYMBOL, device, info, |gpu| Ok(pci_info(&gpu.pci)))
    }

    fn nvmlDeviceGetPciInfoExt(device: nvmlDevice_t, info: Option<&mut nvmlPciInfoExt_v1_t>) {
        with_gpu(SYMBOL, device, |device| {
            let info = info.ok_or(INVALID_ARGUMENT)?;
            expect_version::<nvmlPciInfoExt_v1_t>(info.version, 1)?;
            let pci = device.gpu.pci;
            *info = nvmlPciInfoExt_v1_t {
                version: info.version,
                domain: pci.domain,
                bus: pci.bus,
                device: pci.device,
                pciDeviceId: pci.device_id,
                pciSubSystemId: pci.subsystem_id,
                // A 3D controller, as data centre GPUs without a display say.
                baseClass: 0x03,
                subClass: 0x02,
                busId: chars(&pci.bus_id()),
            };
            Ok(())
        })
    }

    fn nvmlDeviceGetPlatformInfo(device: nvmlDevice_t, info: *mut sys::nvmlPlatformInfo_v2_t) {
        with_gpu(SYMBOL, device, |device| {
            super::expect_newer(device.moment)?;
            if info.is_null() {
                return Err(INVALID_ARGUMENT);
            }
            // SAFETY: every layout of this struct begins with its version, and the caller hands one in.
            let version = unsafe { (&raw const (*info).version).read() };
            let platform = device.gpu.platform.ok_or(NOT_SUPPORTED);
            if version == super::version_of::<sys::nvmlPlatformInfo_v2_t>(2) {
                let platform = platform?;
                let told = sys::nvmlPlatformInfo_v2_t {
                    version,
                    ibGuid: platform.ib_guid,
                    chassisSerialNumber: platform.chassis_serial,
                    slotNumber: platform.slot_number,
                    trayIndex: platform.tray_index,
                    hostId: platform.host_id,
                    peerType: platform.peer_type,
                    moduleId: platform.module_id,
                };
                // SAFETY: the version says that the caller's struct has this layout.
                unsafe { info.write(told) };
                Ok(())
            } else if version == super::version_of::<sys::nvmlPlatformInfo_v1_t>(1) {
                let platform = platform?;
                let told = sys::nvmlPlatformInfo_v1_t {
                    version,
                    ibGuid: platform.ib_guid,
                    rackGuid: platform.chassis_serial,
                    chassisPhysicalSlotNumber: platform.slot_number,
                    computeSlotIndex: platform.tray_index,
                    nodeIndex: platform.host_id,
                    peerType: platform.peer_type,
                    moduleId: platform.module_id,
                };
                // SAFETY: the version says that the caller's struct has this layout.
                unsafe { info.cast::<sys::nvmlPlatformInfo_v1_t>().write(told) };
                Ok(())
            } else {
                Err(crate::return_codes::VERSION_MISMATCH)
            }
        })
    }
}

fn count_of(moment: &Snapshot<'_>) -> c_uint {
    c_uint::try_from(moment.state.gpus.len()).unwrap_or(0)
}

pub(super) fn pci_info(pci: &Pci) -> nvmlPciInfo_t {
    nvmlPciInfo_t {
        busIdLegacy: chars(&pci.bus_id_legacy()),
        domain: pci.domain,
        bus: pci.bus,
        device: pci.device,
        pciDeviceId: pci.device_id,
        pciSubSystemId: pci.subsystem_id,
        busId: chars(&pci.bus_id()),
    }
}

fn find(moment: &Snapshot<'_>, is: impl Fn(&Gpu) -> bool) -> NvmlResult<u32> {
    let found = moment.state.gpus.iter().position(is).ok_or(NOT_FOUND)?;
    u32::try_from(found).map_err(|_| NOT_FOUND)
}

fn by_bus_id(
    call: &Call,
    moment: &Snapshot<'_>,
    bus_id: *const c_char,
    device: OutParam<'_, nvmlDevice_t>,
) -> NvmlResult {
    let wanted = read_text(bus_id)?;
    let is = |id: String| id.eq_ignore_ascii_case(wanted);
    open(call, moment, find(moment, |gpu| is(gpu.pci.bus_id()) || is(gpu.pci.bus_id_legacy()))?, 0, device)
}

/// Hands out a handle, which opens the GPU.
fn open(call: &Call, moment: &Snapshot<'_>, index: u32, part: u8, device: OutParam<'_, nvmlDevice_t>) -> NvmlResult {
    if moment.gpu(index).is_none() {
        return Err(INVALID_ARGUMENT);
    }
    if moment.is_lost(index) {
        return Err(GPU_IS_LOST);
    }
    if device.is_none() {
        return Err(INVALID_ARGUMENT);
    }
    session::open(call, index)?;
    write(device, device_handle(call, index, part).to_pointer())
}

pub(super) fn device_handle(call: &Call, index: u32, part: u8) -> Handle {
    Handle { kind: Kind::Device, life: call.life, index: u16::try_from(index).unwrap_or(u16::MAX), part }
}
