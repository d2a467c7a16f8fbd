//! The Kubernetes adapter: watches to observations, decisions to writes. It contains no policy: what is said of the fleet
//! goes to the brain, what the brain asks for goes to the server, and what is not allowed is refused there.
//!
//! The story in order: `lease` makes one of us the leader, `cell` raises the epoch and waits for the fence, `watch` tells
//! what there is, `world` turns it into facts, `lead` asks the brain and audits its answer, and `write` is the one place
//! from which anything is written: our own records, Events on them, and nothing else. `journal` keeps what cannot be
//! rebuilt. `view` is the cluster as a person sees it, with that person's rights, `people` is what that
//! person does, and `gate` says who brings a token. Restart, failover and an ordinary day take the same path: everything is read anew from the server.

mod cell;
mod chance;
pub mod checkup;
mod gate;
mod journal;
mod lead;
mod lease;
mod lenient;
mod metrics;
mod node;
pub mod people;
mod pod;
mod preflight;
mod source;
pub mod survey;
mod trouble;
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
use serde::Serialize;
use tokio::sync::{mpsc, watch as signal};

pub use kube::{Client, Config};

pub use gate::{Gate, Worth};
pub use journal::{Entry, FORMAT, Journal};
pub use lead::incident_name;
pub use trouble::Trouble;
pub use view::{Following, Others, Seen, Unread, UnreadWhy, View};

use chance::Chance;
use lead::Ended;
use lease::Lease;
use metrics::Metrics;
use trouble::CALL_WITHIN;

/// A leader asks the brain every few seconds, and reads a full cell within ten minutes before the first time.
const STUCK_AFTER: Duration = Duration::from_mins(11);

/// What a controller is told.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The namespace of its Lease.
    pub namespace: String,
    /// How long a leader may be silent before another takes its place.
    pub lease: Duration,
    /// The folder of its record; none is written where absent.
    pub record: Option<PathBuf>,
    /// How long an incident that is over is kept in the cluster. Without a record it is kept for ever, because it has to be
    /// exported first.
    pub incidents_kept: Duration,
    /// How long the report of a node that is not registered is kept after its last word: it may only be registered anew.
    pub orphans_kept: Duration,
}

/// A controller of one cell. Many may run; one leads.
pub struct Controller {
    client: Client,
    settings: Settings,
    identity: Arc<str>,
    metrics: Metrics,
    chance: Chance,
}

/// What a controller says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "kind", rename_all_fields = "camelCase")]
pub enum Heard {
    /// It waits for the Lease.
    Waits,
    /// It leads.
    Leads {
        /// Under which epoch.
        epoch: u64,
    },
    /// It leads no more, and begins again.
    Ended {
        /// Why.
        why: &'static str,
    },
}

/// What can be asked of a controller while it runs.
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
            // A quarter of a year covers the postmortem of anything.
            incidents_kept: Duration::from_hours(24 * 90),
            orphans_kept: Duration::from_hours(1),
        }
    }
}

// === impl Controller ===

impl Controller {
    /// A controller that talks to the server as the pod's service account, or as the kubeconfig says.
    ///
    /// # Errors
    /// [`Trouble::Server`] where neither is there, or does not say where the server is.
    pub async fn connect(settings: Settings) -> Result<Self, Trouble> {
        Ok(Self::with(connect().await?, settings))
    }

    /// A controller that uses this client.
    #[must_use]
    pub fn with(client: Client, settings: Settings) -> Self {
        let mut chance = Chance::new();
        // Of this process alone: one that comes back is somebody else to its own Lease.
        let identity = format!("mainstay-{}-{:016x}", std::process::id(), chance.next());
        Self { client, settings, identity: identity.into(), metrics: Metrics::new(), chance }
    }

    /// Who it is.
    #[must_use]
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// Where it says what it does, for a log. What nobody takes is dropped.
    pub fn tell(&self, heard: mpsc::Sender<Heard>) {
        self.metrics.tell(heard);
    }

    /// What can be asked while it runs.
    #[must_use]
    pub fn gauges(&self) -> Gauges {
        Gauges(self.metrics.clone())
    }

    /// Waits for leadership, leads, and begins again when it is lost, until it is told to stop.
    ///
    /// # Errors
    /// [`Trouble`] where going on would help nobody: no fence, no Cell, no rights, no record.
    pub async fn run(mut self, mut stop: signal::Receiver<bool>) -> Result<(), Trouble> {
        preflight::complete(&self.client, &self.settings.namespace).await?;
        let mut journal = Journal::open(self.settings.record.as_deref())?;
        let lease = Lease {
            api: Api::<LeaseObject>::namespaced(self.client.clone(), &self.settings.namespace),
            identity: Arc::clone(&self.identity),
            lasts: self.settings.lease,
        };
        loop {
            self.metrics.say(Heard::Waits);
            let held = tokio::select! {
                () = told(&mut stop) => return Ok(()),
                held = lease.acquire(&mut self.chance) => held?,
            };
            let tenure = held.tenure();
            let leading = lead::lead(
                &self.client,
                &self.settings,
                (&self.identity, &tenure),
                &self.metrics,
                &mut journal,
                &mut self.chance,
            );
            let ended = tokio::select! {
                () = told(&mut stop) => Ok(Ended::Stopped),
                ended = leading => ended,
            };
            self.metrics.leads(None);
            let _ = journal.flush();
            held.release().await;
            let why = match ended? {
                Ended::Stopped => return Ok(()),
                Ended::Lost => "the Lease could not be renewed",
                Ended::Deposed => "another leader raised the epoch",
                Ended::ReadAnew => "a person changed how the cluster is read",
                Ended::Restored => "the Cell is older than one that was seen: a restored store",
            };
            self.metrics.say(Heard::Ended { why });
        }
    }
}

/// A client of the server that the pod's service account or the kubeconfig names, once it has answered.
///
/// # Errors
/// [`Trouble::Server`] where neither is there, or the server does not answer.
pub async fn connect() -> Result<Client, Trouble> {
    connect_to(None, None).await
}

/// The same with another kubeconfig, or another of its contexts, as people say them on a command line.
///
/// # Errors
/// As [`connect`].
pub async fn connect_to(kubeconfig: Option<&Path>, context: Option<&str>) -> Result<Client, Trouble> {
    let config = config(kubeconfig, context).await?;
    let address = config.cluster_url.to_string();
    let client = Client::try_from(config).map_err(|error| Trouble::Kubeconfig(trouble::cause(&error)))?;
    // The first call, so that a wrong address or token is reported at once.
    match tokio::time::timeout(CALL_WITHIN, client.apiserver_version()).await {
        Ok(Ok(_)) => Ok(client),
        Ok(Err(error)) => Err(Trouble::of("the first request", &error).at(&address)),
        Err(_) => Err(Trouble::late().at(&address)),
    }
}

/// What the kubeconfig calls the cluster that it leads to; nothing in a pod, or where it does not say.
#[must_use]
pub fn context() -> Option<String> {
    let file = Kubeconfig::read().ok()?;
    let current = file.current_context?;
    let named = file.contexts.into_iter().find(|context| context.name == current);
    named.and_then(|named| named.context).map(|context| context.cluster).filter(|name| !name.is_empty())
}

/// Where the server is and who we are there, before it was asked.
///
/// # Errors
/// As [`connect`].
pub async fn config(kubeconfig: Option<&Path>, context: Option<&str>) -> Result<Config, Trouble> {
    let unusable = |error: &dyn std::fmt::Display| Trouble::Kubeconfig(error.to_string());
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

/// Comes back when somebody wants us to stop, or nobody can tell us any more.
async fn told(stop: &mut signal::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

// === impl Gauges ===

impl Gauges {
    /// All series, as Prometheus reads them.
    #[must_use]
    pub fn text(&self) -> String {
        self.0.text()
    }

    /// Whether this controller leads.
    #[must_use]
    pub fn is_leading(&self) -> bool {
        self.0.is_leading()
    }

    /// Whether it leads and has not asked the brain for longer than it ever should.
    #[must_use]
    pub fn is_stuck(&self) -> bool {
        self.0.is_stuck(STUCK_AFTER)
    }
}
