//! Metrics of the controller for Prometheus. Names and labels are a public interface. Every label value comes from a
//! fixed list or is bounded.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use mainstay_model::{Mode, Stage, WaitingOn};
use tokio::sync::{mpsc, watch};

use crate::ControllerEvent;
use crate::watch::WatchCounters;
use crate::world::Kind;

/// Largest number of names chosen by others in one series.
pub(crate) const NAMES_MAX: usize = 32;

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
    pub(crate) slurmd: u64,
    pub(crate) unfit: BTreeMap<Kind, u64>,
}

/// Longest time in one stage, its limit, and the number of nodes beyond it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StageTimes {
    /// Longest time of any node, in seconds.
    pub(crate) seconds_max: u64,
    /// Number of nodes beyond the time limit.
    pub(crate) overdue: u64,
    /// Time limit of the stage, in seconds. None if it has no limit.
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
    journal_lines: AtomicU64,
    journal_failures: AtomicU64,
    decided_at: AtomicI64,
    led_at: AtomicI64,
}

/// All metrics, shared by the parts that update them.
#[derive(Debug, Clone)]
pub(crate) struct Metrics {
    counts: Arc<Counts>,
    pulses: Arc<BTreeMap<Kind, Arc<WatchCounters>>>,
    /// Health of all watches on owners of pods together. Their failure does not make the view stale.
    owners: Arc<WatchCounters>,
    writes: Arc<watch::Sender<BTreeMap<(&'static str, &'static str), u64>>>,
    shown: Arc<watch::Sender<Arc<FleetMetrics>>>,
    heard: Arc<watch::Sender<Option<mpsc::Sender<ControllerEvent>>>>,
}

// === impl Metrics ===

impl Metrics {
    pub(crate) fn new() -> Self {
        let pulses = Kind::ALL.into_iter().map(|kind| (kind, Arc::new(WatchCounters::default()))).collect();
        Self {
            counts: Arc::default(),
            pulses: Arc::new(pulses),
            owners: Arc::default(),
            writes: Arc::new(watch::Sender::default()),
            shown: Arc::new(watch::Sender::default()),
            heard: Arc::new(watch::Sender::default()),
        }
    }

    pub(crate) fn tell(&self, heard: mpsc::Sender<ControllerEvent>) {
        self.heard.send_replace(Some(heard));
    }

    /// Sends a progress message. It never waits for a receiver.
    pub(crate) fn send_event(&self, heard: ControllerEvent) {
        if let Some(out) = self.heard.borrow().as_ref() {
            let _ = out.try_send(heard);
        }
    }

    pub(crate) fn pulse(&self, kind: Kind) -> Arc<WatchCounters> {
        self.pulses.get(&kind).cloned().unwrap_or_default()
    }

    pub(crate) fn owners_pulse(&self) -> Arc<WatchCounters> {
        Arc::clone(&self.owners)
    }

    /// Last event of the watch that has been quiet for the longest time. None if one never had an event.
    pub(crate) fn last_event_at(&self) -> Option<i64> {
        let all = self.pulses.values().map(|pulse| pulse.heard_at.load(Ordering::Relaxed));
        all.min().filter(|at| *at > 0)
    }

    /// Resets the watch times at the start of a leadership.
    pub(crate) fn reset_watch_counters(&self) {
        let all = self.pulses.values().chain([&self.owners]);
        all.for_each(|pulse| pulse.heard_at.store(0, Ordering::Relaxed));
    }

    pub(crate) fn wrote(&self, what: &'static str, result: &'static str) {
        self.writes.send_modify(|writes| *writes.entry((what, result)).or_default() += 1);
    }

    pub(crate) fn leads(&self, epoch: Option<u64>) {
        self.counts.leading.store(u64::from(epoch.is_some()), Ordering::Relaxed);
        if let Some(epoch) = epoch {
            self.counts.epoch.store(epoch, Ordering::Relaxed);
            self.send_event(ControllerEvent::Leads { epoch });
            self.counts.takeovers.fetch_add(1, Ordering::Relaxed);
            self.counts.led_at.store(jiff::Timestamp::now().as_millisecond(), Ordering::Relaxed);
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

    pub(crate) fn journal(&self, lines: u64) {
        self.counts.journal_lines.store(lines, Ordering::Relaxed);
    }

    pub(crate) fn journal_failed(&self) {
        self.counts.journal_failures.fetch_add(1, Ordering::Relaxed);
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

    /// All series in the Prometheus text format.
    pub(crate) fn text(&self) -> String {
        let mut out = TextEncoder(String::with_capacity(16 * 1024));
        self.own(&mut out);
        self.watches(&mut out);
        fleet(&mut out, &self.shown.borrow());
        out.0
    }

    fn own(&self, out: &mut TextEncoder) {
        let counts = &self.counts;
        let at = |value: &AtomicU64| value.load(Ordering::Relaxed);
        out.one("mainstay_up", "gauge", "Always 1 while this process answers.", 1);
        out.one("mainstay_leading", "gauge", "1 if this process is the leader, otherwise 0.", at(&counts.leading));
        out.one("mainstay_epoch", "gauge", "Epoch of the last leadership of this process.", at(&counts.epoch));
        out.one(
            "mainstay_takeovers_total",
            "counter",
            "Number of times this process became leader.",
            at(&counts.takeovers),
        );
        out.one("mainstay_decisions_total", "counter", "Number of decisions the engine made.", at(&counts.decisions));
        out.one(
            "mainstay_node_evaluations_total",
            "counter",
            "Number of times the engine evaluated a node.",
            at(&counts.evaluated),
        );
        let help = "Decisions that violated an invariant and were not executed.";
        out.one("mainstay_audit_violations_total", "counter", help, at(&counts.violations));
        let help = "Times the epoch of the Cell decreased after a restore of etcd.";
        out.one("mainstay_cell_restored_total", "counter", help, at(&counts.restored));
        out.one(
            "mainstay_audit_log_lines_total",
            "counter",
            "Lines written to the audit log.",
            at(&counts.journal_lines),
        );
        let help = "Lines that could not be written to the audit log.";
        out.one("mainstay_audit_log_failures_total", "counter", help, at(&counts.journal_failures));
        let decided = u64::try_from(counts.decided_at.load(Ordering::Relaxed) / 1_000).unwrap_or(0);
        let help = "Time of the engine's last decision, in seconds since the Unix epoch.";
        out.one("mainstay_last_decision_timestamp_seconds", "gauge", help, decided);
        out.head("mainstay_writes_total", "counter", "Writes to the API server, by object and result.");
        for ((what, result), count) in self.writes.borrow().iter() {
            out.series("mainstay_writes_total", &[("what", what), ("result", result)], *count);
        }
    }

    fn watches(&self, out: &mut TextEncoder) {
        let now = jiff::Timestamp::now().as_millisecond();
        let each = |out: &mut TextEncoder, name: &str, value: &dyn Fn(&WatchCounters) -> Option<u64>| {
            let kinds = self.pulses.iter().map(|(kind, pulse)| (kind.word(), pulse));
            for (kind, pulse) in kinds.chain([("owners", &self.owners)]) {
                if let Some(value) = value(pulse) {
                    out.series(name, &[("kind", kind)], value);
                }
            }
        };
        out.head(
            "mainstay_watch_age_seconds",
            "gauge",
            "Time since the last event of a watch, in seconds, by resource kind.",
        );
        each(out, "mainstay_watch_age_seconds", &|pulse| {
            let heard_at = pulse.heard_at.load(Ordering::Relaxed);
            (heard_at > 0).then(|| u64::try_from((now - heard_at) / 1_000).unwrap_or(0))
        });
        out.head("mainstay_watch_events_total", "counter", "Watch events received, by resource kind.");
        each(out, "mainstay_watch_events_total", &|pulse| Some(pulse.events.load(Ordering::Relaxed)));
        out.head("mainstay_watch_lists_total", "counter", "Complete lists read, by resource kind.");
        each(out, "mainstay_watch_lists_total", &|pulse| Some(pulse.lists.load(Ordering::Relaxed)));
        out.head("mainstay_watch_failures_total", "counter", "Watch failures, by resource kind.");
        each(out, "mainstay_watch_failures_total", &|pulse| Some(pulse.failures.load(Ordering::Relaxed)));
    }
}

fn fleet(out: &mut TextEncoder, shown: &FleetMetrics) {
    out.head("mainstay_mode", "gauge", "1 for the mode in effect, 0 for the others.");
    for mode in [Mode::Observe, Mode::Propose, Mode::Act] {
        out.series("mainstay_mode", &[("mode", &format!("{mode:?}"))], u64::from(shown.mode == mode));
    }
    out.head("mainstay_nodes", "gauge", "Number of nodes, by stage.");
    for stage in Stage::ALL {
        let count = shown.stages.get(&stage).copied().unwrap_or(0);
        out.series("mainstay_nodes", &[("stage", &format!("{stage:?}"))], count);
    }
    stays(out, shown);
    out.head("mainstay_nodes_waiting", "gauge", "Number of nodes that wait, by what they wait for.");
    for wait in WaitingOn::ALL.into_iter().filter(|wait| *wait != WaitingOn::Nothing) {
        out.series(
            "mainstay_nodes_waiting",
            &[("waiting_on", wait.word())],
            shown.waits.get(&wait).copied().unwrap_or(0),
        );
    }
    out.one("mainstay_incidents_open", "gauge", "Number of open incidents.", shown.incidents_open);
    out.head(
        "mainstay_breaker_state",
        "gauge",
        "State of each circuit breaker that is not closed: 1 half open, 2 open.",
    );
    for (pool, rule, state) in &shown.breakers {
        out.series("mainstay_breaker_state", &[("pool", pool), ("rule", rule)], *state);
    }
    out.head(
        "mainstay_budget_nodes_max",
        "gauge",
        "Nodes that may be out of service at once, by pool and topology level.",
    );
    for (pool, level, most, _) in &shown.budgets {
        out.series("mainstay_budget_nodes_max", &[("pool", pool), ("level", level)], *most);
    }
    out.head(
        "mainstay_budget_nodes_out",
        "gauge",
        "Nodes out of service in the fullest domain, without dry-run removals.",
    );
    for (pool, level, _, used) in &shown.budgets {
        out.series("mainstay_budget_nodes_out", &[("pool", pool), ("level", level)], *used);
    }
    others(out, shown);
}

fn stays(out: &mut TextEncoder, shown: &FleetMetrics) {
    let each = |out: &mut TextEncoder, name: &str, value: &dyn Fn(&StageTimes) -> Option<u64>| {
        for (stage, stay) in &shown.stays {
            if let Some(value) = value(stay) {
                out.series(name, &[("stage", &format!("{stage:?}"))], value);
            }
        }
    };
    out.head("mainstay_stage_seconds_max", "gauge", "Longest time any node has spent in the stage, in seconds.");
    each(out, "mainstay_stage_seconds_max", &|stay| Some(stay.seconds_max));
    out.head("mainstay_stage_limit_seconds", "gauge", "Time limit of the stage, in seconds.");
    each(out, "mainstay_stage_limit_seconds", &|stay| stay.limit_seconds);
    out.head("mainstay_stage_overdue_nodes", "gauge", "Nodes in the stage for longer than its time limit.");
    each(out, "mainstay_stage_overdue_nodes", &|stay| stay.limit_seconds.map(|_| stay.overdue));
}

fn others(out: &mut TextEncoder, shown: &FleetMetrics) {
    out.head("mainstay_nodes_cordoned_by_others", "gauge", "Nodes cordoned or tainted by another actor, by actor.");
    for (who, count) in shown.kept_away.iter().take(NAMES_MAX) {
        out.series("mainstay_nodes_cordoned_by_others", &[("by", who)], *count);
    }
    out.head("mainstay_other_remediator_nodes", "gauge", "Nodes that another remediation tool is repairing, by tool.");
    for (who, count) in &shown.remediators {
        out.series("mainstay_other_remediator_nodes", &[("remediator", who)], *count);
    }
    out.head("mainstay_nodes_tainted", "gauge", "Nodes with an unrelated taint, by taint key.");
    for (key, count) in shown.taints.iter().take(NAMES_MAX) {
        out.series("mainstay_nodes_tainted", &[("key", key)], *count);
    }
    out.one("mainstay_slurmd_pods", "gauge", "Pods that run slurmd. Mainstay never evicts them.", shown.slurmd);
    out.head("mainstay_objects_invalid_total", "counter", "Objects that do not match their schema, by resource kind.");
    for (kind, count) in &shown.unfit {
        out.series("mainstay_objects_invalid_total", &[("kind", kind.word())], *count);
    }
}

/// Writes series in the Prometheus text format.
struct TextEncoder(String);

impl TextEncoder {
    fn one(&mut self, name: &str, kind: &str, help: &str, value: u64) {
        self.head(name, kind, help);
        self.series(name, &[], value);
    }

    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn series(&mut self, name: &str, labels: &[(&str, &str)], value: u64) {
        self.0.push_str(name);
        for (at, (label, text)) in labels.iter().enumerate() {
            let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(self.0, "{}{label}=\"{text}\"", if at == 0 { "{" } else { "," });
        }
        let _ = writeln!(self.0, "{} {value}", if labels.is_empty() { "" } else { "}" });
    }
}
