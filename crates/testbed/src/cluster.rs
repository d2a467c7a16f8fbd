//! A running cluster: starting its servers, waiting until they answer, talking to it, ending it.
//! [`crate::fleet`] defines its nodes. [`crate::own`], [`crate::shared`] and [`crate::named_clusters`] define its lifetime.

mod accounts;
mod api_server;
mod etcd_snapshot;
mod flags;
mod outage;
mod ports;
mod start;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde::{Deserialize, Serialize};

use crate::pki;
use crate::process::{self, Process};
use crate::servers::Program;

pub use api_server::ApiServer;
pub use etcd_snapshot::EtcdSnapshot;
pub use outage::Outage;

use ports::Ports;

/// A program that a test cluster can run in addition to etcd and the API server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OptionalServer {
    /// The controllers that tests need, node lifecycle and garbage collection among them.
    ControllerManager,
    /// The default scheduler. Without it pods are bound by whoever creates them.
    Scheduler,
    /// Nodes without machines.
    Kwok,
    /// The HorizontalPodAutoscaler controller with a short period, as one more controller of kube-controller-manager. The API
    /// server then also forwards requests to extension API servers, such as one that serves metrics.
    Autoscaler,
    /// Another kube-apiserver on the same etcd, with the same certificates and keys. [`Cluster::through`] talks to it; all
    /// other servers talk to the first.
    SecondApiServer,
}

impl OptionalServer {
    /// The program that does it.
    pub const fn program(self) -> Program {
        match self {
            Self::ControllerManager | Self::Autoscaler => Program::ControllerManager,
            Self::Scheduler => Program::Scheduler,
            Self::Kwok => Program::Kwok,
            Self::SecondApiServer => Program::ApiServer,
        }
    }
}

/// What to start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Options {
    /// The fleet size that heartbeats and patience are set for. A smaller fleet is fine, a larger one is not.
    pub nodes_max: usize,
    /// What runs beside etcd and the API server.
    pub parts: Vec<OptionalServer>,
}

impl Default for Options {
    fn default() -> Self {
        Self { nodes_max: 1_000, parts: vec![OptionalServer::ControllerManager, OptionalServer::Kwok] }
    }
}

/// Addresses and options of a running cluster, stored for other processes.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct StateFile {
    api_url: String,
    #[serde(default)]
    second_api_url: Option<String>,
    etcd_url: String,
    /// Zeros for a cluster that an older version of this program started.
    #[serde(default)]
    ports: Ports,
    servers_dir: PathBuf,
    options: Options,
}

/// What happens to the servers when the handle goes away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnDrop {
    End,
    Leave,
}

/// A running cluster.
#[derive(Debug)]
pub struct Cluster {
    dir: PathBuf,
    record: StateFile,
    watchdog: Option<Process>,
    on_drop: OnDrop,
    /// The API server that this handle talks to.
    api_server: ApiServer,
}

/// From now on the audit log of the cluster that is started in `dir` has reads as well.
pub(crate) fn audit_reads(dir: &Path) -> Result<()> {
    std::fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
    pki::write_private(&flags::audit_policy(dir), flags::AUDIT_OF_READS)
}

impl Cluster {
    /// Finds a cluster that another process started and finished starting.
    pub(crate) fn open(dir: &Path) -> Result<Self> {
        let path = dir.join("cluster.json");
        let text = std::fs::read_to_string(&path).with_context(|| format!("no cluster in {}", dir.display()))?;
        let record = serde_json::from_str(&text).with_context(|| format!("cannot understand {}", path.display()))?;
        Ok(Self::of(dir, record))
    }

    /// A handle that leaves the servers running.
    fn of(dir: &Path, record: StateFile) -> Self {
        let api_server = ApiServer::First;
        Self { dir: dir.to_owned(), record, watchdog: None, on_drop: OnDrop::Leave, api_server }
    }

    /// From now on the servers end with this handle.
    pub(crate) fn ended_on_drop(mut self) -> Self {
        self.on_drop = OnDrop::End;
        self
    }

    /// What it was started with.
    pub fn options(&self) -> &Options {
        &self.record.options
    }

    /// Where its files are: certificates, logs, data.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Writes a file into the directory of the cluster, which is removed with it.
    pub fn write_file(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.dir.join(name);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }

    /// The administrator's kubeconfig.
    pub fn kubeconfig(&self) -> PathBuf {
        self.api_server.kubeconfig(&self.dir)
    }

    /// Every write of a service account in `mainstay-system`, and every call of the controller's, as the server's audit log
    /// has it: one JSON object a line. Others' reads are in it where [`crate::own_with_read_audit`] started the cluster. Each
    /// of two API servers has a log of its own.
    pub fn audit_log(&self) -> PathBuf {
        flags::audit_log(&self.dir, self.api_server)
    }

    /// The client that was built with the servers.
    pub fn kubectl(&self) -> PathBuf {
        self.record.servers_dir.join(Program::Kubectl.name())
    }

    /// Where the API server listens.
    pub fn api_url(&self) -> &str {
        match (self.api_server, &self.record.second_api_url) {
            (ApiServer::Second, Some(url)) => url,
            (ApiServer::First, _) | (ApiServer::Second, None) => &self.record.api_url,
        }
    }

    /// The certificate of the API server's authority.
    pub fn authority(&self) -> PathBuf {
        pki::Files::of(&self.dir).ca
    }

    /// Where etcd listens: plain HTTP, without authentication, on loopback only.
    pub fn etcd_url(&self) -> &str {
        &self.record.etcd_url
    }

    /// A client with the administrator's permissions.
    pub async fn client(&self) -> Result<Client> {
        connect(Kubeconfig::read_from(self.kubeconfig())?).await
    }

    /// A client with the identity of a bearer token, such as that of a service account.
    pub async fn client_with_token(&self, token: &str) -> Result<Client> {
        connect(Kubeconfig::from_yaml(&self.kubeconfig_with_token(token)?)?).await
    }

    /// A kubeconfig with the identity of a bearer token, for a program that reads one.
    pub fn kubeconfig_with_token(&self, token: &str) -> Result<String> {
        pki::kubeconfig_for_token(&self.dir, self.api_url(), token)
    }

    /// Memory that all servers together hold, in bytes.
    pub fn resident_bytes(&self) -> u64 {
        self.running().iter().map(|(process, _)| process.resident_bytes()).sum()
    }

    /// Memory that each running server holds, in bytes.
    pub fn resident_bytes_by_server(&self) -> Vec<(String, u64)> {
        self.running().into_iter().map(|(process, name)| (name, process.resident_bytes())).collect()
    }

    /// The names of the servers that it consists of.
    pub fn all_servers(&self) -> Vec<&'static str> {
        start::names(&self.record.options)
    }

    /// The names of those that do not run.
    pub fn missing_servers(&self) -> Vec<&'static str> {
        let running = self.running();
        self.all_servers().into_iter().filter(|name| !running.iter().any(|(_, it)| it == name)).collect()
    }

    /// Takes one server away without warning, as a crash would. Of two API servers, the one that this handle talks to. For
    /// clusters of one's own. [`Cluster::outage`] also brings it back.
    pub async fn crash(&self, program: Program) -> Result<()> {
        process::end(&[self.process_of(program)?]).await
    }

    fn process_of(&self, program: Program) -> Result<Process> {
        let name = self.process_name(program);
        let found = self.running().into_iter().find(|(_, running)| running == name);
        Ok(found.with_context(|| format!("{name} does not run"))?.0)
    }

    /// The name by which a server is on record and has its log.
    const fn process_name(&self, program: Program) -> &'static str {
        match program {
            Program::ApiServer => self.api_server.process_name(),
            Program::Etcd | Program::ControllerManager | Program::Scheduler | Program::Kubectl | Program::Kwok => {
                program.name()
            }
        }
    }

    /// Ends the servers and removes everything about the cluster.
    pub async fn down(mut self) -> Result<()> {
        self.on_drop = OnDrop::Leave;
        end_and_remove(&self.dir).await
    }

    fn running(&self) -> Vec<(Process, String)> {
        running_in(&self.dir)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        match self.on_drop {
            OnDrop::Leave => {}
            OnDrop::End => {
                let servers: Vec<Process> = self.running().into_iter().map(|(process, _)| process).collect();
                process::end_now(&servers);
                // The watchdog would find nothing to do; without it, nothing at all stays.
                process::end_now(self.watchdog.as_slice());
                // A destructor has nobody to tell; the directory is in the temporary one anyway.
                let _ = std::fs::remove_dir_all(&self.dir);
            }
        }
    }
}

/// Everything on record in `dir` that still runs, in the order in which it was started.
pub(crate) fn running_in(dir: &Path) -> Vec<(Process, String)> {
    process::recorded(dir).into_iter().filter(|(process, _)| process.alive()).collect()
}

/// Ends whatever runs in `dir`, complete cluster or not, and removes the directory.
pub(crate) async fn end_and_remove(dir: &Path) -> Result<()> {
    let servers: Vec<Process> = running_in(dir).into_iter().map(|(process, _)| process).collect();
    process::end(&servers).await?;
    std::fs::remove_dir_all(dir).with_context(|| format!("cannot remove {}", dir.display()))
}

async fn connect(kubeconfig: Kubeconfig) -> Result<Client> {
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}
