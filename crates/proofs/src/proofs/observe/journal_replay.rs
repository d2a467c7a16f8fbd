//! A night of faults on a test cluster, recorded by the controller's program, and replayed by the command: how many decisions
//! differ. The controller is killed half-way, and a replay with another policy must differ.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;
use tokio::time::{Instant, sleep, sleep_until};
use xtask::{command, output};

use super::controller::Controller;
use super::test_cluster::TestCluster;
use crate::prove::{Context, Measurement};

const NODES: usize = 100;
const FAULT_EVERY: Duration = Duration::from_secs(5);
/// Reports without news, as agents write them all the time.
const HEARTBEATS_PER_FAULT: usize = 5;
/// A fatal error, an uncontained one, a link that flaps, a warning, and a code that no rule has.
const CODES: [&str; 5] = ["79", "95", "74", "63", "999"];
/// Longer than the controller holds entries back.
const WRITTEN_WITHIN: Duration = Duration::from_secs(8);
const JOURNAL: &str = "journal";

/// What the replays of all files found.
#[derive(Default)]
struct Total {
    files: u64,
    bytes: u64,
    facts: u64,
    decisions: u64,
    differing: u64,
    differing_by_policy: u64,
}

pub(super) async fn measure(context: &Context, lasts: Duration) -> Result<Measurement> {
    let program = command::debug_program(&context.workspace, "mainstay").await?;
    let bed = TestCluster::start(NODES).await?;
    let folder = TempDir::new()?;
    let kubeconfig = bed.controller().await?;
    let mut fleet = Fleet { bed: &bed, sequences: vec![0; NODES] };
    for node in 0..NODES {
        fleet.report(node, &[]).await?;
    }
    for half in 0..2 {
        let served = Controller::start_recording(&program, &kubeconfig, folder.path(), JOURNAL).await?;
        served.wait_until_leading().await?;
        fleet.inject(half, lasts / 2).await?;
        sleep(WRITTEN_WITHIN).await;
        let lost = served.metric("mainstay_journal_entries_lost_total").await?;
        ensure!(lost == Some(0), "entries were lost: {lost:?}");
        served.kill().await?;
    }
    let other = other_policy(&bed, folder.path()).await?;
    let total = replay_all(&program, &folder.path().join(JOURNAL), &other).await?;
    let faults = lasts.as_secs() / FAULT_EVERY.as_secs();
    let Total { files, bytes, facts, decisions, differing, differing_by_policy } = total;
    ensure!(
        decisions >= faults && facts > 4 * faults,
        "hardly anything was recorded: {facts} facts, {decisions} decisions"
    );
    ensure!(differing_by_policy > 0, "without budgets nothing differs: the comparison sees nothing");
    let detail = format!(
        "{faults} faults on {NODES} emulated nodes, a controller killed half-way; {facts} facts, {decisions} decisions in {files} files of {bytes} bytes, {} bytes per fact; without budgets {differing_by_policy} decisions differ",
        bytes / facts.max(1),
    );
    Ok(Measurement { value: i64::try_from(differing)?, detail })
}

/// The nodes of the test cluster, with the number of the last report of each.
struct Fleet<'a> {
    bed: &'a TestCluster,
    sequences: Vec<u64>,
}

impl Fleet<'_> {
    async fn report(&mut self, node: usize, xids: &[(&str, u64)]) -> Result<()> {
        self.sequences[node] += 1;
        self.bed.report(node, self.sequences[node], 8, xids).await
    }

    /// A fault on another node every few seconds: a code, a missing GPU, or a node that is not ready.
    async fn inject(&mut self, half: usize, lasts: Duration) -> Result<()> {
        let until = Instant::now() + lasts;
        let mut next = Instant::now();
        for fault in 0.. {
            if Instant::now() >= until {
                break;
            }
            let node = (fault * 7 + half * 3) % NODES;
            match fault % 6 {
                4 => self.bed.set_ready(&self.bed.nodes[node].name, "False").await?,
                5 => {
                    self.sequences[node] += 1;
                    self.bed.report(node, self.sequences[node], 7, &[]).await?;
                }
                _ => {
                    let code = CODES[fault % CODES.len()];
                    let count = u64::try_from(fault)? + 1;
                    self.report(node, &[(code, count)]).await?;
                }
            }
            for other in 0..HEARTBEATS_PER_FAULT {
                self.report((fault * 11 + other * 17 + 50) % NODES, &[]).await?;
            }
            next += FAULT_EVERY;
            sleep_until(next).await;
        }
        Ok(())
    }
}

/// A file with the policies of the cluster, without budgets: no node may be removed.
async fn other_policy(bed: &TestCluster, folder: &Path) -> Result<PathBuf> {
    let mut text = String::new();
    for mut policy in bed.list(&testbed::test_cluster::resource_path("fleetpolicies")).await? {
        policy["apiVersion"] = json!("mainstay.dev/v1alpha1");
        policy["kind"] = json!("FleetPolicy");
        policy["spec"]["budgets"] = json!([]);
        text.push_str(&format!("---\n{}\n", serde_json::to_string(&policy)?));
    }
    let path = folder.join("without-budgets.yaml");
    std::fs::write(&path, text)?;
    Ok(path)
}

async fn replay_all(program: &Path, folder: &Path, policy: &Path) -> Result<Total> {
    let mut total = Total::default();
    for file in std::fs::read_dir(folder)? {
        let file = file?;
        let report = replay(program, &file.path(), None).await?;
        let number = |report: &Value, key: &str| report[key].as_u64().with_context(|| format!("no {key} in {report}"));
        total.files += 1;
        total.bytes += file.metadata()?.len();
        total.facts += number(&report, "facts")?;
        total.decisions += number(&report, "decisions")?;
        total.differing += number(&report, "differing")?;
        ensure!(number(&report, "lostEntries")? == 0, "a gap: {report}");
        if report["differing"] != 0 {
            output::note(format_args!("journal-replay: {report:#}"));
        }
        let other = replay(program, &file.path(), Some(policy)).await?;
        total.differing_by_policy += number(&other, "differingByPolicy")?;
    }
    Ok(total)
}

async fn replay(program: &Path, journal: &Path, policy: Option<&Path>) -> Result<Value> {
    let mut command = Command::new(program);
    command.args(["sim", "replay", "-o", "json", "--journal"]).arg(journal).stdin(Stdio::null());
    if let Some(policy) = policy {
        command.arg("--policy").arg(policy);
    }
    let answer = command.output().await?;
    let problem = String::from_utf8_lossy(&answer.stderr);
    serde_json::from_slice(&answer.stdout).with_context(|| format!("{}: {problem}", journal.display()))
}
