//! What can go wrong with the fleet's hardware and software, as the published rates tell it apart. It is the world's own
//! knowledge: the brain sees lines and counters, never a class.

use serde::{Deserialize, Serialize};

/// One kind of fault. The words are those of `tables/rates.tsv`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultClass {
    /// A GPU is broken or off the bus, or its NVLink is.
    GpuHardFault,
    /// Memory of a GPU that could not be corrected.
    GpuHbmUncorrectable,
    /// A GPU's cache, its system processor, or its temperature.
    GpuSramGspThermal,
    /// Wrong results, and nothing says so.
    GpuSilentDataCorruption,
    /// A passing error of an NVLink.
    NvlinkTransient,
    /// A network adapter is broken.
    NicHardFault,
    /// A cable or a port between an adapter and its leaf is broken.
    LinkHardFault,
    /// Such a link goes down and comes back.
    LinkFlap,
    /// A leaf switch goes down with everything below it.
    LeafSwitchCrash,
    /// A rack loses its power.
    RackPower,
    /// The host itself: a board, a disk, a power supply.
    HostHardware,
    /// Somebody has to work on the host without a plan.
    HostUnplannedMaintenance,
    /// A job or its runtime fails; the node is well.
    SoftwareAndWatchdog,
    /// A node becomes slow, for minutes or for good.
    FailSlowOnset,
    /// A new node that was never right.
    DeliveryDefect,
}

impl FaultClass {
    /// All of them.
    pub const ALL: [Self; 15] = [
        Self::GpuHardFault,
        Self::GpuHbmUncorrectable,
        Self::GpuSramGspThermal,
        Self::GpuSilentDataCorruption,
        Self::NvlinkTransient,
        Self::NicHardFault,
        Self::LinkHardFault,
        Self::LinkFlap,
        Self::LeafSwitchCrash,
        Self::RackPower,
        Self::HostHardware,
        Self::HostUnplannedMaintenance,
        Self::SoftwareAndWatchdog,
        Self::FailSlowOnset,
        Self::DeliveryDefect,
    ];

    /// The word, the same in tables, options and results.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::GpuHardFault => "gpu-hard-fault",
            Self::GpuHbmUncorrectable => "gpu-hbm-uncorrectable",
            Self::GpuSramGspThermal => "gpu-sram-gsp-thermal",
            Self::GpuSilentDataCorruption => "gpu-silent-data-corruption",
            Self::NvlinkTransient => "nvlink-transient",
            Self::NicHardFault => "nic-hard-fault",
            Self::LinkHardFault => "link-hard-fault",
            Self::LinkFlap => "link-flap",
            Self::LeafSwitchCrash => "leaf-switch-crash",
            Self::RackPower => "rack-power",
            Self::HostHardware => "host-hardware",
            Self::HostUnplannedMaintenance => "host-unplanned-maintenance",
            Self::SoftwareAndWatchdog => "software-and-watchdog",
            Self::FailSlowOnset => "fail-slow-onset",
            Self::DeliveryDefect => "delivery-defect",
        }
    }

    /// The meaning of the class, for `mainstay sim settings`.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::GpuHardFault => "GPU or its NVLink broken, or GPU off the bus",
            Self::GpuHbmUncorrectable => "Uncorrectable GPU memory error",
            Self::GpuSramGspThermal => "GPU SRAM, GSP or thermal fault",
            Self::GpuSilentDataCorruption => "Wrong results without an error message",
            Self::NvlinkTransient => "Transient NVLink error",
            Self::NicHardFault => "Network adapter broken",
            Self::LinkHardFault => "Cable or port between adapter and leaf broken",
            Self::LinkFlap => "Link goes down and comes back",
            Self::LeafSwitchCrash => "Leaf switch down with every node below it",
            Self::RackPower => "Rack without power",
            Self::HostHardware => "Host hardware fault: board, disk, power supply",
            Self::HostUnplannedMaintenance => "Unplanned maintenance of a host",
            Self::SoftwareAndWatchdog => "Job or runtime failure on a healthy node",
            Self::FailSlowOnset => "Node becomes slow",
            Self::DeliveryDefect => "New node with a delivery defect",
        }
    }

    /// The class of a word.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.word() == word)
    }

    /// Whether a node that has it should be taken out by a perfect judge. Neither a passing error, nor a fault of what
    /// stands above the node, nor software is a reason.
    #[must_use]
    pub const fn condemns(self) -> bool {
        match self {
            Self::GpuHardFault | Self::GpuHbmUncorrectable | Self::GpuSramGspThermal => true,
            Self::GpuSilentDataCorruption | Self::NicHardFault | Self::LinkHardFault => true,
            Self::HostHardware | Self::RackPower | Self::DeliveryDefect => true,
            Self::NvlinkTransient | Self::LinkFlap | Self::LeafSwitchCrash => false,
            Self::HostUnplannedMaintenance | Self::SoftwareAndWatchdog | Self::FailSlowOnset => false,
        }
    }

    /// What it hits at once.
    #[must_use]
    pub(crate) const fn reach(self) -> FaultScope {
        match self {
            Self::LeafSwitchCrash => FaultScope::Leaf,
            Self::RackPower => FaultScope::Rack,
            Self::GpuHardFault | Self::GpuHbmUncorrectable | Self::GpuSramGspThermal => FaultScope::Node,
            Self::GpuSilentDataCorruption | Self::NvlinkTransient | Self::NicHardFault => FaultScope::Node,
            Self::LinkHardFault | Self::LinkFlap | Self::HostHardware => FaultScope::Node,
            Self::HostUnplannedMaintenance | Self::SoftwareAndWatchdog => FaultScope::Node,
            Self::FailSlowOnset | Self::DeliveryDefect => FaultScope::Node,
        }
    }

    /// Whether it is a fault of an adapter or of its link.
    #[must_use]
    pub(crate) const fn is_of_a_nic(self) -> bool {
        matches!(self, Self::NicHardFault | Self::LinkHardFault | Self::LinkFlap)
    }

    /// Whether it is a fault of a GPU, which only its maker can replace.
    #[must_use]
    pub(crate) const fn is_of_a_gpu(self) -> bool {
        matches!(
            self,
            Self::GpuHardFault
                | Self::GpuHbmUncorrectable
                | Self::GpuSramGspThermal
                | Self::GpuSilentDataCorruption
                | Self::DeliveryDefect
        )
    }

    /// Whether a port of the node stays down while it lasts.
    #[must_use]
    pub(crate) const fn keeps_a_link_down(self) -> bool {
        matches!(self, Self::LinkHardFault | Self::LeafSwitchCrash)
    }

    /// Whether a node that has it does not run.
    #[must_use]
    pub const fn downs(self) -> bool {
        matches!(self, Self::HostHardware | Self::RackPower)
    }
}

/// Nodes that one fault affects at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultScope {
    /// One node.
    Node,
    /// Every node of a rack.
    Rack,
    /// Every node below a leaf.
    Leaf,
}
