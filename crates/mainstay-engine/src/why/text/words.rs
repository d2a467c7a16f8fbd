//! Words for single things: caps of the mode, actions, repair steps, requests, sources, and short lists of names.

use std::fmt;

use mainstay_model::{ActionKind, RepairStep, RequestKind, Source};

use super::super::{Cap, Few};

/// The name of an evidence source, as it starts a code.
#[must_use]
pub const fn source(source: Source) -> &'static str {
    match source {
        Source::Xid => "XID",
        Source::Sxid => "SXid",
        Source::PcieAer => "PCIe",
        Source::Nic => "NIC",
        Source::Kernel => "kernel",
        Source::Nvml => "NVML",
        Source::Inventory => "inventory",
        Source::External => "other tool",
        Source::Unrecognised => "unrecognised line",
        Source::Driver => "GPU driver",
        Source::Service => "service",
    }
}

pub(super) fn capped(cap: &Cap) -> String {
    match cap {
        Cap::Cell(mode) => format!("mode {mode:?} is in effect in the cell"),
        Cap::Pool(pool, mode) => format!("pool {pool} is in mode {mode:?}"),
        Cap::Kind(pool, mode) => format!("pool {pool} allows this action in mode {mode:?} only"),
        Cap::NoPolicy => "the pool has no FleetPolicy".to_owned(),
        Cap::Restored => "the Cell was restored from an older copy".to_owned(),
    }
}

/// What lifts the cap, as it completes "once …".
pub(super) fn raised(cap: &Cap) -> String {
    match cap {
        Cap::Cell(_) => "an operator raises the mode of the cell".to_owned(),
        Cap::Pool(pool, _) => format!("an operator raises the mode of pool {pool}"),
        Cap::Kind(pool, _) => format!("an operator promotes this action in pool {pool}"),
        Cap::NoPolicy => "the pool has a FleetPolicy".to_owned(),
        Cap::Restored => "an operator reviews the restore and raises the Cell epoch".to_owned(),
    }
}

pub(super) const fn action(kind: ActionKind) -> &'static str {
    match kind {
        ActionKind::Cordon => "cordon",
        ActionKind::Drain => "drain",
        ActionKind::RestartService => "service restart",
        ActionKind::ResetGpu => "GPU reset",
        ActionKind::Reboot => "reboot",
        ActionKind::PowerCycle => "power cycle",
        ActionKind::Return => "return to service",
    }
}

pub(super) const fn step_of(step: RepairStep) -> &'static str {
    match step {
        RepairStep::Capture => "save its logs",
        RepairStep::RestartService => "restart a service",
        RepairStep::ResetGpu => "reset the GPU",
        RepairStep::Reboot => "reboot the node",
        RepairStep::PowerCycle => "power-cycle the node",
        RepairStep::Replace => "replace a part",
    }
}

pub(super) const fn request(kind: RequestKind) -> &'static str {
    match kind {
        RequestKind::Hold => "hold",
        RequestKind::Quarantine => "quarantine",
        RequestKind::Drain => "drain",
        RequestKind::Return => "return",
        RequestKind::Retire => "retirement",
    }
}

pub(super) fn named<T: fmt::Display>(few: &Few<T>) -> String {
    let names: Vec<String> = few.names.as_slice().iter().map(T::to_string).collect();
    let more = usize::try_from(few.all).unwrap_or(usize::MAX).saturating_sub(names.len());
    if more == 0 { names.join(", ") } else { format!("{} and {more} more", names.join(", ")) }
}

pub(super) fn is_or_are<T: fmt::Display>(few: &Few<T>) -> String {
    format!("{} {}", named(few), if few.all == 1 { "is" } else { "are" })
}

pub(super) fn were<T: fmt::Display>(few: &Few<T>) -> String {
    format!("{} {}", named(few), if few.all == 1 { "was" } else { "were" })
}
