//! Proof of `mainstay assess`: half a year of the logs of 1,000 virtual nodes, in every format that it reads, a real Prometheus
//! with what an exporter counted, and tickets with disagreements that were put there; the report is held against the truth,
//! which the simulator keeps apart. Figures of our own failure model. The program is built as for tests.

#[cfg(test)]
mod tests;
mod truth;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::Value;
use xtask::command;

use crate::prove::{Context, Measurement, Proof};
use testbed::Prometheus;

pub(super) const PROOF: Proof = Proof { name: "assess", run: |context| Box::pin(measure(context)) };

const RUN_LIMIT: Duration = Duration::from_mins(5);

const GPUS: &str = "8000";
const DAYS: &str = "180";
/// Another seed than those that the weights of risk were chosen with, which are 1 to 6.
const SEED: &str = "101";
/// `promtool` reads its text once for every two hours of it.
const METRICS_DAYS: &str = "6";

async fn measure(context: &Context) -> anyhow::Result<Measurement> {
    let root = &context.workspace.root;
    let mainstay = command::debug_program(&context.workspace, "mainstay").await?;
    let folder = tempfile::tempdir().context("a folder for the logs")?;
    let fleet = folder.path().join("fleet");
    let mut logs = command::program(&mainstay, root);
    logs.args(["sim", "logs", "--gpus", GPUS, "--days", DAYS, "--seed", SEED, "--metrics-days", METRICS_DAYS, "--out"]);
    command::text(logs.arg(&fleet), RUN_LIMIT).await?;
    let server = Prometheus::start(folder.path(), &fleet.join("metrics.om")).await?;
    let page = folder.path().join("fleet.html");
    let mut assess = command::program(&mainstay, root);
    assess.arg("assess").arg(fleet.join("logs")).args(["-o", "json", "--prometheus", &server.url, "--html"]).arg(&page);
    assess.arg("--nodes").arg(fleet.join("nodes.csv")).arg("--tickets").arg(fleet.join("tickets.csv"));
    let began_at = Instant::now();
    let report = command::text(&mut assess, RUN_LIMIT).await?;
    let took = began_at.elapsed();
    let report: Value = serde_json::from_str(&report).context("the report is no JSON")?;
    let checked = truth::check(&report, &json(&fleet.join("truth.json"))?, &json(&fleet.join("metrics-truth.json"))?)?;
    let page = std::fs::read_to_string(&page).context("there is no page")?;
    ensure!(page.contains("<svg") && !page.contains("<script") && !page.contains("http"), "the page is not by itself");
    Ok(Measurement {
        value: i64::try_from(took.as_millis())?,
        detail: format!("{checked}; a page of {} kB", page.len() / 1_000),
    })
}

fn json(path: &Path) -> anyhow::Result<Value> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} is no JSON", path.display()))
}
