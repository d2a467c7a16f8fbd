//! `mainstay plan`: the next action of each node as a diff, in order, and then the nodes that wait. It executes nothing.
//! Causes and counts are those of `why`.

use std::collections::BTreeSet;

use clap::Args;
use mainstay_engine::Why;
use mainstay_kube::View;
use mainstay_model::{ActionKind, Effect, Execution, Mode, NodeName, Step, WaitingOn};
use mainstay_text::{counted, few, thousands, wrapped};
use serde::Serialize;

use super::why::{clock, gangs_on, work};
use crate::kubeconfig::{ClusterArgs, QueryOutput};
use crate::marks::mark;
use crate::output::{CommandOutput, Problem, TableFormat};

pub(crate) const HELP: &str = "\
Runs the same engine as the controller on what you may read, and executes nothing. In mode Observe every action is a dry
run, in Propose it waits for approval, in Act the leader executes it.

To stop all actions within seconds, set the mode of the Cell to Observe.

Examples:
  mainstay plan
  mainstay plan --watch
  mainstay plan -o json | jq '.effects[] | select(.standing == \"Proposed\") | .action'";

const COLUMNS: usize = 100;
/// Nodes in the text; all of them are in the JSON.
const NODES_MAX: usize = 50;
/// Groups of waiting nodes in the text.
const WAITING_MAX: usize = 50;
/// Names in one line.
const NAMES_MAX: usize = 5;

/// Options of `plan`.
#[derive(Args)]
pub(crate) struct Plan {
    /// Continuous output: print again on every change
    #[arg(short, long)]
    watch: bool,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = TableFormat::Table)]
    output: TableFormat,
    #[command(flatten)]
    way: ClusterArgs,
}

/// Next actions and waiting nodes, as `plan -o json` prints them.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PlanReport {
    now: i64,
    /// Mode that an operator set.
    mode: Option<Mode>,
    /// Mode in effect: the highest one, up to `mode`, that this version executes.
    mode_in_effect: Option<Mode>,
    /// Why the mode that an operator set has no effect; none where it is in effect.
    mode_notice: Option<String>,
    /// In the order of execution, without writes of Mainstay's own status.
    effects: Vec<PlannedAction>,
    waiting: Vec<WaitingNode>,
    /// Broken invariants; the leader executes nothing while there are any.
    violations: Vec<String>,
}

/// One action on a node or job that the engine decided, with its rule and explanation.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PlannedAction {
    node: String,
    act: &'static str,
    gang: Option<String>,
    rule: String,
    standing: Execution,
    /// The id that an operator approves.
    action: String,
    /// The kind of action, as an approval names it.
    verb: Option<ActionKind>,
    /// The claim that the action belongs to, as an approval names it.
    plan: Option<String>,
    /// Part and fault, as in `why`.
    problem: Option<String>,
    why: String,
    gangs: Vec<String>,
}

/// A node without an action, what it waits for and since when.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WaitingNode {
    node: String,
    waiting_on: WaitingOn,
    since: i64,
    rule: Option<String>,
    why: String,
}

impl Plan {
    pub(crate) fn run(&self) -> Result<CommandOutput, Problem> {
        let ask = async |_: &mainstay_kube::Client, view: &View| {
            let (effects, waiting) = (effects(view), waiting(view));
            let text = text(view, &effects, &waiting);
            let planned = PlanReport {
                now: view.now().0,
                mode: view.cell().map(|cell| cell.spec.mode),
                mode_in_effect: view.mode_in_effect(),
                mode_notice: view.mode_notice(),
                effects: effects.iter().map(|effect| step(view, effect)).collect(),
                waiting,
                violations: view.violations().to_vec(),
            };
            QueryOutput::new(&planned, text)
        };
        if self.watch { self.way.watch(self.output, &ask) } else { self.way.query(self.output, ask) }
    }
}

/// Actions on nodes and jobs. Writes of Mainstay's own status are left out.
fn effects(view: &View) -> Vec<&Effect> {
    let all = view.decision().effects.iter();
    all.filter(|effect| !matches!(effect.step, Step::Store(_))).collect()
}

fn step(view: &View, effect: &Effect) -> PlannedAction {
    let gang = match &effect.step {
        Step::AskCheckpoint { gang, .. } | Step::Stop { gang } => Some(gang.to_string()),
        Step::Store(_) | Step::Order(_) | Step::Cordon | Step::Uncordon => None,
        Step::Avoid | Step::EndAvoid | Step::PowerOff | Step::ReleasePods => None,
    };
    let why = view.engine().why(&effect.node);
    PlannedAction {
        node: effect.node.to_string(),
        act: match &effect.step {
            Step::Store(_) => "record",
            Step::Order(_) => "order",
            Step::Cordon => "cordon",
            Step::Uncordon => "uncordon",
            Step::Avoid => "avoid",
            Step::EndAvoid => "endAvoid",
            Step::PowerOff => "powerOff",
            Step::ReleasePods => "releasePods",
            Step::AskCheckpoint { .. } => "askCheckpoint",
            Step::Stop { .. } => "evict",
        },
        gang,
        rule: cause(why.as_ref(), effect),
        standing: effect.execution,
        action: effect.id.to_string(),
        verb: effect.step.kind(),
        plan: effect.claim.as_ref().map(ToString::to_string),
        problem: why.as_ref().and_then(|why| why.fault.as_ref()).map(|fault| fault.title.clone()),
        why: why.map_or_else(String::new, |why| why.to_string()),
        gangs: gangs_on(view, &effect.node).iter().map(|(gang, _)| gang.to_string()).collect(),
    }
}

/// The rule behind an action, by the same source as `why`.
fn cause(why: Option<&Why>, effect: &Effect) -> String {
    let rule = why.and_then(|why| why.rule.as_ref()).map(|(rule, _)| rule);
    rule.unwrap_or(&effect.rule).to_string()
}

/// Nodes with a finding that wait.
fn waiting(view: &View) -> Vec<WaitingNode> {
    let acted: BTreeSet<&NodeName> = effects(view).iter().map(|effect| &effect.node).collect();
    let lines = view.engine().standing().filter(|line| !acted.contains(&line.node));
    let told = lines.filter(|line| line.waiting_on != WaitingOn::Nothing).filter_map(|line| {
        let why = view.engine().why(&line.node)?;
        Some(WaitingNode {
            node: line.node.to_string(),
            waiting_on: line.waiting_on,
            since: why.since.0,
            rule: why.rule.as_ref().map(|(rule, _)| rule.to_string()),
            why: why.what(),
        })
    });
    told.collect()
}

fn text(view: &View, effects: &[&Effect], waiting: &[WaitingNode]) -> String {
    let mut text = view.mode_notice().map_or_else(String::new, |notice| wrapped(&notice, COLUMNS, ""));
    text.push_str(&wrapped(&heading(view, effects), COLUMNS, ""));
    for violation in view.violations().iter().take(3) {
        text.push_str(&wrapped(
            &format!("! Mainstay executes no action, because a decision violates a safety invariant: {violation}"),
            COLUMNS,
            "  ",
        ));
    }
    let mut nodes: Vec<&NodeName> = Vec::new();
    for effect in effects {
        if !nodes.contains(&&effect.node) {
            nodes.push(&effect.node);
        }
    }
    for node in nodes.iter().take(NODES_MAX) {
        let own: Vec<&&Effect> = effects.iter().filter(|effect| effect.node == **node).collect();
        text.push('\n');
        text.push_str(&of_node(view, node, &own));
    }
    if nodes.len() > NODES_MAX {
        text.push_str(&format!("\n{} more nodes: mainstay plan -o json\n", nodes.len() - NODES_MAX));
    }
    if !waiting.is_empty() {
        text.push_str("\nWaiting:\n");
        text.push_str(&waiting_text(view, waiting));
    }
    text.push_str(&format!("\n{}\n", stop(view)));
    text
}

fn heading(view: &View, effects: &[&Effect]) -> String {
    let actions = counted(u64::try_from(effects.len()).unwrap_or(u64::MAX), "action", "actions");
    match view.mode_in_effect() {
        _ if effects.is_empty() => "No action is due now.".to_owned(),
        None => {
            format!("No Cell exists, so Mainstay executes nothing. With a Cell and a leader it would decide {actions}:")
        }
        Some(Mode::Observe) => format!("Mode Observe: {actions} in dry run, recorded and not executed, in this order:"),
        Some(Mode::Propose) => format!("Mode Propose: {actions}, each executed after its approval, in this order:"),
        Some(Mode::Act) => {
            format!("Mode Act: {actions}, in this sequence. The leader executes only actions marked \"ordered\":")
        }
    }
}

/// How to stop all actions.
fn stop(view: &View) -> String {
    match view.cell() {
        Some(cell) if view.mode_in_effect() > Some(Mode::Observe) => {
            let name = cell.metadata.name.as_deref().unwrap_or("NAME");
            format!(
                "Stop all actions: kubectl patch cell {name} --type=merge -p '{{\"spec\":{{\"mode\":\"Observe\"}}}}'"
            )
        }
        Some(_) | None => "Stop: not needed, no action is executed.".to_owned(),
    }
}

fn of_node(view: &View, node: &NodeName, effects: &[&&Effect]) -> String {
    let seen = view.nodes().get(node).and_then(|seen| seen.facts.as_ref());
    let stage = view.engine().report(node).map(|line| line.stage);
    let place = seen.map_or_else(String::new, |facts| format!(", {} GPUs, pool {}", facts.gpus, facts.pool));
    let mut text = format!("{} {node}{place}\n", stage.map_or(' ', mark));
    for effect in effects {
        for line in changes(view, effect) {
            text.push_str(&wrapped(&line, COLUMNS - 4, "    "));
        }
    }
    let gangs = gangs_on(view, node);
    if effects.iter().any(|effect| effect.step == Step::Cordon) && !gangs.is_empty() {
        let leaves = format!("  then its jobs are asked to save a checkpoint and to leave: {}", work(view, &gangs));
        text.push_str(&wrapped(&leaves, COLUMNS - 4, "    "));
    }
    indented(&text)
}

/// All lines but the first, two columns in.
fn indented(text: &str) -> String {
    let lines: Vec<String> = text
        .lines()
        .enumerate()
        .map(|(number, line)| if number == 0 { line.to_owned() } else { format!("  {line}") })
        .collect();
    lines.join("\n") + "\n"
}

fn changes(view: &View, effect: &Effect) -> Vec<String> {
    let standing = match effect.execution {
        Execution::DryRun => "dry run".to_owned(),
        Execution::Proposed => format!("waits for approval of {}", effect.id),
        Execution::Ordered => "ordered".to_owned(),
    };
    let problem = view.engine().why(&effect.node).map(|why| why.problem()).unwrap_or_default();
    match &effect.step {
        Step::Store(_) => Vec::new(),
        Step::Order(new) => vec![format!("+ order {} ({standing})", new.order.id)],
        Step::Cordon => {
            vec!["- schedulable".to_owned(), format!("+ cordoned ({standing}): {problem}")]
        }
        Step::Uncordon => vec!["- cordoned".to_owned(), format!("+ schedulable ({standing})")],
        Step::Avoid => vec![format!("+ avoided by new jobs ({standing}): {problem}")],
        Step::EndAvoid => vec![format!("- avoided by new jobs ({standing})")],
        Step::PowerOff => vec!["- powered on".to_owned(), format!("+ powered off ({standing}): {problem}")],
        Step::ReleasePods => vec![format!("- pods of a machine that is off ({standing})")],
        Step::AskCheckpoint { gang, answer_by, .. } => {
            vec![format!("+ {gang} is asked to save a checkpoint by {} UTC ({standing})", clock(answer_by.0))]
        }
        Step::Stop { gang } => vec![format!("- {gang} runs here"), format!("+ {gang} is stopped here ({standing})")],
    }
}

/// Nodes with the same wait are one group.
fn waiting_text(view: &View, waiting: &[WaitingNode]) -> String {
    let mut groups: Vec<(&WaitingNode, Vec<String>)> = Vec::new();
    for one in waiting {
        let same =
            |(first, _): &&mut (&WaitingNode, Vec<String>)| first.waiting_on == one.waiting_on && first.why == one.why;
        match groups.iter_mut().find(same) {
            Some((_, nodes)) => nodes.push(one.node.clone()),
            None => groups.push((one, vec![one.node.clone()])),
        }
    }
    let mut text = String::new();
    for (first, nodes) in groups.iter().take(WAITING_MAX) {
        let who = match nodes.as_slice() {
            [only] => format!("{only} waits"),
            all => format!("{} nodes wait", thousands(u64::try_from(all.len()).unwrap_or(u64::MAX))),
        };
        let stage =
            NodeName::parse(&first.node).ok().and_then(|node| view.engine().report(&node)).map(|line| line.stage);
        let mark = stage.map_or(' ', mark);
        let line = format!("{mark} {who} for {}: {}", first.waiting_on.noun(), first.why);
        text.push_str(&wrapped(&line, COLUMNS - 2, "  "));
        if nodes.len() > 1 {
            text.push_str(&wrapped(&format!("  {}", few(nodes, NAMES_MAX)), COLUMNS - 2, "  ").replacen("", "  ", 1));
        }
    }
    if groups.len() > WAITING_MAX {
        text.push_str(&format!("and {} more groups: mainstay plan -o json\n", groups.len() - WAITING_MAX));
    }
    text
}
