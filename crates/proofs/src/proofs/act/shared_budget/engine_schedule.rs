//! One drawn schedule against the decision engine alone: every decision is compared with what was visible before it.
//! Some effects are lost, and now and then another leader goes on with what is stored.

use std::collections::BTreeSet;

use anyhow::Result;
use mainstay_engine::{Engine, Guards};
use mainstay_model::{
    Bounded, Budget, Decision, Execution, Fact, Level, Mode, NodeLimit, Observation, OrderOutcome, Policy, Ppm, Ready,
    RequestKind, Step, Timestamp, WaitingOn,
};

use super::fleet::{self, Event, Fleet, POOL};
use super::outage::{Owner, Tally, exceeds};

/// XIDs that flag a node at once, each by another rule. None of them is a fault that a rack can cause.
const XIDS: [&str; 5] = ["95", "94", "64", "119", "48"];
/// Decisions after one event. More would be a loop.
const DECISIONS_MAX: usize = 12;
/// One effect in this number is lost.
const LOST_ONE_IN: usize = 8;
/// The breaker of a rule never stops a node here: a wait would hide the budget.
const NODES_OF_A_RULE: u32 = 1_000;

/// A schedule under way.
struct Schedule {
    random: fastrand::Rng,
    fleet: Fleet,
    engine: Engine,
    guards: Guards,
    /// Budget of each rack, in nodes.
    budgets: Vec<usize>,
    now: Timestamp,
    /// Nodes that this leader granted, stored or not.
    granted: BTreeSet<usize>,
    /// Nodes that wait for a budget.
    waiting: BTreeSet<usize>,
    tally: Tally,
}

/// Runs the schedule of a seed.
pub(super) fn run(seed: u64, guards: &Guards) -> Result<Tally> {
    let mut schedule = Schedule::draw(seed, guards)?;
    schedule.lead()?;
    for _ in 0..schedule.random.usize(30..=60) {
        schedule.pause();
        if schedule.random.usize(..40) == 0 {
            schedule.engine = Engine::guarded(schedule.guards.clone());
            schedule.lead()?;
        } else {
            let event = schedule.event();
            let facts = schedule.fleet.happen(event, schedule.now)?;
            schedule.observe(facts);
        }
        schedule.settle()?;
    }
    Ok(schedule.tally)
}

impl Schedule {
    fn draw(seed: u64, guards: &Guards) -> Result<Self> {
        let mut random = fastrand::Rng::with_seed(seed);
        let racks: Vec<usize> = (0..random.usize(1..=3)).map(|_| random.usize(3..=6)).collect();
        let (limit, percent) = (random.u32(1..=2), random.u32(20..=60));
        let is_share = random.usize(..3) == 0;
        let most = if is_share { NodeLimit::Share(Ppm(percent * 10_000)) } else { NodeLimit::Nodes(limit) };
        let of_rack = |nodes: &usize| if is_share { nodes * percent as usize / 100 } else { limit as usize };
        let budgets = racks.iter().map(of_rack).collect();
        let mut policy = Policy {
            mode: Mode::Act,
            budgets: Bounded::within([Budget { level: Some(Level::Rack), most }]),
            ..Policy::new(POOL.parse()?)
        };
        policy.breaker.nodes_min = NODES_OF_A_RULE;
        let fleet = Fleet::new(&racks, policy, || random.bool())?;
        Ok(Self {
            random,
            fleet,
            engine: Engine::guarded(guards.clone()),
            guards: guards.clone(),
            budgets,
            now: Timestamp(0),
            granted: BTreeSet::new(),
            waiting: BTreeSet::new(),
            tally: Tally { schedules: 1, ..Tally::default() },
        })
    }

    /// Begins with a new engine, which reads everything.
    fn lead(&mut self) -> Result<()> {
        let facts = self.fleet.everything(self.now)?;
        self.granted.clear();
        self.waiting.clear();
        self.observe(facts);
        self.settle()
    }

    fn pause(&mut self) {
        let seconds = match self.random.usize(..8) {
            0..4 => self.random.i64(0..20),
            4..7 => self.random.i64(20..600),
            _ => self.random.i64(600..7_200),
        };
        self.now = Timestamp(self.now.0 + seconds * 1_000);
    }

    fn event(&mut self) -> Event {
        let random = &mut self.random;
        let node = random.usize(..self.fleet.len());
        let owner = Owner::ALL[random.usize(..Owner::ALL.len())];
        match random.usize(..40) {
            0..8 => Event::Mark(node, owner),
            8..15 => Event::Unmark(node, owner),
            15..25 => Event::Xid(node, XIDS[random.usize(..XIDS.len())]),
            25..28 => Event::Request(node, Some(RequestKind::Drain)),
            28 => Event::Request(node, Some(RequestKind::Quarantine)),
            29 => Event::Request(node, Some(RequestKind::Hold)),
            30 => Event::Request(node, Some(RequestKind::Return)),
            31..33 => Event::Request(node, None),
            33 => Event::Ready(node, Ready::Unknown),
            34 => Event::Ready(node, Ready::Yes),
            35 => Event::Untaint(node),
            36 => Event::Execute(node, OrderOutcome::Failed),
            _ => Event::Execute(node, OrderOutcome::Done),
        }
    }

    fn observe(&mut self, facts: Vec<Fact>) {
        for fact in facts {
            self.engine.observe(&Observation { at: self.now, fact });
        }
    }

    /// Decides until there is nothing more to carry out.
    fn settle(&mut self) -> Result<()> {
        for _ in 0..DECISIONS_MAX {
            self.observe(vec![Fact::Synced { as_of: self.now }]);
            let decision = self.engine.decide(self.now);
            self.check(&decision)?;
            let mut is_done = true;
            for effect in decision.effects.iter().filter(|effect| effect.execution == Execution::Ordered) {
                if self.random.usize(..LOST_ONE_IN) > 0 {
                    let facts = self.fleet.carry_out(effect)?;
                    is_done &= facts.is_empty();
                    self.observe(facts);
                }
            }
            if is_done {
                break;
            }
        }
        Ok(())
    }

    /// Counts the nodes that a decision takes, and those that it takes against a budget. A node is taken when
    /// Mainstay decides to treat it, and again when its taint is ordered: others may have taken nodes in between.
    fn check(&mut self, decision: &Decision) -> Result<()> {
        let mut outages = self.fleet.outages();
        let (mut granted, mut cordoned) = (Vec::new(), Vec::new());
        for line in &decision.report {
            let node = fleet::number(&line.node)?;
            if !fleet::is_treated(line.stage) {
                self.granted.remove(&node);
            } else if self.granted.insert(node) && !outages[node].by_mainstay {
                granted.push(node);
            }
            if line.waiting_on != WaitingOn::Budget {
                self.waiting.remove(&node);
            } else if self.waiting.insert(node) {
                self.tally.refused += 1;
            }
        }
        for effect in decision.effects.iter().filter(|effect| effect.execution == Execution::Ordered) {
            let node = fleet::number(&effect.node)?;
            if effect.step == Step::Cordon && !self.fleet.is_tainted(node) {
                cordoned.push(node);
            }
        }
        for node in self.granted.iter().chain(&cordoned) {
            outages[*node].by_mainstay = true;
        }
        for node in granted.iter().chain(&cordoned) {
            let budget = self.budgets[outages[*node].rack];
            self.tally.violations += u64::from(exceeds(&outages, *node, budget));
        }
        for node in granted {
            let count = if outages[node].by_others { &mut self.tally.taken_over } else { &mut self.tally.taken };
            *count += 1;
        }
        Ok(())
    }
}
