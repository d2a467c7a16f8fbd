//! `mainstay serve`: the controller of one cell. Words and options, the address where it can be asked how it does, and its
//! end are here; what it does is in `mainstay-kube`.

mod pages;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use mainstay_kube::{Controller, Heard, Settings, Trouble};
use serde::Serialize;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};

use crate::manifests;
use crate::output::{self, Plain as Output, Problem, Said};
use crate::stops::Stops;

pub(crate) const HELP: &str = concat!(
    "\
It watches nodes, pods, reports and policies, and writes its own records: GpuNodes, Incidents, the status of the Cell, Events
on them, and one Lease. Nodes and pods are never written to. Several may run; one leads. The server is that of the pod's
service account, or of the kubeconfig; the fence has to be there first (`mainstay render`).

Examples:
  mainstay serve
  mainstay serve --listen 0.0.0.0:9464 --record /var/lib/mainstay
  KUBECONFIG=controller.kubeconfig mainstay serve --lease-seconds 5 -o json

",
    crate::output::exit_codes!()
);

/// Lines that may wait to be printed.
const NEWS_MAX: usize = 64;

/// Everything that `serve` is told.
#[derive(Args)]
pub(crate) struct Serve {
    /// Where /metrics and /healthz are; port 0 takes any free one
    #[arg(long, default_value = "127.0.0.1:9464")]
    listen: SocketAddr,
    /// The namespace of its Lease
    #[arg(long, default_value = manifests::NAMESPACE)]
    namespace: String,
    /// How long a leader may be silent before another takes its place: 1 to 300
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u64).range(1..=300))]
    lease_seconds: u64,
    /// A folder for the record of what was decided (JSON lines, at most 8 files of 64 MiB); none is kept without it
    #[arg(long, value_name = "FOLDER")]
    record: Option<PathBuf>,
    /// Days that an incident which is over stays in the cluster; it is exported to the record before it goes
    #[arg(long, default_value_t = 90, value_parser = clap::value_parser!(u64).range(1..=3_650))]
    incidents_kept_days: u64,
    /// How to print what it says of itself
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Began<'a> {
    identity: &'a str,
    listen: SocketAddr,
    version: &'static str,
}

impl Serve {
    /// Runs until it is told to stop.
    pub(crate) fn run(self) -> Result<Said, Problem> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        runtime.map_err(|error| broke(&error))?.block_on(self.serve())
    }

    async fn serve(self) -> Result<Said, Problem> {
        let listener = TcpListener::bind(self.listen).await.map_err(|error| self.cannot_listen(&error))?;
        let address = listener.local_addr().map_err(|error| self.cannot_listen(&error))?;
        let controller = Controller::connect(self.settings()).await.map_err(|trouble| problem(&trouble))?;
        let began = Began { identity: controller.identity(), listen: address, version: env!("CARGO_PKG_VERSION") };
        let mut stops = Stops::new().map_err(|error| broke(&error))?;
        if output::line(&self.began(&began)?).is_err() {
            return Ok(Said::closed());
        }
        let (heard, mut news) = mpsc::channel(NEWS_MAX);
        controller.tell(heard);
        let (stop, told) = watch::channel(false);
        let pages = tokio::spawn(pages::answer(listener, controller.gauges(), told.clone()));
        let running = tokio::spawn(controller.run(told));
        let mut running = std::pin::pin!(running);
        let mut is_read = true;
        let ended = loop {
            tokio::select! {
                ended = &mut running => break ended,
                Some(heard) = news.recv(), if is_read => is_read = output::line(&self.heard(&heard)?).is_ok(),
                () = stops.heard() => {
                    let _ = stop.send(true);
                    break running.await;
                }
            }
        };
        let _ = stop.send(true);
        let _ = pages.await;
        ended.map_err(|error| broke(&error))?.map_err(|trouble| problem(&trouble))?;
        Ok(if is_read { Said::done(String::new()) } else { Said::closed() })
    }

    fn settings(&self) -> Settings {
        Settings {
            namespace: self.namespace.clone(),
            lease: Duration::from_secs(self.lease_seconds),
            record: self.record.clone(),
            incidents_kept: Duration::from_hours(24 * self.incidents_kept_days),
            ..Settings::default()
        }
    }

    fn began(&self, began: &Began<'_>) -> Result<String, Problem> {
        match self.output {
            Output::Json => output::json_line(began),
            Output::Text => Ok(format!(
                "mainstay {} serves as {}.\nIt tells how it does at http://{}/metrics and stops on SIGTERM.\n",
                began.version, began.identity, began.listen
            )),
        }
    }

    /// What a log should have of what the controller does.
    fn heard(&self, heard: &Heard) -> Result<String, Problem> {
        match (self.output, heard) {
            (Output::Json, heard) => output::json_line(heard),
            (Output::Text, Heard::Waits) => Ok("It waits for the Lease.\n".to_owned()),
            (Output::Text, Heard::Leads { epoch }) => Ok(format!("It leads the cell as epoch {epoch}.\n")),
            (Output::Text, Heard::Ended { why }) => Ok(format!("It leads no more: {why}.\n")),
        }
    }

    fn cannot_listen(&self, error: &std::io::Error) -> Problem {
        Problem {
            what: format!("{} cannot be listened on", self.listen),
            detail: format!("{error}."),
            hint: "another one may run there; say --listen 127.0.0.1:0 to take any free port.".to_owned(),
        }
    }
}

fn problem(trouble: &Trouble) -> Problem {
    let (what, hint) = match trouble {
        Trouble::Server(_) => (
            "the cluster cannot be reached",
            "run it in a pod with the account mainstay-controller, or point KUBECONFIG at a file of that account.",
        ),
        Trouble::Refused { .. } => (
            "the cluster does not let this account do what a controller does",
            "apply `mainstay render --part policy`, and run it as the account mainstay-controller.",
        ),
        Trouble::Failed { .. } => {
            ("the cluster does not answer as it should", "look at the API server, and try again.")
        }
        Trouble::Fence(_) => (
            "nothing keeps an older leader's writes out",
            "apply `mainstay render --part policy`, and run it as the account mainstay-controller: nobody else is fenced.",
        ),
        Trouble::Cell(_) => ("there is no Cell to serve", "apply `mainstay render --part policy`."),
        Trouble::Journal(_) => ("the record cannot be written", "give --record a folder that can be written to."),
    };
    Problem { what: what.to_owned(), detail: format!("{trouble}."), hint: hint.to_owned() }
}

fn broke(error: &dyn std::fmt::Display) -> Problem {
    Problem {
        what: "the controller broke".to_owned(),
        detail: format!("{error}."),
        hint: "this is a defect of mainstay: please report it with the command you ran.".to_owned(),
    }
}
