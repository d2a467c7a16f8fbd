//! Back-test of the failure model: published training runs with the policy "operators only", next to what their papers
//! report. It writes `docs/reference/backtest.md`.

use std::fmt::Write as _;

use anyhow::{Context as _, bail};
use mainstay_model::Span;
use mainstay_sim::{Cause, FaultClass, Options, Outcome, Parameter, Rates, Training, run};

use super::parallel::parallel_map;
use crate::prove::{Context, Measurement, Proof};

const TABLE: &str = include_str!("../../tables/published_runs.tsv");
const PAGE: &str = "docs/reference/backtest.md";

/// Seeds of each run. One month of 256 nodes has too few interruptions for a single seed.
const SEEDS: u64 = 4;
/// A run with more GPUs has interruptions enough for one seed.
const ONE_SEED_FROM_GPUS: u32 = 50_000;
/// CI runs what is at most this large.
const SMALL_GPUS_MAX: u32 = 4_096;

pub(super) const PROOF: Proof = Proof {
    name: "backtest",
    run: |context: &Context| {
        Box::pin(async {
            let results = results(|_| true)?;
            std::fs::write(context.workspace.root.join(PAGE), page(&results))?;
            measurement(&results)
        })
    },
};

pub(super) const SMALL: Proof = Proof {
    name: "backtest-small",
    run: |_: &Context| Box::pin(async { measurement(&results(|run| run.training.gpus <= SMALL_GPUS_MAX)?) }),
};

/// A published run.
#[derive(Debug)]
pub(super) struct PublishedRun {
    pub(super) name: &'static str,
    pub(super) training: Training,
    days: u32,
    /// Interruptions per 1,000 node-days.
    pub(super) rate: f64,
    source: &'static str,
    outcomes: Vec<PublishedOutcome>,
}

/// One outcome that a paper reports.
#[derive(Debug)]
struct PublishedOutcome {
    measure: Measure,
    relation: Relation,
    value: f64,
    tolerance_percent: f64,
    source: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Measure {
    Interruptions,
    HardwarePercent,
    EttrPercent,
    NodeRepairs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    About,
    AtLeast,
}

/// A published outcome next to the model's: its mean over the seeds.
struct BacktestResult {
    run: &'static str,
    measure: Measure,
    relation: Relation,
    published: f64,
    tolerance_percent: f64,
    modelled: f64,
    source: &'static str,
    run_source: &'static str,
}

impl Measure {
    const ALL: [Self; 4] = [Self::Interruptions, Self::HardwarePercent, Self::EttrPercent, Self::NodeRepairs];

    const fn word(self) -> &'static str {
        match self {
            Self::Interruptions => "interruptions",
            Self::HardwarePercent => "hardware-percent",
            Self::EttrPercent => "ettr-percent",
            Self::NodeRepairs => "node-repairs",
        }
    }

    fn of(self, outcome: &Outcome) -> anyhow::Result<f64> {
        let training = outcome.training.context("the run has no training job")?;
        let all: u64 = outcome.work.interruptions.values().sum();
        let hardware = outcome.work.interruptions.iter().filter(|(cause, _)| is_hardware(**cause));
        let hardware: u64 = hardware.map(|(_, count)| count).sum();
        Ok(match self {
            Self::Interruptions => number(all)?,
            Self::HardwarePercent => number(hardware)? * 100.0 / number(all.max(1))?,
            Self::EttrPercent => number(training.ettr_ppm)? / 10_000.0,
            Self::NodeRepairs => number(training.node_repairs)?,
        })
    }
}

fn is_hardware(cause: Cause) -> bool {
    match cause {
        Cause::Fault(FaultClass::SoftwareAndWatchdog | FaultClass::HostUnplannedMaintenance) => false,
        Cause::Fault(_) => true,
        Cause::FalseAlarm | Cause::People => false,
    }
}

fn number(count: u64) -> anyhow::Result<f64> {
    Ok(f64::from(u32::try_from(count)?))
}

impl BacktestResult {
    fn error_percent(&self) -> f64 {
        (self.modelled - self.published) * 100.0 / self.published
    }

    fn is_reproduced(&self) -> bool {
        match self.relation {
            Relation::About => self.error_percent().abs() <= self.tolerance_percent,
            Relation::AtLeast => self.modelled >= self.published,
        }
    }

    fn expected(&self) -> String {
        match self.relation {
            Relation::About => format!("{} ± {} %", self.published, self.tolerance_percent),
            Relation::AtLeast => format!("at least {}", self.published),
        }
    }
}

fn results(is_chosen: impl Fn(&PublishedRun) -> bool) -> anyhow::Result<Vec<BacktestResult>> {
    let runs: Vec<PublishedRun> = published()?.into_iter().filter(|run| is_chosen(run)).collect();
    let seeds = |run: &PublishedRun| if run.training.gpus >= ONE_SEED_FROM_GPUS { 1 } else { SEEDS };
    let work: Vec<(usize, u64)> =
        runs.iter().enumerate().flat_map(|(at, run)| (1..=seeds(run)).map(move |seed| (at, seed))).collect();
    let outcomes = parallel_map(u64::try_from(work.len())?, |at| {
        let (at, seed) = work[usize::try_from(at)?];
        anyhow::Ok((at, simulate(&runs[at], seed)?))
    });
    let outcomes: Vec<(usize, Outcome)> = outcomes.into_iter().collect::<anyhow::Result<_>>()?;
    let mut results = Vec::new();
    for (at, run) in runs.iter().enumerate() {
        for published in &run.outcomes {
            let of_run = outcomes.iter().filter(|(of, _)| *of == at);
            let values: Vec<f64> =
                of_run.map(|(_, outcome)| published.measure.of(outcome)).collect::<anyhow::Result<_>>()?;
            results.push(BacktestResult {
                run: run.name,
                measure: published.measure,
                relation: published.relation,
                published: published.value,
                tolerance_percent: published.tolerance_percent,
                modelled: values.iter().sum::<f64>() / number(u64::try_from(values.len())?)?,
                source: published.source,
                run_source: run.source,
            });
        }
    }
    Ok(results)
}

fn simulate(published: &PublishedRun, seed: u64) -> anyhow::Result<Outcome> {
    let mut options = Options::training(published.training, published.days, seed, Rates::Base)?;
    let base = options.model.get(Parameter::StopRateBase);
    options.model.scale(mainstay_sim::ALL_RATES, published.rate / base)?;
    options.set("mode=observe")?;
    Ok(run(&options, &mut |_| {}))
}

fn measurement(results: &[BacktestResult]) -> anyhow::Result<Measurement> {
    let missed = results.iter().filter(|result| !result.is_reproduced()).count();
    let each = results.iter().map(|result| {
        format!(
            "{} {}: published {}, model {:.1} ({:+.1} %)",
            result.run,
            result.measure.word(),
            result.expected(),
            result.modelled,
            result.error_percent()
        )
    });
    Ok(Measurement { value: i64::try_from(missed)?, detail: each.collect::<Vec<_>>().join("; ") })
}

fn page(results: &[BacktestResult]) -> String {
    let mut text = "# Back-test of the failure model\n\n\
        `cargo xtask prove backtest` writes this file. Do not edit it by hand.\n\n\
        The simulator runs published training runs, and the table compares what their papers report with what the model gives. Mainstay\n\
        only observes. Operators remove faulty nodes, and the job starts again on nodes without a known fault; one node in twenty is a\n\
        spare. Each value is the mean of four seeds, or of one seed for the largest run.\n\n\
        The number of interruptions is close by construction: the rates of the model come from the same papers. The other measures are\n\
        not inputs. Effective training time ratios depend on inputs that some papers do not publish; the\n\
        [table of runs](../../crates/proofs/tables/published_runs.tsv) names them.\n\n\
        | run | measure | published | model | error | reproduced |\n|---|---|---|---|---|---|\n"
        .to_owned();
    for result in results {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {:.1} | {:+.1} % | {} |",
            result.run,
            result.measure.word(),
            result.expected(),
            result.modelled,
            result.error_percent(),
            if result.is_reproduced() { "yes" } else { "**no**" }
        );
    }
    text.push_str("\n## Sources\n\n");
    let mut last = "";
    for result in results {
        if result.run != last {
            let _ = writeln!(text, "- {}: {}.", result.run, result.run_source.trim_end_matches('.'));
            last = result.run;
        }
        let _ = writeln!(text, "  - {}: {}.", result.measure.word(), result.source);
    }
    text
}

/// The published runs.
pub(super) fn published() -> anyhow::Result<Vec<PublishedRun>> {
    read(TABLE)
}

fn read(table: &'static str) -> anyhow::Result<Vec<PublishedRun>> {
    let mut runs: Vec<PublishedRun> = Vec::new();
    for line in table.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let columns: Vec<&'static str> = line.split('\t').collect();
        match columns.as_slice() {
            ["run", name, gpus, days, rate, minutes, save, start, source] => runs.push(PublishedRun {
                name,
                training: Training {
                    gpus: gpus.parse()?,
                    checkpoint: seconds(minutes.parse::<f64>()? * 60.0)?,
                    save: Span::seconds(save.parse()?),
                    start: Span::seconds(start.parse()?),
                },
                days: days.parse()?,
                rate: rate.parse()?,
                source,
                outcomes: Vec::new(),
            }),
            ["outcome", measure, relation, value, tolerance, source] => {
                let of = runs.last_mut().context("an outcome comes before its run")?;
                of.outcomes.push(PublishedOutcome {
                    measure: Measure::ALL
                        .into_iter()
                        .find(|known| known.word() == *measure)
                        .with_context(|| format!("no measure is called {measure}"))?,
                    relation: match *relation {
                        "about" => Relation::About,
                        "at-least" => Relation::AtLeast,
                        other => bail!("no relation is called {other}"),
                    },
                    value: value.parse()?,
                    tolerance_percent: tolerance.parse()?,
                    source,
                });
            }
            _ => bail!("not a row: {line}"),
        }
    }
    Ok(runs)
}

fn seconds(seconds: f64) -> anyhow::Result<Span> {
    Ok(Span::seconds(format!("{seconds:.0}").parse()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_has_outcomes_and_a_source() {
        let runs = read(TABLE).unwrap();
        assert!(runs.iter().all(|run| !run.outcomes.is_empty() && !run.source.is_empty()));
        assert!(runs.iter().any(|run| run.training.gpus <= SMALL_GPUS_MAX));
    }

    #[test]
    fn an_outcome_is_reproduced_within_its_tolerance_or_above_its_bound() {
        let result = |relation, modelled| BacktestResult {
            run: "",
            measure: Measure::EttrPercent,
            relation,
            published: 90.0,
            tolerance_percent: 5.0,
            modelled,
            source: "",
            run_source: "",
        };
        assert!(result(Relation::About, 94.0).is_reproduced());
        assert!(!result(Relation::About, 95.0).is_reproduced());
        assert!(!result(Relation::About, 85.0).is_reproduced());
        assert!(result(Relation::AtLeast, 99.0).is_reproduced());
        assert!(!result(Relation::AtLeast, 89.9).is_reproduced());
    }
}
