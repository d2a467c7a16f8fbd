//! Builds snapshots of a live fleet, each from the previous one.

mod capacity;
mod job;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use mainstay_api::http::{self, ScriptStep};
use mainstay_model::{Level, Span, Timestamp};
use mainstay_sim::{GPUS_PER_NODE, GpuReadings, LiveFleet, NodeView, Step};
use mainstay_web::published::GpuGauge;
use mainstay_web::render::needs::{self, Facts, Installation, Leadership};
use mainstay_web::render::{self, NodeInput, NodeRenderer};
use mainstay_web::snapshot::{Costs, FleetTopology, Gauges, NodeLocation, Snapshot};

use super::incidents::IncidentTracker;

/// Decisions that a snapshot holds: hours of a busy fleet, and as many as the fleet itself keeps.
const DECISIONS_MAX: usize = 4_096;

/// What is shown of a temperature that nobody knows.
const CELSIUS_UNKNOWN: u8 = u8::MAX;

/// Builds snapshots of the live fleet and reuses unchanged parts of the previous one.
pub(super) struct DemoRenderer {
    hall: Arc<FleetTopology>,
    last: Option<Arc<Snapshot>>,
    nodes: NodeRenderer,
    /// The moment of the latest decision, and how many of that moment are known.
    decided: (Timestamp, usize),
}

impl DemoRenderer {
    pub(super) fn new(live: &LiveFleet) -> Self {
        let domain = |view: &NodeView<'_>, level: Level| {
            view.facts.domains.get(&level).map_or_else(String::new, |name| name.as_str().to_owned())
        };
        let stands = live.nodes().map(|view| NodeLocation {
            name: view.name.as_str().to_owned(),
            spine: domain(&view, Level::Spine),
            leaf: domain(&view, Level::Leaf),
            rack: domain(&view, Level::Rack),
        });
        Self {
            hall: Arc::new(FleetTopology::new(stands, GPUS_PER_NODE)),
            last: None,
            nodes: NodeRenderer::default(),
            decided: (Timestamp(i64::MIN), 0),
        }
    }

    pub(super) fn hall(&self) -> &FleetTopology {
        &self.hall
    }

    /// The fleet as it is.
    pub(super) fn render(&mut self, live: &LiveFleet, cases: &IncidentTracker) -> Arc<Snapshot> {
        let books = live.books();
        let incidents = cases.details(live, self.last.as_deref());
        let needs = needs(live, &incidents);
        let snapshot = Arc::new(Snapshot {
            name: "demo".into(),
            now: live.now(),
            mode: live.mode(),
            mode_set: live.mode(),
            mode_notice: None,
            topology: self.hall.clone(),
            nodes: self.nodes.render(
                live.engine(),
                live.nodes().map(|view| sight(live, &view)),
                self.last.as_deref(),
                |node| cases.open_on(node).map(ToOwned::to_owned),
            ),
            job_of: live.nodes().map(|view| view.job.and_then(|job| u16::try_from(job).ok())).collect(),
            jobs: job::jobs(live, cases, self.last.as_deref()),
            incidents,
            decisions: self.decisions(live),
            budgets: render::budgets(live.engine()),
            breakers: render::breakers(live.engine()),
            needs,
            costs: Some(Costs {
                lost: books.lost_gpu_seconds,
                saved: books.saved_gpu_seconds,
                lost_last_hour: live.lost_since(live.now() - Span::hours(1)),
            }),
            gauges: Some(columns(live)),
            script: live.story().iter().map(step).collect(),
            slos: Arc::from([]),
            capacity: Arc::new(capacity::capacity(live)),
            cluster: None,
        });
        self.last = Some(snapshot.clone());
        snapshot
    }

    fn decisions(&mut self, live: &LiveFleet) -> Vec<Arc<http::Decision>> {
        let known = self.last.as_ref().map_or(&[][..], |last| &last.decisions);
        let (at, seen) = self.decided;
        let new: Vec<Arc<http::Decision>> =
            live.decisions_since(at).skip(seen).map(|line| Arc::new(decision(line))).collect();
        if let Some(last) = new.last() {
            let before = if last.at == at.0 { seen } else { 0 };
            let of_moment = new.iter().rev().take_while(|decision| decision.at == last.at).count();
            self.decided = (Timestamp(last.at), before + of_moment);
        }
        let surplus = (known.len() + new.len()).saturating_sub(DECISIONS_MAX);
        known.iter().skip(surplus).cloned().chain(new).collect()
    }
}

/// What needs an operator. A demo is installed and has a leader by definition.
fn needs(live: &LiveFleet, incidents: &[Arc<http::IncidentDetail>]) -> Vec<http::Need> {
    needs::needs(&Facts {
        engine: live.engine(),
        mode: live.mode(),
        installation: Installation::Present,
        leadership: Leadership::Held,
        violation: None,
        open: needs::open(incidents),
        // A simulated agent runs as long as its node does, and its heartbeats without news are not simulated.
        agents: None,
        remediators: BTreeMap::new(),
    })
}

fn sight<'a>(live: &'a LiveFleet, view: &NodeView<'a>) -> NodeInput<'a> {
    NodeInput {
        name: view.name,
        facts: view.facts,
        report: view.report,
        request: view.request,
        recorded: view.recorded,
        job: view.job.and_then(|job| live.job(job)).map(|job| job.name()),
    }
}

/// What every GPU shows, by node and GPU.
pub(super) fn gauges(live: &LiveFleet) -> Arc<[Option<GpuGauge>]> {
    let gauge = |gauge: GpuReadings| GpuGauge {
        celsius: gauge.temperature_celsius,
        watts: gauge.power_watts,
        utilization_percent: gauge.utilization_percent,
    };
    live.nodes().flat_map(|view| (0..GPUS_PER_NODE).map(move |gpu| view.gpu_readings(gpu).map(gauge))).collect()
}

/// The hottest GPU of each node, and the power of its GPUs on average.
fn columns(live: &LiveFleet) -> Gauges {
    let of_node = |view: NodeView<'_>| {
        let shown = || (0..GPUS_PER_NODE).filter_map(|gpu| view.gpu_readings(gpu));
        let celsius = shown().map(|gauge| gauge.temperature_celsius).max().unwrap_or(CELSIUS_UNKNOWN);
        let watts: u32 = shown().map(|gauge| u32::from(gauge.power_watts)).sum();
        (celsius, u8::try_from(watts / GPUS_PER_NODE / 10).unwrap_or(u8::MAX))
    };
    let (celsius, decawatts) = live.nodes().map(of_node).unzip();
    Gauges { celsius, decawatts }
}

pub(super) fn step(step: &Step) -> ScriptStep {
    ScriptStep {
        at: step.happened_at.unwrap_or(step.due_at).0,
        title: step.title.to_owned(),
        text: step.text.clone(),
        done: step.happened_at.is_some(),
    }
}

fn decision(line: &mainstay_sim::DecisionLine) -> http::Decision {
    http::Decision {
        at: line.at.0,
        node: line.node.to_string(),
        action: line.act.clone(),
        execution: line.standing,
        rule: Some(line.rule.to_string()),
    }
}
