//! Circuit breakers between rules and nodes: the history of each node is counted, and a flagged node may be removed, waits,
//! or becomes the test. `mainstay-remedy` computes the state of a breaker.

use std::collections::BTreeSet;

use mainstay_arbiter::permit;
use mainstay_health::Findings;
use mainstay_model::{
    ActionKind, Bounded, BreakerLimits, BreakerState, Finding, Mode, NodeIndex, NodeName, PoolName, Ready, RequestKind,
    Response, RuleName, Schedulable, Span, Stage, Timestamp,
};
use mainstay_remedy::breaker::{self, Breakers, Happening, Size, Standing};
use mainstay_remedy::life::{Breaker, First, Health};
use mainstay_remedy::verdict::UNREACHABLE;

use crate::guard::Guard;
use crate::index::{self, Index};
use crate::plan::cause::{REQUEST, cause_of};
use crate::plan::orders::action;
use crate::state::State;
use crate::state::node::Node;
use crate::view::{Signals, signals};

/// One breaker that is not closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BreakerLine {
    /// The pool of the breaker.
    pub pool: PoolName,
    /// The rule of the breaker.
    pub rule: RuleName,
    /// Open or half-open.
    pub state: BreakerState,
    /// When the state began.
    pub since: Option<Timestamp>,
    /// Length of the window.
    pub window: Span,
    /// Nodes that the rule removed within the window.
    pub condemned: u32,
    /// Nodes that the rule flags.
    pub waiting: u32,
    /// The node that the rule is tested on.
    pub test: Option<NodeName>,
    /// Whether it counts dry-run decisions only.
    pub is_on_paper: bool,
}

/// Which breakers an event counts for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counted {
    /// Nodes that were removed.
    Removed,
    /// Nodes that a dry run would have removed.
    DryRun,
}

/// The events of a node that breakers count, and its pool.
pub(crate) type NodeEvents = Option<(PoolName, Vec<(Counted, RuleName, Happening)>)>;

pub(crate) fn lines(state: &State, index: &Index, now: Timestamp) -> Vec<BreakerLine> {
    if !state.is_on(Guard::Breaker) {
        return Vec::new();
    }
    let lines = open(state, now).map(|(is_on_paper, (pool, rule, standing, condemned))| BreakerLine {
        pool: pool.clone(),
        rule: rule.clone(),
        state: standing.state,
        since: standing.since,
        window: limits(state, pool).window,
        condemned,
        waiting: flagged_by(state, index, (pool, rule), is_on_paper),
        test: standing.test,
        is_on_paper,
    });
    lines.collect()
}

/// Every breaker that is not closed, and whether it counts dry-run decisions only. Such a breaker matters only in a pool
/// that observes, and only where the breaker of actual removals is closed.
pub(crate) fn open(
    state: &State,
    now: Timestamp,
) -> impl Iterator<Item = (bool, (&PoolName, &RuleName, Standing, u32))> {
    let counts = &state.counts;
    let actual = counts.breakers.open(now).map(|open| (false, open));
    let dry_run = counts.dry_run_breakers.open(now).filter(move |(pool, rule, _, _)| {
        observes(state, pool) && counts.breakers.standing(pool, rule, now).state == BreakerState::Closed
    });
    actual.chain(dry_run.map(|open| (true, open)))
}

/// Whether removals of a pool are dry runs.
fn observes(state: &State, pool: &PoolName) -> bool {
    let mode = permit::mode(&state.cell, state.policies.get(pool), ActionKind::Cordon);
    state.is_on(Guard::DryRunBreaker) && mode == Mode::Observe
}

/// Whether a rule may remove one more node of a pool, or decide so in a dry run.
fn lets_through(state: &State, pool: &PoolName, rule: &RuleName, now: Timestamp) -> bool {
    let lets = |breakers: &Breakers| breakers.standing(pool, rule, now).lets_through();
    lets(&state.counts.breakers) && (!observes(state, pool) || lets(&state.counts.dry_run_breakers))
}

/// Whether the breaker of a rule in the node's pool was closed all the time.
pub(crate) fn was_never_stopped(state: &State, node: &Node, rule: &RuleName, now: Timestamp) -> bool {
    let pool = node.facts.as_ref().map(|facts| &facts.pool);
    let was_closed = |pool| state.counts.breakers.standing(pool, rule, now).since.is_none();
    !state.is_on(Guard::Breaker) || pool.is_none_or(was_closed)
}

/// How many nodes a rule flags; in a dry run without those that it already decided on.
fn flagged_by(state: &State, index: &Index, (pool, rule): (&PoolName, &RuleName), is_dry_run: bool) -> u32 {
    let flagged = index.flagged.get(&(pool.clone(), rule.clone())).into_iter().flatten();
    let waiting = flagged.filter(|id| !is_dry_run || state.node(**id).open_proposal().is_none());
    u32::try_from(waiting.count()).unwrap_or(u32::MAX)
}

/// The rule that flags a node for removal; none where no rule does, or an operator requested it.
pub(crate) fn accuser(
    state: &State,
    node: &Node,
    health: Health,
    findings: &Findings,
    now: Timestamp,
) -> Option<RuleName> {
    let requested = state.request(node).is_some_and(RequestKind::takes_out);
    let by_rule =
        node.status.stage.gets_jobs() && !requested && health == Health::Condemned && state.is_on(Guard::Breaker);
    by_rule.then(|| cause_of(node, findings, signals(state, node, now) == Signals::Both).rule)
}

/// The findings on a node without those of parts that a stopped rule flags, if the rest still flags the node. A sensor
/// that raises false alarms must not keep a faulty node in service. Other findings on the same part may be false as well.
pub(crate) fn not_stopped(state: &State, node: &Node, findings: &Findings, now: Timestamp) -> Option<Findings> {
    let facts = node.facts.as_deref().filter(|_| state.is_on(Guard::Breaker))?;
    let may_remove = |rule: &RuleName| lets_through(state, &facts.pool, rule, now);
    let flags = |finding: &&Finding| finding.response == Response::Remove;
    let list = findings.list.as_slice();
    let stopped: Vec<&Finding> = list.iter().filter(flags).filter(|finding| !may_remove(&finding.rule)).collect();
    if stopped.is_empty() {
        return None;
    }
    let is_other_part = |finding: &&Finding| stopped.iter().all(|one| one.device != finding.device);
    let kept: Vec<Finding> = list.iter().filter(is_other_part).cloned().collect();
    let is_lost = signals(state, node, now) == Signals::Both && may_remove(&UNREACHABLE.get());
    let is_flagged = is_lost || kept.iter().any(|finding| flags(&finding));
    is_flagged.then(|| Findings { list: Bounded::within(kept), ..findings.clone() })
}

/// Whether the rule that flags a node may remove it.
pub(crate) fn breaker(state: &State, node: &Node, accuser: Option<&RuleName>, now: Timestamp) -> Breaker {
    let (Some(rule), Some(facts)) = (accuser, node.facts.as_deref()) else { return Breaker::Closed };
    let approved = || state.cell.approvals.as_slice().contains(&action(node, ActionKind::Cordon));
    // A node that Mainstay cordoned is better repaired than left waiting. A dry-run decision that exists stays.
    let is_out = facts.schedulable == Schedulable::NotByUs
        || observes(state, &facts.pool) && node.open_proposal().is_some_and(|proposal| proposal.rule == *rule);
    if lets_through(state, &facts.pool, rule, now) || is_out || approved() { Breaker::Closed } else { Breaker::Open }
}

/// Whether a node that is being drained is tested or repaired first. A node that is not reachable cannot be tested.
pub(crate) fn first(state: &State, node: &Node, now: Timestamp) -> First {
    let may_test = node.ready() == Ready::Yes && node.status.stage == Stage::Draining && state.is_on(Guard::Breaker);
    let Some(facts) = node.facts.as_deref().filter(|_| may_test) else { return First::Repair };
    let Some(removed) = node.removal() else { return First::Repair };
    let test = state.counts.breakers.standing(&facts.pool, &removed.rule, now).test;
    if test.as_ref() == Some(&node.name) { First::Test } else { First::Repair }
}

/// Records which rules flag a node, so that the node is evaluated when one of their breakers changes. Returns when time
/// alone changes one.
pub(crate) fn flag(
    state: &mut State,
    index: &mut Index,
    id: NodeIndex,
    (rule, findings): (Option<RuleName>, &Findings),
    now: Timestamp,
) -> Option<Timestamp> {
    let pool = state.node(id).facts.as_ref().map(|facts| facts.pool.clone());
    let also = also_flagging(state, rule.as_ref(), pool.as_ref(), findings);
    let key = pool.zip(rule);
    let changes = |(pool, rule): &(PoolName, RuleName)| {
        let changes = |breakers: &Breakers| breakers.standing(pool, rule, now).changes_at;
        [changes(&state.counts.breakers), changes(&state.counts.dry_run_breakers)].into_iter().flatten().min()
    };
    let changes_at = key.iter().chain(&also).filter_map(changes).min();
    if state.node(id).flagged_by.as_deref() != key.as_ref() || state.node(id).also_flagged_by != also {
        set_flags(state, index, id, key.map(Box::new), also);
    }
    changes_at
}

/// The rules whose findings would remove a node, other than the one that does.
fn also_flagging(
    state: &State,
    accuser: Option<&RuleName>,
    pool: Option<&PoolName>,
    findings: &Findings,
) -> Vec<(PoolName, RuleName)> {
    let flags = |finding: &&Finding| finding.response == Response::Remove && Some(&finding.rule) != accuser;
    let flagging = findings.list.as_slice().iter().filter(flags).filter(|_| state.is_on(Guard::Breaker));
    let rules: BTreeSet<&RuleName> = flagging.map(|finding| &finding.rule).collect();
    rules.into_iter().filter_map(|rule| Some((pool?.clone(), rule.clone()))).collect()
}

/// Replaces the rules that flag a node.
pub(crate) fn set_flags(
    state: &mut State,
    index: &mut Index,
    id: NodeIndex,
    by: Option<Box<(PoolName, RuleName)>>,
    also: Vec<(PoolName, RuleName)>,
) {
    unflag(state, index, id);
    if let Some(key) = by.as_deref() {
        index.flagged.entry(key.clone()).or_default().insert(id);
    }
    for key in &also {
        index.also_flagged.entry(key.clone()).or_default().insert(id);
    }
    let node = state.node_mut(id);
    (node.flagged_by, node.also_flagged_by) = (by, also);
}

/// Whether a node that waits for a stopped rule is among as many as the rule may remove before it is stopped.
pub(crate) fn is_among_first(state: &State, index: &Index, id: NodeIndex) -> bool {
    let node = state.node(id);
    let Some(key) = node.flagged_by.as_deref() else { return false };
    let nodes_max = usize::try_from(size(state, &key.0).nodes_max).unwrap_or(usize::MAX);
    // By name: the order of the table depends on which node came first.
    let is_before = |other: &&NodeIndex| state.node(**other).name < node.name;
    index.flagged.get(key).is_some_and(|flagged| flagged.iter().filter(is_before).take(nodes_max).count() < nodes_max)
}

pub(crate) fn unflag(state: &mut State, index: &mut Index, id: NodeIndex) {
    let node = state.node_mut(id);
    if let Some(key) = node.flagged_by.take() {
        index::unflag(&mut index.flagged, id, &key);
    }
    for key in std::mem::take(&mut node.also_flagged_by) {
        index::unflag(&mut index.also_flagged, id, &key);
    }
}

/// The events in a node's history now; none for a node that is not registered. Taken before a change and passed to
/// [`update`] after it.
pub(crate) fn events(state: &State, id: NodeIndex) -> NodeEvents {
    let node = state.node(id);
    let pool = node.facts.as_ref()?.pool.clone();
    let removed = breaker::happenings(node.status.history.as_slice(), &node.name);
    let dry_run = breaker::on_paper(node.status.proposals.as_slice(), &node.name);
    let all = removed.map(|one| (Counted::Removed, one)).chain(dry_run.map(|one| (Counted::DryRun, one)));
    // An operator's request is not a rule.
    let by_rules = all.filter(|(_, (rule, _))| **rule != REQUEST);
    Some((pool, by_rules.map(|(counted, (rule, one))| (counted, rule.clone(), one)).collect()))
}

/// Counts what changed in a node's history since `before`.
pub(crate) fn update(state: &mut State, index: &mut Index, id: NodeIndex, before: NodeEvents) {
    let after = events(state, id);
    if before == after {
        return;
    }
    let parts = |events: NodeEvents| events.map_or((None, Vec::new()), |(pool, events)| (Some(pool), events));
    let ((old_pool, old), (new_pool, new)) = (parts(before), parts(after));
    let moved = old_pool != new_pool;
    for (pool, event) in old.iter().filter_map(|event| Some((old_pool.as_ref()?, event))) {
        let (counted, rule, one) = event;
        if (moved || !new.contains(event)) && breakers_of(state, *counted).forget(pool, rule, one) {
            index.mark_flagged(&(pool.clone(), rule.clone()));
        }
    }
    for (pool, event) in new.iter().filter_map(|event| Some((new_pool.as_ref()?, event))) {
        let (counted, rule, one) = event;
        let size = size(state, pool);
        if (moved || !old.contains(event)) && breakers_of(state, *counted).note(pool, rule, one, size) {
            index.mark_flagged(&(pool.clone(), rule.clone()));
        }
    }
}

const fn breakers_of(state: &mut State, counted: Counted) -> &mut Breakers {
    match counted {
        Counted::Removed => &mut state.counts.breakers,
        Counted::DryRun => &mut state.counts.dry_run_breakers,
    }
}

/// The limits of a pool's breakers.
pub(crate) fn limits(state: &State, pool: &PoolName) -> BreakerLimits {
    state.policies.get(pool).map(|policy| policy.breaker).unwrap_or_default()
}

/// The limits of the breakers of a pool of this size.
pub(crate) fn size(state: &State, pool: &PoolName) -> Size {
    Size::of(limits(state, pool), state.counts.arbiter.domains.nodes_of(pool))
}

/// The size of a pool or its policy changed.
pub(crate) fn resize(state: &mut State, index: &mut Index, pool: &PoolName, before: Size) {
    let size = size(state, pool);
    if size != before {
        for counted in [Counted::Removed, Counted::DryRun] {
            for rule in breakers_of(state, counted).resize(pool, size) {
                index.mark_flagged(&(pool.clone(), rule));
            }
        }
    }
}
