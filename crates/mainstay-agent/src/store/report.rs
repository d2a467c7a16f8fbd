//! The store as a `NodeReport`: what the API server is given once the agent writes there.

use mainstay_api::{Evidence, Gpu, Inventory, Moment, Nic, NodeReportSpec, Software, UnrecognisedLine};
use mainstay_model::{Bounded, GpusUnavailable, NodeUid, SoftwareName, Timestamp, Version};

use super::{Store, UNKNOWN, parsed};

impl Store {
    /// The server holds a report of this boot under this sequence, so the next one passes it.
    pub fn advance_past(&mut self, sequence: u64) {
        self.sequence = self.sequence.max(sequence);
    }

    /// Keeps an epoch that this node's GpuNode names, if it is the highest so far.
    pub fn read_epoch(&mut self, epoch: u64) {
        if epoch > self.highest_epoch {
            self.highest_epoch = epoch;
            self.changes += 1;
        }
    }

    /// The report of what is known now, under the next sequence.
    pub fn report(&mut self, node_uid: &NodeUid, now: Timestamp) -> NodeReportSpec {
        self.sequence = self.sequence.saturating_add(1);
        self.unrecognised.forget(now);
        let (known, versions) = (self.inventory(), self.versions());
        let version = |text: Option<&str>| {
            parsed(&crate::text::line(text.unwrap_or(UNKNOWN), Version::BYTES_MAX), const { Version::literal(UNKNOWN) })
        };
        let inventory = Inventory {
            board: known.board,
            product: known.product,
            driver: known.driver,
            firmware: versions.firmware.as_deref().map(|firmware| version(Some(firmware))),
            kernel: version(versions.kernel.as_deref()),
            software: bounded(versions.more.iter().filter_map(|(name, its)| {
                // What has no name that fits is still in the metrics and in a bundle.
                let name = SoftwareName::parse(&name.replace(' ', "-")).ok()?;
                Some(Software { name, version: version(Some(its)) })
            })),
            gpus: bounded(self.gpus.iter().map(|gpu| Gpu {
                index: i32::from(gpu.index),
                serial: gpu.serial.clone(),
                uuid: gpu.uuid.clone(),
                pci: gpu.pci.clone(),
            })),
            gpus_unavailable: self
                .gpus_unavailable()
                .map(|why| crate::text::line(&why, GpusUnavailable::BYTES_MAX))
                .map(|why| parsed(&why, const { GpusUnavailable::literal(UNKNOWN) })),
            nics: bounded(self.nics.iter().map(|nic| Nic {
                rail: i32::from(nic.rail),
                serial: nic.serial.clone(),
                pci: nic.pci.clone(),
            })),
        };
        NodeReportSpec {
            node_uid: node_uid.clone(),
            boot_id: self.boot.clone(),
            sequence: i64::try_from(self.sequence).unwrap_or(i64::MAX),
            reported_at: Moment::from(now),
            agent_version: version(Some(env!("CARGO_PKG_VERSION"))),
            inventory,
            evidence: bounded(self.tally.evidence().as_slice().iter().map(piece)),
            outcomes: Bounded::new(),
            results: Bounded::new(),
            acknowledged: Bounded::new(),
            unrecognised: bounded(self.unrecognised.lines().as_slice().iter().map(UnrecognisedLine::from)),
            unrecognised_more: i64::try_from(self.unrecognised.overflow()).unwrap_or(i64::MAX),
            highest_epoch: i64::try_from(self.highest_epoch).ok().filter(|epoch| *epoch > 0),
        }
    }
}

fn piece(evidence: &mainstay_model::Evidence) -> Evidence {
    let key = &evidence.key;
    Evidence {
        source: key.source,
        code: key.code.clone(),
        device: key.device.clone(),
        detail: (!key.detail.as_str().is_empty()).then(|| key.detail.clone()),
        count: i64::try_from(evidence.count).unwrap_or(i64::MAX),
        first_seen_at: Moment::from(evidence.first_seen_at),
        last_seen_at: Moment::from(evidence.last_seen_at),
    }
}

/// As many as fit; the store holds no more.
fn bounded<T, const MAX: usize>(items: impl Iterator<Item = T>) -> Bounded<T, MAX> {
    let mut bounded = Bounded::new();
    for item in items.take(MAX) {
        let _ = bounded.try_push(item);
    }
    bounded
}
