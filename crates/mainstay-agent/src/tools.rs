//! Where other programs are looked for. Tests, and containers with the host's tools elsewhere, name their own folders.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Tools of the hardware are for root, and a plain `PATH` often leaves these out.
const FOR_ROOT: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// The folders, first match wins.
#[derive(Debug, Clone)]
pub struct Tools {
    folders: Vec<PathBuf>,
}

// === impl Tools ===

impl Tools {
    /// In these folders alone; in those of `PATH`, and in those for root, where none is given.
    #[must_use]
    pub fn new(folders: Vec<PathBuf>) -> Self {
        let folders = if folders.is_empty() { search_path() } else { folders };
        // What is started runs in another folder.
        Self { folders: folders.into_iter().map(|folder| std::path::absolute(&folder).unwrap_or(folder)).collect() }
    }

    /// A program that can be started.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<PathBuf> {
        self.folders.iter().map(|folder| folder.join(name)).find(|path| starts(path))
    }

    /// The `PATH` for what is started: our folders first, because scripts call the same tools, then the usual ones.
    #[must_use]
    pub fn search_path(&self) -> OsString {
        let all = self.folders.iter().cloned().chain(search_path());
        std::env::join_paths(all).unwrap_or_default()
    }
}

fn search_path() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).chain(FOR_ROOT.map(PathBuf::from)).collect()
}

fn starts(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_found_by_a_path_that_holds_in_every_folder() {
        assert!(Tools::new(Vec::new()).find("sh").is_some_and(|path| path.is_absolute()));
        let here = Tools::new(vec!["src".into()]);
        assert_eq!(here.find("lib.rs"), None, "it cannot be started");
        assert!(here.folders.iter().all(|folder| folder.is_absolute()));
    }
}
