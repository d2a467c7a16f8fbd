//! GPUs that are not there: the fake NVML, the driver's module in sysfs, and its persistence daemon.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use fake_nvml::{Effect, FakeNode, FaultId, HangMode, Profile};
use tempfile::TempDir;

use super::sysfs::Sysfs;

/// A node of eight H100.
pub(in crate::proofs) struct Gpus {
    pub(in crate::proofs) node: FakeNode,
    module: PathBuf,
    folder: TempDir,
}

impl Gpus {
    /// With the driver loaded, and everything on top of it.
    pub(in crate::proofs) fn new(sysfs: &Sysfs) -> anyhow::Result<Self> {
        let folder = TempDir::new()?;
        let node = FakeNode::create(&folder.path().join("node"), &Profile::H100.state())?;
        let gpus = Self { node, module: sysfs.path().join("module/nvidia"), folder };
        fs::create_dir_all(gpus.folder.path().join("root/run/nvidia-persistenced"))?;
        gpus.load_module()?;
        gpus.start_keeper()?;
        Ok(gpus)
    }

    /// What the agent is given to find them.
    pub(in crate::proofs) fn args(&self) -> Vec<OsString> {
        let root = self.folder.path().join("root").into_os_string();
        let nvml = self.node.library().into_os_string();
        vec!["--nvml".into(), nvml, "--root".into(), root, "--nvml-every".into(), "1".into()]
    }

    /// A place for files of the same life.
    pub(in crate::proofs) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(in crate::proofs) fn load_module(&self) -> anyhow::Result<()> {
        Ok(fs::create_dir_all(self.module.join("holders/nvidia_uvm"))?)
    }

    pub(in crate::proofs) fn unload_module(&self) -> anyhow::Result<()> {
        Ok(fs::remove_dir_all(&self.module)?)
    }

    /// `rmmod nvidia_uvm`.
    pub(in crate::proofs) fn strip(&self) -> anyhow::Result<()> {
        Ok(fs::remove_dir(self.module.join("holders/nvidia_uvm"))?)
    }

    fn keeper(&self) -> PathBuf {
        self.folder.path().join("root/run/nvidia-persistenced/nvidia-persistenced.pid")
    }

    pub(in crate::proofs) fn start_keeper(&self) -> anyhow::Result<()> {
        Ok(fs::write(self.keeper(), "4242\n")?)
    }

    pub(in crate::proofs) fn stop_keeper(&self) -> anyhow::Result<()> {
        Ok(fs::remove_file(self.keeper())?)
    }

    /// Calls of a function sleep, from now on.
    pub(in crate::proofs) fn hang(&self, symbol: &str) -> anyhow::Result<FaultId> {
        self.hang_so(symbol, HangMode::Sleep)
    }

    pub(in crate::proofs) fn hang_so(&self, symbol: &str, manner: HangMode) -> anyhow::Result<FaultId> {
        let effect = Effect::Hang { symbol: symbol.to_owned(), manner };
        Ok(self.node.change(|state| state.push(None, state.now_ms(), None, effect))?)
    }

    /// Number of GPUs and event sets that a process has opened, if it has NVML open.
    pub(in crate::proofs) fn held_by(&self, pid: u32) -> anyhow::Result<Option<(usize, u64)>> {
        let holders = self.node.holders()?;
        Ok(holders.iter().find(|holder| holder.pid == pid).map(|holder| (holder.gpus.len(), holder.event_sets)))
    }
}
