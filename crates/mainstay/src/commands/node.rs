//! `mainstay node`: lists nodes, shows one node and its history.

mod show;

use clap::Subcommand;
use mainstay_api::http::NodeLine;
use mainstay_kube::View;
use mainstay_model::{Level, NodeName, Stage, Timestamp, WaitingOn};
use mainstay_text::{Align, Table, cut, duration, percent};
use serde::Serialize;

use super::why::{gangs_on, known_node};
use crate::kubeconfig::{QueryArgs, QueryOutput};
use crate::marks::mark;
use crate::output::{CommandOutput, Problem, TableFormat};

pub(crate) const HELP: &str = "\
Examples:
  mainstay node list
  mainstay node show r12n04
  mainstay node history r12n04";

const COLUMNS: usize = 100;

/// Subcommands of `mainstay node`: list, show and history.
#[derive(Subcommand)]
pub(crate) enum NodeCommand {
    /// List nodes, those with faults first
    #[command(after_help = "\
Examples:
  mainstay node list
  mainstay node list --stage Suspect -o wide
  mainstay node list --pool train -o json | jq -r '.items[] | select(.riskPpm > 50000) | .name'")]
    List {
        /// Stage to filter by, for example Suspect
        #[arg(long, value_name = "STAGE", value_parser = stage)]
        stage: Option<Stage>,
        /// Pool to filter by
        #[arg(long, value_name = "POOL")]
        pool: Option<String>,
        /// Continuous output: print again on every change
        #[arg(short, long)]
        watch: bool,
        #[command(flatten)]
        how: QueryArgs,
    },
    /// Show one node in detail
    #[command(after_help = "Examples:\n  mainstay node show r12n04\n  mainstay node show r12n04 -o yaml")]
    Show {
        /// Node name
        name: String,
        #[command(flatten)]
        how: QueryArgs,
    },
    /// Show the history of one node
    #[command(after_help = "\
The status of a node keeps its last 16 stage changes, 16 repair attempts, 8 decisions and 8 incidents.

Examples:
  mainstay node history r12n04")]
    History {
        /// Node name
        name: String,
        #[command(flatten)]
        how: QueryArgs,
    },
}

#[derive(Serialize)]
struct Items<T> {
    items: Vec<T>,
}

impl NodeCommand {
    pub(crate) fn run(&self) -> Result<CommandOutput, Problem> {
        match self {
            Self::List { stage, pool, watch, how } => {
                let ask = async |_: &mainstay_kube::Client, view: &View| {
                    let lines = lines(view, *stage, pool.as_deref());
                    let text = list(view, &lines, how.output == TableFormat::Wide);
                    QueryOutput::new(&Items { items: lines }, text)
                };
                if *watch { how.cluster.watch(how.output, &ask) } else { how.cluster.query(how.output, ask) }
            }
            Self::Show { name, how } => {
                how.cluster.query(how.output, async |_, view| show::show(view, known_node(view, name)?))
            }
            Self::History { name, how } => {
                how.cluster.query(how.output, async |_, view| show::history(view, known_node(view, name)?))
            }
        }
    }
}

fn stage(text: &str) -> Result<Stage, String> {
    let named = |stage: &Stage| format!("{stage:?}").eq_ignore_ascii_case(text);
    let all = Stage::ALL.map(|stage| format!("{stage:?}")).join(", ");
    Stage::ALL.into_iter().find(named).ok_or_else(|| format!("stages are {all}"))
}

/// One line of the list; none for a node that is not registered.
pub(super) fn line(view: &View, name: &NodeName) -> Option<NodeLine> {
    let facts = view.nodes().get(name)?.facts.as_ref()?;
    let why = view.engine().why(name)?;
    view.engine().report(name)?;
    let domain = |level: Level| facts.domains.get(&level).map_or_else(String::new, ToString::to_string);
    Some(NodeLine {
        name: name.to_string(),
        stage: why.stage,
        since: why.since.0,
        waiting_on: why.wait.on(),
        rule: why.rule.as_ref().map(|(rule, _)| rule.to_string()),
        message: why.fault.as_ref().map_or_else(String::new, |fault| fault.title.clone()),
        job: gangs_on(view, name).first().map(|(gang, _)| gang.to_string()),
        risk_ppm: view.engine().risk(name).map_or(0, |risk| risk.ppm.0),
        rack: domain(Level::Rack),
        leaf: domain(Level::Leaf),
        gpus: facts.gpus.into(),
    })
}

fn lines(view: &View, stage: Option<Stage>, pool: Option<&str>) -> Vec<NodeLine> {
    let of_pool = |name: &&NodeName| {
        let facts = view.nodes().get(*name).and_then(|seen| seen.facts.as_ref());
        pool.is_none_or(|pool| facts.is_some_and(|facts| facts.pool.as_str() == pool))
    };
    let all = view.nodes().keys().filter(of_pool).filter_map(|name| line(view, name));
    let mut lines: Vec<NodeLine> = all.filter(|line| stage.is_none_or(|stage| line.stage == stage)).collect();
    let is_calm = |line: &NodeLine| line.stage == Stage::InService && line.waiting_on == WaitingOn::Nothing;
    lines.sort_by_cached_key(|line| (is_calm(line), line.name.clone()));
    lines
}

fn list(view: &View, lines: &[NodeLine], wide: bool) -> String {
    if lines.is_empty() {
        return "No nodes match. Mainstay lists nodes with GPUs and nodes with the label mainstay.dev/pool.\n"
            .to_owned();
    }
    let mut headers = vec![
        ("NODE", Align::Left),
        ("STAGE", Align::Left),
        ("FOR", Align::Right),
        ("WAITING ON", Align::Left),
        ("RULE", Align::Left),
        ("GPUS", Align::Right),
        ("POOL", Align::Left),
        ("OTHERS", Align::Left),
    ];
    if wide {
        headers.extend([
            ("RACK", Align::Left),
            ("LEAF", Align::Left),
            ("DRIVER", Align::Left),
            ("REPORTED", Align::Right),
            ("RISK %", Align::Right),
            ("JOB", Align::Left),
        ]);
    }
    let mut table = Table::new(&headers);
    for line in lines {
        let seen = view.nodes().iter().find(|(name, _)| name.as_str() == line.name);
        let Some((name, seen)) = seen else { continue };
        let others = view.others(name).and_then(|others| others.kept_away.as_ref());
        let waits = if line.waiting_on == WaitingOn::Nothing { "" } else { line.waiting_on.word() };
        let mut row = vec![
            line.name.clone(),
            format!("{} {:?}", mark(line.stage), line.stage),
            ago(view, Some(Timestamp(line.since))),
            waits.to_owned(),
            line.rule.clone().unwrap_or_default(),
            line.gpus.to_string(),
            seen.facts.as_ref().map_or_else(String::new, |facts| facts.pool.to_string()),
            others.map_or_else(String::new, |by| format!("cordoned by {by}")),
        ];
        if wide {
            let driver = seen.report.as_ref().map(|report| report.inventory.driver.to_string());
            row.extend([
                line.rack.clone(),
                line.leaf.clone(),
                driver.unwrap_or_default(),
                seen.reported_at.map_or_else(|| "never".to_owned(), |at| ago(view, Some(at))),
                percent(line.risk_ppm.into(), 1_000_000, 1),
                line.job.clone().unwrap_or_default(),
            ]);
        }
        table.row(row);
    }
    let columns = if wide { usize::MAX } else { COLUMNS };
    table.text().lines().map(|line| cut(line.strip_prefix("  ").unwrap_or(line), columns) + "\n").collect()
}

fn ago(view: &View, at: Option<Timestamp>) -> String {
    at.map_or_else(String::new, |at| duration(view.now().since(at).0 / 1_000))
}
