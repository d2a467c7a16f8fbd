//! Puts etcd back to an older state, as an operator does with a backup: objects return as they were, and the revision, from
//! which the API server makes resource versions, goes back with them.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use rustix::process::Signal;
use tempfile::TempDir;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::{ApiServer, Cluster};
use crate::process::Process;
use crate::servers::Program;

const STOPS_AT_MOST: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A copy of etcd's data directory, removed when it is dropped.
#[derive(Debug)]
pub struct EtcdSnapshot(TempDir);

/// Continues a stopped process, whatever happens to the copy.
struct Stopped(Process);

impl Drop for Stopped {
    fn drop(&mut self) {
        self.0.signal(Signal::CONT);
    }
}

impl Cluster {
    /// Copies the state of etcd. etcd is stopped for these milliseconds and goes on afterwards; what it has acknowledged by
    /// then is in the copy, as it is in the data directory of a killed etcd.
    pub async fn etcd_snapshot(&self) -> Result<EtcdSnapshot> {
        let (from, to) = (self.dir.join("etcd"), TempDir::new()?);
        let etcd = self.process_of(Program::Etcd)?;
        let stopped = Stopped(etcd);
        etcd.signal(Signal::STOP);
        let give_up_at = Instant::now() + STOPS_AT_MOST;
        while !etcd.is_stopped() {
            ensure!(Instant::now() < give_up_at, "etcd did not stop within {} s", STOPS_AT_MOST.as_secs());
            sleep(LOOK_EVERY).await;
        }
        let to = spawn_blocking(move || copy(&from, to.path()).map(|()| to)).await??;
        drop(stopped);
        Ok(EtcdSnapshot(to))
    }

    /// Puts etcd back to a snapshot of this cluster. API servers and etcd are ended without warning and started again on
    /// their ports. Other servers keep running with what they remember. For clusters of one's own.
    pub async fn restore_etcd(&self, snapshot: &EtcdSnapshot) -> Result<()> {
        let mut handles = vec![self.through(ApiServer::First)?];
        if self.record.second_api_url.is_some() {
            handles.push(self.through(ApiServer::Second)?);
        }
        let mut outages = Vec::new();
        for handle in &handles {
            outages.push(handle.outage(Program::ApiServer).await?);
        }
        let etcd = self.outage(Program::Etcd).await?;
        let (from, to) = (snapshot.0.path().to_owned(), self.dir.join("etcd"));
        spawn_blocking(move || {
            fs::remove_dir_all(&to).with_context(|| format!("cannot remove {}", to.display()))?;
            copy(&from, &to)
        })
        .await??;
        etcd.end().await?;
        for outage in outages {
            outage.end().await?;
        }
        Ok(())
    }
}

/// Copies a folder with its folders. Files of etcd's that are not in use yet end in `.tmp` and are left out.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("cannot create {}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            copy(&source, &target)?;
        } else if source.extension().is_none_or(|extension| extension != "tmp") {
            fs::copy(&source, &target).with_context(|| format!("cannot copy {}", source.display()))?;
        }
    }
    // etcd asks for a folder that its owner alone can read.
    fs::set_permissions(to, fs::metadata(from)?.permissions())?;
    Ok(())
}
