//! A folder for what programs write while they run. It goes away at the end; one that a killed run left behind goes
//! away with the next.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;

/// How such folders begin.
const PREFIX: &str = ".mainstay-agent-";

/// More folders than this are not looked through for what was left behind.
const LOOKED_AT_MAX: usize = 10_000;

/// The folder; held as long as its lock is.
#[derive(Debug)]
pub(crate) struct Scratch {
    path: PathBuf,
    _lock: File,
}

// === impl Scratch ===

impl Scratch {
    pub(crate) fn new(beside: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(beside)?;
        sweep(beside);
        let beside = std::path::absolute(beside)?;
        let path = beside.join(format!("{PREFIX}{}-{}", std::process::id(), jiff::Timestamp::now().as_nanosecond()));
        DirBuilder::new().mode(0o700).create(&path)?;
        let lock = File::create(path.join("lock"))?;
        rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Self { path, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed now is removed the next time.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

fn sweep(folder: &Path) {
    let names = crate::text::names(folder, LOOKED_AT_MAX).unwrap_or_default();
    for path in names.iter().filter(|name| name.starts_with(PREFIX)).map(|name| folder.join(name)) {
        let lock = File::open(path.join("lock"));
        let is_held =
            lock.is_ok_and(|lock| rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err());
        if !is_held {
            let _ = std::fs::remove_dir_all(&path);
        }
    }
}
