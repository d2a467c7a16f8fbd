//! Data for metrics and for the web UI: jobs and the inventory. No fact of the engine comes from here.

use std::collections::BTreeMap;

use mainstay_api::NodeReportSpec;
use mainstay_model::{NodeName, Timestamp};

use super::World;
use crate::jobs::{JobGauges, Jobs, NodeHealth};
use crate::pod::PartialPod;
use crate::tolerant::Tolerant;
use crate::watch::WatchEvent;

/// GPU model, driver version and firmware version.
pub(crate) type Versions = [Box<str>; 3];

/// Versions of one node, and how many GPUs its agent lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InventoryRow {
    pub(crate) versions: Versions,
    pub(crate) gpus: u16,
}

/// Label value for what an agent does not report.
const UNKNOWN: &str = "unknown";

impl World {
    pub(super) fn pending_pod(&mut self, told: WatchEvent<Tolerant<PartialPod>>, now: Timestamp) {
        let Some(jobs) = &mut self.jobs else { return };
        match told {
            WatchEvent::Is(pod) => {
                if let Ok(pod) = &pod.object {
                    jobs.pending(pod, &self.gangs, now);
                }
            }
            WatchEvent::Gone(key) => jobs.left_pending(&key),
            WatchEvent::Listed => self.has_listed_pending = true,
            WatchEvent::Bookmark => {}
        }
    }

    pub(super) fn ended_pod(&mut self, told: WatchEvent<Tolerant<PartialPod>>, now: Timestamp) {
        let records = &self.records;
        let health = |node: &NodeName| NodeHealth::of(records.get(node).map(|stored| stored.stage));
        let Some(jobs) = &mut self.jobs else { return };
        match told {
            WatchEvent::Is(pod) => {
                if let Ok(pod) = &pod.object {
                    jobs.ended(pod, &self.gangs, health);
                }
            }
            WatchEvent::Gone(key) => jobs.left_ended(key, now),
            WatchEvent::Listed => jobs.listed_ended(),
            WatchEvent::Bookmark => {}
        }
    }

    /// Counts waits and ends that are known by now.
    pub(crate) fn step_jobs(&mut self, now: Timestamp) {
        let records = &self.records;
        let health = |node: &NodeName| NodeHealth::of(records.get(node).map(|stored| stored.stage));
        if let Some(jobs) = &mut self.jobs {
            jobs.step(now, health);
        }
    }

    pub(crate) fn jobs(&self) -> Option<&Jobs> {
        self.jobs.as_deref()
    }

    pub(crate) fn job_gauges(&self, now: Timestamp) -> JobGauges {
        self.jobs.as_ref().map(|jobs| jobs.gauges(now)).unwrap_or_default()
    }

    /// Whether the first list of pods without a node is complete.
    pub(crate) const fn has_listed_pending(&self) -> bool {
        self.has_listed_pending
    }

    /// Firmware version of a node's GPUs, where its agent reports it.
    pub(crate) fn firmware(&self, node: &NodeName) -> Option<&str> {
        let [_, _, firmware] = &self.versions.get(node)?.versions;
        Some(&**firmware).filter(|firmware| *firmware != UNKNOWN)
    }

    /// Number of GPUs by versions, as agents report them.
    pub(crate) fn inventory(&self) -> BTreeMap<Versions, u64> {
        let mut rows: BTreeMap<Versions, u64> = BTreeMap::new();
        for InventoryRow { versions, gpus } in self.versions.values() {
            match rows.get_mut(versions) {
                Some(count) => *count += u64::from(*gpus),
                None => drop(rows.insert(versions.clone(), u64::from(*gpus))),
            }
        }
        rows
    }

    pub(super) fn keep_versions(&mut self, node: &NodeName, spec: Option<&NodeReportSpec>) {
        let Some(inventory) = spec.map(|spec| &spec.inventory) else { return };
        let firmware = inventory.firmware.as_ref().map_or(UNKNOWN, |firmware| firmware.as_str());
        let versions = [inventory.product.as_str(), inventory.driver.as_str(), firmware].map(Box::from);
        let gpus = u16::try_from(inventory.gpus.as_slice().len()).unwrap_or(u16::MAX);
        let row = InventoryRow { versions, gpus };
        if self.versions.get(node) != Some(&row) {
            self.versions.insert(node.clone(), row);
        }
    }
}
