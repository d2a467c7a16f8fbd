//! Budgets per domain and for the pool, absolute and relative, actual and dry run, and their recovery.

use mainstay_model::{Bounded, Mode, NodeLimit, Ppm};
use proptest::prelude::*;

use super::*;

fn pool() -> PoolName {
    PoolName::parse("h100").unwrap()
}

fn policy(budgets: &[Budget]) -> Policy {
    Policy { mode: Mode::Act, budgets: Bounded::try_from(budgets.to_vec()).unwrap(), ..Policy::new(pool()) }
}

fn in_rack(rack: &str) -> BTreeMap<Level, DomainName> {
    BTreeMap::from([(Level::Rack, DomainName::parse(rack).unwrap())])
}

#[test]
fn a_floor_counts_dry_runs_for_dry_runs_and_never_blocks_a_node_that_gets_no_jobs() {
    let mut domains = Domains::default();
    let node = domains.join(&pool(), &in_rack("r1"), Presence::In);
    domains.join(&pool(), &in_rack("r1"), Presence::OutOnPaper);
    let lost = domains.join(&pool(), &in_rack("r1"), Presence::OutByOthers);
    let floor = |nodes| NodeLimit::Nodes(nodes);
    // Two of three nodes are in service; a dry run sees one.
    assert!(domains.keeps_floor(floor(1), &node, Ledger::Real) && !domains.keeps_floor(floor(2), &node, Ledger::Real));
    assert!(
        domains.keeps_floor(floor(0), &node, Ledger::Paper) && !domains.keeps_floor(floor(1), &node, Ledger::Paper)
    );
    assert!(domains.keeps_floor(floor(3), &lost, Ledger::Ours));
}

#[test]
fn one_node_out_of_a_rack_leaves_no_room_for_a_second_and_the_next_rack_is_free() {
    let one_per_rack = policy(&[Budget { level: Some(Level::Rack), most: NodeLimit::Nodes(1) }]);
    let mut arbiter = Domains::default();
    let first = arbiter.join(&pool(), &in_rack("r1"), Presence::In);
    let second = arbiter.join(&pool(), &in_rack("r1"), Presence::In);
    let elsewhere = arbiter.join(&pool(), &in_rack("r2"), Presence::In);
    let room = |arbiter: &Domains, node| arbiter.room(Some(&one_per_rack), node, Ledger::Real);

    arbiter.shift(&first, Presence::In, Presence::Out);
    assert_eq!(room(&arbiter, &second), Room::Spent(one_per_rack.budgets.as_slice()[0]));
    assert_eq!(room(&arbiter, &elsewhere), Room::Free);
    arbiter.shift(&first, Presence::Out, Presence::In);
    assert_eq!(room(&arbiter, &second), Room::Free);
}

#[test]
fn a_share_is_rounded_down_and_no_budget_is_not_unlimited() {
    let mut arbiter = Domains::default();
    let nodes: Vec<_> = (0..19).map(|_| arbiter.join(&pool(), &BTreeMap::new(), Presence::In)).collect();
    let five_percent = policy(&[Budget { level: None, most: NodeLimit::Share(Ppm(50_000)) }]);
    assert!(matches!(arbiter.room(Some(&five_percent), &nodes[0], Ledger::Real), Room::Spent(_)));
    arbiter.join(&pool(), &BTreeMap::new(), Presence::In);
    assert_eq!(arbiter.room(Some(&five_percent), &nodes[0], Ledger::Real), Room::Free);
    assert_eq!(arbiter.room(Some(&policy(&[])), &nodes[0], Ledger::Real), Room::NoBudget);
    assert_eq!(arbiter.room(None, &nodes[0], Ledger::Real), Room::NoBudget);
}

#[test]
fn what_is_out_on_paper_holds_back_paper_and_nothing_real() {
    let one = policy(&[Budget { level: None, most: NodeLimit::Nodes(1) }]);
    let mut arbiter = Domains::default();
    arbiter.join(&pool(), &BTreeMap::new(), Presence::OutOnPaper);
    let other = arbiter.join(&pool(), &BTreeMap::new(), Presence::In);
    assert!(matches!(arbiter.room(Some(&one), &other, Ledger::Paper), Room::Spent(_)));
    assert_eq!(arbiter.room(Some(&one), &other, Ledger::Real), Room::Free);
}

#[test]
fn nodes_without_a_label_share_one_budget() {
    let one_per_rack = policy(&[Budget { level: Some(Level::Rack), most: NodeLimit::Nodes(1) }]);
    let mut arbiter = Domains::default();
    arbiter.join(&pool(), &BTreeMap::new(), Presence::Out);
    let other = arbiter.join(&pool(), &BTreeMap::new(), Presence::In);
    assert!(matches!(arbiter.room(Some(&one_per_rack), &other, Ledger::Real), Room::Spent(_)));
}

#[test]
fn a_node_that_leaves_counts_nowhere() {
    let mut domains = Domains::default();
    domains.join(&pool(), &in_rack("r1"), Presence::In);
    let leaves = domains.join(&pool(), &in_rack("r1"), Presence::Out);
    domains.leave(&leaves, Presence::Out);
    let mut fresh = Domains::default();
    fresh.join(&pool(), &in_rack("r1"), Presence::In);
    assert!(domains.counts().eq(fresh.counts()));
    assert_eq!(domains.nodes_of(&pool()), 1);
}

#[test]
fn a_removal_stands_as_long_as_every_budget_is_kept() {
    let one_per_rack = policy(&[Budget { level: Some(Level::Rack), most: NodeLimit::Nodes(1) }]);
    let mut domains = Domains::default();
    let first = domains.join(&pool(), &in_rack("r1"), Presence::Out);
    let second = domains.join(&pool(), &in_rack("r1"), Presence::In);
    let stands = |domains: &Domains, policy: Option<&Policy>| domains.holds(policy, &first, Ledger::Real);
    assert!(stands(&domains, Some(&one_per_rack)));
    assert!(!stands(&domains, Some(&policy(&[]))) && !stands(&domains, None), "no budget is not unlimited");
    domains.shift(&second, Presence::In, Presence::Out);
    assert!(!stands(&domains, Some(&one_per_rack)));
}

#[test]
fn a_floor_that_others_reached_meanwhile_stops_a_removal() {
    let floored =
        Policy { floor: Some(NodeLimit::Nodes(1)), ..policy(&[Budget { level: None, most: NodeLimit::Nodes(2) }]) };
    let mut domains = Domains::default();
    let first = domains.join(&pool(), &in_rack("r1"), Presence::Out);
    let second = domains.join(&pool(), &in_rack("r2"), Presence::In);
    assert!(domains.holds(Some(&floored), &first, Ledger::Real));
    domains.shift(&second, Presence::In, Presence::OutByOthers);
    assert!(!domains.holds(Some(&floored), &first, Ledger::Real));
    assert!(domains.holds(Some(&floored), &first, Ledger::Ours), "a node that gets no jobs anyway lowers nothing");
}

#[test]
fn what_only_a_technician_can_bring_back_holds_a_place_only_without_a_floor() {
    let one = policy(&[Budget { level: None, most: NodeLimit::Nodes(1) }]);
    let floored = Policy { floor: Some(NodeLimit::Nodes(1)), ..one.clone() };
    for parked in [Presence::WaitsForPart, Presence::UnreachableForGood, Presence::Retired] {
        let mut domains = Domains::default();
        domains.join(&pool(), &BTreeMap::new(), parked);
        let other = domains.join(&pool(), &BTreeMap::new(), Presence::In);
        assert!(matches!(domains.room(Some(&one), &other, Ledger::Real), Room::Spent(_)));
        assert_eq!(domains.room(Some(&floored), &other, Ledger::Real), Room::Free);
        // The floor counts it as missing.
        assert!(!domains.keeps_floor(NodeLimit::Nodes(1), &other, Ledger::Real));
        assert!(parked.holds_place(Ledger::Real, Some(&one)) && !parked.holds_place(Ledger::Real, Some(&floored)));
    }
    // A partition looks like many dead nodes, and no floor limits those.
    assert!(Presence::UnreachableForGood.holds_place(Ledger::Ours, Some(&floored)));
    assert!(Presence::WaitsForPart.holds_place(Ledger::Ours, Some(&one)));
    assert!(!Presence::WaitsForPart.holds_place(Ledger::Ours, Some(&floored)));
    assert!(!Presence::Retired.holds_place(Ledger::Ours, Some(&one)));
    let ours = [Presence::WaitsForPart, Presence::UnreachableForGood, Presence::Out];
    assert!(ALL.into_iter().all(|presence| presence.is_ours() == ours.contains(&presence)));
}

const ALL: [Presence; 7] = [
    Presence::In,
    Presence::OutOnPaper,
    Presence::Retired,
    Presence::OutByOthers,
    Presence::WaitsForPart,
    Presence::UnreachableForGood,
    Presence::Out,
];

#[test]
fn every_domain_with_nodes_is_counted() {
    let mut domains = Domains::default();
    domains.join(&pool(), &in_rack("r1"), Presence::Out);
    let racks = domains.counts().filter_map(|(_, domain, tally)| {
        let (level, name) = domain?;
        (level == Level::Rack).then(|| (name.map(ToString::to_string), tally.nodes, tally.out))
    });
    assert_eq!(racks.collect::<Vec<_>>(), [(Some("r1".to_owned()), 1, 1)]);
}

proptest! {
    #[test]
    fn counts_equal_a_count_from_nothing(moves in prop::collection::vec((0..4_usize, 0..ALL.len()), 0..60)) {
        let racks = ["r1", "r1", "r2", "r2"];
        let mut arbiter = Domains::default();
        let mut now = [Presence::In; 4];
        let nodes: Vec<_> = racks.iter().map(|rack| arbiter.join(&pool(), &in_rack(rack), Presence::In)).collect();
        for (node, to) in moves {
            let to = ALL[to];
            arbiter.shift(&nodes[node], now[node], to);
            now[node] = to;
        }
        let mut fresh = Domains::default();
        for (rack, presence) in racks.iter().zip(now) {
            fresh.join(&pool(), &in_rack(rack), presence);
        }
        prop_assert!(arbiter.counts().eq(fresh.counts()));
    }
}
