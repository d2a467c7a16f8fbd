//! Proofs of the simulator's speed and sameness: a month of 100,000 GPUs on one core, twice.

use std::time::Instant;

use anyhow::ensure;
use mainstay_sim::{Options, Rates, run};
use tokio::sync::OnceCell;

use crate::prove::{Context, Measurement, Proof};

const GPUS: u32 = 100_000;
const DAYS: u32 = 30;
const JOBS: u32 = 200_000;

pub(super) const SPEED: Proof = Proof {
    name: "sim-month",
    run: |_: &Context| {
        Box::pin(async {
            let month = first().await?;
            Ok(Measurement { value: month.seconds, detail: month.detail.clone() })
        })
    },
};

pub(super) const SAME: Proof = Proof {
    name: "sim-month-same",
    run: |_: &Context| {
        Box::pin(async {
            let (month, again) = (first().await?, simulate()?);
            let differing = month.json.bytes().zip(again.json.bytes()).filter(|(one, other)| one != other).count();
            let differing = differing + month.json.len().abs_diff(again.json.len());
            Ok(Measurement { value: i64::try_from(differing)?, detail: month.detail.clone() })
        })
    },
};

/// Duration and report of one simulated month.
struct MonthResult {
    seconds: i64,
    json: String,
    detail: String,
}

static FIRST: OnceCell<MonthResult> = OnceCell::const_new();

/// The month that both proofs look at.
async fn first() -> anyhow::Result<&'static MonthResult> {
    FIRST.get_or_try_init(async || simulate()).await
}

fn simulate() -> anyhow::Result<MonthResult> {
    let mut options = Options::new(GPUS, DAYS, 1, Rates::Base)?;
    options.submit(JOBS)?;
    let started = Instant::now();
    let month = run(&options, &mut |_| {});
    let seconds = i64::try_from(started.elapsed().as_secs())?;
    let json = serde_json::to_string(&month)?;
    ensure!(month.engine.violations == 0, "the auditor objected {} times", month.engine.violations);
    let detail = format!(
        "{} decisions audited, {} facts, {} jobs finished, {} nodes taken out, {} bytes of JSON; one core",
        month.engine.decisions,
        month.engine.observations,
        month.work.finished,
        month.quarantines.total,
        json.len()
    );
    Ok(MonthResult { seconds, json, detail })
}
