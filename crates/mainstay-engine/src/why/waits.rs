//! What each wait of a node is on, looked up where it was decided: breakers, budgets, blame, orders, modes, people.

use std::collections::BTreeSet;

use mainstay_health::Findings;
use mainstay_model::{
    ActionKind, Bounded, GangId, Mode, NodeIndex, PlannedWork, RepairStep, RequestKind, Schedulable, Span, Stage, Task,
    Timestamp, WaitingOn,
};
use mainstay_remedy::arbiter::{Ledger, Presence};
use mainstay_remedy::ladder::{self, Climb};
use mainstay_remedy::life::Work;
use mainstay_remedy::limits;
use mainstay_remedy::verdict::UNREACHABLE;

use super::{After, Call, Cap, Doubt, Few, Spent, Unseen, Wait};
use crate::Engine;
use crate::node::Node;
use crate::orders::{action, rung_order, suite_order};
use crate::sight::Witnesses;

impl Engine {
    /// What a node waits on, and until when at most.
    pub(super) fn wait(&self, index: NodeIndex, findings: &Findings, now: Timestamp) -> (Wait, Option<Timestamp>) {
        let node = self.node(index);
        match node.waiting_on {
            WaitingOn::Nothing => (Wait::Nothing, None),
            WaitingOn::Approval => {
                let kind = self.kind_of_stage(node, now);
                (Wait::Approval { action: action(node, kind), kind, cap: self.cap(node, kind) }, None)
            }
            WaitingOn::Breaker => self.breaker_wait(node, now),
            WaitingOn::Budget => (Wait::Budget(self.spent(node, now)), None),
            WaitingOn::Checkpoint => self.checkpoint_wait(node, now),
            WaitingOn::SharedCause => (Wait::SharedCause(self.to_blame(node).map(Box::new)), None),
            WaitingOn::Drain => (Wait::Drain { gangs: gangs(node) }, None),
            WaitingOn::WatchSync => (Wait::WatchSync(self.unseen(index, now)), None),
            WaitingOn::Leadership => (Wait::Leadership, None),
            WaitingOn::Mode => {
                let kind = self.kind_of_stage(node, now);
                (Wait::Mode { action: action(node, kind), kind, cap: self.cap(node, kind) }, None)
            }
            WaitingOn::Order => {
                let then = match self.climb(node, now) {
                    Climb::Try(rung) => Some(rung),
                    Climb::Exhausted => None,
                };
                let order = rung_order(node);
                let mends = |rung: RepairStep| self.gentlest(node).is_some_and(|gentlest| rung >= gentlest);
                let after = match order.filter(|(_, rung)| mends(*rung)) {
                    Some(_) => After::Test { otherwise: then },
                    None => After::Rung(then),
                };
                let until = order.map(|(order, _)| order.expires_at);
                (Wait::Order { order: order.map(|(order, rung)| (order.id.clone(), rung)), after }, until)
            }
            WaitingOn::Operator => (Wait::Operator(self.call(node, now)), None),
            WaitingOn::Qualification => {
                let order = suite_order(node).and_then(|order| match &order.task {
                    Task::Suite(suite) => Some(((order.id.clone(), suite.clone()), order.expires_at)),
                    Task::Rung(_) => None,
                });
                let (order, until) = order.unzip();
                (Wait::Qualification { order }, until)
            }
            WaitingOn::Report => (Wait::Report, None),
            WaitingOn::SecondSignal => match self.witnesses(node, now) {
                Witnesses::One | Witnesses::Both => {
                    let heard_at = node.heard.as_ref().map(|heard| heard.at);
                    let blamed = self.whom(node, &UNREACHABLE.get()).map(Box::new);
                    let until = heard_at.map(|at| at + limits::REPORT_WITHIN);
                    (Wait::SecondSignal(Doubt::Agent { heard_at, blamed }), until)
                }
                Witnesses::Fine => (Wait::SecondSignal(Doubt::Watched), findings.changes_at),
            },
        }
    }

    fn breaker_wait(&self, node: &Node, now: Timestamp) -> (Wait, Option<Timestamp>) {
        let Some((pool, rule)) = node.wanted_by.as_deref() else { return (Wait::Breaker(None), None) };
        let line = self.breakers().into_iter().find(|line| line.pool == *pool && line.rule == *rule);
        let book =
            if line.as_ref().is_some_and(|line| line.is_on_paper) { &self.paper_breakers } else { &self.breakers };
        let changes_at = book.standing(pool, rule, now).changes_at;
        (Wait::Breaker(line.map(Box::new)), changes_at)
    }

    /// Gangs that still have time, and until when the last of them has.
    fn checkpoint_wait(&self, node: &Node, now: Timestamp) -> (Wait, Option<Timestamp>) {
        let owed = || node.gangs.iter().filter_map(|id| Some((id, self.owed_until(node, id, now)?)));
        let until = owed().map(|(_, until)| until).max();
        (Wait::Checkpoint { gangs: Few::of(owed().map(|(id, _)| GangId::clone(id))) }, until)
    }

    /// What keeps an act of this kind from being carried out without a word of people.
    fn cap(&self, node: &Node, kind: ActionKind) -> Cap {
        let Some((pool, policy)) = node.facts.as_ref().map(|facts| &facts.pool).zip(self.policy(node)) else {
            return Cap::NoPolicy;
        };
        let promoted = policy.promotions.get(&kind);
        let mode: Mode = promoted.copied().unwrap_or(policy.mode);
        match (self.cell.mode <= mode, promoted) {
            (true, _) if self.cell.epoch < self.epoch_highest => Cap::Restored,
            (true, _) => Cap::Cell(self.cell.mode),
            (false, Some(_)) => Cap::Kind(pool.clone(), mode),
            (false, None) => Cap::Pool(pool.clone(), mode),
        }
    }

    /// The first budget that has no room for the node, and who has its places.
    fn spent(&self, node: &Node, now: Timestamp) -> Spent {
        let ledger = Self::ledger(node, self.permit_of_stage(node, now));
        let is_counted = |other: &Node| match ledger {
            Ledger::Real => other.presence >= Presence::OutByOthers,
            Ledger::Paper => other.presence >= Presence::OutOnPaper,
            Ledger::Ours => other.presence >= Presence::Out,
        };
        let budgets = self.policy(node).map_or(&[][..], |policy| policy.budgets.as_slice());
        for budget in budgets {
            let Some(domain) = node.membership.at(budget.level) else { continue };
            let most = budget.most.of(self.arbiter.tally(domain).nodes);
            let shares = |other: &&Node| other.name != node.name && other.membership.at(budget.level) == Some(domain);
            let holders = self.names.values().map(|index| self.node(*index)).filter(shares);
            let held_by = Few::of(holders.filter(|other| is_counted(other)).map(|other| other.name.clone()));
            if held_by.all >= most {
                let level = budget.level;
                let domain = level.and_then(|level| node.facts.as_ref()?.domains.get(&level).cloned());
                return Spent::Full { level, domain, most, held_by, counted: ledger };
            }
        }
        Spent::NoBudget
    }

    fn unseen(&self, index: NodeIndex, now: Timestamp) -> Unseen {
        let node = self.node(index);
        let as_of = self.synced_as_of;
        if as_of.is_none_or(|as_of| now.since(as_of) > limits::VIEW_FRESH) {
            return Unseen::View { as_of };
        }
        if !node.is_recorded() {
            return Unseen::Record;
        }
        match node.schedulable() {
            Schedulable::Yes => Unseen::Cordon,
            Schedulable::NotByUs if node.persisted.stage == Stage::InService => Unseen::Uncordon,
            Schedulable::NotByUs | Schedulable::NotByOthers => Unseen::Record,
        }
    }

    fn call(&self, node: &Node, now: Timestamp) -> Call {
        let stage = node.persisted.stage;
        let within = limits::stage_within(stage).unwrap_or(Span::ZERO);
        let is_past = now.since(node.persisted.since) >= within;
        let asked = |kinds: &[RequestKind]| node.request.clone().filter(|request| kinds.contains(&request.kind));
        let gone = self.work(node, now) == Work::Gone;
        let kept = match stage {
            Stage::Held => asked(&[RequestKind::Hold]).map(Call::Withdraw),
            Stage::Quarantined => asked(&[RequestKind::Quarantine]).map(Call::Withdraw),
            Stage::Draining if gone => asked(&[RequestKind::Quarantine, RequestKind::Drain]).map(Call::Withdraw),
            Stage::Repairing if rung_order(node).is_none() && self.climb(node, now) == Climb::Exhausted => {
                let attempts = node.persisted.attempts.as_slice().iter();
                let lately = attempts.filter(|attempt| now.since(attempt.ordered_at) < ladder::WINDOW);
                let tried: BTreeSet<RepairStep> = lately.map(|attempt| attempt.rung).collect();
                Some(Call::Replace {
                    tried: Bounded::try_from(tried.into_iter().collect::<Vec<_>>()).unwrap_or_default(),
                })
            }
            Stage::Qualifying => asked(&[RequestKind::Return]).filter(|_| !is_past).map(Call::Failed),
            Stage::Bootstrapping | Stage::Maintenance | Stage::Upgrading if !is_past => {
                Some(node.planned()).filter(|planned| *planned != PlannedWork::Nothing).map(Call::Finish)
            }
            Stage::Bootstrapping | Stage::Maintenance | Stage::Upgrading | Stage::InService | Stage::Suspect => None,
            Stage::Draining | Stage::Repairing | Stage::Retired => None,
        };
        kept.unwrap_or_else(|| Call::Stuck { within, gangs: gangs(node) })
    }
}

fn gangs(node: &Node) -> Few<GangId> {
    Few::of(node.gangs.iter().map(|id| GangId::clone(id)))
}
