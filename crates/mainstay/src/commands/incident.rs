//! `mainstay incident`: lists, shows and acknowledges incidents, and writes their post-mortems.

use clap::Subcommand;
use mainstay_api::IncidentStatus;
use mainstay_api::http::Postmortem;
use mainstay_kube::{View, user_actions};
use mainstay_model::Timestamp;
use mainstay_text::{Align, Table, cut, duration, few, gpu_hours, thousands};
use mainstay_web::render::postmortem::postmortem;
use serde::Serialize;

use super::incidents::{self, IncidentView};
use super::why::{acknowledgement_text, clock, headline, known_case, labelled, lost};
use crate::kubeconfig::{self, QueryArgs, QueryOutput};
use crate::output::{CommandOutput, Problem, TableFormat};

pub(crate) const HELP: &str = "\
Examples:
  mainstay incident list
  mainstay incident show leaf-leaf-3-gpu-off-the-bus-20261115-031200
  mainstay incident ack leaf-leaf-3-gpu-off-the-bus-20261115-031200
  mainstay incident postmortem leaf-leaf-3-gpu-off-the-bus-20261115-031200 > postmortem.md";

const COLUMNS: usize = 100;
/// Incidents in the text; all of them are in the JSON.
const LISTED_MAX: usize = 500;
/// Nodes that are named.
const NODES_NAMED: usize = 24;

/// Subcommands of `mainstay incident`: list, show, ack and postmortem.
#[derive(Subcommand)]
pub(crate) enum IncidentCommand {
    /// List incidents, largest first
    #[command(after_help = "\
Examples:
  mainstay incident list
  mainstay incident list --all -o wide
  mainstay incident list -o json | jq -r '.items[].name'")]
    List {
        /// Closed incidents as well
        #[arg(short, long)]
        all: bool,
        /// Continuous output: print again on every change
        #[arg(short, long)]
        watch: bool,
        #[command(flatten)]
        how: QueryArgs,
    },
    /// Show one incident with evidence and actions
    #[command(after_help = "Examples:\n  mainstay incident show r12n04-gpu-off-the-bus-20261115-031200")]
    Show {
        /// Incident name
        name: String,
        #[command(flatten)]
        how: QueryArgs,
    },
    /// Write the post-mortem of an incident as Markdown
    #[command(after_help = "\
Timeline, evidence, cost and open questions, from what the cluster has on record.

Examples:
  mainstay incident postmortem r12n04-gpu-off-the-bus-20261115-031200 > postmortem.md
  mainstay incident postmortem r12n04-gpu-off-the-bus-20261115-031200 -o json")]
    Postmortem {
        /// Incident name
        name: String,
        #[command(flatten)]
        how: QueryArgs,
    },
    /// Acknowledge an incident
    #[command(after_help = "\
Written under your own account. If the incident is already acknowledged, the command keeps the first acknowledgement and prints its author.

Examples:
  mainstay incident ack r12n04-gpu-off-the-bus-20261115-031200")]
    Ack {
        /// Incident name
        name: String,
        #[command(flatten)]
        how: QueryArgs,
    },
}

/// One incident, as `incident list` and `incident show` print it in JSON and YAML.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct IncidentDocument<'a> {
    name: &'a str,
    title: String,
    explanation: &'static str,
    runbook: Option<&'static str>,
    subject: &'a mainstay_model::Subject,
    rule: String,
    state: &'static str,
    opened_at: i64,
    closed_at: Option<i64>,
    nodes: Vec<String>,
    gpus: u32,
    lost_gpu_seconds: u64,
    acknowledged_by: Option<String>,
    note: Option<String>,
    /// The stored status; none where no leader has stored it yet.
    status: Option<&'a IncidentStatus>,
}

#[derive(Serialize)]
struct Items<'a> {
    items: Vec<IncidentDocument<'a>>,
}

/// Incident and author of its acknowledgement, as `incident ack -o json` prints them.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AckDocument<'a> {
    name: &'a str,
    acknowledged_by: String,
}

impl IncidentCommand {
    pub(crate) fn run(&self) -> Result<CommandOutput, Problem> {
        match self {
            Self::List { all, watch, how } => {
                let ask = async |_: &mainstay_kube::Client, view: &View| {
                    let cases = if *all { incidents::all(view) } else { incidents::open(view) };
                    let text = list(view, &cases, *all, how.output == TableFormat::Wide);
                    QueryOutput::new(&Items { items: cases.iter().map(|case| document(view, case)).collect() }, text)
                };
                if *watch { how.cluster.watch(how.output, &ask) } else { how.cluster.query(how.output, ask) }
            }
            Self::Show { name, how } => how.cluster.query(how.output, async |_, view| {
                let case = known_case(view, name)?;
                QueryOutput::new(&document(view, &case), show(view, &case))
            }),
            Self::Postmortem { name, how } => how.cluster.query(how.output, async |_, view| {
                let case = known_case(view, name)?;
                let detail = crate::ui::incident(view, &case.name).ok_or_else(|| Problem {
                    what: format!("{name} has no record"),
                    detail: "the record holds open incidents and the newest closed ones.".to_owned(),
                    hint: format!("`mainstay incident show {name}` prints what is stored."),
                })?;
                let markdown = postmortem(&detail, view.now().0);
                QueryOutput::new(&Postmortem { markdown: markdown.clone() }, markdown)
            }),
            Self::Ack { name, how } => how.cluster.query(how.output, async |client, view| {
                let case = known_case(view, name)?;
                if case.status.is_none() {
                    return Err(Problem {
                        what: format!("{name} is not stored yet"),
                        detail: "it has just opened, or no controller leads.".to_owned(),
                        hint: "try again in a second; `mainstay doctor` shows whether a controller leads.".to_owned(),
                    });
                }
                let by =
                    user_actions::acknowledge(client, name).await.map_err(|trouble| kubeconfig::problem(&trouble))?;
                let text = format!("{name}\nacknowledged by {by}\n");
                QueryOutput::new(&AckDocument { name, acknowledged_by: by.to_string() }, text)
            }),
        }
    }
}

fn document<'a>(view: &View, case: &'a IncidentView<'_>) -> IncidentDocument<'a> {
    let fault = case.fault(view);
    IncidentDocument {
        name: &case.name,
        title: case.title(view),
        explanation: fault.explanation,
        runbook: fault.runbook,
        subject: &case.subject,
        rule: case.rule.to_string(),
        state: if case.closed_at.is_some() { "Closed" } else { "Open" },
        opened_at: case.opened_at.0,
        closed_at: case.closed_at.map(|at| at.0),
        nodes: case.nodes.iter().map(ToString::to_string).collect(),
        gpus: case.gpus,
        lost_gpu_seconds: case.lost_gpu_seconds,
        acknowledged_by: case.acknowledged.map(|said| said.by.to_string()),
        note: case.acknowledged.and_then(|said| said.note.as_ref()).map(ToString::to_string),
        status: case.status,
    }
}

fn list(view: &View, cases: &[IncidentView<'_>], all: bool, wide: bool) -> String {
    if cases.is_empty() {
        let more = if all { "" } else { " Closed incidents: mainstay incident list --all" };
        return format!("No incidents.{more}\n");
    }
    let mut headers =
        vec![("NODES", Align::Right), ("GPUS", Align::Right), ("FOR", Align::Right), ("STATE", Align::Left)];
    headers.insert(0, ("NAME", Align::Left));
    if wide {
        headers.extend([
            ("INCIDENT", Align::Left),
            ("RULE", Align::Left),
            ("LOST GPU-HOURS", Align::Right),
            ("OPENED (UTC)", Align::Left),
            ("ACK BY", Align::Left),
        ]);
    }
    let mut table = Table::new(&headers);
    for case in cases.iter().take(LISTED_MAX) {
        let end = case.closed_at.unwrap_or_else(|| view.now());
        let state = match (case.closed_at, case.acknowledged) {
            (Some(_), _) => "● closed",
            (None, Some(_)) => "◐ acknowledged",
            (None, None) => "▲ open",
        };
        let mut row = vec![
            case.name.clone(),
            thousands(u64::try_from(case.nodes.len()).unwrap_or(u64::MAX)),
            thousands(case.gpus.into()),
            duration(end.since(case.opened_at).0 / 1_000),
            state.to_owned(),
        ];
        if wide {
            row.extend([
                case.title(view),
                case.rule.to_string(),
                gpu_hours(case.lost_gpu_seconds),
                clock(case.opened_at.0),
                case.acknowledged.map_or_else(String::new, |said| said.by.to_string()),
            ]);
        }
        table.row(row);
    }
    let columns = if wide { usize::MAX } else { COLUMNS };
    let mut text: String = table.text().lines().map(|line| cut(line.trim_start(), columns) + "\n").collect();
    if cases.len() > LISTED_MAX {
        text.push_str(&format!("{} more incidents: mainstay incident list -o json\n", cases.len() - LISTED_MAX));
    }
    text
}

fn show(view: &View, case: &IncidentView<'_>) -> String {
    let mut text = headline(view, case);
    let names: Vec<String> = case.nodes.iter().map(ToString::to_string).collect();
    text.push_str(&labelled("Opened", &format!("{} UTC", clock(case.opened_at.0))));
    if let Some(at) = case.closed_at {
        text.push_str(&labelled("Closed", &format!("{} UTC", clock(at.0))));
    }
    text.push_str(&labelled("Nodes", &few(&names, NODES_NAMED)));
    text.push_str(&labelled("Acknowledged", &acknowledgement_text(case)));
    let Some(status) = case.status else { return text };
    text.push_str(&labelled("Lost work", &lost(case)));
    let evidence = status.evidence.as_slice();
    if !evidence.is_empty() {
        let mut table = Table::new(&[
            ("EVIDENCE", Align::Left),
            ("NODE", Align::Left),
            ("PART", Align::Left),
            ("COUNT", Align::Right),
            ("ARRIVED (UTC)", Align::Left),
        ]);
        for one in evidence {
            table.row([
                format!("{} {}", mainstay_engine::why::source_word(one.source), one.code),
                one.node.to_string(),
                one.device.as_ref().map_or_else(String::new, ToString::to_string),
                one.count.to_string(),
                clock(Timestamp::from(one.arrived_at).0),
            ]);
        }
        text.push('\n');
        text.push_str(&table.text());
    }
    let actions = status.actions.as_slice();
    if !actions.is_empty() {
        let mut table = Table::new(&[
            ("ACTION", Align::Left),
            ("NODE", Align::Left),
            ("DECIDED (UTC)", Align::Left),
            ("OUTCOME", Align::Left),
        ]);
        for one in actions {
            table.row([
                one.kind.to_string(),
                one.node.to_string(),
                clock(Timestamp::from(one.decided_at).0),
                one.outcome.as_ref().map_or_else(|| "dry run; pending".to_owned(), ToString::to_string),
            ]);
        }
        text.push('\n');
        text.push_str(&table.text());
    }
    text
}
