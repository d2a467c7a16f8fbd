//! Faults as a script writes them: from a moment on, on one GPU or on all, until an end or for good.

use serde::{Deserialize, Serialize};

use super::parts::{EccCounter, Histogram, LinkCounter, PcieLink};

/// The number of a fault within its state file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FaultId(pub u64);

/// One line of the script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// Its number.
    pub id: FaultId,
    /// Which GPU, by NVML's index; none means all of them, or the driver itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu: Option<u32>,
    /// From when on, by the script's clock.
    pub from_ms: u64,
    /// Until when; none means for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_ms: Option<u64>,
    /// What happens.
    pub effect: Effect,
}

/// A total that rises while its fault lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Growth {
    /// How often it rises; zero means once, at the fault's beginning.
    pub every_ms: u64,
    /// By how much each time.
    pub by: u64,
    /// By how much altogether, at most.
    pub up_to: u64,
}

/// Whether a call that hangs sleeps or uses a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HangMode {
    /// It sleeps.
    Sleep,
    /// It burns a core.
    Spin,
}

/// What a fault does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Effect {
    /// An XID event, once or in a row.
    Xid {
        /// Its code.
        code: u64,
        /// The time between two.
        every_ms: u64,
        /// How many.
        times: u32,
        /// The MIG GPU instance that it names, where it names one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        gpu_instance: Option<u32>,
    },
    /// The GPU fell off the bus: `NVML_ERROR_GPU_IS_LOST` to everything.
    GpuLost,
    /// What the driver wants done, `nvmlDeviceGpuRecoveryAction_t`; its beginning is an event.
    RecoveryAction {
        /// The action.
        action: u32,
    },
    /// Calls of one function, or of all (`*`), do not return while the fault lasts.
    Hang {
        /// The function.
        symbol: String,
        /// How.
        manner: HangMode,
    },
    /// Calls of one function, or of all (`*`), answer this.
    Error {
        /// The function.
        symbol: String,
        /// An `nvmlReturn_t`.
        code: u32,
    },
    /// A counter of ECC errors rises, volatile and aggregate.
    Ecc {
        /// Which.
        counter: EccCounter,
        /// How.
        growth: Growth,
    },
    /// More SRAM errors than the GPU may have.
    SramThreshold,
    /// Remapped rows rise.
    Remapped {
        /// For corrected or uncorrected errors.
        cause: RemapCause,
        /// How.
        growth: Growth,
        /// What is left of the spare rows meanwhile; none leaves it as it was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        histogram: Option<Histogram>,
    },
    /// A row waits for a reset to be remapped.
    RemapPending,
    /// A row could not be remapped.
    RemapFailed,
    /// The GPU runs slower: clock event reasons, its clock, and how hot it is.
    Throttle {
        /// Bits of `nvmlClocksEventReason…`.
        reasons: u64,
        /// Graphics and SM clock meanwhile.
        clock_mhz: u32,
        /// The temperature meanwhile; none leaves it as it was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        celsius: Option<u32>,
    },
    /// Somebody or something lowered the power limit in force.
    PowerCap {
        /// To this.
        milliwatts: u32,
    },
    /// One NVLink is down.
    NvlinkDown {
        /// Which.
        link: u32,
    },
    /// A counter of one NVLink rises.
    NvlinkErrors {
        /// Which link.
        link: u32,
        /// Which counter.
        counter: LinkCounter,
        /// How.
        growth: Growth,
    },
    /// The fabric says something else about this GPU.
    FabricHealth {
        /// Bits of `NVML_GPU_FABRIC_HEALTH_MASK_…`.
        mask: u32,
        /// `NVML_GPU_FABRIC_HEALTH_SUMMARY_…`.
        summary: u8,
    },
    /// PCI packets are sent again.
    PcieReplays {
        /// How.
        growth: Growth,
    },
    /// The PCI link trained to less than it can.
    PcieDowntrained {
        /// To this.
        link: PcieLink,
    },
    /// The kernel module goes away under whoever holds it, as when a device is unbound by force.
    DriverUnloaded,
}

/// Why a row was remapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RemapCause {
    /// Too many corrected errors.
    Corrected,
    /// An uncorrected one.
    Uncorrected,
}

// === impl Effect ===

impl Effect {
    /// One XID.
    #[must_use]
    pub const fn xid(code: u64) -> Self {
        Self::Xid { code, every_ms: 0, times: 1, gpu_instance: None }
    }

    /// The function that it is about, where it is about one.
    #[must_use]
    pub fn symbol(&self) -> Option<&str> {
        match self {
            Self::Hang { symbol, .. } | Self::Error { symbol, .. } => Some(symbol),
            Self::Xid { .. }
            | Self::GpuLost
            | Self::RecoveryAction { .. }
            | Self::Ecc { .. }
            | Self::SramThreshold
            | Self::Remapped { .. }
            | Self::RemapPending
            | Self::RemapFailed
            | Self::Throttle { .. }
            | Self::PowerCap { .. }
            | Self::NvlinkDown { .. }
            | Self::NvlinkErrors { .. }
            | Self::FabricHealth { .. }
            | Self::PcieReplays { .. }
            | Self::PcieDowntrained { .. }
            | Self::DriverUnloaded => None,
        }
    }

    /// Whether a reset of the GPU, or a new life of the driver, ends it. Broken hardware, links and supplies stay.
    #[must_use]
    pub const fn ends_with_a_reset(&self) -> bool {
        match self {
            Self::Xid { .. }
            | Self::GpuLost
            | Self::RecoveryAction { .. }
            | Self::RemapPending
            | Self::DriverUnloaded => true,
            Self::Hang { .. }
            | Self::Error { .. }
            | Self::Ecc { .. }
            | Self::SramThreshold
            | Self::Remapped { .. }
            | Self::RemapFailed
            | Self::Throttle { .. }
            | Self::PowerCap { .. }
            | Self::NvlinkDown { .. }
            | Self::NvlinkErrors { .. }
            | Self::FabricHealth { .. }
            | Self::PcieReplays { .. }
            | Self::PcieDowntrained { .. } => false,
        }
    }

    /// The growth in it, where it holds one.
    pub(crate) const fn growth_mut(&mut self) -> Option<&mut Growth> {
        match self {
            Self::Ecc { growth, .. }
            | Self::Remapped { growth, .. }
            | Self::NvlinkErrors { growth, .. }
            | Self::PcieReplays { growth } => Some(growth),
            Self::Xid { .. }
            | Self::GpuLost
            | Self::RecoveryAction { .. }
            | Self::Hang { .. }
            | Self::Error { .. }
            | Self::SramThreshold
            | Self::RemapPending
            | Self::RemapFailed
            | Self::Throttle { .. }
            | Self::PowerCap { .. }
            | Self::NvlinkDown { .. }
            | Self::FabricHealth { .. }
            | Self::PcieDowntrained { .. }
            | Self::DriverUnloaded => None,
        }
    }
}

// === impl Growth ===

impl Growth {
    /// All at once.
    #[must_use]
    pub const fn at_once(by: u64) -> Self {
        Self { every_ms: 0, by, up_to: by }
    }

    /// What it has come to after so long; the first step is at its very beginning.
    #[must_use]
    pub fn after(&self, lasted_ms: u64) -> u64 {
        let steps = lasted_ms.checked_div(self.every_ms).map_or(1, |steps| steps.saturating_add(1));
        steps.saturating_mul(self.by).min(self.up_to)
    }
}

// === impl Fault ===

impl Fault {
    /// Whether it is on at a moment.
    #[must_use]
    pub fn is_on(&self, now_ms: u64) -> bool {
        self.from_ms <= now_ms && self.until_ms.is_none_or(|until| now_ms < until)
    }

    /// Whether it is about this GPU.
    #[must_use]
    pub fn concerns(&self, gpu: u32) -> bool {
        self.gpu.is_none_or(|named| named == gpu)
    }

    /// How long it has lasted; a fault that ended stays as long as it was, which is what a total keeps.
    #[must_use]
    pub fn lasted_ms(&self, now_ms: u64) -> Option<u64> {
        let until = self.until_ms.map_or(now_ms, |until| until.min(now_ms));
        until.checked_sub(self.from_ms)
    }
}
