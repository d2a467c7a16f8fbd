//! A small shell script that stops a test cluster when the process that owns it has ended. Named clusters have
//! none, because they keep running after the command that started them.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::process::Process;

const SCRIPT: &str = include_str!("watchdog.sh");

/// No test run takes longer; a watchdog whose owner hangs gives up on it.
const AT_MOST: Duration = Duration::from_hours(6);

/// Starts a watchdog of the servers recorded in `dir` on behalf of `owner`. It also leaves when `dir` is gone.
pub(crate) fn start(dir: &Path, owner: Process) -> Result<Process> {
    let child = Command::new("setsid")
        .args(["sh", "-c", SCRIPT, "sh"])
        .arg(dir)
        .arg(owner.pid.to_string())
        .arg(owner.started_ticks.to_string())
        .arg(AT_MOST.as_secs().to_string())
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context("cannot run setsid (util-linux), which starts the watchdog of the test cluster")?;
    Ok(Process::of(i32::try_from(child.id())?)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{launch, tests::scratch};

    #[tokio::test]
    async fn the_watchdog_ends_the_servers_when_the_owner_is_gone() {
        let dir = scratch("watchdog");
        let script = |text: &str| ["-c".to_owned(), text.to_owned()];
        let owner_dir = scratch("watchdog-owner");
        let owner = launch("owner", Path::new("/bin/sh"), &script("exec sleep 60"), &[], &owner_dir).unwrap();
        let server = launch("server", Path::new("/bin/sh"), &script("exec sleep 60"), &[], &dir).unwrap();
        let watchdog = start(&dir, owner).unwrap();

        tokio::time::sleep(Duration::from_millis(2500)).await;
        assert!(server.alive() && watchdog.alive(), "the owner lives, and yet a server ended");

        crate::process::end_now(&[owner]);
        for _ in 0..100 {
            if !dir.exists() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        assert!(!dir.exists(), "the directory stayed");
        assert!(!server.alive(), "the server outlived its owner");
        std::fs::remove_dir_all(owner_dir).unwrap();
    }
}
