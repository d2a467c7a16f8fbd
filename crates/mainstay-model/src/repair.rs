//! Repair: steps of a repair plan, urgency of a drain, outcomes of orders and tests.

use serde::{Deserialize, Serialize};

/// A step of a repair plan, least disruptive first. Capture comes first, because later steps destroy logs that the
/// vendor asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Rung {
    /// Save logs and the vendor's bug report.
    Capture,
    /// Restart a service, such as fabric manager or device plugin.
    RestartService,
    /// Reset one GPU of the node.
    ResetGpu,
    /// Reboot the node once.
    Reboot,
    /// Power the node off and on.
    PowerCycle,
    /// Replace a part: a ticket for a technician.
    Replace,
}

/// How long running work may delay an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Urgency {
    /// No delay: further work may be corrupted, or is lost already.
    Now,
    /// A few minutes for a checkpoint: the fault is contained.
    Minutes,
    /// Until the job's next own checkpoint, within a limit: nothing is broken yet.
    NextCheckpoint,
}

/// Outcome of an order to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum OrderOutcome {
    /// The agent executed the order.
    Done,
    /// The agent tried the order and it failed.
    Failed,
    /// Not tried: stale epoch, wrong boot or unknown step.
    Refused,
    /// Not tried before its time limit.
    Expired,
}

/// Verdict of a qualification test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Verdict {
    /// The test ended and met every threshold.
    Passed,
    /// The test ended and missed a threshold.
    Failed,
    /// The test did not end. Never treated as a pass.
    Unknown,
}
