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
use super::ports::{HeldPort, Ports};
use super::{ApiServer, Cluster, OptionalServer, Options, StateFile};
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

/// The names of all that runs with these options.
pub(super) fn names(options: &Options) -> Vec<&'static str> {
    let second = options.parts.contains(&OptionalServer::SecondApiServer).then(|| ApiServer::Second.process_name());
    programs(options).into_iter().map(Program::name).chain(second).collect()
}

/// All that runs with these options besides a second API server, in the order in which it is started.
fn programs(options: &Options) -> Vec<Program> {
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
            Ok(record) => {
                let mut cluster = Self::of(dir, record);
                cluster.watchdog = watchdog;
                Ok(cluster)
            }
            Err(error) => {
                super::end_and_remove(dir).await.context("cannot clean up after a failed start")?;
                Err(error)
            }
        }
    }
}

/// What the flags of a cluster's servers depend on, for its first API server.
pub(super) fn layout<'a>(dir: &'a Path, ports: Ports, options: &Options) -> Layout<'a> {
    Layout {
        dir,
        api_server: ApiServer::First,
        api_port: ports.api,
        etcd_port: ports.etcd,
        etcd_peer_port: ports.etcd_peer,
        sizing: Sizing::for_nodes(options.nodes_max),
        is_autoscaled: options.parts.contains(&OptionalServer::Autoscaler),
    }
}

async fn start(dir: &Path, options: Options, servers: &Servers, progress: Progress<'_>) -> Result<StateFile> {
    let held = [HeldPort::find()?, HeldPort::find()?, HeldPort::find()?];
    let second = options.parts.contains(&OptionalServer::SecondApiServer).then(HeldPort::find).transpose()?;
    let ports = Ports {
        api: held[0].number()?,
        second_api: second.as_ref().map(HeldPort::number).transpose()?,
        etcd: held[1].number()?,
        etcd_peer: held[2].number()?,
    };
    let layout = layout(dir, ports, &options);
    let second_layout = ports.second_api.map(|api_port| Layout { api_server: ApiServer::Second, api_port, ..layout });
    let sizing = layout.sizing;
    let files = pki::write(dir, &layout.api_url())?;
    if !layout.audit_policy().exists() {
        pki::write_private(&layout.audit_policy(), super::flags::AUDIT_POLICY)?;
    }

    let garbage_percent = sizing.garbage_percent.to_string();
    let launch = |program: Program, name: &str, args: &[String]| {
        progress(ProgressEvent::Starting(program));
        process::launch(name, &servers.path(program), args, &[("GOGC", &garbage_percent)], dir)
    };
    // The API server tries etcd again until it is there, so both can start at once.
    let etcd = launch(Program::Etcd, Program::Etcd.name(), &layout.etcd())?;
    let api = launch(Program::ApiServer, Program::ApiServer.name(), &layout.api_server(&files))?;
    let record = StateFile {
        api_url: layout.api_url(),
        second_api_url: second_layout.as_ref().map(Layout::api_url),
        etcd_url: layout.etcd_url(),
        ports,
        servers_dir: servers.path(Program::Kubectl).parent().map(Path::to_path_buf).unwrap_or_default(),
        options,
    };
    let cluster = Cluster::of(dir, record);
    let client = cluster.client().await?;
    let mut watched = vec![(Program::Etcd.name(), etcd), (Program::ApiServer.name(), api)];
    until(dir, &watched, "the API server to be ready", || ready(&client)).await?;
    if let Some(layout_of_second) = second_layout {
        let name = ApiServer::Second.process_name();
        watched.push((name, launch(Program::ApiServer, name, &layout_of_second.api_server(&files))?));
        ApiServer::Second.write_kubeconfig(dir, &layout.api_url(), &layout_of_second.api_url())?;
        let client = cluster.through(ApiServer::Second)?.client().await?;
        until(dir, &watched, "the second API server to be ready", || ready(&client)).await?;
    }
    drop((held, second));

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
        watched.push((program.name(), launch(program, program.name(), &args)?));
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
pub(super) async fn ready(client: &Client) -> Result<bool> {
    // The client has no call for a bare path; listing it is a plain GET.
    let request = Request::new("/readyz").list(&ListParams::default())?;
    Ok(client.request_text(request).await.is_ok_and(|answer| answer == "ok"))
}

async fn default_account(client: &Client) -> Result<bool> {
    Ok(Api::<ServiceAccount>::namespaced(client.clone(), "default").get_opt("default").await?.is_some())
}

/// Asks again and again until the answer is yes, as long as all servers live.
pub(super) async fn until<F, A>(dir: &Path, watched: &[(&str, Process)], what: &str, ask: F) -> Result<()>
where
    F: Fn() -> A,
    A: Future<Output = Result<bool>>,
{
    let give_up_at = Instant::now() + ANSWERS_AT_MOST;
    loop {
        if let Some((name, _)) = watched.iter().find(|(_, process)| !process.alive()) {
            return Err(problem(
                format!("{name} ended while waiting for {what}"),
                log_tail(dir, name),
                "read its log above",
            ));
        }
        if tokio::time::timeout(ANSWERS_AT_MOST, ask()).await.is_ok_and(|answer| answer.unwrap_or(false)) {
            return Ok(());
        }
        if Instant::now() >= give_up_at {
            let tails: Vec<String> =
                watched.iter().map(|(name, _)| format!("{name}: {}", log_tail(dir, name))).collect();
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

fn log_tail(dir: &Path, name: &str) -> String {
    let log = std::fs::read(dir.join("logs").join(format!("{name}.log"))).unwrap_or_default();
    let tail = last_lines(&String::from_utf8_lossy(&log), 15);
    if tail.is_empty() { "its log is empty".to_owned() } else { tail }
}
