//! A cluster as a source: its nodes, pods and events, read with list permission only. Evidence goes to the same engine as
//! logs do; the rest is reported as it is.

use std::collections::BTreeMap;

use mainstay_kube::scan::{Scan, ScannedNode};
use mainstay_model::{Code, Detail, NodeName, Source, Timestamp};
use mainstay_signal::{Place, Signal};
use mainstay_text::{Align, Table, counted, cut, duration, thousands, wrapped};
use serde::Serialize;

use super::input::{Input, Volume};
use super::nodes::NodeRow;
use super::timestamp::written;

const COLUMNS: usize = 100;
/// This source in the report.
pub(super) const KIND: &str = "cluster";
/// The kind that lists GPUs offered by DRA. Most clusters need no permission for it.
const SLICES: &str = "resourceslices";
/// Nodes in the list; a fleet with more of them has a larger problem than this list.
const NODES_MAX: usize = 1_000;
/// The code of our own catalogue for a GPU that should be there and is not.
const GPU_MISSING: &str = "gpu-missing";

/// The current state of a cluster, as the report shows it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ClusterSection {
    pub(super) at: String,
    pub(super) nodes: u64,
    pub(super) nodes_without_gpus: u64,
    pub(super) pods: u64,
    pub(super) events: u64,
    /// Kinds without list permission.
    pub(super) unread: Vec<&'static str>,
    /// Nodes with problems, the worst first.
    pub(super) suspects: Vec<SuspectLine>,
    /// What a cluster alone cannot show.
    pub(super) cannot_show: Vec<&'static str>,
    #[serde(skip)]
    pub(super) now: Timestamp,
}

/// One node with problems.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SuspectLine {
    pub(super) node: String,
    pub(super) gpus: u16,
    pub(super) gpus_offered: Option<u16>,
    pub(super) not_ready_since: Option<i64>,
    pub(super) kept_away_by: Option<String>,
    pub(super) remediator: Option<&'static str>,
    pub(super) conditions: Vec<Condition>,
    pub(super) pods_failed: u64,
    pub(super) pods_evicted: u64,
    pub(super) restarts: u64,
    pub(super) boots: u64,
    pub(super) warnings: BTreeMap<String, u64>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Condition {
    pub(super) condition: String,
    pub(super) since: i64,
}

/// Adds pool, GPUs and topology of nodes that no file lists.
pub(super) fn rows(survey: &Scan, rows: &mut BTreeMap<NodeName, NodeRow>) {
    for (name, node) in &survey.nodes {
        rows.entry(name.clone()).or_insert_with(|| NodeRow {
            pool: node.pool.clone(),
            gpus: Some(node.gpus),
            domains: node.domains.clone(),
            booted: None,
        });
    }
}

/// Evidence of the cluster, as far as it has a time.
pub(super) fn gathered(survey: &Scan) -> Input {
    let mut gathered = Input::default();
    let mut signals = 0;
    for (name, seen) in &survey.nodes {
        let Some(node) = gathered.node(name) else { continue };
        gathered.note_entry(node, survey.at);
        for at in &seen.boots {
            gathered.note_entry(node, *at);
            gathered.boot(node, *at);
        }
        for complaint in &seen.complaints {
            signals += say(&mut gathered, node, complaint.since, Source::External, complaint.code.as_str());
        }
        if is_short(seen) {
            // The cluster does not say since when.
            signals += say(&mut gathered, node, survey.at, Source::Inventory, GPU_MISSING);
        }
    }
    let nodes = u64::try_from(survey.nodes.len()).unwrap_or(u64::MAX);
    let entries = nodes + survey.nodes_without_gpus + survey.pods + survey.events;
    // ResourceSlices only add to what is known of nodes.
    let is_piece = |kind: &&&str| **kind != SLICES;
    let pieces = u64::try_from(3 - survey.unread.iter().filter(is_piece).count().min(3)).unwrap_or(0);
    gathered.read(KIND, Volume { pieces, bytes: 0, entries, signals, estimated: 0 });
    gathered
}

fn say(gathered: &mut Input, node: u32, at: Timestamp, source: Source, code: &str) -> u64 {
    let (Ok(code), Ok(detail)) = (Code::parse(code), Detail::parse("")) else { return 0 };
    gathered.note_entry(node, at);
    gathered.signal(node, at, &Signal { source, code, place: Place::Node, detail }, 1);
    1
}

/// Whether it offers fewer GPUs than it should have. One that offers none at all may have no device plugin yet.
fn is_short(node: &ScannedNode) -> bool {
    node.offered.is_some_and(|offered| offered < node.gpus)
}

/// The current state, for the report.
pub(super) fn told(survey: &Scan) -> ClusterSection {
    let mut suspects: Vec<SuspectLine> = survey.nodes.iter().filter_map(|(name, node)| suspect(name, node)).collect();
    let weight = |line: &SuspectLine| {
        let hard = line.not_ready_since.is_some() || line.gpus_offered.is_some_and(|offered| offered < line.gpus);
        (hard, line.conditions.len(), line.kept_away_by.is_some(), line.pods_failed + line.restarts)
    };
    suspects.sort_by_key(|line| std::cmp::Reverse(weight(line)));
    suspects.truncate(NODES_MAX);
    let mut cannot_show = vec![
        "No kernel log: XIDs, PCIe errors and link flaps are missing unless another agent set a condition.",
        "Conditions and cordons are current values; earlier ones are not included.",
        "Most clusters keep events for one hour, and failed pods until garbage collection.",
    ];
    if survey.unread.contains(&"pods") {
        cannot_show.push("No permission to list pods: failed pods are not included.");
    }
    if survey.unread.contains(&"events") {
        cannot_show.push("No permission to list events: reboots are not included.");
    }
    if survey.unread.contains(&SLICES) {
        cannot_show.push("No permission to list resourceslices: GPUs that nodes offer by DRA are not included.");
    }
    ClusterSection {
        at: written(survey.at),
        nodes: u64::try_from(survey.nodes.len()).unwrap_or(u64::MAX),
        nodes_without_gpus: survey.nodes_without_gpus,
        pods: survey.pods,
        events: survey.events,
        unread: survey.unread.clone(),
        suspects,
        cannot_show,
        now: survey.at,
    }
}

fn suspect(name: &NodeName, node: &ScannedNode) -> Option<SuspectLine> {
    let line = SuspectLine {
        node: name.to_string(),
        gpus: node.gpus,
        gpus_offered: node.offered,
        not_ready_since: node.not_ready_since.map(|at| at.0),
        kept_away_by: node.kept_away.clone(),
        remediator: node.remediator,
        conditions: node
            .complaints
            .iter()
            .map(|one| Condition { condition: one.code.to_string(), since: one.since.0 })
            .collect(),
        pods_failed: node.failed,
        pods_evicted: node.evicted,
        restarts: node.restarts,
        boots: u64::try_from(node.boots.len()).unwrap_or(u64::MAX),
        warnings: node.warnings.clone(),
    };
    let speaks = is_short(node)
        || node.not_ready_since.is_some()
        || node.kept_away.is_some()
        || node.remediator.is_some()
        || !node.complaints.is_empty()
        || node.failed + node.restarts > 0
        || !node.boots.is_empty();
    speaks.then_some(line)
}

/// The current state as text.
pub(super) fn text(seen: &ClusterSection, rows: usize) -> String {
    let nodes = counted(seen.nodes, "node with GPUs", "nodes with GPUs");
    let all = u64::try_from(seen.suspects.len()).unwrap_or(u64::MAX);
    let mut text = if seen.suspects.is_empty() {
        format!("Cluster now: {nodes}, no problems found.\n")
    } else {
        format!("Cluster now: {nodes}, {} with problems\n", thousands(all))
    };
    let mut table = Table::new(&[("", Align::Left), ("GPUs", Align::Right), ("", Align::Left)]);
    for line in seen.suspects.iter().take(rows) {
        let gpus = match line.gpus_offered {
            Some(offered) if offered < line.gpus => format!("{offered} of {}", line.gpus),
            Some(_) | None => line.gpus.to_string(),
        };
        table.row([line.node.clone(), gpus, against(line, seen.now).join("; ")]);
    }
    if !seen.suspects.is_empty() {
        text.extend(table.text().lines().skip(1).map(|line| cut(line, COLUMNS) + "\n"));
    }
    if seen.suspects.len() > rows {
        let more = u64::try_from(seen.suspects.len() - rows).unwrap_or(u64::MAX);
        text.push_str(&format!("  {} more: use -o json\n", thousands(more)));
    }
    for one in &seen.cannot_show {
        text.push_str(&wrapped(&format!("  - {one}"), COLUMNS - 4, "    ").replacen('-', "  -", 1));
    }
    text
}

/// Problems of a node, the worst first.
pub(super) fn against(line: &SuspectLine, now: Timestamp) -> Vec<String> {
    let ago = |at: i64| duration(now.since(Timestamp(at)).0 / 1_000);
    let mut said = Vec::new();
    if let Some(missing) = line.gpus_offered.and_then(|offered| line.gpus.checked_sub(offered)).filter(|n| *n > 0) {
        said.push(counted(missing.into(), "GPU not allocatable", "GPUs not allocatable"));
    }
    said.extend(line.not_ready_since.map(|at| format!("not ready for {}", ago(at))));
    said.extend(line.conditions.iter().map(|one| format!("{} for {}", one.condition, ago(one.since))));
    said.extend(line.kept_away_by.as_ref().map(|by| format!("cordoned by {by}")));
    said.extend(line.remediator.map(|who| format!("under repair by {who}")));
    if line.boots > 0 {
        said.push(counted(line.boots, "reboot", "reboots"));
    }
    if line.pods_failed > 0 {
        let evicted = if line.pods_evicted == 0 { String::new() } else { format!(", {} evicted", line.pods_evicted) };
        said.push(format!("{} failed{evicted}", counted(line.pods_failed, "pod", "pods")));
    }
    if line.restarts > 0 {
        said.push(counted(line.restarts, "restart", "restarts"));
    }
    said
}
