//! All time limits of a repair, each with its reason.

use mainstay_model::{RepairStep, Span, Stage, Urgency};

/// Maximum age of the view for a disruptive action: watches receive bookmarks every few seconds.
pub const VIEW_FRESH: Span = Span::seconds(30);

/// Time after which an effect that does not show in the observations is ordered again; each effect is idempotent.
pub const EFFECT_RETRY: Span = Span::seconds(60);

/// Time after which an action that the backend rejected (a tenant's disruption budget, a full queue) is tried again. It
/// is short enough to continue soon after the reason is gone, and long enough to cause little load until then.
pub const REFUSED_RETRY: Span = Span::minutes(5);

/// Minimum time between two writes of new rule counters to the Cell. Until then a finding is in its node's history,
/// which holds 16 changes of stage. A node with more changes within the pause loses one uncounted finding.
pub const CELL_RECORD_PAUSE: Span = Span::minutes(5);

/// Returns how long a gang that saves on request may take to answer.
#[must_use]
pub const fn answer_within(urgency: Urgency) -> Span {
    match urgency {
        Urgency::Now => Span::ZERO,
        // A checkpoint of a large model takes minutes, and the fault is contained for that time.
        Urgency::Minutes => Span::minutes(10),
        // The usual checkpoint interval of long runs is under an hour.
        Urgency::NextCheckpoint => Span::hours(1),
    }
}

/// Minimum time for the answer of a gang, also late in a drain: a checkpoint of a large model takes minutes.
pub const ANSWER_LEAST: Span = Span::minutes(10);

/// Maximum time until blocked jobs end by themselves: the usual watchdog timeout of collective libraries.
pub const WATCHDOG: Span = Span::minutes(10);

/// Returns how long an agent may take for a step of the repair plan.
#[must_use]
pub const fn rung_within(rung: RepairStep) -> Span {
    match rung {
        // The vendor's report takes one to five minutes; a capture that hangs must not block the node.
        RepairStep::Capture => Span::minutes(10),
        RepairStep::RestartService | RepairStep::ResetGpu => Span::minutes(5),
        // Memory training of a large machine alone can take fifteen minutes.
        RepairStep::Reboot | RepairStep::PowerCycle => Span::minutes(30),
        // No agent replaces a part; a technician does.
        RepairStep::Replace => Span::ZERO,
    }
}

/// Time limit of a qualification suite.
pub const SUITE_WITHIN: Span = Span::hours(2);

/// Returns how long a node may be in a stage before it is shown as stuck; `None` if there is no limit.
#[must_use]
pub const fn stage_within(stage: Stage) -> Option<Span> {
    match stage {
        Stage::InService | Stage::Held | Stage::Retired | Stage::Suspect => None,
        Stage::Bootstrapping => Some(Span::hours(1)),
        Stage::Quarantined => Some(Span::minutes(15)),
        // The longest wait for a checkpoint, and an hour for pods that leave slowly.
        Stage::Draining => Some(Span::hours(2)),
        Stage::Repairing | Stage::Qualifying => Some(Span::hours(4)),
        Stage::Maintenance | Stage::Upgrading => Some(Span::hours(24)),
    }
}

/// Time after which an agent counts as not reporting: three heartbeats of 300 seconds.
pub const REPORT_WITHIN: Span = Span::minutes(15);
