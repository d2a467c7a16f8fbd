//! Detects from sysfs and pid files that another tool is about to unload the driver, without a driver call. Such a tool
//! first stops the persistence daemon, then unloads the dependent modules (NVIDIA's driver container does both). It fails
//! if the agent still has NVML open when it unloads the driver itself.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::text;

/// More modules than ever depend on the driver: uvm, modeset, drm, peermem, fs, gdrdrv.
const DEPENDENTS_MAX: usize = 32;

/// Paths of the files that show whether the driver is loaded and in use.
#[derive(Debug, Clone)]
pub(super) struct DriverFiles {
    module: PathBuf,
    persistence: [PathBuf; 2],
}

/// Loaded module, dependent modules and persistence daemon at one point in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DriverState {
    /// The driver's module; a number that is another when it was loaded again.
    module: Option<u64>,
    dependents: BTreeSet<String>,
    persistence: bool,
}

// === impl DriverFiles ===

impl DriverFiles {
    pub(super) fn new(sys: &Path, root: &Path) -> Self {
        let run = |name: &str| root.join("run").join(name);
        Self {
            module: sys.join("module/nvidia"),
            // Of the packages, and of the driver container.
            persistence: [
                run("nvidia-persistenced/nvidia-persistenced.pid"),
                run("nvidia/nvidia-persistenced/nvidia-persistenced.pid"),
            ],
        }
    }

    pub(super) fn look(&self) -> DriverState {
        // `initstate` says `coming` and `going` while the module is neither there nor gone; drivers built in have none.
        let settled = text::read(&self.module.join("initstate")).map_or(true, |state| state == "live");
        let module = fs::metadata(&self.module).ok().filter(|_| settled).map(|folder| folder.ino());
        let dependents = text::names(&self.module.join("holders"), DEPENDENTS_MAX).unwrap_or_default();
        DriverState {
            module,
            dependents: dependents.into_iter().collect(),
            persistence: self.persistence.iter().any(|file| file.exists()),
        }
    }
}

// === impl DriverState ===

impl DriverState {
    /// Whether the driver is loaded.
    pub(super) const fn loaded(&self) -> bool {
        self.module.is_some()
    }

    /// Whether what was there before and is not any more says that the driver is going.
    pub(super) fn is_unloading(&self, before: &Self) -> bool {
        let stripped = !before.dependents.is_subset(&self.dependents);
        let unkept = before.persistence && !self.persistence;
        self.module != before.module || stripped || unkept
    }

    /// Whether it is another life of the driver, of which the signs of the last one say nothing.
    pub(super) fn is_reloaded(&self, before: &Self) -> bool {
        self.module != before.module
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn a_driver_goes_when_what_stands_on_it_goes_or_its_keeper_does() {
        let (sys, root) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let signs = DriverFiles::new(sys.path(), root.path());
        assert!(!signs.look().loaded());
        let holders = sys.path().join("module/nvidia/holders");
        for name in ["nvidia_uvm", "nvidia_modeset"] {
            fs::create_dir_all(holders.join(name)).unwrap();
        }
        let daemon = root.path().join("run/nvidia-persistenced");
        fs::create_dir_all(&daemon).unwrap();
        fs::write(daemon.join("nvidia-persistenced.pid"), "7").unwrap();
        let before = signs.look();
        assert!(before.loaded() && !before.is_unloading(&before));
        fs::create_dir(holders.join("nvidia_peermem")).unwrap();
        assert!(!signs.look().is_unloading(&before), "one more is no sign");
        fs::remove_dir(holders.join("nvidia_uvm")).unwrap();
        assert!(signs.look().is_unloading(&before));
        fs::create_dir(holders.join("nvidia_uvm")).unwrap();
        assert!(!signs.look().is_unloading(&before));
        fs::remove_file(daemon.join("nvidia-persistenced.pid")).unwrap();
        assert!(signs.look().is_unloading(&before));
        fs::write(sys.path().join("module/nvidia/initstate"), "going\n").unwrap();
        assert!(!signs.look().loaded());
    }
}
