//! Limits of one pool that operators can change: circuit breakers, assumed hazards and deadlines. The defaults are
//! Mainstay's own choice, each with its reason.

use serde::{Deserialize, Serialize};

use crate::{Ppm, RepairStep, Span, Stage, Urgency};

/// Size and times of the circuit breakers of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BreakerLimits {
    /// Number of nodes that a rule may always remove within the window.
    pub nodes_min: u32,
    /// Share of a large pool that a rule may remove within the window.
    pub share: Ppm,
    /// Time in which the nodes removed by one rule are counted together.
    pub window: Span,
    /// First pause of a rule.
    pub pause_min: Span,
    /// Longest pause, however often the test showed no fault.
    pub pause_max: Span,
    /// Time limit of a test. After that, another node may be the test.
    pub test_within: Span,
}

/// What a fault may still cause to jobs that have not stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hazard {
    /// Probability that the job already hangs without noticing.
    pub hung: Ppm,
    /// Probability that the node fails permanently within an hour.
    pub per_hour: Ppm,
}

/// Hazards of faults that leave jobs some time, by urgency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hazards {
    /// Faults with the urgency Minutes.
    pub minutes: Hazard,
    /// Faults with the urgency NextCheckpoint.
    pub next_checkpoint: Hazard,
}

/// How the time to stop a gang is chosen when its node has to be drained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum DrainRule {
    /// The option with the lowest expected loss: stop now, request a checkpoint, or wait for the gang's own one.
    #[default]
    CostModel,
    /// Request a checkpoint from gangs that save on request, and stop the others at once.
    AskOnly,
}

/// Time limits of drains, repairs, tests and stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deadlines {
    /// Longest time for the answer to a checkpoint request if the fault leaves minutes.
    pub answer_minutes: Span,
    /// Longest time for the answer if the fault leaves time until the next checkpoint.
    pub answer_next_checkpoint: Span,
    /// Shortest time for the answer, also late in a drain.
    pub answer_min: Span,
    /// Capture of logs and of the vendor's report.
    pub capture: Span,
    /// Restart of a service, or reset of a GPU.
    pub reset: Span,
    /// Reboot or power cycle of the machine.
    pub reboot: Span,
    /// Qualification suite.
    pub suite: Span,
    /// Stage Bootstrapping.
    pub bootstrapping: Span,
    /// Stage Quarantined.
    pub quarantined: Span,
    /// Stage Draining.
    pub draining: Span,
    /// Stage Repairing.
    pub repairing: Span,
    /// Stage Qualifying.
    pub qualifying: Span,
    /// Stages Maintenance and Upgrading.
    pub planned_work: Span,
}

// === impl BreakerLimits ===

impl Default for BreakerLimits {
    fn default() -> Self {
        Self {
            // A small pool can have several faults in an hour.
            nodes_min: 3,
            // Half a percent an hour does not empty a fleet overnight.
            share: Ppm(5_000),
            window: Span::hours(1),
            // Long enough for an operator to look, short enough for a real fault to wait.
            pause_min: Span::minutes(30),
            pause_max: Span::hours(4),
            // A drain, a suite and a margin.
            test_within: Span::hours(6),
        }
    }
}

impl BreakerLimits {
    /// Returns how many of `nodes` one rule may remove within the window.
    #[must_use]
    pub fn nodes_max(self, nodes: u32) -> u32 {
        u32::try_from(self.share.of(u64::from(nodes))).unwrap_or(u32::MAX).max(self.nodes_min)
    }
}

// === impl Hazards ===

impl Default for Hazards {
    /// There are no published numbers.
    fn default() -> Self {
        Self {
            // The vendor does not state that the work is lost; Mainstay assumes that half of it is.
            minutes: Hazard { hung: Ppm(500_000), per_hour: Ppm(200_000) },
            // Jobs can still continue; such a node fails about as often as one that relapses, within weeks.
            next_checkpoint: Hazard { hung: Ppm(10_000), per_hour: Ppm(5_000) },
        }
    }
}

impl Hazards {
    /// Returns the hazard of a fault. One that leaves no time has stopped the job already.
    #[must_use]
    pub const fn of(self, urgency: Urgency) -> Hazard {
        match urgency {
            Urgency::Now => Hazard { hung: Ppm::ONE, per_hour: Ppm::ONE },
            Urgency::Minutes => self.minutes,
            Urgency::NextCheckpoint => self.next_checkpoint,
        }
    }
}

// === impl Deadlines ===

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            // A checkpoint of a large model takes minutes, and the fault is contained for that time.
            answer_minutes: Span::minutes(10),
            // The usual checkpoint interval of long runs is under an hour.
            answer_next_checkpoint: Span::hours(1),
            answer_min: Span::minutes(10),
            // The vendor's report takes one to five minutes; a capture that hangs must not block the node.
            capture: Span::minutes(10),
            reset: Span::minutes(5),
            // Memory training of a large machine alone can take fifteen minutes.
            reboot: Span::minutes(30),
            suite: Span::hours(2),
            bootstrapping: Span::hours(1),
            quarantined: Span::minutes(15),
            // The longest wait for a checkpoint, and an hour for pods that leave slowly.
            draining: Span::hours(2),
            repairing: Span::hours(4),
            qualifying: Span::hours(4),
            planned_work: Span::hours(24),
        }
    }
}

impl Deadlines {
    /// Returns how long a gang that saves on request may take to answer.
    #[must_use]
    pub const fn answer(self, urgency: Urgency) -> Span {
        match urgency {
            Urgency::Now => Span::ZERO,
            Urgency::Minutes => self.answer_minutes,
            Urgency::NextCheckpoint => self.answer_next_checkpoint,
        }
    }

    /// Returns how long an executor may take for a step of the repair plan.
    #[must_use]
    pub const fn step(self, step: RepairStep) -> Span {
        match step {
            RepairStep::Capture => self.capture,
            RepairStep::RestartService | RepairStep::ResetGpu => self.reset,
            RepairStep::Reboot | RepairStep::PowerCycle => self.reboot,
            // No agent replaces a part; a technician does.
            RepairStep::Replace => Span::ZERO,
        }
    }

    /// Returns how long a node may be in a stage before an operator has to look; `None` if there is no limit.
    #[must_use]
    pub const fn stage(self, stage: Stage) -> Option<Span> {
        match stage {
            Stage::InService | Stage::Held | Stage::Retired | Stage::Suspect => None,
            Stage::Bootstrapping => Some(self.bootstrapping),
            Stage::Quarantined => Some(self.quarantined),
            Stage::Draining => Some(self.draining),
            Stage::Repairing => Some(self.repairing),
            Stage::Qualifying => Some(self.qualifying),
            Stage::Maintenance | Stage::Upgrading => Some(self.planned_work),
        }
    }
}
