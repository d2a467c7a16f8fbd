//! The control groups of a real node: a folder of the node's own in every hierarchy of cgroup v1. Those of its pods are below it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

const ROOT: &str = "/sys/fs/cgroup";
/// The hierarchies in which the kubelet wants to find its root.
const HIERARCHIES: [&str; 9] = ["cpu", "cpuacct", "cpuset", "memory", "devices", "freezer", "blkio", "pids", "systemd"];
/// Begins the name of every folder, and `watchdog.sh` removes no other.
const PREFIX: &str = "mainstay-node-";
/// The kernel removes the last process of a group a moment after its end.
const EMPTY_AT_MOST: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The folders of one node.
#[derive(Debug)]
pub(super) struct ControlGroups {
    name: String,
}

impl ControlGroups {
    /// Names the folders of a node. The folder of a cluster lists the names, for the cluster's watchdog.
    pub(super) fn listed_in(cluster: &Path, node: &str, number: u8) -> Result<Self> {
        use std::io::Write as _;
        let name = format!("{PREFIX}{}-{number}-{node}", std::process::id());
        let list = cluster.join("control-groups");
        let file = std::fs::File::options().create(true).append(true).open(&list);
        let mut file = file.with_context(|| format!("cannot open {}", list.display()))?;
        writeln!(file, "{name}").with_context(|| format!("cannot write {}", list.display()))?;
        Ok(Self { name })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Makes the folders in every hierarchy that the machine has.
    pub(super) fn create(&self) -> Result<()> {
        for hierarchy in
            HIERARCHIES.iter().map(|hierarchy| Path::new(ROOT).join(hierarchy)).filter(|path| path.is_dir())
        {
            let path = hierarchy.join(&self.name);
            std::fs::create_dir_all(&path).with_context(|| format!("cannot create {}", path.display()))?;
        }
        Ok(())
    }

    /// Removes the folders after the node's last process has ended. Left behind, they cost the next kubelet three seconds
    /// each.
    pub(super) async fn remove(&self) -> Result<()> {
        let give_up_at = Instant::now() + EMPTY_AT_MOST;
        loop {
            let left = self.try_remove();
            if left.is_empty() {
                return Ok(());
            }
            ensure!(Instant::now() < give_up_at, "control groups {left:?} were not empty within {EMPTY_AT_MOST:?}");
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// The same for destructors, which cannot wait for a timer.
    pub(super) fn remove_now(&self) {
        let give_up_at = Instant::now() + EMPTY_AT_MOST;
        while !self.try_remove().is_empty() && Instant::now() < give_up_at {
            std::thread::park_timeout(LOOK_EVERY);
        }
    }

    /// Removes what is empty, and returns the folders that are left.
    fn try_remove(&self) -> Vec<PathBuf> {
        let hierarchies = std::fs::read_dir(ROOT).into_iter().flatten().flatten();
        let folders = hierarchies.map(|hierarchy| hierarchy.path().join(&self.name)).filter(|path| path.is_dir());
        folders.filter(|folder| !remove_tree(folder)).collect()
    }
}

/// Whether the folder and all below it are gone. A folder of cgroupfs is removed without its files.
fn remove_tree(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        remove_tree(&entry.path());
    }
    std::fs::remove_dir(folder).is_ok() || !folder.exists()
}
