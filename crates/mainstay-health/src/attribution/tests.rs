//! A place is the suspected cause while enough of its nodes began to show the same fault at the same time.

use proptest::prelude::*;

use super::*;

fn rule(name: &str) -> RuleName {
    RuleName::parse(name).unwrap()
}

fn domain(level: Level, name: &str) -> NodeGroup {
    NodeGroup::Domain(level, DomainName::parse(name).unwrap())
}

fn show(name: &str, minute: i64, shown: FaultStatus) -> Option<NodeFault> {
    Some(NodeFault { rule: rule(name), since: Timestamp(minute * 60_000), shown })
}

/// A small fleet: 36 nodes on four leaves of three racks each, every third one with another driver.
struct Fleet {
    blame: Attribution,
    nodes: Vec<(Box<[PlaceIndex]>, Option<NodeFault>)>,
}

impl Fleet {
    fn new() -> Self {
        let mut blame = Attribution::default();
        let pool = PoolName::parse("h100").unwrap();
        let place = |node: u32| {
            let version = if node.is_multiple_of(3) { "580.1" } else { "570.1" };
            [
                domain(Level::Rack, &format!("r{}", node / 3)),
                domain(Level::Leaf, &format!("l{}", node / 9)),
                NodeGroup::Driver(pool.clone(), Version::parse(version).unwrap()),
                NodeGroup::Pool(pool.clone()),
            ]
        };
        let nodes = (0..36).map(|node| (blame.join(place(node)).0, None)).collect();
        Self { blame, nodes }
    }

    fn shows(&mut self, node: u32, after: Option<NodeFault>) {
        let (places, before) = &mut self.nodes[node as usize];
        self.blame.turn(NodeIndex::next(node as usize), places, before.as_ref(), after.as_ref());
        *before = after;
    }

    fn blamed(&self) -> Vec<String> {
        let said = |blamed: &SharedCause| {
            let subject = match &blamed.subject {
                Subject::Domain { level, name } => format!("{level:?} {name}"),
                Subject::Driver(version) => format!("driver {version}"),
                Subject::Part { .. } | Subject::Node(_) => "no place".to_owned(),
            };
            format!("{subject}: {} of {} since {}", blamed.nodes.len(), blamed.rule, blamed.since.0 / 60_000)
        };
        self.blame.blamed().iter().map(said).collect()
    }
}

#[test]
fn half_of_a_leaf_within_ten_minutes_is_the_leaf_and_two_of_a_rack_are_two_nodes() {
    let mut fleet = Fleet::new();
    for (node, minute) in [(0, 1), (1, 2), (3, 3), (4, 9)] {
        fleet.shows(node, show("port-down", minute, FaultStatus::Still));
    }
    assert_eq!(fleet.blamed(), Vec::<String>::new());
    fleet.shows(6, show("port-down", 10, FaultStatus::Still));
    assert_eq!(fleet.blamed(), ["Leaf l0: 5 of port-down since 10"]);
    assert!(fleet.blame.explains(&fleet.nodes[7].0, &rule("port-down")).next().is_some());
    assert!(fleet.blame.explains(&fleet.nodes[7].0, &rule("other")).next().is_none());
    assert!(fleet.blame.explains(&fleet.nodes[9].0, &rule("port-down")).next().is_none());
}

#[test]
fn a_leaf_causes_no_memory_errors_and_absorbs_what_else_it_causes() {
    let mut fleet = Fleet::new();
    for node in 0..9 {
        fleet.shows(node, show("memory-uncontained", 1, FaultStatus::Still));
    }
    assert_eq!(fleet.blamed(), Vec::<String>::new());
    let mut fleet = Fleet::new();
    for node in 0..9 {
        fleet.shows(node, show("node-unreachable", 1, FaultStatus::Still));
    }
    for node in 0..6 {
        let places = fleet.nodes[node].0.clone();
        fleet.blame.turn(NodeIndex::next(node), &places, None, show("port-down", 2, FaultStatus::Still).as_ref());
    }
    assert_eq!(fleet.blamed(), ["Leaf l0: 9 of node-unreachable since 1"]);
}

#[test]
fn what_began_slowly_or_is_not_the_same_is_nobody_elses() {
    let mut fleet = Fleet::new();
    for node in 0..9 {
        fleet.shows(node, show("port-down", i64::from(node) * 6, FaultStatus::Still));
    }
    assert_eq!(fleet.blamed(), Vec::<String>::new());
    for node in 0..9 {
        fleet.shows(node, show(&format!("link-{node}"), 1, FaultStatus::Still));
    }
    assert_eq!(fleet.blamed(), Vec::<String>::new());
}

#[test]
fn it_ends_when_fewer_than_a_third_still_show_it() {
    let mut fleet = Fleet::new();
    for node in 0..9 {
        fleet.shows(node, show("port-down", 1, FaultStatus::Still));
    }
    for (node, left) in [0, 3, 6, 1, 4, 7, 2].into_iter().zip([8, 7, 6, 5, 4, 3, 2]) {
        fleet.shows(node, show("port-down", 1, FaultStatus::Before));
        let expected = if left >= 3 { vec![format!("Leaf l0: {left} of port-down since 1")] } else { Vec::new() };
        assert_eq!(fleet.blamed(), expected);
    }
}

#[test]
fn the_rack_is_named_where_only_the_rack_is_sick_and_the_leaf_where_all_of_it_is() {
    let mut fleet = Fleet::new();
    for node in 0..3 {
        fleet.shows(node, show("port-down", 1, FaultStatus::Still));
    }
    assert_eq!(fleet.blamed(), ["Rack r0: 3 of port-down since 1"]);
    for node in 3..8 {
        fleet.shows(node, show("port-down", 2, FaultStatus::Still));
    }
    assert_eq!(fleet.blamed(), ["Leaf l0: 8 of port-down since 2"]);
}

#[test]
fn a_node_has_the_cause_of_the_sickest_of_its_places() {
    let mut fleet = Fleet::new();
    for node in 0..5 {
        fleet.shows(node, show("port-down", 1, FaultStatus::Still));
    }
    let cause = |node: usize, among: fn(&NodeGroup) -> bool| {
        let cause = fleet.blame.blamed_for(&fleet.nodes[node].0, &rule("port-down"), among)?;
        Some(cause.subject.to_string())
    };
    // All of rack r0, and five of the nine nodes of its leaf.
    assert_eq!(cause(0, |_| true).as_deref(), Some("Rack r0"));
    assert_eq!(cause(3, |_| true).as_deref(), Some("Leaf l0"));
    assert_eq!(cause(0, |_| false), None);
}

#[test]
fn a_driver_is_blamed_when_hardly_any_other_shows_it_and_not_when_everybody_runs_it() {
    let mut fleet = Fleet::new();
    for node in (0..36).step_by(3) {
        fleet.shows(node, show("mad", i64::from(node), FaultStatus::Still));
    }
    assert_eq!(fleet.blamed(), ["driver 580.1: 12 of mad since 33"]);
    for node in [1, 13, 22, 31] {
        fleet.shows(node, show("mad", 5, FaultStatus::Still));
    }
    assert_eq!(fleet.blamed(), Vec::<String>::new(), "a quarter of them runs another version");

    let mut fleet = Fleet::new();
    for node in (0..36).filter(|node| node % 3 != 0) {
        fleet.shows(node, show("mad", i64::from(node) * 25 % 60, FaultStatus::Still));
    }
    assert_eq!(fleet.blamed(), Vec::<String>::new(), "two thirds of the pool run it");
}

proptest! {
    #[test]
    fn what_is_blamed_depends_on_what_is_shown_and_not_on_how_it_came(
        turns in prop::collection::vec((0..36_u32, 0..3_u8, 0..20_i64, any::<bool>()), 0..120),
    ) {
        let mut fleet = Fleet::new();
        for (node, which, minute, still) in turns {
            let shown = if still { FaultStatus::Still } else { FaultStatus::Before };
            fleet.shows(node, if which == 0 { None } else { show(&format!("link-{which}"), minute, shown) });
        }
        let mut fresh = Fleet::new();
        for (node, (_, now)) in (0..).zip(fleet.nodes.iter().rev()) {
            fresh.shows(35 - node, now.clone());
        }
        prop_assert_eq!(fleet.blame, fresh.blame);
    }
}
