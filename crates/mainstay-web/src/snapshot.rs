//! The state of the fleet at one moment, ready to be served. A snapshot never changes; the next one shares its unchanged
//! parts, so that two hours of snapshots cost little more than one. [`crate::render`] and the callers build it.

mod map;
mod topology;

use std::collections::BTreeMap;
use std::sync::Arc;

use mainstay_api::http;
use mainstay_engine::Why;
use mainstay_model::{Execution, Mode, Stage, Timestamp, WaitingOn};

use crate::render::incident;

pub use topology::{FleetTopology, NodeLocation};

/// Immutable state of the fleet at one moment, sharing unchanged parts with the next.
pub struct Snapshot {
    /// Name of the fleet or cluster.
    pub name: Arc<str>,
    /// Moment that the snapshot shows.
    pub now: Timestamp,
    /// Mode in effect, which may be lower than the mode that was set.
    pub mode: Mode,
    /// Mode that an operator set in the Cell.
    pub mode_set: Mode,
    /// Why the mode that an operator set has no effect; none where it is in effect.
    pub mode_notice: Option<String>,
    /// Spines, leaves and racks of the fleet.
    pub topology: Arc<FleetTopology>,
    /// Nodes in the order of the topology.
    pub nodes: Vec<Arc<NodeSnapshot>>,
    /// Jobs in the order of their numbers.
    pub jobs: Vec<Arc<JobSnapshot>>,
    /// Position of the job on each node, by position of the node.
    pub job_of: Vec<Option<u16>>,
    /// Incidents, the newest first.
    pub incidents: Vec<Arc<http::IncidentDetail>>,
    /// Decisions, the oldest first.
    pub decisions: Vec<Arc<http::Decision>>,
    /// Disruption budgets and their use.
    pub budgets: Vec<http::Budget>,
    /// Circuit breakers that are not closed.
    pub breakers: Vec<http::Breaker>,
    /// Everything that needs an operator.
    pub needs: Vec<http::Need>,
    /// GPU time lost and saved; none where it is not counted.
    pub costs: Option<Costs>,
    /// Temperature and power of nodes; none where they are not measured.
    pub gauges: Option<Gauges>,
    /// Steps of the demo script so far.
    pub script: Vec<http::ScriptStep>,
    /// Service level objectives with their error budgets; none in a demo.
    pub slos: Arc<[http::Slo]>,
    /// Allocation, queue and inventory of GPUs.
    pub capacity: Arc<http::Capacity>,
    /// Permissions of the caller in a cluster; none in a demo.
    pub cluster: Option<http::ClusterAccess>,
}

/// GPU time that jobs lost and saved, in seconds.
#[derive(Clone, Copy)]
pub struct Costs {
    /// GPU-seconds that jobs lost.
    pub lost: u64,
    /// GPU-seconds that checkpoints on request saved.
    pub saved: u64,
    /// GPU-seconds that jobs lost in the last hour.
    pub lost_last_hour: u64,
}

/// Temperature and power of nodes, one byte per node.
pub struct Gauges {
    /// Degrees Celsius by node.
    pub celsius: Vec<u8>,
    /// Tens of watts per GPU, by node.
    pub decawatts: Vec<u8>,
}

/// One node in a snapshot: list entry, details and the engine's reasons.
#[derive(PartialEq, Eq)]
pub struct NodeSnapshot {
    /// Entry in the list of nodes.
    pub line: http::NodeLine,
    /// Details of the node.
    pub record: http::NodeRecord,
    /// Reasons of the engine. Their time is unset, because the snapshot has it.
    pub why: Why,
    /// Bit i is set where GPU i has a finding.
    pub sick_gpus: u8,
    /// Whether the node runs no jobs.
    pub is_out: bool,
}

/// One job in a snapshot. Its nodes are positions, because a large job has thousands of them.
#[derive(PartialEq, Eq)]
pub struct JobSnapshot {
    /// Entry in the list of jobs.
    pub job: http::Job,
    /// Positions of its nodes.
    pub nodes: Vec<u32>,
    /// Details of the job.
    pub record: http::JobRecord,
}

/// Seed, speed and pause state of a demo, and the time range it can show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DemoStatus {
    /// Random seed of the demo.
    pub seed: u64,
    /// Virtual seconds per second.
    pub speed: u32,
    /// Whether the clock is paused.
    pub paused: bool,
    /// Earliest moment that can be shown.
    pub oldest: Timestamp,
    /// Latest moment that can be shown.
    pub newest: Timestamp,
    /// Past moment that is shown; none for the newest.
    pub at: Option<Timestamp>,
}

impl Snapshot {
    /// The fleet as the HTTP API has it.
    #[must_use]
    pub fn fleet(&self, demo: Option<&DemoStatus>) -> http::Fleet {
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

    /// One point of the time series.
    #[must_use]
    pub fn point(&self) -> http::SeriesPoint {
        let out = self.nodes.iter().map(|node| &node.line).filter(|line| line.stage != Stage::InService);
        let gpus_out = out.map(|line| line.gpus).sum();
        http::SeriesPoint { at: self.now.0, gpus_out, lost_gpu_seconds: self.costs.map(|costs| costs.lost) }
    }

    /// Open incidents, the newest first.
    pub fn open(&self) -> impl Iterator<Item = &http::Incident> {
        let all = self.incidents.iter().map(|incident| &incident.incident);
        all.filter(|incident| incident.state == http::IncidentState::Open)
    }

    /// The node with a name.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<&NodeSnapshot> {
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

    /// The next action for every node with a finding.
    #[must_use]
    pub fn plan(&self) -> http::Plan {
        let item = |node: &Arc<NodeSnapshot>| {
            let rule = node.line.rule.clone()?;
            let why = self.dated(node);
            let waiting_on = why.wait.on();
            Some(http::PlanItem {
                node: node.line.name.clone(),
                action: why.next(),
                rule,
                execution: execution(waiting_on, self.mode),
                waiting_on,
                why: why.what(),
            })
        };
        http::Plan { items: self.nodes.iter().filter_map(item).take(http::LIMIT_MAX).collect() }
    }
}

/// What the mode makes of the next action; none while the node waits for anything but the mode or an approval.
fn execution(waiting_on: WaitingOn, mode: Mode) -> Option<Execution> {
    match waiting_on {
        WaitingOn::Mode => Some(Execution::DryRun),
        WaitingOn::Approval => Some(Execution::Proposed),
        WaitingOn::Checkpoint | WaitingOn::Drain | WaitingOn::Order | WaitingOn::Qualification => {
            (mode == Mode::Act).then_some(Execution::Ordered)
        }
        WaitingOn::Nothing | WaitingOn::Breaker | WaitingOn::Budget | WaitingOn::Leadership => None,
        WaitingOn::Operator | WaitingOn::Report | WaitingOn::SecondSignal => None,
        WaitingOn::SharedCause | WaitingOn::WatchSync | WaitingOn::CapacityFloor | WaitingOn::Freeze => None,
        WaitingOn::RateLimit | WaitingOn::Window => None,
    }
}

/// Converts the reasons of the engine to the form of the HTTP API.
#[must_use]
pub fn why_of(why: &Why) -> http::NodeExplanation {
    http::NodeExplanation {
        sentence: why.to_string(),
        problem: why.fault.as_ref().map(|fault| fault.title.clone()),
        explanation: why.fault.as_ref().map(|fault| fault.explanation.to_owned()).filter(|text| !text.is_empty()),
        runbook: why.fault.as_ref().and_then(|fault| fault.runbook).map(str::to_owned),
        waiting: why.what(),
        action: why.action(),
        evidence: why.seen(),
        unrecognised: why.unrecognised(),
        since: why.since.0,
        until: why.until.map(|until| until.0),
        next: why.next(),
        sooner: why.sooner(),
    }
}

/// Converts a length to the integers of the HTTP API.
#[must_use]
pub fn count(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}
