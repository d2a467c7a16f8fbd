//! The words of repair: rungs of a ladder, how urgent a drain is, how an order and a test ended.

use serde::{Deserialize, Serialize};

/// A rung of the repair ladder, gentlest first. Capture comes first because everything above it destroys what the
/// vendor will ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Rung {
    /// Save logs and the vendor's bug report.
    Capture,
    /// Restart a service (fabric manager, device plugin).
    RestartService,
    /// Reset one GPU.
    ResetGpu,
    /// Reboot the machine.
    Reboot,
    /// Take its power away and give it back.
    PowerCycle,
    /// Replace a part: a ticket for a person.
    Replace,
}

/// How long running work may be waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Urgency {
    /// Every further second may corrupt results, or the work is dead already.
    Now,
    /// The fault is contained; a save is worth minutes.
    Minutes,
    /// Nothing is broken yet; the next checkpoint the job takes anyway will do, within a bound.
    NextCheckpoint,
}

/// How an order to an agent ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum OrderOutcome {
    /// Carried out.
    Done,
    /// Tried, and it did not work.
    Failed,
    /// Not tried: stale epoch, wrong boot, unknown rung.
    Refused,
    /// Not tried in time.
    Expired,
}

/// What a qualification test showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Verdict {
    /// Ran to its end and met every threshold.
    Passed,
    /// Ran and missed a threshold.
    Failed,
    /// Did not run to its end; never read as a pass.
    Unknown,
}
