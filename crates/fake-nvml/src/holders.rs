//! Who holds the driver: one locked file per process that has NVML open. A process that was killed holds nothing, because
//! the kernel drops its lock, as it closes `/dev/nvidiactl`.

use std::fs::{self, File};
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::files::beside;
use crate::problem::Problem;

/// More processes than this do not hold one driver; further files are not looked at.
const HOLDERS_MAX: usize = 4096;

/// A process that has NVML open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Holder {
    /// Its id.
    pub pid: u32,
    /// How often it has called `nvmlInit` more than `nvmlShutdown`; 0 where it only waits for a call to return.
    pub inits: u64,
    /// GPUs that it has opened, by index.
    pub gpus: Vec<u32>,
    /// Event sets that it has.
    pub event_sets: u64,
}

/// Locked file that shows that this process has NVML open.
#[derive(Debug)]
pub(crate) struct HolderFile {
    path: PathBuf,
    file: File,
}

/// The folder of the marks.
fn folder(state: &Path) -> PathBuf {
    beside(state, "holders")
}

/// Everybody who holds the driver now, for who has the node's lock alone. Marks of the dead are swept away.
pub(crate) fn list(state: &Path) -> Result<Vec<Holder>, Problem> {
    let folder = folder(state);
    let Ok(found) = fs::read_dir(&folder) else { return Ok(Vec::new()) };
    let mut holders = Vec::new();
    for entry in found.take(HOLDERS_MAX) {
        let path = entry.map_err(Problem::file(&folder))?.path();
        // It may be gone since the folder was read.
        let Ok(file) = File::open(&path) else { continue };
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let _ = fs::remove_file(&path);
        } else if let Ok(text) = fs::read(&path)
            && let Ok(holder) = serde_json::from_slice(&text)
        {
            holders.push(holder);
        }
    }
    holders.sort_by_key(|holder: &Holder| holder.pid);
    Ok(holders)
}

// === impl HolderFile ===

impl HolderFile {
    /// Makes a mark. `instance` tells two copies of the library within one process apart.
    pub(crate) fn make(state: &Path, instance: usize, holder: &Holder) -> Result<Self, Problem> {
        let folder = folder(state);
        fs::create_dir_all(&folder).map_err(Problem::file(&folder))?;
        let path = folder.join(format!("{}-{instance:x}", holder.pid));
        let file =
            File::options().create(true).write(true).truncate(false).open(&path).map_err(Problem::file(&path))?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|_| Problem::Locked)?;
        let mut mark = Self { path, file };
        mark.update(holder)?;
        Ok(mark)
    }

    pub(crate) fn update(&mut self, holder: &Holder) -> Result<(), Problem> {
        let mut text = serde_json::to_vec(holder)?;
        // Padded instead of cut, so that a reader never finds half of it: spaces end JSON as well as nothing does.
        let before = self.file.metadata().map_err(Problem::file(&self.path))?.len();
        text.resize(text.len().max(usize::try_from(before).unwrap_or(0)), b' ');
        self.file.rewind().and_then(|()| self.file.write_all(&text)).map_err(Problem::file(&self.path))
    }
}

impl Drop for HolderFile {
    fn drop(&mut self) {
        // Before the lock goes with the file, so that nobody takes it for a dead one's.
        let _ = fs::remove_file(&self.path);
    }
}
