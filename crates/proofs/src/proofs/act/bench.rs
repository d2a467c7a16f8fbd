//! A test cluster on which the controller acts through a proxy that does what goes wrong, and the program that runs there.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use tempfile::TempDir;
use testbed::fault_proxy::FaultProxy;
use tokio::time::{Instant, sleep};
use xtask::{command, dist};

use super::acting_cluster::{ActingCluster, Run};
use crate::proofs::observe::controller::Controller;
use crate::prove::Context;

/// Pause between two looks at what was written.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(100);
const SETTLES_WITHIN: Duration = Duration::from_mins(2);
/// Writes named when they do not end.
const LAST_SHOWN: usize = 20;
/// Time limit of a question to git.
const GIT_LIMIT: Duration = Duration::from_secs(10);

/// A copy of the program: it is started again for most of an hour, and the next build would put another in its place.
pub(super) struct Program {
    folder: TempDir,
}

/// One cluster with its proxy.
pub(super) struct Bench {
    pub(super) cluster: ActingCluster,
    pub(super) proxy: FaultProxy,
    kubeconfig: PathBuf,
    folder: TempDir,
}

impl Program {
    pub(super) async fn copy(context: &Context) -> Result<Self> {
        let this = Self { folder: TempDir::new()? };
        std::fs::copy(dist::binary(&context.workspace).await?, this.path())?;
        Ok(this)
    }

    pub(super) fn path(&self) -> PathBuf {
        self.folder.path().join("mainstay")
    }
}

impl Bench {
    pub(super) async fn start(name: &str, nodes: usize) -> Result<Self> {
        let cluster = ActingCluster::start(name, nodes).await?;
        let proxy = FaultProxy::start(&cluster.controller().await?).await?;
        let folder = TempDir::new()?;
        let kubeconfig = folder.path().join("proxy.kubeconfig");
        std::fs::write(&kubeconfig, proxy.kubeconfig())?;
        Ok(Self { cluster, proxy, kubeconfig, folder })
    }

    /// Starts a controller behind the proxy.
    pub(super) async fn start_controller(&self, program: &Path) -> Result<Controller> {
        Controller::start(program, &self.kubeconfig, self.folder.path()).await
    }

    /// Starts a controller behind the proxy. It leads and may act when this returns.
    pub(super) async fn lead(&self, program: &Path) -> Result<Controller> {
        let controller = self.start_controller(program).await?;
        controller.wait_until_leading().await?;
        controller.wait_until_it_may_act(1).await?;
        Ok(controller)
    }

    /// Waits until nothing is written any more.
    pub(super) async fn settle(&self, quiet: Duration, run: &mut Run) -> Result<()> {
        let is_quiet = self.is_quiet_within(SETTLES_WITHIN, quiet, run).await?;
        let written = self.proxy.written();
        let last: Vec<String> =
            written.iter().rev().take(LAST_SHOWN).map(|write| format!("{:?} {}", write.call, write.json())).collect();
        ensure!(is_quiet, "it writes without an end: {last:#?}");
        Ok(())
    }

    /// Waits until nothing is written any more, and not longer than this.
    pub(super) async fn is_quiet_within(&self, limit: Duration, quiet: Duration, run: &mut Run) -> Result<bool> {
        let until = Instant::now() + limit;
        let (mut writes, mut since) = (self.proxy.writes(), Instant::now());
        while since.elapsed() < quiet {
            if Instant::now() >= until {
                return Ok(false);
            }
            sleep(LOOK_EVERY).await;
            self.cluster.run_orders(run).await?;
            if self.proxy.writes() != writes {
                (writes, since) = (self.proxy.writes(), Instant::now());
            }
        }
        Ok(true)
    }
}

/// A number that differs from commit to commit.
pub(super) async fn seed_of_commit(context: &Context) -> Result<u64> {
    let mut git = command::program("git", &context.workspace.root);
    let hash = command::text(git.args(["rev-parse", "HEAD"]), GIT_LIMIT).await?;
    Ok(u64::from_str_radix(hash.get(..8).context("a short commit hash")?, 16)?)
}
