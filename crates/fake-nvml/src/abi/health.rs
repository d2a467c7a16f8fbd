//! What is wrong with a GPU: errors of memory, remapped rows, and what the fabric says of it.

use std::ffi::{c_uint, c_ulonglong};

use nvml_wrapper_sys::bindings as sys;
use nvml_wrapper_sys::bindings::nvmlDevice_t;

use super::{OutParam, expect_newer, expect_version, exports, get, version_of, with_gpu, write};
use crate::return_codes::{INVALID_ARGUMENT, NOT_SUPPORTED, NvmlResult, VERSION_MISMATCH};
use crate::state::{EccCounts, Gpu};

/// The first driver that takes version 3 of the fabric's struct; R550 publishes version 2 alone.
const FABRIC_V3_SINCE: u32 = 565;

exports! {
    fn nvmlDeviceGetEccMode(device: nvmlDevice_t, current: OutParam<'_, c_uint>, pending: OutParam<'_, c_uint>) {
        with_gpu(SYMBOL, device, |_| {
            write(current, 1)?;
            write(pending, 1)
        })
    }

    fn nvmlDeviceGetDefaultEccMode(device: nvmlDevice_t, mode: OutParam<'_, c_uint>) { get(SYMBOL, device, mode, |_| Ok(1)) }

    fn nvmlDeviceGetTotalEccErrors(device: nvmlDevice_t, kind: c_uint, life: c_uint, count: OutParam<'_, c_ulonglong>) {
        get(SYMBOL, device, count, |gpu| {
            let counts = counts_of(gpu, life)?;
            match kind {
                sys::nvmlMemoryErrorType_enum_NVML_MEMORY_ERROR_TYPE_CORRECTED => Ok(counts.corrected()),
                sys::nvmlMemoryErrorType_enum_NVML_MEMORY_ERROR_TYPE_UNCORRECTED => Ok(counts.uncorrected()),
                _ => Err(INVALID_ARGUMENT),
            }
        })
    }

    fn nvmlDeviceGetMemoryErrorCounter(
        device: nvmlDevice_t,
        kind: c_uint,
        life: c_uint,
        place: c_uint,
        count: OutParam<'_, c_ulonglong>,
    ) {
        get(SYMBOL, device, count, |gpu| {
            let counts = counts_of(gpu, life)?;
            match (place, kind) {
                (SRAM, CORRECTED) => Ok(counts.sram_corrected),
                (SRAM, UNCORRECTED) => Ok(counts.sram_uncorrected()),
                (DRAM, CORRECTED) => Ok(counts.dram_corrected),
                (DRAM, UNCORRECTED) => Ok(counts.dram_uncorrected),
                // Since Ampere the caches are counted together, as SRAM.
                _ if place < PLACES && kind <= UNCORRECTED => Err(NOT_SUPPORTED),
                _ => Err(INVALID_ARGUMENT),
            }
        })
    }

    fn nvmlDeviceGetSramEccErrorStatus(device: nvmlDevice_t, status: Option<&mut sys::nvmlEccSramErrorStatus_v1_t>) {
        with_gpu(SYMBOL, device, |device| {
            let status = status.ok_or(INVALID_ARGUMENT)?;
            expect_version::<sys::nvmlEccSramErrorStatus_v1_t>(status.version, 1)?;
            let ecc = &device.gpu.ecc;
            *status = sys::nvmlEccSramErrorStatus_v1_t {
                version: status.version,
                aggregateUncParity: ecc.aggregate.sram_parity,
                aggregateUncSecDed: ecc.aggregate.sram_secded,
                aggregateCor: ecc.aggregate.sram_corrected,
                volatileUncParity: ecc.volatile.sram_parity,
                volatileUncSecDed: ecc.volatile.sram_secded,
                volatileCor: ecc.volatile.sram_corrected,
                aggregateUncBucketL2: ecc.sram_buckets.l2,
                aggregateUncBucketSm: ecc.sram_buckets.sm,
                aggregateUncBucketPcie: ecc.sram_buckets.pcie,
                aggregateUncBucketMcu: ecc.sram_buckets.mcu,
                aggregateUncBucketOther: ecc.sram_buckets.other,
                bThresholdExceeded: ecc.sram_threshold_exceeded,
            };
            Ok(())
        })
    }

    fn nvmlDeviceGetRemappedRows(
        device: nvmlDevice_t,
        corrected: OutParam<'_, c_uint>,
        uncorrected: OutParam<'_, c_uint>,
        pending: OutParam<'_, c_uint>,
        failed: OutParam<'_, c_uint>,
    ) {
        with_gpu(SYMBOL, device, |device| {
            let rows = &device.gpu.remapped;
            write(corrected, rows.corrected)?;
            write(uncorrected, rows.uncorrected)?;
            write(pending, rows.pending)?;
            write(failed, rows.failed)
        })
    }

    fn nvmlDeviceGetRowRemapperHistogram(
        device: nvmlDevice_t,
        values: OutParam<'_, sys::nvmlRowRemapperHistogramValues_t>,
    ) {
        get(SYMBOL, device, values, |gpu| {
            let rows = &gpu.remapped.histogram;
            Ok(sys::nvmlRowRemapperHistogramValues_t {
                max: rows.max,
                high: rows.high,
                partial: rows.partial,
                low: rows.low,
                none: rows.none,
            })
        })
    }

    fn nvmlDeviceGetRepairStatus(device: nvmlDevice_t, status: Option<&mut sys::nvmlRepairStatus_v1_t>) {
        with_gpu(SYMBOL, device, |device| {
            expect_newer(device.moment)?;
            let status = status.ok_or(INVALID_ARGUMENT)?;
            expect_version::<sys::nvmlRepairStatus_v1_t>(status.version, 1)?;
            status.bChannelRepairPending = 0;
            status.bTpcRepairPending = 0;
            Ok(())
        })
    }

    fn nvmlDeviceGetGpuFabricInfo(device: nvmlDevice_t, info: Option<&mut sys::nvmlGpuFabricInfo_t>) {
        with_gpu(SYMBOL, device, |device| {
            let fabric = device.gpu.fabric.ok_or(NOT_SUPPORTED)?;
            let info = info.ok_or(INVALID_ARGUMENT)?;
            info.clusterUuid = fabric.cluster_uuid;
            info.status = fabric.status;
            info.cliqueId = fabric.clique_id;
            info.state = fabric.state;
            Ok(())
        })
    }

    fn nvmlDeviceGetGpuFabricInfoV(device: nvmlDevice_t, info: *mut sys::nvmlGpuFabricInfo_v3_t) {
        with_gpu(SYMBOL, device, |device| {
            if info.is_null() {
                return Err(INVALID_ARGUMENT);
            }
            // SAFETY: every layout of this struct begins with its version, and the caller hands one in.
            let version = unsafe { (&raw const (*info).version).read() };
            let is_v3 = version == version_of::<sys::nvmlGpuFabricInfo_v3_t>(3);
            let is_v2 = version == version_of::<sys::nvmlGpuFabricInfo_v2_t>(2);
            let knows_v3 = device.moment.state.driver.release().0 >= FABRIC_V3_SINCE;
            if !(is_v2 || is_v3 && knows_v3) {
                return Err(VERSION_MISMATCH);
            }
            let fabric = device.gpu.fabric.ok_or(NOT_SUPPORTED)?;
            // Field by field: NVIDIA's Python binding reads `state` together with the padding after it, which is not ours.
            // SAFETY: version 2 is version 3 without its last field, and the version says which the caller's struct is.
            unsafe {
                (&raw mut (*info).clusterUuid).write(fabric.cluster_uuid);
                (&raw mut (*info).status).write(fabric.status);
                (&raw mut (*info).cliqueId).write(fabric.clique_id);
                (&raw mut (*info).state).write(fabric.state);
                (&raw mut (*info).healthMask).write(fabric.health_mask);
                if is_v3 {
                    (&raw mut (*info).healthSummary).write(fabric.health_summary);
                }
            }
            Ok(())
        })
    }
}

const CORRECTED: c_uint = sys::nvmlMemoryErrorType_enum_NVML_MEMORY_ERROR_TYPE_CORRECTED;
const UNCORRECTED: c_uint = sys::nvmlMemoryErrorType_enum_NVML_MEMORY_ERROR_TYPE_UNCORRECTED;
const SRAM: c_uint = sys::nvmlMemoryLocation_enum_NVML_MEMORY_LOCATION_SRAM;
const DRAM: c_uint = sys::nvmlMemoryLocation_enum_NVML_MEMORY_LOCATION_DRAM;
const PLACES: c_uint = sys::nvmlMemoryLocation_enum_NVML_MEMORY_LOCATION_COUNT;

fn counts_of(gpu: &Gpu, life: c_uint) -> NvmlResult<EccCounts> {
    match life {
        sys::nvmlEccCounterType_enum_NVML_VOLATILE_ECC => Ok(gpu.ecc.volatile),
        sys::nvmlEccCounterType_enum_NVML_AGGREGATE_ECC => Ok(gpu.ecc.aggregate),
        _ => Err(INVALID_ARGUMENT),
    }
}
