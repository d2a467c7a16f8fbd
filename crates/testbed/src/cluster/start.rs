//! From an empty directory to a cluster that answers. Every wait is bounded, and a server that ends early is reported
//! with the last lines of its log.

use std::future::Future;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::{ListParams, Request};
use kube::{Api, Client};

use super::flags::Layout;
use super::ports::HeldPort;
use super::{Cluster, OnDrop, OptionalServer, Options, StateFile};
use crate::go::last_lines;
use crate::problem::problem;
use crate::process::{self, Process};
use crate::progress::{Progress, ProgressEvent};
use crate::servers::{Program, Servers};
use crate::sizing::Sizing;
use crate::{kwok, pki, watchdog};

/// Three seconds on an idle machine; several clusters may start at once on two busy cores.
const ANSWERS_AT_MOST: Duration = Duration::from_secs(120);
const ASK_EVERY: Duration = Duration::from_millis(100);

/// All that runs with these options, in the order in which it is started.
pub(super) fn programs(options: &Options) -> Vec<Program> {
    let optional = [Program::ControllerManager, Program::Scheduler, Program::Kwok];
    let wanted = optional.into_iter().filter(|program| options.parts.iter().any(|part| part.program() == *program));
    [Program::Etcd, Program::ApiServer].into_iter().chain(wanted).collect()
}

impl Cluster {
    /// Starts a cluster in `dir`, which must hold nothing, or an audit policy alone. With an owner, a watchdog ends it when the owner is gone.
    /// If anything fails, nothing is left running; the logs are in the error.
    pub(crate) async fn start_in(
        dir: &Path,
        options: Options,
        owner: Option<Process>,
        servers: &Servers,
        progress: Progress<'_>,
    ) -> Result<Self> {
        std::fs::create_dir_all(dir.join("logs")).with_context(|| format!("cannot create {}", dir.display()))?;
        let watchdog = owner.map(|owner| watchdog::start(dir, owner)).transpose()?;
        let started = start(dir, options, servers, progress).await;
        match started {
            Ok(record) => Ok(Self { dir: dir.to_owned(), record, watchdog, on_drop: OnDrop::Leave }),
            Err(error) => {
                super::end_and_remove(dir).await.context("cannot clean up after a failed start")?;
                Err(error)
            }
        }
    }
}

async fn start(dir: &Path, options: Options, servers: &Servers, progress: Progress<'_>) -> Result<StateFile> {
    let ports = [HeldPort::find()?, HeldPort::find()?, HeldPort::find()?];
    let [api_port, etcd_port, etcd_peer_port] = [ports[0].number()?, ports[1].number()?, ports[2].number()?];
    let sizing = Sizing::for_nodes(options.nodes_max);
    let is_autoscaled = options.parts.contains(&OptionalServer::Autoscaler);
    let layout = Layout { dir, api_port, etcd_port, etcd_peer_port, sizing, is_autoscaled };
    let files = pki::write(dir, &layout.api_url())?;
    if !layout.audit_policy().exists() {
        pki::write_private(&layout.audit_policy(), super::flags::AUDIT_POLICY)?;
    }

    let garbage_percent = sizing.garbage_percent.to_string();
    let launch = |program: Program, args: &[String]| {
        progress(ProgressEvent::Starting(program));
        process::launch(program.name(), &servers.path(program), args, &[("GOGC", &garbage_percent)], dir)
    };
    // The API server tries etcd again until it is there, so both can start at once.
    let etcd = launch(Program::Etcd, &layout.etcd())?;
    let api = launch(Program::ApiServer, &layout.api_server(&files))?;
    let record = StateFile {
        api_url: layout.api_url(),
        etcd_url: layout.etcd_url(),
        servers_dir: servers.path(Program::Kubectl).parent().map(Path::to_path_buf).unwrap_or_default(),
        options,
    };
    let cluster = Cluster { dir: dir.to_owned(), record, watchdog: None, on_drop: OnDrop::Leave };
    let client = cluster.client().await?;
    let watched = [(Program::Etcd, etcd), (Program::ApiServer, api)];
    until(dir, &watched, "the API server to be ready", || ready(&client)).await?;
    drop(ports);

    let mut watched = watched.to_vec();
    for program in programs(cluster.options()) {
        let args = match program {
            // Running already; and a client is no server.
            Program::Etcd | Program::ApiServer | Program::Kubectl => continue,
            Program::ControllerManager => layout.controller_manager(&files),
            Program::Scheduler => layout.scheduler(),
            Program::Kwok => {
                kwok::grant(&client).await?;
                pki::write_private(&layout.kwok_config(), &kwok::config(sizing))?;
                layout.kwok()
            }
        };
        watched.push((program, launch(program, &args)?));
    }
    if programs(cluster.options()).contains(&Program::ControllerManager) {
        // Until then pods are refused.
        until(dir, &watched, "the default service account to appear", || default_account(&client)).await?;
    }
    let json = serde_json::to_string_pretty(&cluster.record)?;
    pki::write_private(&dir.join("cluster.json"), &json)?;
    Ok(cluster.record.clone())
}

/// Ready includes the bootstrap roles, without which no controller could do anything.
async fn ready(client: &Client) -> Result<bool> {
    // The client has no call for a bare path; listing it is a plain GET.
    let request = Request::new("/readyz").list(&ListParams::default())?;
    Ok(client.request_text(request).await.is_ok_and(|answer| answer == "ok"))
}

async fn default_account(client: &Client) -> Result<bool> {
    Ok(Api::<ServiceAccount>::namespaced(client.clone(), "default").get_opt("default").await?.is_some())
}

/// Asks again and again until the answer is yes, as long as all servers live.
async fn until<F, A>(dir: &Path, watched: &[(Program, Process)], what: &str, ask: F) -> Result<()>
where
    F: Fn() -> A,
    A: Future<Output = Result<bool>>,
{
    let give_up_at = Instant::now() + ANSWERS_AT_MOST;
    loop {
        if let Some((program, _)) = watched.iter().find(|(_, process)| !process.alive()) {
            return Err(problem(
                format!("{program} ended while waiting for {what}"),
                log_tail(dir, *program),
                "read its log above",
            ));
        }
        if tokio::time::timeout(ANSWERS_AT_MOST, ask()).await.is_ok_and(|answer| answer.unwrap_or(false)) {
            return Ok(());
        }
        if Instant::now() >= give_up_at {
            let tails: Vec<String> =
                watched.iter().map(|(program, _)| format!("{program}: {}", log_tail(dir, *program))).collect();
            let waited = format!("gave up waiting for {what} after {} s", ANSWERS_AT_MOST.as_secs());
            return Err(problem(
                waited,
                tails.join("\n          "),
                "the machine may be overloaded: try again when it is calm",
            ));
        }
        tokio::time::sleep(ASK_EVERY).await;
    }
}

fn log_tail(dir: &Path, program: Program) -> String {
    let log = std::fs::read(dir.join("logs").join(format!("{program}.log"))).unwrap_or_default();
    let tail = last_lines(&String::from_utf8_lossy(&log), 15);
    if tail.is_empty() { "its log is empty".to_owned() } else { tail }
}
