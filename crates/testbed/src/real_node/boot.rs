//! A booted node: its first process in namespaces of its own. SIGKILL to that process ends everything in the node at once, as
//! a power cut does, and the kernel removes its mounts and its network.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rustix::process::Signal;

use crate::go::last_lines;
use crate::problem::problem;
use crate::process::{self, Process};

const INIT: &str = include_str!("init.sh");
const LOOK_EVERY: Duration = Duration::from_millis(20);
const BEGINS_AT_MOST: Duration = Duration::from_secs(20);
const GONE_AT_MOST: Duration = Duration::from_secs(20);

/// Processes of a booted node that the machine sees.
#[derive(Debug, Clone, Copy)]
pub(super) struct Boot {
    /// `unshare`, our child, which waits for the first process of the node.
    outer: Process,
    /// First process of the node.
    init: Process,
}

impl Boot {
    /// Starts the first process in new namespaces, and records it in the cluster's folder. The arguments are those of the
    /// script `init.sh` in the node's folder.
    pub(super) async fn start(cluster: &Path, name: &str, folder: &Path, args: [&str; 5]) -> Result<Self> {
        // With --kill-child the cluster's watchdog, which knows `unshare` alone, also ends the node.
        let unshare = "--mount --net --uts --ipc --pid --fork --mount-proc --kill-child bash";
        let script = folder.join("init.sh");
        std::fs::write(&script, INIT).with_context(|| format!("cannot write {}", script.display()))?;
        let script = script.to_string_lossy();
        let words = unshare.split(' ').chain([script.as_ref()]).chain(args);
        let words: Vec<String> = words.map(str::to_owned).collect();
        let outer = process::launch(&format!("node-{name}"), Path::new("unshare"), &words, &[], cluster)?;
        let give_up_at = Instant::now() + BEGINS_AT_MOST;
        while outer.alive() && Instant::now() < give_up_at {
            if let Some(init) = child_of_unshare(outer) {
                return Ok(Self { outer, init });
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        process::end(&[outer]).await?;
        let log = cluster.join("logs").join(format!("node-{name}.log"));
        let what = format!("node {name} has no first process");
        Err(problem(what, log_end(&log), "its namespaces cannot be made; see the message above"))
    }

    pub(super) fn is_alive(&self) -> bool {
        self.init.alive()
    }

    /// Process id of the node's first process, for `nsenter`.
    pub(super) fn init_pid(&self) -> i32 {
        self.init.pid
    }

    /// Ends everything in the node, without a chance to write to disk.
    pub(super) async fn cut(self) -> Result<()> {
        process::end(&[self.init, self.outer]).await
    }

    /// The same for destructors, which cannot wait for a timer.
    pub(super) fn cut_now(self) {
        self.init.signal(Signal::KILL);
        process::end_now(&[self.outer]);
        // The kernel ends every process of the namespace before the first one is gone.
        let give_up_at = Instant::now() + GONE_AT_MOST;
        while self.init.alive() && Instant::now() < give_up_at {
            std::thread::park_timeout(LOOK_EVERY);
        }
    }
}

/// The process that `unshare` has forked. Before the process becomes `unshare` it is a shell with children of its own.
fn child_of_unshare(outer: Process) -> Option<Process> {
    let proc = Path::new("/proc").join(outer.pid.to_string());
    let comm = std::fs::read_to_string(proc.join("comm")).ok()?;
    if comm.trim() != "unshare" {
        return None;
    }
    let children = std::fs::read_to_string(proc.join("task").join(outer.pid.to_string()).join("children")).ok()?;
    Process::of(children.split_whitespace().next()?.parse().ok()?).ok()
}

/// Name and last lines of a log, for errors.
pub(super) fn log_end(path: &Path) -> String {
    let log = std::fs::read(path).unwrap_or_default();
    let end = last_lines(&String::from_utf8_lossy(&log), 12);
    format!("{}: {}", path.display(), if end.is_empty() { "empty" } else { &end })
}
