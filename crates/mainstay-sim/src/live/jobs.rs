//! The jobs of a live fleet: one large run over half of it, some smaller ones, and spares. They go on for weeks, so that
//! a demonstration ends before they do.

use mainstay_model::{Contract, Span, Timestamp};

use crate::job::{Job, JobSpec};
use crate::rng::{Purpose, stream};

/// The large run: its place in the list is the number in its name.
pub(super) const LARGE: u32 = 7;
/// A run that is big enough to be missed and cannot save when its GPU is gone.
pub(super) const SECOND: u32 = 4;
/// A job without a checkpoint contract.
pub(super) const THIRD: u32 = 6;

/// What the jobs are called, one node in how many they take (one node at least), and their checkpoint contract.
const JOBS: [(&str, u32, Contract); 9] = [
    ("eval-", 128, Contract::None),
    ("tune-", 64, ON_STOP),
    ("eval-", 128, Contract::None),
    ("tune-", 32, Contract::OnRequest),
    ("train-", 8, Contract::OnRequest),
    ("tune-", 32, ON_STOP),
    ("train-", 16, Contract::None),
    ("train-", 2, Contract::OnRequest),
    ("eval-", 128, Contract::None),
];
const ON_STOP: Contract = Contract::OnStop { within: Span::minutes(2) };

/// A gang is told to the brain with this many nodes at most.
const NODES_MAX: u32 = 16_384;

/// From the nodes to the first step, with loading the last save: a warm start.
const START: Span = Span::minutes(2);

/// How long the work takes that nobody will see the end of.
const WORK: Span = Span::hours(24 * 60);

/// The jobs of a fleet of so many nodes. The large one asks first and gets the first nodes.
pub(super) fn jobs(nodes: u32, seed: u64, starts_at: Timestamp) -> Vec<Job> {
    let job = |(number, (kind, one_in, contract)): (u32, (&'static str, u32, Contract))| {
        let mut chance = stream(seed, Purpose::Live, u64::from(number));
        let is_large = number == LARGE;
        let period = if is_large { Span::minutes(60) } else { Span::minutes(20 + chance.below(20)) };
        let steps = 3_000 + u64::from(chance.below(20)) * 500;
        let saved = Span(period.0 * (steps * 4_000 / period.0.max(1)).max(1));
        let wish = JobSpec {
            kind,
            submitted_at: starts_at + if is_large { Span::ZERO } else { Span::seconds(1) },
            nodes: (nodes / one_in).clamp(1, NODES_MAX),
            contract,
            save: Span::seconds(40 + chance.below(30)),
            start: START,
            work: saved_and(saved),
            period,
            pause: Span::ZERO,
            saved,
        };
        Job::new(number, wish)
    };
    (0..).zip(JOBS).map(job).collect()
}

/// How large the jobs of a crowded fleet are, one node in how many, and how many there are of each size: nine of ten
/// nodes in all.
const CROWD: [(u32, u32); 6] = [(8, 2), (25, 4), (50, 8), (200, 24), (600, 60), (3_000, 202)];

/// Three hundred jobs on nine of ten nodes.
pub(super) fn crowd(nodes: u32, seed: u64, starts_at: Timestamp) -> Vec<Job> {
    let sizes = CROWD.into_iter().flat_map(|(one_in, count)| (0..count).map(move |_| (nodes / one_in).max(1)));
    let job = |(number, size): (u32, u32)| {
        let mut chance = stream(seed, Purpose::Live, 1_000 + u64::from(number));
        let (kind, contract) = match chance.below(4) {
            0 => ("eval-", Contract::None),
            1 => ("tune-", ON_STOP),
            _ => ("train-", Contract::OnRequest),
        };
        let period = Span::minutes(20 + chance.below(40));
        let saved = Span(period.0 * u64::from(chance.below(200)));
        let wish = JobSpec {
            kind,
            // A scheduler looks at so many at a time; they come within half a minute.
            submitted_at: starts_at + Span(u64::from(number) * 100),
            nodes: size.min(NODES_MAX),
            contract,
            save: Span::seconds(30 + chance.below(60)),
            start: START,
            work: saved_and(saved),
            period,
            pause: Span::ZERO,
            saved,
        };
        Job::new(number, wish)
    };
    (0..).zip(sizes).map(job).collect()
}

fn saved_and(saved: Span) -> Span {
    Span(saved.0 + WORK.0)
}
