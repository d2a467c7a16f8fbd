//! The part of the store that survives a restart, and its conversion to and from the store. `state_file.rs` writes it.

use mainstay_model::{BootId, Bounded, Evidence, Gpu, Nic, UnrecognisedLine};
use mainstay_signal::{Meter, TEMPLATES_MAX, Tally, UnrecognisedCounts};
use serde::{Deserialize, Serialize};

use super::xids::{NvmlXids, Xids};
use super::{GPUS_MAX, JournalCounts, LogPosition, NICS_MAX, Store};
use crate::sources::nvml::NvmlVersions;
use crate::sources::versions::Versions;

/// Sequences that are passed over at a restart: more than reports that may have gone out since the last one was kept.
const SEQUENCES_PASSED: u64 = 1_000;

/// Content of the state file, which survives a restart of the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredState {
    format: u32,
    boot: BootId,
    sequence: u64,
    log: LogPosition,
    evidence: Bounded<Evidence, 48>,
    xids: Xids,
    #[serde(default)]
    borrowed: NvmlXids,
    versions: Versions,
    #[serde(default)]
    installed: NvmlVersions,
    gpus: Vec<Gpu>,
    #[serde(default)]
    gpus_listed: bool,
    #[serde(default)]
    all_gpus: Bounded<Gpu, GPUS_MAX>,
    nics: Bounded<Nic, NICS_MAX>,
    meter: Meter,
    #[serde(default)]
    journal: JournalCounts,
    #[serde(default)]
    unrecognised: Bounded<UnrecognisedLine, TEMPLATES_MAX>,
    #[serde(default)]
    unrecognised_more: u64,
    #[serde(default)]
    highest_epoch: u64,
}

/// The format that is written; another one is not read.
const FORMAT: u32 = 1;

impl Store {
    /// Takes up what was kept of this boot. Of another boot only its GPUs are, because they should still be there, and the
    /// highest epoch, because a reboot does not make it wrong.
    #[must_use]
    pub fn of(kept: StoredState, boot: &BootId) -> Option<Self> {
        let StoredState { format, boot: its, sequence, log, evidence, .. } = kept;
        let StoredState { xids, borrowed, versions, installed, gpus, gpus_listed, all_gpus, nics, meter, .. } = kept;
        let StoredState { journal, unrecognised, unrecognised_more, highest_epoch, .. } = kept;
        (format == FORMAT && its == *boot).then(|| Self {
            tally: Tally::of_evidence(&evidence),
            meter,
            log,
            journal,
            unrecognised: UnrecognisedCounts::of_lines(&unrecognised, unrecognised_more),
            xids,
            borrowed,
            versions,
            installed,
            // A state file of an older version does not say it.
            gpus_listed: gpus_listed || !gpus.is_empty(),
            gpus,
            all_gpus,
            all_nics: nics.clone(),
            nics: nics.into(),
            sequence: sequence.saturating_add(SEQUENCES_PASSED),
            highest_epoch,
            ..Self::new(its)
        })
    }

    /// Nothing known of this boot but the GPUs and the highest epoch of the one that was kept. A GPU that does not come back
    /// is missing, until another sits in its place.
    #[must_use]
    pub fn after(kept: &StoredState, boot: BootId) -> Self {
        if kept.format != FORMAT {
            return Self::new(boot);
        }
        Self { all_gpus: kept.all_gpus.clone(), highest_epoch: kept.highest_epoch, ..Self::new(boot) }
    }

    /// What is to be written down.
    #[must_use]
    pub fn kept(&self) -> StoredState {
        StoredState {
            format: FORMAT,
            boot: self.boot.clone(),
            sequence: self.sequence,
            log: self.log,
            evidence: self.tally.evidence(),
            xids: self.xids.clone(),
            borrowed: self.borrowed.clone(),
            versions: self.versions.clone(),
            installed: self.installed.clone(),
            gpus: self.gpus.clone(),
            gpus_listed: self.gpus_listed,
            all_gpus: self.all_gpus.clone(),
            nics: self.all_nics.clone(),
            meter: self.meter.clone(),
            journal: self.journal.clone(),
            unrecognised: self.unrecognised.lines(),
            unrecognised_more: self.unrecognised.overflow(),
            highest_epoch: self.highest_epoch,
        }
    }
}
