//! Texts and numbers of an incident that the demo and a cluster share. Its title is the engine's ([`Engine::fault`]).

use std::collections::BTreeMap;

use mainstay_api::http::{IncidentEvent, IncidentEventKind, SubjectKind};
use mainstay_engine::{BudgetLine, Engine, is_out_of_service, level_name};
use mainstay_model::{Level, Mode, NodeName, Ready, Stage, Subject, WaitingOn, counted, thousands};
use mainstay_text::capital;

use crate::snapshot::count;

const HOUR_SECONDS: u64 = 3_600;

/// The kind of the suspected cause.
#[must_use]
pub const fn kind(subject: &Subject) -> SubjectKind {
    match subject {
        Subject::Part { .. } => SubjectKind::Part,
        Subject::Node(_) => SubjectKind::Node,
        Subject::Driver(_) => SubjectKind::Driver,
        Subject::Domain { level, .. } => match level {
            Level::NvlinkDomain => SubjectKind::NvlinkDomain,
            Level::Rack => SubjectKind::Rack,
            Level::Pdu => SubjectKind::Pdu,
            Level::Leaf => SubjectKind::Leaf,
            Level::Spine => SubjectKind::Spine,
        },
    }
}

/// The name of the suspected cause, as it is part of an id.
#[must_use]
pub fn name(subject: &Subject) -> String {
    match subject {
        Subject::Part { serial, .. } => serial.to_string(),
        Subject::Node(node) => node.to_string(),
        Subject::Domain { name, .. } => name.to_string(),
        Subject::Driver(version) => version.to_string(),
    }
}

/// Capacity of nodes that are out of service, in GPU-seconds per hour.
pub fn rate(engine: &Engine, nodes: &[NodeName], facts: impl Fn(&NodeName) -> Option<(u32, Ready)>) -> u64 {
    let out = nodes.iter().map(|node| {
        let (gpus, ready) = facts(node).unwrap_or((0, Ready::No));
        let stage = engine.persisted(node).map_or(Stage::InService, |known| known.stage);
        if is_out_of_service(stage, ready) { u64::from(gpus) } else { 0 }
    });
    per_hour(out.sum())
}

/// GPUs out of service as GPU-seconds per hour.
pub(crate) const fn per_hour(gpus: u64) -> u64 {
    gpus * HOUR_SECONDS
}

/// The current action of a closed incident.
pub const OVER: &str = "None: the incident is closed.";

/// What the nodes of an open incident wait for, and what happens next.
#[must_use]
pub fn current_action(engine: &Engine, nodes: &[NodeName]) -> String {
    let whys = || nodes.iter().filter_map(|node| engine.why(node));
    if let ([_], Some(why)) = (nodes, whys().next()) {
        return format!("{}. Next: {}.", capital(&why.what()), why.next());
    }
    // Nodes with the same wait have the same next step, so the first of them is enough.
    let mut waits: BTreeMap<WaitingOn, (u64, String)> = BTreeMap::new();
    for why in whys() {
        waits.entry(why.wait.on()).or_insert_with(|| (0, why.next())).0 += 1;
    }
    let parts = waits.iter().map(|(wait, (nodes, next))| {
        if *wait == WaitingOn::Nothing {
            return format!("{} in service.", counted(*nodes, "node", "nodes"));
        }
        let nodes = counted(*nodes, "node waits", "nodes wait");
        format!("{nodes} for {}. Next: {next}.", wait.noun())
    });
    parts.collect::<Vec<_>>().join(" ")
}

/// The budgets and how much of them is used.
#[must_use]
pub fn budget(engine: &Engine) -> String {
    let line = |budget: BudgetLine| {
        let place = budget.level.map_or_else(
            || format!("Pool {}", budget.pool),
            |level| format!("Fullest {} of pool {}", level_name(level), budget.pool),
        );
        let dry_run = match budget.dry_run {
            0 => String::new(),
            nodes => format!(" and {} flagged in dry run", thousands(nodes.into())),
        };
        let [out, most] = [budget.out, budget.most].map(|count| thousands(count.into()));
        format!("{place}: {out} out of service{dry_run}, limit {most}")
    };
    engine.budgets().into_iter().map(line).collect::<Vec<_>>().join("; ")
}

/// A change of stage as a line of an incident's timeline.
#[must_use]
pub const fn timeline_entry(to: Stage, from: Option<Stage>) -> (IncidentEventKind, &'static str) {
    match (to, from) {
        (Stage::Repairing, _) => (IncidentEventKind::Drained, "is drained and goes into repair"),
        (Stage::Qualifying, _) => (IncidentEventKind::Repaired, "is repaired and goes into its tests"),
        (Stage::InService, Some(Stage::Qualifying)) => (IncidentEventKind::Returned, "is back in service"),
        (Stage::InService, _) => (IncidentEventKind::Returned, "is in service"),
        (Stage::Suspect, _) => (IncidentEventKind::Decision, "is suspect"),
        (Stage::Quarantined, _) => (IncidentEventKind::Decision, "is removed from service"),
        (Stage::Draining, _) => (IncidentEventKind::Decision, "is being drained"),
        (Stage::Bootstrapping | Stage::Maintenance | Stage::Upgrading, _) => {
            (IncidentEventKind::Decision, "is under planned work")
        }
        (Stage::Held, _) => (IncidentEventKind::Decision, "is held by an operator"),
        (Stage::Retired, _) => (IncidentEventKind::Decision, "is retired"),
    }
}

/// What another mode would have done with the decisions of an incident.
#[must_use]
pub fn other_mode(mode: Mode, events: &[IncidentEvent]) -> String {
    let is_action =
        |kind: IncidentEventKind| matches!(kind, IncidentEventKind::Decision | IncidentEventKind::CheckpointRequested);
    let actions = count(events.iter().filter(|event| is_action(event.kind)).count());
    let actions = counted(actions.into(), "decision", "decisions");
    match mode {
        Mode::Act => format!("In mode Observe, {actions} would have been recorded as a dry run and not executed."),
        Mode::Propose => format!("In mode Act, {actions} would have been executed without approval."),
        Mode::Observe => format!("In mode Act, {actions} would have been executed. In Observe they are a dry run."),
    }
}
