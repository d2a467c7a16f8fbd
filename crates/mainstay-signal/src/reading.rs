//! What can be read off a machine besides its log: states and counters of GPUs, links, ports and services, each with the
//! words it becomes evidence under. Readers of NVML and sysfs hand these in; when a reading is worth a signal is `meter.rs`.

mod gpu;
mod port;

use mainstay_model::{Source, Span};

pub use gpu::{FabricFault, Hot, Memory, NvlinkCounter, Presence, Slowdown};
pub use port::PortCounter;

/// Whether something is so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Flag {
    /// It is.
    Set,
    /// It is not.
    Clear,
}

/// A counter of the kernel for one PCI device: the totals of `aer_dev_correctable` and its siblings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Aer {
    /// Corrected.
    Correctable,
    /// Not corrected; the device goes on.
    NonFatal,
    /// Not corrected; the link is reset.
    Fatal,
}

/// Whether a link carries traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Link {
    /// It does.
    Up,
    /// It should, and does not.
    Down,
}

/// How a PCI link runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PcieLink {
    /// Its generation.
    pub generation: u8,
    /// Its lanes.
    pub lanes: u8,
}

/// Whether a GPU has work: an idle one runs its link slowly on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Load {
    /// It has.
    Busy,
    /// It has none.
    Idle,
}

/// One reading. Where it was taken is said beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reading {
    /// Whether a GPU that should be there is.
    Gpu(Presence),
    /// What the driver says a GPU needs, `nvmlDeviceGpuRecoveryAction_t`.
    RecoveryAction(u32),
    /// Errors that ECC did not correct, since the driver was loaded.
    EccUncorrected(Memory, u64),
    /// Errors that ECC corrected, since the driver was loaded.
    EccCorrected(Memory, u64),
    /// A row is remapped at the next reset.
    RemapPending(Flag),
    /// A row could not be remapped.
    RemapFailed(Flag),
    /// There were more SRAM errors than the GPU may have.
    SramThreshold(Flag),
    /// How many banks have few spare rows left, of NVML's row remapper histogram. Banks that have most of them left are
    /// what spare rows are for.
    SpareRows {
        /// Banks that have few left.
        low: u32,
        /// Banks that have none left.
        none: u32,
    },
    /// A GPU runs slower than it could.
    Slowdown(Slowdown, Flag),
    /// Something is hotter than its maker allows.
    TooHot(Hot, Flag),
    /// The power limit in force, and the one that the pool wants.
    PowerLimit {
        /// In force.
        enforced_watts: u32,
        /// Wanted.
        wanted_watts: u32,
    },
    /// How a PCI link runs, and how it could.
    PcieSpeed {
        /// Now.
        now: PcieLink,
        /// At best, of what both ends can.
        best: PcieLink,
        /// Whether that means anything.
        load: Load,
    },
    /// PCI packets sent again.
    PcieReplays(u64),
    /// The kernel's count of PCI errors.
    PcieErrors(Aer, u64),
    /// One NVLink of a GPU.
    Nvlink(u16, Link),
    /// A counter of one NVLink.
    NvlinkCount(u16, NvlinkCounter, u64),
    /// What the NVLink fabric says of a GPU.
    Fabric(FabricFault, Flag),
    /// One port of an adapter.
    Port(u16, Link),
    /// The rate of a port that is up.
    PortRate {
        /// Which.
        port: u16,
        /// Now.
        now_gbps: u32,
        /// What the pool wants.
        wanted_gbps: u32,
    },
    /// A counter of one port.
    PortCount(u16, PortCounter, u64),
    /// The fabric manager, on a node that needs one.
    FabricManager(Link),
    /// Records of the kernel log that were overwritten before they were read.
    LogLost(u64),
    /// A source of the agent, by its name, that does not come back from a call.
    SourceStalled(&'static str, Flag),
    /// A source of the agent, by its name, that cannot read what it should.
    SourceBlind(&'static str, Flag),
}

/// What a reading says by itself, without a past to compare it with: for a person who looks once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// Who says it.
    pub source: Source,
    /// In which words.
    pub code: &'static str,
    /// Which of its kind.
    pub detail: String,
    /// How much, or whether.
    pub value: Value,
}

/// How much a reading says, or whether.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// A total, which may be years old.
    Total(u64),
    /// A state that is so now.
    State(Flag),
}

/// A reading in the words of evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Worded {
    pub(crate) source: Source,
    pub(crate) code: &'static str,
    pub(crate) detail: String,
    /// Which thing it is a reading of; what is said of the thing may change.
    pub(crate) thing: (&'static str, String),
    pub(crate) kind: Kind,
}

/// How a reading becomes signals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A total that only rises: by how much it rose, once that is a grain. A report has room for a few dozen kinds of
    /// evidence, and the trickle of a healthy machine must not fill it.
    Total { count: u64, grain: u64 },
    /// A state: once it has lasted so long, and again and again while it lasts.
    State { flag: Flag, after: Span, every: Span },
}

/// A state that is a fault the moment it is seen.
const AT_ONCE: Span = Span::seconds(0);
/// A GPU that is not in the list for three looks was not just being set up.
const THREE_LOOKS: Span = Span::seconds(20);
/// A link that trains again, or a service that restarts, is back within this time (gpud waits as long for a port).
const SETTLED: Span = Span::minutes(4);
/// A state that lasts is told again, so that a node which comes back with it is not taken for healthy.
const HOURLY: Span = Span::hours(1);
/// A slowdown is told by the minute, so that its count is a length of time.
const MINUTELY: Span = Span::minutes(1);

// === impl Reading ===

impl Reading {
    /// What it says by itself.
    #[must_use]
    pub fn told(&self) -> Told {
        let Worded { source, code, detail, kind, .. } = self.worded();
        let value = match kind {
            Kind::Total { count, .. } => Value::Total(count),
            Kind::State { flag, .. } => Value::State(flag),
        };
        Told { source, code, detail, value }
    }

    /// The words, where the reading says anything.
    pub(crate) fn worded(&self) -> Worded {
        use Source::{Inventory, Kernel, Nic, Nvml, PcieAer};
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
            Self::Slowdown(why, set) => {
                let kind = Kind::State { flag: set, after: AT_ONCE, every: MINUTELY };
                Worded { kind, ..state(Nvml, why.word(), String::new(), set, AT_ONCE) }
            }
            Self::TooHot(what, set) => {
                let kind = Kind::State { flag: set, after: AT_ONCE, every: MINUTELY };
                Worded { kind, ..state(Nvml, "too-hot", what.word().to_owned(), set, AT_ONCE) }
            }
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
            Self::LogLost(count) => total(Kernel, "log-lost", "", count, 1),
            Self::SourceStalled(source, set) => state(Inventory, "source-stalled", source.to_owned(), set, AT_ONCE),
            Self::SourceBlind(source, set) => state(Inventory, "source-blind", source.to_owned(), set, SETTLED),
        }
    }
}

fn total(source: Source, code: &'static str, detail: &str, count: u64, grain: u64) -> Worded {
    let detail = detail.to_owned();
    Worded { source, code, thing: (code, detail.clone()), detail, kind: Kind::Total { count, grain } }
}

fn state(source: Source, code: &'static str, detail: String, flag: Flag, after: Span) -> Worded {
    Worded { source, code, thing: (code, detail.clone()), detail, kind: Kind::State { flag, after, every: HOURLY } }
}

impl Worded {
    /// The same of a thing that the detail does not name.
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
    /// Not the words of the log: the same error is in both, and is not to be counted twice.
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
