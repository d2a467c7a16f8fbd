//! One page for one cause, with the real controller, Prometheus and Alertmanager: a leaf fails, a PDU fails, a driver version
//! fails after an update, and the API server stops. The alerts and the example of Alertmanager are those of `deploy/alerts`, with
//! all durations divided by one factor. Agents are reports; their own metrics are not scraped.

mod pager;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use tempfile::TempDir;
use testbed::{AgentReport, Program, TestNode};
use tokio::time::{Instant, sleep};
use xtask::{command, output};

use super::controller::Controller;
use super::test_cluster::TestCluster;
use crate::prove::{Context, Measurement};
use pager::{Alertmanager, Page};
use testbed::Prometheus;

/// Every duration of rules and routes is divided by this.
const FACTOR: u64 = 10;
/// Eight leaves of 32 nodes, four PDUs each.
const NODES: usize = 256;
const NEW_DRIVER: &str = "590.48.01";
/// The pool of the update. Every fifth of its nodes is updated, so that no domain explains their faults.
const POOL: &str = "train";
const UPDATED_EVERY: usize = 5;
/// The engine suspects a driver version from ten nodes on.
const UPDATED_MIN: usize = 12;
const PAGE_WITHIN: Duration = Duration::from_mins(3);
/// Time in which a second page would have arrived: all waits of the rules that follow from the same cause.
const QUIET: Duration = Duration::from_secs(60);
const RULES: [&str; 3] = ["rules.yaml", "gpu-rules.yaml", "fleet-rules.yaml"];

pub(in super::super) async fn measure(context: &Context) -> Result<Measurement> {
    let program = command::debug_program(&context.workspace, "mainstay").await?;
    let bed = TestCluster::start_without_heartbeats(NODES).await?;
    let folder = TempDir::new()?;
    let served = Controller::start_with(&program, &bed.controller().await?, &folder.path().join("audit"), 15).await?;
    served.wait_until_leading().await?;
    for node in 0..NODES {
        bed.report(node, 1, 8, &[]).await?;
    }
    let alerts = context.workspace.root.join("deploy/alerts");
    let alertmanager = Alertmanager::start(folder.path(), &example(&alerts)?).await?;
    let _prometheus =
        Prometheus::serve(folder.path(), &configuration(folder.path(), &alerts, &served, &alertmanager)?).await?;
    let mut told = Vec::new();
    let mut wrong = 0;
    for cause in [Cause::Leaf, Cause::Pdu, Cause::Driver, Cause::ApiServer] {
        let before = alertmanager.pages().len();
        let title = cause.happen(&bed).await?;
        let pages = pages_of(&alertmanager, before).await?;
        let is_right = matches!(pages.as_slice(), [page] if page.title.contains(&title));
        let titles: Vec<&str> = pages.iter().map(|page| page.title.as_str()).collect();
        output::note(format_args!("one-page: {cause:?}: {titles:?}"));
        wrong += i64::from(!is_right);
        told.push(format!("{cause:?}: {} page, {:?}", pages.len(), titles.first().copied().unwrap_or_default()));
    }
    Ok(Measurement {
        value: wrong,
        detail: format!("{NODES} nodes, durations divided by {FACTOR}; {}", told.join("; ")),
    })
}

/// What goes wrong.
#[derive(Debug, Clone, Copy)]
enum Cause {
    Leaf,
    Pdu,
    Driver,
    ApiServer,
}

impl Cause {
    /// Lets it happen, and returns what the title of its page must contain.
    async fn happen(self, bed: &TestCluster) -> Result<String> {
        match self {
            Self::Leaf => {
                let leaf = bed.nodes[0].leaf.clone();
                for node in (0..NODES).filter(|node| bed.nodes[*node].leaf == leaf) {
                    bed.report(node, 2, 8, &[("74", 9), ("79", 1)]).await?;
                }
                Ok(leaf)
            }
            Self::Pdu => {
                let pdu = bed.nodes[NODES / 4].pdu.clone();
                // Without power: Kubernetes does not see the nodes any more.
                for node in bed.nodes.iter().filter(|node| node.pdu == pdu) {
                    bed.set_ready(&node.name, "Unknown").await?;
                }
                Ok(pdu)
            }
            Self::Driver => {
                let is_free = |node: &&TestNode| {
                    node.pool == POOL && node.leaf != bed.nodes[0].leaf && node.pdu != bed.nodes[NODES / 4].pdu
                };
                let updated: Vec<&TestNode> = bed.nodes.iter().filter(is_free).step_by(UPDATED_EVERY).collect();
                ensure!(updated.len() >= UPDATED_MIN, "{} nodes run the new driver", updated.len());
                for xids in [&[][..], &[("63", 1)]] {
                    for node in &updated {
                        let report = AgentReport::new(3 + xids.len() as u64, xids).with_driver(NEW_DRIVER);
                        testbed::TestCluster::report(bed, node, &report).await?;
                    }
                }
                Ok(NEW_DRIVER.to_owned())
            }
            Self::ApiServer => {
                bed.cluster.crash(Program::ApiServer).await?;
                Ok("API server".to_owned())
            }
        }
    }
}

/// The pages after one cause: waits for the first, and as long again as another could take.
async fn pages_of(alertmanager: &Alertmanager, before: usize) -> Result<Vec<Page>> {
    let until = Instant::now() + PAGE_WITHIN;
    while alertmanager.pages().len() == before && Instant::now() < until {
        sleep(Duration::from_millis(200)).await;
    }
    sleep(QUIET).await;
    Ok(alertmanager.pages().split_off(before))
}

/// The example configuration, without its maintenance window, in which this may run.
fn example(alerts: &Path) -> Result<String> {
    let text = read(&alerts.join("alertmanager.yaml"))?;
    ensure!(text.contains("mute_time_intervals"), "the example has no maintenance window");
    let lines = text.lines().filter(|line| !line.contains("mute_time_intervals"));
    Ok(scaled(&lines.collect::<Vec<_>>().join("\n")))
}

/// Writes the scaled rules, and returns a configuration of Prometheus for them.
fn configuration(folder: &Path, alerts: &Path, served: &Controller, alertmanager: &Alertmanager) -> Result<String> {
    for name in RULES {
        std::fs::write(folder.join(name), scaled(&read(&alerts.join(name))?))?;
    }
    Ok(format!(
        "global: {{ scrape_interval: 1s, evaluation_interval: 1s }}\nrule_files: [{}]\n\
         alerting: {{ alertmanagers: [{{ static_configs: [{{ targets: ['{}'] }}] }}] }}\n\
         scrape_configs: [{{ job_name: mainstay-controller, honor_labels: true, static_configs: [{{ targets: ['{}'] }}] }}]\n",
        RULES.join(", "),
        alertmanager.address(),
        served.address(),
    ))
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| path.display().to_string())
}

/// Divides every duration by the factor: waits, ranges, offsets, and limits on the age of something.
fn scaled(text: &str) -> String {
    const BEFORE: [&str; 8] = [
        "for: ",
        "[",
        "offset ",
        "group_wait: ",
        "group_interval: ",
        "repeat_interval: ",
        "interval: ",
        "_age_seconds) > ",
    ];
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest
        .char_indices()
        .find_map(|(at, _)| BEFORE.iter().find(|word| rest[at..].starts_with(**word)).map(|word| at + word.len()))
    {
        let (head, tail) = rest.split_at(at);
        out.push_str(head);
        let digits = tail.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(tail.len());
        let unit = match tail[digits..].chars().next() {
            Some('s') => Some((1_000, 1)),
            Some('m') => Some((60_000, 1)),
            Some('h') => Some((3_600_000, 1)),
            _ => None,
        };
        match (tail[..digits].parse::<u64>(), unit) {
            (Ok(count), Some((millis, letters))) => {
                out.push_str(&format!("{}ms", count * millis / FACTOR));
                rest = &tail[digits + letters..];
            }
            (Ok(count), None) if head.ends_with("_age_seconds) > ") => {
                out.push_str(&(count / FACTOR).to_string());
                rest = &tail[digits..];
            }
            _ => rest = tail,
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_duration_is_divided_and_nothing_else() {
        for (text, expected) in [
            ("for: 5m", "for: 30000ms"),
            ("x[1h] offset 2h", "x[360000ms] offset 720000ms"),
            ("group_wait: 30s", "group_wait: 3000ms"),
            ("min(mainstay_api_answer_age_seconds) > 60", "min(mainstay_api_answer_age_seconds) > 6"),
            ("severity: page, [research] > 0.1", "severity: page, [research] > 0.1"),
        ] {
            assert_eq!(scaled(text), expected);
        }
    }
}
