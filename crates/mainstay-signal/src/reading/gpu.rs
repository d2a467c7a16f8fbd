//! What NVML tells of a GPU, in the words of evidence.

/// Which memory of a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Memory {
    /// Off the chip, where rows can be remapped.
    Dram,
    /// On the chip.
    Sram,
}

/// Why a GPU runs slower than it could; NVML's clock event reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Slowdown {
    /// The hardware says so, for a reason of its own.
    Hardware,
    /// The hardware is too hot.
    Thermal,
    /// The driver keeps it from becoming too hot.
    SoftwareThermal,
    /// The power supply asked for it.
    PowerBrake,
}

/// A counter of one NVLink.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NvlinkCounter {
    /// Flits or data with a wrong checksum.
    Crc,
    /// Trainings of a link that had failed.
    Recovery,
    /// Errors that were left after forward error correction, which NVLink 5 has in place of checksums alone.
    Effective,
}

/// Whether the driver lists a GPU that it should.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Presence {
    /// It does, and the GPU answers.
    Listed,
    /// It does, and the GPU does not answer any more.
    Lost,
    /// It does not.
    Absent,
}

/// What of a GPU is hotter than its maker allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Hot {
    /// The chip.
    Chip,
    /// Its memory.
    Memory,
}

/// What the NVLink fabric may say of a GPU; NVML's fabric health.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FabricFault {
    /// Less bandwidth than there should be.
    Bandwidth,
    /// Routes are being recovered.
    RouteRecovery,
    /// Routes are broken.
    Route,
    /// Accesses timed out.
    AccessTimeout,
    /// It is set up wrongly.
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

impl Hot {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Chip => "chip",
            Self::Memory => "memory",
        }
    }
}

impl FabricFault {
    /// Each of them.
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
