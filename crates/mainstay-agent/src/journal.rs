//! Messages of followed services from the system's journal. The files of journald are read directly, read-only and without
//! its library or programs, so a static binary in an empty image can do it. What a message means is `mainstay-signal`'s
//! decision. See decision 0023.

mod file;
mod object;
mod reader;

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};

pub use file::{Entry, JournalFile};
use serde::{Deserialize, Serialize};

/// Folders of journald below the root of the host: the persistent journal first, then that of a host without one.
const FOLDERS: [&str; 2] = ["var/log/journal", "run/log/journal"];

/// The file that journald writes to.
const ACTIVE: &str = "system.journal";

/// Files of one journal that are looked at. journald keeps at most 100 files.
const FILES_MAX: usize = 128;

/// Machine ids below a folder of journals; usually there is one.
const MACHINES_MAX: usize = 16;

/// The last entry that was read. Numbers of entries rise over all files of one sequence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalPosition {
    /// Id of the sequence of numbers, 32 hexadecimal digits.
    pub sequence: String,
    /// Number of the entry.
    pub number: u64,
}

/// Place in the journal at which reading starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JournalStart {
    /// At the first entry of this boot.
    ThisBoot,
    /// Behind an entry that was read before.
    After(JournalPosition),
    /// At the first entry from now on.
    Now,
}

/// The journal of this boot, open at one place.
#[derive(Debug)]
pub struct Journal {
    root: PathBuf,
    boot: [u8; 16],
    position: Option<JournalPosition>,
    current: Option<JournalFile>,
    /// Files that follow the current one; the last is the active one.
    waiting: VecDeque<PathBuf>,
}

// === impl Journal ===

impl Journal {
    /// Opens the journal of a host. `boot` is the boot id, with or without dashes.
    ///
    /// # Errors
    /// Where no journal can be read.
    pub fn open(root: &Path, boot: &str, start: &JournalStart) -> io::Result<Self> {
        let boot = object::id(boot).ok_or_else(|| io::Error::other("the boot id is not an id"))?;
        let folder = find(root)?;
        let position = match start {
            JournalStart::ThisBoot => None,
            JournalStart::After(position) => Some(position.clone()),
            JournalStart::Now => {
                let active = JournalFile::open(&folder.join(ACTIVE))?;
                Some(JournalPosition { sequence: active.sequence(), number: active.last_number() })
            }
        };
        let mut journal = Self { root: root.to_path_buf(), boot, position, current: None, waiting: VecDeque::new() };
        journal.waiting = journal.files(&folder)?;
        Ok(journal)
    }

    /// Reads the next entries of followed services. It examines at most that number, so fewer may be returned.
    ///
    /// # Errors
    /// Where a file cannot be read.
    pub fn read(&mut self, looks_max: usize) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        let mut left = looks_max;
        while left > 0 {
            let Some(current) = &mut self.current else {
                match self.waiting.pop_front() {
                    Some(path) => self.start(&path)?,
                    None => break,
                }
                continue;
            };
            let (found, looks) = current.read(self.boot, left)?;
            if let Some(last) = found.last() {
                self.position = Some(JournalPosition { sequence: current.sequence(), number: last.number });
            }
            entries.extend(found);
            if looks < left && !self.next_file()? {
                break;
            }
            left -= looks;
        }
        Ok(entries)
    }

    /// The last entry that was read.
    #[must_use]
    pub const fn position(&self) -> Option<&JournalPosition> {
        self.position.as_ref()
    }

    /// Opens a file behind the last entry. A file that journald has just deleted is left out.
    fn start(&mut self, path: &Path) -> io::Result<()> {
        let opened = match JournalFile::open(path) {
            Ok(opened) => opened,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        let sequence = opened.sequence();
        let after = self.position.as_ref().filter(|position| position.sequence == sequence);
        self.current = Some(opened.after(after.map_or(0, |position| position.number), self.boot)?);
        Ok(())
    }

    /// Goes on to the next file where the current one is complete; returns whether there is one. journald renames a full
    /// file and begins another one under its name.
    fn next_file(&mut self) -> io::Result<bool> {
        if self.waiting.is_empty() {
            // The journal may also have moved from memory to disk. Between two files there may be none for a moment.
            let Ok(folder) = find(&self.root) else { return Ok(false) };
            if self.current.as_ref().is_some_and(|current| current.is_at(&folder.join(ACTIVE))) {
                return Ok(false);
            }
            self.waiting = self.files(&folder)?;
        }
        self.current = None;
        Ok(true)
    }

    /// Files with entries behind the position, the oldest first.
    fn files(&self, folder: &Path) -> io::Result<VecDeque<PathBuf>> {
        let mut files: Vec<(u64, PathBuf)> = Vec::new();
        for entry in folder.read_dir()?.take(FILES_MAX).flatten() {
            let path = entry.path();
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if !(name.starts_with("system") && name.ends_with(".journal")) {
                continue;
            }
            // A file that cannot be read is not a reason to read no other; if it is the active one, `start` reports it.
            let Ok(file) = JournalFile::open(&path) else {
                if name == ACTIVE {
                    files.push((u64::MAX, path));
                }
                continue;
            };
            let is_read = self
                .position
                .as_ref()
                .is_some_and(|position| position.sequence == file.sequence() && file.last_number() <= position.number);
            if name == ACTIVE || (!is_read && file.has_boot(self.boot)) {
                let order = if name == ACTIVE { u64::MAX } else { file.first_number() };
                files.push((order, path));
            }
        }
        files.sort();
        Ok(files.into_iter().map(|(_, path)| path).collect())
    }
}

/// The folder of this machine's journal: the first with a file that journald writes to.
fn find(root: &Path) -> io::Result<PathBuf> {
    let mut refused = None;
    for folder in FOLDERS {
        let folder = root.join(folder);
        let machines = match folder.read_dir() {
            Ok(machines) => machines,
            Err(error) => {
                refused = refused.or(Some((folder, error)));
                continue;
            }
        };
        let mut machines: Vec<PathBuf> = machines.take(MACHINES_MAX).flatten().map(|entry| entry.path()).collect();
        machines.sort();
        if let Some(found) = machines.into_iter().find(|machine| machine.join(ACTIVE).exists()) {
            return Ok(found);
        }
    }
    let text = match refused {
        Some((folder, error)) => format!("{}: {error}", folder.display()),
        None => format!("no journal below {}", root.display()),
    };
    Err(io::Error::new(io::ErrorKind::NotFound, text))
}

#[cfg(test)]
mod tests;
