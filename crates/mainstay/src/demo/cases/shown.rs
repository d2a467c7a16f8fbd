//! An incident in words and numbers, for the picture.

use std::collections::BTreeMap;

use mainstay_api::http::{
    Incident, IncidentDetail, IncidentEventKind, IncidentRecord, IncidentState, IncidentSubject, LIMIT_MAX, SubjectKind,
};
use mainstay_model::{Level, Mode, NodeName, Part, Ready, Subject, WaitingOn};
use mainstay_sim::{GPUS_PER_NODE, Interruption, Live};

use super::case::{Case, name};
use super::is_out;
use crate::draw::{counted, duration, gpu_hours, thousands};
use crate::http::picture::count;

const HOUR_SECONDS: u64 = 3_600;

/// What stopping jobs has cost, by the node that they were stopped because of.
pub(super) struct Costs<'a>(BTreeMap<&'a NodeName, Vec<&'a Interruption>>);

impl<'a> Costs<'a> {
    pub(super) fn of(live: &'a Live) -> Self {
        let mut costs: BTreeMap<&NodeName, Vec<&Interruption>> = BTreeMap::new();
        for stop in live.jobs().flat_map(|job| job.log().interruptions()) {
            if let Some(view) = stop.node.and_then(|number| live.node_at(number)) {
                costs.entry(view.name).or_default().push(stop);
            }
        }
        Self(costs)
    }

    /// Lost and saved by one incident.
    fn of_case(&self, case: &Case) -> (u64, u64) {
        let stops = self.0.iter().filter(|(node, _)| case.nodes.contains(**node)).flat_map(|(_, stops)| stops);
        let ours = stops.filter(|stop| case.covers(stop.at));
        ours.fold((0, 0), |(lost, saved), stop| (lost + stop.lost_gpu_seconds, saved + stop.saved_gpu_seconds))
    }
}

pub(super) fn detail(live: &Live, case: &Case, costs: &Costs<'_>) -> IncidentDetail {
    let (lost_gpu_seconds, saved_gpu_seconds) = costs.of_case(case);
    let is_open = case.closed_at.is_none();
    let nodes = if is_open { case.current.len().max(1) } else { case.nodes.len() };
    let incident = Incident {
        id: case.id.clone(),
        title: title(live, case),
        subject: IncidentSubject { kind: kind(&case.subject), name: name(&case.subject) },
        rule: case.rule.to_string(),
        state: if is_open { IncidentState::Open } else { IncidentState::Closed },
        opened_at: case.opened_at.0,
        closed_at: case.closed_at.map(|at| at.0),
        nodes: count(nodes),
        gpus: count(nodes).saturating_mul(GPUS_PER_NODE),
        lost_gpu_seconds,
        saved_gpu_seconds,
        loss_rate_gpu_seconds_per_hour: if is_open { rate(live, case) } else { 0 },
        doing: doing(live, case),
        acknowledged_by: case.acknowledged_by.clone(),
    };
    let (budget, mode) = case.closing.clone().unwrap_or_else(|| (budget(live), live.mode()));
    let record = IncidentRecord {
        sentence: sentence(case, &incident),
        nodes_list: case.nodes.iter().take(LIMIT_MAX).map(ToString::to_string).collect(),
        timeline: case.events.clone(),
        jobs: case.jobs.iter().cloned().collect(),
        lines: case.lines.clone(),
        budget,
        other_mode: other_mode(mode, case),
    };
    IncidentDetail { incident, record }
}

const fn kind(subject: &Subject) -> SubjectKind {
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

fn title(live: &Live, case: &Case) -> String {
    let rule = &case.rule;
    let nodes = || counted(count(case.nodes.len()).into(), "node", "nodes");
    match &case.subject {
        Subject::Node(node) => format!("{node}: {rule}"),
        Subject::Domain { level, name } => format!("{level:?} {name}: {rule} on {}", nodes()),
        Subject::Driver(version) => format!("Driver {version}: {rule} on {}", nodes()),
        Subject::Part { part, serial } => {
            let node = case.nodes.first();
            let report = node.and_then(|node| live.node(node)).and_then(|view| view.report);
            let gpus = report.map_or(&[][..], |report| report.inventory.gpus.as_slice());
            let index = gpus.iter().find(|gpu| gpu.serial == *serial).map(|gpu| gpu.index);
            let part = index.map_or_else(|| format!("{} {serial}", part_word(*part)), |index| format!("GPU {index}"));
            let on = node.map_or_else(String::new, |node| format!(" of {node}"));
            format!("{part}{on}: {rule}")
        }
    }
}

const fn part_word(part: Part) -> &'static str {
    match part {
        Part::Gpu => "GPU",
        Part::Board => "Board",
        Part::Nic => "NIC",
    }
}

/// A wait within a sentence.
const fn said(wait: WaitingOn) -> &'static str {
    match wait {
        WaitingOn::Nothing => "nothing",
        WaitingOn::Approval => "an approval",
        WaitingOn::Breaker => "a breaker",
        WaitingOn::Budget => "the budget",
        WaitingOn::Checkpoint => "a checkpoint",
        WaitingOn::Domain => "whoever is blamed",
        WaitingOn::Drain => "the drain",
        WaitingOn::FreshView => "a fresh view",
        WaitingOn::Leadership => "leadership",
        WaitingOn::Mode => "the mode",
        WaitingOn::Order => "an order",
        WaitingOn::Person => "a person",
        WaitingOn::Qualification => "qualification",
        WaitingOn::Report => "a report",
        WaitingOn::Witness => "a witness",
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// GPU time in an hour that nodes do not give while they are out.
fn rate(live: &Live, case: &Case) -> u64 {
    let gives_nothing = |node: &&NodeName| {
        let stage = live.engine().persisted(node).map(|known| known.stage);
        let ready = live.node(node).map(|view| view.facts.ready);
        stage.is_some_and(is_out) || ready != Some(Ready::Yes)
    };
    let out = case.current.iter().filter(gives_nothing).count();
    u64::from(count(out)) * u64::from(GPUS_PER_NODE) * HOUR_SECONDS
}

fn doing(live: &Live, case: &Case) -> String {
    if case.closed_at.is_some() {
        return "Nothing more: it is over.".to_owned();
    }
    let whys = || case.current.iter().filter_map(|node| live.engine().why(node));
    if let ([_], Some(why)) = (case.current.as_slice(), whys().next()) {
        return format!("{}. Next: {}.", capital(&why.what()), why.next());
    }
    // What is next is the same for all who wait on the same, so the first of them speaks.
    let mut waits: BTreeMap<WaitingOn, (u64, String)> = BTreeMap::new();
    for why in whys() {
        waits.entry(why.wait.on()).or_insert_with(|| (0, why.next())).0 += 1;
    }
    let said = waits.iter().map(|(wait, (nodes, next))| {
        if *wait == WaitingOn::Nothing {
            return format!("{} in service.", thousands(*nodes));
        }
        let nodes = counted(*nodes, "node waits", "nodes wait");
        format!("{nodes} on {}. Next: {next}.", said(*wait))
    });
    said.collect::<Vec<_>>().join(" ")
}

fn sentence(case: &Case, incident: &Incident) -> String {
    let cost = match (incident.lost_gpu_seconds, incident.saved_gpu_seconds) {
        (0, 0) if case.closed_at.is_none() => "No work is lost so far.".to_owned(),
        (0, 0) => "No work was lost.".to_owned(),
        (lost, 0) => format!("{} GPU-hours lost.", gpu_hours(lost)),
        (lost, saved) => format!("{} GPU-hours lost, {} saved by asking first.", gpu_hours(lost), gpu_hours(saved)),
    };
    match case.closed_at {
        Some(closed_at) => {
            let lasted = duration(closed_at.since(case.opened_at).0 / 1_000);
            format!("{}. It lasted {lasted}. {cost}", incident.title)
        }
        None => format!("{}. Now: {}. {cost}", incident.title, incident.doing.trim_end_matches('.')),
    }
}

pub(super) fn budget(live: &Live) -> String {
    let line = |budget: mainstay_engine::BudgetLine| {
        let place = budget.level.map_or_else(
            || format!("pool {}", budget.pool),
            |level| format!("the fullest {level:?} of pool {}", budget.pool),
        );
        format!(
            "{} of at most {} nodes are out in {place}",
            thousands(budget.out.into()),
            thousands(budget.most.into())
        )
    };
    live.engine().budgets().into_iter().map(line).collect::<Vec<_>>().join("; ")
}

fn other_mode(mode: Mode, case: &Case) -> String {
    let is_act = |kind: IncidentEventKind| matches!(kind, IncidentEventKind::Decision | IncidentEventKind::Asked);
    let acts = count(case.events.iter().filter(|event| is_act(event.kind)).count());
    let acts = counted(acts.into(), "decision", "decisions");
    match mode {
        Mode::Act => {
            format!("In mode Observe the same {acts} would stand on paper, and nothing would have been touched.")
        }
        Mode::Propose => format!("In mode Act the {acts} would not have waited for a person's yes."),
        Mode::Observe => format!("In mode Act the {acts} would have been carried out; in Observe they stand on paper."),
    }
}
