//! An incident in words and numbers, as far as it is the same whoever knows of it.

use std::collections::BTreeMap;

use mainstay_api::http::{IncidentEvent, IncidentEventKind, SubjectKind};
use mainstay_engine::{BudgetLine, Engine};
use mainstay_model::{Level, Mode, NodeName, Part, Ready, Report, RuleName, Stage, Subject, WaitingOn};

use crate::draw::{counted, thousands};
use crate::http::picture::count;

const HOUR_SECONDS: u64 = 3_600;

/// What kind of thing is blamed.
pub(crate) const fn kind(subject: &Subject) -> SubjectKind {
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

/// What stands in an id.
pub(crate) fn name(subject: &Subject) -> String {
    match subject {
        Subject::Part { serial, .. } => serial.to_string(),
        Subject::Node(node) => node.to_string(),
        Subject::Domain { name, .. } => name.to_string(),
        Subject::Driver(version) => version.to_string(),
    }
}

/// It in a few words. Where a part is plugged in is asked of whoever knows the reports.
pub(crate) fn title<'a>(
    subject: &Subject,
    rule: &RuleName,
    (first, nodes): (Option<&NodeName>, usize),
    report: impl Fn(&NodeName) -> Option<&'a Report>,
) -> String {
    let nodes = || counted(count(nodes).into(), "node", "nodes");
    match subject {
        Subject::Node(node) => format!("{node}: {rule}"),
        Subject::Domain { level, name } => format!("{level:?} {name}: {rule} on {}", nodes()),
        Subject::Driver(version) => format!("Driver {version}: {rule} on {}", nodes()),
        Subject::Part { part, serial } => {
            let gpus = first.and_then(report).map_or(&[][..], |report| report.inventory.gpus.as_slice());
            let index = gpus.iter().find(|gpu| gpu.serial == *serial).map(|gpu| gpu.index);
            let part = index.map_or_else(|| format!("{} {serial}", part_word(*part)), |index| format!("GPU {index}"));
            let on = first.map_or_else(String::new, |node| format!(" of {node}"));
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

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// GPU time in an hour that nodes do not give while they are out, from how many GPUs each of them has and whether it answers.
pub(crate) fn rate(engine: &Engine, nodes: &[NodeName], facts: impl Fn(&NodeName) -> Option<(u32, Ready)>) -> u64 {
    let out = nodes.iter().map(|node| {
        let (gpus, ready) = facts(node).unwrap_or((0, Ready::No));
        let stage = engine.persisted(node).map(|known| known.stage);
        if stage.is_some_and(is_out) || ready != Ready::Yes { u64::from(gpus) } else { 0 }
    });
    out.sum::<u64>() * HOUR_SECONDS
}

/// Whether a node in this stage gives nothing.
const fn is_out(stage: Stage) -> bool {
    match stage {
        Stage::Quarantined | Stage::Draining | Stage::Repairing | Stage::Qualifying => true,
        Stage::Maintenance | Stage::Upgrading | Stage::Held | Stage::Retired => true,
        Stage::InService | Stage::Suspect | Stage::Bootstrapping => false,
    }
}

/// What is being done about one that is over.
pub(crate) const OVER: &str = "Nothing more: it is over.";

/// What is being done about one that shows on these nodes.
pub(crate) fn doing(engine: &Engine, nodes: &[NodeName]) -> String {
    let whys = || nodes.iter().filter_map(|node| engine.why(node));
    if let ([_], Some(why)) = (nodes, whys().next()) {
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
        format!("{nodes} on {}. Next: {next}.", wait.noun())
    });
    said.collect::<Vec<_>>().join(" ")
}

/// What the budgets allow now.
pub(crate) fn budget(engine: &Engine) -> String {
    let line = |budget: BudgetLine| {
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
    engine.budgets().into_iter().map(line).collect::<Vec<_>>().join("; ")
}

/// A change of stage as an incident tells it.
pub(crate) const fn moved(to: Stage, from: Option<Stage>) -> (IncidentEventKind, &'static str) {
    match (to, from) {
        (Stage::Repairing, _) => (IncidentEventKind::Drained, "is empty and goes into repair"),
        (Stage::Qualifying, _) => (IncidentEventKind::Repaired, "is repaired and goes into its tests"),
        (Stage::InService, Some(Stage::Qualifying)) => (IncidentEventKind::Returned, "is back in service"),
        (Stage::InService, _) => (IncidentEventKind::Returned, "is in service"),
        (Stage::Suspect, _) => (IncidentEventKind::Decision, "is suspected"),
        (Stage::Quarantined, _) => (IncidentEventKind::Decision, "leaves service"),
        (Stage::Draining, _) => (IncidentEventKind::Decision, "is being emptied"),
        (Stage::Bootstrapping | Stage::Maintenance | Stage::Upgrading, _) => {
            (IncidentEventKind::Decision, "is worked on")
        }
        (Stage::Held, _) => (IncidentEventKind::Decision, "is held"),
        (Stage::Retired, _) => (IncidentEventKind::Decision, "is retired"),
    }
}

/// What would have been in another mode.
pub(crate) fn other_mode(mode: Mode, events: &[IncidentEvent]) -> String {
    let is_act = |kind: IncidentEventKind| matches!(kind, IncidentEventKind::Decision | IncidentEventKind::Asked);
    let acts = count(events.iter().filter(|event| is_act(event.kind)).count());
    let acts = counted(acts.into(), "decision", "decisions");
    match mode {
        Mode::Act => {
            format!("In mode Observe the same {acts} would stand on paper, and nothing would have been touched.")
        }
        Mode::Propose => format!("In mode Act the {acts} would not have waited for a person's yes."),
        Mode::Observe => format!("In mode Act the {acts} would have been carried out; in Observe they stand on paper."),
    }
}
