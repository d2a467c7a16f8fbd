//! Field values: NVML's second way to read a GPU, by number. Numbers are those of nvml-wrapper-sys (NVML 13.0); NVIDIA moved
//! some of them at driver 580.82, and the fake answers by the driver that it plays.

use nvml_wrapper_sys::bindings as sys;
use nvml_wrapper_sys::bindings::field_id as id;

use crate::return_codes::{INVALID_ARGUMENT, NOT_SUPPORTED, NvmlResult};
use crate::snapshot::Snapshot;
use crate::state::gpu_distance;
use crate::state::{Gpu, Link, LinkCounters, Thresholds};

/// From here on the numbers 251 to 273 mean something else (nvml-wrapper 0.13 has the same border).
const MOVED_SINCE: (u32, u32) = (580, 82);
/// The first driver with byte counters of PCIe (NVIDIA's list of changes of NVML, R555).
const PCIE_BYTES_SINCE: u32 = 555;
/// `NVML_NVLINK_VERSION_5_0`.
const NVLINK_5: u32 = sys::nvmlNvlinkVersion_enum_NVML_NVLINK_VERSION_5_0;
/// A scope that means every link together.
const ALL_LINKS: u32 = u32::MAX;

/// A value with its type. NVML's documents do not say which type a field has; these are the usual ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Value {
    Unsigned(u32),
    Signed(i32),
    Long(u64),
}

/// The value of a field as this driver numbers it.
pub(crate) fn value(moment: &Snapshot<'_>, gpu: &Gpu, field: u32, scope: u32) -> NvmlResult<Value> {
    let field = if moment.state.driver.release() >= MOVED_SINCE { moved_back(field) } else { field };
    match field {
        0 | id::NVML_FI_MAX.. => Err(INVALID_ARGUMENT),
        id::NVML_FI_DEV_GET_GPU_RECOVERY_ACTION => {
            if moment.tells_recovery_action() {
                Ok(Value::Unsigned(gpu.recovery_action))
            } else {
                Err(NOT_SUPPORTED)
            }
        }
        id::NVML_FI_DEV_RESET_STATUS => Ok(Value::Unsigned(u32::from(matches!(gpu.recovery_action, 1 | 4)))),
        id::NVML_FI_DEV_DRAIN_AND_RESET_STATUS => Ok(Value::Unsigned(u32::from(gpu.recovery_action == 4))),
        id::NVML_FI_DEV_PCIE_COUNT_TX_BYTES | id::NVML_FI_DEV_PCIE_COUNT_RX_BYTES
            if moment.state.driver.release().0 < PCIE_BYTES_SINCE =>
        {
            Err(NOT_SUPPORTED)
        }
        _ => memory(gpu, field)
            .or_else(|| running(gpu, field))
            .or_else(|| pcie(gpu, field))
            .or_else(|| links(gpu, field))
            .map_or_else(|| scoped(gpu, field, scope), Ok),
    }
}

/// A number of the newer order in the older one.
const fn moved_back(field: u32) -> u32 {
    match field {
        251..=268 => field + 5,
        269..=273 => field - 18,
        other => other,
    }
}

fn memory(gpu: &Gpu, field: u32) -> Option<Value> {
    let (volatile, aggregate) = (&gpu.ecc.volatile, &gpu.ecc.aggregate);
    Some(match field {
        id::NVML_FI_DEV_ECC_CURRENT | id::NVML_FI_DEV_ECC_PENDING => Value::Unsigned(1),
        id::NVML_FI_DEV_ECC_SBE_VOL_TOTAL => Value::Long(volatile.corrected()),
        id::NVML_FI_DEV_ECC_DBE_VOL_TOTAL => Value::Long(volatile.uncorrected()),
        id::NVML_FI_DEV_ECC_SBE_AGG_TOTAL => Value::Long(aggregate.corrected()),
        id::NVML_FI_DEV_ECC_DBE_AGG_TOTAL => Value::Long(aggregate.uncorrected()),
        id::NVML_FI_DEV_ECC_SBE_VOL_DEV => Value::Long(volatile.dram_corrected),
        id::NVML_FI_DEV_ECC_DBE_VOL_DEV => Value::Long(volatile.dram_uncorrected),
        id::NVML_FI_DEV_ECC_SBE_AGG_DEV => Value::Long(aggregate.dram_corrected),
        id::NVML_FI_DEV_ECC_DBE_AGG_DEV => Value::Long(aggregate.dram_uncorrected),
        id::NVML_FI_DEV_REMAPPED_COR => Value::Unsigned(gpu.remapped.corrected),
        id::NVML_FI_DEV_REMAPPED_UNC => Value::Unsigned(gpu.remapped.uncorrected),
        id::NVML_FI_DEV_REMAPPED_PENDING => Value::Unsigned(gpu.remapped.pending),
        id::NVML_FI_DEV_REMAPPED_FAILURE => Value::Unsigned(gpu.remapped.failed),
        _ => return None,
    })
}

fn running(gpu: &Gpu, field: u32) -> Option<Value> {
    let temperature = &gpu.temperature;
    let distance = |to: u32| {
        let known = temperature.thresholds != Thresholds::Degrees;
        known.then(|| Value::Signed(gpu_distance(temperature.slowdown_celsius, to)))
    };
    Some(match field {
        id::NVML_FI_DEV_MEMORY_TEMP => Value::Unsigned(temperature.memory_celsius),
        id::NVML_FI_DEV_TEMPERATURE_SHUTDOWN_TLIMIT => return distance(temperature.shutdown_celsius),
        id::NVML_FI_DEV_TEMPERATURE_SLOWDOWN_TLIMIT => return distance(temperature.slowdown_celsius),
        id::NVML_FI_DEV_TEMPERATURE_MEM_MAX_TLIMIT => return distance(temperature.memory_max_celsius),
        id::NVML_FI_DEV_TEMPERATURE_GPU_MAX_TLIMIT => return distance(temperature.gpu_max_celsius),
        id::NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION | id::NVML_FI_DEV_ENERGY => Value::Long(gpu.power.energy_mj),
        id::NVML_FI_DEV_POWER_AVERAGE | id::NVML_FI_DEV_POWER_INSTANT => Value::Unsigned(gpu.power.usage_mw),
        id::NVML_FI_DEV_POWER_MIN_LIMIT => Value::Unsigned(gpu.power.min_mw),
        id::NVML_FI_DEV_POWER_MAX_LIMIT => Value::Unsigned(gpu.power.max_mw),
        id::NVML_FI_DEV_POWER_DEFAULT_LIMIT => Value::Unsigned(gpu.power.default_mw),
        id::NVML_FI_DEV_POWER_CURRENT_LIMIT => Value::Unsigned(gpu.power.enforced_mw),
        id::NVML_FI_DEV_POWER_REQUESTED_LIMIT => Value::Unsigned(gpu.power.limit_mw),
        id::NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP => Value::Long(gpu.violations.sw_power_cap_ns),
        id::NVML_FI_DEV_CLOCKS_EVENT_REASON_SYNC_BOOST => Value::Long(gpu.violations.sync_boost_ns),
        id::NVML_FI_DEV_PERF_POLICY_THERMAL | id::NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN => {
            Value::Long(gpu.violations.sw_thermal_ns)
        }
        id::NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN => Value::Long(gpu.violations.hw_thermal_ns),
        id::NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN => Value::Long(gpu.violations.hw_power_brake_ns),
        id::NVML_FI_DEV_IS_RESETLESS_MIG_SUPPORTED => Value::Unsigned(u32::from(gpu.architecture >= 9)),
        id::NVML_FI_DEV_C2C_LINK_COUNT => Value::Unsigned(gpu.c2c_links),
        _ => return None,
    })
}

fn pcie(gpu: &Gpu, field: u32) -> Option<Value> {
    Some(match field {
        id::NVML_FI_DEV_PCIE_REPLAY_COUNTER => Value::Unsigned(gpu.pcie.replays),
        id::NVML_FI_DEV_PCIE_COUNT_TX_BYTES => Value::Long(gpu.pcie.transmit_bytes),
        id::NVML_FI_DEV_PCIE_COUNT_RX_BYTES => Value::Long(gpu.pcie.receive_bytes),
        id::NVML_FI_DEV_PCIE_COUNT_CORRECTABLE_ERRORS => Value::Unsigned(gpu.pcie.correctable),
        id::NVML_FI_DEV_PCIE_REPLAY_ROLLOVER_COUNTER
        | id::NVML_FI_DEV_PCIE_L0_TO_RECOVERY_COUNTER
        | id::NVML_FI_DEV_PCIE_COUNT_NAKS_RECEIVED..=id::NVML_FI_DEV_PCIE_COUNT_LANE_ERROR => Value::Unsigned(0),
        _ => return None,
    })
}

/// Fields of NVLink without a scope: sums, and one number per link for the first twelve.
fn links(gpu: &Gpu, field: u32) -> Option<Value> {
    let nvlink = &gpu.nvlink;
    match field {
        id::NVML_FI_DEV_NVLINK_LINK_COUNT => {
            return Some(Value::Unsigned(u32::try_from(nvlink.links.len()).unwrap_or(0)));
        }
        id::NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON if !nvlink.links.is_empty() => {
            return Some(Value::Unsigned(nvlink.speed_mbps));
        }
        id::NVML_FI_DEV_NVSWITCH_CONNECTED_LINK_COUNT => {
            let to_switches = nvlink.links.iter().filter(|link| link.peer == crate::state::LinkPeer::Switch);
            return Some(Value::Unsigned(u32::try_from(to_switches.count()).unwrap_or(0)));
        }
        _ => {}
    }
    // First number of links 0 to 5, number of the sum, first number of links 6 to 11; what each counts.
    let speed = |link: &Link| if link.is_active() { u64::from(nvlink.speed_mbps) } else { 0 };
    let of = |first: u32, sum: u32, second: u32, count: &dyn Fn(&Link) -> u64| {
        if field == sum {
            return Some(Value::Long(nvlink.links.iter().map(count).fold(0, u64::saturating_add)));
        }
        let link = match field {
            _ if (first..first + 6).contains(&field) => field - first,
            _ if (second..second + 6).contains(&field) => field - second + 6,
            _ => return None,
        };
        nvlink.links.get(usize::try_from(link).ok()?).map(|link| Value::Long(count(link)))
    };
    if nvlink.version < NVLINK_5 {
        of(32, 38, 96, &|link| link.counters.crc_flit)
            .or_else(|| of(39, 45, 102, &|link| link.counters.crc_data))
            .or_else(|| of(46, 52, 108, &|link| link.counters.replay))
            .or_else(|| of(53, 59, 114, &|link| link.counters.recovery))
            .or_else(|| of(148, 160, 154, &|link| link.counters.ecc_data))
            .or_else(|| of(84, u32::MAX, 132, &speed))
    } else {
        None
    }
}

/// Fields of one link, or of all links together.
fn scoped(gpu: &Gpu, field: u32, scope: u32) -> NvmlResult<Value> {
    let nvlink = &gpu.nvlink;
    let is_5 = nvlink.version >= NVLINK_5;
    let count = |known: bool, of: &dyn Fn(&LinkCounters) -> u64| {
        if !known {
            return Err(NOT_SUPPORTED);
        }
        if scope == ALL_LINKS {
            let each = nvlink.links.iter().map(|link| of(&link.counters));
            return Ok(Value::Long(each.fold(0, u64::saturating_add)));
        }
        Ok(Value::Long(of(&one(gpu, scope)?.counters)))
    };
    match field {
        id::NVML_FI_DEV_NVLINK_GET_STATE => Ok(Value::Unsigned(one(gpu, scope)?.state)),
        id::NVML_FI_DEV_NVLINK_GET_VERSION => one(gpu, scope).map(|_| Value::Unsigned(nvlink.version)),
        id::NVML_FI_DEV_NVLINK_GET_SPEED => {
            let speed = if one(gpu, scope)?.is_active() { nvlink.speed_mbps } else { 0 };
            Ok(Value::Unsigned(speed))
        }
        id::NVML_FI_DEV_NVLINK_ERROR_DL_REPLAY => count(!is_5, &|link| link.replay),
        id::NVML_FI_DEV_NVLINK_ERROR_DL_RECOVERY => count(!is_5, &|link| link.recovery),
        id::NVML_FI_DEV_NVLINK_ERROR_DL_CRC => count(!is_5, &|link| link.crc_flit.saturating_add(link.crc_data)),
        id::NVML_FI_DEV_NVLINK_COUNT_XMIT_PACKETS => count(is_5, &|link| link.xmit_packets),
        id::NVML_FI_DEV_NVLINK_COUNT_XMIT_BYTES => count(is_5, &|link| link.xmit_bytes),
        id::NVML_FI_DEV_NVLINK_COUNT_RCV_PACKETS => count(is_5, &|link| link.rcv_packets),
        id::NVML_FI_DEV_NVLINK_COUNT_RCV_BYTES => count(is_5, &|link| link.rcv_bytes),
        id::NVML_FI_DEV_NVLINK_COUNT_VL15_DROPPED
        | id::NVML_FI_DEV_NVLINK_COUNT_RCV_GENERAL_ERRORS
        | id::NVML_FI_DEV_NVLINK_COUNT_RAW_BER_LANE0..=id::NVML_FI_DEV_NVLINK_COUNT_RAW_BER
        | id::NVML_FI_DEV_NVLINK_COUNT_EFFECTIVE_BER
        | id::NVML_FI_DEV_NVLINK_COUNT_SYMBOL_BER
        | id::NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_0..=id::NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_15 => {
            count(is_5, &|_| 0)
        }
        id::NVML_FI_DEV_NVLINK_COUNT_MALFORMED_PACKET_ERRORS => count(is_5, &|link| link.malformed_packets),
        id::NVML_FI_DEV_NVLINK_COUNT_BUFFER_OVERRUN_ERRORS => count(is_5, &|link| link.buffer_overruns),
        id::NVML_FI_DEV_NVLINK_COUNT_RCV_ERRORS => count(is_5, &|link| link.rcv_errors),
        id::NVML_FI_DEV_NVLINK_COUNT_RCV_REMOTE_ERRORS => count(is_5, &|link| link.rcv_remote_errors),
        id::NVML_FI_DEV_NVLINK_COUNT_LOCAL_LINK_INTEGRITY_ERRORS => count(is_5, &|link| link.link_integrity_errors),
        id::NVML_FI_DEV_NVLINK_COUNT_XMIT_DISCARDS => count(is_5, &|link| link.xmit_discards),
        id::NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_SUCCESSFUL_EVENTS => count(is_5, &|link| link.recovery_successful),
        id::NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_FAILED_EVENTS => count(is_5, &|link| link.recovery_failed),
        id::NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS => count(is_5, &|link| link.recovery_events),
        id::NVML_FI_DEV_NVLINK_COUNT_EFFECTIVE_ERRORS => count(is_5, &|link| link.effective_errors),
        id::NVML_FI_DEV_NVLINK_COUNT_SYMBOL_ERRORS => count(is_5, &|link| link.symbol_errors),
        id::NVML_FI_DEV_C2C_LINK_GET_STATUS => c2c(gpu, scope).map(|()| Value::Unsigned(1)),
        // NVLink-C2C of GB200, 900 GB/s in all; as each link's share.
        id::NVML_FI_DEV_C2C_LINK_GET_MAX_BW => c2c(gpu, scope).map(|()| Value::Unsigned(44_712)),
        _ => Err(NOT_SUPPORTED),
    }
}

fn one(gpu: &Gpu, scope: u32) -> NvmlResult<&Link> {
    if gpu.nvlink.links.is_empty() {
        return Err(NOT_SUPPORTED);
    }
    usize::try_from(scope).ok().and_then(|link| gpu.nvlink.links.get(link)).ok_or(INVALID_ARGUMENT)
}

fn c2c(gpu: &Gpu, scope: u32) -> NvmlResult {
    match gpu.c2c_links {
        0 => Err(NOT_SUPPORTED),
        links if scope < links => Ok(()),
        _ => Err(INVALID_ARGUMENT),
    }
}
