//! What anybody may break in a live fleet, with words for people. It says what is planted, never what comes of it.

use mainstay_model::Span;

use crate::FaultClass;
use crate::voice::Manner;

/// How long a leaf that somebody takes down stays down: a restart of a switch.
pub(super) const LEAF_DOWN: Span = Span::minutes(10);

/// How long it takes until every node of a driver version has cried once, and the sensor is mended.
pub(super) const CRYING: Span = Span::minutes(4);

/// One thing that can be planted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Injection {
    /// XID 63.
    RowRemapPending,
    /// XID 64.
    RowRemapFailed,
    /// XID 94.
    ContainedMemoryError,
    /// XID 48 and 95.
    UncontainedMemoryError,
    /// XID 79.
    GpuOffTheBus,
    /// XID 119.
    GpuProcessorTimeout,
    /// XID 74 with the bits of a hardware fault.
    NvlinkBroken,
    /// XID 74 that passes.
    NvlinkPassing,
    /// Wrong results.
    SilentCorruption,
    /// An adapter gives up.
    AdapterFailed,
    /// A cable breaks and says so.
    CableBroken,
    /// A port goes down and nothing is printed.
    SilentRail,
    /// A link goes down and comes back.
    LinkFlap,
    /// Everything below a leaf.
    LeafDown,
    /// Everything in a rack.
    RackPowerLost,
    /// The machine is gone.
    HostBroken,
    /// Somebody works on it.
    UnplannedWork,
    /// A job ends by its own fault.
    SoftwareCrash,
    /// A node becomes slow.
    Slow,
    /// A driver version cries wolf.
    MadSensor,
}

/// What planting it comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Planting {
    Fault(FaultClass, Manner),
    Leaf,
    Cry(FaultClass, Manner),
}

impl Injection {
    /// All of them, what happens most often first.
    pub const ALL: [Self; 20] = [
        Self::RowRemapPending,
        Self::GpuOffTheBus,
        Self::SilentRail,
        Self::LeafDown,
        Self::MadSensor,
        Self::RowRemapFailed,
        Self::ContainedMemoryError,
        Self::UncontainedMemoryError,
        Self::GpuProcessorTimeout,
        Self::NvlinkBroken,
        Self::NvlinkPassing,
        Self::AdapterFailed,
        Self::CableBroken,
        Self::LinkFlap,
        Self::RackPowerLost,
        Self::HostBroken,
        Self::UnplannedWork,
        Self::SoftwareCrash,
        Self::Slow,
        Self::SilentCorruption,
    ];

    /// The word, for addresses and commands.
    #[must_use]
    pub const fn word(self) -> &'static str {
        self.words().0
    }

    /// The same for people.
    #[must_use]
    pub const fn title(self) -> &'static str {
        self.words().1
    }

    /// What is planted, in a sentence or two.
    #[must_use]
    pub const fn text(self) -> &'static str {
        self.words().2
    }

    /// The one of a word.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|injection| injection.word() == word)
    }

    const fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::RowRemapPending => (
                "row-remap-pending",
                "Row remap pending",
                "A GPU marks a bad row of its memory (XID 63). It computes on; a reset puts a spare row in its place.",
            ),
            Self::RowRemapFailed => {
                ("row-remap-failed", "Row remap failed", "A GPU has a bad row and no spare row left for it (XID 64).")
            }
            Self::ContainedMemoryError => (
                "contained-memory-error",
                "Memory error, contained",
                "A GPU could not correct an error of its memory. It ends the process that was hit (XID 94).",
            ),
            Self::UncontainedMemoryError => (
                "uncontained-memory-error",
                "Memory error, uncontained",
                "A double-bit error that could not be contained (XID 48 and 95): results since then are in doubt.",
            ),
            Self::GpuOffTheBus => (
                "gpu-off-the-bus",
                "GPU off the bus",
                "A GPU is no longer on the bus (XID 79). What ran on it is lost since its last save.",
            ),
            Self::GpuProcessorTimeout => (
                "gpu-processor-timeout",
                "GPU's processor silent",
                "The processor inside a GPU does not answer its driver any more (XID 119).",
            ),
            Self::NvlinkBroken => {
                ("nvlink-broken", "NVLink broken", "An NVLink of a GPU reports a fault of its hardware (XID 74).")
            }
            Self::NvlinkPassing => (
                "nvlink-passing",
                "NVLink error, passing",
                "One error of an NVLink that passes by itself (XID 74). Nobody should leave for it.",
            ),
            Self::SilentCorruption => (
                "silent-corruption",
                "Silent corruption",
                "A GPU computes wrong results and nothing says so. No sensor will: people find out after days.",
            ),
            Self::AdapterFailed => {
                ("adapter-failed", "Network adapter failed", "An adapter gives up with an error of its hardware.")
            }
            Self::CableBroken => {
                ("cable-broken", "Cable broken", "A cable breaks: the link goes down, and the kernel says why.")
            }
            Self::SilentRail => (
                "silent-rail",
                "Silent rail",
                "A port stops passing traffic and the log says nothing. Only looking at the port finds it.",
            ),
            Self::LinkFlap => (
                "link-flap",
                "Link flap",
                "A link goes down and comes back. One flap is noted; three within an hour are a cable that is going.",
            ),
            Self::LeafDown => (
                "leaf-down",
                "Leaf down",
                "The leaf above the node is down for 10 minutes, and with it every link and every word from below it.",
            ),
            Self::RackPowerLost => ("rack-power-lost", "Rack without power", "The node's rack loses its power."),
            Self::HostBroken => {
                ("host-broken", "Host broken", "The machine goes down and does not come back by itself.")
            }
            Self::UnplannedWork => (
                "unplanned-work",
                "Unplanned work",
                "Somebody has to work on the host now: another tool takes it out, which is not a fault.",
            ),
            Self::SoftwareCrash => (
                "software-crash",
                "Software crash",
                "A job ends by a fault of its own and leaves lines that look like the GPU's. The node is well.",
            ),
            Self::Slow => ("slow", "Slow node", "The node becomes slow, and every job on it goes at its pace."),
            Self::MadSensor => (
                "mad-sensor",
                "Mad sensor",
                "Every node with the same driver version cries that a GPU's processor is silent (XID 119). Nothing is \
                 behind it, and after 4 minutes it is mended.",
            ),
        }
    }

    pub(super) const fn planting(self) -> Planting {
        use FaultClass as Class;
        use Manner::{AsDrawn, Saying, Silently};
        match self {
            Self::RowRemapPending => Planting::Fault(Class::GpuHbmUncorrectable, Saying("): 63,")),
            Self::RowRemapFailed => Planting::Fault(Class::GpuHardFault, Saying("): 64,")),
            Self::ContainedMemoryError => Planting::Fault(Class::GpuHbmUncorrectable, Saying("): 94,")),
            Self::UncontainedMemoryError => Planting::Fault(Class::GpuHbmUncorrectable, Saying("): 48,")),
            Self::GpuOffTheBus => Planting::Fault(Class::GpuHardFault, Saying("): 79,")),
            Self::GpuProcessorTimeout => Planting::Fault(Class::GpuSramGspThermal, Saying("): 119,")),
            Self::NvlinkBroken => Planting::Fault(Class::GpuHardFault, Saying("): 74,")),
            Self::NvlinkPassing => Planting::Fault(Class::NvlinkTransient, AsDrawn),
            Self::SilentCorruption => Planting::Fault(Class::GpuSilentDataCorruption, AsDrawn),
            Self::AdapterFailed => Planting::Fault(Class::NicHardFault, AsDrawn),
            Self::CableBroken => Planting::Fault(Class::LinkHardFault, Saying("Cable error")),
            Self::SilentRail => Planting::Fault(Class::LinkHardFault, Silently),
            Self::LinkFlap => Planting::Fault(Class::LinkFlap, AsDrawn),
            Self::LeafDown => Planting::Leaf,
            Self::RackPowerLost => Planting::Fault(Class::RackPower, AsDrawn),
            Self::HostBroken => Planting::Fault(Class::HostHardware, AsDrawn),
            Self::UnplannedWork => Planting::Fault(Class::HostUnplannedMaintenance, AsDrawn),
            Self::SoftwareCrash => Planting::Fault(Class::SoftwareAndWatchdog, AsDrawn),
            Self::Slow => Planting::Fault(Class::FailSlowOnset, AsDrawn),
            Self::MadSensor => Planting::Cry(Class::GpuSramGspThermal, Saying("): 119,")),
        }
    }
}
