//! Rotation of log files: the current file gets number 1, the others move up, and the oldest is overwritten.

use std::io;
use std::path::{Path, PathBuf};

/// A series of files in one directory: `stem.ending`, `stem.1.ending` and so on.
#[derive(Debug, Clone)]
pub(crate) struct Rotation {
    folder: PathBuf,
    stem: &'static str,
    ending: &'static str,
    files_max: u32,
}

impl Rotation {
    pub(crate) fn new(folder: &Path, (stem, ending): (&'static str, &'static str), files_max: u32) -> Self {
        Self { folder: folder.to_owned(), stem, ending, files_max }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file that is written.
    pub(crate) fn current(&self) -> PathBuf {
        self.folder.join(format!("{}.{}", self.stem, self.ending))
    }

    fn numbered(&self, number: u32) -> PathBuf {
        self.folder.join(format!("{}.{number}.{}", self.stem, self.ending))
    }

    /// Renames the current file, so that a new one can be created.
    pub(crate) fn put_aside(&self) -> io::Result<()> {
        if self.files_max < 2 {
            return std::fs::remove_file(self.current());
        }
        for number in (1..self.files_max - 1).rev() {
            if self.numbered(number).exists() {
                std::fs::rename(self.numbered(number), self.numbered(number + 1))?;
            }
        }
        std::fs::rename(self.current(), self.numbered(1))
    }
}
