//! Values of the controller's metrics. Their names, labels and limits are in the catalogue of `mainstay-telemetry`.

mod fleet;
mod losses;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use mainstay_engine::{CellRecordOmissions, Losses};
use mainstay_model::{Mode, Stage, WaitingOn};
use mainstay_telemetry::metrics::{Exporter, Samples, catalogue};
use tokio::sync::watch;

pub(crate) use fleet::{FleetGauges, IncidentLine, TransitionTimes};
pub(crate) use losses::List;
use losses::LostItems;

use crate::jobs::JobCounts;
use crate::watch::WatchCounters;
use crate::world::Kind;

/// Values of the fleet's gauges as of the last decision.
#[derive(Debug, Clone, Default)]
pub(crate) struct FleetMetrics {
    pub(crate) mode: Mode,
    pub(crate) stages: BTreeMap<Stage, u64>,
    /// Time that nodes have spent in each stage except InService.
    pub(crate) stays: BTreeMap<Stage, StageTimes>,
    pub(crate) waits: BTreeMap<WaitingOn, u64>,
    pub(crate) incidents_open: u64,
    pub(crate) breakers: Vec<(String, String, u64)>,
    pub(crate) budgets: Vec<(String, String, u64, u64)>,
    /// Nodes cordoned or tainted by another actor, by actor.
    pub(crate) kept_away: BTreeMap<Box<str>, u64>,
    /// Nodes that another tool is repairing, by tool.
    pub(crate) remediators: BTreeMap<&'static str, u64>,
    /// Nodes with unrelated taints, by key.
    pub(crate) taints: BTreeMap<Box<str>, u64>,
    /// GPUs, room for jobs, inventory and jobs. None until they are first computed.
    pub(crate) fleet: Option<Arc<FleetGauges>>,
    pub(crate) slurmd: u64,
    pub(crate) unfit: BTreeMap<Kind, u64>,
    /// Nodes whose object cannot be read.
    pub(crate) unreadable: Vec<Box<str>>,
}

/// Longest time in one stage, its default limit, and the number of nodes beyond it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StageTimes {
    /// Longest time of any node, in seconds.
    pub(crate) seconds_max: u64,
    /// Number of nodes beyond the default time limit.
    pub(crate) overdue: u64,
    /// Default time limit of the stage, in seconds. None if it has no limit.
    pub(crate) limit_seconds: Option<u64>,
}

#[derive(Debug, Default)]
struct Counts {
    epoch: AtomicU64,
    leading: AtomicU64,
    decisions: AtomicU64,
    evaluated: AtomicU64,
    violations: AtomicU64,
    takeovers: AtomicU64,
    restored: AtomicU64,
    cell_breakers_omitted: AtomicU64,
    cell_outcomes_lost: AtomicU64,
    journal_lines: AtomicU64,
    journal_failures: AtomicU64,
    journal_entries: AtomicU64,
    journal_entries_lost: AtomicU64,
    decided_at: AtomicI64,
    led_at: AtomicI64,
    api_answered_at: AtomicI64,
}

/// All metrics, shared by the parts that update them.
#[derive(Debug, Clone)]
pub(crate) struct Metrics {
    counts: Arc<Counts>,
    pulses: Arc<BTreeMap<Kind, Arc<WatchCounters>>>,
    /// Health of all watches on owners of pods together. Their failure does not make the view stale.
    owners: Arc<WatchCounters>,
    /// Health of the watch on ResourceSlices. Its failure does not make the view stale.
    slices: Arc<WatchCounters>,
    /// Health of the watches on pods without a node and on pods that ended. They are for metrics only.
    jobs_pulses: [Arc<WatchCounters>; 2],
    jobs: Arc<watch::Sender<Arc<JobCounts>>>,
    times: Arc<watch::Sender<TransitionTimes>>,
    writes: Arc<watch::Sender<BTreeMap<(&'static str, &'static str), u64>>>,
    writes_failed: Arc<watch::Sender<BTreeMap<&'static str, u64>>>,
    lost: Arc<watch::Sender<LostItems>>,
    shown: Arc<watch::Sender<Arc<FleetMetrics>>>,
}

// === impl Metrics ===

impl Metrics {
    pub(crate) fn new() -> Self {
        let pulses = Kind::ALL.into_iter().map(|kind| (kind, Arc::new(WatchCounters::default()))).collect();
        let counts = Counts::default();
        counts.api_answered_at.store(jiff::Timestamp::now().as_millisecond(), Ordering::Relaxed);
        Self {
            counts: Arc::new(counts),
            pulses: Arc::new(pulses),
            owners: Arc::default(),
            slices: Arc::default(),
            jobs_pulses: [Arc::default(), Arc::default()],
            jobs: Arc::new(watch::Sender::default()),
            times: Arc::new(watch::Sender::default()),
            writes: Arc::new(watch::Sender::default()),
            writes_failed: Arc::new(watch::Sender::default()),
            lost: Arc::new(watch::Sender::default()),
            shown: Arc::new(watch::Sender::default()),
        }
    }

    pub(crate) fn pulse(&self, kind: Kind) -> Arc<WatchCounters> {
        self.pulses.get(&kind).cloned().unwrap_or_default()
    }

    pub(crate) fn owners_pulse(&self) -> Arc<WatchCounters> {
        Arc::clone(&self.owners)
    }

    pub(crate) fn slices_pulse(&self) -> Arc<WatchCounters> {
        Arc::clone(&self.slices)
    }

    pub(crate) fn jobs_pulses(&self) -> [Arc<WatchCounters>; 2] {
        self.jobs_pulses.clone()
    }

    /// Counts of jobs so far, to continue them in the next leadership.
    pub(crate) fn job_counts(&self) -> JobCounts {
        JobCounts::clone(&self.jobs.borrow())
    }

    pub(crate) fn show_jobs(&self, counts: JobCounts) {
        self.jobs.send_replace(Arc::new(counts));
    }

    pub(crate) fn time(&self, update: impl FnOnce(&mut TransitionTimes)) {
        self.times.send_modify(update);
    }

    /// Resets the watch times at the start of a leadership.
    pub(crate) fn reset_watch_counters(&self) {
        let all = self.pulses.values().chain([&self.owners, &self.slices]).chain(&self.jobs_pulses);
        all.for_each(|pulse| pulse.heard_at.store(0, Ordering::Relaxed));
    }

    /// The API server answered a call for the Lease, which every controller makes all the time.
    pub(crate) fn api_answered(&self) {
        self.counts.api_answered_at.store(jiff::Timestamp::now().as_millisecond(), Ordering::Relaxed);
    }

    pub(crate) fn wrote(&self, what: &'static str, result: &'static str) {
        self.writes.send_modify(|writes| *writes.entry((what, result)).or_default() += 1);
    }

    /// A write failed after its retries.
    pub(crate) fn gave_up(&self, what: &'static str) {
        self.writes_failed.send_modify(|failed| *failed.entry(what).or_default() += 1);
    }

    pub(crate) fn leads(&self, epoch: Option<u64>) {
        self.counts.leading.store(u64::from(epoch.is_some()), Ordering::Relaxed);
        if let Some(epoch) = epoch {
            self.counts.epoch.store(epoch, Ordering::Relaxed);
            self.counts.takeovers.fetch_add(1, Ordering::Relaxed);
            self.counts.led_at.store(jiff::Timestamp::now().as_millisecond(), Ordering::Relaxed);
        } else {
            // Gauges of an earlier leadership would be added to those of the next leader.
            self.counts.cell_breakers_omitted.store(0, Ordering::Relaxed);
            self.show(FleetMetrics::default());
        }
    }

    pub(crate) fn decided(&self, evaluated: u64, violations: u64, at: i64) {
        self.counts.decisions.fetch_add(1, Ordering::Relaxed);
        self.counts.evaluated.fetch_add(evaluated, Ordering::Relaxed);
        self.counts.violations.fetch_add(violations, Ordering::Relaxed);
        self.counts.decided_at.store(at, Ordering::Relaxed);
    }

    pub(crate) fn restored(&self) {
        self.counts.restored.fetch_add(1, Ordering::Relaxed);
    }

    /// What the status of the Cell had no place for in the last decision. Returns whether it was complete until now.
    pub(crate) fn cell_omits(&self, CellRecordOmissions { breakers, outcomes }: CellRecordOmissions) -> bool {
        let breakers_before = self.counts.cell_breakers_omitted.swap(breakers, Ordering::Relaxed);
        let outcomes_before = self.counts.cell_outcomes_lost.fetch_add(outcomes, Ordering::Relaxed);
        (breakers > 0 && breakers_before == 0) || (outcomes > 0 && outcomes_before == 0)
    }

    /// Items that a list had no room for.
    pub(crate) fn lost(&self, list: List, items: usize) {
        self.lost.send_modify(|lost| lost.add(list, u64::try_from(items).unwrap_or(u64::MAX)));
    }

    /// Items that the lists of the engine had no room for in the last decision.
    pub(crate) fn engine_lost(&self, losses: Losses) {
        self.lost.send_modify(|lost| lost.add_all(losses));
    }

    pub(crate) fn journal(&self, lines: u64) {
        self.counts.journal_lines.store(lines, Ordering::Relaxed);
    }

    pub(crate) fn journal_failed(&self) {
        self.counts.journal_failures.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn journal_written(&self, entries: u64) {
        self.counts.journal_entries.fetch_add(entries, Ordering::Relaxed);
    }

    #[cfg(test)]
    pub(crate) fn journal_entries_lost(&self) -> u64 {
        self.counts.journal_entries_lost.load(Ordering::Relaxed)
    }

    pub(crate) fn journal_lost(&self, entries: u64) {
        self.counts.journal_entries_lost.fetch_add(entries, Ordering::Relaxed);
    }

    pub(crate) fn show(&self, shown: FleetMetrics) {
        self.shown.send_replace(Arc::new(shown));
    }

    pub(crate) fn is_leading(&self) -> bool {
        self.counts.leading.load(Ordering::Relaxed) > 0
    }

    /// Whether this process leads, and the last decision or takeover is longer ago than `within`.
    pub(crate) fn is_stuck(&self, within: Duration) -> bool {
        let within = i64::try_from(within.as_millis()).unwrap_or(i64::MAX);
        let last = self.counts.decided_at.load(Ordering::Relaxed).max(self.counts.led_at.load(Ordering::Relaxed));
        self.is_leading() && jiff::Timestamp::now().as_millisecond() - last > within
    }

    /// All series of one scrape.
    pub(crate) fn samples(&self) -> Samples {
        let mut samples = Samples::new(Exporter::Controller);
        self.own(&mut samples);
        self.watches(&mut samples);
        fleet(&mut samples, &self.shown.borrow());
        let jobs = self.jobs.borrow();
        jobs.export(&mut samples);
        self.times.borrow().export(&mut samples);
        if let Some(gauges) = &self.shown.borrow().fleet {
            gauges.export(&jobs, &mut samples);
        }
        drop(jobs);
        samples
    }

    fn own(&self, samples: &mut Samples) {
        let counts = &self.counts;
        let at = |value: &AtomicU64| value.load(Ordering::Relaxed);
        samples.set(catalogue::UP, [], true);
        samples.set(catalogue::LEADING, [], at(&counts.leading));
        samples.set(catalogue::EPOCH, [], at(&counts.epoch));
        samples.count(catalogue::TAKEOVERS, [], at(&counts.takeovers));
        samples.count(catalogue::DECISIONS, [], at(&counts.decisions));
        samples.count(catalogue::NODE_EVALUATIONS, [], at(&counts.evaluated));
        samples.count(catalogue::AUDIT_VIOLATIONS, [], at(&counts.violations));
        samples.count(catalogue::CELL_RESTORED, [], at(&counts.restored));
        samples.set(catalogue::CELL_BREAKERS_OMITTED, [], at(&counts.cell_breakers_omitted));
        samples.count(catalogue::CELL_OUTCOMES_LOST, [], at(&counts.cell_outcomes_lost));
        samples.count(catalogue::AUDIT_LOG_LINES, [], at(&counts.journal_lines));
        samples.count(catalogue::AUDIT_LOG_FAILURES, [], at(&counts.journal_failures));
        samples.count(catalogue::JOURNAL_ENTRIES, [], at(&counts.journal_entries));
        samples.count(catalogue::JOURNAL_ENTRIES_LOST, [], at(&counts.journal_entries_lost));
        samples.set(catalogue::LAST_DECISION, [], counts.decided_at.load(Ordering::Relaxed) / 1_000);
        let unanswered = jiff::Timestamp::now().as_millisecond() - counts.api_answered_at.load(Ordering::Relaxed);
        samples.set(catalogue::API_ANSWER_AGE, [], unanswered.max(0) / 1_000);
        for ((what, result), count) in self.writes.borrow().iter() {
            samples.count(catalogue::WRITES, [what, result], *count);
        }
        for (what, count) in self.writes_failed.borrow().iter() {
            samples.count(catalogue::WRITES_FAILED, [what], *count);
        }
        self.lost.borrow().export(samples);
    }

    fn watches(&self, samples: &mut Samples) {
        let now = jiff::Timestamp::now().as_millisecond();
        let at = |value: &AtomicU64| value.load(Ordering::Relaxed);
        let kinds = self.pulses.iter().map(|(kind, pulse)| (kind.word(), pulse));
        let [pending, ended] = &self.jobs_pulses;
        let slices = ("resourceslices", &self.slices);
        let more = [("owners", &self.owners), slices, ("pods-pending", pending), ("pods-ended", ended)];
        for (kind, pulse) in kinds.chain(more) {
            let heard_at = pulse.heard_at.load(Ordering::Relaxed);
            if heard_at > 0 {
                samples.set(catalogue::WATCH_AGE, [kind], (now - heard_at).max(0) / 1_000);
            }
            samples.count(catalogue::WATCH_EVENTS, [kind], at(&pulse.events));
            samples.count(catalogue::WATCH_LISTS, [kind], at(&pulse.lists));
            samples.count(catalogue::WATCH_FAILURES, [kind], at(&pulse.failures));
        }
    }
}

fn fleet(samples: &mut Samples, shown: &FleetMetrics) {
    for mode in [Mode::Observe, Mode::Propose, Mode::Act] {
        samples.set(catalogue::MODE, [&format!("{mode:?}")], shown.mode == mode);
    }
    for stage in Stage::ALL {
        samples.set(catalogue::NODES, [&format!("{stage:?}")], shown.stages.get(&stage).copied().unwrap_or(0));
    }
    for (stage, stay) in &shown.stays {
        let stage = format!("{stage:?}");
        samples.set(catalogue::STAGE_SECONDS_MAX, [&stage], stay.seconds_max);
        if let Some(limit) = stay.limit_seconds {
            samples.set(catalogue::STAGE_LIMIT, [&stage], limit);
            samples.set(catalogue::STAGE_OVERDUE, [&stage], stay.overdue);
        }
    }
    for wait in WaitingOn::ALL.into_iter().filter(|wait| *wait != WaitingOn::Nothing) {
        samples.set(catalogue::NODES_WAITING, [wait.word()], shown.waits.get(&wait).copied().unwrap_or(0));
    }
    samples.set(catalogue::INCIDENTS_OPEN, [], shown.incidents_open);
    for (pool, rule, state) in &shown.breakers {
        samples.set(catalogue::BREAKER_STATE, [pool, rule], *state);
    }
    for (pool, level, most, used) in &shown.budgets {
        samples.set(catalogue::BUDGET_NODES_MAX, [pool, level], *most);
        samples.set(catalogue::BUDGET_NODES_OUT, [pool, level], *used);
    }
    others(samples, shown);
}

/// What other tools and users do in the cluster.
fn others(samples: &mut Samples, shown: &FleetMetrics) {
    for (actor, count) in &shown.kept_away {
        samples.set(catalogue::CORDONED_BY_OTHERS, [actor], *count);
    }
    for (remediator, count) in &shown.remediators {
        samples.set(catalogue::OTHER_REMEDIATOR, [remediator], *count);
    }
    for (key, count) in &shown.taints {
        samples.set(catalogue::NODES_TAINTED, [key], *count);
    }
    samples.set(catalogue::SLURMD_PODS, [], shown.slurmd);
    for (kind, count) in &shown.unfit {
        samples.count(catalogue::OBJECTS_INVALID, [kind.word()], *count);
    }
    for node in &shown.unreadable {
        samples.set(catalogue::NODES_UNREADABLE, [node], true);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use mainstay_telemetry::metrics::{Definition, Format};

    use super::*;

    #[test]
    fn the_controller_exports_every_metric_that_the_catalogue_lists() {
        let metrics = Metrics::new();
        metrics.wrote("GpuNode", "done");
        metrics.gave_up("GpuNode");
        metrics.pulse(Kind::Node).heard_at.store(1, Ordering::Relaxed);
        metrics.show(FleetMetrics {
            stays: [(Stage::Suspect, StageTimes { limit_seconds: Some(60), ..StageTimes::default() })].into(),
            breakers: vec![("train".to_owned(), "gpu-missing".to_owned(), 2)],
            budgets: vec![("train".to_owned(), "Pool".to_owned(), 4, 1)],
            kept_away: [("operator".into(), 1)].into(),
            remediators: [("other", 1)].into(),
            taints: [("example.com/maintenance".into(), 1)].into(),
            unfit: [(Kind::Node, 1)].into(),
            unreadable: vec!["n1".into()],
            fleet: Some(Arc::new(FleetGauges::one_of_each())),
            ..FleetMetrics::default()
        });
        metrics.show_jobs(JobCounts::one_of_each());
        let exported: BTreeSet<&str> = metrics.samples().names().chain(["mainstay_metrics_series_omitted"]).collect();
        let listed: BTreeSet<&str> = Definition::exported_by(Exporter::Controller).map(|one| one.name).collect();
        assert_eq!(exported, listed);
    }

    #[test]
    fn items_without_room_are_counted_by_list_and_every_list_begins_at_zero() {
        let metrics = Metrics::new();
        let losses = Losses { orders: 1, findings: 2, ..Losses::default() };
        metrics.engine_lost(losses);
        metrics.engine_lost(losses);
        metrics.lost(List::GangNodes, 3);
        let text = metrics.samples().encode(Format::Text).unwrap();
        let lines: Vec<&str> =
            text.lines().filter(|line| line.starts_with("mainstay_list_items_lost_total{")).collect();
        let count = |list: &str| format!("mainstay_list_items_lost_total{{list=\"{list}\"}}");
        assert_eq!(lines.len(), 9, "{lines:?}");
        for (list, items) in [("orders", 2), ("findings", 4), ("gang-nodes", 3), ("evidence", 0)] {
            assert!(lines.contains(&&*format!("{} {items}", count(list))), "{list} in {lines:?}");
        }
    }

    #[test]
    fn what_the_cell_omits_is_exported_and_reported_when_it_begins() {
        let metrics = Metrics::new();
        let omits = |breakers, outcomes| metrics.cell_omits(CellRecordOmissions { breakers, outcomes });
        let told = [omits(0, 0), omits(2, 0), omits(3, 0), omits(3, 1), omits(3, 4), omits(0, 0), omits(1, 0)];
        assert_eq!(told, [false, true, false, true, false, false, true]);
        let text = || metrics.samples().encode(Format::Text).unwrap();
        let told = text();
        assert!(told.contains("\nmainstay_cell_breakers_omitted 1\n"), "{told}");
        assert!(told.contains("\nmainstay_cell_outcomes_lost_total 5\n"), "{told}");
        metrics.leads(None);
        assert!(text().contains("\nmainstay_cell_breakers_omitted 0\n"));
    }
}
