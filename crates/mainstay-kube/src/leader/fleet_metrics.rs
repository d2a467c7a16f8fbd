//! Metrics of the fleet, computed from engine and world at most every two seconds.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mainstay_model::{BreakerState, Deadlines, Mode, NodeName, Persisted, Span, Stage, Subject, Timestamp};
use mainstay_telemetry::metrics::catalogue::NODES_NAMED;
use tokio::time::Instant;

use super::Leader;
use crate::jobs::NodeHealth;
use crate::metrics::{FleetGauges, FleetMetrics, IncidentLine, StageTimes};
use crate::world::StoredIncident;

/// Shortest time between two updates of the metrics. Counting takes time proportional to the fleet.
const SHOW_EVERY: Duration = Duration::from_secs(2);

/// Time between two updates of what takes longest to count: every node with its domains, and every pod.
const FLEET_EVERY: Duration = Duration::from_secs(5);
/// Longest time to detect that is believed. Evidence that is older was there before, or an agent's clock is wrong.
const DETECTION_MAX: Span = Span::hours(24);

/// Level of an incident whose cause is one node or a part of it.
const NODE: &str = "Node";

impl Leader<'_> {
    pub(super) fn show(&mut self) {
        let now = Instant::now();
        if self.shown_at.is_some_and(|at| now - at < SHOW_EVERY) {
            return;
        }
        self.shown_at = Some(now);
        self.world.step_jobs(self.last_now);
        if let Some(jobs) = self.world.jobs() {
            self.metrics.show_jobs(jobs.counts().clone());
        }
        if self.fleet.as_ref().is_none_or(|(at, _)| now - *at >= FLEET_EVERY) {
            self.fleet = Some((now, Arc::new(self.fleet_gauges())));
        }
        let shown = self.shown();
        self.metrics.show(shown);
    }

    fn fleet_gauges(&self) -> FleetGauges {
        let jobs = self.world.job_gauges(self.last_now);
        FleetGauges {
            gpus: self.engine.gpus_by_stage(),
            room: self.engine.room(&jobs.used),
            inventory: self.world.inventory(),
            jobs,
            nodes: self.engine.domains(),
            incidents: self.world.incidents().iter().filter_map(|(name, stored)| incident_line(name, stored)).collect(),
        }
    }

    /// Counts how long a fault took to be detected, and how long a node was away. A transition is counted once, also when
    /// it is written twice.
    pub(super) fn time_transition(&mut self, node: &NodeName, from: Stage, persisted: &Persisted) {
        if self.timed.insert(node.clone(), persisted.since) == Some(persisted.since) {
            return;
        }
        let until = persisted.since;
        if from == Stage::InService && NodeHealth::of(Some(persisted.stage)) == NodeHealth::Faulty {
            let evidence_at = self.engine.last_evidence_at(node);
            if let Some(took) = evidence_at.map(|at| until.since(at)).filter(|took| *took <= DETECTION_MAX) {
                self.metrics.time(|times| times.detection.observe(took.0 / 1_000));
            }
        }
        if let Some(left_at) = left_service_at(persisted) {
            self.metrics.time(|times| times.back.observe(until.since(left_at).0 / 1_000));
        }
    }

    fn shown(&self) -> FleetMetrics {
        let others = self.world.others();
        let nodes = u64::try_from(others.len()).unwrap_or(u64::MAX);
        let mut shown = FleetMetrics {
            mode: self
                .world
                .cell_seen()
                .map_or(Mode::Observe, |cell| self.world.capability().in_effect(cell.spec.mode)),
            slurmd: self.world.slurmd(),
            unfit: self.world.unfit().collect(),
            unreadable: self
                .world
                .unreadable_nodes()
                .iter()
                .take(NODES_NAMED)
                .map(|node| node.as_str().into())
                .collect(),
            stays: stays(),
            fleet: self.fleet.as_ref().map(|(_, gauges)| Arc::clone(gauges)),
            ..FleetMetrics::default()
        };
        for line in self.engine.standing() {
            *shown.stages.entry(line.stage).or_default() += 1;
            *shown.waits.entry(line.waiting_on).or_default() += 1;
            let since = self.world.on_record(&line.node).filter(|on_record| on_record.stage == line.stage);
            if let Some(on_record) = since.filter(|_| line.stage != Stage::InService) {
                let (stay, seconds) =
                    (shown.stays.entry(line.stage).or_default(), self.last_now.since(on_record.since).0 / 1_000);
                stay.seconds_max = stay.seconds_max.max(seconds);
                stay.overdue += u64::from(stay.limit_seconds.is_some_and(|limit| seconds > limit));
            }
        }
        let elsewhere: u64 =
            shown.stages.iter().filter(|(stage, _)| **stage != Stage::InService).map(|(_, count)| count).sum();
        shown.stages.insert(Stage::InService, nodes.saturating_sub(elsewhere));
        for one in others.values() {
            if let Some(who) = &one.kept_away {
                *shown.kept_away.entry(who.clone()).or_default() += 1;
            }
            if let Some(who) = one.remediator {
                *shown.remediators.entry(who).or_default() += 1;
            }
            for key in &one.taints {
                *shown.taints.entry(key.clone()).or_default() += 1;
            }
        }
        shown.incidents_open =
            u64::try_from(self.world.incidents().values().filter(|known| known.is_open()).count()).unwrap_or(0);
        self.limits(&mut shown);
        shown
    }

    fn limits(&self, shown: &mut FleetMetrics) {
        let breakers = self.engine.breakers().into_iter().map(|line| {
            let state = match line.state {
                BreakerState::Closed => 0,
                BreakerState::HalfOpen => 1,
                BreakerState::Open => 2,
            };
            (line.pool.to_string(), line.rule.to_string(), state)
        });
        shown.breakers = breakers.collect();
        let budgets = self.engine.budgets().into_iter().map(|line| {
            let level = line.level.map_or("Pool".to_owned(), |level| format!("{level:?}"));
            (line.pool.to_string(), level, u64::from(line.most), u64::from(line.out))
        });
        shown.budgets = budgets.collect();
    }
}

/// An open incident as a series of the metrics.
fn incident_line(name: &str, stored: &StoredIncident) -> Option<IncidentLine> {
    let status = stored.status().filter(|_| stored.is_open())?;
    let (level, domain) = match &stored.about.as_ref()?.0 {
        Subject::Domain { level, name } => (format!("{level:?}"), name.to_string()),
        Subject::Driver(version) => ("Driver".to_owned(), version.to_string()),
        Subject::Node(node) => (NODE.to_owned(), node.to_string()),
        Subject::Part { .. } => {
            (NODE.to_owned(), status.nodes.as_slice().first().map_or_else(String::new, NodeName::to_string))
        }
    };
    Some(IncidentLine {
        name: name.to_owned(),
        rule: status.rule.to_string(),
        level,
        domain,
        title: status.summary.to_string(),
        is_acknowledged: stored.object.spec.acknowledgement.is_some(),
        nodes: u64::try_from(status.nodes.as_slice().len()).unwrap_or(u64::MAX),
    })
}

/// Time at which a node that is back in service left it because of a fault. None for planned work.
fn left_service_at(persisted: &Persisted) -> Option<Timestamp> {
    let (last, before) = persisted.history.as_slice().split_last()?;
    if persisted.stage != Stage::InService || last.to != Stage::InService {
        return None;
    }
    let away = before.iter().rev().take_while(|transition| transition.to != Stage::InService);
    let is_fault = away.clone().any(|transition| NodeHealth::of(Some(transition.to)) == NodeHealth::Faulty);
    away.last().filter(|_| is_fault).map(|transition| transition.at)
}

/// Every stage with its default time limit, with no node in it. The series have no pool, so the deadlines of a pool are not
/// in them.
fn stays() -> BTreeMap<Stage, StageTimes> {
    let within = |stage: Stage| Deadlines::default().stage(stage).map(|within| within.0 / 1_000);
    let left = Stage::ALL.into_iter().filter(|stage| *stage != Stage::InService);
    left.map(|stage| (stage, StageTimes { limit_seconds: within(stage), ..StageTimes::default() })).collect()
}
