//! `mainstay serve`: the controller of one cell. Options, the metrics server and shutdown are here; the controller itself is
//! in `mainstay-kube`.

mod endpoints;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use mainstay_kube::{Controller, ControllerEvent, Error, Settings};
use mainstay_telemetry::shutdown::TerminationSignals;
use serde::Serialize;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};

use crate::manifests;
use crate::output::{self, CommandOutput, Problem, TextFormat as Output};

pub(crate) const HELP: &str = concat!(
    "\
The controller watches nodes, pods, NodeReports and policies. It writes GpuNodes, Incidents, Events, the status of the \
Cell and one Lease. It never writes nodes or pods. Several replicas may run; one leads. It uses the service account of \
its pod, or the kubeconfig. Install the policies first: `mainstay render --part policy`.

Examples:
  mainstay serve
  mainstay serve --listen 0.0.0.0:9464 --audit-log /var/lib/mainstay
  KUBECONFIG=controller.kubeconfig mainstay serve --lease-seconds 5 -o json

",
    crate::output::exit_codes!()
);

/// Lines that may wait to be printed.
const NEWS_MAX: usize = 64;

/// Arguments of `mainstay serve`.
#[derive(Args)]
pub(crate) struct ServeArgs {
    /// Listen address of /metrics and /healthz; port 0 for any free port
    #[arg(long, default_value = "127.0.0.1:9464")]
    listen: SocketAddr,
    /// Namespace of the Lease
    #[arg(long, default_value = manifests::NAMESPACE)]
    namespace: String,
    /// Lease duration until another replica takes over, 1 to 300
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u64).range(1..=300))]
    lease_seconds: u64,
    /// Folder for the audit log, at most 8 files of 64 MiB
    #[arg(long, value_name = "FOLDER")]
    audit_log: Option<PathBuf>,
    /// Days to keep closed incidents before export to the audit log
    #[arg(long, default_value_t = 90, value_parser = clap::value_parser!(u64).range(1..=3_650))]
    incidents_kept_days: u64,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

/// First output line of the controller: its identity, listen address and version.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StartupInfo<'a> {
    identity: &'a str,
    listen: SocketAddr,
    version: &'static str,
}

impl ServeArgs {
    /// Runs the controller until it is stopped.
    pub(crate) fn run(self) -> Result<CommandOutput, Problem> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        runtime.map_err(|error| broke(&error))?.block_on(self.serve())
    }

    async fn serve(self) -> Result<CommandOutput, Problem> {
        let listener = TcpListener::bind(self.listen).await.map_err(|error| self.cannot_listen(&error))?;
        let address = listener.local_addr().map_err(|error| self.cannot_listen(&error))?;
        let controller = Controller::connect(self.settings()).await.map_err(|trouble| problem(&trouble))?;
        let began =
            StartupInfo { identity: controller.identity(), listen: address, version: env!("CARGO_PKG_VERSION") };
        let mut stops = TerminationSignals::new().map_err(|error| broke(&error))?;
        if output::line(&self.began(&began)?).is_err() {
            return Ok(CommandOutput::closed());
        }
        let (heard, mut news) = mpsc::channel(NEWS_MAX);
        controller.set_event_channel(heard);
        let (stop, told) = watch::channel(false);
        let pages = tokio::spawn(endpoints::serve(listener, controller.gauges(), told.clone()));
        let running = tokio::spawn(controller.run(told));
        let mut running = std::pin::pin!(running);
        let mut is_read = true;
        let ended = loop {
            tokio::select! {
                ended = &mut running => break ended,
                Some(heard) = news.recv(), if is_read => is_read = output::line(&self.log_line(&heard)?).is_ok(),
                _ = stops.received() => {
                    let _ = stop.send(true);
                    break running.await;
                }
            }
        };
        let _ = stop.send(true);
        let _ = pages.await;
        ended.map_err(|error| broke(&error))?.map_err(|trouble| problem(&trouble))?;
        Ok(if is_read { CommandOutput::success(String::new()) } else { CommandOutput::closed() })
    }

    fn settings(&self) -> Settings {
        Settings {
            namespace: self.namespace.clone(),
            lease: Duration::from_secs(self.lease_seconds),
            record: self.audit_log.clone(),
            incidents_kept: Duration::from_hours(24 * self.incidents_kept_days),
            ..Settings::default()
        }
    }

    fn began(&self, began: &StartupInfo<'_>) -> Result<String, Problem> {
        match self.output {
            Output::Json => output::json_line(began),
            Output::Text => Ok(format!(
                "mainstay {} controller started as {}.\nMetrics: http://{}/metrics. SIGTERM stops it.\n",
                began.version, began.identity, began.listen
            )),
        }
    }

    /// A line of the controller's log.
    fn log_line(&self, heard: &ControllerEvent) -> Result<String, Problem> {
        match (self.output, heard) {
            (Output::Json, heard) => output::json_line(heard),
            (Output::Text, ControllerEvent::Waits) => Ok("Standby: waiting for the Lease.\n".to_owned()),
            (Output::Text, ControllerEvent::Leads { epoch }) => Ok(format!("Leader of the cell, epoch {epoch}.\n")),
            (Output::Text, ControllerEvent::Ended { why }) => Ok(format!("No longer leader: {why}.\n")),
        }
    }

    fn cannot_listen(&self, error: &std::io::Error) -> Problem {
        Problem {
            what: format!("cannot listen on {}", self.listen),
            detail: format!("{error}."),
            hint: "another program may use it; use --listen 127.0.0.1:0 for any free port.".to_owned(),
        }
    }
}

fn problem(trouble: &Error) -> Problem {
    let (what, hint) = match trouble {
        Error::Kubeconfig(_) => (
            "there is no usable kubeconfig",
            "run it in a pod with the account mainstay-controller, or point KUBECONFIG at a file of that account.",
        ),
        Error::Server(_) => (
            "cannot reach the API server",
            "check the network and the server address in KUBECONFIG, or run `mainstay serve` in a pod of the cluster.",
        ),
        Error::Credentials(_) => (
            "the API server does not accept these credentials",
            "use a token of the account mainstay-controller that is valid: `kubectl create token` makes one for an hour.",
        ),
        Error::Incomplete(_) => (
            "the installation is not complete",
            "follow docs/install/install.md, and run it as the account mainstay-controller; `mainstay doctor` names each missing piece.",
        ),
        Error::Refused { .. } => (
            "this account lacks permissions of the controller",
            "apply `mainstay render --part policy`, and use the account mainstay-controller (docs/operate/serve.md).",
        ),
        Error::Failed { .. } => ("unexpected response from the API server", "check the API server, and try again."),
        Error::Fence(_) => (
            "writes of a stale leader would not be rejected",
            "apply `mainstay render --part policy`, and use the account mainstay-controller; only it is fenced.",
        ),
        Error::Cell(_) => ("the cluster has no Cell", "apply `mainstay render --part policy`."),
        Error::Journal(_) => ("cannot write the audit log", "use a writable folder for --audit-log."),
    };
    Problem { what: what.to_owned(), detail: format!("{trouble}."), hint: hint.to_owned() }
}

fn broke(error: &dyn std::fmt::Display) -> Problem {
    Problem {
        what: "the controller failed".to_owned(),
        detail: format!("{error}."),
        hint: "this is a bug in mainstay: please report it with the command you ran.".to_owned(),
    }
}
