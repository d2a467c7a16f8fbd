//! The state of the fleet at one moment, ready to be served. A picture never changes; the next one shares with it
//! whatever has stayed the same, so that two hours of them cost little more than one. Who draws it is elsewhere.

mod map;
mod topology;

use std::collections::BTreeMap;
use std::sync::Arc;

use mainstay_api::http;
use mainstay_engine::Why;
use mainstay_model::{Execution, Mode, Stage, Timestamp, WaitingOn};

use crate::render::incident;

pub(crate) use topology::{FleetTopology, NodeLocation};

/// Immutable state of the fleet at one moment, sharing unchanged parts with the next.
pub(crate) struct Snapshot {
    pub(crate) name: Arc<str>,
    pub(crate) now: Timestamp,
    /// Mode in effect: what is done with decisions now.
    pub(crate) mode: Mode,
    /// Mode that an operator set.
    pub(crate) mode_set: Mode,
    /// Why the mode that an operator set has no effect; none where it is in effect.
    pub(crate) mode_notice: Option<String>,
    pub(crate) topology: Arc<FleetTopology>,
    /// In the order of the hall.
    pub(crate) nodes: Vec<Arc<NodeSnapshot>>,
    /// By number.
    pub(crate) jobs: Vec<Arc<JobSnapshot>>,
    /// The job on each node, by the job's place.
    pub(crate) job_of: Vec<Option<u16>>,
    /// The newest first.
    pub(crate) incidents: Vec<Arc<http::IncidentDetail>>,
    /// The oldest first.
    pub(crate) decisions: Vec<Arc<http::Decision>>,
    pub(crate) budgets: Vec<http::Budget>,
    pub(crate) breakers: Vec<http::Breaker>,
    /// What needs an operator.
    pub(crate) needs: Vec<http::Need>,
    /// None where nobody counts it.
    pub(crate) costs: Option<Costs>,
    pub(crate) gauges: Option<Gauges>,
    pub(crate) script: Vec<http::ScriptStep>,
    /// How a cluster is seen; none in a demo.
    pub(crate) cluster: Option<http::ClusterAccess>,
}

/// GPU time in seconds.
#[derive(Clone, Copy)]
pub(crate) struct Costs {
    pub(crate) lost: u64,
    pub(crate) saved: u64,
    pub(crate) lost_last_hour: u64,
}

/// What nodes show, one byte each: degrees Celsius, and tens of watts a GPU.
pub(crate) struct Gauges {
    pub(crate) celsius: Vec<u8>,
    pub(crate) decawatts: Vec<u8>,
}

/// One node in a snapshot: list entry, details and the engine's reasons.
#[derive(PartialEq, Eq)]
pub(crate) struct NodeSnapshot {
    pub(crate) line: http::NodeLine,
    pub(crate) record: http::NodeRecord,
    /// As of no moment: that is the picture's.
    pub(crate) why: Why,
    /// Bit i is set where GPU i has a finding.
    pub(crate) sick_gpus: u8,
    /// Whether it runs no jobs.
    pub(crate) is_out: bool,
}

/// One job in a snapshot, with its nodes by position. Its nodes are numbers here, because a large job has thousands of
/// them.
#[derive(PartialEq, Eq)]
pub(crate) struct JobSnapshot {
    pub(crate) job: http::Job,
    pub(crate) nodes: Vec<u32>,
    pub(crate) record: http::JobRecord,
}

/// Seed, speed and pause state of a demo, and the time range it can show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DemoStatus {
    pub(crate) seed: u64,
    pub(crate) speed: u32,
    pub(crate) paused: bool,
    pub(crate) oldest: Timestamp,
    pub(crate) newest: Timestamp,
    pub(crate) at: Option<Timestamp>,
}

impl Snapshot {
    pub(crate) fn fleet(&self, demo: Option<&DemoStatus>) -> http::Fleet {
        let mut gpus_by_stage: BTreeMap<Stage, u32> = BTreeMap::new();
        let gpus_out = self.nodes.iter().filter(|node| node.is_out).map(|node| node.line.gpus).sum();
        for node in &self.nodes {
            *gpus_by_stage.entry(node.line.stage).or_default() += node.line.gpus;
        }
        http::Fleet {
            name: self.name.to_string(),
            now: self.now.0,
            mode: self.mode_set,
            mode_in_effect: self.mode,
            mode_notice: self.mode_notice.clone(),
            gpus: gpus_by_stage.values().sum(),
            nodes: count(self.nodes.len()),
            gpus_by_stage,
            lost_gpu_seconds: self.costs.map(|costs| costs.lost),
            saved_gpu_seconds: self.costs.map(|costs| costs.saved),
            lost_gpu_seconds_last_hour: self.costs.map(|costs| costs.lost_last_hour),
            incidents_open: count(self.open().count()),
            gpus_out,
            out_of_service_gpu_seconds_per_hour: incident::per_hour(u64::from(gpus_out)),
            needs: self.needs.clone(),
            budgets: self.budgets.clone(),
            breakers: self.breakers.clone(),
            demo: demo.map(|demo| http::Demo {
                seed: demo.seed,
                speed: demo.speed,
                paused: demo.paused,
                script: self.script.clone(),
                oldest_snapshot: demo.oldest.0,
                newest_snapshot: demo.newest.0,
                at: demo.at.map(|at| at.0),
            }),
            cluster: self.cluster.clone(),
        }
    }

    /// What a chart shows of it.
    pub(crate) fn point(&self) -> http::SeriesPoint {
        let out = self.nodes.iter().map(|node| &node.line).filter(|line| line.stage != Stage::InService);
        let gpus_out = out.map(|line| line.gpus).sum();
        http::SeriesPoint { at: self.now.0, gpus_out, lost_gpu_seconds: self.costs.map(|costs| costs.lost) }
    }

    /// Incidents that are open.
    pub(crate) fn open(&self) -> impl Iterator<Item = &http::Incident> {
        let all = self.incidents.iter().map(|incident| &incident.incident);
        all.filter(|incident| incident.state == http::IncidentState::Open)
    }

    pub(crate) fn node(&self, name: &str) -> Option<&NodeSnapshot> {
        self.nodes.get(self.topology.place(name)?).map(Arc::as_ref)
    }

    pub(crate) fn job(&self, id: &str) -> Option<&JobSnapshot> {
        self.jobs.iter().map(Arc::as_ref).find(|job| job.job.id == id)
    }

    pub(crate) fn detail(&self, node: &NodeSnapshot) -> http::NodeDetail {
        http::NodeDetail { line: node.line.clone(), why: self.why(node), record: node.record.clone() }
    }

    pub(crate) fn why(&self, node: &NodeSnapshot) -> http::NodeExplanation {
        why_of(&self.dated(node))
    }

    fn dated(&self, node: &NodeSnapshot) -> Why {
        Why { as_of: self.now, ..node.why.clone() }
    }

    pub(crate) fn job_detail(&self, job: &JobSnapshot) -> http::JobDetail {
        let name = |node: &u32| Some(self.nodes.get(*node as usize)?.line.name.clone());
        http::JobDetail {
            job: job.job.clone(),
            nodes_list: job.nodes.iter().filter_map(name).collect(),
            record: job.record.clone(),
        }
    }

    /// What comes next for every node that something is found on.
    pub(crate) fn plan(&self) -> http::Plan {
        let item = |node: &Arc<NodeSnapshot>| {
            let rule = node.line.rule.clone()?;
            let why = self.dated(node);
            let waiting_on = why.wait.on();
            Some(http::PlanItem {
                node: node.line.name.clone(),
                action: why.next(),
                rule,
                execution: standing(waiting_on, self.mode),
                waiting_on,
                why: why.what(),
            })
        };
        http::Plan { items: self.nodes.iter().filter_map(item).take(http::LIMIT_MAX).collect() }
    }
}

/// What the mode makes of the next action; none while the node waits for anything but the mode or an approval.
fn standing(waiting_on: WaitingOn, mode: Mode) -> Option<Execution> {
    match waiting_on {
        WaitingOn::Mode => Some(Execution::DryRun),
        WaitingOn::Approval => Some(Execution::Proposed),
        WaitingOn::Checkpoint | WaitingOn::Drain | WaitingOn::Order | WaitingOn::Qualification => {
            (mode == Mode::Act).then_some(Execution::Ordered)
        }
        WaitingOn::Nothing | WaitingOn::Breaker | WaitingOn::Budget | WaitingOn::Leadership => None,
        WaitingOn::Operator | WaitingOn::Report | WaitingOn::SecondSignal => None,
        WaitingOn::SharedCause | WaitingOn::WatchSync => None,
    }
}

/// The engine's reasons as the HTTP API has them.
pub(crate) fn why_of(why: &Why) -> http::NodeExplanation {
    http::NodeExplanation {
        sentence: why.to_string(),
        problem: why.fault.as_ref().map(|fault| fault.title.clone()),
        explanation: why.fault.as_ref().map(|fault| fault.explanation.to_owned()).filter(|text| !text.is_empty()),
        waiting: why.what(),
        action: why.action(),
        evidence: why.seen(),
        since: why.since.0,
        until: why.until.map(|until| until.0),
        next: why.next(),
        sooner: why.sooner(),
    }
}

pub(crate) fn count(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}
