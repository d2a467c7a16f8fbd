//! Clusters for manual work: identified by name, kept in the cache directory, running until removed.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::cluster::{self, Cluster, Options};
use crate::fleet::Fleet;
use crate::lock::FileLock;
use crate::pki::write_private;
use crate::problem::problem;
use crate::progress::Progress;
use crate::servers::Servers;

/// Long enough for another `up` of the same name to start its servers.
const LOCK_AT_MOST: Duration = Duration::from_mins(3);

/// What a named cluster was asked to be. Asking for the same again continues; asking for something else is refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The servers.
    pub options: Options,
    /// The nodes.
    pub fleet: Fleet,
}

/// A name that is safe as a file name and in a sentence: 1 to 32 lower-case letters, digits and inner hyphens.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name(String);

impl Name {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn dir(&self) -> Result<PathBuf> {
        Ok(root()?.join(&self.0))
    }
}

impl std::str::FromStr for Name {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let inner = |byte: u8| plain(byte) || byte == b'-';
        let edges = [text.bytes().next(), text.bytes().last()];
        if text.len() <= 32 && text.bytes().all(inner) && edges.into_iter().all(|edge| edge.is_some_and(plain)) {
            Ok(Self(text.to_owned()))
        } else {
            Err("a cluster's name is 1 to 32 lower-case letters, digits and inner hyphens".to_owned())
        }
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Starts the servers of a cluster, or finds them running: an `up` that was interrupted is continued by the next.
/// Creating the nodes is the caller's next step ([`Fleet::create`]).
pub async fn up(name: &Name, plan: &Plan, progress: Progress<'_>) -> Result<Cluster> {
    let servers = Servers::ensure(progress).await?;
    let dir = name.dir()?;
    let _lock = FileLock::take(&dir.with_extension("lock"), LOCK_AT_MOST).await?;
    if dir.exists() {
        if let Some(cluster) = continued(name, plan)? {
            return Ok(cluster);
        }
        // Of a machine that was restarted, or of a start that was killed half-way.
        cluster::end_and_remove(&dir).await?;
    }
    let cluster = Cluster::start_in(&dir, plan.options.clone(), None, &servers, progress).await?;
    write_private(&dir.join("plan.json"), &serde_json::to_string_pretty(plan)?)?;
    Ok(cluster)
}

/// The running cluster, if there is one and it is what was asked for.
fn continued(name: &Name, plan: &Plan) -> Result<Option<Cluster>> {
    let Some((cluster, existing)) = find(name)? else { return Ok(None) };
    let missing = cluster.missing_servers();
    let hint = format!("take it down first: cargo xtask cluster down --name {name}");
    if missing == cluster.all_servers() {
        Ok(None)
    } else if !missing.is_empty() {
        Err(problem(format!("cluster \"{name}\" is broken"), format!("{} no longer run", missing.join(", ")), hint))
    } else if existing != *plan {
        Err(problem(format!("cluster \"{name}\" is up and different"), existing.describe(), hint))
    } else {
        Ok(Some(cluster))
    }
}

impl Plan {
    /// In words.
    pub fn describe(&self) -> String {
        let parts: Vec<&str> = self.options.parts.iter().map(|part| part.program().name()).collect();
        let Fleet { nodes, gpus_per_node, seed, .. } = &self.fleet;
        format!("{nodes} nodes with {gpus_per_node} GPUs each, seed {seed}, with {}", parts.join(", "))
    }
}

/// The cluster of that name, if its servers were ever started to the end.
pub fn find(name: &Name) -> Result<Option<(Cluster, Plan)>> {
    let dir = name.dir()?;
    let plan = dir.join("plan.json");
    if !plan.exists() {
        return Ok(None);
    }
    let text = std::fs::read_to_string(&plan).with_context(|| format!("cannot read {}", plan.display()))?;
    let plan = serde_json::from_str(&text).with_context(|| format!("cannot understand {}", plan.display()))?;
    Ok(Some((Cluster::open(&dir)?, plan)))
}

/// Every name that something exists for, complete or not.
pub fn list() -> Result<Vec<Name>> {
    let Ok(entries) = std::fs::read_dir(root()?) else { return Ok(Vec::new()) };
    let dirs = entries.flatten().filter(|entry| entry.path().is_dir());
    let mut names: Vec<Name> = dirs.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    names.sort();
    Ok(names)
}

/// Whether a cluster of that name existed and was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemovalOutcome {
    /// It is gone now.
    Removed,
    /// There was none of that name.
    Absent,
}

/// Ends the servers of that name and removes everything about them.
pub async fn down(name: &Name) -> Result<RemovalOutcome> {
    let dir = name.dir()?;
    if !dir.exists() {
        return Ok(RemovalOutcome::Absent);
    }
    let _lock = FileLock::take(&dir.with_extension("lock"), LOCK_AT_MOST).await?;
    cluster::end_and_remove(&dir).await?;
    Ok(RemovalOutcome::Removed)
}

fn root() -> Result<PathBuf> {
    Ok(crate::cache::root()?.join("clusters"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_leave_its_directory() {
        for good in ["dev", "a", "k8s-1", "0"] {
            assert_eq!(good.parse::<Name>().unwrap().as_str(), good);
        }
        for bad in ["", ".", "..", "a/b", "-a", "a-", "Dev", "a.lock", "a b", &"x".repeat(33)] {
            assert!(bad.parse::<Name>().is_err(), "{bad:?} was accepted");
        }
    }
}
