//! Incidents of a cluster, drawn: those that are stored, and those that the brain finds and nobody has stored yet.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mainstay_api::IncidentStatus;
use mainstay_api::http::{
    Incident as Line, IncidentDetail, IncidentEvent, IncidentEventKind, IncidentRecord, IncidentState, IncidentSubject,
    LIMIT_MAX,
};
use mainstay_engine::why::source_word;
use mainstay_kube::View;
use mainstay_model::{Mode, NodeName, RuleName, Span, Subject, Timestamp};
use mainstay_text::{counted, duration};
use mainstay_web::render::incident::{self, OVER};
use mainstay_web::snapshot::count;

use super::jobs::Gangs;

/// Incidents that are drawn: a quarter of a year of a fleet that has ten a day.
const INCIDENTS_MAX: usize = 1_024;
/// Nodes whose own changes are told; of more the first say what the others would.
const NODES_TOLD: usize = 8;
/// Events of one incident; of a larger one the latest tell the story.
const EVENTS_MAX: usize = 200;
/// Jobs that are named.
const JOBS_MAX: usize = 64;
/// What happened on a node so long before an incident belongs to it: evidence comes before the finding.
const BEFORE: Span = Span::minutes(5);

const NOT_KEPT: &str = "Not stored for a closed incident.";

/// Incidents as they were drawn last.
#[derive(Default)]
pub(super) struct Incidents {
    /// With the version that each was drawn from; none where it is drawn anew each time, because it goes on.
    drawn: BTreeMap<String, (Option<String>, Arc<IncidentDetail>)>,
    /// The open incident of each node.
    on: BTreeMap<NodeName, String>,
}

/// One incident, stored in the cluster or found by the engine only.
struct IncidentFacts<'a> {
    id: String,
    subject: Subject,
    rule: RuleName,
    opened_at: Timestamp,
    closed_at: Option<Timestamp>,
    /// Nodes that show it now; those that did, where it is over.
    nodes: Vec<NodeName>,
    /// Whether the brain finds it now.
    is_found: bool,
    status: Option<&'a IncidentStatus>,
    acknowledged_by: Option<String>,
}

impl Incidents {
    /// All of them, the newest first.
    pub(super) fn draw(&mut self, view: &View, gangs: &Gangs<'_>, mode: Mode) -> Vec<Arc<IncidentDetail>> {
        let mut found: BTreeMap<(Subject, RuleName), mainstay_engine::Incident> = view
            .engine()
            .incidents()
            .into_iter()
            .map(|incident| ((incident.subject.clone(), incident.rule.clone()), incident))
            .collect();
        let mut drawn = BTreeMap::new();
        self.on.clear();
        for (name, stored) in newest(view) {
            let Some(status) = &stored.status else { continue };
            let Ok(subject) = Subject::try_from(&status.subject) else { continue };
            let version = status.closed_at.and(stored.metadata.resource_version.clone());
            if let Some(known) = self.drawn.get(name).filter(|(known, _)| version.is_some() && *known == version) {
                drawn.insert(name.to_owned(), known.clone());
                continue;
            }
            let now = match status.closed_at {
                None => found.remove(&(subject.clone(), status.rule.clone())),
                Some(_) => None,
            };
            let is_found = now.is_some();
            let case = IncidentFacts {
                id: name.to_owned(),
                subject,
                rule: status.rule.clone(),
                opened_at: status.opened_at.into(),
                closed_at: status.closed_at.map(Into::into),
                nodes: now.map_or_else(|| status.nodes.as_slice().to_vec(), |now| now.nodes),
                is_found,
                status: Some(status),
                acknowledged_by: stored.spec.acknowledgement.as_ref().map(|known| known.by.to_string()),
            };
            self.add(&mut drawn, version, &case, detail(view, gangs, mode, &case));
        }
        for ((subject, rule), now) in found.into_iter().take(INCIDENTS_MAX) {
            let id = mainstay_kube::incident_name(&now);
            let (opened_at, nodes) = (now.since, now.nodes);
            let case = IncidentFacts {
                id,
                subject,
                rule,
                opened_at,
                closed_at: None,
                nodes,
                is_found: true,
                status: None,
                acknowledged_by: None,
            };
            self.add(&mut drawn, None, &case, detail(view, gangs, mode, &case));
        }
        self.drawn = drawn;
        let mut all: Vec<Arc<IncidentDetail>> = self.drawn.values().map(|(_, detail)| detail.clone()).collect();
        all.sort_by(|a, b| (b.incident.opened_at, &a.incident.id).cmp(&(a.incident.opened_at, &b.incident.id)));
        all
    }

    fn add(
        &mut self,
        drawn: &mut BTreeMap<String, (Option<String>, Arc<IncidentDetail>)>,
        version: Option<String>,
        case: &IncidentFacts<'_>,
        detail: IncidentDetail,
    ) {
        if case.closed_at.is_none() {
            self.on.extend(case.nodes.iter().map(|node| (node.clone(), case.id.clone())));
        }
        let known = self.drawn.get(&case.id).map(|(_, known)| known).filter(|known| ***known == detail);
        let detail = known.cloned().unwrap_or_else(|| Arc::new(detail));
        drawn.insert(case.id.clone(), (version, detail));
    }

    /// The open incident of each node.
    pub(super) const fn open_on(&self) -> &BTreeMap<NodeName, String> {
        &self.on
    }
}

/// All data about one incident, as the web UI shows it.
pub(crate) fn incident(view: &View, id: &str) -> Option<Arc<IncidentDetail>> {
    let mode = view.mode_in_effect().unwrap_or_default();
    Incidents::default().draw(view, &Gangs::of(view), mode).into_iter().find(|detail| detail.incident.id == id)
}

/// Stored incidents: those that go on, and the latest of the others.
fn newest(view: &View) -> Vec<(&str, &mainstay_api::Incident)> {
    let mut all: Vec<(&str, &mainstay_api::Incident)> = view.incidents().collect();
    let key = |stored: &mainstay_api::Incident| {
        let status = stored.status.as_ref();
        let is_over = status.is_none_or(|status| status.closed_at.is_some());
        (is_over, std::cmp::Reverse(status.map(|status| Timestamp::from(status.opened_at))))
    };
    if all.len() > INCIDENTS_MAX {
        all.sort_by_key(|(_, stored)| key(stored));
        all.truncate(INCIDENTS_MAX);
    }
    all
}

fn detail(view: &View, gangs: &Gangs<'_>, mode: Mode, case: &IncidentFacts<'_>) -> IncidentDetail {
    let engine = view.engine();
    let is_open = case.closed_at.is_none();
    let facts = |node: &NodeName| view.nodes().get(node).and_then(|seen| seen.facts.as_ref());
    let fault = engine.fault(&case.subject, &case.rule, &case.nodes);
    // The evidence of a closed incident is gone, so its stored line is used.
    let title = case.status.filter(|_| !is_open).map_or(fault.title, |status| status.summary.to_string());
    let doing = match (is_open, case.is_found) {
        (true, true) => incident::current_action(engine, &case.nodes),
        (true, false) => "No node shows the fault any more. The incident is about to be closed.".to_owned(),
        (false, _) => OVER.to_owned(),
    };
    let counted_loss =
        case.status.and_then(|status| u64::try_from(status.lost_gpu_seconds).ok()).filter(|lost| *lost > 0);
    let line = Line {
        id: case.id.clone(),
        title,
        explanation: fault.explanation.to_owned(),
        runbook: fault.runbook.map(str::to_owned),
        subject: IncidentSubject { kind: incident::kind(&case.subject), name: incident::name(&case.subject) },
        rule: case.rule.to_string(),
        state: if is_open { IncidentState::Open } else { IncidentState::Closed },
        opened_at: case.opened_at.0,
        closed_at: case.closed_at.map(|at| at.0),
        nodes: count(case.nodes.len()),
        gpus: case.nodes.iter().filter_map(facts).map(|facts| u32::from(facts.gpus)).sum(),
        lost_gpu_seconds: counted_loss,
        saved_gpu_seconds: None,
        out_of_service_gpu_seconds_per_hour: if is_open {
            incident::rate(engine, &case.nodes, |node| facts(node).map(|facts| (facts.gpus.into(), facts.ready)))
        } else {
            0
        },
        doing,
        acknowledged_by: case.acknowledged_by.clone(),
    };
    let timeline = timeline(view, case);
    let jobs: BTreeSet<String> =
        case.nodes.iter().filter(|_| is_open).filter_map(|node| gangs.id(gangs.on(node)?)).take(JOBS_MAX).collect();
    let record = IncidentRecord {
        sentence: sentence(case, &line),
        nodes_list: case.nodes.iter().take(LIMIT_MAX).map(ToString::to_string).collect(),
        other_mode: if is_open { incident::other_mode(mode, &timeline) } else { NOT_KEPT.to_owned() },
        timeline,
        jobs: jobs.into_iter().collect(),
        lines: None,
        budget: if is_open { incident::budget(engine) } else { NOT_KEPT.to_owned() },
    };
    IncidentDetail { incident: line, record }
}

fn sentence(case: &IncidentFacts<'_>, line: &Line) -> String {
    match case.closed_at {
        Some(closed_at) => {
            format!("{}. Closed after {}.", line.title, duration(closed_at.since(case.opened_at).0 / 1_000))
        }
        None => format!("{}. Now: {}.", line.title, line.doing.trim_end_matches('.')),
    }
}

/// What is on record: evidence as it arrived, what would have been done, and how the first nodes moved.
fn timeline(view: &View, case: &IncidentFacts<'_>) -> Vec<IncidentEvent> {
    let mut events = Vec::new();
    let mut says = |at: Timestamp, kind: IncidentEventKind, node: Option<&NodeName>, text: String| {
        events.push(IncidentEvent { at: at.0, kind, node: node.map(ToString::to_string), text });
    };
    for seen in case.status.map_or(&[][..], |status| status.evidence.as_slice()) {
        let times = counted(u64::try_from(seen.count).unwrap_or(0), "time", "times");
        let on = seen.device.as_ref().map_or_else(String::new, |serial| format!(" on {serial}"));
        let text = format!("{} {}{on}, {times}", source_word(seen.source), seen.code);
        says(seen.arrived_at.into(), IncidentEventKind::Evidence, Some(&seen.node), text);
    }
    if matches!(case.subject, Subject::Domain { .. } | Subject::Driver(_)) {
        let nodes = counted(count(case.nodes.len()).into(), "node shows", "nodes show");
        let text = format!("suspected cause: {}, because {nodes} the same fault ({})", case.subject, case.rule);
        says(case.opened_at, IncidentEventKind::Attributed, None, text);
    }
    let (from, until) = (case.opened_at - BEFORE, case.closed_at.unwrap_or_else(|| view.now()));
    for node in case.nodes.iter().take(NODES_TOLD) {
        let mut before = None;
        for step in view.engine().persisted(node).map_or(&[][..], |known| known.history.as_slice()) {
            if (from..=until).contains(&step.at) {
                let (kind, text) = incident::timeline_entry(step.to, before);
                says(step.at, kind, Some(node), format!("{node} {text}"));
            }
            before = Some(step.to);
        }
    }
    for action in case.status.map_or(&[][..], |status| status.actions.as_slice()) {
        let outcome = action.outcome.as_ref().map_or_else(|| "dry run, not executed".to_owned(), ToString::to_string);
        let text = format!("{}: {outcome}", action.kind);
        says(action.decided_at.into(), IncidentEventKind::Decision, Some(&action.node), text);
    }
    events.sort_by_key(|event| (event.at, event.kind));
    events.drain(..events.len().saturating_sub(EVENTS_MAX));
    events
}
