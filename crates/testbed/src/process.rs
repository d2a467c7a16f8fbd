//! Server processes: started in a session of their own, known by pid and start time, ended within a bound.
//! A pid alone is never trusted, because the kernel hands it out again.

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions};
use serde::{Deserialize, Serialize};

const LAUNCH: &str = include_str!("launch.sh");
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// A killed process with gigabytes to give back takes a moment.
const GONE_AT_MOST: Duration = Duration::from_secs(20);

/// A process, for as long as it lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    /// Clock ticks between boot and the start of the process.
    pub(crate) started_ticks: u64,
}

/// What the kernel says about a pid.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    comm: String,
    state: char,
    parent: i32,
    started_ticks: u64,
}

impl Process {
    pub(crate) fn of(pid: i32) -> io::Result<Self> {
        Ok(Self { pid, started_ticks: stat(pid)?.started_ticks })
    }

    pub(crate) fn current() -> io::Result<Self> {
        Self::of(rustix::process::getpid().as_raw_pid())
    }

    /// The parent and the name it goes by.
    pub(crate) fn parent() -> io::Result<(Self, String)> {
        let parent = stat(rustix::process::getpid().as_raw_pid())?.parent;
        let its = stat(parent)?;
        Ok((Self { pid: parent, started_ticks: its.started_ticks }, its.comm))
    }

    /// Runs; a zombie does not.
    pub(crate) fn alive(self) -> bool {
        self.stat().is_some_and(|stat| stat.state != 'Z')
    }

    /// What the kernel knows of this very process, not of a later one with its pid.
    fn stat(self) -> Option<Stat> {
        stat(self.pid).ok().filter(|stat| stat.started_ticks == self.started_ticks)
    }

    /// Sends a signal unless the process is gone. The pidfd pins the process, so that the check and the signal mean
    /// the same one.
    pub(crate) fn signal(self, signal: Signal) {
        let Some(pid) = Pid::from_raw(self.pid) else { return };
        if let Ok(pidfd) = rustix::process::pidfd_open(pid, PidfdFlags::empty())
            && self.alive()
        {
            // It may have ended just now, and that is what a signal is for.
            let _ = rustix::process::pidfd_send_signal(&pidfd, signal);
        }
    }

    /// Whether every thread of it has stopped, as SIGSTOP asks.
    pub(crate) fn is_stopped(self) -> bool {
        let Ok(threads) = std::fs::read_dir(format!("/proc/{}/task", self.pid)) else { return false };
        let mut states = threads.flatten().filter_map(|thread| {
            let line = std::fs::read_to_string(thread.path().join("stat")).ok()?;
            parse_stat(&line).map(|stat| stat.state)
        });
        self.alive() && states.all(|state| state == 'T')
    }

    /// Memory in use by the process itself, page cache excluded unless mapped.
    pub(crate) fn resident_bytes(self) -> u64 {
        if !self.alive() {
            return 0;
        }
        std::fs::read_to_string(format!("/proc/{}/status", self.pid))
            .ok()
            .and_then(|status| resident_bytes(&status))
            .unwrap_or(0)
    }

    /// Gone for good. A child of ours must be waited for, or a zombie stays; and its first thread may be one while
    /// others still run. Anyone else's zombie is not ours to bury.
    fn gone(self, options: WaitOptions) -> bool {
        let (Some(stat), Some(pid)) = (self.stat(), Pid::from_raw(self.pid)) else { return true };
        match rustix::process::waitpid(Some(pid), options) {
            Ok(ended) => ended.is_some(),
            Err(_) => stat.state == 'Z',
        }
    }
}

/// Kills all of them and waits until they are gone. Never politely: what they know is thrown away in the next moment,
/// and an API server that loses etcd first takes its whole grace period to end.
pub(crate) async fn end(processes: &[Process]) -> Result<()> {
    for process in processes {
        process.signal(Signal::KILL);
    }
    let give_up_at = Instant::now() + GONE_AT_MOST;
    loop {
        let left = processes.iter().filter(|process| !process.gone(WaitOptions::NOHANG));
        let left: Vec<i32> = left.map(|process| process.pid).collect();
        if left.is_empty() {
            return Ok(());
        }
        anyhow::ensure!(Instant::now() < give_up_at, "processes {left:?} survived SIGKILL for {GONE_AT_MOST:?}");
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// The same for destructors, which cannot wait for a timer.
pub(crate) fn end_now(processes: &[Process]) {
    for process in processes {
        process.signal(Signal::KILL);
    }
    for process in processes {
        // A killed child ends without delay; for others this does not wait.
        process.gone(WaitOptions::empty());
    }
}

/// Starts `program` in a session of its own, so that neither a closed terminal nor Ctrl-C reaches it, with an empty
/// environment, so that no proxy or configuration of the caller does.
pub(crate) fn launch(name: &str, program: &Path, args: &[String], env: &[(&str, &str)], dir: &Path) -> Result<Process> {
    let log_path = dir.join("logs").join(format!("{name}.log"));
    let log = File::options().create(true).append(true).open(&log_path);
    let log = log.with_context(|| format!("cannot open {}", log_path.display()))?;
    let child = Command::new("setsid")
        .args(["sh", "-c", LAUNCH, "sh"])
        .arg(record_path(dir))
        .arg(name)
        .arg(program)
        .args(args)
        .current_dir(dir)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", dir)
        .envs(env.iter().copied())
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
        .context("cannot run setsid (util-linux), which starts the servers")?;
    let pid = i32::try_from(child.id())?;
    Process::of(pid).with_context(|| format!("{name} ended at once"))
}

/// One line per process that was ever started here: pid, start time, name.
pub(crate) fn record_path(dir: &Path) -> std::path::PathBuf {
    dir.join("processes")
}

/// Everything on record in `dir`, oldest first. A torn last line belongs to a process that has not begun.
pub(crate) fn recorded(dir: &Path) -> Vec<(Process, String)> {
    std::fs::read_to_string(record_path(dir)).unwrap_or_default().lines().filter_map(recorded_line).collect()
}

fn recorded_line(line: &str) -> Option<(Process, String)> {
    let mut words = line.split(' ');
    let pid = words.next()?.parse().ok()?;
    let started_ticks = words.next()?.parse().ok()?;
    Some((Process { pid, started_ticks }, words.next()?.to_owned()))
}

fn stat(pid: i32) -> io::Result<Stat> {
    let line = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    parse_stat(&line).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, format!("unreadable stat line: {line}")))
}

/// proc(5): the second field is a name in parentheses that may itself hold spaces and parentheses.
fn parse_stat(line: &str) -> Option<Stat> {
    let (head, tail) = line.rsplit_once(") ")?;
    let comm = head.split_once(" (")?.1.to_owned();
    let mut fields = tail.split(' ');
    Some(Stat {
        comm,
        state: fields.next()?.chars().next()?,
        parent: fields.next()?.parse().ok()?,
        started_ticks: fields.nth(17)?.parse().ok()?,
    })
}

fn resident_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

#[cfg(test)]
pub(crate) mod tests;
