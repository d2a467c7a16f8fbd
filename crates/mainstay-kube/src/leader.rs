//! One leadership from takeover to end: read everything, then handle events, run the engine, audit its decisions, and
//! queue the writes.

mod actions;
mod conditions;
mod corrections;
mod fleet_metrics;
mod gone_nodes;
mod incidents;
mod initial_read;
mod recent_writes;
mod recorded_engine;
mod rereading;
mod write_queue;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use mainstay_api::{DisplayFields, GpuNodeStatus};
use mainstay_engine::CellRecordOmissions;
use mainstay_engine::record::step_words;
use mainstay_model::{
    Decision, Effect, Epoch, Execution, Fact, NodeName, NodeSummary, Observation, Outcome, Persisted, Ppm, Reason,
    RuleName, Stage, Step, Timestamp, WaitingOn,
};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout_at};
use tracing::{info, warn};

use crate::audit_log::{AuditLog, Entry};
use crate::error::Error;
use crate::execution::Capability;
use crate::journal::Journal;
use crate::lease::Tenure;
use crate::metrics::{FleetGauges, List, Metrics};
use crate::world::{ClusterMessage, EndEvent, World};
use crate::write::{EventObject, NewEvent, Write, Writer};
use crate::{Settings, cell, object_conditions, pod, slo_status};

use actions::Acting;
use conditions::CheckTimes;
use corrections::Corrections;
use incidents::Incidents;
pub use incidents::incident_name;
use recent_writes::RecentWrites;
pub(crate) use recorded_engine::RecordedEngine;
use rereading::{ReadingEnd, settle};
use write_queue::WriteQueue;

/// Events within this time of the first are decided together: a whole leaf is one decision.
const COALESCE: Duration = Duration::from_millis(25);
/// Largest number of events in one decision, so that a flood cannot delay it.
const BATCH_MAX: usize = 20_000;
/// Longest time between two decisions, so that a stuck leader is noticed.
const ASK_AT_LEAST: Duration = Duration::from_secs(5);
/// Dry-run actions remembered as logged. Beyond it the memory is cleared, and some are logged twice.
const SAID_MAX: usize = 100_000;

/// Epochs that may have been used between the snapshot and a restore of which only the Lease or a repeated epoch is known. Each leader raises the epoch by one, so
/// leaders that follow do not pass it before an operator has looked.
const EPOCHS_LOST: u64 = 1_000;

/// Why a leadership ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndReason {
    /// The process was asked to stop.
    Stopped,
    /// The Lease could not be renewed.
    Lost,
    /// Another leader raised the epoch.
    Deposed,
    /// The Cell's epoch decreased: etcd was restored.
    Restored,
    /// The permission to act was granted or withdrawn. The next leadership begins with what is permitted now.
    Permission,
}

/// State of one leadership: engine, world, queued writes and audit log.
struct Leader<'a> {
    epoch: Epoch,
    /// Highest epoch ever seen.
    seen: Epoch,
    world: World,
    engine: RecordedEngine<'a>,
    outbox: WriteQueue,
    cases: Incidents,
    journal: &'a mut AuditLog,
    metrics: &'a Metrics,
    settings: &'a Settings,
    /// Time from which the view is complete.
    read_at: Timestamp,
    last_now: Timestamp,
    logged_dry_runs: BTreeSet<String>,
    shown_at: Option<Instant>,
    /// Transitions whose duration the metrics have, by node.
    timed: BTreeMap<NodeName, Timestamp>,
    /// Gauges that take long to count, and when they were counted.
    fleet: Option<(Instant, Arc<FleetGauges>)>,
    looked: CheckTimes,
    corrected: Corrections,
    recent: RecentWrites,
    /// Nodes whose stored state is being deleted.
    forgetting: BTreeSet<NodeName>,
    /// Executor of actions. None without the permission to act.
    acting: Option<Acting>,
}

/// Leads until an event ends the leadership.
pub(crate) async fn lead(
    client: &Client,
    settings: &Settings,
    (identity, tenure, is_restored): (&Arc<str>, &Tenure, bool),
    metrics: &Metrics,
    (journal, facts): (&mut AuditLog, &mut Journal),
) -> Result<EndReason, Error> {
    let capability = Capability::granted(client).await?;
    let epoch = cell::take_over(client, identity).await?;
    cell::fence_holds(client, epoch).await?;
    metrics.leads(Some(epoch.0));
    info!(epoch = epoch.0, "leading the cell");
    let known = journal.epoch_seen();
    // Each leader raises the epoch, so an epoch that was there before was lost in between.
    let seen =
        if is_restored || known == epoch { Epoch(known.max(epoch).0.saturating_add(EPOCHS_LOST)) } else { known };
    journal.keep_epoch(seen.max(epoch))?;
    metrics.reset_watch_counters();
    let read_at = Timestamp(jiff::Timestamp::now().as_millisecond());
    journal.write(read_at, epoch, &Entry::Led { identity: identity.to_string() })?;
    let by = (epoch, Arc::clone(identity));
    let pen = Writer::new(client.clone(), by, tenure.clone(), metrics.clone(), settings.orphans_kept);
    // Its own task, so that a slow Prometheus or a large answer delays no decision. Dropped, it ends.
    let mut beside = JoinSet::new();
    let server = settings.prometheus.clone();
    beside.spawn(slo_status::keep(client.clone(), pen.clone(), server, settings.slos_read_every));
    let mut lead = Leader {
        epoch,
        seen,
        world: World::under(epoch, capability).with_jobs(settle(settings), metrics.job_counts()),
        engine: RecordedEngine::new(facts),
        outbox: WriteQueue::new(pen),
        cases: Incidents::new(settings.incidents_kept),
        journal,
        metrics,
        settings,
        read_at,
        last_now: read_at,
        logged_dry_runs: BTreeSet::new(),
        shown_at: None,
        timed: BTreeMap::new(),
        fleet: None,
        looked: CheckTimes::default(),
        corrected: Corrections::default(),
        recent: RecentWrites::default(),
        forgetting: BTreeSet::new(),
        acting: Acting::start(capability, client, epoch, (tenure, settings.lease)),
    };
    if seen > epoch {
        // A restore that the Lease shows was counted when it was seen.
        if !is_restored {
            metrics.restored();
        }
        lead.observe_restored(read_at);
    }
    tokio::select! {
        () = tenure.lost() => Ok(EndReason::Lost),
        () = capability.changed(client, settings.lease) => Ok(EndReason::Permission),
        ended = lead.run(client) => ended,
    }
}

// === impl Leader ===

impl Leader<'_> {
    /// Handles events until one ends the leadership, or everything must be read again.
    async fn handle_events(&mut self, news: &mut mpsc::Receiver<ClusterMessage>) -> Result<ReadingEnd, Error> {
        self.tell_gang_rules();
        let mut wake = self.decide()?;
        loop {
            tokio::select! {
                done = self.outbox.done() => {
                    self.outbox.finished(&done);
                    continue;
                }
                finished = Acting::next(&mut self.acting) => {
                    let now = self.now();
                    self.acted(&finished, now)?;
                }
                one = news.recv() => {
                    let Some(one) = one else { return Ok(ReadingEnd::Leadership(EndReason::Lost)) };
                    if let Err(ends) = self.take_all(one, news).await {
                        return self.ended(&ends);
                    }
                }
                () = sleep_until(wake) => {}
            }
            wake = self.decide()?;
        }
    }

    async fn take_all(
        &mut self,
        first: ClusterMessage,
        news: &mut mpsc::Receiver<ClusterMessage>,
    ) -> Result<(), EndEvent> {
        let until = Instant::now() + COALESCE;
        let now = self.now();
        self.world.receive(first, now)?;
        for _ in 0..BATCH_MAX {
            match timeout_at(until, news.recv()).await {
                Ok(Some(one)) => self.world.receive(one, now)?,
                Ok(None) | Err(_) => break,
            }
        }
        Ok(())
    }

    fn ended(&mut self, ends: &EndEvent) -> Result<ReadingEnd, Error> {
        let (what, ended) = match ends {
            EndEvent::Deposed(epoch) => {
                (format!("another leader took over with epoch {}", epoch.0), EndReason::Deposed)
            }
            EndEvent::ReadAnew(why) => return Ok(ReadingEnd::Again(why)),
            EndEvent::Restored(epoch) => {
                self.metrics.restored();
                let words = format!("the Cell fell from epoch {} to {}: etcd was restored", self.epoch.0, epoch.0);
                (words, EndReason::Restored)
            }
        };
        self.log(&Entry::Violation { what })?;
        Ok(ReadingEnd::Leadership(ended))
    }

    /// Current time. It never goes back, whatever the machine's clock does.
    fn now(&mut self) -> Timestamp {
        self.last_now = self.last_now.max(Timestamp(jiff::Timestamp::now().as_millisecond()));
        self.last_now
    }

    fn observe(&mut self, fact: Fact, at: Timestamp) {
        self.engine.observe(Observation { at, fact });
    }

    fn log(&mut self, entry: &Entry) -> Result<(), Error> {
        let at = self.last_now;
        let written = self.journal.write(at, self.epoch, entry);
        self.metrics.journal(self.journal.written());
        written.inspect_err(|_| self.metrics.journal_failed()).map_err(Error::from)
    }

    /// Runs the engine on new facts, audits its decision and queues the writes. Returns when to decide again.
    fn decide(&mut self) -> Result<Instant, Error> {
        let now = self.now();
        self.check_reported_epochs(now)?;
        self.recent.arrived(self.world.take_arrived());
        for observation in self.world.flush(now) {
            self.engine.observe(observation);
        }
        let as_of = self.world.as_of().map_or(self.read_at, |at| at.max(self.read_at));
        self.observe(Fact::Synced { as_of: as_of.min(now) }, now);
        let decision = self.engine.decide(now);
        let stopped = self.audit(&decision, now)?;
        for effect in decision.effects.iter().filter(|effect| !stopped.stops(&effect.node)) {
            self.effect(effect, now)?;
        }
        self.forget_gone(&decision, &stopped)?;
        self.correct_stored(&decision)?;
        self.queue_wait_changes(&decision);
        if let Some(record) = decision.cell.filter(|_| !stopped.everything) {
            self.outbox.push(Write::Cell { record: Some(Box::new(record)), conditions: Vec::new() });
        }
        let again = self.reconcile_if_due(decision.evaluated > 0, now)?;
        self.update_conditions(now);
        self.journal.flush()?;
        self.engine.commit();
        self.show();
        self.outbox.pump();
        self.pump_actions();
        let asked_again = decision.wake_at.map(|at| Duration::from_millis(at.since(now).0));
        let pause = asked_again.into_iter().chain(again).fold(ASK_AT_LEAST, Duration::min);
        Ok(Instant::now() + pause.max(COALESCE))
    }

    /// Stops and logs every part of a decision that violates an invariant.
    fn audit(&mut self, decision: &Decision, now: Timestamp) -> Result<AuditRejections, Error> {
        let violations = self.engine.audit(decision, now);
        let count = u64::try_from(violations.len()).unwrap_or(u64::MAX);
        self.metrics.decided(decision.evaluated, count, now.0);
        let omissions = self.engine.cell_record_omissions();
        if self.metrics.cell_omits(omissions) {
            let CellRecordOmissions { breakers, outcomes } = omissions;
            warn!(breakers, outcomes, "status of the Cell is full");
        }
        self.metrics.engine_lost(self.engine.losses());
        self.metrics.lost(List::GangNodes, self.world.take_lost_gang_nodes());
        let mut stopped = AuditRejections::default();
        for violation in violations {
            let node = violation.node.as_ref().map_or("the decision", NodeName::as_str);
            let what = format!("{}: {node}: {}", violation.invariant.words(), violation.detail);
            self.log(&Entry::Violation { what })?;
            match violation.node {
                Some(node) => drop(stopped.nodes.insert(node)),
                None => stopped.everything = true,
            }
        }
        Ok(stopped)
    }

    fn effect(&mut self, effect: &Effect, now: Timestamp) -> Result<(), Error> {
        match &effect.step {
            Step::Store(persisted) => self.record(&effect.node, persisted, &effect.rule),
            Step::Order(_) | Step::Cordon | Step::Uncordon | Step::AskCheckpoint { .. } | Step::Stop { .. } => {
                self.act_or_log(effect, now)
            }
            Step::Avoid | Step::EndAvoid | Step::PowerOff | Step::ReleasePods => self.act_or_log(effect, now),
        }
    }

    fn act_or_log(&mut self, effect: &Effect, now: Timestamp) -> Result<(), Error> {
        let is_ordered = effect.execution == Execution::Ordered;
        if is_ordered && self.act(effect, now)? { Ok(()) } else { self.log_dry_run(effect, now) }
    }

    fn record(&mut self, node: &NodeName, persisted: &Persisted, rule: &RuleName) -> Result<(), Error> {
        let line = self.engine.report(node);
        let (waiting_on, message) = line.map_or_else(
            || (WaitingOn::Nothing, Reason::lossy("")),
            |NodeSummary { waiting_on, message, .. }| (waiting_on, message),
        );
        let risk = self.engine.risk(node).map_or(Ppm(0), |risk| risk.ppm);
        let on_record = self.world.on_record(node);
        let stored = on_record.and_then(|on_record| on_record.condition);
        let generation = self.world.generation(node);
        let conditions = object_conditions::of_node(persisted.stage, persisted.since, generation, stored);
        let told = DisplayFields { epoch: self.epoch, waiting_on, message: message.clone(), risk, conditions };
        let status = Box::new(GpuNodeStatus::of(persisted, told));
        if self.recent.repeats(node, &status) {
            return Ok(());
        }
        let from = on_record.map_or(Stage::InService, |on_record| on_record.stage);
        if from != persisted.stage {
            self.log(&Entry::Stage { node: node.clone(), from, to: persisted.stage, rule: rule.clone(), waiting_on })?;
            self.outbox.push(Write::Event(Box::new(stage_note(node, persisted, rule, &message))));
            self.time_transition(node, from, persisted);
        }
        self.outbox.push(Write::Record { node: node.clone(), status, is_new: on_record.is_none() });
        Ok(())
    }

    /// Logs an action as a dry run. An ordered action is answered as refused, so that the engine does not wait for it.
    fn log_dry_run(&mut self, effect: &Effect, now: Timestamp) -> Result<(), Error> {
        let act = step_words(&effect.step);
        if effect.execution == Execution::Ordered {
            let is_slurmd = matches!(&effect.step, Step::Stop { gang } if pod::is_slurmd(gang));
            let why =
                if is_slurmd { "only Slurm may drain slurmd pods" } else { "the controller has no permission to act" };
            let (node, id, gang) = (effect.node.clone(), effect.id.clone(), effect.step.gang().cloned());
            if let Ok(why) = Reason::parse(why) {
                self.observe(Fact::Outcome { node, effect: id, gang, outcome: Outcome::Refused(why) }, now);
            }
        }
        if self.logged_dry_runs.len() >= SAID_MAX {
            self.logged_dry_runs.clear();
        }
        if !self.logged_dry_runs.insert(format!("{} {act} {:?}", effect.id, effect.execution)) {
            return Ok(());
        }
        self.log(&Entry::DryRun {
            node: effect.node.clone(),
            step: act,
            action: effect.id.clone(),
            rule: effect.rule.clone(),
            execution: effect.execution,
        })
    }

    /// Queues a write where only the wait of a node changed.
    fn queue_wait_changes(&mut self, decision: &Decision) {
        for line in &decision.report {
            let shown = self.world.on_record(&line.node);
            // A view that is a moment old is a passing wait and not worth a write.
            let passes = matches!(line.waiting_on, WaitingOn::WatchSync | WaitingOn::Leadership);
            if let Some(shown) = shown
                && shown.waiting_on != line.waiting_on
                && shown.stage == line.stage
                && !passes
                && !self.recent.repeats_wait(&line.node, line.waiting_on)
            {
                let (waiting_on, message) = (line.waiting_on, line.message.clone());
                self.outbox.push(Write::Wait { node: line.node.clone(), waiting_on, message, conditions: None });
            }
        }
    }
}

/// Parts of a decision that violate an invariant and are not executed.
#[derive(Debug, Default)]
struct AuditRejections {
    everything: bool,
    nodes: BTreeSet<NodeName>,
}

impl AuditRejections {
    fn stops(&self, node: &NodeName) -> bool {
        self.everything || self.nodes.contains(node)
    }
}

fn stage_note(node: &NodeName, persisted: &Persisted, rule: &RuleName, message: &Reason) -> NewEvent {
    let to = format!("{:?}", persisted.stage);
    NewEvent {
        name: format!("{node}.{}.{:x}", to.to_ascii_lowercase(), persisted.since.0),
        regarding: EventObject::Node(node.clone()),
        note: format!("Stage {to}, rule {rule}: {message}"),
        reason: to,
        action: "Recorded",
        is_warning: persisted.stage != Stage::InService,
    }
}
