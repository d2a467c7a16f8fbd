//! What a node went through, kept and weighed. Nothing is decided by it here, so it is weighed when somebody asks.

use mainstay_health::{self as health, Risk, RiskInput};
use mainstay_model::{NodeIndex, NodeName, PastIncident, RuleName, Serial, Stage, Timestamp};

use crate::Engine;
use crate::cause::REQUEST;
use crate::switch::Switch;

impl Engine {
    /// How likely the node is to fail again, as of the last decision; none where it is not registered.
    #[must_use]
    pub fn risk(&self, node: &NodeName) -> Option<Risk> {
        let node = self.names.get(node).map(|index| self.node(*index)).filter(|node| node.facts.is_some())?;
        let parts = self.own_parts(node);
        let past = RiskInput {
            incidents: node.persisted.incidents.as_slice(),
            arrivals: node.persisted.arrivals.as_slice(),
            parts: parts.as_deref(),
        };
        Some(health::risk(&past, self.decided_at.unwrap_or_default()))
    }

    /// A node goes into repair: what it was taken out for is an incident, once a round. A test that passes first leads
    /// back into service and never here; what a person asked for, and what others are blamed for, is none.
    pub(crate) fn keep_incident(&mut self, index: NodeIndex) {
        if !self.switches.is_on(Switch::Incidents) {
            return;
        }
        let node = self.node(index);
        let history = node.persisted.history.as_slice();
        let taken_out = history.iter().rev().find(|transition| transition.to == Stage::Quarantined);
        let (Some(taken_out), Some(cause)) = (taken_out, node.persisted.cause.as_ref()) else { return };
        let is_known = node.persisted.incidents.as_slice().iter().any(|known| known.at == taken_out.at);
        if is_known || taken_out.rule == REQUEST || self.blamed_for(node, &taken_out.rule).is_some() {
            return;
        }
        let board = node.heard.as_ref().map(|heard| &heard.inventory.board);
        let serial = cause.device.as_ref().or(board).cloned();
        let incident = PastIncident { serial, rule: taken_out.rule.clone(), at: taken_out.at };
        self.node_mut(index).persisted.incidents.push_forgetting_oldest(incident);
    }

    /// A rule would have taken the node out, and nothing was done: without this, nobody who only observes would ever see a
    /// lemon. Where it is carried out after all, what becomes of it counts in its place.
    pub(crate) fn keep_incident_on_paper(
        &mut self,
        index: NodeIndex,
        rule: RuleName,
        device: Option<Serial>,
        at: Timestamp,
    ) {
        if !self.switches.is_on(Switch::Incidents) || rule == REQUEST {
            return;
        }
        let node = self.node_mut(index);
        let board = node.heard.as_ref().map(|heard| heard.inventory.board.clone());
        let incident = PastIncident { serial: device.or(board), rule, at };
        node.persisted.incidents.push_forgetting_oldest(incident);
    }
}
