//! Recent events of a live fleet: decisions, stage changes, raw log lines and job events. It is
//! bounded and written only for live fleets. No result of the simulation depends on it. Entries are shared between clones.

mod job_log;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use mainstay_model::{Effect, Execution, NodeName, Persisted, RuleName, Span, Stage, Step, Task, Timestamp};

pub use job_log::{Attempt, AttemptEnd, Checkpoint, Interruption, JobLog};

/// Decisions and changes of stage that are kept: hours of a busy fleet.
const DECISIONS_MAX: usize = 4_096;
const MOVES_MAX: usize = 4_096;

/// Lines that are kept of one node; a storm of them says the same again and again.
const LINES_MAX: usize = 32;

/// What was lost is kept by the minute, for a day.
const MINUTE: Span = Span::minutes(1);
const MINUTES_MAX: usize = 24 * 60;

/// Something that the brain decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionLine {
    /// When.
    pub at: Timestamp,
    /// About which node.
    pub node: NodeName,
    /// What kind of decision it is.
    pub kind: DecisionKind,
    /// The action as a short text.
    pub act: String,
    /// Whether it is to be done.
    pub standing: Execution,
    /// The rule behind it.
    pub rule: RuleName,
}

/// The kind of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecisionKind {
    /// A job is asked for a checkpoint.
    Checkpoint,
    /// The node changes its stage.
    Stage,
    /// Any other action on the node.
    Action,
}

/// One node's move from one lifecycle stage to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageChange {
    /// When.
    pub at: Timestamp,
    /// Of which node.
    pub node: NodeName,
    /// From where.
    pub from: Stage,
    /// To where.
    pub to: Stage,
    /// The rule behind it, where there is one.
    pub rule: Option<RuleName>,
}

/// A raw line of a node's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// When it was printed.
    pub at: Timestamp,
    /// The line.
    pub text: String,
}

/// The latest entries of a kind, oldest first.
#[derive(Debug, Clone)]
struct Ring<T>(VecDeque<Arc<T>>);

impl<T> Ring<T> {
    fn push(&mut self, entry: T, most: usize) {
        if self.0.len() >= most {
            self.0.pop_front();
        }
        self.0.push_back(Arc::new(entry));
    }

    /// Entries at or after a moment.
    fn since(&self, at: Timestamp, when: impl Fn(&T) -> Timestamp) -> impl Iterator<Item = &T> {
        let first = self.0.partition_point(|entry| when(entry) < at);
        self.0.range(first..).map(Arc::as_ref)
    }
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

/// Recent decisions, stage changes, log lines and job events of a live fleet.
#[derive(Debug, Clone, Default)]
pub(crate) struct EventLog {
    decisions: Ring<DecisionLine>,
    moves: Ring<StageChange>,
    /// By node; only of those that printed anything.
    lines: BTreeMap<u32, Ring<LogLine>>,
    jobs: Vec<Arc<JobLog>>,
    /// GPU time that asking first has kept.
    pub(crate) saved_gpu_seconds: u64,
    /// All that was lost by the end of each minute in which anything was.
    lost_by: VecDeque<(Timestamp, u64)>,
}

impl EventLog {
    pub(crate) fn record_decision(&mut self, at: Timestamp, effect: &Effect, recorded: Option<&Persisted>) {
        let Some((kind, act)) = in_words(&effect.step, recorded) else { return };
        let (node, standing, rule) = (effect.node.clone(), effect.execution, effect.rule.clone());
        self.decisions.push(DecisionLine { at, node, kind, act, standing, rule }, DECISIONS_MAX);
    }

    pub(crate) fn moves(&mut self, entry: StageChange) {
        self.moves.push(entry, MOVES_MAX);
    }

    pub(crate) fn record_log_line(&mut self, node: u32, at: Timestamp, line: &str) {
        self.lines.entry(node).or_default().push(LogLine { at, text: line.to_owned() }, LINES_MAX);
    }

    /// What is kept of one job.
    pub(crate) fn job(&mut self, job: u32) -> &mut JobLog {
        let place = job as usize;
        if self.jobs.len() <= place {
            self.jobs.resize_with(place + 1, Arc::default);
        }
        Arc::make_mut(&mut self.jobs[place])
    }

    /// Notes how much was lost in all by now.
    pub(crate) fn record_loss(&mut self, now: Timestamp, lost_gpu_seconds: u64) {
        let minute = Timestamp(now.0 - now.0.rem_euclid(i64::try_from(MINUTE.0).unwrap_or(1)));
        match self.lost_by.back_mut() {
            Some((_, lost)) if *lost == lost_gpu_seconds => {}
            Some((at, lost)) if *at == minute => *lost = lost_gpu_seconds,
            Some(_) | None => {
                if self.lost_by.len() >= MINUTES_MAX {
                    self.lost_by.pop_front();
                }
                self.lost_by.push_back((minute, lost_gpu_seconds));
            }
        }
    }

    pub(crate) fn decisions_since(&self, at: Timestamp) -> impl Iterator<Item = &DecisionLine> {
        self.decisions.since(at, |line| line.at)
    }

    pub(crate) fn moves_since(&self, at: Timestamp) -> impl Iterator<Item = &StageChange> {
        self.moves.since(at, |entry| entry.at)
    }

    pub(crate) fn lines(&self, node: u32) -> impl Iterator<Item = &LogLine> {
        self.lines.get(&node).into_iter().flat_map(|lines| lines.0.iter().map(Arc::as_ref))
    }

    pub(crate) fn job_log(&self, job: u32) -> Option<&JobLog> {
        self.jobs.get(job as usize).map(Arc::as_ref)
    }

    /// All that had been lost before the minute of this moment.
    pub(crate) fn lost_before(&self, at: Timestamp) -> u64 {
        let first = self.lost_by.partition_point(|(minute, _)| *minute + MINUTE <= at);
        first.checked_sub(1).and_then(|last| self.lost_by.get(last)).map_or(0, |(_, lost)| *lost)
    }
}

/// An action with its kind as text; nothing for a status update without news.
fn in_words(act: &Step, recorded: Option<&Persisted>) -> Option<(DecisionKind, String)> {
    match act {
        Step::Cordon => Some((DecisionKind::Action, "cordon".to_owned())),
        Step::Uncordon => Some((DecisionKind::Action, "uncordon".to_owned())),
        Step::Avoid => Some((DecisionKind::Action, "avoid for new jobs".to_owned())),
        Step::EndAvoid => Some((DecisionKind::Action, "end avoiding".to_owned())),
        Step::PowerOff => Some((DecisionKind::Action, "turn off".to_owned())),
        Step::ReleasePods => Some((DecisionKind::Action, "release its pods".to_owned())),
        Step::AskCheckpoint { gang, .. } => {
            Some((DecisionKind::Checkpoint, format!("request a checkpoint of {}", gang.name)))
        }
        Step::Stop { gang } => Some((DecisionKind::Action, format!("stop {}", gang.name))),
        Step::Order(new) => {
            let task = match &new.order.task {
                Task::Rung(rung) => format!("order {rung:?}"),
                Task::Suite(suite) => format!("order the suite {suite}"),
            };
            Some((DecisionKind::Action, task))
        }
        Step::Store(persisted) => {
            let stage = recorded.map_or(Stage::InService, |recorded| recorded.stage);
            (persisted.stage != stage).then(|| (DecisionKind::Stage, format!("move to {:?}", persisted.stage)))
        }
    }
}
