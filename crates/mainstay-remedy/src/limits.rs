//! Every time limit of a repair, in one place, each with its reason.

use mainstay_model::{Rung, Span, Stage, Urgency};

/// A view of the world older than this moves nothing that can hurt: watches are bookmarked every few seconds.
pub const VIEW_FRESH: Span = Span::seconds(30);

/// An effect that the world does not show by then is asked for again; each is idempotent.
pub const EFFECT_RETRY: Span = Span::seconds(60);

/// An act that the backend refused (a disruption budget of the tenant's, a full queue) is asked for again after this:
/// often enough to go on when the reason is gone, seldom enough to be no load while it is not.
pub const REFUSED_RETRY: Span = Span::minutes(5);

/// New counts of rules are written to the cell's record this often at most. A finding is in its node's history meanwhile,
/// which holds 16 changes of stage: a node that makes as many within the pause takes one uncounted finding with it.
pub const CELL_RECORD_PAUSE: Span = Span::minutes(5);

/// How long a gang that saves on request is waited for.
#[must_use]
pub const fn answer_within(urgency: Urgency) -> Span {
    match urgency {
        Urgency::Now => Span::ZERO,
        // A save of a large model takes minutes; the fault is contained for as long.
        Urgency::Minutes => Span::minutes(10),
        // The usual checkpoint interval of long runs is under an hour.
        Urgency::NextCheckpoint => Span::hours(1),
    }
}

/// A gang that is asked late in a drain has this long all the same: a save of a large model takes minutes.
pub const ANSWER_LEAST: Span = Span::minutes(10);

/// Work that cannot go on ends by itself after this at the latest: the usual watchdog of collective libraries.
pub const WATCHDOG: Span = Span::minutes(10);

/// How long an agent may take to carry out a rung.
#[must_use]
pub const fn rung_within(rung: Rung) -> Span {
    match rung {
        // The vendor's report takes one to five minutes; a capture that hangs must not keep the node.
        Rung::Capture => Span::minutes(10),
        Rung::RestartService | Rung::ResetGpu => Span::minutes(5),
        // Memory training of a large machine alone can take fifteen.
        Rung::Reboot | Rung::PowerCycle => Span::minutes(30),
        // Nobody is ordered to replace a part; a person is asked.
        Rung::Replace => Span::ZERO,
    }
}

/// How long a qualification suite may take.
pub const SUITE_WITHIN: Span = Span::hours(2);

/// How long a node may be in a stage before it is shown as stuck; none where it may stay.
#[must_use]
pub const fn stage_within(stage: Stage) -> Option<Span> {
    match stage {
        Stage::InService | Stage::Held | Stage::Retired | Stage::Suspect => None,
        Stage::Bootstrapping => Some(Span::hours(1)),
        Stage::Quarantined => Some(Span::minutes(15)),
        // The longest wait for a save, and an hour for pods that leave slowly.
        Stage::Draining => Some(Span::hours(2)),
        Stage::Repairing | Stage::Qualifying => Some(Span::hours(4)),
        Stage::Maintenance | Stage::Upgrading => Some(Span::hours(24)),
    }
}

/// A node whose agent is silent for longer is unheard: three heartbeats of 300 seconds.
pub const REPORT_WITHIN: Span = Span::minutes(15);
