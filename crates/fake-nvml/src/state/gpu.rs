//! One GPU as NVML tells it.

use serde::{Deserialize, Serialize};

use super::parts::{Clocks, Ecc, Fabric, NvLink, Pci, Pcie, Platform, Power, RemappedRows, Temperature, Violations};

/// Whether a GPU is cut into instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MigMode {
    /// It is whole.
    Disabled,
    /// It is cut.
    Enabled,
}

/// One compute instance that fills its GPU instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MigInstance {
    /// `MIG-…`.
    pub uuid: String,
    /// Its GPU instance.
    pub gpu_instance: u32,
    /// Its compute instance within that.
    pub compute_instance: u32,
    /// The profile in NVIDIA's words, `1g.10gb`.
    pub profile: String,
    /// The profile's number.
    pub profile_id: u32,
    /// Compute slices.
    pub slices: u32,
    /// Where it begins, in memory slices.
    pub start: u32,
    /// How many memory slices it has.
    pub size: u32,
    /// Its memory.
    pub memory_mib: u64,
    /// Its multiprocessors.
    pub multiprocessors: u32,
}

/// MIG of a GPU that can be cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mig {
    /// Now.
    pub current: MigMode,
    /// After the next reset.
    pub pending: MigMode,
    /// The instances.
    pub instances: Vec<MigInstance>,
}

/// A process that uses a GPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// As `nvmlSystemGetProcessName` says.
    pub name: String,
    /// What it holds.
    pub memory_bytes: u64,
}

/// One GPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gpu {
    /// The product.
    pub name: String,
    /// `GPU-…`.
    pub uuid: String,
    /// What is stamped on it.
    pub serial: String,
    /// The board.
    pub board_part_number: String,
    /// Firmware of the card.
    pub vbios: String,
    /// Firmware of its data.
    pub inforom_image: String,
    /// Firmware of its system processor.
    pub gsp_firmware: String,
    /// `NVML_DEVICE_ARCH_…`.
    pub architecture: u32,
    /// Major and minor CUDA capability.
    pub compute_capability: (u32, u32),
    /// Cores.
    pub cores: u32,
    /// Where it is.
    pub pci: Pci,
    /// `/dev/nvidiaN`.
    pub minor: u32,
    /// Its place on the baseboard.
    pub module_id: u32,
    /// The nearest memory of the host.
    pub numa_node: u32,
    /// Its memory.
    pub memory_bytes: u64,
    /// What the driver keeps of it.
    pub memory_reserved_bytes: u64,
    /// Width of its memory.
    pub memory_bus_bits: u32,
    /// How busy it is, in percent.
    pub utilization_percent: u32,
    /// The same of its memory.
    pub memory_utilization_percent: u32,
    /// 0 is fastest.
    pub performance_state: u32,
    /// Now.
    pub clocks: Clocks,
    /// At most.
    pub clocks_max: Clocks,
    /// Bits of `nvmlClocksEventReason…`.
    pub clocks_event_reasons: u64,
    /// For how long.
    pub violations: Violations,
    /// How hot.
    pub temperature: Temperature,
    /// How much power.
    pub power: Power,
    /// Its link to the host.
    pub pcie: Pcie,
    /// Errors of memory.
    pub ecc: Ecc,
    /// Rows that were replaced.
    pub remapped: RemappedRows,
    /// Its links to others.
    pub nvlink: NvLink,
    /// What the fabric says, on machines that have one.
    pub fabric: Option<Fabric>,
    /// Where it sits, in racks that know.
    pub platform: Option<Platform>,
    /// Chip-to-chip links to the host's processor; none on PCI machines.
    pub c2c_links: u32,
    /// `nvmlDeviceGpuRecoveryAction_t`.
    pub recovery_action: u32,
    /// MIG, where the GPU can.
    pub mig: Option<Mig>,
    /// Who uses it.
    pub processes: Vec<Process>,
}

// === impl Gpu ===

impl Gpu {
    /// The bus id as NVML prints it.
    #[must_use]
    pub fn bus_id(&self) -> String {
        self.pci.bus_id()
    }

    /// What processes hold of its memory.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        self.processes.iter().map(|process| process.memory_bytes).fold(0, u64::saturating_add)
    }

    /// Its instances; none where it is whole.
    #[must_use]
    pub fn instances(&self) -> &[MigInstance] {
        match &self.mig {
            Some(Mig { current: MigMode::Enabled, instances, .. }) => instances,
            Some(Mig { current: MigMode::Disabled, .. }) | None => &[],
        }
    }

    /// How far it is from slowing down. NVML documents this distance; on hardware it is one or two degrees off.
    #[must_use]
    pub fn margin_celsius(&self) -> i32 {
        distance(self.temperature.slowdown_celsius, self.temperature.gpu_celsius)
    }
}

/// One temperature less another.
pub(crate) fn distance(from: u32, to: u32) -> i32 {
    let degrees = |celsius: u32| i32::try_from(celsius).unwrap_or(i32::MAX);
    degrees(from).saturating_sub(degrees(to))
}

// === impl Pci ===

impl Pci {
    /// Domain with eight digits, as NVML prints it since version 9.
    #[must_use]
    pub fn bus_id(&self) -> String {
        format!("{:08X}:{:02X}:{:02X}.0", self.domain, self.bus, self.device)
    }

    /// Domain with four digits, as sysfs and old callers have it.
    #[must_use]
    pub fn bus_id_legacy(&self) -> String {
        format!("{:04X}:{:02X}:{:02X}.0", self.domain & 0xffff, self.bus, self.device)
    }
}
