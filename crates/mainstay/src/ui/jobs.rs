//! The work of a cluster, drawn: gangs of pods, where they run and when they last saved. What they lost nobody counts here.

use std::collections::BTreeMap;
use std::sync::Arc;

use mainstay_api::http::{Job, JobRecord, JobState};
use mainstay_kube::View;
use mainstay_model::{GangFacts, GangId, NodeName};
use mainstay_web::snapshot::{FleetTopology, JobSnapshot, Snapshot, count};

/// Gangs that a picture holds: as many as the map can number, less its word for none.
const JOBS_MAX: usize = 65_534;

/// Gangs by place, and the one that is shown on each node.
pub(super) struct Gangs<'a> {
    all: Vec<(&'a GangId, &'a GangFacts)>,
    on: BTreeMap<&'a NodeName, u16>,
}

impl<'a> Gangs<'a> {
    pub(super) fn of(view: &'a View) -> Self {
        let all: Vec<_> = view.gangs().iter().take(JOBS_MAX).collect();
        let size = |place: u16| all.get(usize::from(place)).map_or(0, |(_, facts)| facts.nodes.as_slice().len());
        let mut on: BTreeMap<&NodeName, u16> = BTreeMap::new();
        for (place, (_, facts)) in (0_u16..).zip(&all) {
            for node in facts.nodes.as_slice() {
                // Of several on one node the largest is shown: it has the most to lose.
                let shown = on.entry(node).or_insert(place);
                if size(place) > size(*shown) {
                    *shown = place;
                }
            }
        }
        Self { all, on }
    }

    /// The gang that is shown on a node.
    pub(super) fn on(&self, node: &NodeName) -> Option<u16> {
        self.on.get(node).copied()
    }

    pub(super) fn id(&self, place: u16) -> Option<String> {
        self.all.get(usize::from(place)).map(|(id, _)| id.to_string())
    }
}

pub(super) fn jobs(gangs: &Gangs<'_>, hall: &FleetTopology, last: Option<&Snapshot>) -> Vec<Arc<JobSnapshot>> {
    let known: BTreeMap<&str, &Arc<JobSnapshot>> =
        last.map_or(&[][..], |last| &last.jobs).iter().map(|job| (job.job.id.as_str(), job)).collect();
    let drawn = gangs.all.iter().map(|(id, facts)| {
        let job = job(id, facts, hall);
        let known = known.get(job.job.id.as_str()).copied();
        known.filter(|known| ***known == job).cloned().unwrap_or_else(|| Arc::new(job))
    });
    drawn.collect()
}

fn job(id: &GangId, facts: &GangFacts, hall: &FleetTopology) -> JobSnapshot {
    let nodes = facts.nodes.as_slice();
    JobSnapshot {
        job: Job {
            id: id.to_string(),
            name: id.to_string(),
            gpus: None,
            nodes: count(nodes.len()),
            state: JobState::Running,
            started_at: None,
            attempts: None,
            lost_gpu_seconds: None,
            saved_gpu_seconds: None,
            last_checkpoint_at: facts.checkpoints.last.map(|at| at.0),
        },
        nodes: nodes.iter().filter_map(|node| hall.place(node.as_str()).map(count)).collect(),
        record: JobRecord { attempts_list: Vec::new(), checkpoints: Vec::new(), interruptions: Vec::new() },
    }
}
