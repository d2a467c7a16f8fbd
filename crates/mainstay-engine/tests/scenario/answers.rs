//! Effects and answers that no scenario prints: what is sent again and when, who asked for a removal, and what the engine
//! counts.

use mainstay_engine::why::{Unseen, Wait};
use mainstay_engine::{Engine, Incident};
use mainstay_model::{
    BreakerLimits, ClaimSource, Effect, Fact, GpusUnavailable, Mode, Need, NodeName, Observation, Outcome, Reason,
    Resolution, RuleName, Span, Stage, Step, Subject, Timestamp, Version, WaitingOn,
};
use mainstay_remedy::limits;

use crate::words::name;
use crate::world::World;

const OFF_THE_BUS: &str = "says \"NVRM: Xid (PCI:0000:13:00): 79, GPU has fallen off the bus.\"";
const CONTAINED: &str = "says \"NVRM: Xid (PCI:0000:13:00): 94, Contained: SM (0x1). RST: No, D-RST: No\"";

const UNCONTAINED: &str =
    "says \"NVRM: Xid (PCI:0000:13:00): 95, Uncontained: LTC TAG (0x2,0x0). RST: Yes, D-RST: No\"";
const REMAP: &str =
    "says \"NVRM: Xid (PCI:0000:13:00): 63, Row Remapper: New row marked for remapping, reset gpu to activate.\"";

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
    // A report alone is no reason to repeat it.
    cell.happens("r1n1 reports", again_at - Span(1));
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
fn a_grant_is_for_the_claim_that_was_ruled_and_rises_with_the_treatment() {
    let mut cell = Cell::small();
    cell.happens(&format!("r1n1 {OFF_THE_BUS}"), minute(5));
    cell.happens("ana quarantines r1n1", minute(5));
    cell.happens("ana quarantines r2n1", minute(5));
    cell.settle(minute(5));
    let granted = |cell: &Cell, node| {
        let grant = cell.world.stored(&name(NodeName::parse, node)).unwrap().grant.clone().unwrap();
        (grant.by, grant.needs)
    };
    // Her request removes the faulty node as well, and needs no more than a cordon.
    let asked = (ClaimSource::Request, Need::Cordon);
    assert_eq!([granted(&cell, "r1n1"), granted(&cell, "r2n1")], [asked, asked]);
    cell.happens("ana drains r2n1", minute(6));
    cell.settle(minute(6));
    assert_eq!(granted(&cell, "r2n1"), (ClaimSource::Request, Need::Stop));
    cell.happens("ana returns r2n1", minute(7));
    cell.settle(minute(7));
    assert_eq!(cell.wait_of("r2n1"), (Stage::Qualifying, WaitingOn::Qualification));
    assert_eq!(granted(&cell, "r2n1"), (ClaimSource::Request, Need::Exclusive));
    // The repair of the fault needs the node for itself.
    cell.happens("ana releases r1n1", minute(7));
    cell.settle(minute(7));
    assert_eq!(cell.wait_of("r1n1"), (Stage::Repairing, WaitingOn::Order));
    assert_eq!(granted(&cell, "r1n1"), (ClaimSource::Request, Need::Exclusive));
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

/// The open incidents: cause, rule and number of nodes.
fn incidents(cell: &Cell) -> Vec<String> {
    let line = |one: &Incident| format!("{}: {} on {}", one.subject, one.rule, one.nodes.len());
    cell.engine.incidents().iter().map(line).collect()
}

/// The leaf of racks 1 and 2 is down: four of its six nodes are not seen, and two report a port that is down.
fn leaf_down(cell: &mut Cell, from: i64) {
    for node in ["r1n3", "r2n1", "r2n2", "r2n3"] {
        cell.happens(&format!("{node} is unreachable"), minute(from));
    }
    for at in [from, from + 5] {
        for node in ["r1n1", "r1n2"] {
            cell.happens(&format!("{node} nic 2 reads port 1 down"), minute(at));
        }
        cell.settle(minute(at));
    }
}

const THREE_A_RACK: [&str; 2] = ["fleet 10 racks x 3 nodes", "budget 30 out"];

#[test]
fn a_leaf_that_is_down_is_one_incident_whatever_its_nodes_report() {
    let mut cell = Cell::new(&THREE_A_RACK);
    leaf_down(&mut cell, 5);
    assert_eq!(incidents(&cell), ["Leaf leaf1: node-unreachable on 6"]);
}

#[test]
fn symptoms_that_are_equally_frequent_are_one_incident() {
    let mut cell = Cell::new(&THREE_A_RACK);
    for at in [5, 10] {
        for node in ["r1n1", "r1n2", "r2n1"] {
            cell.happens(&format!("{node} nic 2 reads port 1 down"), minute(at));
        }
    }
    for node in ["r1n3", "r2n2", "r2n3"] {
        cell.happens(&format!("{node} is unreachable"), minute(10));
    }
    cell.settle(minute(10));
    let [incident] = &incidents(&cell)[..] else { panic!("{:?}", incidents(&cell)) };
    assert!(incident.starts_with("Leaf leaf1: ") && incident.ends_with(" on 6"), "{incident}");
}

#[test]
fn a_faulty_sensor_of_a_driver_and_a_leaf_that_is_down_are_two_incidents() {
    let driver = ["r1n1", "r3n1", "r4n1", "r5n1", "r6n1", "r7n1", "r8n1", "r9n1", "r10n1", "r8n2", "r9n2", "r10n2"];
    let on = format!("driver 590.48.01 on {}", driver.join(" "));
    let mut cell = Cell::new(&[THREE_A_RACK[0], THREE_A_RACK[1], &on]);
    leaf_down(&mut cell, 5);
    for node in driver {
        cell.happens(&format!("{node} {REMAP}"), minute(11));
    }
    cell.settle(minute(11));
    assert_eq!(incidents(&cell), ["driver 590.48.01: remap-recorded on 12", "Leaf leaf1: node-unreachable on 6"]);
}

#[test]
fn what_no_shared_cause_explains_is_an_incident_of_its_node() {
    let mut cell = Cell::new(&THREE_A_RACK);
    // One GPU fell off the bus an hour before; a switch causes no memory error.
    cell.happens(&format!("r2n3 {OFF_THE_BUS}"), minute(5));
    cell.settle(minute(5));
    for (rack, node) in (1..=10).flat_map(|rack| (1..=3).map(move |node| (rack, node))) {
        cell.happens(&format!("r{rack}n{node} reports"), minute(65));
    }
    leaf_down(&mut cell, 65);
    cell.happens(&format!("r1n1 {UNCONTAINED}"), minute(71));
    cell.settle(minute(71));
    assert_eq!(
        incidents(&cell),
        [
            "Leaf leaf1: node-unreachable on 5",
            "node r1n1: memory-uncontained on 1",
            "Gpu r2n3-gpu3: gpu-off-the-bus on 1",
        ]
    );
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

#[test]
fn the_next_step_of_a_repair_is_its_own_first_attempt() {
    let mut cell = Cell::small();
    cell.happens(&format!("r1n1 {OFF_THE_BUS}"), minute(5));
    cell.settle(minute(5));
    cell.happens("r1n1 carries out its order", minute(7));
    let sent = cell.settle_until(minute(7), is_order);
    let attempts: Vec<u32> = sent.iter().map(|effect| effect.attempt).collect();
    assert_eq!(attempts, [1], "{sent:?}");
}

#[test]
fn only_an_order_that_was_stored_counts_as_an_attempt_after_a_hold() {
    let attempts_after_hold = |is_stored: bool| {
        let mut cell = Cell::small();
        cell.happens(&format!("r1n1 {OFF_THE_BUS}"), minute(5));
        if is_stored {
            cell.settle(minute(5));
        } else {
            assert_eq!(cell.settle_until(minute(5), is_order).len(), 1);
        }
        cell.happens("ana holds r1n1", minute(6));
        cell.settle(minute(6));
        let stored = cell.world.stored(&name(NodeName::parse, "r1n1")).unwrap();
        assert_eq!(stored.stage, Stage::Held);
        stored.attempts.as_slice().len()
    };
    assert_eq!(attempts_after_hold(false), 0);
    assert_eq!(attempts_after_hold(true), 1);
}

#[test]
fn new_evidence_alone_is_stored_after_a_pause_in_another_boot_too() {
    let page_fault = "r1n1 says \"NVRM: Xid (PCI:0000:13:00): 31, pid=1, name=python, MMU Fault\"";
    let is_store = |step: &Step| matches!(step, Step::Store(_));
    let mut cell = Cell::small();
    cell.happens(page_fault, minute(5));
    assert_eq!(cell.settle_until(minute(5), is_store).len(), 1, "the first is stored immediately");
    cell.settle(minute(5));
    cell.happens("r1n1 boots by itself", minute(5) + Span(1));
    cell.happens(page_fault, minute(5) + Span(1));
    assert_eq!(cell.decide(minute(5) + Span(1)), []);
    assert_eq!(cell.settle_until(minute(6), is_store).len(), 1);
}

#[test]
fn a_new_part_confirms_the_rule_when_the_node_returns_and_not_before() {
    let mut cell = Cell::small();
    cell.happens("r1n1 says \"NVRM: Xid (PCI:0000:13:00): 64, Row Remapper: Failed to remap the row.\"", minute(5));
    cell.settle(minute(5));
    cell.happens("r1n1 has gpu 3 replaced", minute(6));
    cell.happens("ana returns r1n1", minute(6));
    cell.settle(minute(6));
    let last = |cell: &Cell| {
        let stored = cell.world.stored(&name(NodeName::parse, "r1n1")).unwrap();
        stored.history.as_slice().last().map(|transition| (transition.to, transition.word)).unwrap()
    };
    assert_eq!(last(&cell), (Stage::Qualifying, None));
    cell.happens("ana holds r1n1", minute(7));
    cell.settle(minute(7));
    assert_eq!(last(&cell), (Stage::Held, None));
    cell.happens("ana returns r1n1", minute(8));
    cell.settle(minute(8));
    cell.happens("r1n1 qualifies", minute(9));
    cell.settle(minute(9));
    assert_eq!(last(&cell), (Stage::InService, Some(Resolution::FaultFound)));
}

#[test]
fn a_view_counts_as_old_only_after_its_limit() {
    let mut cell = Cell::small();
    cell.happens("the backend does nothing", minute(5));
    cell.happens(&format!("r1n1 {OFF_THE_BUS}"), minute(5));
    cell.decide(minute(5));
    let limit = minute(5) + limits::VIEW_FRESH;
    let mut unseen = |now| {
        cell.engine.decide(now);
        cell.engine.why(&name(NodeName::parse, "r1n1")).unwrap().wait
    };
    assert_eq!(unseen(limit), Wait::WatchSync(Unseen::Record));
    assert_eq!(unseen(limit + Span(1)), Wait::WatchSync(Unseen::View { as_of: Some(minute(5)) }));
}

#[test]
fn a_new_leader_acts_only_on_a_view_from_its_leadership() {
    let mut cell = Cell::small();
    cell.decide(minute(5));
    cell.happens("the view goes stale", minute(6));
    cell.happens("epoch 2", minute(6));
    cell.happens(&format!("r1n1 {OFF_THE_BUS}"), minute(6));
    // The view is a minute old: recent, but from before the leadership.
    let is_on_node = |step: &Step| !matches!(step, Step::Store(_));
    let before = cell.settle_until(minute(6), is_on_node);
    assert!(before.iter().all(|effect| !is_on_node(&effect.step)), "{before:?}");
    assert_eq!(cell.wait_of("r1n1"), (Stage::Quarantined, WaitingOn::WatchSync));
    cell.observe(Fact::Synced { as_of: minute(6) - Span(1) }, minute(7));
    assert_eq!(cell.settle_until(minute(7), is_on_node), []);
    cell.observe(Fact::Synced { as_of: minute(6) }, minute(7));
    let after = cell.settle_until(minute(7), is_on_node);
    assert!(after.iter().any(|effect| is_cordon(&effect.step)), "{after:?}");
}

#[test]
fn a_shared_cause_names_the_error_of_its_rule_and_not_of_another() {
    let mut cell = Cell::small();
    cell.happens(&format!("r1n1 {CONTAINED}"), minute(5));
    cell.happens("r1n1 says \"NVRM: Xid (PCI:0000:14:00): 79, GPU has fallen off the bus.\"", minute(5));
    cell.settle(minute(5));
    let driver = Subject::Driver(name(Version::parse, "580.95.05"));
    for (rule, title) in [
        ("gpu-off-the-bus", "Driver 580.95.05, 1 node: GPU fell off the bus (XID 79)"),
        ("memory-contained", "Driver 580.95.05, 1 node: GPU had a contained memory error (XID 94)"),
    ] {
        let fault = cell.engine.fault(&driver, &name(RuleName::parse, rule), &[name(NodeName::parse, "r1n1")]);
        assert_eq!(fault.title, title);
    }
}

#[test]
fn a_freeze_is_shown_before_a_budget_that_others_used_up() {
    let mut cell = Cell::new(&["fleet 2 racks x 3 nodes", "budget 1 out per rack"]);
    cell.happens("r1n2 is cordoned by others", minute(5));
    cell.happens("r1n3 is cordoned by others", minute(5));
    cell.happens("fault removals are frozen until 00:30", minute(5));
    cell.happens(&format!("r1n1 {OFF_THE_BUS}"), minute(5));
    cell.settle(minute(5));
    assert_eq!(cell.wait_of("r1n1"), (Stage::Suspect, WaitingOn::Freeze));
    cell.settle(minute(30));
    assert_eq!(cell.wait_of("r1n1"), (Stage::Suspect, WaitingOn::Budget));
}

#[test]
fn a_pool_sets_the_limits_of_its_breakers() {
    let mut cell = Cell::small();
    let mut policy = cell.world.policy.clone();
    policy.breaker = BreakerLimits { nodes_min: 1, window: Span::minutes(20), ..BreakerLimits::default() };
    cell.observe(Fact::Policy(Box::new(policy)), minute(4));
    cell.happens(&format!("r1n1 {OFF_THE_BUS}"), minute(5));
    cell.settle(minute(5));
    cell.happens(&format!("r2n1 {OFF_THE_BUS}"), minute(6));
    cell.settle(minute(6));
    assert_eq!(cell.wait_of("r2n1"), (Stage::Suspect, WaitingOn::Breaker));
    let lines = cell.engine.breakers();
    let [line] = lines.as_slice() else { panic!("{lines:?}") };
    assert_eq!((line.window, line.condemned, line.waiting), (Span::minutes(20), 1, 1));
}

#[test]
fn a_budget_shows_its_fullest_rack_and_the_first_of_equal_ones() {
    let mut cell = Cell::small();
    cell.happens("r2n1 moves to rack r1", minute(5));
    let shown = |cell: &mut Cell| {
        cell.decide(minute(5));
        cell.engine.budgets().iter().map(|line| (line.nodes, line.out, line.most)).collect::<Vec<_>>()
    };
    assert_eq!(shown(&mut cell), [(3, 0, 1)]);
    cell.happens("r2n2 is cordoned by others", minute(5));
    assert_eq!(shown(&mut cell), [(1, 1, 1)]);
    cell.happens("r1n1 is cordoned by others", minute(5));
    assert_eq!(shown(&mut cell), [(3, 1, 1)]);
}
