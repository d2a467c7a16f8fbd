//! The effective training time ratio of a simulated run next to the analytic optimum for the same save time, restart time and
//! time between interruptions, at five sizes. It writes `docs/reference/ettr.md`.

use std::fmt::Write as _;

use anyhow::Context as _;
use mainstay_model::Span;
use mainstay_sim::{ALL_RATES, Options, Outcome, Parameter, Rates, Training, run};

use super::backtest;
use super::parallel::parallel_map;
use crate::prove::{Context, Measurement, Proof};

const PAGE: &str = "docs/reference/ettr.md";
const SEEDS: u64 = 4;
const DAYS: u32 = 30;
/// A fleet of this size has interruptions enough in fewer days, and for one seed.
const LARGE_GPUS: u32 = 50_000;
const LARGE_DAYS: u32 = 4;
/// The published run of each size.
const PUBLISHED: [&str; 5] = ["opt-175b", "rsc-1-4096", "byterobust", "llama-3", "ft-hsdp-synchronous"];
/// Our own values: a blocking save of 30 seconds and a start of 10 minutes, at the model's own rate.
const OUR_SAVE: Span = Span::seconds(30);
const OUR_START: Span = Span::minutes(10);
/// A save that does not block the job still has an end; the formula needs one.
const SAVE_SECONDS_MIN: f64 = 1.0;
/// Where the search for the best interval begins and ends, in seconds, and by how much it goes on.
const INTERVALS: (f64, f64, f64) = (10.0, 86_400.0, 1.02);

pub(super) const PROOF: Proof = Proof {
    name: "ettr",
    run: |context: &Context| {
        Box::pin(async {
            let rows = rows()?;
            std::fs::write(context.workspace.root.join(PAGE), page(&rows))?;
            let worst = rows.iter().map(Row::distance_milli).max().context("there are rows")?;
            let told: Vec<String> = rows.iter().map(Row::in_words).collect();
            Ok(Measurement { value: worst, detail: told.join("; ") })
        })
    },
};

/// Inputs of one row.
struct Case {
    values: &'static str,
    gpus: u32,
    save: Span,
    start: Span,
    /// Interruptions per 1,000 node-days; the model's own where absent.
    rate: Option<f64>,
}

struct Row {
    case: Case,
    /// Mean time between interruptions of the simulated runs, in seconds.
    between: f64,
    /// The interval of the optimum, in seconds.
    interval: f64,
    optimum_percent: f64,
    simulated_percent: f64,
}

impl Row {
    fn distance_milli(&self) -> i64 {
        let milli = ((self.optimum_percent - self.simulated_percent).abs() * 1_000.0).round();
        format!("{milli:.0}").parse().unwrap_or(i64::MAX)
    }

    fn in_words(&self) -> String {
        format!(
            "{} GPUs with {} values: optimum {:.2} %, simulated {:.2} %",
            self.case.gpus, self.case.values, self.optimum_percent, self.simulated_percent
        )
    }
}

fn cases() -> anyhow::Result<Vec<Case>> {
    let runs = backtest::published()?;
    let mut cases = Vec::new();
    for name in PUBLISHED {
        let run = runs.iter().find(|run| run.name == name).with_context(|| format!("no run is called {name}"))?;
        let Training { gpus, save, start, .. } = run.training;
        cases.push(Case { values: name, gpus, save, start, rate: Some(run.rate) });
        cases.push(Case { values: "our", gpus, save: OUR_SAVE, start: OUR_START, rate: None });
    }
    Ok(cases)
}

fn rows() -> anyhow::Result<Vec<Row>> {
    let cases = cases()?;
    let count = u64::try_from(cases.len())?;
    let simulated: Vec<anyhow::Result<(f64, f64, f64)>> =
        parallel_map(count, |number| simulate(&cases[usize::try_from(number)?]));
    let rows = cases.into_iter().zip(simulated).map(|(case, simulated)| {
        let (between, interval, simulated_percent) = simulated?;
        let optimum_percent = 100.0 * ratio(interval, seconds(case.save), lost_per_interruption(&case), between);
        Ok(Row { case, between, interval, optimum_percent, simulated_percent })
    });
    rows.collect()
}

/// A first run measures the time between interruptions. The second one saves as often as is best for it.
fn simulate(case: &Case) -> anyhow::Result<(f64, f64, f64)> {
    let guess = Span::minutes(30);
    let (between, _) = measure(case, guess)?;
    let interval = best_interval(seconds(case.save), lost_per_interruption(case), between);
    let whole: u32 = format!("{:.0}", interval.max(1.0)).parse()?;
    let (between, percent) = measure(case, Span::seconds(whole))?;
    Ok((between, interval, percent))
}

/// Mean time between interruptions in seconds, and the ratio in percent.
fn measure(case: &Case, checkpoint: Span) -> anyhow::Result<(f64, f64)> {
    let is_large = case.gpus >= LARGE_GPUS;
    let (days, seeds) = if is_large { (LARGE_DAYS, 1) } else { (DAYS, SEEDS) };
    let (mut held, mut interruptions, mut ratio) = (0.0, 0.0, 0.0);
    for seed in 1..=seeds {
        let outcome = outcome(case, checkpoint, days, seed)?;
        let training = outcome.training.context("the run has no training job")?;
        let stops: u64 = outcome.work.interruptions.values().sum();
        held += f64::from(days) * 86_400.0 - f64::from(u32::try_from(training.waited_seconds)?);
        interruptions += f64::from(u32::try_from(stops)?);
        ratio += f64::from(u32::try_from(training.ettr_ppm)?) / 10_000.0;
    }
    Ok((held / interruptions.max(1.0), ratio / f64::from(u32::try_from(seeds)?)))
}

fn outcome(case: &Case, checkpoint: Span, days: u32, seed: u64) -> anyhow::Result<Outcome> {
    let training = Training { gpus: case.gpus, checkpoint, save: case.save, start: case.start };
    let mut options = Options::training(training, days, seed, Rates::Base)?;
    if let Some(rate) = case.rate {
        let base = options.model.get(Parameter::StopRateBase);
        options.model.scale(ALL_RATES, rate / base)?;
    }
    Ok(run(&options, &mut |_| {}))
}

/// From an interruption until the next step: the job hangs until its watchdog ends it, and starts again.
fn lost_per_interruption(case: &Case) -> f64 {
    let hangs_max = mainstay_sim::FailureModel::built_in(Rates::Base).get(Parameter::JobHangSecondsMax);
    seconds(case.start) + 5.0 + hangs_max / 2.0
}

/// The share of time that is kept, where interruptions come at random: a segment of `interval` seconds of training and its
/// save is repeated until it succeeds, and each failure costs the restart (Daly 2006, equation 20 without its
/// approximations).
fn ratio(interval: f64, save: f64, restart: f64, between: f64) -> f64 {
    let save = save.max(SAVE_SECONDS_MIN);
    interval / ((restart / between).exp() * between * ((interval + save) / between).exp_m1())
}

fn best_interval(save: f64, restart: f64, between: f64) -> f64 {
    let (mut interval, until, factor) = INTERVALS;
    let mut best = interval;
    while interval <= until {
        if ratio(interval, save, restart, between) > ratio(best, save, restart, between) {
            best = interval;
        }
        interval *= factor;
    }
    best
}

fn seconds(span: Span) -> f64 {
    f64::from(u32::try_from(span.0 / 1_000).unwrap_or(u32::MAX))
}

fn page(rows: &[Row]) -> String {
    let mut text = "# How close to the optimum a training job comes\n\n\
        `cargo xtask prove ettr` writes this file. Do not edit it by hand.\n\n\
        The effective training time ratio is the share of time whose training was kept. A save blocks the job for some seconds, and a restart takes\n\
        some minutes. If interruptions come at random, one checkpoint interval is the best (Daly 2006). The table compares that optimum with a\n\
        simulated job that saves at that interval, while Mainstay acts. One node in twenty is a spare. The time between interruptions is\n\
        that of the simulated run. The restart includes the time that a job hangs, 305 seconds on average.\n\n\
        The sizes are those of [published runs](backtest.md). The first row of a size has the values of that run. The second row has ours: base\n\
        rates, a save of 30 seconds and a start of 10 minutes. All results are simulated, with our own failure model. Its faults come in\n\
        clusters. Where they are frequent, a simulated job can therefore exceed the optimum.\n\n\
        | GPUs | values | between interruptions, min | best interval, min | optimum, % | simulated, % | distance, points |\n\
        |---|---|---|---|---|---|---|\n"
        .to_owned();
    for row in rows {
        let _ = writeln!(
            text,
            "| {} | {} | {:.0} | {:.1} | {:.2} | {:.2} | {:.2} |",
            row.case.gpus,
            row.case.values,
            row.between / 60.0,
            row.interval / 60.0,
            row.optimum_percent,
            row.simulated_percent,
            row.optimum_percent - row.simulated_percent,
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_interval_is_near_that_of_young_where_interruptions_are_rare() {
        let (save, between) = (30.0_f64, 86_400.0_f64);
        let young = (2.0 * save * between).sqrt();
        let best = best_interval(save, 600.0, between);
        assert!((best / young - 1.0).abs() < 0.05, "{best} instead of {young}");
    }

    #[test]
    fn without_interruptions_only_the_save_costs() {
        assert!((ratio(990.0, 10.0, 600.0, 1e12) - 0.99).abs() < 1e-3);
    }
}
