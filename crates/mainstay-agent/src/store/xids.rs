//! Every XID event, counted by code and place. The evidence of a report is bounded and lumps what finds no room; these
//! counters lump nothing that a node can have.

use std::collections::BTreeMap;

use mainstay_model::Source;
use mainstay_signal::Signal;
use serde::{Deserialize, Serialize};

/// Sixteen GPUs with as many different codes as were ever seen on one node, with room to spare.
const SERIES_MAX: usize = 512;

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
        let key = format!("{} {}", signal.code, signal.place);
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
