//! The parts of a GPU that NVML tells about, in NVML's own units.

use serde::{Deserialize, Serialize};

/// Where a device sits on the bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pci {
    /// Domain.
    pub domain: u32,
    /// Bus.
    pub bus: u32,
    /// Device on the bus; the function is always 0.
    pub device: u32,
    /// Device id above vendor id.
    pub device_id: u32,
    /// The same of the board.
    pub subsystem_id: u32,
}

/// Generation and lanes of a PCI link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PcieLink {
    /// Generation.
    pub generation: u32,
    /// Lanes.
    pub lanes: u32,
}

/// The PCI link of a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pcie {
    /// Now.
    pub now: PcieLink,
    /// At best.
    pub best: PcieLink,
    /// Packets sent again.
    pub replays: u32,
    /// Errors that the device counted as correctable.
    pub correctable: u32,
    /// Bytes sent since the driver was loaded.
    pub transmit_bytes: u64,
    /// Bytes received since the driver was loaded.
    pub receive_bytes: u64,
}

/// Clocks in MHz.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clocks {
    /// Graphics.
    pub graphics_mhz: u32,
    /// Streaming multiprocessors.
    pub sm_mhz: u32,
    /// Memory.
    pub memory_mhz: u32,
    /// Video.
    pub video_mhz: u32,
}

/// How hot it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Temperature {
    /// The chip.
    pub gpu_celsius: u32,
    /// Its memory.
    pub memory_celsius: u32,
    /// From here on it slows down.
    pub slowdown_celsius: u32,
    /// From here on it shuts down.
    pub shutdown_celsius: u32,
    /// The most that the chip should have.
    pub gpu_max_celsius: u32,
    /// The most that the memory should have.
    pub memory_max_celsius: u32,
    /// Which way the thresholds are told.
    pub thresholds: Thresholds,
}

/// How a GPU tells its thresholds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Thresholds {
    /// In degrees, by `nvmlDeviceGetTemperatureThreshold`.
    Degrees,
    /// As distances (T.Limit), by field values, and in degrees as well.
    Both,
    /// As distances alone.
    Distances,
}

/// Power in milliwatts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Power {
    /// Drawn.
    pub usage_mw: u32,
    /// The limit that was set.
    pub limit_mw: u32,
    /// The limit in force, the lowest of all that apply.
    pub enforced_mw: u32,
    /// The maker's.
    pub default_mw: u32,
    /// The lowest that can be set.
    pub min_mw: u32,
    /// The highest.
    pub max_mw: u32,
    /// Energy since the driver was loaded.
    pub energy_mj: u64,
}

/// Errors of the memories.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EccCounts {
    /// SRAM, corrected.
    pub sram_corrected: u64,
    /// SRAM, found by parity.
    pub sram_parity: u64,
    /// SRAM, found by the code.
    pub sram_secded: u64,
    /// DRAM, corrected.
    pub dram_corrected: u64,
    /// DRAM, not corrected.
    pub dram_uncorrected: u64,
}

/// One of those.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields of EccCounts say it")]
pub enum EccCounter {
    SramCorrected,
    SramParity,
    SramSecded,
    DramCorrected,
    DramUncorrected,
}

/// Where uncorrected SRAM errors were, over the life of the GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "units of the chip, as nvmlEccSramErrorStatus_v1_t names them")]
pub struct SramBuckets {
    pub l2: u64,
    pub sm: u64,
    pub pcie: u64,
    pub mcu: u64,
    pub other: u64,
}

/// ECC of a GPU; it is always on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ecc {
    /// Since the driver was loaded.
    pub volatile: EccCounts,
    /// Over the life of the GPU.
    pub aggregate: EccCounts,
    /// Where.
    pub sram_buckets: SramBuckets,
    /// 1 where there were more SRAM errors than there may be.
    pub sram_threshold_exceeded: u32,
}

/// Banks by how many of their spare rows are left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "nvmlRowRemapperHistogramValues_t's own words")]
pub struct Histogram {
    pub max: u32,
    pub high: u32,
    pub partial: u32,
    pub low: u32,
    pub none: u32,
}

/// Remapped rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemappedRows {
    /// For too many corrected errors.
    pub corrected: u32,
    /// For an uncorrected one.
    pub uncorrected: u32,
    /// 1 where a row waits for a reset.
    pub pending: u32,
    /// 1 where a row could not be remapped.
    pub failed: u32,
    /// What is left.
    pub histogram: Histogram,
}

/// What is at the other end of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkPeer {
    /// Another GPU.
    Gpu,
    /// A switch.
    Switch,
}

/// Counters of one link. The first five are those of NVLink 4 and before, the others those of NVLink 5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "NVML's own words: NVML_NVLINK_ERROR_DL_… and NVML_FI_DEV_NVLINK_COUNT_…")]
pub struct LinkCounters {
    pub replay: u64,
    pub recovery: u64,
    pub crc_flit: u64,
    pub crc_data: u64,
    pub ecc_data: u64,
    pub xmit_packets: u64,
    pub xmit_bytes: u64,
    pub rcv_packets: u64,
    pub rcv_bytes: u64,
    pub malformed_packets: u64,
    pub buffer_overruns: u64,
    pub rcv_errors: u64,
    pub rcv_remote_errors: u64,
    pub link_integrity_errors: u64,
    pub xmit_discards: u64,
    pub recovery_successful: u64,
    pub recovery_failed: u64,
    pub recovery_events: u64,
    pub effective_errors: u64,
    pub symbol_errors: u64,
}

/// One of those that a fault can raise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields of LinkCounters say it")]
pub enum LinkCounter {
    Replay,
    Recovery,
    CrcFlit,
    CrcData,
    EccData,
    RcvErrors,
    LinkIntegrityErrors,
    RecoverySuccessful,
    RecoveryFailed,
    RecoveryEvents,
    EffectiveErrors,
    SymbolErrors,
}

/// One NVLink.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// `NVML_NVLINK_STATE_…`: 0 inactive, 1 active, 2 asleep.
    pub state: u32,
    /// What is at the other end.
    pub peer: LinkPeer,
    /// Where that is.
    pub remote: Pci,
    /// What was counted. A node has 144 links, so zeros are left out of the file.
    #[serde(default, skip_serializing_if = "LinkCounters::is_zero")]
    pub counters: LinkCounters,
}

/// The NVLinks of a GPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NvLink {
    /// `NVML_NVLINK_VERSION_…`: 4 is 3.0, 6 is 4.0, 7 is 5.0.
    pub version: u32,
    /// Of one link that is up.
    pub speed_mbps: u32,
    /// Each.
    pub links: Vec<Link>,
}

/// What the fabric says of a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fabric {
    /// Which NVLink domain; zeros on a machine with switches of its own.
    pub cluster_uuid: [u8; 16],
    /// Which partition of it.
    pub clique_id: u32,
    /// `NVML_GPU_FABRIC_STATE_…`: 3 is completed.
    pub state: u8,
    /// How registering ended, an `nvmlReturn_t`.
    pub status: u32,
    /// Bits of `NVML_GPU_FABRIC_HEALTH_MASK_…`.
    pub health_mask: u32,
    /// `NVML_GPU_FABRIC_HEALTH_SUMMARY_…`.
    pub health_summary: u8,
}

/// Where a GPU sits in a rack that knows its places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields of nvmlPlatformInfo_v2_t, by their own names")]
pub struct Platform {
    pub ib_guid: [u8; 16],
    pub chassis_serial: [u8; 16],
    pub slot_number: u8,
    pub tray_index: u8,
    pub host_id: u8,
    pub peer_type: u8,
    pub module_id: u8,
}

/// For how long a GPU ran slower, by reason, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "clock event reasons, by NVML's names")]
pub struct Violations {
    pub sw_power_cap_ns: u64,
    pub sw_thermal_ns: u64,
    pub hw_thermal_ns: u64,
    pub hw_power_brake_ns: u64,
    pub sync_boost_ns: u64,
}

// === impl EccCounts ===

impl EccCounts {
    /// All that was corrected.
    #[must_use]
    pub const fn corrected(&self) -> u64 {
        self.sram_corrected.saturating_add(self.dram_corrected)
    }

    /// Of the SRAM, all that was not.
    #[must_use]
    pub const fn sram_uncorrected(&self) -> u64 {
        self.sram_parity.saturating_add(self.sram_secded)
    }

    /// All that was not.
    #[must_use]
    pub const fn uncorrected(&self) -> u64 {
        self.sram_uncorrected().saturating_add(self.dram_uncorrected)
    }
}

// === impl LinkCounters ===

impl LinkCounters {
    fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}

// === impl Link ===

impl Link {
    /// Whether it carries traffic, or could at once.
    #[must_use]
    pub const fn is_active(&self) -> bool {
        self.state != 0
    }
}
