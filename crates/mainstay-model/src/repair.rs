//! Terms of a repair: steps of a repair plan, urgency of a drain, outcomes of orders and tests.

use serde::{Deserialize, Serialize};

/// One step of a repair plan; the order is least disruptive first. Capture comes first, because later steps destroy the
/// data that the vendor asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum RepairStep {
    /// Save logs and the vendor's bug report.
    Capture,
    /// Restart a service (fabric manager, device plugin).
    RestartService,
    /// Reset one GPU of the node.
    ResetGpu,
    /// Reboot the machine.
    Reboot,
    /// Power-cycle the machine.
    PowerCycle,
    /// Replace a part: a ticket for a technician.
    Replace,
}

/// Time that running jobs get before they are stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Urgency {
    /// No time: every further second may corrupt results, or the work is already lost.
    Now,
    /// Minutes: the fault is contained, so a checkpoint is worth the time.
    Minutes,
    /// Until the job's own next checkpoint, within a limit, because jobs can still continue.
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
    /// The agent did not start the order: old epoch, other boot, unknown step, or too late. It is given again.
    NotRun,
}

/// Result of a qualification test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Verdict {
    /// The test finished and met every threshold.
    Passed,
    /// The test ran and missed a threshold.
    Failed,
    /// The test did not finish; this never counts as a pass.
    Unknown,
}
