//! A lock between processes with a bounded wait. The kernel gives it back when its holder dies, so none goes stale.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::problem::problem;

/// How often a taken lock is tried again.
const RETRY_EVERY: Duration = Duration::from_millis(100);

/// Held until dropped.
#[derive(Debug)]
pub(crate) struct FileLock {
    _file: File,
}

impl FileLock {
    /// Waits for the lock at `path` no longer than `at_most`. The file stays: removing it would let two holders lock
    /// two different files of one name.
    pub(crate) async fn take(path: &Path, at_most: Duration) -> Result<Self> {
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
        }
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path)
            .with_context(|| format!("cannot open the lock {}", path.display()))?;
        let give_up_at = Instant::now() + at_most;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _file: file }),
                Err(TryLockError::Error(error)) => {
                    return Err(error).with_context(|| format!("cannot lock {}", path.display()));
                }
                Err(TryLockError::WouldBlock) if Instant::now() >= give_up_at => {
                    return Err(problem(
                        "another process holds a lock of the test cluster for too long",
                        format!("{} was not free within {} s", path.display(), at_most.as_secs()),
                        "see which process has the file open (lsof), end it, and try again",
                    ));
                }
                Err(TryLockError::WouldBlock) => tokio::time::sleep(RETRY_EVERY).await,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_second_holder_waits_and_gives_up_and_gets_it_after_the_first() {
        let dir = crate::process::tests::scratch("lock");
        let path = dir.join("a.lock");
        let first = FileLock::take(&path, Duration::ZERO).await.unwrap();
        let refused = FileLock::take(&path, Duration::from_millis(150)).await.unwrap_err();
        assert!(refused.to_string().contains("too long"), "{refused}");
        drop(first);
        FileLock::take(&path, Duration::ZERO).await.unwrap();
        std::fs::remove_dir_all(dir).unwrap();
    }
}
