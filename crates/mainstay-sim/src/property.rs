//! Properties of a whole run, in addition to the auditor's invariants: a single decision cannot violate them.
//! Safety is looked at with every decision and every few minutes; progress is looked at in the calm, where every wait
//! has a bound in numbers.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use mainstay_model::{
    Attempt, BootId, Bounded, CellRecord, Effect, Fact, NodeName, Nonce, OrderId, Persisted, PlannedWork, PoolName,
    Proposal, Ready, RepairStep, RuleName, RuleRecord, Schedulable, Sequence, Serial, Span, Stage, Step, Timestamp,
    WaitingOn,
};

use crate::fleet;

/// One violation of a property or an invariant, with its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PropertyViolation {
    /// When.
    pub at: Timestamp,
    /// Property or invariant that was violated, worded the same for every node.
    pub promise: String,
    /// What exactly.
    pub what: String,
}

/// At most so many are kept: the first tell the story.
const BROKEN_MAX: usize = 32;

/// A node whose agent was heard this recently is not unreachable: three heartbeats.
const HEARD_WITHIN: Span = Span::minutes(15);

/// A rung but a capture is tried at most so often within a day.
const ATTEMPTS_MAX: usize = 2;
const DAY: Span = Span::hours(24);

/// What time alone ends is over this long after it should be.
const SLACK: Span = Span::minutes(5);

/// A rule takes out three nodes of a fleet within an hour, or one of every two hundred, and is stopped; one more to try it
/// on, and as many again where that shows that it was right: twice, because a pause is half an hour.
const TAKEN_OUT_MIN: u32 = 3;
const TAKEN_OUT_ONE_OF: u32 = 200;
const HOUR: Span = Span::hours(1);

/// A person's word is no rule.
const REQUEST: &str = "request";

/// The rule under which a silent node is taken out.
pub(crate) const UNREACHABLE: &str = "node-unreachable";

/// Latest facts about a node that reached the engine.
#[derive(Debug, Clone, Default)]
struct ObservedNode {
    heard_at: Option<Timestamp>,
    /// The last report that was not overtaken: its boot, and its place there.
    heard: Option<(BootId, Sequence)>,
    planned: PlannedWork,
    /// Whether it took work.
    takes_work: bool,
    serials: Arc<[Serial]>,
}

/// Checks the safety and liveness properties of a run.
#[derive(Debug, Clone)]
pub(crate) struct PropertyChecker {
    pub(crate) broken: Vec<PropertyViolation>,
    told: Vec<ObservedNode>,
    /// Since when each node waits on the same thing, and the longest waits so far.
    waits: Vec<(WaitingOn, Timestamp)>,
    pub(crate) longest: BTreeMap<WaitingOn, Span>,
    /// Which nodes each rule took out of each pool within the last hour, and when.
    taken_out: BTreeMap<(PoolName, RuleName), BTreeMap<u32, Timestamp>>,
    /// Attempts by the order that they were for; and whether the agent did not run it.
    attempts: BTreeMap<Nonce, (u32, Attempt, bool)>,
    /// What people said yes to.
    approvals: Bounded<OrderId, 64>,
    /// How often each rule took a node out, or would have, by what was written down.
    findings: BTreeMap<RuleName, u64>,
    /// From when on waits have bounds.
    calm_since: Option<Timestamp>,
}

/// How long a node may wait on something in the calm, where nothing is lost, nobody holds anything and people come when
/// they are needed. The reasons are those of the brain's own limits; the proof `seeds` says how close it gets.
#[must_use]
pub const fn wait_within(on: WaitingOn) -> Option<Span> {
    match on {
        WaitingOn::Nothing => None,
        // Nobody has to approve anything in the calm; a moment is what it takes to hear of it.
        WaitingOn::Approval | WaitingOn::Mode | WaitingOn::Leadership | WaitingOn::Report => Some(Span::minutes(5)),
        // A view is fresh within a moment; an effect that was lost is asked for again after a minute.
        WaitingOn::WatchSync => Some(Span::minutes(5)),
        // The next checkpoint is waited for an hour. A request that another node of the gang needs may begin within this hour
        // and last another one; the first request counts for all nodes, so none adds a third. A drain has its stage's two
        // hours.
        WaitingOn::Checkpoint | WaitingOn::Drain => Some(Span::minutes(125)),
        // The rungs of a whole ladder expire after 80 minutes together.
        WaitingOn::Order => Some(Span::minutes(90)),
        // A suite takes two hours at most, and fails for as long as the leaf above the node is down.
        WaitingOn::Qualification => Some(Span::hours(8)),
        // Evidence is held against a node for a day in whole hours, looked at again every hour, and what is still broken
        // when the storm ends may speak once more.
        WaitingOn::SecondSignal => Some(Span::hours(30)),
        // Crews are few; the longest repair and the way of a part.
        WaitingOn::Operator => Some(Span::hours(24)),
        // Evidence is held against all of them for a day, as it is against one.
        WaitingOn::SharedCause => Some(Span::hours(30)),
        // A rule is stopped for four hours at most, then tried on one node after another.
        WaitingOn::Breaker => Some(Span::hours(72)),
        // Its turn comes when those before it are back, each within a person's day or a breaker's pauses at worst.
        WaitingOn::Budget | WaitingOn::CapacityFloor => Some(Span::hours(72)),
        // No policy of the simulator has a rate limit, a freeze or a window.
        WaitingOn::Freeze | WaitingOn::RateLimit | WaitingOn::Window => Some(Span::ZERO),
    }
}

impl PropertyChecker {
    pub(crate) fn new(nodes: u32, now: Timestamp) -> Self {
        Self {
            broken: Vec::new(),
            told: vec![ObservedNode::default(); nodes as usize],
            waits: vec![(WaitingOn::Nothing, now); nodes as usize],
            longest: BTreeMap::new(),
            taken_out: BTreeMap::new(),
            attempts: BTreeMap::new(),
            approvals: Bounded::new(),
            findings: BTreeMap::new(),
            calm_since: None,
        }
    }

    /// How long the recovery phase has lasted; zero before it.
    pub(crate) fn calm_for(&self, now: Timestamp) -> Span {
        self.calm_since.map_or(Span::ZERO, |since| now.since(since))
    }

    pub(crate) fn record_violation(&mut self, at: Timestamp, promise: &str, what: String) {
        if self.broken.len() < BROKEN_MAX {
            self.broken.push(PropertyViolation { at, promise: promise.to_owned(), what });
        }
    }

    /// What the brain is told.
    pub(crate) fn observe(&mut self, fact: &Fact, at: Timestamp) {
        match fact {
            Fact::Node { node, facts } => {
                if let Some(told) = self.observed_node(node) {
                    told.planned = facts.planned;
                    told.takes_work = facts.ready == Ready::Yes && facts.schedulable == Schedulable::Yes;
                }
            }
            Fact::Report { node, report } => {
                if let Some(told) = self.observed_node(node) {
                    let overtaken =
                        |(boot, last): &(BootId, Sequence)| *boot == report.boot_id && *last >= report.sequence;
                    if told.heard.as_ref().is_some_and(overtaken) {
                        return;
                    }
                    told.heard = Some((report.boot_id.clone(), report.sequence));
                    told.heard_at = Some(at);
                    let gpus = report.inventory.gpus.as_slice().iter().map(|gpu| gpu.serial.clone());
                    let nics = report.inventory.nics.as_slice().iter().map(|nic| nic.serial.clone());
                    told.serials = gpus.chain(nics).chain([report.inventory.board.clone()]).collect();
                }
            }
            Fact::Cell(cell) => self.approvals.clone_from(&cell.approvals),
            Fact::Synced { .. }
            | Fact::Policy(_)
            | Fact::Freezes(_)
            | Fact::NodeGone { .. }
            | Fact::Complaints { .. }
            | Fact::Recorded { .. }
            | Fact::RecordGone { .. }
            | Fact::Request { .. }
            | Fact::Gang { .. }
            | Fact::GangGone { .. }
            | Fact::Asked { .. }
            | Fact::Outcome { .. } => {}
        }
    }

    fn observed_node(&mut self, node: &NodeName) -> Option<&mut ObservedNode> {
        fleet::number(node).and_then(|node| self.told.get_mut(node as usize))
    }

    /// What the brain orders: no rung more often than its cap.
    pub(crate) fn orders(&mut self, effect: &Effect, recorded: Option<&Persisted>, now: Timestamp) {
        let Step::Order(new) = &effect.step else { return };
        let Some(attempt) = new.attempt.as_ref().filter(|attempt| attempt.rung != RepairStep::Capture) else { return };
        if let Some(node) = fleet::number(&effect.node) {
            self.attempts.insert(new.order.nonce.clone(), (node, attempt.clone(), false));
        }
        let alike = |other: &&Attempt| {
            other.rung == attempt.rung
                && other.ordered_at < attempt.ordered_at
                && attempt.ordered_at.since(other.ordered_at) < DAY
        };
        let before = recorded.map_or(&[][..], |recorded| recorded.attempts.as_slice());
        let times = before.iter().filter(alike).count() + 1;
        if times > ATTEMPTS_MAX {
            let earlier: Vec<String> = before
                .iter()
                .filter(alike)
                .map(|one| format!("{} at {} s", one.rule, one.ordered_at.0 / 1_000))
                .collect();
            let what = format!(
                "{}: {:?} was ordered {times} times within a day: {}",
                effect.node,
                attempt.rung,
                earlier.join(", ")
            );
            self.record_violation(now, "a repair step has a limit of attempts", what);
        }
    }

    /// An agent reports that it did not run an order.
    pub(crate) fn not_run(&mut self, node: u32, nonce: &Nonce) {
        if let Some((of, _, not_run)) = self.attempts.get_mut(nonce) {
            *not_run = *of == node;
        }
    }

    /// A node was taken out for a rule: now, and not by an earlier leader whose record is only read.
    pub(crate) fn taken_out(&mut self, node: u32, persisted: &Persisted, pool: (PoolName, u32), now: Timestamp) {
        let (Some(cause), Some(told)) = (&persisted.cause, self.told.get(node as usize)) else { return };
        let last = persisted.history.as_slice().iter().rev().find(|transition| transition.to == Stage::Quarantined);
        // The rule that took it out; what was found may have been there beside a person's request.
        let Some(rule) = last.filter(|transition| transition.at == now).map(|transition| &transition.rule) else {
            return;
        };
        let approved = OrderId::of("cordon", &fleet::name(node), persisted.round);
        // A rule is stopped from taking out what works, unless a person says otherwise.
        let disrupts = rule.as_str() != REQUEST && told.takes_work && !self.approvals.as_slice().contains(&approved);
        let (pool, nodes) = pool;
        let lately = self.taken_out.entry((pool, rule.clone())).or_default();
        if disrupts {
            lately.insert(node, now);
        }
        lately.retain(|_, at| now.since(*at) < HOUR);
        let times = lately.len();
        if times > taken_out_max(nodes) {
            let what = format!("{rule} removed {times} nodes within an hour");
            return self.record_violation(now, "the circuit breaker stops a rule that removes too many nodes", what);
        }
        let name = fleet::name(node);
        if told.planned != PlannedWork::Nothing {
            let what = format!("{name}: removed by {} during {:?}", cause.rule, told.planned);
            return self.record_violation(now, "planned work is not a fault", what);
        }
        let recent = told.heard_at.is_some_and(|at| now.since(at) < HEARD_WITHIN);
        if cause.rule.as_str() == UNREACHABLE && recent {
            let what = format!("{name}: removed as unreachable, but its agent had just reported");
            return self.record_violation(now, "one signal alone removes no node", what);
        }
        let gone = cause.device.as_ref().filter(|device| !told.serials.contains(device));
        if let Some(device) = gone {
            let what = format!("{name}: removed by {} for {device}, which is no longer installed", cause.rule);
            self.record_violation(now, "a part that was removed does not count against a node", what);
        }
    }

    /// Something is on record about a node.
    pub(crate) fn records(&mut self, before: Option<&Persisted>, after: &Persisted) {
        let history = before.map_or(&[][..], |before| before.history.as_slice());
        let proposals = before.map_or(&[][..], |before| before.proposals.as_slice());
        let out = after.history.as_slice().iter().filter(|one| one.to == Stage::Quarantined && !history.contains(one));
        let known = |one: &Proposal| proposals.iter().any(|known| known.decided_at == one.decided_at);
        let on_paper = after.proposals.as_slice().iter().filter(|one| !known(one)).map(|one| &one.rule);
        for rule in out.map(|one| &one.rule).chain(on_paper) {
            *self.findings.entry(rule.clone()).or_default() += 1;
        }
    }

    /// What the cell keeps of its rules is written down.
    pub(crate) fn check_counters(&mut self, before: &CellRecord, after: &CellRecord, now: Timestamp) {
        let judged = |record: &CellRecord, rule: &RuleName| {
            record.rules.as_slice().iter().find(|one| one.rule == *rule).map_or(0, RuleRecord::judged)
        };
        if after.counted_to < before.counted_to {
            self.record_violation(
                now,
                "rule counters never decrease",
                "the time of the last count decreased".to_owned(),
            );
        }
        for rule in before
            .rules
            .as_slice()
            .iter()
            .map(|one| &one.rule)
            .filter(|rule| judged(after, rule) < judged(before, rule))
        {
            self.record_violation(now, "rule counters never decrease", format!("a counter of {rule} decreased"));
        }
        for one in after.rules.as_slice() {
            let findings = self.findings.get(&one.rule).copied().unwrap_or_default();
            if one.judged() > findings {
                let what = format!("{}: {} verdicts for {findings} findings", one.rule, one.judged());
                self.record_violation(now, "no finding is counted twice", what);
            }
        }
    }

    /// How a node stands now.
    pub(crate) fn waits(&mut self, node: u32, on: WaitingOn, now: Timestamp) {
        let Some(known) = self.waits.get_mut(node as usize) else { return };
        if known.0 != on {
            *known = (on, now);
        }
    }

    /// From now on, waits have bounds.
    pub(crate) fn start_recovery(&mut self, now: Timestamp) {
        self.calm_since = Some(now);
        for (_, since) in &mut self.waits {
            *since = now;
        }
    }

    /// Looks at every node's wait: in the calm none lasts longer than its bound.
    pub(crate) fn look_at_waits(
        &mut self,
        now: Timestamp,
        is_excused: impl Fn(u32) -> bool,
        why: impl Fn(u32) -> Option<String>,
    ) {
        if self.calm_since.is_none() {
            return;
        }
        let mut late = Vec::new();
        for (node, (on, since)) in (0..).zip(&self.waits) {
            let waited = now.since(*since);
            let Some(within) = wait_within(*on).filter(|_| !is_excused(node)) else { continue };
            let longest = self.longest.entry(*on).or_default();
            *longest = (*longest).max(waited);
            if waited > within {
                late.push((node, *on, waited));
            }
        }
        for (node, on, waited) in late {
            let (minutes, why) = (waited.0 / 60_000, why(node).unwrap_or_default());
            let what = format!("{}: blocked on {} for {minutes} minutes. {why}", fleet::name(node), on.word());
            self.record_violation(now, "every wait ends within its limit", what);
        }
    }

    /// Looks at what time alone should have ended.
    pub(crate) fn look_at(&mut self, node: u32, persisted: &Persisted, waiting_on: WaitingOn, now: Timestamp) {
        let name = fleet::name(node);
        let stuck = stage_within(persisted.stage).is_some_and(|within| now.since(persisted.since) > within);
        if stuck && waiting_on != WaitingOn::Operator {
            let what = format!("{name}: {:?} beyond its limit, blocked on {}", persisted.stage, waiting_on.word());
            self.record_violation(now, "a node beyond the limit of its stage needs an operator", what);
        }
        let is_open = |nonce: &Nonce| persisted.orders.as_slice().iter().any(|order| order.nonce == *nonce);
        let counted = self.attempts.iter().find(|(nonce, (of, attempt, not_run))| {
            *of == node && *not_run && !is_open(nonce) && persisted.attempts.as_slice().contains(attempt)
        });
        if let Some((_, (_, attempt, _))) = counted {
            let what = format!("{name}: {:?} counts as tried", attempt.rung);
            self.record_violation(now, "a repair step that was not run is not counted", what);
        }
        let waits = matches!(waiting_on, WaitingOn::Order | WaitingOn::Qualification);
        let expired = |by: Timestamp| now.since(by) > SLACK && waits;
        if let Some(order) = persisted.orders.as_slice().iter().find(|order| expired(order.done_by)) {
            let what = format!("{name}: still waiting for {}, which expired", order.id);
            self.record_violation(now, "no node waits for an expired order", what);
        }
    }
}

fn taken_out_max(nodes: u32) -> usize {
    let most = 2 * ((nodes / TAKEN_OUT_ONE_OF).max(TAKEN_OUT_MIN) + 1);
    usize::try_from(most).unwrap_or(usize::MAX)
}

/// How long a node may be in a stage before a person is shown it, with slack: the world's own copy of the promise.
const fn stage_within(stage: Stage) -> Option<Span> {
    match stage {
        Stage::InService | Stage::Held | Stage::Retired | Stage::Suspect => None,
        Stage::Bootstrapping => Some(Span::minutes(65)),
        Stage::Quarantined => Some(Span::minutes(20)),
        Stage::Draining => Some(Span::minutes(125)),
        Stage::Repairing | Stage::Qualifying => Some(Span::minutes(245)),
        Stage::Maintenance | Stage::Upgrading => Some(Span::minutes(24 * 60 + 5)),
    }
}
