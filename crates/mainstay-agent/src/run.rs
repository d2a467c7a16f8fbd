//! `run`: the daemon. It ends within two seconds of SIGTERM, whatever hangs, because nothing is waited for but the disk
//! and NVML, and those not for long.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use jiff::Timestamp;
use mainstay_model::{BootId, Literal, NodeUid};
use mainstay_signal::{Signal, TallyOutcome};
use mainstay_telemetry::logs::LogOptions;
use mainstay_telemetry::shutdown::TerminationSignals;
use tokio::net::TcpListener;
use tokio::time::Instant;
use tracing::{error, info, warn};

use crate::agent::{Agent, AgentUpdate};
use crate::cluster::{Cluster, ClusterEvent, ClusterOptions};
use crate::control::ControlSocket;
use crate::kmsg::StartPosition;
use crate::listen::{self, DataRequest};
use crate::metrics;
use crate::output::{self, CommandOutput, Outcome, Problem};
use crate::report_rate::ReportSchedule;
use crate::settings::Settings;
use crate::sources::nvml::NvmlSession;
use crate::sources::{SourceError, SourceName};
use crate::store::state_file::{self, StateWriter};

/// How long the last write may take: with what else there is, an end within two seconds.
const LAST_WRITE: Duration = Duration::from_secs(1);

/// A report waits so long for the store to be on disk, so that a count that was told is never taken back.
const KEPT_WITHIN: Duration = Duration::from_secs(2);

/// State file, listen address, control socket and API server of `run`.
#[derive(Debug, Args)]
pub(crate) struct DaemonOptions {
    /// State file that keeps evidence across restarts
    #[arg(long, value_name = "FILE", default_value = "/var/lib/mainstay-agent/state.json")]
    pub(crate) state: PathBuf,
    /// Listen address of /metrics, /report and /healthz
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9471")]
    pub(crate) listen: SocketAddr,
    /// Control socket for release and hold [default: next to --state]
    #[arg(long, value_name = "SOCKET")]
    pub(crate) control: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) cluster: ClusterOptions,
    #[command(flatten)]
    pub(crate) log: LogOptions,
}

/// UID in the report of an agent that has joined no cluster.
const UNREGISTERED: Literal<NodeUid> = NodeUid::literal("unregistered");

/// Runs the daemon until a signal ends it. A problem that ends it is an event of its log, too.
pub(crate) async fn run(settings: Settings, boot: BootId, daemon: &DaemonOptions) -> Result<CommandOutput, Problem> {
    let _log = daemon.log.start().map_err(no_threads)?;
    collect(settings, boot, daemon).await.inspect_err(|Problem { what, detail, hint }| {
        error!(what, detail, hint, "agent failed");
    })
}

async fn collect(settings: Settings, boot: BootId, daemon: &DaemonOptions) -> Result<CommandOutput, Problem> {
    let (keeper, store, found) = StateWriter::open(&daemon.state, &boot).map_err(|error| no_state(daemon, &error))?;
    let from = store.log().counted_to.map_or(StartPosition::Oldest, StartPosition::After);
    let listener = TcpListener::bind(daemon.listen).await.map_err(|error| {
        let what = format!("cannot listen on {}", daemon.listen);
        Problem::new(what, error, "choose another --listen address, or stop the program that uses it.")
    })?;
    let control = daemon.control.clone().unwrap_or_else(|| daemon.state.with_extension("sock"));
    let control = ControlSocket::bind(&control, boot.clone()).map_err(|error| {
        let what = format!("cannot create the control socket {}", control.display());
        Problem::new(what, error, "choose another --control: a short path on a local file system.")
    })?;
    let (found, damage) = match found {
        state_file::LoadOutcome::ThisBoot => ("this boot", None),
        state_file::LoadOutcome::Nothing => ("nothing", None),
        state_file::LoadOutcome::Damaged(why) => ("damaged", Some(why)),
    };
    info!(
        version = env!("CARGO_PKG_VERSION"),
        listen = %listener.local_addr().unwrap_or(daemon.listen),
        boot = boot.as_str(),
        state = %daemon.state.display(),
        found,
        counted_to = store.log().counted_to,
        "agent started"
    );
    if let Some(why) = damage {
        warn!(%why, "state file damaged and renamed to .damaged");
    }
    let cluster = daemon.cluster.join().await?;
    if let Some(cluster) = &cluster {
        info!(node = cluster.node().as_str(), uid = cluster.node_uid().as_str(), "reporting to the API server");
    }
    let guest = NvmlSession::new();
    if let Some(left) = control.order().remaining(crate::now()) {
        guest.release(left);
    }
    let mut agent = Agent::start_as(guest, settings, store, Some(keeper), from).map_err(no_threads)?;
    let mut signals = TerminationSignals::new().map_err(no_threads)?;
    let (mut requests, begun) = (listen::start(listener), Instant::now());
    let pace = if cluster.is_some() { ReportSchedule::among_many } else { ReportSchedule::new };
    let mut reports = Reports { pace: pace(begun), templates: 0, last: None, cluster };
    let mut unavailable = UnavailableSources::default();
    let ended_by = loop {
        tokio::select! {
            happened = agent.next() => {
                let happened = happened.map_err(no_threads)?;
                tell(&happened);
                unavailable.tell(agent.store().troubles());
                reports.after(&happened, &mut agent);
            }
            Some(request) = requests.recv() => answer(request, &agent, &reports, begun),
            news = reports.news() => reports.hear(&news, &mut agent),
            asked = control.accept() => {
                if let Ok(stream) = asked {
                    control.answer(stream, agent.guest().clone());
                }
            }
            signal = signals.received() => break signal.name(),
        }
    };
    info!(signal = ended_by, "agent stopping");
    agent.end(LAST_WRITE).await;
    Ok(CommandOutput { text: String::new(), outcome: Outcome::Nothing })
}

/// Answers a request of an HTTP client. A client that left needs no answer.
fn answer(request: DataRequest, agent: &Agent, reports: &Reports, begun: Instant) {
    match request {
        DataRequest::Samples(reply) => {
            let counts = reports.cluster.as_ref().map(|cluster| &**cluster.counts());
            let _ = reply.send(metrics::samples(agent, counts, begun.elapsed()));
        }
        DataRequest::Report(reply) => drop(reply.send(reports.last.clone())),
        DataRequest::Health(reply) => drop(reply.send(())),
    }
}

/// The report that is told, where to, and when the next one is.
struct Reports {
    pace: ReportSchedule,
    /// Templates that a report was scheduled for.
    templates: u64,
    last: Option<Arc<str>>,
    cluster: Option<Cluster>,
}

impl Reports {
    fn after(&mut self, happened: &AgentUpdate, agent: &mut Agent) {
        let now = Instant::now();
        for change in &happened.changes {
            self.pace.noted(change.noted, now);
        }
        if agent.store().templates() > self.templates {
            self.templates = agent.store().templates();
            self.pace.noted(TallyOutcome::New, now);
        }
        let kept = agent.keeper().is_none_or(|keeper| keeper.settled() && keeper.due_in(agent.store()).is_none());
        let waited = self.pace.is_due(now.checked_sub(KEPT_WITHIN).unwrap_or(now));
        if self.pace.is_due(now) && (kept || waited) && agent.has_looked() {
            self.pace.written(now);
            let report = agent.store_mut().report(self.node_uid().unwrap_or(&UNREGISTERED.get()), crate::now());
            self.last = output::json(&report, true).ok().map(Into::into);
            if let Some(cluster) = &self.cluster {
                cluster.report(report);
            }
        }
    }

    fn node_uid(&self) -> Option<&NodeUid> {
        self.cluster.as_ref().map(Cluster::node_uid)
    }

    async fn news(&mut self) -> ClusterEvent {
        match &mut self.cluster {
            Some(cluster) => cluster.news().await,
            None => std::future::pending().await,
        }
    }

    fn hear(&mut self, news: &ClusterEvent, agent: &mut Agent) {
        match news {
            ClusterEvent::Behind(held) => {
                warn!(sequence = held, "the API server has a later report of this boot");
                agent.store_mut().advance_past(*held);
                self.pace.noted(TallyOutcome::New, Instant::now());
            }
            ClusterEvent::Stands(Some(status)) => {
                info!(stage = ?status.stage, orders = status.orders, "node stage changed");
            }
            ClusterEvent::Epoch(epoch) => agent.store_mut().read_epoch(*epoch),
            ClusterEvent::Stands(None) => info!("this node has no GpuNode"),
            ClusterEvent::Refused(why) => warn!(why, "report refused"),
            ClusterEvent::Written => info!("reports accepted again"),
        }
    }
}

/// The sources that the log shows as unavailable, with the reason that it shows.
#[derive(Default)]
struct UnavailableSources(BTreeMap<SourceName, String>);

impl UnavailableSources {
    /// Logs a source when it becomes unavailable, when the reason changes, and when it is back.
    fn tell(&mut self, troubles: &BTreeMap<SourceName, SourceError>) {
        let now: BTreeMap<SourceName, String> = troubles
            .iter()
            .filter(|(_, trouble)| trouble.unavailable)
            .map(|(source, trouble)| (*source, trouble.what.clone()))
            .collect();
        for (source, why) in now.iter().filter(|(source, why)| self.0.get(*source) != Some(*why)) {
            warn!(source = source.word(), why, "source unavailable");
        }
        for source in self.0.keys().filter(|source| !now.contains_key(*source)) {
            info!(source = source.word(), "source available again");
        }
        self.0 = now;
    }
}

/// Logs evidence when it is new. Repeats are counted in the report, so that many errors do not fill the node's journal.
fn tell(happened: &AgentUpdate) {
    for change in happened.changes.iter().filter(|change| change.noted == TallyOutcome::New) {
        let Signal { source, code, place, detail } = &change.signal;
        let at = Timestamp::from_millisecond(change.at.0).unwrap_or(Timestamp::MAX);
        info!(%at, ?source, %code, %place, %detail, times = change.times, "new evidence");
    }
}

fn no_threads(error: std::io::Error) -> Problem {
    Problem::new("the agent cannot start", error, "check the resource limits of the process (ulimit).")
}

fn no_state(daemon: &DaemonOptions, error: &std::io::Error) -> Problem {
    let path = daemon.state.display();
    if error.kind() == std::io::ErrorKind::WouldBlock {
        let what = format!("another agent uses {path}");
        return Problem::new(
            what,
            "two agents with one state file would count evidence twice.",
            "stop the other agent, or choose another --state.",
        );
    }
    Problem::new(
        format!("cannot use the state file {path}"),
        error.to_string(),
        "choose another --state, on a file system that survives a restart.",
    )
}
