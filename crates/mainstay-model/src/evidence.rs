//! Evidence that a node reports: bounded and counted, but not judged.

use serde::{Deserialize, Serialize};

use crate::bounded::text;
use crate::{Literal, Serial, Timestamp};

text!(
    /// A fault code as its source writes it: `79`, `12028`, `correctable`, `link-down`.
    Code, Token, 32
);
text!(
    /// Distinguishes evidence with the same code: a link, a register, a process. It is part of the key, so it must not
    /// contain values that change with every line (a time, a counter, an address).
    Detail, Line, 64
);

impl Detail {
    /// Detail of evidence that needs none.
    pub const NONE: Literal<Self> = Self::literal("");
}

/// Where evidence comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Source {
    /// A kernel log line of the GPU driver.
    Xid,
    /// A kernel log line of the NVSwitch driver.
    Sxid,
    /// PCI Express advanced error reporting.
    PcieAer,
    /// A network adapter: its driver or its counters.
    Nic,
    /// The kernel itself: lockups, out-of-memory events, host memory and storage.
    Kernel,
    /// NVML counters and recommendations.
    Nvml,
    /// Hardware or services that are missing.
    Inventory,
    /// A finding of another tool, used as input.
    External,
    /// The GPU driver, without an error number of its own: its kernel log lines and its counters.
    Driver,
    /// A service of the node: a line of its log.
    Service,
    /// An error line that no parser knows, by its template. It is evidence only where a pool's policy names it.
    Unrecognised,
}

/// A problem that another agent reports as a condition. It has a start time and no count.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ExternalCondition {
    /// The condition, as the other agent names it.
    pub code: Code,
    /// Start of the condition, by the clock of the other agent.
    pub since: Timestamp,
}

/// Key of a piece of evidence. Evidence with the same key is counted together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EvidenceKey {
    /// The source that reported it.
    pub source: Source,
    /// The fault code.
    pub code: Code,
    /// Serial of the affected part; the whole node if absent.
    pub device: Option<Serial>,
    /// Detail that distinguishes evidence with the same code.
    pub detail: Detail,
}

/// One counted piece of evidence. Counts only rise within a boot. `mainstay-health` decides what they mean.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The key that identifies the evidence.
    pub key: EvidenceKey,
    /// Number of occurrences since boot.
    pub count: u64,
    /// Time of the first occurrence, by the agent's clock, which only orders events within a boot.
    pub first_seen_at: Timestamp,
    /// Time of the last occurrence, by the agent's clock.
    pub last_seen_at: Timestamp,
}
