//! Incidents: the stored objects merged with what the engine finds now. An incident that no leader has stored yet is
//! the engine's alone.

use std::collections::BTreeMap;

use mainstay_api::{Acknowledgement, Incident as Stored, IncidentStatus};
use mainstay_engine::Fault;
use mainstay_kube::View;
use mainstay_model::{NodeName, RuleName, Subject, Timestamp};

/// One incident: its stored object merged with the engine's current findings.
pub(super) struct IncidentView<'a> {
    /// Its name, as in `kubectl get incidents`.
    pub(super) name: String,
    pub(super) subject: Subject,
    pub(super) rule: RuleName,
    pub(super) opened_at: Timestamp,
    pub(super) closed_at: Option<Timestamp>,
    /// Nodes that show it now; for a closed incident, nodes that did.
    pub(super) nodes: Vec<NodeName>,
    pub(super) gpus: u32,
    pub(super) lost_gpu_seconds: u64,
    /// None where no leader has stored it yet.
    pub(super) status: Option<&'a IncidentStatus>,
    pub(super) acknowledged: Option<&'a Acknowledgement>,
}

/// Every incident: open ones first, the largest of them first.
pub(super) fn all(view: &View) -> Vec<IncidentView<'_>> {
    let mut now: BTreeMap<(Subject, RuleName), mainstay_engine::Incident> =
        view.engine().incidents().into_iter().map(|one| ((one.subject.clone(), one.rule.clone()), one)).collect();
    let mut cases: Vec<IncidentView<'_>> = Vec::new();
    for (name, object) in view.incidents() {
        let Some((status, subject)) = known(object) else { continue };
        let is_open = status.closed_at.is_none();
        let said = if is_open { now.remove(&(subject.clone(), status.rule.clone())) } else { None };
        let nodes = said.map_or_else(|| status.nodes.as_slice().to_vec(), |said| said.nodes);
        cases.push(IncidentView {
            name: name.to_owned(),
            gpus: gpus(view, &nodes),
            subject,
            rule: status.rule.clone(),
            opened_at: status.opened_at.into(),
            closed_at: status.closed_at.map(Into::into),
            nodes,
            lost_gpu_seconds: u64::try_from(status.lost_gpu_seconds).unwrap_or(0),
            status: Some(status),
            acknowledged: object.spec.acknowledgement.as_ref(),
        });
    }
    cases.extend(now.into_values().map(|one| IncidentView {
        name: mainstay_kube::incident_name(&one),
        gpus: gpus(view, &one.nodes),
        subject: one.subject,
        rule: one.rule,
        opened_at: one.since,
        closed_at: None,
        nodes: one.nodes,
        lost_gpu_seconds: 0,
        status: None,
        acknowledged: None,
    }));
    let weight = |case: &IncidentView<'_>| {
        (case.closed_at.map(|at| std::cmp::Reverse(at.0)), std::cmp::Reverse(case.gpus), case.opened_at)
    };
    cases.sort_by_key(|case| (case.closed_at.is_some(), weight(case)));
    cases
}

/// Incidents that are not closed.
pub(super) fn open(view: &View) -> Vec<IncidentView<'_>> {
    all(view).into_iter().filter(|case| case.closed_at.is_none()).collect()
}

fn known(object: &Stored) -> Option<(&IncidentStatus, Subject)> {
    let status = object.status.as_ref()?;
    Some((status, Subject::try_from(&status.subject).ok()?))
}

fn gpus(view: &View, nodes: &[NodeName]) -> u32 {
    let facts = nodes.iter().filter_map(|node| view.nodes().get(node)?.facts.as_ref());
    facts.map(|facts| u32::from(facts.gpus)).sum()
}

impl IncidentView<'_> {
    /// Part and fault in one line. The evidence of a closed incident is gone, so its stored line is used.
    pub(super) fn title(&self, view: &View) -> String {
        match (self.closed_at, self.status) {
            (Some(_), Some(status)) => status.summary.to_string(),
            (Some(_) | None, Some(_) | None) => self.fault(view).title,
        }
    }

    /// The fault behind it.
    pub(super) fn fault(&self, view: &View) -> Fault {
        view.engine().fault(&self.subject, &self.rule, &self.nodes)
    }

    /// Whether several nodes share the cause: the repair of one node does not end it.
    pub(super) const fn is_shared(&self) -> bool {
        match self.subject {
            Subject::Domain { .. } | Subject::Driver(_) => true,
            Subject::Node(_) | Subject::Part { .. } => false,
        }
    }
}
