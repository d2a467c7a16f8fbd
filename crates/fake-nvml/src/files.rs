//! The files beside each other that make up a node: the state, its lock, and the folder of those who hold the driver.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use crate::problem::Problem;
use crate::state::{State, unix_ms};
use crate::watch;

/// The variable that names the state file.
pub const STATE_VARIABLE: &str = "FAKE_NVML_STATE";
/// Where the variable is not set, the state file is beside the library and has this name.
pub const STATE_NAME: &str = "state.json";

/// A full state of 32 GPUs is a tenth of this.
const STATE_BYTES_MAX: u64 = 8 << 20;
/// Whoever has the lock reads and writes one small file; ten seconds is a machine that is busy beyond measure.
const LOCK_WAIT: Duration = Duration::from_secs(10);
/// A prime, so that writes at a steady pace differ too.
const LINE_ENDS: u64 = 251;
const LOCK_PAUSE: Duration = Duration::from_micros(300);

/// What tells one content of the state file from another, without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

/// Who may come in together.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Access {
    /// Those who begin to hold the driver.
    Shared,
    /// One who takes it away, or writes the state.
    Alone,
}

/// The node's lock; gone with the value.
#[derive(Debug)]
pub(crate) struct Lock(#[expect(dead_code, reason = "held, not read")] File);

impl Stamp {
    pub(crate) fn of(path: &Path) -> Result<Self, Problem> {
        let found = fs::metadata(path).map_err(Problem::file(path))?;
        Ok(Self { inode: found.ino(), size: found.size(), modified: (found.mtime(), found.mtime_nsec()) })
    }
}

/// Reads a state and checks its bounds.
pub(crate) fn read(path: &Path) -> Result<State, Problem> {
    let file = File::open(path).map_err(Problem::file(path))?;
    let mut text = Vec::new();
    file.take(STATE_BYTES_MAX).read_to_end(&mut text).map_err(Problem::file(path))?;
    let state: State = serde_json::from_slice(&text)?;
    state.check()?;
    Ok(state)
}

/// Writes a state in one step: a reader finds the old one or the new one.
pub(crate) fn write(path: &Path, state: &State) -> Result<(), Problem> {
    state.check()?;
    let draft = beside(path, "draft");
    let mut text = serde_json::to_vec(state)?;
    // File times are as coarse as the kernel's tick, and inodes are used again: the size tells two quick writes apart.
    let ends = usize::try_from(unix_ms() % LINE_ENDS).unwrap_or(0);
    text.resize(text.len() + ends + 1, b'\n');
    fs::write(&draft, text).map_err(Problem::file(&draft))?;
    fs::rename(&draft, path).map_err(Problem::file(path))
}

/// A file that belongs to a state file.
pub(crate) fn beside(state: &Path, what: &str) -> PathBuf {
    let mut name = state.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{what}"));
    state.with_file_name(name)
}

/// Takes the lock of a node.
pub(crate) fn lock(state: &Path, access: Access) -> Result<Lock, Problem> {
    let path = beside(state, "lock");
    let file = File::options().create(true).append(true).open(&path).map_err(Problem::file(&path))?;
    let operation = match access {
        Access::Shared => FlockOperation::NonBlockingLockShared,
        Access::Alone => FlockOperation::NonBlockingLockExclusive,
    };
    let deadline = Instant::now() + LOCK_WAIT;
    while flock(&file, operation).is_err() {
        if Instant::now() >= deadline {
            return Err(Problem::Locked);
        }
        watch::pause(LOCK_PAUSE);
    }
    Ok(Lock(file))
}
