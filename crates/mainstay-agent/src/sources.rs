//! Where evidence comes from: one file a source. Each runs on a thread of its own and says what it saw over a bounded
//! channel; none waits for another, and one that hangs is told by its pulse.

pub mod amdgpu;
pub mod infiniband;
pub mod journal;
pub mod kernel_log;
pub mod lines;
pub mod nvml;
pub mod pcie;
pub mod scrape;
pub mod versions;

mod heartbeat;

use std::sync::Arc;
use std::time::Duration;

use mainstay_model::{BootId, Code, Nic, PciAddress};
use mainstay_signal::{Load, PcieLink, Place, Reading};
use tokio::sync::mpsc;

pub use crate::settings::SourceName;
pub use heartbeat::Heartbeat;

use crate::journal::{JournalPosition, JournalStart};
use crate::settings::{Settings, VERSIONS_EVERY};
use infiniband::Congestion;
use lines::Lines;
use nvml::{Listing, NvmlSession, XidEvent};
use versions::Versions;

/// How many messages wait at most. When the store cannot keep up, sources wait, and the kernel's log is overwritten, which
/// is counted; memory does not grow.
pub const WAITING_MAX: usize = 64;

/// How long a source may work before it is said to hang. A file of sysfs takes microseconds.
const ROUND_LIMIT: Duration = Duration::from_secs(10);

/// Message from a source to the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceMessage {
    /// Records of the kernel log.
    Batch(Batch),
    /// Messages of services.
    Journal(Box<JournalBatch>),
    /// What one look gave.
    Round(SourceName, Box<PollResult>),
    /// What NVML told between two looks.
    Events(Box<Events>),
}

/// Records of the kernel log, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    /// Signals and templates of the records.
    pub lines: Lines,
    /// The number of the last one.
    pub counted_to: Option<u64>,
    /// How many were read.
    pub read: u64,
    /// How many were overwritten unread.
    pub lost: u64,
    /// How many could not be read.
    pub unreadable: u64,
    /// Whether this was all there is.
    pub caught_up: bool,
}

/// Messages of services from the journal, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JournalBatch {
    /// Signals and templates of the messages.
    pub lines: Lines,
    /// The last entry that was read.
    pub position: Option<JournalPosition>,
    /// Number of messages that were read.
    pub read: u64,
    /// Number of messages without a text: journald compresses long ones.
    pub unreadable: u64,
}

/// What NVML told between two looks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Events {
    /// XIDs; several that come together all have the number of the last one.
    pub xids: Vec<XidEvent>,
    /// States that changed.
    pub readings: Vec<(Place, Reading)>,
}

/// Everything that a source read in one poll.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PollResult {
    /// States and counters.
    pub readings: Vec<(Place, Reading)>,
    /// How links of GPUs run and how they could; whether that means anything depends on the GPU's load.
    pub gpu_links: Vec<(PciAddress, PcieLink, PcieLink)>,
    /// Whether GPUs have work.
    pub loads: Vec<(PciAddress, Load)>,
    /// The GPUs as the driver lists them.
    pub gpus: Option<Listing>,
    /// The adapters of the compute fabric.
    pub nics: Option<Vec<Nic>>,
    /// Congestion counters of the adapters.
    pub congestion: Option<Congestion>,
    /// Versions and serials.
    pub versions: Option<Versions>,
    /// Totals that other programs keep.
    pub external: Vec<(Code, u64)>,
    /// What stood in the way.
    pub trouble: Option<SourceError>,
}

/// Why a source could not be read, in whole or in part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceError {
    /// What and why.
    pub what: String,
    /// Whether it sees nothing at all, or only less.
    pub unavailable: bool,
}

// === impl SourceError ===

impl SourceError {
    /// It sees nothing.
    pub fn blind(what: impl Into<String>) -> Self {
        Self { what: what.into(), unavailable: true }
    }

    /// It sees less.
    pub fn partial(what: impl Into<String>) -> Self {
        Self { what: what.into(), unavailable: false }
    }
}

/// Starts a source that looks every so often.
///
/// # Errors
/// Where no thread can be had.
pub fn start(
    name: SourceName,
    settings: &Settings,
    guest: &NvmlSession,
    boot: &BootId,
    said: mpsc::Sender<SourceMessage>,
) -> std::io::Result<Arc<Heartbeat>> {
    match name {
        SourceName::KernelLog => kernel_log::start(settings.kmsg.clone(), crate::kmsg::StartPosition::Oldest, said),
        SourceName::Journal => journal::start(settings.root.clone(), boot.clone(), JournalStart::ThisBoot, said),
        SourceName::Nvml => nvml::start(settings, guest.clone(), said),
        SourceName::Pcie => {
            let mut bus = pcie::Bus::new(&settings.sys);
            every(name, settings.counters_every, said, move || bus.look())
        }
        SourceName::Amdgpu => {
            let cards = amdgpu::Cards::new(&settings.sys);
            every(name, settings.counters_every, said, move || cards.look())
        }
        SourceName::Infiniband => {
            let mut ports = infiniband::Ports::new(&settings.sys, settings.port_gbps);
            every(name, settings.counters_every, said, move || ports.look())
        }
        SourceName::Versions => {
            let settings = settings.clone();
            every(name, VERSIONS_EVERY, said, move || versions::look(&settings))
        }
        SourceName::Scrape => {
            let scraper = scrape::Scraper::new(settings.endpoints.clone(), settings.counters.clone());
            every(name, settings.counters_every, said, move || scraper.look())
        }
    }
}

/// A thread that looks, says what it saw, and waits. It ends when nobody listens any more.
fn every(
    name: SourceName,
    interval: Duration,
    said: mpsc::Sender<SourceMessage>,
    mut look: impl FnMut() -> PollResult + Send + 'static,
) -> std::io::Result<Arc<Heartbeat>> {
    Heartbeat::spawn(name.word(), ROUND_LIMIT, move |pulse| {
        loop {
            let round = pulse.track(&mut look);
            if said.blocking_send(SourceMessage::Round(name, Box::new(round))).is_err() {
                return;
            }
            std::thread::park_timeout(interval);
        }
    })
}
