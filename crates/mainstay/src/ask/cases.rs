//! Incidents: what is stored of them, beside what the brain says now. Where nothing is stored, because nobody leads or it has
//! just begun, the brain's word stands alone.

use std::collections::BTreeMap;

use mainstay_api::{Acknowledgement, Incident as Stored, IncidentStatus};
use mainstay_kube::View;
use mainstay_model::{NodeName, Part, RuleName, Serial, Subject, Timestamp};

/// One incident.
pub(super) struct Case<'a> {
    /// As `kubectl get incidents` calls it.
    pub(super) name: String,
    pub(super) subject: Subject,
    pub(super) rule: RuleName,
    pub(super) opened_at: Timestamp,
    pub(super) closed_at: Option<Timestamp>,
    /// Those that show it now; where it is over, those that did.
    pub(super) nodes: Vec<NodeName>,
    pub(super) gpus: u32,
    pub(super) lost_gpu_seconds: u64,
    /// None where nothing is stored of it yet.
    pub(super) status: Option<&'a IncidentStatus>,
    pub(super) acknowledged: Option<&'a Acknowledgement>,
}

/// Every incident: open ones first, and of those the one that concerns most.
pub(super) fn all(view: &View) -> Vec<Case<'_>> {
    let mut now: BTreeMap<(Subject, RuleName), mainstay_engine::Incident> =
        view.engine().incidents().into_iter().map(|one| ((one.subject.clone(), one.rule.clone()), one)).collect();
    let mut cases: Vec<Case<'_>> = Vec::new();
    for (name, object) in view.incidents() {
        let Some((status, subject)) = known(object) else { continue };
        let is_open = status.closed_at.is_none();
        let said = if is_open { now.remove(&(subject.clone(), status.rule.clone())) } else { None };
        let nodes = said.map_or_else(|| status.nodes.as_slice().to_vec(), |said| said.nodes);
        cases.push(Case {
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
    cases.extend(now.into_values().map(|one| Case {
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
    let weight = |case: &Case<'_>| {
        (case.closed_at.map(|at| std::cmp::Reverse(at.0)), std::cmp::Reverse(case.gpus), case.opened_at)
    };
    cases.sort_by_key(|case| (case.closed_at.is_some(), weight(case)));
    cases
}

/// Those that are not over.
pub(super) fn open(view: &View) -> Vec<Case<'_>> {
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

impl Case<'_> {
    /// Whom it blames, as people find it: a GPU by its place.
    pub(super) fn blamed(&self, view: &View) -> String {
        match &self.subject {
            Subject::Part { part, serial } => {
                let on = self.nodes.first().map_or_else(String::new, |node| format!(" of {node}"));
                format!("{}{on}", part_named(view, self.nodes.first(), *part, serial))
            }
            Subject::Node(node) => node.to_string(),
            subject @ (Subject::Domain { .. } | Subject::Driver(_)) => subject.to_string(),
        }
    }

    /// Whether more than one node is blamed at once: mending it is nothing that a node's repair does.
    pub(super) const fn is_shared(&self) -> bool {
        match self.subject {
            Subject::Domain { .. } | Subject::Driver(_) => true,
            Subject::Node(_) | Subject::Part { .. } => false,
        }
    }
}

fn part_named(view: &View, node: Option<&NodeName>, part: Part, serial: &Serial) -> String {
    let report = node.and_then(|node| view.nodes().get(node)?.report.as_ref());
    let gpus = report.map_or(&[][..], |report| report.inventory.gpus.as_slice());
    match (part, gpus.iter().find(|gpu| gpu.serial == *serial)) {
        (Part::Gpu, Some(gpu)) => format!("GPU {}", gpu.index),
        (Part::Gpu, None) => format!("GPU {serial}"),
        (Part::Board, _) => format!("Board {serial}"),
        (Part::Nic, _) => format!("NIC {serial}"),
    }
}
