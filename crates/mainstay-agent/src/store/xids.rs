//! Every XID event, counted by code and place. The evidence of a report is bounded and lumps what finds no room; these
//! counters lump nothing that a node can have.

use std::collections::BTreeMap;

use mainstay_model::{Code, Detail, Source, Timestamp};
use mainstay_signal::{Place, Signal};
use serde::{Deserialize, Serialize};

use crate::sources::nvml::XidEvent;

/// Sixteen GPUs with as many different codes as were ever seen on one node, with room to spare.
const SERIES_MAX: usize = 512;

/// Codes and places that NVML may count while nobody reads the log: a storm there has no more.
const BORROWED_MAX: usize = 64;

/// A record of the log may be stamped a little later than the event that tells of it: two clocks, rounded.
const LATE_MILLIS: i64 = 2_000;

/// What further series are counted under.
const OTHER: &str = "other";

/// Counts by code and place.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Xids(BTreeMap<String, u64>);

// === impl Xids ===

impl Xids {
    /// Counts a signal, if it is an XID.
    pub(super) fn count(&mut self, signal: &Signal, times: u64) {
        if signal.source != Source::Xid {
            return;
        }
        let key = key(signal);
        let key = if self.0.len() < SERIES_MAX || self.0.contains_key(&key) { key } else { format!("{OTHER} {OTHER}") };
        let count = self.0.entry(key).or_default();
        *count = count.saturating_add(times);
    }

    /// Code, place and count of each.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, u64)> {
        self.0.iter().map(|(key, count)| {
            let (code, place) = key.split_once(' ').unwrap_or((key, ""));
            (code, place, *count)
        })
    }
}

/// XIDs counted from NVML while the kernel log was not read; the log does not count them again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct NvmlXids(BTreeMap<String, NvmlXidCount>);

/// Count of one code and place, and the time of the last event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct NvmlXidCount {
    count: u64,
    last_at: Timestamp,
}

// === impl NvmlXids ===

impl NvmlXids {
    /// Remembers one that is counted; false where there is no room, and then it must not be.
    pub(super) fn take(&mut self, signal: &Signal, now: Timestamp) -> bool {
        let key = key(signal);
        if self.0.len() >= BORROWED_MAX && !self.0.contains_key(&key) {
            return false;
        }
        let loan = self.0.entry(key).or_insert(NvmlXidCount { count: 0, last_at: now });
        loan.count = loan.count.saturating_add(1);
        loan.last_at = now;
        true
    }

    /// Whether a record of the log is one that was counted already. What comes after the last that NVML told is not: a row of
    /// different XIDs was told as so many of the last one.
    pub(super) fn pays(&mut self, signal: &Signal, at: Timestamp) -> bool {
        if signal.source != Source::Xid || self.0.is_empty() {
            return false;
        }
        let key = key(signal);
        let Some(loan) = self.0.get_mut(&key) else { return false };
        if at.0 > loan.last_at.0.saturating_add(LATE_MILLIS) {
            self.0.remove(&key);
            return false;
        }
        loan.count = loan.count.saturating_sub(1);
        if loan.count == 0 {
            self.0.remove(&key);
        }
        true
    }
}

fn key(signal: &Signal) -> String {
    format!("{} {}", signal.code, signal.place)
}

/// An event of NVML in the words of the log.
pub(super) fn signal(event: &XidEvent) -> Option<Signal> {
    let detail = event.gpu_instance.map(|instance| format!("gi {instance}")).unwrap_or_default();
    Some(Signal {
        source: Source::Xid,
        code: Code::parse(&event.code.to_string()).ok()?,
        place: Place::Pci(event.pci.clone()),
        detail: Detail::parse(&detail).ok()?,
    })
}
