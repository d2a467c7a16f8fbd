//! Two policies, or two versions, on the same seeds: which is better at what, and how surely. It compares outcomes and
//! runs nothing. All figures are whole thousandths, so that the same runs give the same bytes.

mod bootstrap;
mod measure;
mod sentence;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::Serialize;

pub use self::measure::{Direction, Measure, Unit};
use crate::{Outcome, Run};

/// The format that this version writes.
pub const COMPARISON_FORMAT: u32 = 1;
/// The most pairs that are compared.
pub const PAIRS_MAX: usize = 1_000;
/// Below this many pairs no difference is called shown: with five, chance alone puts all of them on one side in more
/// than one case of twenty.
pub const PAIRS_MIN: usize = 6;

/// A difference below one in so many of the larger side is not called one.
const NOTICEABLE: i64 = 100;

/// Which of two sides is better at what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Comparison {
    /// Which format this is.
    pub format: u32,
    /// What one side is called: what sets it apart from the other.
    pub a: String,
    /// What the other side is called.
    pub b: String,
    /// GPUs in the fleet.
    pub gpus: u32,
    /// Virtual days of a run.
    pub days: u32,
    /// Jobs submitted in a run.
    pub jobs: u32,
    /// The seeds; each was run once on each side.
    pub seeds: Vec<u64>,
    /// Every measure, the most important first.
    pub measures: Vec<MeasureComparison>,
}

/// Means, difference and verdict of one measure on both sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MeasureComparison {
    /// What is measured.
    pub measure: Measure,
    /// In which unit; the figures are thousandths of it.
    pub unit: Unit,
    /// Which direction is the good one.
    pub better: Direction,
    /// Pairs of runs in which both sides have the figure.
    pub pairs: u32,
    /// The mean of one side.
    pub a: Estimate,
    /// The mean of the other side.
    pub b: Estimate,
    /// The mean of the differences, B less A, seed by seed.
    pub difference: Estimate,
    /// What follows.
    pub verdict: Verdict,
}

/// A mean with its interval of 95 %, in thousandths of the unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Estimate {
    /// The mean over the runs.
    pub mean_milli: i64,
    /// The lower end of the interval.
    pub low_milli: i64,
    /// The upper end of the interval.
    pub high_milli: i64,
}

/// Which side is better at one measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The interval of the difference lies on A's side of zero.
    ABetter,
    /// It lies on B's side.
    BBetter,
    /// It holds zero, the difference is below a hundredth, or the pairs are too few to tell.
    NoDifferenceShown,
}

/// Why two sets of runs say nothing about each other.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {detail} {hint}")]
pub struct NotComparable {
    /// What is wrong.
    pub what: String,
    /// Why.
    pub detail: String,
    /// What would be right.
    pub hint: String,
}

/// Compares runs of two sides, paired by seed.
///
/// # Errors
///
/// Sides that are empty, too large, mixed in themselves, or not of the same fleet, days, jobs and seeds.
pub fn compare(a: &[Outcome], b: &[Outcome]) -> Result<Comparison, NotComparable> {
    let a = Side::of("A", a)?;
    let b = Side::of("B", b)?;
    let shape = |run: &Run| format!("{} GPUs for {} days with {} jobs", run.gpus, run.days, run.jobs);
    if shape(a.run) != shape(b.run) {
        return Err(NotComparable {
            what: "the two sides have different fleets".into(),
            detail: format!("A ran {}, B ran {}.", shape(a.run), shape(b.run)),
            hint: "run both sides with the same --gpus, --days and --jobs".into(),
        });
    }
    for (side, seed) in [("A", b.without(&a)), ("B", a.without(&b))] {
        if let Some(seed) = seed {
            return Err(NotComparable {
                what: "the two sides have different seeds".into(),
                detail: format!("seed {seed} is missing on side {side}; runs are compared pair by pair."),
                hint: format!("run seed {seed} on side {side} as well, or omit it on both"),
            });
        }
    }
    let (a_name, b_name) = names(a.run, b.run);
    let pairs: Vec<_> = a.by_seed.values().copied().zip(b.by_seed.values().copied()).collect();
    Ok(Comparison {
        format: COMPARISON_FORMAT,
        a: a_name,
        b: b_name,
        gpus: a.run.gpus,
        days: a.run.days,
        jobs: a.run.jobs,
        seeds: a.by_seed.keys().copied().collect(),
        measures: Measure::ALL.into_iter().map(|measure| compared(measure, &pairs)).collect(),
    })
}

impl Comparison {
    /// The same with other names for the sides.
    #[must_use]
    pub fn named(self, a: String, b: String) -> Self {
        Self { a, b, ..self }
    }

    /// What was found of one measure.
    #[must_use]
    pub fn of(&self, measure: Measure) -> Option<&MeasureComparison> {
        self.measures.iter().find(|compared| compared.measure == measure)
    }
}

/// The runs of one side, which differ in nothing but their seed.
struct Side<'a> {
    run: &'a Run,
    by_seed: BTreeMap<u64, &'a Outcome>,
}

impl<'a> Side<'a> {
    fn of(side: &str, outcomes: &'a [Outcome]) -> Result<Self, NotComparable> {
        let Some(first) = outcomes.first().filter(|_| outcomes.len() <= PAIRS_MAX) else {
            return Err(NotComparable {
                what: format!("side {side} has {} runs", outcomes.len()),
                detail: format!("each side of a comparison must have 1 to {PAIRS_MAX} runs."),
                hint: format!("a difference needs at least {PAIRS_MIN} runs; use 20"),
            });
        };
        let mut by_seed = BTreeMap::new();
        for outcome in outcomes {
            let same = Run { seed: first.run.seed, ..outcome.run.clone() } == first.run;
            if !same || by_seed.insert(outcome.run.seed, outcome).is_some() {
                let why = if same { "appears twice" } else { "has different settings from the first run" };
                return Err(NotComparable {
                    what: format!("the runs of side {side} do not match"),
                    detail: format!("the run of seed {} {why}.", outcome.run.seed),
                    hint: "give each side the runs of one policy, each seed once".into(),
                });
            }
        }
        Ok(Self { run: &first.run, by_seed })
    }

    /// A seed that this side has and the other has not.
    fn without(&self, other: &Self) -> Option<u64> {
        self.by_seed.keys().copied().find(|seed| !other.by_seed.contains_key(seed))
    }
}

/// What sets two runs apart, in the words of the command line.
fn names(a: &Run, b: &Run) -> (String, String) {
    let apart = |run: &Run, other: &Run| {
        let rates = (run.rates != other.rates).then(|| format!("{} rates", run.rates));
        let settings = run.settings.iter().filter(|(name, value)| other.settings.get(*name) != Some(*value));
        rates.into_iter().chain(settings.map(|(name, value)| format!("{name}={value}"))).collect::<Vec<_>>().join(", ")
    };
    let name = |apart: String, other: &str, plain: &str| match (apart.is_empty(), other.is_empty()) {
        (false, _) => apart,
        (true, false) => "the default".to_owned(),
        (true, true) => plain.to_owned(),
    };
    let (of_a, of_b) = (apart(a, b), apart(b, a));
    (name(of_a.clone(), &of_b, "side A"), name(of_b, &of_a, "side B"))
}

fn compared(measure: Measure, pairs: &[(&Outcome, &Outcome)]) -> MeasureComparison {
    let values: Vec<(i64, i64)> =
        pairs.iter().filter_map(|(a, b)| Some((measure.milli(a)?, measure.milli(b)?))).collect();
    let estimate = |of: fn(&(i64, i64)) -> i64| bootstrap::estimate(&values.iter().map(of).collect::<Vec<_>>());
    let difference = estimate(|(a, b)| b.saturating_sub(*a));
    let better = measure.better();
    let (of_a, of_b) = (estimate(|(a, _)| *a), estimate(|(_, b)| *b));
    // With many measures some interval misses zero by a hair; what nobody would notice is no finding.
    let larger = of_a.mean_milli.saturating_abs().max(of_b.mean_milli.saturating_abs());
    let noticeable = difference.mean_milli.saturating_abs().saturating_mul(NOTICEABLE) >= larger;
    let verdict = match (difference.low_milli > 0, difference.high_milli < 0, better) {
        (false, false, _) => Verdict::NoDifferenceShown,
        _ if values.len() < PAIRS_MIN || !noticeable => Verdict::NoDifferenceShown,
        (true, _, Direction::Less) | (false, true, Direction::More) => Verdict::ABetter,
        (true, _, Direction::More) | (false, true, Direction::Less) => Verdict::BBetter,
    };
    MeasureComparison {
        measure,
        unit: measure.unit(),
        better,
        pairs: u32::try_from(values.len()).unwrap_or(u32::MAX),
        a: of_a,
        b: of_b,
        difference,
        verdict,
    }
}
