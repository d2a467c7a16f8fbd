//! Metrics of the fleet, computed from engine and world at most every two seconds.

use std::collections::BTreeMap;
use std::time::Duration;

use mainstay_engine::stage_within;
use mainstay_model::{BreakerState, Mode, Stage};
use tokio::time::Instant;

use super::Leader;
use crate::execution;
use crate::metrics::{FleetMetrics, StageTimes};

/// Shortest time between two updates of the metrics. Counting takes time proportional to the fleet.
const SHOW_EVERY: Duration = Duration::from_secs(2);

impl Leader<'_> {
    pub(super) fn show(&mut self) {
        let now = Instant::now();
        if self.shown_at.is_some_and(|at| now - at < SHOW_EVERY) {
            return;
        }
        self.shown_at = Some(now);
        let shown = self.shown();
        self.metrics.show(shown);
    }

    fn shown(&self) -> FleetMetrics {
        let others = self.world.others();
        let nodes = u64::try_from(others.len()).unwrap_or(u64::MAX);
        let mut shown = FleetMetrics {
            mode: self.world.cell_seen().map_or(Mode::Observe, |cell| execution::in_effect(cell.spec.mode)),
            slurmd: self.world.slurmd(),
            unfit: self.world.unfit().collect(),
            stays: stays(),
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

/// Every stage with a time limit, with no node in it.
fn stays() -> BTreeMap<Stage, StageTimes> {
    let within = |stage: Stage| stage_within(stage).map(|within| within.0 / 1_000);
    let left = Stage::ALL.into_iter().filter(|stage| *stage != Stage::InService);
    left.map(|stage| (stage, StageTimes { limit_seconds: within(stage), ..StageTimes::default() })).collect()
}
