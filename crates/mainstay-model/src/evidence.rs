//! What a node says about itself: bounded, counted, and not yet judged.

use serde::{Deserialize, Serialize};

use crate::bounded::text;
use crate::{Serial, Timestamp};

text!(
    /// A fault code in its source's own words: `79`, `12028`, `correctable`, `link-down`.
    Code, Token, 32
);
text!(
    /// What tells two findings of one code apart: a link, a register, a process. Part of the key, so it must not hold
    /// anything that changes with every line (a time, a counter, an address).
    Detail, Line, 64
);

/// Who said it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Source {
    /// The GPU driver's kernel line.
    Xid,
    /// The NVSwitch driver's kernel line.
    Sxid,
    /// PCI Express advanced error reporting.
    PcieAer,
    /// A network adapter: its driver or its counters.
    Nic,
    /// The kernel itself: lockups, memory exhaustion.
    Kernel,
    /// The GPU library's counters and verdicts.
    Nvml,
    /// DCGM's health checks.
    Dcgm,
    /// What should be there and is not.
    Inventory,
    /// Another tool's finding, taken as an input.
    External,
}

/// What another agent says is wrong with a node for as long as it says so: a condition, and not a count.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Complaint {
    /// The condition, in that agent's own words.
    pub code: Code,
    /// Since when, by the clock of whoever says it.
    pub since: Timestamp,
}

/// What makes two pieces of evidence the same one, counted twice.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EvidenceKey {
    /// Who said it.
    pub source: Source,
    /// In which words.
    pub code: Code,
    /// Of which part; the node as a whole where absent.
    pub device: Option<Serial>,
    /// And which of its kind.
    pub detail: Detail,
}

/// One counted piece of evidence. Counts only rise within a boot; what they mean is `mainstay-health`'s to say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// Which.
    pub key: EvidenceKey,
    /// How often since boot.
    pub count: u64,
    /// First seen, by the agent's clock, which only orders events within a boot.
    pub first_seen_at: Timestamp,
    /// Last seen, by the same clock.
    pub last_seen_at: Timestamp,
}
