//! From a line of a node's kernel log to its report and to an incident, with everything between them real: the agent's
//! program, the API server, the controller's program. Then a failed leaf, and a false alarm on the whole fleet.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use futures::TryStreamExt as _;
use kube::Api;
use kube::api::{WatchEvent, WatchParams};
use mainstay_api::{CELL_NAME, Cell, Incident, NodeReport};
use tempfile::TempDir;
use testbed::eventually_within;
use testbed::test_cluster::resource_path;
use tokio::sync::watch as latest;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use xtask::{dist, output};

use super::super::agent;
use super::controller::Controller;
use super::emulated_nodes::{self, EmulatedNode};
use super::foreign_writes;
use super::test_cluster::TestCluster;
use crate::prove::{Context, Measurement};

const NODES: usize = 200;
const AGENTS: usize = 100;
/// The code of a line, by the node's place in its rack, the first and the second time: nodes side by side show different
/// things, because three of a rack that show the same are the rack's incident; and the second is worse than the first,
/// because a node's incident names the worst.
const CODES: [[&str; 4]; 2] = [["62", "46", "120", "63"], ["79", "95", "154", "119"]];
const RULES: [[&str; 4]; 2] = [
    ["power-unit-halt", "gpu-timeout", "gsp-error", "remap-recorded"],
    ["gpu-off-the-bus", "memory-uncontained", "recovery-reboot", "gsp-timeout"],
];
const OF_LEAF: (&str, &str) = ("158", "gpu-fatal-timeout");
const OF_STORM: (&str, &str) = ("143", "gpu-init-failed");
/// Train and serve.
const POOLS: usize = 2;
/// Removals in one pool at which the circuit breaker opens.
const BREAKS_AT: usize = 3;
/// Between two lines: a busy fleet has fewer faults in a day than this makes in a minute.
const APART: Duration = Duration::from_millis(250);
const REPORTED_WITHIN: Duration = Duration::from_secs(1);
/// After the last line everything has come, or it never does.
const COMES_WITHIN: Duration = Duration::from_secs(20);
/// Lifetime of a watch.
const WATCH_SECONDS: u32 = 1_200;

/// When a code first appeared in a node's report, or a rule in an incident about a node.
pub(super) type FirstSeenTimes = Arc<latest::Sender<BTreeMap<(String, String), Instant>>>;

struct Sample {
    node: String,
    code: &'static str,
    rule: &'static str,
    written_at: Instant,
}

pub(super) async fn measure(context: &Context) -> Result<Measurement> {
    let (serve, agent) = (dist::binary(&context.workspace).await?, agent::program::build(context).await?);
    let bed = TestCluster::start(NODES).await?;
    // What stops an alarm is to be its breaker, and not that the faults before it have used up a budget.
    bed.set_budget(NODES).await?;
    let folder = TempDir::new()?;
    let served = Controller::start_with(&serve, &bed.controller().await?, folder.path(), 15).await?;
    served.wait_until_leading().await?;
    for node in AGENTS..NODES {
        bed.report(node, 1, 8, &[]).await?;
    }
    let mut machines = emulated_nodes::start(&bed, &agent, AGENTS).await?;
    let all_report = async || Ok(bed.list(&resource_path("nodereports")).await?.len() >= NODES);
    eventually_within(foreign_writes::SOON, "a report of every agent", all_report).await?;
    let (reports, incidents) = (FirstSeenTimes::default(), FirstSeenTimes::default());
    let mut watches = JoinSet::new();
    watches.spawn(watch_reports(Api::all(bed.admin.clone()), Arc::clone(&reports)));
    watches.spawn(watch_incidents(Api::all(bed.admin.clone()), Arc::clone(&incidents)));
    sleep(Duration::from_secs(2)).await;

    let samples = sample(&bed, &machines).await;
    let found = async || {
        let (reports, incidents) =
            (latencies(&samples, &reports, |one| one.code), latencies(&samples, &incidents, |one| one.rule));
        Ok((reports.len(), incidents.len()) == (samples.len(), samples.len()))
    };
    let all_came = eventually_within(foreign_writes::SOON, "an incident for every line", found).await;
    let (reports, of_nodes) =
        (latencies(&samples, &reports, |one| one.code), latencies(&samples, &incidents, |one| one.rule));
    output::note(format_args!(
        "{} ms to the report, {} ms to the incident at p99",
        percentile(&reports, 99).as_millis(),
        percentile(&of_nodes, 99).as_millis()
    ));
    ensure!(all_came.is_ok(), "{} lines, {} in reports, {} in incidents", samples.len(), reports.len(), of_nodes.len());
    let leaf = leaf(&bed, &machines).await?;
    let storm = false_alarm(&bed, &machines, folder.path()).await?;
    for one in &mut machines {
        ensure!(one.agent.child.try_wait()?.is_none(), "an agent ended");
    }
    drop(watches);
    let shown = bed.cluster.run_kubectl(&["get", "gpunodes,incidents"]).await?;
    output::note(format_args!("kubectl get gpunodes,incidents:\n{shown}"));
    let (of_others, told) = foreign_writes::foreign_writes(&bed)?;
    let by_agents = bed.cluster.audited_write_counts("mainstay-agent")?;
    ensure!(of_others == 0, "the controller wrote to what is not ours");
    ensure!(by_agents.keys().all(|place| place == "mainstay.dev/nodereports"), "agents wrote {by_agents:?}");
    let reported = percentile(&reports, 99);
    let detail = format!(
        "{} lines on {AGENTS} nodes with agents, of {NODES}: in the report after {} ms (median), {} ms (p99), {} ms (worst); an incident after {}, {} and {} ms; {leaf}; {storm}; controller: {told}; agents: {by_agents:?}",
        samples.len(),
        percentile(&reports, 50).as_millis(),
        reported.as_millis(),
        percentile(&reports, 100).as_millis(),
        percentile(&of_nodes, 50).as_millis(),
        percentile(&of_nodes, 99).as_millis(),
        percentile(&of_nodes, 100).as_millis(),
    );
    ensure!(reported <= REPORTED_WITHIN, "reports are late: {detail}");
    Ok(Measurement { value: i64::try_from(percentile(&of_nodes, 99).as_millis())?, detail })
}

/// Two lines on every node, one after the other over the fleet.
async fn sample(bed: &TestCluster, machines: &[EmulatedNode]) -> Vec<Sample> {
    let mut samples = Vec::new();
    for (codes, rules) in CODES.into_iter().zip(RULES) {
        for machine in machines {
            let node = bed.nodes[machine.node].name.clone();
            // Names end with the place in the rack: n01 to n04.
            let place = node.bytes().last().map_or(0, |last| usize::from(last.wrapping_sub(b'1'))) % codes.len();
            let (code, rule) = (codes[place], rules[place]);
            let written_at = Instant::now();
            machine.xid(code);
            samples.push(Sample { node, code, rule, written_at });
            sleep(APART).await;
        }
    }
    samples
}

fn latencies(samples: &[Sample], seen: &FirstSeenTimes, of: impl Fn(&Sample) -> &'static str) -> Vec<Duration> {
    let seen = seen.borrow();
    let at = |one: &Sample| Some(seen.get(&(one.node.clone(), of(one).to_owned()))?.duration_since(one.written_at));
    let mut all: Vec<Duration> = samples.iter().filter_map(at).collect();
    all.sort_unstable();
    all
}

pub(super) fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    let at = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(at).copied().unwrap_or_default()
}

/// Every node of one leaf reports the same code at once: one incident, on the leaf.
async fn leaf(bed: &TestCluster, machines: &[EmulatedNode]) -> Result<String> {
    let leaf = &bed.nodes[AGENTS / 2].leaf;
    let of_leaf: Vec<&EmulatedNode> = machines.iter().filter(|one| bed.nodes[one.node].leaf == *leaf).collect();
    for machine in &of_leaf {
        machine.xid(OF_LEAF.0);
    }
    sleep(COMES_WITHIN).await;
    let incidents = about(bed, OF_LEAF.1).await?;
    ensure!(incidents.len() == 1, "a leaf is {} incidents: {incidents:?}", incidents.len());
    let incident = incidents.first().context("none")?;
    let subject = serde_json::to_string(&incident.status.as_ref().context("no status")?.subject)?;
    ensure!(subject.contains(leaf.as_str()), "the incident is about {subject}, not {leaf}");
    Ok(format!("{} nodes of a leaf are one incident on {subject}", of_leaf.len()))
}

async fn about(bed: &TestCluster, rule: &str) -> Result<Vec<Incident>> {
    let all = Api::<Incident>::all(bed.admin.clone()).list(&kube::api::ListParams::default()).await?;
    let is_about = |one: &Incident| one.status.as_ref().is_some_and(|status| status.rule.as_str() == rule);
    Ok(all.items.into_iter().filter(is_about).collect())
}

/// The same on one node of every rack at once. No place explains it, so each is an incident of its own; the rule is
/// stopped before it removes too many nodes.
async fn false_alarm(bed: &TestCluster, machines: &[EmulatedNode], record: &Path) -> Result<String> {
    let in_storm = |node: &usize| bed.nodes[*node].name.ends_with("n03");
    for machine in machines.iter().filter(|machine| in_storm(&machine.node)) {
        machine.xid(OF_STORM.0);
    }
    for node in (AGENTS..NODES).filter(in_storm) {
        bed.report(node, 2, 8, &[(OF_STORM.0, 1)]).await?;
    }
    let condemned = (0..NODES).filter(in_storm).count();
    sleep(COMES_WITHIN).await;
    let (all, of_storm) = would_be(record)?;
    ensure!((1..=POOLS * BREAKS_AT).contains(&of_storm.len()), "an alarm would have taken out {}", of_storm.len());
    let cell = Api::<Cell>::all(bed.admin.clone()).get(CELL_NAME).await?;
    let breakers = cell.status.map(|status| status.breakers).unwrap_or_default();
    let open = breakers.as_slice().iter().find(|breaker| breaker.rule.as_str() == OF_STORM.1);
    let open = serde_json::to_string(open.context("no breaker opened on the alarm")?)?;
    Ok(format!(
        "an alarm of one rule on {condemned} nodes would have taken out {}, and with all that was wrong before {} nodes; {} breakers are not closed, among them {open}",
        of_storm.len(),
        all.len(),
        breakers.as_slice().len()
    ))
}

/// The nodes that would have been cordoned, by the controller's own record: all, and those for the alarm.
fn would_be(record: &Path) -> Result<(BTreeSet<String>, BTreeSet<String>)> {
    let (mut all, mut of_storm) = (BTreeSet::new(), BTreeSet::new());
    for file in std::fs::read_dir(record)? {
        for line in std::fs::read_to_string(file?.path())?.lines() {
            let Ok(entry) = serde_json::from_str::<serde_json::Value>(line) else { continue };
            if entry["kind"] == "dryRun" && entry["step"] == "cordon" {
                let node = entry["node"].as_str().unwrap_or_default().to_owned();
                if entry["rule"] == OF_STORM.1 {
                    of_storm.insert(node.clone());
                }
                all.insert(node);
            }
        }
    }
    Ok((all, of_storm))
}

async fn watch_reports(api: Api<NodeReport>, seen: FirstSeenTimes) {
    let see = |report: &NodeReport| {
        let node = report.metadata.name.clone().unwrap_or_default();
        report.spec.evidence.as_slice().iter().map(|seen| (node.clone(), seen.code.to_string())).collect()
    };
    watch(api, seen, see).await;
}

pub(super) async fn watch_incidents(api: Api<Incident>, seen: FirstSeenTimes) {
    let see = |incident: &Incident| {
        let status = incident.status.iter();
        let named = status
            .flat_map(|status| status.nodes.as_slice().iter().map(|node| (node.to_string(), status.rule.to_string())));
        named.collect()
    };
    watch(api, seen, see).await;
}

/// Remembers when each was first seen. It ends with the proof, or when the server ends the watch.
async fn watch<K>(api: Api<K>, seen: FirstSeenTimes, see: impl Fn(&K) -> Vec<(String, String)>)
where
    K: Clone + std::fmt::Debug + serde::de::DeserializeOwned,
{
    let Ok(stream) = api.watch(&WatchParams::default().timeout(WATCH_SECONDS), "0").await else { return };
    let mut stream = pin!(stream);
    while let Ok(Some(event)) = stream.try_next().await {
        let at = Instant::now();
        if let WatchEvent::Added(object) | WatchEvent::Modified(object) = event {
            seen.send_modify(|seen| {
                for one in see(&object) {
                    seen.entry(one).or_insert(at);
                }
            });
        }
    }
}
