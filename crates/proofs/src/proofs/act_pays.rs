//! Whether acting pays: Mainstay against operators who work alone and against a tool that drains on a timer, on the same
//! faults. It writes `docs/reference/act-pays.md` and its picture. The sweep repeats it with every assumption changed.

mod page;
mod sweep;

use anyhow::Context as _;
use mainstay_model::Span;
use mainstay_sim::{Comparison, Measure, Options, Outcome, Rates, Training, Verdict, compare, run};

use super::parallel::parallel_map;
use crate::prove::{Context, Measurement, Proof};

pub(super) use sweep::PROOF as SWEEP;

const GPUS: u32 = 8_192;
const DAYS: u32 = 30;
/// Seeds that were never used to choose a policy.
const HELD_OUT: std::ops::RangeInclusive<u64> = 1_001..=1_020;
const IN_CI: std::ops::RangeInclusive<u64> = 1_001..=1_002;
/// Seeds on which the best setting of the tool is chosen.
const TRAINING: std::ops::RangeInclusive<u64> = 1..=6;

/// What the tool's timer may be. `wait` is NVSentinel's default.
const TOOL_SETTINGS: [&str; 6] = ["wait", "0", "5", "15", "60", "240"];

/// Which jobs run. The second kind was not used to choose a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Jobs {
    Mixed,
    Training,
}

/// Who responds to faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Responder {
    Operators,
    Tool(&'static str),
    Mainstay,
}

/// One kind of jobs at one rate: Mainstay against each opponent.
struct Case {
    jobs: Jobs,
    rates: Rates,
    best_tool: &'static str,
    opponents: Vec<(Responder, Comparison)>,
}

pub(super) const PROOF: Proof = Proof {
    name: "act-pays",
    run: |context: &Context| {
        Box::pin(async {
            let tools = [(Rates::Base, best_tool(Rates::Base)?), (Rates::Stress, best_tool(Rates::Stress)?)];
            let mut cases = Vec::new();
            for jobs in [Jobs::Mixed, Jobs::Training] {
                for (rates, best_tool) in tools {
                    cases.push(case(jobs, rates, best_tool, HELD_OUT)?);
                }
            }
            page::write(&context.workspace.root, &cases)?;
            let not_shown = cases.iter().flat_map(|case| &case.opponents).filter(|(_, compared)| !is_less(compared));
            let told: Vec<String> = cases.iter().map(Case::in_words).collect();
            Ok(Measurement { value: i64::try_from(not_shown.count())?, detail: told.join("; ") })
        })
    },
};

pub(super) const SMALL: Proof = Proof {
    name: "act-pays-small",
    run: |_: &Context| {
        Box::pin(async {
            let case = case(Jobs::Mixed, Rates::Base, "0", IN_CI)?;
            let (_, operators) = case.opponents.first().context("there are opponents")?;
            let lost = operators.of(Measure::Lost).context("every run has lost time")?;
            let milli = lost.b.mean_milli.saturating_mul(1_000) / lost.a.mean_milli.max(1);
            Ok(Measurement { value: milli, detail: case.in_words() })
        })
    },
};

impl Jobs {
    const fn words(self) -> &'static str {
        match self {
            Self::Mixed => "a mix of jobs",
            Self::Training => "one training job",
        }
    }

    fn options(self, seed: u64, rates: Rates) -> anyhow::Result<Options> {
        Ok(match self {
            Self::Mixed => Options::new(GPUS, DAYS, seed, rates)?,
            Self::Training => {
                let (checkpoint, save) = (Span::minutes(30), Span::seconds(30));
                let training = Training { gpus: GPUS, checkpoint, save, start: Span::minutes(10) };
                Options::training(training, DAYS, seed, rates)?
            }
        })
    }
}

impl Responder {
    fn words(self) -> String {
        match self {
            Self::Operators => "operators only".to_owned(),
            Self::Tool("wait") => "drain tool, waits for jobs (default)".to_owned(),
            Self::Tool("0") => "drain tool, stops jobs at once".to_owned(),
            Self::Tool(minutes) => format!("drain tool, stops jobs after {minutes} min"),
            Self::Mainstay => "Mainstay".to_owned(),
        }
    }

    fn set(self, options: &mut Options) -> anyhow::Result<()> {
        if self != Self::Mainstay {
            options.set("mode=observe")?;
        }
        if let Self::Tool(setting) = self {
            options.set(&format!("drain-tool={setting}"))?;
        }
        Ok(())
    }
}

impl Case {
    fn in_words(&self) -> String {
        let told = self.opponents.iter().filter_map(|(opponent, compared)| {
            let lost = compared.of(Measure::Lost)?;
            let hours = |milli: i64| milli / 1_000;
            Some(format!(
                "against {}: {} GPU-hours ({} to {})",
                opponent.words(),
                hours(lost.difference.mean_milli),
                hours(lost.difference.low_milli),
                hours(lost.difference.high_milli)
            ))
        });
        format!("{} at {} rates, {}", self.jobs.words(), self.rates.word(), told.collect::<Vec<_>>().join(", "))
    }
}

/// Whether Mainstay, the second side, loses less and chance does not explain it.
fn is_less(compared: &Comparison) -> bool {
    compared.of(Measure::Lost).is_some_and(|lost| lost.verdict == Verdict::BBetter)
}

fn case(
    jobs: Jobs,
    rates: Rates,
    best_tool: &'static str,
    seeds: std::ops::RangeInclusive<u64>,
) -> anyhow::Result<Case> {
    let mainstay = outcomes(jobs, rates, Responder::Mainstay, seeds.clone())?;
    let mut opponents = vec![Responder::Operators, Responder::Tool("wait")];
    if best_tool != "wait" {
        opponents.push(Responder::Tool(best_tool));
    }
    let against = |opponent: Responder| {
        let compared = compare(&outcomes(jobs, rates, opponent, seeds.clone())?, &mainstay)?;
        Ok((opponent, compared.named(opponent.words(), Responder::Mainstay.words())))
    };
    let opponents = opponents.into_iter().map(against).collect::<anyhow::Result<_>>()?;
    Ok(Case { jobs, rates, best_tool, opponents })
}

fn outcomes(
    jobs: Jobs,
    rates: Rates,
    responder: Responder,
    seeds: std::ops::RangeInclusive<u64>,
) -> anyhow::Result<Vec<Outcome>> {
    let count = seeds.end() - seeds.start() + 1;
    let one = |number: u64| {
        let mut options = jobs.options(seeds.start() + number, rates)?;
        responder.set(&mut options)?;
        Ok(run(&options, &mut |_| {}))
    };
    parallel_map(count, one).into_iter().collect()
}

/// The setting with the least loss on the mix of jobs and the training seeds.
fn best_tool(rates: Rates) -> anyhow::Result<&'static str> {
    let mut best = None;
    for setting in TOOL_SETTINGS {
        let outcomes = outcomes(Jobs::Mixed, rates, Responder::Tool(setting), TRAINING)?;
        let lost: i64 = outcomes.iter().filter_map(|outcome| Measure::Lost.milli(outcome)).sum();
        best = best.into_iter().chain([(lost, setting)]).min();
    }
    best.map(|(_, setting)| setting).context("there are settings")
}
