//! All data of the agent about this boot: evidence, the last value of every reading, the position in the kernel log, parts
//! and versions. Folding is pure; `store/state_file.rs` keeps the data across a restart.
//!
//! Counts and the place in the kernel log are written together or not at all. So after a kill the log is read again from
//! the last place that was kept: what the kernel still holds is counted, and nothing is counted twice. The same holds for
//! counters of devices, whose past is in the same file.

mod gpus;
mod logs;
mod report;
pub mod state_file;
mod stored_state;
mod xids;

use std::collections::BTreeMap;
use std::str::FromStr;

use mainstay_model::{
    BootId, Bounded, Evidence, Gpu, Inventory, Literal, Nic, PciAddress, Product, Serial, Timestamp, Version,
};
use mainstay_signal::{Flag, Load, Meter, PcieLink, Place, Reading, Signal, Tally, TallyOutcome, UnrecognisedCounts};

use crate::sources::infiniband::Congestion;
use crate::sources::nvml::{GpuStatus, NvmlVersions};
use crate::sources::versions::Versions;
use crate::sources::{Events, PollResult, SourceError, SourceMessage, SourceName};
pub use logs::{JournalCounts, LogPosition};
pub use stored_state::StoredState;
use xids::NvmlXids;
pub use xids::Xids;

/// What a part or a version is called that nobody knows.
const UNKNOWN: &str = "unknown";

/// The picture of one boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Store {
    boot: BootId,
    tally: Tally,
    meter: Meter,
    log: LogPosition,
    journal: JournalCounts,
    unrecognised: UnrecognisedCounts,
    /// Templates that were new, since the agent started.
    templates: u64,
    xids: Xids,
    borrowed: NvmlXids,
    /// Whether the kernel log is being read, and so counts XIDs.
    log_is_read: bool,
    versions: Versions,
    installed: NvmlVersions,
    /// Those that the driver lists now.
    gpus: Vec<Gpu>,
    /// Whether NVML listed the GPUs in this boot, so that `gpus` is complete.
    gpus_listed: bool,
    /// Every GPU of this boot, and those of the last one that did not come back.
    all_gpus: Bounded<Gpu, GPUS_MAX>,
    gpus_now: Vec<GpuStatus>,
    nics: Vec<Nic>,
    congestion: Congestion,
    /// Every adapter of this boot: one that went away keeps its signals.
    all_nics: Bounded<Nic, NICS_MAX>,
    /// GPUs and adapters without room in the lists above.
    lost_gpus: u64,
    lost_nics: u64,
    loads: BTreeMap<PciAddress, Load>,
    troubles: BTreeMap<SourceName, SourceError>,
    /// Whether the NVML source has looked since the agent started.
    nvml_looked: bool,
    sequence: u64,
    /// Highest epoch that this node's GpuNode named, in any boot. 0 if none was read.
    highest_epoch: u64,
    changes: u64,
}

/// Something that was counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What.
    pub signal: Signal,
    /// How often.
    pub times: u64,
    /// What it did to the list.
    pub noted: TallyOutcome,
    /// When it happened.
    pub at: Timestamp,
}

// === impl Store ===

impl Store {
    /// Nothing known of this boot.
    #[must_use]
    pub fn new(boot: BootId) -> Self {
        let mut meter = Meter::new();
        // The first loss is a rise from none.
        meter.read(&Place::Node, &Reading::LogLost(0), Timestamp(0));
        Self {
            boot,
            tally: Tally::new(),
            meter,
            log: LogPosition::default(),
            journal: JournalCounts::default(),
            unrecognised: UnrecognisedCounts::default(),
            templates: 0,
            xids: Xids::default(),
            borrowed: NvmlXids::default(),
            log_is_read: false,
            versions: Versions::default(),
            installed: NvmlVersions::default(),
            gpus: Vec::new(),
            gpus_listed: false,
            all_gpus: Bounded::new(),
            gpus_now: Vec::new(),
            nics: Vec::new(),
            congestion: Congestion::default(),
            all_nics: Bounded::new(),
            lost_gpus: 0,
            lost_nics: 0,
            loads: BTreeMap::new(),
            troubles: BTreeMap::new(),
            nvml_looked: false,
            sequence: 0,
            highest_epoch: 0,
            changes: 0,
        }
    }

    /// Counts what a source said, and answers what that was.
    pub fn fold(&mut self, said: SourceMessage, now: Timestamp) -> Vec<Change> {
        match said {
            SourceMessage::Batch(batch) => self.batch(batch, now),
            SourceMessage::Journal(batch) => self.journal_batch(*batch, now),
            SourceMessage::Round(source, round) => self.round(source, *round, now),
            SourceMessage::Events(events) => self.events(&events, now),
        }
    }

    /// What NVML told. The kernel log says every XID and NVML only the last one of several, so the log counts; where it is
    /// not read, NVML's are counted, and remembered until the log says them too.
    fn events(&mut self, events: &Events, now: Timestamp) -> Vec<Change> {
        let mut changes = Vec::new();
        for event in &events.xids {
            let Some(signal) = xids::signal(event) else { continue };
            if !self.log_is_read && self.borrowed.take(&signal, now) {
                self.xids.count(&signal, 1);
                changes.push(self.note(signal, 1, now));
            }
        }
        for (place, reading) in &events.readings {
            changes.extend(self.read(place, reading, now));
        }
        changes
    }

    fn round(&mut self, source: SourceName, round: PollResult, now: Timestamp) -> Vec<Change> {
        if source == SourceName::KernelLog {
            self.log_is_read = !round.trouble.as_ref().is_some_and(|trouble| trouble.unavailable);
        }
        if let Some(versions) = &round.versions
            && *versions != self.versions
        {
            self.versions = versions.clone();
            self.changes += 1;
        }
        if let Some(nics) = &round.nics
            && *nics != self.nics
        {
            for nic in nics {
                if !self.all_nics.as_slice().contains(nic) {
                    self.lost_nics += u64::from(self.all_nics.try_push(nic.clone()).is_err());
                }
            }
            self.nics.clone_from(nics);
            self.changes += 1;
        }
        if let Some(congestion) = round.congestion {
            self.congestion = congestion;
        }
        for (address, load) in round.loads.iter().take(GPUS_MAX) {
            self.loads.insert(address.clone(), *load);
        }
        self.nvml_looked |= source == SourceName::Nvml;
        let mut readings = self.readings_of(&round);
        match &round.gpus {
            Some(listing) => self.list(listing),
            // What is not seen is not shown as if it were.
            None if source == SourceName::Nvml => self.gpus_now.clear(),
            None => {}
        }
        let blind =
            if round.trouble.as_ref().is_some_and(|trouble| trouble.unavailable) { Flag::Set } else { Flag::Clear };
        readings.push((Place::Node, Reading::SourceBlind(source.word(), blind)));
        match round.trouble {
            Some(trouble) => self.troubles.insert(source, trouble),
            None => self.troubles.remove(&source),
        };
        let mut changes = Vec::new();
        let before = self.meter.changes();
        for (place, reading) in &readings {
            changes.extend(self.read(place, reading, now));
        }
        for (code, total) in &round.external {
            if let Some((signal, times)) = self.meter.read_external(code, *total, now) {
                changes.push(self.note(signal, times, now));
            }
        }
        // A first reading says nothing, and is a past to be kept all the same.
        self.changes += u64::from(self.meter.changes() != before);
        changes
    }

    /// Everything that a look read, links of GPUs in the light of their load.
    #[must_use]
    pub fn readings_of(&self, round: &PollResult) -> Vec<(Place, Reading)> {
        let links = round.gpu_links.iter();
        let links =
            links.map(|(address, now, best)| (Place::Pci(address.clone()), self.gpu_link(address, *now, *best)));
        let gpus = round.gpus.iter().flat_map(|listing| self.presences(listing));
        round.readings.iter().cloned().chain(links).chain(gpus).collect()
    }

    /// A GPU without work slows its link down on purpose, and keeps its lanes. Where nobody knows whether it has work, only
    /// missing lanes mean anything.
    fn gpu_link(&self, address: &PciAddress, now: PcieLink, best: PcieLink) -> Reading {
        match self.loads.get(address) {
            Some(load) => Reading::PcieSpeed { now, best, load: *load },
            None => Reading::PcieSpeed { now: PcieLink { generation: best.generation, ..now }, best, load: Load::Busy },
        }
    }

    /// Counts whether a source hangs.
    pub fn stalled(&mut self, source: &'static str, flag: Flag, now: Timestamp) -> Option<Change> {
        if source == SourceName::KernelLog.word() && flag == Flag::Set {
            self.log_is_read = false;
        }
        self.read(&Place::Node, &Reading::SourceStalled(source, flag), now)
    }

    fn read(&mut self, place: &Place, reading: &Reading, now: Timestamp) -> Option<Change> {
        let (signal, times) = self.meter.read(place, reading, now)?;
        Some(self.note(signal, times, now))
    }

    fn note(&mut self, signal: Signal, times: u64, at: Timestamp) -> Change {
        self.changes += 1;
        let noted = self.tally.note_many(&signal, times, &self.inventory(), at);
        Change { signal, times, noted, at }
    }

    /// Every part of this boot, for finding out whose a signal is.
    fn inventory(&self) -> Inventory {
        let (told, files) = (&self.installed, &self.versions);
        // What the driver itself says comes before what files say.
        let text = |told: Option<&String>, file: &Option<String>| {
            told.or(file.as_ref()).map_or(UNKNOWN, String::as_str).to_owned()
        };
        let [board, product, driver] = [
            text(None, &files.board),
            text(told.product.as_ref(), &files.product),
            text(told.driver.as_ref(), &files.driver),
        ];
        Inventory {
            board: parsed(&crate::text::token(&board, Serial::BYTES_MAX), const { Serial::literal(UNKNOWN) }),
            product: parsed(&crate::text::line(&product, Product::BYTES_MAX), const { Product::literal(UNKNOWN) }),
            driver: parsed(&crate::text::line(&driver, Version::BYTES_MAX), const { Version::literal(UNKNOWN) }),
            gpus: self.all_gpus.clone(),
            gpus_unavailable: None,
            nics: self.all_nics.clone(),
        }
    }

    // === for who shows it ===

    /// The boot it is of.
    #[must_use]
    pub const fn boot(&self) -> &BootId {
        &self.boot
    }

    /// GPUs that the inventory of this boot had no room for.
    #[must_use]
    pub const fn lost_gpus(&self) -> u64 {
        self.lost_gpus
    }

    /// Adapters that the inventory of this boot had no room for.
    #[must_use]
    pub const fn lost_nics(&self) -> u64 {
        self.lost_nics
    }

    /// The evidence so far.
    #[must_use]
    pub fn evidence(&self) -> Bounded<Evidence, 48> {
        self.tally.evidence()
    }

    /// How far the kernel log was counted.
    #[must_use]
    pub const fn log(&self) -> LogPosition {
        self.log
    }

    /// How far the journal was counted.
    #[must_use]
    pub const fn journal(&self) -> &JournalCounts {
        &self.journal
    }

    /// Templates of error lines that no parser knows.
    #[must_use]
    pub const fn unrecognised(&self) -> &UnrecognisedCounts {
        &self.unrecognised
    }

    /// How many templates were new since the agent started: each is worth a report.
    #[must_use]
    pub const fn templates(&self) -> u64 {
        self.templates
    }

    /// Every XID, counted.
    #[must_use]
    pub const fn xids(&self) -> &Xids {
        &self.xids
    }

    /// What sources could not read when they last looked.
    #[must_use]
    pub const fn troubles(&self) -> &BTreeMap<SourceName, SourceError> {
        &self.troubles
    }

    /// Congestion counters of the adapters, as of the last poll.
    #[must_use]
    pub const fn congestion(&self) -> &Congestion {
        &self.congestion
    }

    /// How often anything changed; what is kept is compared by it.
    #[must_use]
    pub const fn changes(&self) -> u64 {
        self.changes
    }

    /// Whether the parts are known, so that signals find theirs.
    #[must_use]
    pub const fn knows_parts(&self) -> bool {
        self.versions.kernel.is_some()
    }
}

/// As many as the model takes.
const NICS_MAX: usize = 16;
const GPUS_MAX: usize = 16;

/// A text of the machine as a value of the model, or the value for what is unknown.
fn parsed<T: FromStr + From<Literal<T>>>(text: &str, unknown: Literal<T>) -> T {
    text.parse().unwrap_or_else(|_| unknown.get())
}

#[cfg(test)]
mod tests;
