//! The words for single things: who caps what, acts, rungs, requests, sources, and a few by name.

use std::fmt;

use mainstay_model::{ActionKind, RequestKind, Rung, Source};

use super::super::{Cap, Few};

/// Who says something, as people write it.
#[must_use]
pub const fn source(source: Source) -> &'static str {
    match source {
        Source::Xid => "XID",
        Source::Sxid => "SXid",
        Source::PcieAer => "PCIe",
        Source::Nic => "NIC",
        Source::Kernel => "kernel",
        Source::Nvml => "NVML",
        Source::Dcgm => "DCGM",
        Source::Inventory => "inventory",
        Source::External => "another tool's",
    }
}

pub(super) fn capped(cap: &Cap) -> String {
    match cap {
        Cap::Cell(mode) => format!("the cell is in mode {mode:?}"),
        Cap::Pool(pool, mode) => format!("pool {pool} is in mode {mode:?}"),
        Cap::Kind(pool, mode) => format!("pool {pool} keeps this in mode {mode:?}"),
        Cap::NoPolicy => "the pool has no policy".to_owned(),
        Cap::Restored => "the cell was restored from an older one".to_owned(),
    }
}

pub(super) fn raise(cap: &Cap) -> String {
    match cap {
        Cap::Cell(_) => "a higher mode of the cell".to_owned(),
        Cap::Pool(pool, _) => format!("a higher mode of pool {pool}"),
        Cap::Kind(pool, _) => format!("a promotion in pool {pool}"),
        Cap::NoPolicy => "a policy for the pool".to_owned(),
        Cap::Restored => "somebody looks, and raises the epoch of the Cell".to_owned(),
    }
}

pub(super) const fn act(kind: ActionKind) -> &'static str {
    match kind {
        ActionKind::Cordon => "keeping work away",
        ActionKind::Drain => "moving its work away",
        ActionKind::RestartService => "restarting a service",
        ActionKind::ResetGpu => "resetting a GPU",
        ActionKind::Reboot => "a reboot",
        ActionKind::PowerCycle => "a power cycle",
        ActionKind::Return => "its return",
    }
}

pub(super) const fn rung_of(rung: Rung) -> &'static str {
    match rung {
        Rung::Capture => "save its logs",
        Rung::RestartService => "restart a service",
        Rung::ResetGpu => "reset the GPU",
        Rung::Reboot => "reboot",
        Rung::PowerCycle => "cycle the power",
        Rung::Replace => "replace a part",
    }
}

pub(super) const fn request(kind: RequestKind) -> &'static str {
    match kind {
        RequestKind::Hold => "a hold",
        RequestKind::Quarantine => "a quarantine",
        RequestKind::Drain => "a drain",
        RequestKind::Return => "its return",
        RequestKind::Retire => "its retirement",
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
