//! The scripted state at one point in time: GPUs with their faults applied, calls that hang or fail, and past events. Pure: the same state and
//! moment, the same answer. Both the library and tests ask here.

use nvml_wrapper_sys::bindings as sys;

use crate::state::{
    EccCounter, EccCounts, Effect, Fault, Gpu, HangMode, Link, LinkCounter, Module, RemapCause, State, Violations,
};

/// The first driver whose NVML tells the recovery action (NVIDIA's XID catalogue, entry 154).
const RECOVERY_ACTION_SINCE: u32 = 565;

/// A state file evaluated at one time of the script's clock.
#[derive(Debug, Clone, Copy)]
pub struct Snapshot<'a> {
    /// The state.
    pub state: &'a State,
    /// The moment.
    pub now_ms: u64,
}

/// Events that a fault causes, once or at an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EventSeries {
    /// `nvmlEventType…`.
    pub(crate) kind: u64,
    pub(crate) every_ms: u64,
    pub(crate) times: u64,
    /// The XID, or nothing.
    pub(crate) data: u64,
    pub(crate) gpu_instance: Option<u32>,
}

// === impl Snapshot ===

impl<'a> Snapshot<'a> {
    /// A state now.
    #[must_use]
    pub fn now(state: &'a State) -> Self {
        Self { state, now_ms: state.now_ms() }
    }

    /// Whether the kernel module is there.
    #[must_use]
    pub fn module(&self) -> Module {
        let gone = self.on().any(|fault| fault.effect == Effect::DriverUnloaded);
        if gone { Module::Unloaded } else { self.state.driver.module }
    }

    /// Whether a GPU has fallen off the bus.
    #[must_use]
    pub fn is_lost(&self, gpu: u32) -> bool {
        self.on().any(|fault| fault.effect == Effect::GpuLost && fault.concerns(gpu))
    }

    /// A GPU with everything that has happened to it.
    #[must_use]
    pub fn gpu(&self, index: u32) -> Option<Gpu> {
        let mut gpu = self.state.gpus.get(usize::try_from(index).ok()?)?.clone();
        for fault in self.state.faults.iter().filter(|fault| fault.concerns(index)) {
            if let Some(lasted_ms) = fault.lasted_ms(self.now_ms) {
                apply(fault, lasted_ms, fault.is_on(self.now_ms), &mut gpu);
            }
        }
        Some(gpu)
    }

    /// How a call hangs now, if it does, and until when. A call that is not about a GPU is stopped by faults of no GPU in
    /// particular.
    #[must_use]
    pub fn hangs(&self, symbol: &str, gpu: Option<u32>) -> Option<(HangMode, Option<u64>)> {
        self.on().filter(|fault| names(fault, symbol, gpu)).find_map(|fault| {
            if let Effect::Hang { manner, .. } = fault.effect { Some((manner, fault.until_ms)) } else { None }
        })
    }

    /// What a call is made to answer now, if anything.
    #[must_use]
    pub fn error(&self, symbol: &str, gpu: Option<u32>) -> Option<u32> {
        self.on()
            .filter(|fault| names(fault, symbol, gpu))
            .find_map(|fault| if let Effect::Error { code, .. } = fault.effect { Some(code) } else { None })
    }

    /// The kinds of events that a GPU can tell.
    pub(crate) fn event_kinds(&self) -> u64 {
        let always = sys::nvmlEventTypeXidCriticalError
            | sys::nvmlEventTypeSingleBitEccError
            | sys::nvmlEventTypeDoubleBitEccError;
        let since = if self.tells_recovery_action() { sys::nvmlEventTypeGpuRecoveryAction } else { 0 };
        u64::from(always | since)
    }

    /// Whether this driver knows recovery actions.
    pub(crate) fn tells_recovery_action(&self) -> bool {
        self.state.driver.release().0 >= RECOVERY_ACTION_SINCE
    }

    /// Faults with events, each with how often its event has happened by now.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&'a Fault, EventSeries, u64)> {
        let now_ms = self.now_ms;
        self.state.faults.iter().filter_map(move |fault| {
            let row = EventSeries::of(fault)?;
            Some((fault, row, row.happened(fault, now_ms)))
        })
    }

    fn on(&self) -> impl Iterator<Item = &'a Fault> {
        let now_ms = self.now_ms;
        self.state.faults.iter().filter(move |fault| fault.is_on(now_ms))
    }
}

/// Whether a fault is about calls of this function on this GPU.
fn names(fault: &Fault, symbol: &str, gpu: Option<u32>) -> bool {
    let function = fault.effect.symbol().is_some_and(|named| named == symbol || named == "*");
    function && fault.gpu.is_none_or(|named| gpu == Some(named))
}

// === impl EventSeries ===

impl EventSeries {
    fn of(fault: &Fault) -> Option<Self> {
        let one = Self { kind: 0, every_ms: 0, times: 1, data: 0, gpu_instance: None };
        match &fault.effect {
            Effect::Xid { code, every_ms, times, gpu_instance } => Some(Self {
                kind: u64::from(sys::nvmlEventTypeXidCriticalError),
                every_ms: *every_ms,
                times: u64::from(*times),
                data: *code,
                gpu_instance: *gpu_instance,
            }),
            Effect::RecoveryAction { .. } => Some(Self { kind: u64::from(sys::nvmlEventTypeGpuRecoveryAction), ..one }),
            Effect::Ecc { counter, growth } => {
                let kind = match counter {
                    EccCounter::SramCorrected | EccCounter::DramCorrected => sys::nvmlEventTypeSingleBitEccError,
                    EccCounter::SramParity | EccCounter::SramSecded | EccCounter::DramUncorrected => {
                        sys::nvmlEventTypeDoubleBitEccError
                    }
                };
                let times = if growth.every_ms == 0 { 1 } else { growth.up_to.div_ceil(growth.by.max(1)) };
                Some(Self { kind: u64::from(kind), every_ms: growth.every_ms, times, ..one })
            }
            Effect::GpuLost
            | Effect::Hang { .. }
            | Effect::Error { .. }
            | Effect::SramThreshold
            | Effect::Remapped { .. }
            | Effect::RemapPending
            | Effect::RemapFailed
            | Effect::Throttle { .. }
            | Effect::PowerCap { .. }
            | Effect::NvlinkDown { .. }
            | Effect::NvlinkErrors { .. }
            | Effect::FabricHealth { .. }
            | Effect::PcieReplays { .. }
            | Effect::PcieDowntrained { .. }
            | Effect::DriverUnloaded => None,
        }
    }

    fn happened(&self, fault: &Fault, now_ms: u64) -> u64 {
        let Some(lasted_ms) = fault.lasted_ms(now_ms) else { return 0 };
        lasted_ms.checked_div(self.every_ms).map_or(self.times, |steps| steps.saturating_add(1).min(self.times))
    }

    /// When it happens for the time after `happened` times.
    pub(crate) fn next_ms(&self, fault: &Fault, happened: u64) -> Option<u64> {
        let at = fault.from_ms.saturating_add(self.every_ms.saturating_mul(happened));
        (happened < self.times && fault.until_ms.is_none_or(|until| at < until)).then_some(at)
    }
}

// === what faults do to a GPU ===

/// Totals keep what a fault brought them; everything else is as it was once the fault is over.
fn apply(fault: &Fault, lasted_ms: u64, is_on: bool, gpu: &mut Gpu) {
    match &fault.effect {
        Effect::Ecc { counter, growth } => {
            for counts in [&mut gpu.ecc.volatile, &mut gpu.ecc.aggregate] {
                add(ecc_of(counts, *counter), growth.after(lasted_ms));
            }
            if matches!(counter, EccCounter::SramParity | EccCounter::SramSecded) {
                add(&mut gpu.ecc.sram_buckets.l2, growth.after(lasted_ms));
            }
        }
        Effect::Remapped { cause, growth, histogram } => {
            let rows = match cause {
                RemapCause::Corrected => &mut gpu.remapped.corrected,
                RemapCause::Uncorrected => &mut gpu.remapped.uncorrected,
            };
            *rows = rows.saturating_add(u32::try_from(growth.after(lasted_ms)).unwrap_or(u32::MAX));
            gpu.remapped.histogram = histogram.unwrap_or(gpu.remapped.histogram);
        }
        Effect::NvlinkErrors { link, counter, growth } => {
            if let Some(link) = link_of(gpu, *link) {
                add(counter_of(link, *counter), growth.after(lasted_ms));
            }
        }
        Effect::PcieReplays { growth } => {
            let more = u32::try_from(growth.after(lasted_ms)).unwrap_or(u32::MAX);
            gpu.pcie.replays = gpu.pcie.replays.saturating_add(more);
        }
        Effect::Throttle { reasons, clock_mhz, celsius } => {
            slowed_for(&mut gpu.violations, *reasons, lasted_ms);
            if is_on {
                gpu.clocks_event_reasons |= reasons;
                gpu.clocks.graphics_mhz = *clock_mhz;
                gpu.clocks.sm_mhz = *clock_mhz;
                gpu.temperature.gpu_celsius = celsius.unwrap_or(gpu.temperature.gpu_celsius);
            }
        }
        Effect::PowerCap { milliwatts } => {
            slowed_for(&mut gpu.violations, u64::from(sys::nvmlClocksEventReasonSwPowerCap), lasted_ms);
            if is_on {
                gpu.clocks_event_reasons |= u64::from(sys::nvmlClocksEventReasonSwPowerCap);
                gpu.power.enforced_mw = gpu.power.enforced_mw.min(*milliwatts);
                gpu.power.usage_mw = gpu.power.usage_mw.min(*milliwatts);
            }
        }
        Effect::RecoveryAction { action } if is_on => gpu.recovery_action = *action,
        Effect::SramThreshold if is_on => gpu.ecc.sram_threshold_exceeded = 1,
        Effect::RemapPending if is_on => gpu.remapped.pending = 1,
        Effect::RemapFailed if is_on => gpu.remapped.failed = 1,
        Effect::NvlinkDown { link } if is_on => {
            if let Some(link) = link_of(gpu, *link) {
                link.state = sys::NVML_NVLINK_STATE_INACTIVE;
            }
        }
        Effect::FabricHealth { mask, summary } if is_on => {
            if let Some(fabric) = &mut gpu.fabric {
                fabric.health_mask = *mask;
                fabric.health_summary = *summary;
            }
        }
        Effect::PcieDowntrained { link } if is_on => gpu.pcie.now = *link,
        Effect::RecoveryAction { .. }
        | Effect::SramThreshold
        | Effect::RemapPending
        | Effect::RemapFailed
        | Effect::NvlinkDown { .. }
        | Effect::FabricHealth { .. }
        | Effect::PcieDowntrained { .. }
        // Not of the GPU as data: they are asked for by name above.
        | Effect::Xid { .. }
        | Effect::GpuLost
        | Effect::Hang { .. }
        | Effect::Error { .. }
        | Effect::DriverUnloaded => {}
    }
}

fn add(total: &mut u64, more: u64) {
    *total = total.saturating_add(more);
}

fn link_of(gpu: &mut Gpu, link: u32) -> Option<&mut Link> {
    gpu.nvlink.links.get_mut(usize::try_from(link).ok()?)
}

fn slowed_for(violations: &mut Violations, reasons: u64, lasted_ms: u64) {
    let lasted_ns = lasted_ms.saturating_mul(1_000_000);
    for (reason, total) in [
        (sys::nvmlClocksEventReasonSwPowerCap, &mut violations.sw_power_cap_ns),
        (sys::nvmlClocksEventReasonSwThermalSlowdown, &mut violations.sw_thermal_ns),
        (sys::nvmlClocksThrottleReasonHwThermalSlowdown, &mut violations.hw_thermal_ns),
        (sys::nvmlClocksThrottleReasonHwPowerBrakeSlowdown, &mut violations.hw_power_brake_ns),
        (sys::nvmlClocksEventReasonSyncBoost, &mut violations.sync_boost_ns),
    ] {
        if reasons & u64::from(reason) != 0 {
            add(total, lasted_ns);
        }
    }
}

const fn ecc_of(counts: &mut EccCounts, counter: EccCounter) -> &mut u64 {
    match counter {
        EccCounter::SramCorrected => &mut counts.sram_corrected,
        EccCounter::SramParity => &mut counts.sram_parity,
        EccCounter::SramSecded => &mut counts.sram_secded,
        EccCounter::DramCorrected => &mut counts.dram_corrected,
        EccCounter::DramUncorrected => &mut counts.dram_uncorrected,
    }
}

const fn counter_of(link: &mut Link, counter: LinkCounter) -> &mut u64 {
    let counters = &mut link.counters;
    match counter {
        LinkCounter::Replay => &mut counters.replay,
        LinkCounter::Recovery => &mut counters.recovery,
        LinkCounter::CrcFlit => &mut counters.crc_flit,
        LinkCounter::CrcData => &mut counters.crc_data,
        LinkCounter::EccData => &mut counters.ecc_data,
        LinkCounter::RcvErrors => &mut counters.rcv_errors,
        LinkCounter::LinkIntegrityErrors => &mut counters.link_integrity_errors,
        LinkCounter::RecoverySuccessful => &mut counters.recovery_successful,
        LinkCounter::RecoveryFailed => &mut counters.recovery_failed,
        LinkCounter::RecoveryEvents => &mut counters.recovery_events,
        LinkCounter::EffectiveErrors => &mut counters.effective_errors,
        LinkCounter::SymbolErrors => &mut counters.symbol_errors,
    }
}
