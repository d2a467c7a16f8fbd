//! Builds the API's incident detail, with text and costs, for a snapshot.

use std::collections::BTreeMap;

use mainstay_api::http::{Incident, IncidentDetail, IncidentRecord, IncidentState, IncidentSubject, LIMIT_MAX};
use mainstay_model::NodeName;
use mainstay_sim::{GPUS_PER_NODE, Interruption, LiveFleet};
use mainstay_text::{duration, gpu_hours};
use mainstay_web::render::incident::{self, OVER};
use mainstay_web::snapshot::count;

use super::tracked_incident::TrackedIncident;

/// What stopping jobs has cost, by the node that they were stopped because of.
pub(super) struct Costs<'a>(BTreeMap<&'a NodeName, Vec<&'a Interruption>>);

impl<'a> Costs<'a> {
    pub(super) fn of(live: &'a LiveFleet) -> Self {
        let mut costs: BTreeMap<&NodeName, Vec<&Interruption>> = BTreeMap::new();
        for stop in live.jobs().flat_map(|job| job.log().interruptions()) {
            if let Some(view) = stop.node.and_then(|number| live.node_at(number)) {
                costs.entry(view.name).or_default().push(stop);
            }
        }
        Self(costs)
    }

    /// Lost and saved by one incident.
    fn of_case(&self, case: &TrackedIncident) -> (u64, u64) {
        let stops = self.0.iter().filter(|(node, _)| case.nodes.contains(**node)).flat_map(|(_, stops)| stops);
        let ours = stops.filter(|stop| case.covers(stop.at));
        ours.fold((0, 0), |(lost, saved), stop| (lost + stop.lost_gpu_seconds, saved + stop.saved_gpu_seconds))
    }
}

pub(super) fn detail(live: &LiveFleet, case: &TrackedIncident, costs: &Costs<'_>) -> IncidentDetail {
    let (lost_gpu_seconds, saved_gpu_seconds) = costs.of_case(case);
    let is_open = case.closed_at.is_none();
    let nodes = if is_open { case.current.len().max(1) } else { case.nodes.len() };
    let facts = |node: &NodeName| live.node(node).map(|view| (GPUS_PER_NODE, view.facts.ready));
    let shown = Incident {
        id: case.id.clone(),
        title: case.fault.title.clone(),
        explanation: case.fault.explanation.to_owned(),
        runbook: case.fault.runbook.map(str::to_owned),
        subject: IncidentSubject { kind: incident::kind(&case.subject), name: incident::name(&case.subject) },
        rule: case.rule.to_string(),
        state: if is_open { IncidentState::Open } else { IncidentState::Closed },
        opened_at: case.opened_at.0,
        closed_at: case.closed_at.map(|at| at.0),
        nodes: count(nodes),
        gpus: count(nodes).saturating_mul(GPUS_PER_NODE),
        lost_gpu_seconds: Some(lost_gpu_seconds),
        saved_gpu_seconds: Some(saved_gpu_seconds),
        out_of_service_gpu_seconds_per_hour: if is_open {
            incident::rate(live.engine(), &case.current, facts)
        } else {
            0
        },
        doing: if is_open { incident::current_action(live.engine(), &case.current) } else { OVER.to_owned() },
        acknowledged_by: case.acknowledged_by.clone(),
    };
    let (budget, mode) = case.closing.clone().unwrap_or_else(|| (incident::budget(live.engine()), live.mode()));
    let record = IncidentRecord {
        sentence: sentence(case, &shown, (lost_gpu_seconds, saved_gpu_seconds)),
        nodes_list: case.nodes.iter().take(LIMIT_MAX).map(ToString::to_string).collect(),
        timeline: case.events.clone(),
        jobs: case.jobs.iter().cloned().collect(),
        lines: Some(case.lines.clone()),
        budget,
        other_mode: incident::other_mode(mode, &case.events),
    };
    IncidentDetail { incident: shown, record }
}

fn sentence(case: &TrackedIncident, incident: &Incident, costs: (u64, u64)) -> String {
    let cost = match costs {
        (0, 0) if case.closed_at.is_none() => "No work lost so far.".to_owned(),
        (0, 0) => "No work lost.".to_owned(),
        (lost, 0) => format!("{} GPU-hours lost.", gpu_hours(lost)),
        (lost, saved) => {
            format!("{} GPU-hours lost, {} saved by checkpoints on request.", gpu_hours(lost), gpu_hours(saved))
        }
    };
    match case.closed_at {
        Some(closed_at) => {
            let lasted = duration(closed_at.since(case.opened_at).0 / 1_000);
            format!("{}. Closed after {lasted}. {cost}", incident.title)
        }
        None => format!("{}. Now: {}. {cost}", incident.title, incident.doing.trim_end_matches('.')),
    }
}
