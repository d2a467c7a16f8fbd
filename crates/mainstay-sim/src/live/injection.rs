//! Faults that can be injected into a live fleet, with their titles and descriptions.

use mainstay_model::Span;

use crate::FaultClass;
use crate::signature::SignatureChoice;

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

/// What an injection does to the fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InjectionEffect {
    Fault(FaultClass, SignatureChoice),
    Leaf,
    Cry(FaultClass, SignatureChoice),
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
                "A GPU marks a bad memory row (XID 63). It keeps running; a reset replaces the row with a spare.",
            ),
            Self::RowRemapFailed => {
                ("row-remap-failed", "Row remap failed", "A GPU has a bad memory row and no spare row (XID 64).")
            }
            Self::ContainedMemoryError => (
                "contained-memory-error",
                "Memory error, contained",
                "A GPU has an uncorrectable memory error and ends the affected process (XID 94).",
            ),
            Self::UncontainedMemoryError => (
                "uncontained-memory-error",
                "Memory error, uncontained",
                "A GPU has an uncontained double-bit error (XID 48 and 95). Later results may be wrong.",
            ),
            Self::GpuOffTheBus => (
                "gpu-off-the-bus",
                "GPU off the bus",
                "A GPU falls off the bus (XID 79). Its job loses the work since the last checkpoint.",
            ),
            Self::GpuProcessorTimeout => (
                "gpu-processor-timeout",
                "GSP timeout",
                "The GPU system processor (GSP) does not respond to the driver (XID 119).",
            ),
            Self::NvlinkBroken => {
                ("nvlink-broken", "NVLink broken", "An NVLink of a GPU has a hardware fault (XID 74).")
            }
            Self::NvlinkPassing => (
                "nvlink-passing",
                "NVLink error, transient",
                "An NVLink has one transient error (XID 74). It is not a reason to remove the node.",
            ),
            Self::SilentCorruption => (
                "silent-corruption",
                "Silent corruption",
                "A GPU computes wrong results. No sensor reports it; operators find it after days.",
            ),
            Self::AdapterFailed => {
                ("adapter-failed", "Network adapter failed", "A network adapter has a hardware fault.")
            }
            Self::CableBroken => {
                ("cable-broken", "Cable broken", "A cable breaks. The link goes down, and the kernel logs it.")
            }
            Self::SilentRail => (
                "silent-rail",
                "Port down without a log line",
                "A port stops passing traffic without a log line. Only reading the port state finds it.",
            ),
            Self::LinkFlap => (
                "link-flap",
                "Link flap",
                "A link goes down and comes back. One flap is recorded; three within an hour indicate a bad cable.",
            ),
            Self::LeafDown => (
                "leaf-down",
                "Leaf down",
                "The leaf switch above the node is down for 10 minutes, with every link and report below it.",
            ),
            Self::RackPowerLost => ("rack-power-lost", "Rack without power", "The rack of the node loses power."),
            Self::HostBroken => ("host-broken", "Host broken", "The host goes down and does not recover by itself."),
            Self::UnplannedWork => (
                "unplanned-work",
                "Unplanned work",
                "A technician works on the host: another tool cordons it, which is not a fault.",
            ),
            Self::SoftwareCrash => (
                "software-crash",
                "Software crash",
                "A job fails because of its own software and logs lines like a GPU fault. The node is healthy.",
            ),
            Self::Slow => ("slow", "Slow node", "The node becomes slow and slows down every job on it."),
            Self::MadSensor => (
                "false-alarms",
                "Faulty sensor",
                "Every node with the same driver version raises a false alarm of a GSP timeout (XID 119), for 4 minutes.",
            ),
        }
    }

    pub(super) const fn planting(self) -> InjectionEffect {
        use FaultClass as Class;
        use SignatureChoice::{AsDrawn, Saying, Silently};
        match self {
            Self::RowRemapPending => InjectionEffect::Fault(Class::GpuHbmUncorrectable, Saying("): 63,")),
            Self::RowRemapFailed => InjectionEffect::Fault(Class::GpuHardFault, Saying("): 64,")),
            Self::ContainedMemoryError => InjectionEffect::Fault(Class::GpuHbmUncorrectable, Saying("): 94,")),
            Self::UncontainedMemoryError => InjectionEffect::Fault(Class::GpuHbmUncorrectable, Saying("): 48,")),
            Self::GpuOffTheBus => InjectionEffect::Fault(Class::GpuHardFault, Saying("): 79,")),
            Self::GpuProcessorTimeout => InjectionEffect::Fault(Class::GpuSramGspThermal, Saying("): 119,")),
            Self::NvlinkBroken => InjectionEffect::Fault(Class::GpuHardFault, Saying("): 74,")),
            Self::NvlinkPassing => InjectionEffect::Fault(Class::NvlinkTransient, AsDrawn),
            Self::SilentCorruption => InjectionEffect::Fault(Class::GpuSilentDataCorruption, AsDrawn),
            Self::AdapterFailed => InjectionEffect::Fault(Class::NicHardFault, AsDrawn),
            Self::CableBroken => InjectionEffect::Fault(Class::LinkHardFault, Saying("Cable error")),
            Self::SilentRail => InjectionEffect::Fault(Class::LinkHardFault, Silently),
            Self::LinkFlap => InjectionEffect::Fault(Class::LinkFlap, AsDrawn),
            Self::LeafDown => InjectionEffect::Leaf,
            Self::RackPowerLost => InjectionEffect::Fault(Class::RackPower, AsDrawn),
            Self::HostBroken => InjectionEffect::Fault(Class::HostHardware, AsDrawn),
            Self::UnplannedWork => InjectionEffect::Fault(Class::HostUnplannedMaintenance, AsDrawn),
            Self::SoftwareCrash => InjectionEffect::Fault(Class::SoftwareAndWatchdog, AsDrawn),
            Self::Slow => InjectionEffect::Fault(Class::FailSlowOnset, AsDrawn),
            Self::MadSensor => InjectionEffect::Cry(Class::GpuSramGspThermal, Saying("): 119,")),
        }
    }
}
