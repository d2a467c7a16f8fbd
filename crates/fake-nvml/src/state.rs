//! What the state file says: a driver, its GPUs, and a script of faults on one clock. Plain data with bounds; what the
//! script comes to at a moment is `moment.rs`, and who may read or write the file is `node.rs`.

mod fault;
mod gpu;
mod parts;

use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

pub use fault::{Effect, Fault, FaultId, Growth, HangMode, RemapCause};
pub(crate) use gpu::distance as gpu_distance;
pub use gpu::{Gpu, Mig, MigInstance, MigMode, Process};
pub use parts::{
    Clocks, Ecc, EccCounter, EccCounts, Fabric, Histogram, Link, LinkCounter, LinkCounters, LinkPeer, NvLink, Pci,
    Pcie, PcieLink, Platform, Power, RemappedRows, SramBuckets, Temperature, Thresholds, Violations,
};

use crate::problem::Problem;
use crate::symbols;

/// As many GPUs as a handle has room for; no machine holds more than 16.
pub const GPUS_MAX: usize = 32;
/// A script that needs more is a program, and should write the file as it goes.
pub const FAULTS_MAX: usize = 1024;
/// NVML's own limit, `NVML_NVLINK_MAX_LINKS`.
pub const LINKS_MAX: usize = 18;
/// A GPU is cut into at most 7; one more to be wrong with.
pub const MIG_INSTANCES_MAX: usize = 8;
/// Running processes of one GPU.
pub const PROCESSES_MAX: usize = 1024;
/// An event may happen this often; the sets remember a count, not a list.
pub const TIMES_MAX: u32 = 10_000_000;

/// Whether the kernel module is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Module {
    /// `nvidia.ko` is loaded.
    Loaded,
    /// It is not: nothing answers.
    Unloaded,
}

/// The driver and the libraries that came with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Driver {
    /// Whether it is there.
    pub module: Module,
    /// As `nvmlSystemGetDriverVersion` says: `580.95.05`. What exists and which field ids mean what follows from it.
    pub version: String,
    /// As `nvmlSystemGetNVMLVersion` says: `13.580.95.05`.
    pub nvml_version: String,
    /// As `nvmlSystemGetCudaDriverVersion_v2` says: 13000 is 13.0.
    pub cuda_version: i32,
    /// As `nvmlSystemGetDriverBranch` says: `r580_00`.
    pub branch: String,
}

/// Everything that the library knows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// When the script's clock is zero, in milliseconds since 1970.
    pub started_at_ms: u64,
    /// The number of the next fault; numbers are not used twice, because event sets remember them.
    pub next_fault: u64,
    /// The driver.
    pub driver: Driver,
    /// The GPUs in NVML's order. A GPU that is gone after a reboot is not in the list.
    pub gpus: Vec<Gpu>,
    /// The script.
    pub faults: Vec<Fault>,
}

/// Milliseconds since 1970.
#[must_use]
pub fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

// === impl Driver ===

impl Driver {
    /// Major and minor number of the version; zero where there is none.
    #[must_use]
    pub fn release(&self) -> (u32, u32) {
        let mut numbers = self.version.split('.').map(|part| part.parse().unwrap_or(0));
        (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
    }
}

// === impl State ===

impl State {
    /// These GPUs under this driver, without a fault, with the clock at zero now.
    #[must_use]
    pub fn new(driver: Driver, gpus: Vec<Gpu>) -> Self {
        Self { started_at_ms: unix_ms(), next_fault: 1, driver, gpus, faults: Vec::new() }
    }

    /// How far the script's clock has come.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        unix_ms().saturating_sub(self.started_at_ms)
    }

    /// Adds a fault of one GPU from a moment of the script's clock on, for good.
    pub fn fault(&mut self, gpu: u32, from_ms: u64, effect: Effect) -> FaultId {
        self.push(Some(gpu), from_ms, None, effect)
    }

    /// Adds a fault of one GPU, or of all, with or without an end.
    pub fn push(&mut self, gpu: Option<u32>, from_ms: u64, until_ms: Option<u64>, effect: Effect) -> FaultId {
        let id = FaultId(self.next_fault);
        self.next_fault = self.next_fault.saturating_add(1);
        self.faults.push(Fault { id, gpu, from_ms, until_ms, effect });
        id
    }

    /// Takes a fault out of the script.
    pub fn mend(&mut self, id: FaultId) {
        self.faults.retain(|fault| fault.id != id);
    }

    /// Everything that is wrong with it; a state with problems is answered with `NVML_ERROR_UNKNOWN`.
    pub fn check(&self) -> Result<(), Problem> {
        let mut wrong = Vec::new();
        let mut limit = |what: &str, found: usize, most: usize| {
            if found > most {
                wrong.push(format!("{what}: {found}, at most {most}"));
            }
        };
        limit("gpus", self.gpus.len(), GPUS_MAX);
        limit("faults", self.faults.len(), FAULTS_MAX);
        for gpu in &self.gpus {
            limit("links of a GPU", gpu.nvlink.links.len(), LINKS_MAX);
            limit("processes of a GPU", gpu.processes.len(), PROCESSES_MAX);
            limit("MIG instances of a GPU", gpu.mig.as_ref().map_or(0, |mig| mig.instances.len()), MIG_INSTANCES_MAX);
        }
        for fault in &self.faults {
            if let Some(gpu) = fault.gpu
                && usize::try_from(gpu).is_ok_and(|gpu| gpu >= self.gpus.len())
            {
                wrong.push(format!("fault {}: there is no GPU {gpu}", fault.id.0));
            }
            if fault.id.0 >= self.next_fault {
                wrong.push(format!("fault {}: its number is still to be given", fault.id.0));
            }
            if let Some(symbol) = fault.effect.symbol()
                && !symbols::is_known(symbol)
            {
                wrong.push(format!("fault {}: {symbol} is no function of this library", fault.id.0));
            }
            if let Effect::Xid { times, .. } = fault.effect
                && times > TIMES_MAX
            {
                wrong.push(format!("fault {}: {times} times, at most {TIMES_MAX}", fault.id.0));
            }
        }
        if wrong.is_empty() { Ok(()) } else { Err(Problem::Invalid(wrong.join("; "))) }
    }
}
