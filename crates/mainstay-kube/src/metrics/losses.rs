//! Lists of limited length whose overflow is counted.

use std::collections::BTreeMap;

use mainstay_engine::Losses;
use mainstay_telemetry::metrics::{Samples, catalogue};

/// A list of limited length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum List {
    /// Checkpoint requests to gangs that are not known yet.
    CheckpointRequests,
    /// Open orders of a node.
    Orders,
    /// Kinds of evidence that a node's status counts.
    Evidence,
    /// Findings on a node.
    Findings,
    /// Nodes of a gang.
    GangNodes,
    /// Nodes of an incident.
    IncidentNodes,
    /// Evidence of an incident.
    IncidentEvidence,
    /// Dry-run decisions of an incident.
    IncidentActions,
    /// Writes that wait for their turn.
    Writes,
}

impl List {
    const ALL: [Self; 9] = [
        Self::CheckpointRequests,
        Self::Orders,
        Self::Evidence,
        Self::Findings,
        Self::GangNodes,
        Self::IncidentNodes,
        Self::IncidentEvidence,
        Self::IncidentActions,
        Self::Writes,
    ];

    const fn word(self) -> &'static str {
        match self {
            Self::CheckpointRequests => "checkpoint-requests",
            Self::Orders => "orders",
            Self::Evidence => "evidence",
            Self::Findings => "findings",
            Self::GangNodes => "gang-nodes",
            Self::IncidentNodes => "incident-nodes",
            Self::IncidentEvidence => "incident-evidence",
            Self::IncidentActions => "incident-actions",
            Self::Writes => "writes",
        }
    }
}

/// Items without room so far, by list.
#[derive(Debug, Default)]
pub(super) struct LostItems(BTreeMap<List, u64>);

impl LostItems {
    pub(super) fn add(&mut self, list: List, items: u64) {
        *self.0.entry(list).or_default() += items;
    }

    pub(super) fn add_all(&mut self, losses: Losses) {
        let Losses { checkpoint_requests, orders, evidence, findings } = losses;
        self.add(List::CheckpointRequests, checkpoint_requests);
        self.add(List::Orders, orders);
        self.add(List::Evidence, evidence);
        self.add(List::Findings, findings);
    }

    /// Every list has a series from the start, so that `increase()` includes the first loss.
    pub(super) fn export(&self, samples: &mut Samples) {
        for list in List::ALL {
            samples.count(catalogue::LIST_ITEMS_LOST, [list.word()], self.0.get(&list).copied().unwrap_or(0));
        }
    }
}
