//! The fleet map of a snapshot, and its changes since an older snapshot.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mainstay_api::http::{self, Map, MapChanges, MapJob, MapLeaf, MapRack, MapSpine, SubjectKind};
use mainstay_model::{Stage, WaitingOn};

use super::{NodeSnapshot, Snapshot};

/// Resolution of the risk on the map, in parts per million.
const RISK_STEP_PPM: u32 = 16;

impl Snapshot {
    pub(crate) fn map(&self) -> Map {
        let mut versions: BTreeMap<&str, u8> = BTreeMap::new();
        for driver in self.nodes.iter().filter_map(|node| node.record.driver.as_deref()) {
            versions.insert(driver, 0);
        }
        for (place, version) in versions.values_mut().enumerate() {
            *version = u8::try_from(place).unwrap_or(u8::MAX);
        }
        let version =
            |node: &NodeSnapshot| node.record.driver.as_deref().and_then(|driver| versions.get(driver)).copied();
        let risk = |node: &NodeSnapshot| u16::try_from(node.line.risk_ppm / RISK_STEP_PPM).unwrap_or(u16::MAX);
        Map {
            now: self.now.0,
            gpus_per_node: self.topology.gpus_per_node,
            spines: self.tree(),
            stages: Stage::ALL.to_vec(),
            stage: self.bytes(|node| byte(stage(node.line.stage))),
            waits: WaitingOn::ALL.to_vec(),
            wait: self.bytes(|node| byte(wait(node.line.waiting_on))),
            jobs: self.jobs.iter().map(|job| &job.job).map(map_job).collect(),
            job: words(self.job_of.iter().map(|job| job_word(*job))),
            risk: words(self.nodes.iter().map(|node| risk(node))),
            versions: versions.keys().map(|version| (*version).to_owned()).collect(),
            version: self.bytes(|node| version(node).unwrap_or_default()),
            faulty_gpus: self.bytes(|node| node.sick_gpus),
            temperature: self.gauges.as_ref().map(|gauges| STANDARD.encode(&gauges.celsius)),
            power: self.gauges.as_ref().map(|gauges| STANDARD.encode(&gauges.decawatts)),
        }
    }

    fn tree(&self) -> Vec<MapSpine> {
        let faulty: BTreeMap<&str, &str> = self
            .open()
            .filter(|incident| incident.subject.kind == SubjectKind::Leaf)
            .map(|incident| (incident.subject.name.as_str(), incident.id.as_str()))
            .collect();
        let name = |place: usize| self.nodes.get(place).map(|node| node.line.name.clone());
        let spines = self.topology.spines.iter().map(|spine| MapSpine {
            name: spine.name.clone(),
            leaves: spine
                .leaves
                .iter()
                .map(|leaf| MapLeaf {
                    name: leaf.name.clone(),
                    faulty: faulty.get(leaf.name.as_str()).map(|id| (*id).to_owned()),
                    racks: leaf
                        .racks
                        .iter()
                        .map(|rack| MapRack {
                            name: rack.name.clone(),
                            nodes: rack.nodes.clone().filter_map(name).collect(),
                        })
                        .collect(),
                })
                .collect(),
        });
        spines.collect()
    }

    fn bytes(&self, of: impl Fn(&NodeSnapshot) -> u8) -> String {
        STANDARD.encode(self.nodes.iter().map(|node| of(node)).collect::<Vec<u8>>())
    }

    /// Nodes that differ from an older snapshot, with their position and both versions.
    pub(crate) fn changed_since<'a>(
        &'a self,
        older: &'a Self,
    ) -> impl Iterator<Item = (usize, &'a NodeSnapshot, &'a NodeSnapshot)> {
        let pairs = self.nodes.iter().zip(&older.nodes).enumerate();
        let changed = pairs.filter(|(_, (new, old))| !Arc::ptr_eq(new, old));
        changed.map(|(place, (new, old))| (place, new.as_ref(), old.as_ref()))
    }

    /// Whether a node or a job has another position than in an older snapshot, so that positions cannot be compared.
    pub(crate) fn is_placed_otherwise(&self, older: &Self) -> bool {
        let mut jobs = self.jobs.iter().zip(&older.jobs);
        let is_same_topology = Arc::ptr_eq(&self.topology, &older.topology);
        !is_same_topology || self.jobs.len() < older.jobs.len() || jobs.any(|(new, old)| new.job.id != old.job.id)
    }

    /// Changes on the map since an older snapshot.
    pub(crate) fn map_changes(&self, older: &Self) -> MapChanges {
        let mark = |snapshot: &Self, place: usize, node: &NodeSnapshot| {
            let (stage, wait) = (super::count(stage(node.line.stage)), super::count(wait(node.line.waiting_on)));
            let job = job_word(snapshot.job_of.get(place).copied().flatten());
            [stage, wait, u32::from(job), u32::from(node.sick_gpus)]
        };
        let changed = self.changed_since(older);
        let changed = changed.map(|(place, new, old)| (place, mark(self, place, new), mark(older, place, old)));
        let changed = changed
            .filter(|(_, new, old)| new != old)
            .map(|(place, [stage, wait, job, sick], _)| [super::count(place), stage, wait, job, sick]);
        MapChanges { changed: changed.collect() }
    }
}

fn map_job(job: &http::Job) -> MapJob {
    MapJob { id: job.id.clone(), name: job.name.clone(), gpus: job.gpus }
}

fn stage(stage: Stage) -> usize {
    Stage::ALL.iter().position(|one| *one == stage).unwrap_or_default()
}

fn wait(wait: WaitingOn) -> usize {
    WaitingOn::ALL.iter().position(|one| *one == wait).unwrap_or_default()
}

fn byte(place: usize) -> u8 {
    u8::try_from(place).unwrap_or(u8::MAX)
}

fn words(of: impl Iterator<Item = u16>) -> String {
    STANDARD.encode(of.flat_map(u16::to_le_bytes).collect::<Vec<u8>>())
}

/// The position of the job plus one; zero without a job.
fn job_word(job: Option<u16>) -> u16 {
    job.map_or(0, |job| job.saturating_add(1))
}
