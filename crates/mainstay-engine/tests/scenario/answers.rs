//! Effects and answers that no scenario prints: what is sent again and when, who asked for a removal, and what the engine
//! counts.

use mainstay_engine::Engine;
use mainstay_model::{
    ClaimSource, Effect, Fact, GpusUnavailable, Mode, NodeName, Observation, Outcome, Reason, Span, Stage, Step,
    Timestamp, WaitingOn,
};
use mainstay_remedy::limits;

use crate::words::name;
use crate::world::World;

const OFF_THE_BUS: &str = "says \"NVRM: Xid (PCI:0000:13:00): 79, GPU has fallen off the bus.\"";
const CONTAINED: &str = "says \"NVRM: Xid (PCI:0000:13:00): 94, Contained: SM (0x1). RST: No, D-RST: No\"";

/// A small fleet and the engine that decides about it.
struct Cell {
    world: World,
    engine: Engine,
    evaluated: u64,
}

impl Cell {
    fn new(setting: &[&str]) -> Self {
        let setting: Vec<String> = setting.iter().map(|line| (*line).to_owned()).collect();
        let mut cell = Self { world: World::new(&setting), engine: Engine::new(), evaluated: 0 };
        cell.world.begin(&mut cell.engine);
        cell.settle(Timestamp(0));
        cell
    }

    /// Two racks of two nodes; one node of a rack may be out.
    fn small() -> Self {
        Self::new(&["fleet 2 racks x 2 nodes", "budget 1 out per rack"])
    }

    fn happens(&mut self, event: &str, now: Timestamp) {
        self.world.happen(event, now, &mut self.engine);
    }

    fn observe(&mut self, fact: Fact, at: Timestamp) {
        self.engine.observe(&Observation { at, fact });
    }

    /// One decision without its execution.
    fn decide(&mut self, now: Timestamp) -> Vec<Effect> {
        self.world.sync(now, &mut self.engine);
        let decision = self.engine.decide(now);
        assert_eq!(self.engine.audit(&decision, now), []);
        self.evaluated += decision.evaluated;
        decision.effects
    }

    /// Decides, and the world follows, until nothing is left to do.
    fn settle(&mut self, now: Timestamp) {
        self.settle_until(now, |_| false);
    }

    /// Decides, and the world follows, up to the first decision with such a step, which is not executed.
    fn settle_until(&mut self, now: Timestamp, is_last: fn(&Step) -> bool) -> Vec<Effect> {
        for _ in 0..12 {
            self.world.sync(now, &mut self.engine);
            let decision = self.engine.decide(now);
            self.evaluated += decision.evaluated;
            let is_here = decision.effects.iter().any(|effect| is_last(&effect.step));
            if is_here || !self.world.follow(&decision, now, &mut self.engine) {
                return decision.effects;
            }
        }
        panic!("the world does not come to rest");
    }

    fn wait_of(&self, node: &str) -> (Stage, WaitingOn) {
        let line = self.engine.report(&name(NodeName::parse, node)).unwrap();
        (line.stage, line.waiting_on)
    }
}

fn minute(minute: i64) -> Timestamp {
    Timestamp(minute * 60_000)
}

fn is_cordon(step: &Step) -> bool {
    matches!(step, Step::Cordon)
}

fn is_order(step: &Step) -> bool {
    step.order().is_some()
}

#[test]
fn a_refused_cordon_is_sent_again_after_its_pause_or_when_the_node_changes() {
    let mut cell = Cell::small();
    cell.happens(&format!("r1n1 {OFF_THE_BUS}"), minute(5));
    let effects = cell.settle_until(minute(5), is_cordon);
    let [cordon] = effects.as_slice() else { panic!("{effects:?}") };
    let refused = Fact::Outcome {
        node: cordon.node.clone(),
        effect: cordon.id.clone(),
        gang: None,
        outcome: Outcome::Refused(Reason::lossy("no")),
    };
    cell.observe(refused.clone(), minute(5));
    let again_at = minute(5) + limits::REFUSED_RETRY;
    assert_eq!(cell.decide(again_at - Span(1)), []);
    let again = cell.decide(again_at);
    assert_eq!(again.iter().map(|effect| &effect.id).collect::<Vec<_>>(), [&cordon.id]);
    cell.observe(refused, again_at);
    assert_eq!(cell.decide(again_at), []);
    cell.happens("r1n1 is not ready", again_at);
    let changed = cell.decide(again_at);
    assert!(changed.iter().any(|effect| effect.id == cordon.id), "{changed:?}");
}

#[test]
fn an_order_that_was_lost_is_sent_again_as_it_was() {
    let mut cell = Cell::small();
    cell.happens(&format!("r1n1 {OFF_THE_BUS}"), minute(5));
    let sent = cell.settle_until(minute(5), is_order);
    let [order] = sent.as_slice() else { panic!("{sent:?}") };
    assert_eq!(order.attempt, 1);
    let again_at = minute(5) + limits::EFFECT_RETRY;
    assert_eq!(cell.decide(again_at - Span(1)), []);
    let again = cell.decide(again_at);
    assert_eq!(again.iter().map(|effect| &effect.step).collect::<Vec<_>>(), [&order.step]);
    let start_by = order.step.order().unwrap().order.start_by;
    let late = cell.settle_until(start_by, is_order);
    assert_ne!(late.first().and_then(|effect| effect.step.order()), order.step.order());
}

#[test]
fn a_grant_names_who_asked_for_the_removal() {
    let mut cell = Cell::small();
    cell.happens(&format!("r1n1 {OFF_THE_BUS}"), minute(5));
    cell.happens("ana drains r2n1", minute(5));
    cell.settle(minute(5));
    let by = |node| cell.world.stored(&name(NodeName::parse, node)).unwrap().grant.as_ref().unwrap().by;
    assert_eq!([by("r1n1"), by("r2n1")], [ClaimSource::Fault, ClaimSource::Request]);
}

#[test]
fn a_node_that_is_only_watched_is_no_incident() {
    let mut cell = Cell::small();
    assert_eq!(cell.engine.incidents(), []);
    // Its agent still reports, so one signal of two is missing.
    cell.happens("r1n1 is unreachable", minute(5));
    cell.settle(minute(5));
    assert_eq!((cell.wait_of("r1n1"), cell.engine.incidents().len()), ((Stage::Suspect, WaitingOn::SecondSignal), 0));
    cell.happens(&format!("r2n1 {OFF_THE_BUS}"), minute(6));
    cell.settle(minute(6));
    assert_eq!(cell.engine.incidents().len(), 1);
}

#[test]
fn a_node_that_moves_to_another_rack_counts_there() {
    let mut cell = Cell::small();
    cell.happens("r1n1 is unreachable", minute(5));
    cell.happens("r2n1 moves to rack r1", minute(5));
    cell.happens(&format!("r2n1 {OFF_THE_BUS}"), minute(5));
    cell.settle(minute(5));
    assert_eq!(cell.wait_of("r2n1"), (Stage::Suspect, WaitingOn::Budget));
}

#[test]
fn a_repair_goes_on_when_new_removals_are_no_longer_allowed() {
    let mut cell = Cell::small();
    cell.happens(&format!("r1n1 {CONTAINED}"), minute(5));
    cell.settle(minute(5));
    let mut policy = cell.world.policy.clone();
    policy.promotions.insert(mainstay_model::ActionKind::Cordon, Mode::Observe);
    cell.observe(Fact::Policy(Box::new(policy)), minute(6));
    cell.happens("r1n1 carries out its order", minute(7));
    assert_eq!(cell.settle_until(minute(7), is_order).len(), 1, "the next step of the plan");
}

#[test]
fn agents_are_counted_by_their_last_report() {
    let mut cell = Cell::new(&["fleet 2 racks x 3 nodes", "budget 1 out per rack"]);
    let now = minute(60);
    let node: NodeName = name(NodeName::parse, "r1n1");
    cell.happens("r1n2 reports", now);
    let mut report = cell.world.next_report(&node, false);
    report.inventory.gpus_unavailable = Some(name(GpusUnavailable::parse, "no driver"));
    cell.observe(Fact::Report { node: node.clone(), report: Box::new(report) }, now);
    cell.happens("r2n1 is not ready", now);
    // Its agent was never started.
    let new = Fact::Node { node: name(NodeName::parse, "new"), facts: Box::new(cell.world.facts(&node)) };
    cell.observe(new, now);
    cell.decide(now);
    let agents = cell.engine.agents();
    assert_eq!((agents.reporting, agents.stale, agents.never), (2, 4, 1));
    assert_eq!((agents.missing, agents.without_gpus, agents.all()), (4, 1, 7));
}

#[test]
fn evaluations_and_unknown_lines_are_counted() {
    let mut cell = Cell::small();
    cell.happens("r1n1 says \"mlx5_core 0000:41:00.0: a new error 7 of a new firmware\" x3", minute(5));
    cell.settle(minute(5));
    assert!(cell.evaluated > 4);
    assert_eq!(cell.engine.evaluated(), cell.evaluated);
    let why = cell.engine.why(&name(NodeName::parse, "r1n1")).unwrap();
    let [line] = &why.unrecognised()[..] else { panic!("{:?}", why.unrecognised()) };
    assert!(line.contains(" 3 times, last at 00:05: "), "{line}");
}

#[test]
fn a_retired_node_says_what_brings_it_back() {
    let mut cell = Cell::small();
    cell.happens("ana retires r1n1", minute(5));
    cell.settle(minute(5));
    let why = cell.engine.why(&name(NodeName::parse, "r1n1")).unwrap();
    assert_eq!((why.stage, why.sooner().as_deref()), (Stage::Retired, Some("an operator requests its return")));
}
