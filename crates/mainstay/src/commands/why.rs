//! `mainstay why`: what is wrong with a node, an incident, a pod or an objective, since when, what happens next and what to do.

use clap::Subcommand;
use mainstay_api::http;
use mainstay_engine::why::NO_ACTION;
use mainstay_kube::View;
use mainstay_model::{GangId, NodeName, Stage, WaitingOn};
use mainstay_text::{counted, duration, few, gpu_hours, hung, thousands};
use mainstay_web::snapshot::why_of;
use serde::Serialize;

use super::incidents::{self, IncidentView};
use super::{names, needs, slo};
use crate::kubeconfig::{QueryArgs, QueryOutput};
use crate::marks::mark;
use crate::output::{CommandOutput, Problem};
use crate::runbook;

pub(crate) const HELP: &str = "\
Examples:
  mainstay why node r12n04
  mainstay why incident leaf-leaf-3-nic-port-down-20261115-031200
  mainstay why pod team-a/train-7-3 -o json
  mainstay why slo research-jobs

Times are in UTC. For an unknown name, similar names are printed.";

const COLUMNS: usize = 100;
/// Width of the labels on the left.
const LABEL: usize = 16;
/// Nodes of an incident or of a job that are explained; the rest is a number.
const NODES_TOLD: usize = 3;
/// Names in one line.
const NAMES_MAX: usize = 6;
/// Jobs of one incident that are listed.
const JOBS_MAX: usize = 64;

/// Subcommands of `mainstay why`: node, incident, pod and slo.
#[derive(Subcommand)]
pub(crate) enum WhyCommand {
    /// Explain the state of a node
    #[command(after_help = "Examples:\n  mainstay why node r12n04\n  mainstay why node r12n04 -o json")]
    Node {
        /// Node name, as in `kubectl get nodes`
        name: String,
        #[command(flatten)]
        how: QueryArgs,
    },
    /// Explain an incident and its next step
    #[command(after_help = "Examples:\n  mainstay why incident r12n04-gpu-off-the-bus-20261115-031200")]
    Incident {
        /// Incident name, as in `mainstay incident list`
        name: String,
        #[command(flatten)]
        how: QueryArgs,
    },
    /// Show faults on the nodes of a pod
    #[command(after_help = "Examples:\n  mainstay why pod team-a/train-7-3")]
    Pod {
        /// Namespace and name of the pod
        #[arg(value_name = "NAMESPACE/NAME")]
        name: String,
        #[command(flatten)]
        how: QueryArgs,
    },
    /// Explain the error budget of an objective
    #[command(after_help = "Examples:\n  mainstay why slo research-jobs\n  mainstay why slo research-jobs -o json")]
    Slo {
        /// Slo name, as in `mainstay slo list`
        name: String,
        #[command(flatten)]
        how: QueryArgs,
    },
}

/// Explanation of the state of one node, as `why node -o json` prints it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NodeExplanation {
    node: String,
    stage: Stage,
    waiting_on: WaitingOn,
    #[serde(flatten)]
    why: http::NodeExplanation,
    kept_away_by: Option<String>,
    gangs: Vec<String>,
}

/// Explanation of one incident and its first nodes, as `why incident -o json` prints it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct IncidentExplanation {
    incident: String,
    title: String,
    explanation: &'static str,
    runbook: Option<&'static str>,
    rule: String,
    /// Jobs on its nodes.
    jobs: Vec<String>,
    nodes: Vec<String>,
    gpus: u32,
    opened_at: i64,
    closed_at: Option<i64>,
    acknowledged_by: Option<String>,
    /// The first few of its nodes.
    why: Vec<NodeExplanation>,
}

/// Job of one pod and the faults on its nodes, as `why pod -o json` prints them.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PodExplanation {
    pod: String,
    node: String,
    gang: String,
    nodes: Vec<String>,
    gpus: u32,
    /// Its nodes that are not in service or have a fault.
    sick: Vec<NodeExplanation>,
}

impl WhyCommand {
    pub(crate) fn run(&self) -> Result<CommandOutput, Problem> {
        match self {
            Self::Node { name, how } => how.cluster.query(how.output, async |_, view| node(view, name)),
            Self::Incident { name, how } => how.cluster.query(how.output, async |_, view| incident(view, name)),
            Self::Pod { name, how } => how.cluster.query(how.output, async |_, view| pod(view, name)),
            Self::Slo { name, how } => slo::why(name, how),
        }
    }
}

/// The node of this name, or a problem that lists similar names.
pub(super) fn known_node<'a>(view: &'a View, name: &str) -> Result<&'a NodeName, Problem> {
    let found = view.nodes().keys().find(|node| node.as_str() == name);
    let known = view.nodes().keys().map(NodeName::as_str);
    found.ok_or_else(|| names::unknown("node", name, known, "mainstay node list"))
}

/// The incident of this name, open or closed.
pub(super) fn known_case<'a>(view: &'a View, name: &str) -> Result<IncidentView<'a>, Problem> {
    let mut all = incidents::all(view);
    match all.iter().position(|case| case.name == name) {
        Some(place) => Ok(all.swap_remove(place)),
        None => {
            let known = all.iter().map(|case| case.name.as_str());
            Err(names::unknown("incident", name, known, "mainstay incident list --all"))
        }
    }
}

fn node(view: &View, name: &str) -> Result<QueryOutput, Problem> {
    let name = known_node(view, name)?;
    match of_node(view, name) {
        Some((told, text)) => QueryOutput::new(&told, text + &mode_line(view)),
        None => Err(Problem {
            what: format!("{name} is not registered as a node"),
            detail: "Kubernetes has no GPU node of this name; only an agent report or a stored status remains."
                .to_owned(),
            hint: format!("`mainstay node history {name}` shows the stored status."),
        }),
    }
}

/// Explains one node; none where it is not registered.
fn of_node(view: &View, name: &NodeName) -> Option<(NodeExplanation, String)> {
    let why = view.engine().why(name)?;
    let gangs = gangs_on(view, name);
    let mut lines =
        vec![format!("{} {}\n", mark(why.stage), why.fault.as_ref().map_or(name.as_str(), |fault| &fault.title))];
    let since = duration(why.as_of.since(why.since).0 / 1_000);
    lines.push(labelled("State", &format!("{:?} for {since}", why.stage)));
    if let Some(fault) = &why.fault {
        lines.extend(Some(fault.explanation).filter(|text| !text.is_empty()).map(|text| labelled("Meaning", text)));
        let seen = why.seen();
        if !seen.is_empty() {
            lines.push(labelled("Evidence", &seen.join("; ")));
        }
        lines.push(labelled("Rule", fault.rule.as_str()));
        lines.extend(fault.runbook.map(|name| labelled("Runbook", &runbook::command(name))));
    }
    let unrecognised = why.unrecognised();
    if !unrecognised.is_empty() {
        lines.push(labelled("Unrecognised", &unrecognised.join("; ")));
    }
    let until = why.until.map(|until| format!(", until {} UTC at most", clock(until.0))).unwrap_or_default();
    lines.push(labelled("Waiting for", &format!("{}: {}{until}", why.wait.on().noun(), why.what())));
    lines.push(labelled("Next", &why.next()));
    lines.extend(why.sooner().map(|sooner| labelled("Sooner if", &sooner)));
    lines.extend(
        why.stuck_at.map(|at| labelled("Limit", &format!("{} UTC: then operator action is needed", clock(at.0)))),
    );
    let others = view.others(name);
    let kept_away_by = others.and_then(|others| others.kept_away.as_ref()).map(ToString::to_string);
    lines.extend(kept_away_by.as_ref().map(|by| labelled("Others", &format!("cordoned by {by}"))));
    let repairs = others.and_then(|others| others.remediator);
    lines.extend(repairs.map(|who| labelled("Others", &format!("{who} repairs it as well"))));
    lines.push(labelled("Jobs", &work(view, &gangs)));
    lines.push(labelled("Action", &why.action().unwrap_or_else(|| NO_ACTION.to_owned())));
    let told = NodeExplanation {
        node: name.to_string(),
        stage: why.stage,
        waiting_on: why.wait.on(),
        why: why_of(&why),
        kept_away_by,
        gangs: gangs.iter().map(|(gang, _)| gang.to_string()).collect(),
    };
    Some((told, lines.concat()))
}

/// Jobs on a node, with the number of nodes of each.
pub(super) fn gangs_on<'a>(view: &'a View, node: &NodeName) -> Vec<(&'a GangId, usize)> {
    let on = view.gangs().iter().filter(|(_, facts)| facts.nodes.as_slice().contains(node));
    on.map(|(gang, facts)| (gang, facts.nodes.as_slice().len())).collect()
}

pub(super) fn work(view: &View, gangs: &[(&GangId, usize)]) -> String {
    if needs::is_unread(view, "pods") {
        return "unknown: no permission to read pods".to_owned();
    }
    let named = |(gang, nodes): &(&GangId, usize)| match nodes {
        1 => gang.to_string(),
        nodes => format!("{gang} ({nodes} nodes)"),
    };
    let named: Vec<String> = gangs.iter().map(named).collect();
    if named.is_empty() { "none".to_owned() } else { few(&named, NAMES_MAX) }
}

fn incident(view: &View, name: &str) -> Result<QueryOutput, Problem> {
    let case = known_case(view, name)?;
    // Nodes of a shared cause wait for the same thing, so one is enough.
    let most = if case.is_shared() { 1 } else { NODES_TOLD };
    let whys: Vec<(NodeExplanation, String)> =
        case.nodes.iter().filter_map(|node| of_node(view, node)).take(most).collect();
    let mut text = headline(view, &case);
    text.push_str(&labelled("Nodes", &few(&case.nodes.iter().map(ToString::to_string).collect::<Vec<_>>(), NAMES_MAX)));
    let jobs = jobs(view, &case);
    text.push_str(&labelled("Jobs", &jobs_text(view, &jobs)));
    text.push_str(&labelled("Lost work", &lost(&case)));
    text.push_str(&labelled("Acknowledged", &acknowledgement_text(&case)));
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
    let told = IncidentExplanation {
        incident: case.name.clone(),
        title: case.title(view),
        explanation: case.fault(view).explanation,
        runbook: case.fault(view).runbook,
        rule: case.rule.to_string(),
        jobs,
        nodes: case.nodes.iter().map(ToString::to_string).collect(),
        gpus: case.gpus,
        opened_at: case.opened_at.0,
        closed_at: case.closed_at.map(|at| at.0),
        acknowledged_by: case.acknowledged.map(|said| said.by.to_string()),
        why: whys.into_iter().map(|(told, _)| told).collect(),
    };
    QueryOutput::new(&told, text)
}

fn jobs_text(view: &View, jobs: &[String]) -> String {
    if needs::is_unread(view, "pods") {
        return "unknown: no permission to read pods".to_owned();
    }
    if jobs.is_empty() { "none".to_owned() } else { few(jobs, NAMES_MAX) }
}

/// Work that the incident cost, as far as it is stored.
pub(super) fn lost(case: &IncidentView<'_>) -> String {
    match case.lost_gpu_seconds {
        0 => "not known for a real cluster yet".to_owned(),
        lost => format!("{} GPU-hours", gpu_hours(lost)),
    }
}

/// Jobs on the nodes of an incident, by name.
fn jobs(view: &View, case: &IncidentView<'_>) -> Vec<String> {
    let on =
        view.gangs().iter().filter(|(_, facts)| facts.nodes.as_slice().iter().any(|node| case.nodes.contains(node)));
    on.map(|(gang, _)| gang.to_string()).take(JOBS_MAX).collect()
}

fn counted_more(more: usize) -> String {
    counted(u64::try_from(more).unwrap_or(u64::MAX), "more node", "more nodes")
}

/// Title, size and duration.
pub(super) fn headline(view: &View, case: &IncidentView<'_>) -> String {
    let nodes = counted(u64::try_from(case.nodes.len()).unwrap_or(u64::MAX), "node", "nodes");
    let for_ = match case.closed_at {
        None => format!("open for {}", duration(view.now().since(case.opened_at).0 / 1_000)),
        Some(at) => format!("closed after {}", duration(at.since(case.opened_at).0 / 1_000)),
    };
    let mut text = format!("{}\n{nodes} with {} GPUs, {for_}\n", case.title(view), thousands(case.gpus.into()));
    let fault = case.fault(view);
    if !fault.explanation.is_empty() {
        text.push_str(&labelled("Meaning", fault.explanation));
    }
    if let Some(name) = fault.runbook {
        text.push_str(&labelled("Runbook", &runbook::command(name)));
    }
    text
}

pub(super) fn acknowledgement_text(case: &IncidentView<'_>) -> String {
    match case.acknowledged {
        Some(said) => {
            let note = said.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
            format!("by {}{note}", said.by)
        }
        None if case.status.is_none() => "no: no leader has stored it yet".to_owned(),
        None if case.closed_at.is_some() => "no".to_owned(),
        None => format!("no: mainstay incident ack {}", case.name),
    }
}

fn pod(view: &View, name: &str) -> Result<QueryOutput, Problem> {
    let Some((namespace, pod)) = name.split_once('/') else {
        return Err(Problem {
            what: format!("{name} has no namespace"),
            detail: "a pod is identified by namespace and name.".to_owned(),
            hint: format!("for example: `mainstay why pod default/{name}`."),
        });
    };
    if needs::is_unread(view, "pods") {
        return Err(Problem {
            what: "no permission to read pods".to_owned(),
            detail: "the nodes of a pod are unknown without it.".to_owned(),
            hint: "ask for permission to list pods, or check the node: `mainstay why node NAME`.".to_owned(),
        });
    }
    let Some((gang, node)) = view.pod(namespace, pod) else {
        let known: Vec<String> = view.pods().map(|(namespace, name)| format!("{namespace}/{name}")).collect();
        let list = "kubectl get pods --all-namespaces";
        let mut problem = names::unknown("running pod", name, known.iter().map(String::as_str), list);
        problem.hint.push_str(" Pending and finished pods and pods of a DaemonSet are not included.");
        return Err(problem);
    };
    let nodes = view.gangs().get(gang).map_or(&[][..], |facts| facts.nodes.as_slice());
    let gpus = nodes.iter().filter_map(|node| view.nodes().get(node)?.facts.as_ref());
    let gpus: u32 = gpus.map(|facts| u32::from(facts.gpus)).sum();
    let is_sick = |node: &&NodeName| view.engine().report(node).is_some_and(|line| line.stage != Stage::InService);
    let sick: Vec<(NodeExplanation, String)> =
        nodes.iter().filter(is_sick).filter_map(|node| of_node(view, node)).collect();
    let on = counted(u64::try_from(nodes.len()).unwrap_or(u64::MAX), "node", "nodes");
    let mut text = format!("{name} runs on {node} as part of job {gang}: {on} with {} GPUs\n", thousands(gpus.into()));
    if sick.is_empty() {
        text.push_str("No fault found on its nodes. No action needed.\n");
    } else {
        let all = counted(u64::try_from(sick.len()).unwrap_or(u64::MAX), "of its nodes has", "of its nodes have");
        text.push_str(&format!("{all} a fault or an out-of-service stage:\n"));
        for (_, why) in sick.iter().take(NODES_TOLD) {
            text.push('\n');
            text.push_str(why);
        }
    }
    if !sick.is_empty() {
        text.push_str(&mode_line(view));
    }
    let told = PodExplanation {
        pod: name.to_owned(),
        node: node.to_string(),
        gang: gang.to_string(),
        nodes: nodes.iter().map(ToString::to_string).collect(),
        gpus,
        sick: sick.into_iter().map(|(told, _)| told).collect(),
    };
    QueryOutput::new(&told, text)
}

/// Why the mode that an operator set has no effect; empty where it is in effect.
fn mode_line(view: &View) -> String {
    view.mode_notice().map_or_else(String::new, |notice| labelled("Mode", notice.trim_start_matches("Mode ")))
}

/// One line with a label on the left. A long text continues under its beginning.
pub(crate) fn labelled(label: &str, text: &str) -> String {
    let lines = hung(text, COLUMNS, LABEL);
    let label = format!("  {label}");
    format!("{label:<LABEL$}{lines}")
}

/// A time in UTC.
pub(super) fn clock(at: i64) -> String {
    let at = jiff::Timestamp::from_millisecond(at).unwrap_or_default();
    at.strftime("%F %T").to_string()
}
