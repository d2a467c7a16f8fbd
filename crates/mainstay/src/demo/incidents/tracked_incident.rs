//! One incident from its first evidence to its end: nodes, timeline, jobs and log lines.

use std::collections::BTreeSet;

use mainstay_api::http::{IncidentEvent, IncidentEventKind};
use mainstay_engine::{Fault, Incident};
use mainstay_model::{Mode, NodeName, RuleName, Span, Stage, Subject, Timestamp};
use mainstay_sim::{AttemptEnd, DecisionKind, LiveFleet, StageChange};
use mainstay_text::{gpu_hours, thousands};
use mainstay_web::render::incident;

use super::BEFORE;

/// Events of one incident; of a larger one the latest tell the story.
const EVENTS_MAX: usize = 200;
/// Nodes that are remembered of one incident.
const NODES_MAX: usize = 16_384;
/// Nodes whose own lines are read: of a leaf with hundreds, more would say the same.
const NODES_READ: usize = 8;
/// Raw lines that are kept.
const LINES_MAX: usize = 64;
/// Jobs that are named.
const JOBS_MAX: usize = 64;

/// An incident with a stable id, a timeline and the nodes it affected.
pub(super) struct TrackedIncident {
    pub(super) id: String,
    pub(super) number: u64,
    pub(super) subject: Subject,
    pub(super) rule: RuleName,
    /// Part and fault in words, as long as the engine still has the evidence.
    pub(super) fault: Fault,
    pub(super) opened_at: Timestamp,
    pub(super) closed_at: Option<Timestamp>,
    /// When it was first looked at: what happened before that is in its beginning.
    pub(super) opened_look: Timestamp,
    /// Nodes that show it now, in order.
    pub(super) current: Vec<NodeName>,
    /// Nodes that ever did.
    pub(super) nodes: BTreeSet<NodeName>,
    /// Oldest first.
    pub(super) events: Vec<IncidentEvent>,
    pub(super) lines: Vec<String>,
    pub(super) jobs: BTreeSet<String>,
    pub(super) acknowledged_by: Option<String>,
    /// What the budgets allowed and the mode, when it ended.
    pub(super) closing: Option<(String, Mode)>,
}

impl TrackedIncident {
    pub(super) fn new(begun: Incident, fault: Fault, number: u64, now: Timestamp) -> Self {
        let Incident { subject, rule, since, nodes } = begun;
        Self {
            id: format!("{rule}-{}-{number}", incident::name(&subject)),
            number,
            subject,
            rule,
            fault,
            opened_at: since,
            closed_at: None,
            opened_look: now,
            nodes: nodes.iter().take(NODES_MAX).cloned().collect(),
            current: nodes,
            events: Vec::new(),
            lines: Vec::new(),
            jobs: BTreeSet::new(),
            acknowledged_by: None,
            closing: None,
        }
    }

    pub(super) fn is_on_one(&self) -> bool {
        match self.subject {
            Subject::Node(_) | Subject::Part { .. } => true,
            Subject::Domain { .. } | Subject::Driver(_) => false,
        }
    }

    /// Whether it was there at a moment, or shortly before it was noticed.
    pub(super) fn covers(&self, at: Timestamp) -> bool {
        at + BEFORE >= self.opened_at && self.closed_at.is_none_or(|closed_at| at <= closed_at)
    }

    /// It is still there, perhaps with other nodes.
    pub(super) fn goes_on(&mut self, incident: Incident, fault: Fault) {
        self.fault = fault;
        self.subject = incident.subject;
        if self.current != incident.nodes {
            let room = NODES_MAX.saturating_sub(self.nodes.len());
            self.nodes.extend(incident.nodes.iter().take(room).cloned());
            self.current = incident.nodes;
        }
    }

    /// What happened before anybody knew that it was one.
    pub(super) fn begins(&mut self, live: &LiveFleet, from: Timestamp, until: Timestamp) {
        for node in self.current.iter().take(NODES_READ).cloned().collect::<Vec<_>>() {
            let mut lines = live.lines(&node).filter(|line| line.at >= from).peekable();
            if let Some(first) = lines.peek() {
                self.says(first.at, IncidentEventKind::Evidence, Some(&node), first.text.clone());
            }
        }
        let ours = |node: &NodeName| self.current.binary_search(node).is_ok();
        let moves: Vec<StageChange> =
            live.moves_since(from).filter(|step| ours(&step.node) && step.at <= until).cloned().collect();
        let decisions: Vec<_> =
            live.decisions_since(from).filter(|line| ours(&line.node) && line.at <= until).cloned().collect();
        if !self.is_on_one() {
            let text = format!("suspected cause: {}", self.fault.title);
            self.says(self.opened_at, IncidentEventKind::Attributed, None, text);
        }
        for step in &moves {
            self.moves(step);
        }
        for line in decisions {
            if let Some(kind) = kind_of(line.kind) {
                self.says(line.at, kind, Some(&line.node), line.act);
            }
        }
        self.hears_jobs(live, from);
    }

    /// Something happened.
    pub(super) fn says(&mut self, at: Timestamp, kind: IncidentEventKind, node: Option<&NodeName>, text: String) {
        let after = self.events.partition_point(|event| (event.at, event.kind) <= (at.0, kind));
        self.events.insert(after, IncidentEvent { at: at.0, kind, node: node.map(ToString::to_string), text });
        if self.events.len() > EVENTS_MAX {
            self.events.remove(0);
        }
    }

    /// A node of it changed its stage.
    pub(super) fn moves(&mut self, step: &StageChange) {
        if step.to == Stage::InService && step.from == Stage::Qualifying {
            let text = format!("{} passed its tests", step.node);
            self.says(step.at, IncidentEventKind::Qualified, Some(&step.node), text);
        }
        let (kind, text) = incident::timeline_entry(step.to, Some(step.from));
        self.says(step.at, kind, Some(&step.node), format!("{} {text}", step.node));
    }

    /// What the jobs on its nodes saved and lost, and what the nodes printed.
    pub(super) fn hears_jobs(&mut self, live: &LiveFleet, from: Timestamp) {
        for node in &self.current {
            let job = live.node(node).and_then(|view| view.job).and_then(|job| live.job(job));
            if let Some(job) = job.filter(|_| self.jobs.len() < JOBS_MAX) {
                self.jobs.insert(job.name());
            }
        }
        let mut said: Vec<(Timestamp, IncidentEventKind, Option<NodeName>, String)> = Vec::new();
        for job in self.jobs.iter().filter_map(|name| live.job_named(name)) {
            for save in job.log().checkpoints().filter(|save| save.asked && save.at >= from) {
                let text = format!("{} saved step {}", job.name(), thousands(save.step));
                said.push((save.at, IncidentEventKind::Saved, None, text));
            }
            for stop in job.log().interruptions().filter(|stop| stop.at >= from) {
                let node = stop.node.and_then(|number| live.node_at(number)).map(|view| view.name.clone());
                if node.as_ref().is_some_and(|node| self.nodes.contains(node)) {
                    let how = match stop.ended {
                        AttemptEnd::Drained(_) => "leaves the node",
                        AttemptEnd::Failed(_) | AttemptEnd::Finished => "could not go on",
                    };
                    let (step, lost) = (thousands(stop.step), gpu_hours(stop.lost_gpu_seconds));
                    let text = format!(
                        "{} {how} and starts again from step {step}: {lost} GPU-hours of progress lost, starting again not counted",
                        job.name()
                    );
                    said.push((stop.at, IncidentEventKind::Lost, node, text));
                }
            }
        }
        for (at, kind, node, text) in said {
            self.says(at, kind, node.as_ref(), text);
        }
        self.reads_lines(live);
    }

    fn reads_lines(&mut self, live: &LiveFleet) {
        let from = self.opened_at - Span(BEFORE.0 * 2);
        let many = self.current.len() > 1;
        let of_node = |node: &NodeName| {
            let lines = live.lines(node).filter(|line| line.at >= from);
            let prefix = if many { format!("{node}: ") } else { String::new() };
            lines.map(move |line| format!("{prefix}{}", line.text)).collect::<Vec<_>>()
        };
        let lines: Vec<String> = self.current.iter().take(NODES_READ).flat_map(of_node).take(LINES_MAX).collect();
        if !lines.is_empty() {
            self.lines = lines;
        }
    }
}

/// The kind of the event for a decision; a change of stage has an event of its own.
pub(super) const fn kind_of(decision: DecisionKind) -> Option<IncidentEventKind> {
    match decision {
        DecisionKind::Checkpoint => Some(IncidentEventKind::CheckpointRequested),
        DecisionKind::Stage => None,
        DecisionKind::Action => Some(IncidentEventKind::Decision),
    }
}
