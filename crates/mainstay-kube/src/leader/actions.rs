//! Effects of a leader that may act: they go to the shared executor, and their outcomes return as facts, in the audit log and as
//! Events.

use std::sync::Arc;
use std::time::Duration;

use mainstay_act::{BarrierStep, Executor, Finished, Offer, RateLimits};
use mainstay_engine::record::step_words;
use mainstay_model::{Effect, Epoch, Fact, Mode, Outcome, Reason, Step, Timestamp, short_digest};
use tokio::sync::watch;
use tokio::time::Instant;
use tracing::info;

use super::Leader;
use crate::audit_log::Entry;
use crate::backend::{ClusterBackend, GangRules};
use crate::error::Error;
use crate::execution::Capability;
use crate::lease::Tenure;
use crate::pod;
use crate::write::{EventObject, NewEvent, Target, Write};

/// Time between two raises of the leader's time in the Cell, while approvals depend on it.
const AS_OF_EVERY: Duration = Duration::from_secs(10);

/// The executor of a leadership that may act.
pub(super) struct Acting {
    pub(super) executor: Executor<ClusterBackend, Tenure>,
    gangs: watch::Sender<Arc<GangRules>>,
    as_of_raised: Option<Instant>,
    has_passed: bool,
}

impl Acting {
    /// Starts the executor, if the leader has the permission to act.
    pub(super) fn start(
        capability: Capability,
        client: &kube::Client,
        epoch: Epoch,
        (tenure, lease): (&Tenure, Duration),
    ) -> Option<Self> {
        if capability == Capability::Observe {
            return None;
        }
        let (gangs, of_backend) = watch::channel(Arc::default());
        let backend = Arc::new(ClusterBackend::new(client.clone(), epoch, of_backend));
        let executor = Executor::start(backend, Arc::new(tenure.clone()), RateLimits::default(), lease);
        Some(Self { executor, gangs, as_of_raised: None, has_passed: false })
    }

    /// Returns the next action that ended. Never returns for a leader that may not act.
    pub(super) async fn next(acting: &mut Option<Self>) -> Finished {
        match acting {
            Some(acting) => acting.executor.next().await,
            None => std::future::pending().await,
        }
    }
}

impl Leader<'_> {
    /// Gives the executor the rules by which pods become gangs, after the policies were read.
    pub(super) fn tell_gang_rules(&mut self) {
        if let Some(acting) = &self.acting {
            acting.gangs.send_replace(Arc::new(self.world.gang_rules()));
        }
    }

    /// Drops queued actions that have not started: they were decided with what the cluster looked like before.
    pub(super) fn withdraw_actions(&mut self) {
        if let Some(acting) = &mut self.acting {
            acting.executor.withdraw();
        }
    }

    /// Queues an ordered effect. Returns false if this leader may not act.
    pub(super) fn act(&mut self, effect: &Effect, now: Timestamp) -> Result<bool, Error> {
        let Some(acting) = &mut self.acting else { return Ok(false) };
        if effect.step.gang().is_some_and(pod::is_slurmd) {
            let why = Reason::lossy("only Slurm may drain slurmd pods");
            self.acted(&Finished { effect: effect.clone(), outcome: Outcome::Refused(why) }, now)?;
            return Ok(true);
        }
        let Some(pool) = self.world.pool(&effect.node) else { return Ok(true) };
        if let Offer::Refused(why) = acting.executor.offer(effect.clone(), pool) {
            self.acted(&Finished { effect: effect.clone(), outcome: Outcome::Refused(why) }, now)?;
        }
        Ok(true)
    }

    /// Handles an action that ended: the outcome is a fact for the engine. It never advances a stage.
    pub(super) fn acted(&mut self, finished: &Finished, now: Timestamp) -> Result<(), Error> {
        let Finished { effect, outcome } = finished;
        let (node, gang, step) = (effect.node.clone(), effect.step.gang().cloned(), step_words(&effect.step));
        let (word, why) = words(outcome);
        self.metrics.wrote(label(&effect.step), word);
        self.log(&Entry::Acted {
            node: node.clone(),
            step: step.clone(),
            action: effect.id.clone(),
            rule: effect.rule.clone(),
            outcome: word.to_owned(),
            why: why.map(ToString::to_string),
        })?;
        info!(node = node.as_str(), step, action = %effect.id, outcome = word, why = why.map(Reason::as_str), "acted");
        // What changed meanwhile, and what was there already, is no news to an operator.
        if matches!(outcome, Outcome::Applied | Outcome::Started | Outcome::Refused(_)) {
            let note = match why {
                Some(why) => format!("{step}: {word}: {why}"),
                None => format!("{step}: {word}, rule {}", effect.rule),
            };
            self.outbox.push(Write::Event(Box::new(NewEvent {
                name: event_name(effect, word, why),
                regarding: EventObject::Node(node.clone()),
                reason: event_reason(outcome).to_owned(),
                action: "Acted",
                note,
                is_warning: why.is_some(),
            })));
        }
        self.observe(Fact::Outcome { node, effect: effect.id.clone(), gang, outcome: outcome.clone() }, now);
        Ok(())
    }

    /// Starts queued actions, and raises the leader's time in the Cell while approvals depend on it.
    pub(super) fn pump_actions(&mut self) {
        let cell = self.world.cell_seen();
        let awaits_time =
            cell.is_some_and(|cell| cell.spec.mode == Mode::Propose && !cell.spec.approvals.as_slice().is_empty());
        let Some(acting) = &mut self.acting else { return };
        acting.executor.pump();
        if !acting.has_passed && acting.executor.barrier() == BarrierStep::Passed {
            acting.has_passed = true;
            info!("the barrier has passed: this leader may act");
        }
        let is_due = acting.as_of_raised.is_none_or(|at| at.elapsed() >= AS_OF_EVERY);
        if awaits_time && is_due && !self.outbox.is_on_the_way(&Target::Cell) {
            acting.as_of_raised = Some(Instant::now());
            self.outbox.push(Write::CellTime);
        }
    }
}

/// The outcome in one word, and the reason if there is one.
fn words(outcome: &Outcome) -> (&'static str, Option<&Reason>) {
    match outcome {
        Outcome::Applied => ("applied", None),
        Outcome::Conflict => ("conflict", None),
        Outcome::Refused(why) => ("refused", Some(why)),
        Outcome::Started => ("started", None),
        Outcome::Unknown => ("unknown", None),
    }
}

/// The reason of an Event about the outcome.
const fn event_reason(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Applied => "ActionApplied",
        Outcome::Started => "ActionStarted",
        Outcome::Refused(_) => "ActionRefused",
        Outcome::Conflict | Outcome::Unknown => "ActionNotDone",
    }
}

/// Label value for metrics.
const fn label(step: &Step) -> &'static str {
    match step {
        Step::Store(_) => "record",
        Step::Order(_) => "order",
        Step::Cordon => "cordon",
        Step::Uncordon => "uncordon",
        Step::Avoid => "avoid",
        Step::EndAvoid => "end-avoid",
        Step::PowerOff => "power-off",
        Step::ReleasePods => "release-pods",
        Step::AskCheckpoint { .. } => "checkpoint-request",
        Step::Stop { .. } => "eviction",
    }
}

/// Name of an Event, the same if the action is repeated: its id, the gang, the outcome and the reason.
fn event_name(effect: &Effect, word: &str, why: Option<&Reason>) -> String {
    const GANG_BYTES_MAX: usize = 100;
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let gang = effect.step.gang().map(ToString::to_string).unwrap_or_default();
    let gang: String = gang.chars().map(plain).take(GANG_BYTES_MAX).collect();
    let gang = gang.trim_matches('-');
    let id: String = effect.id.to_string().chars().map(plain).collect();
    let reason = why.map(|why| format!("{:08x}", short_digest(why.as_str()))).unwrap_or_default();
    let parts = [id.as_str(), label(&effect.step), word, gang, &reason];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(".")
}
