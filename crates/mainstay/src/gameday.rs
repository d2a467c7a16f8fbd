//! `mainstay gameday`: drills. A drill lets a fault happen on purpose, in a virtual fleet or on a test cluster, and checks that
//! Mainstay finds it in time, that its alert fires, and that a runbook exists. It prints a report.

mod cluster;
mod demo;
mod drill;
mod report;

use clap::{Args, Subcommand};
use mainstay_prometheus::Server;
use mainstay_text::{Align, Table, duration};
use serde::Serialize;

use self::drill::Drill;
use self::report::DrillReport;
use crate::kubeconfig::{ClusterArgs, NamespaceArgs};
use crate::output::{self, CommandOutput, Problem, TextFormat};
use crate::prometheus;

pub(crate) const HELP: &str = concat!(
    "\
A drill on a cluster writes reports of nodes that have no agent, and `node-eviction` cordons a node and evicts its pods.
It is refused on a cluster whose Cell does not have the label mainstay.dev/test-cluster=true.

Examples:
  mainstay gameday list
  mainstay gameday run leaf-down --demo
  mainstay gameday run thermal --prometheus http://127.0.0.1:9090 > report.md

",
    crate::output::exit_codes!()
);

/// Subcommands of `mainstay gameday`.
#[derive(Subcommand)]
pub(crate) enum Gameday {
    /// List the drills
    #[command(after_help = "Examples:\n  mainstay gameday list\n  mainstay gameday list -o json")]
    List {
        /// Output format
        #[arg(short, long, value_enum, default_value_t = TextFormat::Text)]
        output: TextFormat,
    },
    /// Run a drill and print its report
    #[command(after_help = HELP)]
    Run(RunArgs),
}

/// Options of `gameday run`.
#[derive(Args)]
pub(crate) struct RunArgs {
    /// Drill name
    name: String,
    /// Run in a virtual fleet instead of a cluster
    #[arg(long, conflicts_with_all = ["prometheus", "kubeconfig", "context"])]
    demo: bool,
    /// Prometheus server of the cluster, to check alerts, http://HOST:PORT
    #[arg(long, value_name = "URL", value_parser = prometheus::server)]
    prometheus: Option<Server>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = TextFormat::Text)]
    output: TextFormat,
    #[command(flatten)]
    home: NamespaceArgs,
    #[command(flatten)]
    way: ClusterArgs,
}

/// One drill, as `gameday list -o json` prints it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DrillItem {
    name: &'static str,
    what: &'static str,
    alert: Option<&'static str>,
    incident_within_seconds: u64,
    runs_in_demo: bool,
}

#[derive(Serialize)]
struct Items {
    items: Vec<DrillItem>,
}

impl Gameday {
    pub(crate) fn run(self) -> Result<CommandOutput, Problem> {
        match self {
            Self::List { output } => list(output),
            Self::Run(args) => args.run(),
        }
    }
}

impl RunArgs {
    fn run(&self) -> Result<CommandOutput, Problem> {
        let drill = Drill::of(&self.name).ok_or_else(|| unknown(&self.name))?;
        if self.demo {
            return printed(&demo::run(drill)?, self.output);
        }
        self.way.run(async |client| {
            let report = cluster::run(drill, &client, &self.home.namespace, self.prometheus.as_ref()).await?;
            printed(&report, self.output)
        })
    }
}

fn printed(report: &DrillReport, form: TextFormat) -> Result<CommandOutput, Problem> {
    let text = match form {
        TextFormat::Text => report.markdown(),
        TextFormat::Json => output::json(report)?,
    };
    Ok(if report.has_passed() { CommandOutput::success(text) } else { CommandOutput::check_failed(text) })
}

fn list(form: TextFormat) -> Result<CommandOutput, Problem> {
    let items: Vec<DrillItem> = Drill::ALL
        .into_iter()
        .map(|drill| DrillItem {
            name: drill.name(),
            what: drill.what(),
            alert: drill.alert(),
            incident_within_seconds: drill.incident_within().0 / 1_000,
            runs_in_demo: drill.runs_in_demo(),
        })
        .collect();
    Ok(CommandOutput::success(match form {
        TextFormat::Json => output::json(&Items { items })?,
        TextFormat::Text => {
            let headers = [
                ("DRILL", Align::Left),
                ("WITHIN", Align::Right),
                ("DEMO", Align::Left),
                ("WHAT HAPPENS", Align::Left),
            ];
            let mut table = Table::new(&headers);
            for item in items {
                let demo = if item.runs_in_demo { "yes" } else { "no" };
                let within = duration(item.incident_within_seconds);
                table.row([item.name.to_owned(), within, demo.to_owned(), item.what.to_owned()]);
            }
            table.text() + "\nWITHIN is the limit for the incident. Run one: mainstay gameday run NAME\n"
        }
    }))
}

fn unknown(name: &str) -> Problem {
    Problem {
        what: format!("unknown drill {name}"),
        detail: format!("the drills are {}.", Drill::ALL.map(Drill::name).join(", ")),
        hint: "`mainstay gameday list` shows what each of them does.".to_owned(),
    }
}
