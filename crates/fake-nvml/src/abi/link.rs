//! NVLinks by the functions of NVLink 4 and before. NVLink 5 has its counters among the field values.

use std::ffi::{c_uint, c_ulonglong};

use nvml_wrapper_sys::bindings as sys;
use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlPciInfo_t};

use super::inventory::pci_info;
use super::{OutParam, exports, flag, get, with_gpu};
use crate::return_codes::{INVALID_ARGUMENT, NOT_SUPPORTED, NvmlResult};
use crate::state::{Gpu, Link, LinkPeer};

/// `NVML_NVLINK_VERSION_5_0`.
const NVLINK_5: u32 = sys::nvmlNvlinkVersion_enum_NVML_NVLINK_VERSION_5_0;

exports! {
    fn nvmlDeviceGetNvLinkState(device: nvmlDevice_t, link: c_uint, active: OutParam<'_, c_uint>) {
        get(SYMBOL, device, active, |gpu| Ok(flag(link_of(gpu, link)?.is_active())))
    }

    fn nvmlDeviceGetNvLinkVersion(device: nvmlDevice_t, link: c_uint, version: OutParam<'_, c_uint>) {
        get(SYMBOL, device, version, |gpu| link_of(gpu, link).map(|_| gpu.nvlink.version))
    }

    fn nvmlDeviceGetNvLinkCapability(device: nvmlDevice_t, link: c_uint, capability: c_uint, has: OutParam<'_, c_uint>) {
        get(SYMBOL, device, has, |gpu| {
            link_of(gpu, link)?;
            // All but a bridge between two cards.
            let bridge = sys::nvmlNvLinkCapability_enum_NVML_NVLINK_CAP_SLI_BRIDGE;
            if capability >= sys::nvmlNvLinkCapability_enum_NVML_NVLINK_CAP_COUNT {
                return Err(INVALID_ARGUMENT);
            }
            Ok(flag(capability != bridge))
        })
    }

    fn nvmlDeviceGetNvLinkRemotePciInfo(device: nvmlDevice_t, link: c_uint, info: OutParam<'_, nvmlPciInfo_t>) {
        get(SYMBOL, device, info, |gpu| remote(gpu, link))
    }

    fn nvmlDeviceGetNvLinkRemotePciInfo_v2(device: nvmlDevice_t, link: c_uint, info: OutParam<'_, nvmlPciInfo_t>) {
        get(SYMBOL, device, info, |gpu| remote(gpu, link))
    }

    fn nvmlDeviceGetNvLinkRemoteDeviceType(device: nvmlDevice_t, link: c_uint, kind: OutParam<'_, c_uint>) {
        get(SYMBOL, device, kind, |gpu| {
            Ok(match link_of(gpu, link)?.peer {
                LinkPeer::Gpu => sys::nvmlIntNvLinkDeviceType_enum_NVML_NVLINK_DEVICE_TYPE_GPU,
                LinkPeer::Switch => sys::nvmlIntNvLinkDeviceType_enum_NVML_NVLINK_DEVICE_TYPE_SWITCH,
            })
        })
    }

    fn nvmlDeviceGetNvLinkErrorCounter(device: nvmlDevice_t, link: c_uint, kind: c_uint, count: OutParam<'_, c_ulonglong>) {
        get(SYMBOL, device, count, |gpu| {
            let counters = &link_of(gpu, link)?.counters;
            if gpu.nvlink.version >= NVLINK_5 && kind < sys::nvmlNvLinkErrorCounter_enum_NVML_NVLINK_ERROR_COUNT {
                return Err(NOT_SUPPORTED);
            }
            match kind {
                sys::nvmlNvLinkErrorCounter_enum_NVML_NVLINK_ERROR_DL_REPLAY => Ok(counters.replay),
                sys::nvmlNvLinkErrorCounter_enum_NVML_NVLINK_ERROR_DL_RECOVERY => Ok(counters.recovery),
                sys::nvmlNvLinkErrorCounter_enum_NVML_NVLINK_ERROR_DL_CRC_FLIT => Ok(counters.crc_flit),
                sys::nvmlNvLinkErrorCounter_enum_NVML_NVLINK_ERROR_DL_CRC_DATA => Ok(counters.crc_data),
                sys::nvmlNvLinkErrorCounter_enum_NVML_NVLINK_ERROR_DL_ECC_DATA => Ok(counters.ecc_data),
                _ => Err(INVALID_ARGUMENT),
            }
        })
    }

    fn nvmlDeviceGetNvLinkInfo(device: nvmlDevice_t, info: *mut sys::nvmlNvLinkInfo_v2_t) {
        with_gpu(SYMBOL, device, |device| {
            super::expect_newer(device.moment)?;
            if info.is_null() {
                return Err(INVALID_ARGUMENT);
            }
            // SAFETY: every layout of this struct begins with its version, and the caller hands one in.
            let version = unsafe { (&raw const (*info).version).read() };
            let is_known = version == super::version_of::<sys::nvmlNvLinkInfo_v1_t>(1)
                || version == super::version_of::<sys::nvmlNvLinkInfo_v2_t>(2);
            if !is_known {
                return Err(crate::return_codes::VERSION_MISMATCH);
            }
            // SAFETY: in both layouts the second word says whether links are encrypted.
            unsafe { (&raw mut (*info).isNvleEnabled).write(0) };
            if version == super::version_of::<sys::nvmlNvLinkInfo_v2_t>(2) {
                // SAFETY: the version says that the caller's struct has this layout.
                unsafe { (&raw mut (*info).firmwareInfo.numValidEntries).write(0) };
            }
            Ok(())
        })
    }
}

/// A link that the GPU has. NVML knows 18 numbers; a GPU may have fewer links.
fn link_of(gpu: &Gpu, link: c_uint) -> NvmlResult<&Link> {
    if link >= sys::NVML_NVLINK_MAX_LINKS {
        return Err(INVALID_ARGUMENT);
    }
    usize::try_from(link).ok().and_then(|link| gpu.nvlink.links.get(link)).ok_or(NOT_SUPPORTED)
}

/// What is at the other end of a link that is up; of one that is down, nobody knows.
fn remote(gpu: &Gpu, link: c_uint) -> NvmlResult<nvmlPciInfo_t> {
    let link = link_of(gpu, link)?;
    // NVML leaves the board's id open here.
    if link.is_active() {
        Ok(nvmlPciInfo_t { pciSubSystemId: 0, ..pci_info(&link.remote) })
    } else {
        Err(NOT_SUPPORTED)
    }
}
