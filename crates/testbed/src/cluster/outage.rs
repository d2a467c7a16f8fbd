//! A server that is away for a while: ended without warning, and started again on its port with its flags.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use super::flags::Layout;
use super::ports::HeldPort;
use super::{ApiServer, Cluster, start};
use crate::pki::Files;
use crate::process;
use crate::servers::Program;

const HEALTH_AT_MOST: Duration = Duration::from_secs(5);

/// A server that is away. Its ports stay bound, so that connections are refused and no other program takes it.
#[derive(Debug)]
#[must_use = "the server stays away until `end`"]
pub struct Outage<'a> {
    cluster: &'a Cluster,
    program: Program,
    /// None for controllers and the scheduler, which do not listen.
    ports: Vec<HeldPort>,
}

impl Cluster {
    /// Takes one server away without warning. Of two API servers, the one that this handle talks to. For clusters of one's
    /// own.
    pub async fn outage(&self, program: Program) -> Result<Outage<'_>> {
        let ports = &self.record.ports;
        let listens = match (program, self.api_server) {
            (Program::Etcd, _) => vec![ports.etcd, ports.etcd_peer],
            (Program::ApiServer, ApiServer::First) => vec![ports.api],
            (Program::ApiServer, ApiServer::Second) => ports.second_api.into_iter().collect(),
            (Program::ControllerManager | Program::Scheduler | Program::Kwok, _) => Vec::new(),
            (Program::Kubectl, _) => bail!("kubectl is no server"),
        };
        let ports = listens.into_iter().map(HeldPort::keep).collect::<Result<_>>()?;
        self.crash(program).await?;
        Ok(Outage { cluster: self, program, ports })
    }

    /// The flags of the servers, for the API server that this handle talks to.
    fn layout(&self) -> Layout<'_> {
        let ports = self.record.ports;
        let first = start::layout(&self.dir, ports, &self.record.options);
        match self.api_server {
            ApiServer::First => first,
            ApiServer::Second => {
                Layout { api_server: ApiServer::Second, api_port: ports.second_api.unwrap_or_default(), ..first }
            }
        }
    }
}

impl Outage<'_> {
    /// Starts the server again. Returns when etcd is healthy or the API server ready; the others do not report that.
    pub async fn end(self) -> Result<()> {
        let Self { cluster, program, ports } = self;
        let (layout, files) = (cluster.layout(), Files::of(&cluster.dir));
        let args = match program {
            Program::Etcd => layout.etcd(),
            Program::ApiServer => layout.api_server(&files),
            Program::ControllerManager => layout.controller_manager(&files),
            Program::Scheduler => layout.scheduler(),
            Program::Kwok => layout.kwok(),
            Program::Kubectl => bail!("kubectl is no server"),
        };
        let name = cluster.process_name(program);
        let garbage_percent = layout.sizing.garbage_percent.to_string();
        let path = cluster.record.servers_dir.join(program.name());
        let process = process::launch(name, &path, &args, &[("GOGC", &garbage_percent)], &cluster.dir)?;
        let watched = [(name, process)];
        match program {
            Program::Etcd => {
                start::until(&cluster.dir, &watched, "etcd to be healthy", || is_healthy(cluster.etcd_url())).await?;
            }
            Program::ApiServer => {
                let client = cluster.client().await?;
                start::until(&cluster.dir, &watched, "the API server to be ready", || start::ready(&client)).await?;
            }
            Program::ControllerManager | Program::Scheduler | Program::Kwok | Program::Kubectl => {}
        }
        drop(ports);
        Ok(())
    }
}

async fn is_healthy(etcd_url: &str) -> Result<bool> {
    let client = reqwest::Client::builder().no_proxy().timeout(HEALTH_AT_MOST).build()?;
    let answer = client.get(format!("{etcd_url}/health")).send().await.context("etcd does not answer")?;
    Ok(answer.status().is_success())
}
