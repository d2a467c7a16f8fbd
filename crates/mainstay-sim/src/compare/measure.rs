//! What is compared: figures of one outcome, each with its unit and its good direction.

use serde::{Deserialize, Serialize};

use crate::{Loss, Outcome};

/// A figure of an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// GPU time of work lost, by whatever cause.
    WorkLost,
    /// Of it: done again.
    Redone,
    /// Of it: held by jobs that could not go on.
    Hung,
    /// Of it: starting again.
    Restarting,
    /// Of it: saving because somebody asked.
    Saving,
    /// Of it: running at the pace of a slow node.
    Slowed,
    /// GPU time of work lost because we stopped what could have gone on.
    Drained,
    /// GPU time lost: work lost, nodes that could run no job, and nodes that an interrupted job waited with.
    Lost,
    /// GPU time of nodes that held no job and could not run one, known or not.
    Unusable,
    /// GPU time of free nodes that interrupted jobs waited with.
    HeldUp,
    /// GPU time of nodes that were not in service.
    OutOfService,
    /// Which share of all GPU time went into results.
    UsefulShare,
    /// Jobs that ran to their end.
    JobsFinished,
    /// How often a job was stopped before its end.
    Interruptions,
    /// How often anyone stopped a job that could have gone on.
    HealthyStops,
    /// How often a node was taken out with nothing behind it.
    FalseQuarantines,
    /// Half of the nodes are back in service after this.
    BackMedian,
    /// 19 of 20 nodes are back in service after this.
    BackP95,
}

/// In what a measure is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// One GPU for one hour.
    GpuHours,
    /// Things that happened.
    Count,
    /// Hours on the wall.
    Hours,
    /// Percent of all GPU time.
    Percent,
}

/// Whether a lower or a higher value of a measure is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Less is better.
    Less,
    /// More is better.
    More,
}

impl Measure {
    /// All of them, the most important first, parts after their whole.
    pub const ALL: [Self; 18] = [
        Self::WorkLost,
        Self::Redone,
        Self::Hung,
        Self::Restarting,
        Self::Saving,
        Self::Slowed,
        Self::Drained,
        Self::Lost,
        Self::Unusable,
        Self::HeldUp,
        Self::OutOfService,
        Self::UsefulShare,
        Self::JobsFinished,
        Self::Interruptions,
        Self::HealthyStops,
        Self::FalseQuarantines,
        Self::BackMedian,
        Self::BackP95,
    ];

    /// What work lost is made of.
    pub const PARTS: [Self; 5] = [Self::Redone, Self::Hung, Self::Restarting, Self::Saving, Self::Slowed];

    /// What it is called in sentences and tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lost => "GPU time lost",
            Self::WorkLost => "work lost",
            Self::Redone => "redone",
            Self::Hung => "hung",
            Self::Restarting => "restarting",
            Self::Saving => "saving",
            Self::Slowed => "slowed",
            Self::Drained => "work lost to Mainstay's drains",
            Self::Unusable => "nodes unable to run jobs",
            Self::HeldUp => "idle nodes of waiting jobs",
            Self::OutOfService => "GPU time out of service",
            Self::UsefulShare => "useful share of GPU time",
            Self::JobsFinished => "jobs finished",
            Self::Interruptions => "interruptions",
            Self::HealthyStops => "stops of jobs that could go on",
            Self::FalseQuarantines => "false quarantines",
            Self::BackMedian => "median time to return",
            Self::BackP95 => "p95 time to return",
        }
    }

    /// In what it is counted.
    #[must_use]
    pub const fn unit(self) -> Unit {
        match self {
            Self::WorkLost | Self::Redone | Self::Hung | Self::Restarting | Self::Saving => Unit::GpuHours,
            Self::Lost | Self::Unusable | Self::HeldUp => Unit::GpuHours,
            Self::Slowed | Self::Drained | Self::OutOfService => Unit::GpuHours,
            Self::UsefulShare => Unit::Percent,
            Self::JobsFinished | Self::Interruptions | Self::HealthyStops | Self::FalseQuarantines => Unit::Count,
            Self::BackMedian | Self::BackP95 => Unit::Hours,
        }
    }

    /// Which direction is the good one.
    #[must_use]
    pub const fn better(self) -> Direction {
        match self {
            Self::UsefulShare | Self::JobsFinished => Direction::More,
            Self::WorkLost | Self::Redone | Self::Hung | Self::Restarting | Self::Saving => Direction::Less,
            Self::Lost | Self::Unusable | Self::HeldUp => Direction::Less,
            Self::Slowed | Self::Drained | Self::OutOfService => Direction::Less,
            Self::Interruptions | Self::HealthyStops | Self::FalseQuarantines => Direction::Less,
            Self::BackMedian | Self::BackP95 => Direction::Less,
        }
    }

    /// Whether it is a part of another measure, and so no finding of its own.
    #[must_use]
    pub fn is_part(self) -> bool {
        Self::PARTS.contains(&self) || matches!(self, Self::Unusable | Self::HeldUp)
    }

    /// The figure in thousandths of its unit; none where no node came back, or where there was no GPU time.
    #[must_use]
    pub fn milli(self, outcome: &Outcome) -> Option<i64> {
        let lost = |of: fn(&Loss) -> u64| gpu_hours(outcome.lost.values().map(of));
        // Not `Loss::total`: an outcome may come from a file, and its sums must not overflow.
        let work_lost = || outcome.lost.values().flat_map(|loss| PARTS_OF_LOSS.map(|of| of(loss)));
        let (unusable, held_up) = (outcome.work.unusable_gpu_seconds, outcome.work.held_up_gpu_seconds);
        match self {
            Self::Lost => gpu_hours(work_lost().chain([unusable, held_up])),
            Self::WorkLost => gpu_hours(work_lost()),
            Self::Unusable => gpu_hours(std::iter::once(unusable)),
            Self::HeldUp => gpu_hours(std::iter::once(held_up)),
            Self::HealthyStops => count(outcome.work.healthy_stops.into()),
            Self::Redone => lost(|loss| loss.redone_gpu_seconds),
            Self::Hung => lost(|loss| loss.hung_gpu_seconds),
            Self::Restarting => lost(|loss| loss.restarting_gpu_seconds),
            Self::Saving => lost(|loss| loss.saving_gpu_seconds),
            Self::Slowed => lost(|loss| loss.slowed_gpu_seconds),
            Self::Drained => gpu_hours(std::iter::once(outcome.work.drained_gpu_seconds)),
            Self::OutOfService => gpu_hours(outcome.out_gpu_seconds.values().copied()),
            Self::UsefulShare => share(outcome.work.useful_gpu_seconds, outcome.work.gpu_seconds),
            Self::JobsFinished => count(outcome.work.finished.into()),
            Self::Interruptions => count(outcome.work.interruptions.values().copied().map(u128::from).sum()),
            Self::FalseQuarantines => count(outcome.quarantines.wrong.into()),
            Self::BackMedian => (outcome.back.count > 0).then(|| hours(outcome.back.p50_seconds.into()))?,
            Self::BackP95 => (outcome.back.count > 0).then(|| hours(outcome.back.p95_seconds.into()))?,
        }
    }
}

const PARTS_OF_LOSS: [fn(&Loss) -> u64; 5] = [
    |loss| loss.redone_gpu_seconds,
    |loss| loss.hung_gpu_seconds,
    |loss| loss.restarting_gpu_seconds,
    |loss| loss.saving_gpu_seconds,
    |loss| loss.slowed_gpu_seconds,
];

impl Unit {
    /// The word after a figure; nothing where the measure's name says it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::GpuHours => "GPU-hours",
            Self::Count => "",
            Self::Hours => "hours",
            Self::Percent => "%",
        }
    }

    /// How many digits after the point make sense beside a figure of this size.
    #[must_use]
    pub const fn decimals(self, milli: i64) -> u32 {
        match self {
            Self::GpuHours | Self::Count if milli.unsigned_abs() >= 100_000 => 0,
            Self::GpuHours | Self::Count => 1,
            Self::Hours | Self::Percent => 2,
        }
    }
}

fn gpu_hours(seconds: impl Iterator<Item = u64>) -> Option<i64> {
    hours(seconds.map(u128::from).sum())
}

fn hours(seconds: u128) -> Option<i64> {
    i64::try_from((seconds * 1_000 + 1_800) / 3_600).ok()
}

fn count(count: u128) -> Option<i64> {
    i64::try_from(count.checked_mul(1_000)?).ok()
}

/// A share in thousandths of a percent.
fn share(part: u64, whole: u64) -> Option<i64> {
    i64::try_from((u128::from(part) * 100_000 + u128::from(whole) / 2).checked_div(whole.into())?).ok()
}
