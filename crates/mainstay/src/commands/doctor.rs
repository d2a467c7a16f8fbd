//! `mainstay doctor`: checks an installation piece by piece, and prints what to do about each that is missing or wrong. It reads,
//! and tries the fence and another client's write by dry runs; it repairs nothing.

mod checks;
mod fleet;
mod installation;

use clap::Args;
use mainstay_kube::View;
use mainstay_prometheus::Server;
use mainstay_text::{counted, hung};
use serde::Serialize;

use super::leader;
use crate::kubeconfig::{self, ClusterArgs, NamespaceArgs, QueryOutput};
use crate::output::{CommandOutput, Problem, TableFormat};
use crate::prometheus;

pub(crate) const HELP: &str = concat!(
    "\
Two writes are tried as dry runs, so nothing is written: an annotation on a node with your own account, and a write of
an older leader with the controller's account, if you may impersonate it.

With --fleet it also checks that the fleet is ready for production: objectives, drivers, checkpoints, capacity, telemetry
and alert rules. These checks only warn.

Examples:
  mainstay doctor
  mainstay doctor --fleet --prometheus http://127.0.0.1:9090
  mainstay doctor -o json | jq '.checks[] | select(.level != \"Ok\")'

",
    crate::output::exit_codes!()
);

const COLUMNS: usize = 100;
/// Where what is said begins.
const COLUMN: usize = 22;

/// How it is told.
#[derive(Args)]
pub(crate) struct Doctor {
    /// Also check that the fleet is ready for production
    #[arg(long)]
    fleet: bool,
    /// Prometheus server with the fleet's metrics, http://HOST:PORT
    #[arg(long, value_name = "URL", requires = "fleet", value_parser = prometheus::server)]
    prometheus: Option<Server>,
    /// How to print it
    #[arg(short, long, value_enum, default_value_t = TableFormat::Table)]
    output: TableFormat,
    #[command(flatten)]
    home: NamespaceArgs,
    #[command(flatten)]
    way: ClusterArgs,
}

/// How a check went.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
enum Level {
    Ok,
    Warn,
    Fail,
}

/// One check.
#[derive(Clone, PartialEq, Eq, Serialize)]
struct Check {
    level: Level,
    what: &'static str,
    says: String,
    /// What to do; none where nothing is to be done.
    hint: Option<String>,
    /// Every missing object, as kind and name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing: Vec<String>,
}

/// Results of all checks, as `doctor -o json` prints them.
#[derive(Serialize)]
struct DoctorReport {
    version: &'static str,
    checks: Vec<Check>,
}

impl Doctor {
    pub(crate) fn run(&self) -> Result<CommandOutput, Problem> {
        self.way.run(async |client| {
            let view = View::read(&client).await.map_err(|trouble| kubeconfig::problem(&trouble))?;
            let namespace = &self.home.namespace;
            let leader = leader::leader(&client, &view, namespace).await?;
            let mut checks = vec![checks::server(&client).await?];
            checks.extend(installation::all(&client, &view, namespace).await?);
            checks.push(installation::other_clients(&client, &view).await?);
            checks.push(installation::in_force(&view, self.way.config().await?, namespace, &leader).await);
            checks.push(checks::leader(&view, &leader, namespace));
            checks.push(checks::agents(&view));
            checks.push(checks::versions(&client, &view).await?);
            checks.push(checks::invalid(&view));
            checks.push(checks::pools(&view));
            checks.extend(checks::limits(&view.engine().pool_limits()));
            checks.push(checks::fabric(&view));
            checks.push(checks::others(&view));
            checks.push(checks::permissions(&client, &view).await?);
            if self.fleet {
                checks.extend(fleet::all(&client, &view, self.prometheus.as_ref()).await?);
            }
            let has_failed = checks.iter().any(|check| check.level == Level::Fail);
            let text = text(&checks);
            let checked = DoctorReport { version: env!("CARGO_PKG_VERSION"), checks };
            QueryOutput::new(&checked, text)?.needs_operator(has_failed).into_output(self.output)
        })
    }
}

fn text(checks: &[Check]) -> String {
    let mut text = String::new();
    for check in checks {
        let level = match check.level {
            Level::Ok => "✓ ok  ",
            Level::Warn => "! warn",
            Level::Fail => "✕ fail",
        };
        let says = hung(&check.says, COLUMNS, COLUMN);
        text.push_str(&format!("{level}  {:<12}  {says}", check.what));
        if let Some(hint) = check.hint.as_ref().filter(|_| check.level != Level::Ok) {
            text.push_str(&format!("{}{}", " ".repeat(COLUMN), hung(hint, COLUMNS, COLUMN)));
        }
    }
    let count = |level: Level| u64::try_from(checks.iter().filter(|check| check.level == level).count()).unwrap_or(0);
    let (warn, fail) = (count(Level::Warn), count(Level::Fail));
    text.push_str(&match (fail, warn) {
        (0, 0) => "\nAll checks passed.\n".to_owned(),
        (0, warn) => format!("\nNothing failed; {}.\n", counted(warn, "warning", "warnings")),
        (fail, warn) => {
            format!("\n{}, {}.\n", counted(fail, "check failed", "checks failed"), counted(warn, "warning", "warnings"))
        }
    });
    text
}
