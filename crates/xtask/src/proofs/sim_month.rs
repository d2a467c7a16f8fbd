//! Proofs of the simulator's speed and sameness: a month of 100,000 GPUs on one core, twice.

use std::time::{Duration, Instant};

use anyhow::ensure;
use mainstay_sim::{Options, Rates, run};
use tokio::sync::OnceCell;

use crate::prove::{Context, Goal, Measurement, Proof, Schedule};

const GPUS: u32 = 100_000;
const DAYS: u32 = 30;
const JOBS: u32 = 200_000;

pub(super) const SPEED: Proof = Proof {
    name: "sim-month",
    runs: Schedule::InCi,
    unit: "seconds",
    goal: Goal::AtMost(60),
    limit: Duration::from_mins(10),
    run: |_: &Context| {
        Box::pin(async {
            let month = months().await?;
            Ok(Measurement { value: month.seconds, detail: month.detail.clone() })
        })
    },
};

pub(super) const SAME: Proof = Proof {
    name: "sim-month-same",
    runs: Schedule::InCi,
    unit: "bytes",
    goal: Goal::Exactly(0),
    limit: Duration::from_mins(10),
    run: |_: &Context| {
        Box::pin(async {
            let month = months().await?;
            Ok(Measurement { value: month.differing, detail: month.detail.clone() })
        })
    },
};

/// Duration of one simulated month, and bytes that differ in its repetition.
struct MonthResult {
    seconds: i64,
    differing: i64,
    detail: String,
}

static MONTHS: OnceCell<MonthResult> = OnceCell::const_new();

async fn months() -> anyhow::Result<&'static MonthResult> {
    MONTHS.get_or_try_init(async || simulate_twice()).await
}

fn simulate_twice() -> anyhow::Result<MonthResult> {
    let mut options = Options::new(GPUS, DAYS, 1, Rates::Base)?;
    options.submit(JOBS)?;
    let started = Instant::now();
    let first = run(&options, &mut |_| {});
    let seconds = started.elapsed().as_secs();
    let (text, again) = (serde_json::to_string(&first)?, serde_json::to_string(&run(&options, &mut |_| {}))?);
    let differing = text.bytes().zip(again.bytes()).filter(|(one, other)| one != other).count();
    let differing = differing + text.len().abs_diff(again.len());
    ensure!(first.engine.violations == 0, "the auditor objected {} times", first.engine.violations);
    let detail = format!(
        "{} decisions audited, {} facts, {} jobs finished, {} nodes taken out, {} bytes of JSON; one core",
        first.engine.decisions,
        first.engine.observations,
        first.work.finished,
        first.quarantines.total,
        text.len()
    );
    Ok(MonthResult { seconds: i64::try_from(seconds)?, differing: i64::try_from(differing)?, detail })
}
