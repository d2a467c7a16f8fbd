//! `mainstay serve`: the controller of one cell. Options, the metrics server and shutdown are here; the controller itself is
//! in `mainstay-kube`.

mod endpoints;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use mainstay_kube::{Controller, Error, JOURNAL_FILE_BYTES_MAX, JOURNAL_FILES_MAX, JournalSettings, Settings};
use mainstay_prometheus::Server;
use mainstay_telemetry::logs::LogOptions;
use mainstay_telemetry::shutdown::TerminationSignals;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tracing::{error, info};

use crate::manifests;
use crate::output::{CommandOutput, Problem};
use crate::prometheus;

pub(crate) const HELP: &str = concat!(
    "\
The controller watches nodes, pods, NodeReports and policies. It writes GpuNodes, Incidents, Events, the status of the \
Cell, of policies and of objectives, and one Lease. It never writes nodes or pods. Several replicas may run; one leads. It uses the service account of \
its pod, or the kubeconfig. Install the policies first: `mainstay render --part policy`.

Examples:
  mainstay serve
  mainstay serve --listen 0.0.0.0:9464 --audit-log /var/lib/mainstay
  mainstay serve --prometheus http://prometheus.monitoring:9090
  KUBECONFIG=controller.kubeconfig mainstay serve --lease-seconds 5 --log-format json

",
    crate::output::exit_codes!()
);

const MIB: u64 = 1024 * 1024;
const JOURNAL_FILE_MIB: u64 = JOURNAL_FILE_BYTES_MAX / MIB;

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
    /// Folder for the journal of facts, for `mainstay sim replay --journal`
    #[arg(long, value_name = "FOLDER")]
    journal: Option<PathBuf>,
    /// Size of a journal file without its snapshot, 1 to 1024 MiB
    #[arg(long, value_name = "MIB", default_value_t = JOURNAL_FILE_MIB, value_parser = clap::value_parser!(u64).range(1..=1_024))]
    journal_file_mib: u64,
    /// Journal files to keep, 1 to 64
    #[arg(long, value_name = "COUNT", default_value_t = JOURNAL_FILES_MAX, value_parser = clap::value_parser!(u32).range(1..=64))]
    journal_files: u32,
    /// Days to keep closed incidents before export to the audit log
    #[arg(long, default_value_t = 90, value_parser = clap::value_parser!(u64).range(1..=3_650))]
    incidents_kept_days: u64,
    /// Prometheus to read error budgets from, such as http://prometheus:9090
    #[arg(long, value_name = "URL", value_parser = prometheus::server)]
    prometheus: Option<Server>,
    #[command(flatten)]
    log: LogOptions,
}

impl ServeArgs {
    /// Runs the controller until it is stopped. A problem that ends it is an event of its log, too.
    pub(crate) fn run(self) -> Result<CommandOutput, Problem> {
        let _log = self.log.start().map_err(|error| broke(&error))?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let ended = runtime.map_err(|error| broke(&error)).and_then(|runtime| runtime.block_on(self.serve()));
        ended.inspect_err(|Problem { what, detail, hint }| error!(what, detail, hint, "controller failed"))
    }

    async fn serve(self) -> Result<CommandOutput, Problem> {
        let listener = TcpListener::bind(self.listen).await.map_err(|error| self.cannot_listen(&error))?;
        let address = listener.local_addr().map_err(|error| self.cannot_listen(&error))?;
        let controller = Controller::connect(self.settings()).await.map_err(|trouble| problem(&trouble))?;
        let mut stops = TerminationSignals::new().map_err(|error| broke(&error))?;
        let (identity, version) = (controller.identity(), env!("CARGO_PKG_VERSION"));
        info!(version, listen = %address, identity, "controller started");
        let (stop, told) = watch::channel(false);
        let pages = tokio::spawn(endpoints::serve(listener, controller.gauges(), told.clone()));
        let mut running = tokio::spawn(controller.run(told));
        let ended = tokio::select! {
            ended = &mut running => ended,
            signal = stops.received() => {
                info!(signal = signal.name(), "controller stopping");
                let _ = stop.send(true);
                running.await
            }
        };
        let _ = stop.send(true);
        let _ = pages.await;
        ended.map_err(|error| broke(&error))?.map_err(|trouble| problem(&trouble))?;
        Ok(CommandOutput::success(String::new()))
    }

    fn settings(&self) -> Settings {
        Settings {
            namespace: self.namespace.clone(),
            lease: Duration::from_secs(self.lease_seconds),
            record: self.audit_log.clone(),
            journal: self.journal.clone().map(|folder| JournalSettings {
                file_bytes_max: self.journal_file_mib * MIB,
                files_max: self.journal_files,
                ..JournalSettings::new(folder)
            }),
            incidents_kept: Duration::from_hours(24 * self.incidents_kept_days),
            prometheus: self.prometheus.clone(),
            ..Settings::default()
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
