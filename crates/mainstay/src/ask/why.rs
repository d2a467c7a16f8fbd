//! `mainstay why`: the brain's own reasons for a node, an incident or a pod, in sentences.

use clap::{Args, Subcommand, ValueEnum};
use mainstay_api::http;
use mainstay_kube::View;
use mainstay_model::{GangId, NodeName, Stage, WaitingOn};
use serde::Serialize;

use super::cases::{self, Case};
use super::{names, needs};
use crate::cluster::{Answer, Way};
use crate::draw::marks::mark;
use crate::draw::{counted, duration, few, hung, thousands};
use crate::http::picture::why_of;
use crate::output::{Form, Problem, Said};

pub(crate) const HELP: &str = "\
Examples:
  mainstay why node r12n04
  mainstay why incident leaf-leaf-3-nic-port-down-20261115-031200
  mainstay why pod team-a/train-7-3 -o json

Moments are in UTC. A name that nobody knows is answered with those that are nearly so.";

const COLUMNS: usize = 100;
/// Room for the words on the left.
const LABEL: usize = 12;
/// Nodes of an incident or of a gang that speak for themselves; the others are counted.
const NODES_TOLD: usize = 3;
/// Names in one line.
const NAMES_MAX: usize = 6;

#[derive(Subcommand)]
pub(crate) enum Why {
    /// Why a node stands where it does
    #[command(after_help = "Examples:\n  mainstay why node r12n04\n  mainstay why node r12n04 -o json")]
    Node {
        /// Its name, as `kubectl get nodes` says it
        name: String,
        #[command(flatten)]
        how: How,
    },
    /// Why an incident is open, and what is being done about it
    #[command(after_help = "Examples:\n  mainstay why incident r12n04-gpu-off-the-bus-20261115-031200")]
    Incident {
        /// Its name, as `mainstay incident list` says it
        name: String,
        #[command(flatten)]
        how: How,
    },
    /// Whether a pod's nodes are sick, or being emptied
    #[command(after_help = "Examples:\n  mainstay why pod team-a/train-7-3")]
    Pod {
        /// Its namespace and its name
        #[arg(value_name = "NAMESPACE/NAME")]
        name: String,
        #[command(flatten)]
        how: How,
    },
}

#[derive(Args)]
pub(crate) struct How {
    /// How to print it
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
    #[command(flatten)]
    way: Way,
}

#[derive(Clone, Copy, ValueEnum)]
enum Output {
    /// For people
    Text,
    /// For programs
    Json,
    /// For programs, and for people with an editor
    Yaml,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OfNode {
    node: String,
    stage: Stage,
    waiting_on: WaitingOn,
    #[serde(flatten)]
    why: http::Why,
    kept_away_by: Option<String>,
    gangs: Vec<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OfIncident {
    incident: String,
    blamed: String,
    rule: String,
    nodes: Vec<String>,
    gpus: u32,
    opened_at: i64,
    closed_at: Option<i64>,
    acknowledged_by: Option<String>,
    /// Of the first few of its nodes.
    why: Vec<OfNode>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OfPod {
    pod: String,
    node: String,
    gang: String,
    nodes: Vec<String>,
    gpus: u32,
    /// Of those of its nodes that are not simply in service.
    sick: Vec<OfNode>,
}

impl Output {
    const fn form(self) -> Form {
        match self {
            Self::Text => Form::Table,
            Self::Json => Form::Json,
            Self::Yaml => Form::Yaml,
        }
    }
}

impl Why {
    pub(crate) fn run(&self) -> Result<Said, Problem> {
        match self {
            Self::Node { name, how } => how.way.tell(how.output.form(), async |_, view| node(view, name)),
            Self::Incident { name, how } => how.way.tell(how.output.form(), async |_, view| incident(view, name)),
            Self::Pod { name, how } => how.way.tell(how.output.form(), async |_, view| pod(view, name)),
        }
    }
}

/// The node of this name, or what else it may have been.
pub(super) fn known_node<'a>(view: &'a View, name: &str) -> Result<&'a NodeName, Problem> {
    let found = view.nodes().keys().find(|node| node.as_str() == name);
    let known = view.nodes().keys().map(NodeName::as_str);
    found.ok_or_else(|| names::unknown("node", name, known, "mainstay node list"))
}

/// The incident of this name, open or over.
pub(super) fn known_case<'a>(view: &'a View, name: &str) -> Result<Case<'a>, Problem> {
    let mut all = cases::all(view);
    match all.iter().position(|case| case.name == name) {
        Some(place) => Ok(all.swap_remove(place)),
        None => {
            let known = all.iter().map(|case| case.name.as_str());
            Err(names::unknown("incident", name, known, "mainstay incident list --all"))
        }
    }
}

fn node(view: &View, name: &str) -> Result<Answer, Problem> {
    let name = known_node(view, name)?;
    match of_node(view, name) {
        Some((told, text)) => Answer::new(&told, text + &mode_line(view)),
        None => Err(Problem {
            what: format!("nothing is known of {name} but its name"),
            detail: "a report or a record is left of it, and it is not registered as a node.".to_owned(),
            hint: format!("`mainstay node history {name}` tells what is on record."),
        }),
    }
}

/// Why one node stands where it does; none where it is not registered.
fn of_node(view: &View, name: &NodeName) -> Option<(OfNode, String)> {
    let why = view.engine().why(name)?;
    let gangs = gangs_on(view, name);
    let mut lines = vec![format!(
        "{} {name}  {:?} for {}\n",
        mark(why.stage),
        why.stage,
        duration(why.as_of.since(why.since).0 / 1_000)
    )];
    if let Some((rule, device)) = &why.rule {
        let on = device.as_ref().map(|device| format!(" on {device}")).unwrap_or_default();
        let seen = why.seen();
        let seen = if seen.is_empty() { String::new() } else { format!(": {}", seen.join("; ")) };
        lines.push(labelled("Because", &format!("{rule}{on}{seen}")));
    }
    let until = why.until.map(|until| format!(", until {} UTC at most", clock(until.0))).unwrap_or_default();
    if why.wait.on() == WaitingOn::Nothing {
        lines.push(labelled("Waits on", &format!("nothing: {}", why.what())));
    } else {
        lines.push(labelled("Waits on", &format!("{}: {}{until}", why.wait.on().word(), why.what())));
        lines.push(labelled("Next", &why.next()));
    }
    lines.extend(why.sooner().map(|sooner| labelled("Sooner", &sooner)));
    lines.extend(why.stuck_at.map(|at| labelled("Told", &format!("a person, at {} UTC", clock(at.0)))));
    let others = view.others(name);
    let kept_away_by = others.and_then(|others| others.kept_away.as_ref()).map(ToString::to_string);
    lines.extend(kept_away_by.as_ref().map(|by| labelled("Others", &format!("{by} keeps work away"))));
    let repairs = others.and_then(|others| others.remediator);
    lines.extend(repairs.map(|who| labelled("Others", &format!("{who} repairs it as well"))));
    lines.push(labelled("Work", &work(view, &gangs)));
    let told = OfNode {
        node: name.to_string(),
        stage: why.stage,
        waiting_on: why.wait.on(),
        why: why_of(&why),
        kept_away_by,
        gangs: gangs.iter().map(|(gang, _)| gang.to_string()).collect(),
    };
    Some((told, lines.concat()))
}

/// Gangs on a node, and on how many nodes each is.
pub(super) fn gangs_on<'a>(view: &'a View, node: &NodeName) -> Vec<(&'a GangId, usize)> {
    let on = view.gangs().iter().filter(|(_, facts)| facts.nodes.as_slice().contains(node));
    on.map(|(gang, facts)| (gang, facts.nodes.as_slice().len())).collect()
}

pub(super) fn work(view: &View, gangs: &[(&GangId, usize)]) -> String {
    if needs::is_unread(view, "pods") {
        return "unknown: this account may not read pods".to_owned();
    }
    let named = |(gang, nodes): &(&GangId, usize)| match nodes {
        1 => gang.to_string(),
        nodes => format!("{gang} (on {nodes} nodes)"),
    };
    let named: Vec<String> = gangs.iter().map(named).collect();
    if named.is_empty() { "none".to_owned() } else { few(&named, NAMES_MAX) }
}

fn incident(view: &View, name: &str) -> Result<Answer, Problem> {
    let case = known_case(view, name)?;
    // Where all of them wait on the same, one speaks for all.
    let most = if case.is_shared() { 1 } else { NODES_TOLD };
    let whys: Vec<(OfNode, String)> = case.nodes.iter().filter_map(|node| of_node(view, node)).take(most).collect();
    let mut text = headline(view, &case);
    text.push_str(&labelled("Nodes", &few(&case.nodes.iter().map(ToString::to_string).collect::<Vec<_>>(), NAMES_MAX)));
    text.push_str(&labelled("Seen by", &seen_by(&case)));
    if case.closed_at.is_none() {
        for (_, why) in &whys {
            text.push('\n');
            text.push_str(why);
        }
        let more = case.nodes.len().saturating_sub(whys.len());
        if more > 0 {
            text.push_str(&format!("\n{}: mainstay node list --stage Suspect\n", counted_more(more)));
        }
    }
    text.push_str(&mode_line(view));
    let told = OfIncident {
        incident: case.name.clone(),
        blamed: case.blamed(view),
        rule: case.rule.to_string(),
        nodes: case.nodes.iter().map(ToString::to_string).collect(),
        gpus: case.gpus,
        opened_at: case.opened_at.0,
        closed_at: case.closed_at.map(|at| at.0),
        acknowledged_by: case.acknowledged.map(|said| said.by.to_string()),
        why: whys.into_iter().map(|(told, _)| told).collect(),
    };
    Answer::new(&told, text)
}

fn counted_more(more: usize) -> String {
    counted(u64::try_from(more).unwrap_or(u64::MAX), "more node", "more nodes")
}

/// What it is, how large, and since when.
pub(super) fn headline(view: &View, case: &Case<'_>) -> String {
    let nodes = counted(u64::try_from(case.nodes.len()).unwrap_or(u64::MAX), "node", "nodes");
    let for_ = match case.closed_at {
        None => format!("open for {}", duration(view.now().since(case.opened_at).0 / 1_000)),
        Some(at) => format!("over; it lasted {}", duration(at.since(case.opened_at).0 / 1_000)),
    };
    let blamed = case.blamed(view);
    format!("{blamed}: {}\n{nodes} with {} GPUs, {for_}\n", case.rule, thousands(case.gpus.into()))
}

pub(super) fn seen_by(case: &Case<'_>) -> String {
    match case.acknowledged {
        Some(said) => {
            let note = said.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
            format!("{}{note}", said.by)
        }
        None if case.status.is_none() => "nobody: it is not written down yet".to_owned(),
        None if case.closed_at.is_some() => "nobody".to_owned(),
        None => format!("nobody: mainstay incident ack {}", case.name),
    }
}

fn pod(view: &View, name: &str) -> Result<Answer, Problem> {
    let Some((namespace, pod)) = name.split_once('/') else {
        return Err(Problem {
            what: format!("{name} does not say in which namespace"),
            detail: "a pod is known by both.".to_owned(),
            hint: format!("say it like `mainstay why pod default/{name}`."),
        });
    };
    if needs::is_unread(view, "pods") {
        return Err(Problem {
            what: "this account may not read pods".to_owned(),
            detail: "so nobody can say on which nodes they are.".to_owned(),
            hint: "ask for the right to list pods, or look at the node: `mainstay why node NAME`.".to_owned(),
        });
    }
    let Some((gang, node)) = view.pod(namespace, pod) else {
        let known: Vec<String> = view.pods().map(|(namespace, name)| format!("{namespace}/{name}")).collect();
        let list = "kubectl get pods --all-namespaces";
        let mut problem = names::unknown("running pod", name, known.iter().map(String::as_str), list);
        problem.hint.push_str(" One that waits, has ended or belongs to its node is not looked at.");
        return Err(problem);
    };
    let nodes = view.gangs().get(gang).map_or(&[][..], |facts| facts.nodes.as_slice());
    let gpus = nodes.iter().filter_map(|node| view.nodes().get(node)?.facts.as_ref());
    let gpus: u32 = gpus.map(|facts| u32::from(facts.gpus)).sum();
    let is_sick = |node: &&NodeName| view.engine().report(node).is_some_and(|line| line.stage != Stage::InService);
    let sick: Vec<(OfNode, String)> = nodes.iter().filter(is_sick).filter_map(|node| of_node(view, node)).collect();
    let on = counted(u64::try_from(nodes.len()).unwrap_or(u64::MAX), "node", "nodes");
    let mut text = format!("{name} is on {node}, of gang {gang}: {on} with {} GPUs\n", thousands(gpus.into()));
    if sick.is_empty() {
        text.push_str("Nothing speaks against any of its nodes.\n");
    } else {
        let all = counted(u64::try_from(sick.len()).unwrap_or(u64::MAX), "of its nodes is", "of its nodes are");
        text.push_str(&format!("{all} not simply in service:\n"));
        for (_, why) in sick.iter().take(NODES_TOLD) {
            text.push('\n');
            text.push_str(why);
        }
    }
    if !sick.is_empty() {
        text.push_str(&mode_line(view));
    }
    let told = OfPod {
        pod: name.to_owned(),
        node: node.to_string(),
        gang: gang.to_string(),
        nodes: nodes.iter().map(ToString::to_string).collect(),
        gpus,
        sick: sick.into_iter().map(|(told, _)| told).collect(),
    };
    Answer::new(&told, text)
}

/// Why the mode that an operator set has no effect; empty where it is in effect.
fn mode_line(view: &View) -> String {
    view.mode_notice().map_or_else(String::new, |notice| labelled("Mode", notice.trim_start_matches("Mode ")))
}

pub(super) fn labelled(label: &str, said: &str) -> String {
    let lines = hung(said, COLUMNS, LABEL);
    let label = format!("  {label}");
    format!("{label:<LABEL$}{lines}")
}

/// A moment of today as a clock shows it, else with its date.
pub(super) fn clock(at: i64) -> String {
    let at = jiff::Timestamp::from_millisecond(at).unwrap_or_default();
    at.strftime("%F %T").to_string()
}
