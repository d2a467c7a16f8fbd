//! `mainstay plan`: what would be done now, as a diff of each node, in the order in which it would be done; then what waits,
//! and on what. Nothing is done from here, whatever the mode.

use std::collections::BTreeSet;

use clap::Args;
use mainstay_kube::View;
use mainstay_model::{Act, Effect, Mode, NodeName, Standing, WaitingOn};
use serde::Serialize;

use super::why::{clock, gangs_on, work};
use crate::cluster::{Answer, Way};
use crate::draw::marks::mark;
use crate::draw::{counted, few, thousands, wrapped};
use crate::output::{Form, Problem, Said};

pub(crate) const HELP: &str = "\
It asks the same brain that leads, with what you may read, and does nothing: in mode Observe nobody does it, in Propose it
waits for a person's yes, in Act the leader does it.

Examples:
  mainstay plan
  mainstay plan --watch
  mainstay plan -o json | jq '.effects[] | select(.standing == \"Proposed\") | .action'";

const COLUMNS: usize = 100;
/// Nodes that are drawn; the others are counted, and all are in the JSON.
const NODES_MAX: usize = 50;
/// What is waited on, as many kinds.
const WAITING_MAX: usize = 50;
/// Names in one line.
const NAMES_MAX: usize = 5;

/// How it is told.
#[derive(Args)]
pub(crate) struct Plan {
    /// Go on, and tell it again when something changes
    #[arg(short, long)]
    watch: bool,
    /// How to print it
    #[arg(short, long, value_enum, default_value_t = Form::Table)]
    output: Form,
    #[command(flatten)]
    way: Way,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Planned {
    now: i64,
    /// Mode that an operator set.
    mode: Option<Mode>,
    /// Mode in effect: the highest one, up to `mode`, that this version executes.
    mode_in_effect: Option<Mode>,
    /// Why the mode that an operator set has no effect; none where it is in effect.
    mode_notice: Option<String>,
    /// In the order in which they would be done. What is only written down is left out.
    effects: Vec<Step>,
    waiting: Vec<Waits>,
    /// Where not empty, the leader does nothing of it.
    violations: Vec<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Step {
    node: String,
    act: &'static str,
    gang: Option<String>,
    rule: String,
    standing: Standing,
    /// What a person approves.
    action: String,
    why: String,
    gangs: Vec<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Waits {
    node: String,
    waiting_on: WaitingOn,
    since: i64,
    rule: Option<String>,
    why: String,
}

impl Plan {
    pub(crate) fn run(&self) -> Result<Said, Problem> {
        let ask = async |_: &mainstay_kube::Client, view: &View| {
            let (effects, waiting) = (effects(view), waiting(view));
            let text = text(view, &effects, &waiting);
            let planned = Planned {
                now: view.now().0,
                mode: view.cell().map(|cell| cell.spec.mode),
                mode_in_effect: view.mode_in_effect(),
                mode_notice: view.mode_notice(),
                effects: effects.iter().map(|effect| step(view, effect)).collect(),
                waiting,
                violations: view.violations().to_vec(),
            };
            Answer::new(&planned, text)
        };
        if self.watch { self.way.watch(self.output, &ask) } else { self.way.tell(self.output, ask) }
    }
}

/// What would be done to nodes and to work. Our own records are no act.
fn effects(view: &View) -> Vec<&Effect> {
    let all = view.decision().effects.iter();
    all.filter(|effect| !matches!(effect.act, Act::Record(_))).collect()
}

fn step(view: &View, effect: &Effect) -> Step {
    let gang = match &effect.act {
        Act::AskCheckpoint { gang, .. } | Act::Evict { gang } => Some(gang.to_string()),
        Act::Record(_) | Act::Cordon | Act::Uncordon => None,
    };
    Step {
        node: effect.node.to_string(),
        act: match &effect.act {
            Act::Record(_) => "record",
            Act::Cordon => "cordon",
            Act::Uncordon => "uncordon",
            Act::AskCheckpoint { .. } => "askCheckpoint",
            Act::Evict { .. } => "evict",
        },
        gang,
        rule: effect.cause.to_string(),
        standing: effect.standing,
        action: effect.action.to_string(),
        why: view.engine().why(&effect.node).map_or_else(String::new, |why| why.to_string()),
        gangs: gangs_on(view, &effect.node).iter().map(|(gang, _)| gang.to_string()).collect(),
    }
}

/// Nodes that something is found on and that nothing is done about yet.
fn waiting(view: &View) -> Vec<Waits> {
    let acted: BTreeSet<&NodeName> = effects(view).iter().map(|effect| &effect.node).collect();
    let lines = view.engine().standing().filter(|line| !acted.contains(&line.node));
    let told = lines.filter(|line| line.waiting_on != WaitingOn::Nothing).filter_map(|line| {
        let why = view.engine().why(&line.node)?;
        Some(Waits {
            node: line.node.to_string(),
            waiting_on: line.waiting_on,
            since: why.since.0,
            rule: why.rule.as_ref().map(|(rule, _)| rule.to_string()),
            why: why.what(),
        })
    });
    told.collect()
}

fn text(view: &View, effects: &[&Effect], waiting: &[Waits]) -> String {
    let mut text = view.mode_notice().map_or_else(String::new, |notice| wrapped(&notice, COLUMNS, ""));
    text.push_str(&wrapped(&heading(view, effects), COLUMNS, ""));
    for violation in view.violations().iter().take(3) {
        text.push_str(&wrapped(&format!("! Not carried out, it breaks an invariant: {violation}"), COLUMNS, "  "));
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
        text.push_str(&format!("\n{} more: mainstay plan -o json\n", nodes.len() - NODES_MAX));
    }
    if !waiting.is_empty() {
        text.push_str("\nNothing is done yet where:\n");
        text.push_str(&waits_told(view, waiting));
    }
    text
}

fn heading(view: &View, effects: &[&Effect]) -> String {
    let acts = counted(u64::try_from(effects.len()).unwrap_or(u64::MAX), "act", "acts");
    match view.mode_in_effect() {
        _ if effects.is_empty() => "Nothing would be done now.".to_owned(),
        None => format!("There is no Cell, so nobody acts. {acts} would be done if somebody led:"),
        Some(Mode::Observe) => format!("Mode Observe: nothing of this is done. {acts} would be, in this order:"),
        Some(Mode::Propose) => format!("Mode Propose: {acts}, in this order; those marked wait for a person's yes:"),
        Some(Mode::Act) => format!("Mode Act: {acts}, in this order; the leader does what is marked as ordered:"),
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
    if effects.iter().any(|effect| effect.act == Act::Cordon) && !gangs.is_empty() {
        let leaves = format!("  then its work is asked to save and to leave: {}", work(view, &gangs));
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
    let standing = match effect.standing {
        Standing::OnPaper => "on paper".to_owned(),
        Standing::Proposed => format!("waits for a yes to {}", effect.action),
        Standing::Ordered => "ordered".to_owned(),
    };
    let why = view.engine().why(&effect.node);
    let seen = why.map(|why| why.seen()).unwrap_or_default();
    let seen = if seen.is_empty() { String::new() } else { format!(" ({})", seen.join("; ")) };
    match &effect.act {
        Act::Record(_) => Vec::new(),
        Act::Cordon => {
            vec!["- takes new work".to_owned(), format!("+ cordoned, by {}{seen}; {standing}", effect.cause)]
        }
        Act::Uncordon => vec!["- cordoned".to_owned(), format!("+ takes new work, {standing}")],
        Act::AskCheckpoint { gang, answer_by, .. } => {
            vec![format!("+ {gang} is asked to save by {} UTC; {standing}", clock(answer_by.0))]
        }
        Act::Evict { gang } => vec![format!("- {gang} runs here"), format!("+ {gang} is stopped here; {standing}")],
    }
}

/// Those that wait on the same are told together: of a sick leaf, once.
fn waits_told(view: &View, waiting: &[Waits]) -> String {
    let mut groups: Vec<(&Waits, Vec<String>)> = Vec::new();
    for one in waiting {
        let same = |(first, _): &&mut (&Waits, Vec<String>)| first.waiting_on == one.waiting_on && first.why == one.why;
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
        let said = format!("{mark} {who} on {}: {}", first.waiting_on.word(), first.why);
        text.push_str(&wrapped(&said, COLUMNS - 2, "  "));
        if nodes.len() > 1 {
            text.push_str(&wrapped(&format!("  {}", few(nodes, NAMES_MAX)), COLUMNS - 2, "  ").replacen("", "  ", 1));
        }
    }
    if groups.len() > WAITING_MAX {
        text.push_str(&format!("and {} more: mainstay plan -o json\n", groups.len() - WAITING_MAX));
    }
    text
}
