//! The highest epoch outside etcd, which agents report. After a restore of etcd the Cell may be older than the last
//! leader, and a new pod has no audit log that knows better; the agents have the epochs in their state files.

use std::collections::BTreeMap;

use mainstay_api::NodeReportSpec;
use mainstay_model::{CellFacts, Epoch, Fact, NodeName, NodeUid, Timestamp};

use super::{Role, World};

/// Nodes that must name an epoch above the Cell's. One node may lie, or have a damaged state file.
const REPORTS_MIN: usize = 2;
/// Below this number of nodes one is enough: a second reporter may not exist. A lie costs no more than the actions of a cell
/// of two nodes, because a restored Cell means Observe.
const NODES_FOR_TWO: usize = 3;

/// Epochs above ours that the reports of agents name, by node, with the registration that the report is of.
#[derive(Debug, Default)]
pub(super) struct ReportedEpochs(BTreeMap<NodeName, (NodeUid, Epoch)>);

impl ReportedEpochs {
    pub(super) fn forget(&mut self, node: &NodeName) {
        self.0.remove(node);
    }
}

impl World {
    /// Keeps the highest epoch that a valid report names, if it is above ours.
    pub(super) fn keep_reported_epoch(&mut self, node: &NodeName, spec: Option<&NodeReportSpec>) {
        let own = match self.role {
            Role::Viewer => return,
            Role::Leader(epoch) => epoch,
        };
        let named = spec.and_then(|spec| Some((spec, u64::try_from(spec.highest_epoch?).ok()?)));
        match named.filter(|(_, epoch)| Epoch(*epoch) > own) {
            Some((spec, epoch)) => {
                self.reported_epochs.0.insert(node.clone(), (spec.node_uid.clone(), Epoch(epoch)));
            }
            None => self.reported_epochs.forget(node),
        }
    }

    /// The highest epoch above ours that enough registered nodes name, or a higher one.
    pub(crate) fn reported_epoch(&self) -> Option<Epoch> {
        let registered = |node: &NodeName, uid: &NodeUid| self.uid_of(node) == Some(uid);
        let named = self.reported_epochs.0.iter().filter(|(node, (uid, _))| registered(node, uid));
        let mut epochs: Vec<Epoch> = named.map(|(_, (_, epoch))| *epoch).collect();
        epochs.sort_unstable();
        let needed = if self.nodes.len() < NODES_FOR_TWO { 1 } else { REPORTS_MIN };
        epochs.iter().rev().nth(needed - 1).copied()
    }

    /// Reports the Cell to the engine once more, after the engine was shown a higher epoch.
    pub(crate) fn repeat_cell(&mut self, now: Timestamp) {
        let facts = self.cell.as_ref().and_then(|cell| cell.facts(now).ok());
        if let (Some(facts), Role::Leader(epoch)) = (facts, self.role) {
            let mode = self.capability.in_effect(facts.mode);
            self.tell(now, Fact::Cell(CellFacts { epoch, mode, ..facts }));
        }
    }
}
