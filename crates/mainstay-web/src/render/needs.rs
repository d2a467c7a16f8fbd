//! What needs an operator: the one definition, for the command line and for the web UI, on a cluster and in the demo.
//!
//! It counts: a missing installation, Cell or leader; a decision that breaks an invariant; an open circuit breaker; every
//! incident that is not acknowledged, in every mode; waits that only an operator ends; missing agents; a second
//! remediator. It does not count waits for a higher mode: the mode is a setting.

use std::collections::BTreeMap;
use std::sync::Arc;

use mainstay_api::http::{IncidentDetail, IncidentState, Need, NeedKind};
use mainstay_engine::{Agents, Engine};
use mainstay_model::{BreakerState, Mode, counted, thousands};
use serde::Serialize;

/// Longest list; further items show once these are done.
const NEEDS_MAX: usize = 16;

/// What is installed in the cluster.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Installation {
    /// No kind of Mainstay is known to the API server.
    Absent,
    /// The definitions are there, and no Cell is.
    WithoutCell,
    /// Everything is there, as far as the caller may read.
    Present,
}

/// The state of the leader's Lease. Scripts read the serialised values in `status -o json`.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Leadership {
    /// A controller holds and renews it.
    #[serde(rename = "Yes")]
    Held,
    /// Its holder stopped renewing it.
    #[serde(rename = "Silent")]
    Expired,
    /// No controller holds it.
    #[serde(rename = "Nobody")]
    Vacant,
    /// The caller may not read it.
    Unknown,
}

/// Id, title and acknowledgement of an open incident.
pub struct OpenIncident {
    /// Id of the incident.
    pub id: String,
    /// Title that users see.
    pub title: String,
    /// Whether an operator acknowledged it.
    pub is_acknowledged: bool,
}

/// Everything that the definition looks at.
pub struct Facts<'a> {
    /// Engine with the state of the fleet.
    pub engine: &'a Engine,
    /// Mode in effect in the cluster.
    pub mode: Mode,
    /// State of the installation.
    pub installation: Installation,
    /// State of the leader's Lease.
    pub leadership: Leadership,
    /// The first invariant that the latest decision breaks.
    pub violation: Option<&'a str>,
    /// Open incidents, the largest first.
    pub open: Vec<OpenIncident>,
    /// State of the agents; none where the caller may not read reports.
    pub agents: Option<Agents>,
    /// Other tools that repair nodes, with the number of nodes of each.
    pub remediators: BTreeMap<String, u32>,
}

/// The open incidents of a snapshot, the largest first.
#[must_use]
pub fn open(details: &[Arc<IncidentDetail>]) -> Vec<OpenIncident> {
    let mut open: Vec<_> =
        details.iter().map(|one| &one.incident).filter(|one| one.state == IncidentState::Open).collect();
    open.sort_by_key(|one| (std::cmp::Reverse(one.gpus), one.opened_at));
    let of = |one: &mainstay_api::http::Incident| OpenIncident {
        id: one.id.clone(),
        title: one.title.clone(),
        is_acknowledged: one.acknowledged_by.is_some(),
    };
    open.into_iter().map(of).collect()
}

/// Everything that needs an operator, the most pressing first.
#[must_use]
pub fn needs(facts: &Facts<'_>) -> Vec<Need> {
    let doctor = |kind: NeedKind, what: &str| need(kind, what, "mainstay doctor", None);
    match facts.installation {
        Installation::Absent => {
            return vec![doctor(NeedKind::Installation, "Mainstay is not installed: only the state of nodes is shown")];
        }
        Installation::WithoutCell | Installation::Present => {}
    }
    let mut needs = Vec::new();
    if facts.installation == Installation::WithoutCell {
        needs.push(doctor(NeedKind::Installation, "No Cell exists, so no controller can lead"));
    }
    match facts.leadership {
        Leadership::Expired => {
            let what = "The leader stopped renewing its Lease, and no other controller took over";
            needs.push(doctor(NeedKind::Leader, what));
        }
        Leadership::Vacant => needs.push(doctor(NeedKind::Leader, "No controller leads: no new status is written")),
        Leadership::Held | Leadership::Unknown => {}
    }
    needs.extend(facts.violation.map(|violation| {
        let what = format!("A decision breaks an invariant and is not executed: {violation}");
        need(NeedKind::Invariant, &what, "mainstay plan -o json", None)
    }));
    let stopped = facts.engine.breakers().into_iter().filter(|line| line.state == BreakerState::Open);
    needs.extend(stopped.map(|line| {
        let waiting = counted(line.waiting.into(), "node waits", "nodes wait");
        let what = format!("Circuit breaker open: rule {} in pool {}, {waiting}", line.rule, line.pool);
        need(NeedKind::Breaker, &what, "mainstay breaker", None)
    }));
    needs.extend(facts.open.iter().filter(|one| !one.is_acknowledged).map(|one| {
        let what = format!("{}: not acknowledged", one.title);
        need(NeedKind::Incident, &what, &format!("mainstay why incident {}", one.id), Some(&one.id))
    }));
    needs.extend(facts.engine.standing().filter(|line| line.waiting_on.needs_operator()).map(|line| {
        let what = format!("{} waits for {}", line.node, line.waiting_on.noun());
        let command = format!("mainstay why node {}", line.node);
        need(NeedKind::Node, &what, &command, Some(line.node.as_str()))
    }));
    needs.extend(facts.agents.filter(|agents| agents.missing > 0).map(|agents| {
        let [missing, all] = [agents.missing, agents.all()].map(|count| thousands(count.into()));
        let what = format!("{missing} of {all} agents do not report: faults of these nodes are not detected");
        need(NeedKind::Agents, &what, "mainstay node list -o wide", None)
    }));
    needs.extend(facts.agents.filter(|agents| agents.without_gpus > 0).map(|agents| {
        let [blind, all] = [agents.without_gpus, agents.all()].map(|count| thousands(count.into()));
        let what = format!("{blind} of {all} agents cannot read GPUs: faults of these GPUs are not detected");
        need(NeedKind::Agents, &what, "kubectl get nodereports -o yaml | grep gpusUnavailable", None)
    }));
    needs.extend(facts.remediators.iter().filter(|_| facts.mode > Mode::Observe).map(|(who, nodes)| {
        let on = counted((*nodes).into(), "node", "nodes");
        let what = format!("{who} also repairs {on}: disable one of the two");
        need(NeedKind::Remediator, &what, "mainstay node list -o wide", None)
    }));
    needs.truncate(NEEDS_MAX);
    needs
}

fn need(kind: NeedKind, what: &str, command: &str, subject: Option<&str>) -> Need {
    Need { kind, what: what.to_owned(), command: command.to_owned(), subject: subject.map(ToOwned::to_owned) }
}

#[cfg(test)]
mod tests;
