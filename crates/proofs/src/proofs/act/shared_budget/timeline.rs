//! Who kept which node out of service, and when, on a real API server: the writes of this proof as they were sent and
//! answered, and those of the controller as the audit log dates them.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use testbed::Cluster;
use testbed::fault_proxy::{SentWrite, Verb};

use super::outage::{Outage, Owner, Tally, exceeds};

/// A watch event is read, and a decision is made and written, within this time on a busy machine. What others did
/// less than this before a write of the controller may have been unknown when it decided.
const VISIBLE_AFTER: SignedDuration = SignedDuration::from_secs(2);
const TAINT: &str = "mainstay.dev/quarantined";
const CONTROLLER: &str = "system:serviceaccount:mainstay-system:mainstay-controller";

/// When a write was sent and answered.
#[derive(Debug, Clone, Copy)]
pub(super) struct WriteTime {
    pub(super) sent: Timestamp,
    pub(super) answered: Timestamp,
}

/// A mark of another actor on a node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    pub(super) owner: Owner,
    pub(super) node: usize,
    pub(super) set: WriteTime,
    pub(super) removed: Option<WriteTime>,
}

/// What happened in one rack: its nodes, its budget, the marks of others, and when an operator removed Mainstay's
/// taint.
#[derive(Debug, Default)]
pub(super) struct RackHistory {
    pub(super) nodes: Vec<String>,
    pub(super) budget: usize,
    pub(super) marks: Vec<Mark>,
    pub(super) untainted: Vec<(usize, WriteTime)>,
}

/// A change of a node by the controller: when, and whether the node has its quarantine taint after it.
#[derive(Debug, Clone, Copy)]
struct NodeChange {
    at: Timestamp,
    is_tainted: bool,
}

/// The writes of the controller in one run: those to nodes with their times, and the waits in the status of nodes.
#[derive(Debug, Default)]
pub(super) struct ControllerWrites {
    nodes: BTreeMap<String, Vec<NodeChange>>,
    /// Waits for a budget, by node.
    refused: BTreeMap<String, u64>,
}

impl Mark {
    /// Whether the controller knew at that time that the node was out of service.
    fn is_known(&self, at: Timestamp) -> bool {
        self.set.answered + VISIBLE_AFTER <= at && self.removed.is_none_or(|removed| at < removed.sent)
    }

    /// Whether it may have thought so.
    fn may_be_known(&self, at: Timestamp) -> bool {
        self.set.sent <= at && self.removed.is_none_or(|removed| at <= removed.answered + VISIBLE_AFTER)
    }
}

impl RackHistory {
    /// Counts what Mainstay took in this rack.
    pub(super) fn tally(&self, writes: &ControllerWrites) -> Tally {
        let mut tally = Tally { schedules: 1, ..Tally::default() };
        let mut taken: Vec<(Timestamp, usize)> = Vec::new();
        for (node, name) in self.nodes.iter().enumerate() {
            tally.refused += writes.refused.get(name).copied().unwrap_or(0);
            for change in writes.of(name).iter().filter(|change| change.is_tainted) {
                if !self.is_ours(node, change.at, writes) {
                    taken.push((change.at, node));
                }
            }
        }
        for (at, node) in taken {
            let outages: Vec<Outage> = (0..self.nodes.len()).map(|one| self.outage(one, node, at, writes)).collect();
            let count = if outages[node].by_others { &mut tally.taken_over } else { &mut tally.taken };
            *count += 1;
            tally.violations += u64::from(exceeds(&outages, node, self.budget));
        }
        tally
    }

    /// Whether a node was out of service when another one was taken. In doubt it was not, except for the one that was
    /// taken.
    fn outage(&self, node: usize, taken: usize, at: Timestamp, writes: &ControllerWrites) -> Outage {
        let mut marks = self.marks.iter().filter(|mark| mark.node == node);
        let by_others = marks.any(|mark| if node == taken { mark.may_be_known(at) } else { mark.is_known(at) });
        Outage { rack: 0, by_others, by_mainstay: self.is_ours(node, at, writes) }
    }

    /// Whether Mainstay's taint was on a node just before this time.
    fn is_ours(&self, node: usize, at: Timestamp, writes: &ControllerWrites) -> bool {
        let before = writes.of(&self.nodes[node]).iter().rfind(|change| change.at < at);
        let Some(last) = before.filter(|change| change.is_tainted) else { return false };
        !self.untainted.iter().any(|(one, time)| *one == node && last.at < time.answered && time.sent < at)
    }
}

impl ControllerWrites {
    /// Dates the writes that a proxy saw by the audit log. Each node gets one patch at a time, so both have them in
    /// the same order.
    pub(super) fn read(cluster: &Cluster, written: &[SentWrite], since: Timestamp) -> Result<Self> {
        let times = node_patches(cluster, since)?;
        let mut writes = Self::default();
        let mut waits: BTreeMap<String, bool> = BTreeMap::new();
        // The kill of the controller may cut off an answer: the audit log decides whether such a write was carried out.
        let may_be_done = |write: &&SentWrite| write.status.is_none() || write.is_carried_out();
        for write in written.iter().filter(may_be_done).filter(|write| write.call.verb == Verb::Patch) {
            let (name, body) = (&write.call.name, write.json());
            if write.call.place == "nodes" {
                let changes = writes.nodes.entry(name.clone()).or_default();
                match times.get(name).and_then(|times| times.get(changes.len())) {
                    Some(at) => changes.push(NodeChange { at: *at, is_tainted: is_tainted(&body) }),
                    None => ensure!(write.status.is_none(), "a patch of {name} is not in the audit log"),
                }
            } else if let Some(on) = body["status"]["waitingOn"].as_str() {
                let was = waits.insert(name.clone(), on == "Budget");
                if on == "Budget" && was != Some(true) {
                    *writes.refused.entry(name.clone()).or_default() += 1;
                }
            }
        }
        for (name, times) in &times {
            ensure!(writes.of(name).len() == times.len(), "the proxy did not see all patches of {name}");
        }
        Ok(writes)
    }

    fn of(&self, node: &str) -> &[NodeChange] {
        self.nodes.get(node).map_or(&[], Vec::as_slice)
    }
}

/// When the API server received the patches of nodes that it carried out for the controller.
fn node_patches(cluster: &Cluster, since: Timestamp) -> Result<BTreeMap<String, Vec<Timestamp>>> {
    let mut times: BTreeMap<String, Vec<Timestamp>> = BTreeMap::new();
    for event in cluster.audit_events()? {
        let event = event?;
        let object = &event["objectRef"];
        let is_patch = event["user"]["username"] == CONTROLLER && event["verb"] == "patch";
        let is_node = object["resource"] == "nodes" && object["subresource"].is_null();
        if !is_patch || !is_node || event["responseStatus"]["code"] != 200 {
            continue;
        }
        let at: Timestamp = event["requestReceivedTimestamp"].as_str().context("an event without a time")?.parse()?;
        if at >= since {
            let name = object["name"].as_str().unwrap_or_default().to_owned();
            times.entry(name).or_default().push(at);
        }
    }
    times.values_mut().for_each(|times| times.sort_unstable());
    Ok(times)
}

/// Whether a node has the quarantine taint after this JSON patch.
fn is_tainted(patch: &Value) -> bool {
    let operations = patch.as_array().into_iter().flatten();
    let taints = operations.filter(|one| one["path"] == "/spec/taints").filter_map(|one| one["value"].as_array());
    taints.flatten().any(|taint| taint["key"] == TAINT)
}
