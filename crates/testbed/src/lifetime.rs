//! Clusters for tests: one shared by a whole run, or one for a single test. Neither outlives the run, whatever happens
//! to the test.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::cluster::{Cluster, Options, audit_reads, end_and_remove};
use crate::lock::FileLock;
use crate::process::Process;
use crate::progress::builds_only;
use crate::servers::Servers;

/// Another test process may be starting the shared cluster on a busy machine.
const SHARED_AT_MOST: Duration = Duration::from_mins(5);

static OWN: AtomicU32 = AtomicU32::new(0);

/// The cluster of this test run: the first test that asks starts it, the others find it. Tests keep out of each other's
/// way by namespaces and distinct node names.
///
/// Every test of a run has the same parent (cargo, or cargo-nextest, which gives each test a process of its own), so
/// the parent is what the cluster belongs to, and with whose end it ends.
pub async fn shared() -> Result<Cluster> {
    let servers = Servers::ensure(&builds_only).await?;
    let owner = run_owner()?;
    let root = temp_root()?;
    let dir = root.join(format!("run-{}-{}", owner.pid, owner.started_ticks));
    let _lock = FileLock::take(&root.join("shared.lock"), SHARED_AT_MOST).await?;
    match Cluster::open(&dir) {
        Ok(cluster) => return Ok(cluster),
        // The test that was starting it was killed half-way.
        Err(_) if dir.exists() => end_and_remove(&dir).await?,
        Err(_) => {}
    }
    Cluster::start_in(&dir, Options::default(), Some(owner), &servers, &builds_only).await
}

/// A cluster for one test alone, which ends when the handle is dropped, or when the test process dies before that.
pub async fn own(options: Options) -> Result<Cluster> {
    start_own(&own_dir()?, options, &Servers::ensure(&builds_only).await?).await
}

/// The same, with everything that the accounts under test read in its audit log as well: for a few nodes.
pub async fn own_with_read_audit(options: Options) -> Result<Cluster> {
    let dir = own_dir()?;
    audit_reads(&dir)?;
    start_own(&dir, options, &Servers::ensure(&builds_only).await?).await
}

/// The same, with the API server of the oldest Kubernetes that is supported. Reads are in its audit log as well.
pub async fn own_on_oldest(options: Options) -> Result<Cluster> {
    let servers = Servers::oldest(&builds_only).await?;
    let dir = own_dir()?;
    audit_reads(&dir)?;
    start_own(&dir, options, &servers).await
}

fn own_dir() -> Result<PathBuf> {
    let (owner, number) = (Process::current()?, OWN.fetch_add(1, Ordering::Relaxed));
    Ok(temp_root()?.join(format!("own-{}-{}-{number}", owner.pid, owner.started_ticks)))
}

async fn start_own(dir: &Path, options: Options, servers: &Servers) -> Result<Cluster> {
    let owner = Process::current()?;
    Ok(Cluster::start_in(dir, options, Some(owner), servers, &builds_only).await?.ended_on_drop())
}

/// The test runner, or this very process when a developer runs a test binary by hand.
fn run_owner() -> Result<Process> {
    let (parent, name) = Process::parent().context("cannot read this process's parent")?;
    if name.starts_with("cargo") { Ok(parent) } else { Ok(Process::current()?) }
}

/// Ours alone on a machine with several users.
fn temp_root() -> Result<PathBuf> {
    let root = std::env::temp_dir().join(format!("mainstay-testbed-{}", rustix::process::getuid().as_raw()));
    let created = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&root);
    created.with_context(|| format!("cannot create {}", root.display()))?;
    Ok(root)
}
