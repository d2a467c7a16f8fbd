//! Readings besides the kernel log: states and counters of GPUs, links, ports and services, each with its evidence
//! code. The readers of NVML and sysfs create them; `meter.rs` decides when a reading becomes a signal.

mod amd;
mod gpu;
mod port;

use mainstay_model::{Source, Span};

pub use amd::AmdBlock;
pub use gpu::{FabricFault, HotComponent, Memory, NvlinkCounter, Presence, Slowdown};
pub use port::PortCounter;

/// Whether a condition is true.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Flag {
    /// The condition is true.
    Set,
    /// The condition is false.
    Clear,
}

/// An error counter of the kernel for one PCI device: the totals of `aer_dev_correctable` and its siblings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Aer {
    /// Errors that were corrected.
    Correctable,
    /// Errors that were not corrected, while the device continues.
    NonFatal,
    /// Errors that were not corrected and reset the link.
    Fatal,
}

/// Whether a link carries traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Link {
    /// The link is active.
    Up,
    /// The link should be active and is not.
    Down,
}

/// Speed and width of a PCI link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PcieLink {
    /// PCI Express generation of the link.
    pub generation: u8,
    /// Number of lanes of the link.
    pub lanes: u8,
}

/// Whether a GPU has work: an idle GPU slows its link down on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Load {
    /// The GPU has work.
    Busy,
    /// The GPU has no work.
    Idle,
}

/// One reading. Its place is passed separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reading {
    /// Whether an expected GPU is present.
    Gpu(Presence),
    /// The driver's recommendation for a GPU, `nvmlDeviceGpuRecoveryAction_t`.
    RecoveryAction(u32),
    /// Errors that ECC did not correct, since the driver was loaded.
    EccUncorrected(Memory, u64),
    /// Errors that ECC corrected, since the driver was loaded.
    EccCorrected(Memory, u64),
    /// A memory row will be remapped at the next reset.
    RemapPending(Flag),
    /// A memory row could not be remapped.
    RemapFailed(Flag),
    /// The GPU had more SRAM errors than its own limit.
    SramThreshold(Flag),
    /// Number of memory banks with few spare rows left, from NVML's row remapper histogram. Banks with most of their
    /// spare rows left are normal.
    SpareRows {
        /// Banks with few spare rows left.
        low: u32,
        /// Banks without a spare row left.
        none: u32,
    },
    /// A GPU runs slower than it could.
    Slowdown(Slowdown, Flag),
    /// A component is hotter than its maker allows.
    TooHot(HotComponent, Flag),
    /// The current power limit, and the one that the pool expects.
    PowerLimit {
        /// The current power limit.
        enforced_watts: u32,
        /// The power limit that the pool expects.
        wanted_watts: u32,
    },
    /// The current and the possible state of a PCI link.
    PcieSpeed {
        /// Current state of the link.
        now: PcieLink,
        /// Best state that both ends support.
        best: PcieLink,
        /// Whether the GPU has work, so that the comparison is valid.
        load: Load,
    },
    /// PCI packets that were sent again.
    PcieReplays(u64),
    /// The kernel's count of PCI errors.
    PcieErrors(Aer, u64),
    /// State of one NVLink of a GPU.
    Nvlink(u16, Link),
    /// A counter of one NVLink.
    NvlinkCount(u16, NvlinkCounter, u64),
    /// Fabric health of a GPU.
    Fabric(FabricFault, Flag),
    /// State of one port of an adapter.
    Port(u16, Link),
    /// The rate of an active port.
    PortRate {
        /// The port on the adapter.
        port: u16,
        /// Current rate of the port.
        now_gbps: u32,
        /// Rate that the pool expects.
        wanted_gbps: u32,
    },
    /// A counter of one port.
    PortCount(u16, PortCounter, u64),
    /// The fabric manager, on a node that needs one.
    FabricManager(Link),
    /// Errors that RAS of an AMD GPU did not correct, by its block, since the driver was loaded.
    AmdUncorrected(AmdBlock, u64),
    /// Errors that RAS of an AMD GPU corrected, by its block, since the driver was loaded.
    AmdCorrected(AmdBlock, u64),
    /// A sensor of an AMD GPU is at its critical temperature.
    AmdTooHot(Flag),
    /// The power limit of an AMD GPU, and its default.
    AmdPowerLimit {
        /// The current power limit.
        enforced_watts: u32,
        /// The limit that the card has by default.
        default_watts: u32,
    },
    /// Kernel log records that were overwritten before the agent read them.
    LogLost(u64),
    /// A data source of the agent, by name, whose call does not return.
    SourceStalled(&'static str, Flag),
    /// A data source of the agent, by name, that it cannot read.
    SourceBlind(&'static str, Flag),
}

/// A reading without comparison to an earlier one, for a single look at a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CurrentReading {
    /// The source of the reading.
    pub source: Source,
    /// The evidence code.
    pub code: &'static str,
    /// Detail that distinguishes readings with the same code.
    pub detail: String,
    /// The value of the reading.
    pub value: Value,
}

/// The value of a reading: a total or a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// A total, whose events may be years old.
    Total(u64),
    /// A state that is true now.
    State(Flag),
}

/// Source, code, detail and kind that a reading has as evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReadingEvidence {
    pub(crate) source: Source,
    pub(crate) code: &'static str,
    pub(crate) detail: String,
    /// Identifies the object of the reading; the detail of the object may change.
    pub(crate) thing: (&'static str, String),
    pub(crate) kind: Kind,
}

/// How a reading becomes signals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A total that only rises. It is reported once the increase reaches the minimum. A report has room for a few dozen
    /// kinds of evidence, and the normal increase on a healthy machine must not fill it.
    Total { count: u64, grain: u64 },
    /// A state. It is reported after a minimum duration, and repeatedly while it lasts.
    State { flag: Flag, after: Span, every: Span },
}

/// A state that is a fault immediately.
const AT_ONCE: Span = Span::seconds(0);
/// A GPU that is missing in three consecutive reads is not just being initialised.
const THREE_LOOKS: Span = Span::seconds(20);
/// A link that retrains, or a service that restarts, is back within this time (gpud waits the same time for a port).
const SETTLED: Span = Span::minutes(4);
/// A lasting state is reported again, so that a node that returns with it does not count as healthy.
const HOURLY: Span = Span::hours(1);
/// A slowdown is reported every minute, so that its count is a duration.
const MINUTELY: Span = Span::minutes(1);

// === impl Reading ===

impl Reading {
    /// Returns the reading by itself, without earlier values.
    #[must_use]
    pub fn current(&self) -> CurrentReading {
        let ReadingEvidence { source, code, detail, kind, .. } = self.evidence();
        let value = match kind {
            Kind::Total { count, .. } => Value::Total(count),
            Kind::State { flag, .. } => Value::State(flag),
        };
        CurrentReading { source, code, detail, value }
    }

    /// Returns the evidence form, if the reading reports anything.
    pub(crate) fn evidence(&self) -> ReadingEvidence {
        use Source::{Driver, Inventory, Kernel, Nic, Nvml, PcieAer};
        match *self {
            Self::Gpu(presence) => {
                let after = if presence == Presence::Absent { THREE_LOOKS } else { AT_ONCE };
                let missing = flag(presence != Presence::Listed);
                state(Inventory, "gpu-missing", presence.word().to_owned(), missing, after).of("gpu-missing")
            }
            Self::RecoveryAction(action) => {
                let verdict = format!("to 0x{action:x}");
                state(Nvml, "recovery-action", verdict, flag(action != 0), AT_ONCE).of("recovery-action")
            }
            Self::EccUncorrected(memory, count) => total(Nvml, "ecc-uncorrected", memory.word(), count, 1),
            Self::EccCorrected(memory, count) => total(Nvml, "ecc-corrected", memory.word(), count, 100),
            Self::RemapPending(set) => state(Nvml, "remap-pending", String::new(), set, AT_ONCE),
            Self::RemapFailed(set) => state(Nvml, "remap-failed", String::new(), set, AT_ONCE),
            Self::SramThreshold(set) => state(Nvml, "sram-threshold", String::new(), set, AT_ONCE),
            Self::SpareRows { low, none } => {
                let code = if none > 0 { "spare-rows-gone" } else { "spare-rows-low" };
                state(Nvml, code, String::new(), flag(none > 0 || low > 0), AT_ONCE).of("spare-rows")
            }
            Self::Slowdown(why, set) => duration(Nvml, why.word(), "", set),
            Self::TooHot(what, set) => duration(Nvml, "too-hot", what.word(), set),
            Self::PowerLimit { enforced_watts, wanted_watts } => {
                state(Nvml, "power-capped", String::new(), flag(enforced_watts < wanted_watts), SETTLED)
            }
            Self::PcieSpeed { now, best, load } => {
                let slow = load == Load::Busy && (now.generation < best.generation || now.lanes < best.lanes);
                let detail =
                    format!("gen {} x{} of gen {} x{}", now.generation, now.lanes, best.generation, best.lanes);
                state(Nvml, "pcie-downtrained", detail, flag(slow), SETTLED).of("pcie-downtrained")
            }
            Self::PcieReplays(count) => total(Nvml, "pcie-replay", "", count, 10),
            Self::PcieErrors(severity, count) => total(PcieAer, severity.word(), "", count, severity.grain()),
            Self::Nvlink(link, is) => state(Nvml, "nvlink-inactive", format!("link {link}"), down(is), SETTLED),
            Self::NvlinkCount(link, counter, count) => {
                total(Nvml, counter.word(), &format!("link {link}"), count, counter.grain())
            }
            Self::Fabric(fault, set) => state(Nvml, "fabric-unhealthy", fault.word().to_owned(), set, SETTLED),
            Self::Port(port, is) => state(Nic, "port-down", format!("port {port}"), down(is), SETTLED),
            Self::PortRate { port, now_gbps, wanted_gbps } => {
                state(Nic, "port-slow", format!("port {port}"), flag(now_gbps < wanted_gbps), SETTLED)
            }
            Self::PortCount(port, counter, count) => {
                total(Nic, counter.word(), &format!("port {port}"), count, counter.grain())
            }
            Self::FabricManager(is) => state(Inventory, "fabric-manager-down", String::new(), down(is), SETTLED),
            // Other codes than those of the log: the same error is in both and must not be counted twice.
            Self::AmdUncorrected(block, count) => total(Driver, "amd-count-uncorrected", block.word(), count, 1),
            Self::AmdCorrected(block, count) => total(Driver, "amd-count-corrected", block.word(), count, 100),
            Self::AmdTooHot(set) => duration(Driver, "amd-sensor-hot", "", set),
            Self::AmdPowerLimit { enforced_watts, default_watts } => {
                state(Driver, "amd-power-capped", String::new(), flag(enforced_watts < default_watts), SETTLED)
            }
            Self::LogLost(count) => total(Kernel, "log-lost", "", count, 1),
            Self::SourceStalled(source, set) => state(Inventory, "source-stalled", source.to_owned(), set, AT_ONCE),
            Self::SourceBlind(source, set) => state(Inventory, "source-blind", source.to_owned(), set, SETTLED),
        }
    }
}

fn total(source: Source, code: &'static str, detail: &str, count: u64, grain: u64) -> ReadingEvidence {
    let detail = detail.to_owned();
    ReadingEvidence { source, code, thing: (code, detail.clone()), detail, kind: Kind::Total { count, grain } }
}

fn state(source: Source, code: &'static str, detail: String, flag: Flag, after: Span) -> ReadingEvidence {
    ReadingEvidence {
        source,
        code,
        thing: (code, detail.clone()),
        detail,
        kind: Kind::State { flag, after, every: HOURLY },
    }
}

/// A state whose count is the number of minutes that it lasts.
fn duration(source: Source, code: &'static str, detail: &str, flag: Flag) -> ReadingEvidence {
    let kind = Kind::State { flag, after: AT_ONCE, every: MINUTELY };
    ReadingEvidence { kind, ..state(source, code, detail.to_owned(), flag, AT_ONCE) }
}

impl ReadingEvidence {
    /// Builds the same for an object that the detail does not name.
    fn of(self, thing: &'static str) -> Self {
        Self { thing: (thing, String::new()), ..self }
    }
}

const fn flag(set: bool) -> Flag {
    if set { Flag::Set } else { Flag::Clear }
}

const fn down(link: Link) -> Flag {
    match link {
        Link::Up => Flag::Clear,
        Link::Down => Flag::Set,
    }
}

// === words ===

impl Aer {
    /// These codes differ from those of the log: the same error is in both and must not be counted twice.
    const fn word(self) -> &'static str {
        match self {
            Self::Correctable => "aer-correctable",
            Self::NonFatal => "aer-nonfatal",
            Self::Fatal => "aer-fatal",
        }
    }

    const fn grain(self) -> u64 {
        match self {
            Self::Correctable => 10,
            Self::NonFatal | Self::Fatal => 1,
        }
    }
}
