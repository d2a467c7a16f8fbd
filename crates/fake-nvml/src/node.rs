//! A node without GPUs, as a test has it in hand: a folder with the library under its real name and the state file, and
//! the acts of an operator (load, unload, reset, cut into instances), which are refused while somebody holds the driver.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::files::{self, Access, STATE_NAME, STATE_VARIABLE};
use crate::holders::{self, Holder};
use crate::problem::Problem;
use crate::snapshot::Snapshot;
use crate::state::{EccCounts, Mig, MigInstance, MigMode, Module, State};

/// The name under which programs load NVML.
pub const LIBRARY_NAME: &str = "libnvidia-ml.so.1";

/// A folder that is a node.
#[derive(Debug, Clone)]
pub struct FakeNode {
    folder: PathBuf,
}

/// The built library, beside the running program: a test is in `deps`, a program one folder above.
pub fn built_library() -> Result<PathBuf, Problem> {
    let program = env::current_exe().map_err(Problem::file("the running program"))?;
    let folder = program.parent().unwrap_or(Path::new("."));
    let places = [folder.join("libfake_nvml.so"), folder.join("deps/libfake_nvml.so")];
    places.into_iter().find(|place| place.is_file()).ok_or_else(|| Problem::NoLibrary(program.clone()))
}

// === impl FakeNode ===

impl FakeNode {
    /// Makes a node in a folder, with the library of the running build.
    pub fn create(folder: &Path, state: &State) -> Result<Self, Problem> {
        Self::create_with(folder, state, &built_library()?)
    }

    /// Makes a node with a library from elsewhere, such as one for another processor.
    pub fn create_with(folder: &Path, state: &State, library: &Path) -> Result<Self, Problem> {
        fs::create_dir_all(folder).map_err(Problem::file(folder))?;
        let node = Self { folder: folder.to_owned() };
        // A copy, not a link: the linker takes two names of one file for one library, and a process may see two nodes.
        fs::copy(library, node.library()).map_err(Problem::file(node.library()))?;
        node.write(state)?;
        Ok(node)
    }

    /// What to load.
    #[must_use]
    pub fn library(&self) -> PathBuf {
        self.folder.join(LIBRARY_NAME)
    }

    /// What the library reads.
    #[must_use]
    pub fn state_file(&self) -> PathBuf {
        self.folder.join(STATE_NAME)
    }

    /// The environment of a program that is to run on this node.
    #[must_use]
    pub fn environment(&self) -> [(&'static str, OsString); 2] {
        [(STATE_VARIABLE, self.state_file().into()), ("LD_LIBRARY_PATH", self.folder.clone().into())]
    }

    /// The state as it is written.
    pub fn state(&self) -> Result<State, Problem> {
        files::read(&self.state_file())
    }

    /// Writes another state.
    pub fn write(&self, state: &State) -> Result<(), Problem> {
        let _lock = files::lock(&self.state_file(), Access::Alone)?;
        files::write(&self.state_file(), state)
    }

    /// Changes the state, and answers what the change answers.
    pub fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> Result<T, Problem> {
        let _lock = files::lock(&self.state_file(), Access::Alone)?;
        let mut state = self.state()?;
        let answer = change(&mut state);
        files::write(&self.state_file(), &state)?;
        Ok(answer)
    }

    /// Who holds the driver.
    pub fn holders(&self) -> Result<Vec<Holder>, Problem> {
        // Alone, because a mark that is just being made looks like that of a dead process.
        let _lock = files::lock(&self.state_file(), Access::Alone)?;
        holders::list(&self.state_file())
    }

    /// `rmmod nvidia`: refused while anybody has NVML open.
    pub fn unload_driver(&self) -> Result<(), Problem> {
        self.act(
            |_| true,
            |state| {
                state.driver.module = Module::Unloaded;
                Ok(())
            },
        )
    }

    /// `modprobe nvidia`, perhaps of another version. Volatile counts begin anew.
    pub fn load_driver(&self, version: Option<&str>) -> Result<(), Problem> {
        self.act(
            |_| false,
            |state| {
                state.driver.module = Module::Loaded;
                if let Some(version) = version {
                    state.driver.version = version.to_owned();
                }
                let gpus = u32::try_from(state.gpus.len()).unwrap_or(u32::MAX);
                (0..gpus).try_for_each(|gpu| renew(state, gpu))?;
                state.faults.retain(|fault| fault.gpu.is_some() || !fault.effect.ends_with_a_reset());
                Ok(())
            },
        )
    }

    /// `nvidia-smi --gpu-reset`: refused while anybody has opened the GPU. A mode of MIG that waited is now in force.
    pub fn reset_gpu(&self, gpu: u32) -> Result<(), Problem> {
        self.act(|holder| holder.gpus.contains(&gpu), |state| renew(state, gpu))
    }

    /// Cuts a GPU into instances, or makes it whole: refused while anybody has opened it.
    pub fn set_mig(&self, gpu: u32, mode: MigMode, instances: Vec<MigInstance>) -> Result<(), Problem> {
        self.act(
            |holder| holder.gpus.contains(&gpu),
            |state| {
                let index = usize::try_from(gpu).map_err(|_| Problem::NoGpu(gpu))?;
                let found = state.gpus.get_mut(index).ok_or(Problem::NoGpu(gpu))?;
                let mig = found.mig.as_mut().ok_or(Problem::NoMig(gpu))?;
                *mig = Mig { current: mode, pending: mode, instances };
                Ok(())
            },
        )
    }

    /// An act of an operator, with the lock that keeps others from beginning to hold the driver meanwhile.
    fn act(
        &self,
        blocks: impl Fn(&Holder) -> bool,
        act: impl FnOnce(&mut State) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let _lock = files::lock(&self.state_file(), Access::Alone)?;
        let by: Vec<Holder> = holders::list(&self.state_file())?.into_iter().filter(blocks).collect();
        if !by.is_empty() {
            return Err(Problem::InUse { by });
        }
        let mut state = self.state()?;
        act(&mut state)?;
        files::write(&self.state_file(), &state)
    }
}

/// A GPU after a reset: what lasts has lasted, volatile counts are zero, and growth goes on from here.
fn renew(state: &mut State, gpu: u32) -> Result<(), Problem> {
    let now_ms = state.now_ms();
    // Faults of no GPU in particular go on as they are.
    let mut own = state.clone();
    own.faults.retain(|fault| fault.gpu == Some(gpu));
    let mut renewed = Snapshot { state: &own, now_ms }.gpu(gpu).ok_or(Problem::NoGpu(gpu))?;
    let before = usize::try_from(gpu).ok().and_then(|index| state.gpus.get_mut(index)).ok_or(Problem::NoGpu(gpu))?;
    renewed.ecc.volatile = EccCounts::default();
    renewed.ecc.sram_threshold_exceeded = before.ecc.sram_threshold_exceeded;
    renewed.remapped.failed = before.remapped.failed;
    renewed.remapped.pending = 0;
    if let Some(mig) = &mut renewed.mig {
        mig.current = mig.pending;
    }
    // Of what faults changed, only totals are kept; the rest is as it was, and faults that last change it again.
    before.ecc = renewed.ecc;
    before.remapped = renewed.remapped;
    before.nvlink.links.iter_mut().zip(&renewed.nvlink.links).for_each(|(link, now)| link.counters = now.counters);
    before.pcie.replays = renewed.pcie.replays;
    before.mig = renewed.mig;
    before.recovery_action = 0;
    state.faults.retain(|fault| fault.gpu != Some(gpu) || !fault.effect.ends_with_a_reset());
    for fault in state.faults.iter_mut().filter(|fault| fault.gpu == Some(gpu)) {
        let lasted_ms = fault.lasted_ms(now_ms);
        if let (Some(lasted_ms), Some(growth)) = (lasted_ms, fault.effect.growth_mut()) {
            growth.up_to = growth.up_to.saturating_sub(growth.after(lasted_ms));
            fault.from_ms = now_ms.saturating_add(growth.every_ms);
        }
    }
    Ok(())
}
