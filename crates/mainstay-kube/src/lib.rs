//! The Kubernetes adapter: it turns watch events into observations, and decisions into writes. It contains no policy.
//!
//! Modules in the order of a leadership: `lease` elects the leader, `cell` raises the epoch and waits until the
//! admission policies reject the previous one, `watch` receives events, `world` turns them into facts, and `lead` runs
//! the engine and audits its decisions. `write` is the only module with which a controller writes: our own objects, Events
//! about them, and nothing else. `execution` limits modes and stored states to what this build can execute. `audit_log` is the audit log,
//! and `journal` records what the engine was given, for a replay.
//! `slo_status` keeps error budgets; no decision uses them.
//! `view` reads a cluster with a user's own permissions, `user_actions` executes what that user requests, `gameday` writes
//! what a drill on a test cluster needs, and `auth` checks bearer tokens. Start, restart and failover take the same path: everything is read again from the API server.

mod audit_log;
mod auth;
mod backend;
mod cell;
pub mod diagnostics;
mod error;
mod execution;
pub mod gameday;
mod identity;
mod jitter;
mod jobs;
mod journal;
mod leader;
mod lease;
mod metrics;
mod node;
mod object_conditions;
mod permission;
mod pod;
mod preflight;
mod resource_slice;
mod rotation;
pub mod scan;
mod slo_status;
mod slos;
mod source;
mod tolerant;
pub mod user_actions;
mod view;
mod watch;
mod world;
mod write;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease as LeaseObject;
use kube::Api;
use kube::config::{KubeConfigOptions, Kubeconfig};
use mainstay_telemetry::metrics::Samples;
use tokio::sync::watch as signal;
use tracing::{error, info, warn};

pub use kube::{Client, Config};

pub use audit_log::{AuditLine, AuditLog, Entry, FORMAT};
pub use auth::{AuthDecision, Authenticator};
pub use error::Error;
pub use journal::{
    FILE_BYTES_MAX as JOURNAL_FILE_BYTES_MAX, FILES_MAX as JOURNAL_FILES_MAX, Header as JournalHeader, JOURNAL_FORMAT,
    JournalEnd, JournalError, JournalReader, JournalSettings,
};
pub use leader::incident_name;
pub use slo_status::PROMETHEUS_LIMITS;
pub use slos::{SLOS, slos};
pub use view::{GpuRequests, LiveView, NodeInputs, OtherActors, PendingPods, SkipReason, SkippedKind, View};

use error::CALL_WITHIN;
use journal::Journal;
use leader::EndReason;
use lease::Lease;
use metrics::Metrics;

/// Longest time a leader may go without a decision. It decides every few seconds, and the first read of a full cluster
/// may take ten minutes.
const STUCK_AFTER: Duration = Duration::from_mins(11);

/// Settings of a controller.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Namespace of the leader's Lease.
    pub namespace: String,
    /// Time without renewal after which another controller may lead.
    pub lease: Duration,
    /// Directory of the audit log. None: no audit log is written.
    pub record: Option<PathBuf>,
    /// Journal of facts. None: none is written.
    pub journal: Option<JournalSettings>,
    /// Time that a closed incident stays in the cluster. Without an audit log it stays forever, because it must be
    /// exported first.
    pub incidents_kept: Duration,
    /// Time after the last pod of a job until metrics count the job as ended. Another attempt may follow within it.
    pub jobs_settle: Duration,
    /// Time that the report of an unregistered node is kept after its last write. The node may register again.
    pub orphans_kept: Duration,
    /// Prometheus from which error budgets are read. None: no Slo has a budget.
    pub prometheus: Option<mainstay_prometheus::Server>,
    /// Time between two reads of the error budgets.
    pub slos_read_every: Duration,
}

/// A controller of one cluster. Several may run; one leads.
pub struct Controller {
    client: Client,
    settings: Settings,
    identity: Arc<str>,
    metrics: Metrics,
}

/// Metrics and health of a running controller.
#[derive(Debug, Clone)]
pub struct Gauges(Metrics);

// === impl Settings ===

impl Default for Settings {
    fn default() -> Self {
        Self {
            namespace: "mainstay-system".to_owned(),
            // What the cluster's own controllers use.
            lease: Duration::from_secs(15),
            record: None,
            journal: None,
            // A quarter of a year covers the postmortem of anything.
            incidents_kept: Duration::from_hours(24 * 90),
            jobs_settle: Duration::from_secs(30),
            orphans_kept: Duration::from_hours(1),
            prometheus: None,
            slos_read_every: Duration::from_mins(1),
        }
    }
}

// === impl Controller ===

impl Controller {
    /// Creates a controller that uses the pod's service account or the kubeconfig.
    ///
    /// # Errors
    /// [`Error::Server`] if neither exists, or if the server does not answer.
    pub async fn connect(settings: Settings) -> Result<Self, Error> {
        Ok(Self::with(connect().await?, settings))
    }

    /// Creates a controller that uses this client.
    #[must_use]
    pub fn with(client: Client, settings: Settings) -> Self {
        Self { client, settings, identity: identity::of_this_process().into(), metrics: Metrics::new() }
    }

    /// Identity of this process in the Lease.
    #[must_use]
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// Metrics and health of this controller, readable while it runs.
    #[must_use]
    pub fn gauges(&self) -> Gauges {
        Gauges(self.metrics.clone())
    }

    /// Waits for leadership, leads, and starts again when leadership is lost, until it is stopped.
    ///
    /// # Errors
    /// [`Error`] for problems that a retry cannot solve: no fencing, no Cell, no permission, no audit log.
    pub async fn run(self, mut stop: signal::Receiver<bool>) -> Result<(), Error> {
        preflight::check(&self.client, &self.settings.namespace).await?;
        let mut journal = AuditLog::open(self.settings.record.as_deref())?;
        let mut facts = Journal::start(self.settings.journal.as_ref(), &self.metrics);
        let ended = self.lead_until_stopped(&mut stop, &mut journal, &mut facts).await;
        facts.close();
        ended
    }

    async fn lead_until_stopped(
        &self,
        stop: &mut signal::Receiver<bool>,
        journal: &mut AuditLog,
        facts: &mut Journal,
    ) -> Result<(), Error> {
        let api = Api::<LeaseObject>::namespaced(self.client.clone(), &self.settings.namespace);
        let lease = Lease::new(api, Arc::clone(&self.identity), self.settings.lease, self.metrics.clone());
        loop {
            info!("waiting for the Lease");
            let held = tokio::select! {
                () = stop_requested(stop) => return Ok(()),
                held = lease.acquire() => held?,
            };
            let tenure = held.tenure();
            let logs = (&mut *journal, &mut *facts);
            let by = (&self.identity, &tenure, held.is_restored());
            let leading = leader::lead(&self.client, &self.settings, by, &self.metrics, logs);
            let ended = tokio::select! {
                () = stop_requested(stop) => Ok(EndReason::Stopped),
                ended = leading => ended,
            };
            self.metrics.leads(None);
            let _ = journal.flush();
            held.release().await;
            match ended? {
                EndReason::Stopped => return Ok(()),
                EndReason::Lost => warn!(why = "the Lease could not be renewed", "leadership ended"),
                EndReason::Deposed => warn!(why = "another leader raised the epoch", "leadership ended"),
                EndReason::Permission => info!(why = "the permission to act changed", "leadership ended"),
                EndReason::Restored => {
                    error!(why = "the epoch of the Cell decreased: etcd was restored", "leadership ended");
                }
            }
        }
    }
}

/// Creates a client from the pod's service account or the kubeconfig, after the server has answered.
///
/// # Errors
/// [`Error::Server`] if neither exists, or if the server does not answer.
pub async fn connect() -> Result<Client, Error> {
    connect_to(None, None).await
}

/// Creates a client from another kubeconfig file or another context, as given on the command line.
///
/// # Errors
/// As [`connect`].
pub async fn connect_to(kubeconfig: Option<&Path>, context: Option<&str>) -> Result<Client, Error> {
    let config = config(kubeconfig, context).await?;
    let address = config.cluster_url.to_string();
    let client = Client::try_from(config).map_err(|error| Error::Kubeconfig(error::cause(&error)))?;
    // The first call, so that a wrong address or token is reported at once.
    match tokio::time::timeout(CALL_WITHIN, client.apiserver_version()).await {
        Ok(Ok(_)) => Ok(client),
        Ok(Err(error)) => Err(Error::of("the first request", &error).at(&address)),
        Err(_) => Err(Error::late().at(&address)),
    }
}

/// Name of the cluster in the kubeconfig's current context. None in a pod.
#[must_use]
pub fn context() -> Option<String> {
    let file = Kubeconfig::read().ok()?;
    let current = file.current_context?;
    let named = file.contexts.into_iter().find(|context| context.name == current);
    named.and_then(|named| named.context).map(|context| context.cluster).filter(|name| !name.is_empty())
}

/// Address and identity for the API server, without calling it.
///
/// # Errors
/// As [`connect`].
pub async fn config(kubeconfig: Option<&Path>, context: Option<&str>) -> Result<Config, Error> {
    let unusable = |error: &dyn std::fmt::Display| Error::Kubeconfig(error.to_string());
    let mut config = if kubeconfig.is_none() && context.is_none() {
        Config::infer().await.map_err(|error| unusable(&error))?
    } else {
        let read = kubeconfig.map_or_else(Kubeconfig::read, Kubeconfig::read_from).map_err(|error| unusable(&error))?;
        let options = KubeConfigOptions { context: context.map(ToOwned::to_owned), ..KubeConfigOptions::default() };
        Config::from_custom_kubeconfig(read, &options).await.map_err(|error| unusable(&error))?
    };
    // Every retry is ours, bounded and counted; one inside the client would outlive a lease.
    config.default_retry = false;
    Ok(config)
}

/// Returns when the stop signal is set, or when its sender is gone.
async fn stop_requested(stop: &mut signal::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

// === impl Gauges ===

impl Gauges {
    /// All series of one scrape.
    #[must_use]
    pub fn samples(&self) -> Samples {
        self.0.samples()
    }

    /// Whether this controller leads.
    #[must_use]
    pub fn is_leading(&self) -> bool {
        self.0.is_leading()
    }

    /// Whether it leads and its last decision is too long ago.
    #[must_use]
    pub fn is_stuck(&self) -> bool {
        self.0.is_stuck(STUCK_AFTER)
    }
}
