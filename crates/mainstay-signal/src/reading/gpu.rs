//! NVML readings of a GPU, with their evidence codes.

/// A kind of GPU memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Memory {
    /// Memory outside the chip (DRAM), where rows can be remapped.
    Dram,
    /// Memory on the chip (SRAM).
    Sram,
}

/// The reason why a GPU runs slower than it could; NVML's clock event reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Slowdown {
    /// The hardware reduced the clock for its own reason.
    Hardware,
    /// The hardware reduced the clock because it is too hot.
    Thermal,
    /// The driver reduced the clock to keep the temperature down.
    SoftwareThermal,
    /// The power supply requested a lower clock.
    PowerBrake,
}

/// A counter of one NVLink.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NvlinkCounter {
    /// Flits or data with a wrong checksum.
    Crc,
    /// Recoveries of a link that had failed.
    Recovery,
    /// Errors left after forward error correction, which NVLink 5 has in place of checksums alone.
    Effective,
}

/// Whether the driver lists an expected GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Presence {
    /// The driver lists the GPU, and the GPU answers.
    Listed,
    /// The driver lists the GPU, but the GPU no longer answers.
    Lost,
    /// The driver does not list the GPU.
    Absent,
}

/// The component of a GPU that is hotter than its maker allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HotComponent {
    /// The GPU chip is too hot.
    Chip,
    /// The GPU's memory is too hot.
    Memory,
}

/// A fault of the NVLink fabric at a GPU; NVML's fabric health.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FabricFault {
    /// The bandwidth is lower than it should be.
    Bandwidth,
    /// Routes are being recovered.
    RouteRecovery,
    /// Routes of the fabric are broken.
    Route,
    /// Accesses over the fabric timed out.
    AccessTimeout,
    /// The fabric configuration is wrong.
    Configuration,
}

// === words ===

impl Memory {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Dram => "dram",
            Self::Sram => "sram",
        }
    }
}

impl Slowdown {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Hardware => "hardware-slowdown",
            Self::Thermal => "thermal-slowdown",
            Self::SoftwareThermal => "software-thermal-slowdown",
            Self::PowerBrake => "power-brake",
        }
    }
}

impl NvlinkCounter {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Crc => "nvlink-crc",
            Self::Recovery => "nvlink-recovery",
            Self::Effective => "nvlink-effective-errors",
        }
    }

    pub(super) const fn grain(self) -> u64 {
        match self {
            Self::Crc | Self::Effective => 1_000,
            Self::Recovery => 1,
        }
    }
}

impl Presence {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Listed => "",
            Self::Lost => "does not answer",
            Self::Absent => "not listed",
        }
    }
}

impl HotComponent {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Chip => "chip",
            Self::Memory => "memory",
        }
    }
}

impl FabricFault {
    /// All fabric faults, in a fixed order.
    pub const ALL: [Self; 5] =
        [Self::Bandwidth, Self::RouteRecovery, Self::Route, Self::AccessTimeout, Self::Configuration];

    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Bandwidth => "degraded bandwidth",
            Self::RouteRecovery => "route recovery",
            Self::Route => "route unhealthy",
            Self::AccessTimeout => "access timeout",
            Self::Configuration => "wrong configuration",
        }
    }
}
