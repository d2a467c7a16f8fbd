//! Each limit alone, every source of claims under the same limits, and random claims that never exceed a limit.

use std::collections::{BTreeMap, BTreeSet};

use mainstay_model::{
    Bounded, Budget, ClaimId, DomainName, GangId, Level, Mode, NodeLimit, NodeName, RateLimit, Span, Urgency,
    WeeklyWindow,
};
use proptest::prelude::*;

use super::*;
use crate::domains::Presence;

/// Monday, 2026-11-16, 00:00 UTC.
const MONDAY: Timestamp = Timestamp(1_794_787_200_000);
const RACKS: u8 = 4;
const NODES_PER_RACK: u8 = 4;

/// One pool of four racks with four nodes each, and the grants so far.
struct Fleet {
    arbiter: Arbiter,
    policy: Policy,
    nodes: BTreeMap<NodeName, Membership>,
    freezes: Vec<Freeze>,
    granted: Vec<(Timestamp, Claim)>,
}

fn pool() -> PoolName {
    PoolName::parse("h100").unwrap()
}

fn node(rack: u8, number: u8) -> NodeName {
    NodeName::parse(&format!("r{rack}n{number}")).unwrap()
}

fn claim(by: ClaimSource, needs: Need, target: ClaimTarget) -> Claim {
    let id = match &target {
        ClaimTarget::Node(node) => ClaimId::of(by, node.as_str(), 1),
        ClaimTarget::Gang(gang) => ClaimId::of(by, gang.name.as_str(), 1),
    };
    Claim { id, by, needs, target, urgency: Urgency::NextCheckpoint, start_after: Timestamp(0), deadline: None }
}

fn fault(rack: u8, number: u8) -> Claim {
    claim(ClaimSource::Fault, Need::Exclusive, ClaimTarget::Node(node(rack, number)))
}

fn request(rack: u8, number: u8) -> Claim {
    claim(ClaimSource::Request, Need::Stop, ClaimTarget::Node(node(rack, number)))
}

/// A source of claims: planned maintenance of one rack in a stated time.
fn maintenance(rack: u8, from: Timestamp, to: Timestamp) -> Vec<Claim> {
    let of = |number| {
        let target = ClaimTarget::Node(node(rack, number));
        Claim { start_after: from, deadline: Some(to), ..claim(ClaimSource::Window, Need::Exclusive, target) }
    };
    (0..NODES_PER_RACK).map(of).collect()
}

/// A source of claims: a rollout to every node.
fn rollout() -> Vec<Claim> {
    let nodes = (0..RACKS).flat_map(|rack| (0..NODES_PER_RACK).map(move |number| node(rack, number)));
    nodes.map(|node| claim(ClaimSource::Rollout, Need::Exclusive, ClaimTarget::Node(node))).collect()
}

/// A source of claims: a job with a higher priority takes the place of a gang.
fn preemption(gang: &str) -> Claim {
    let gang = GangId { namespace: "team".parse().unwrap(), name: gang.parse().unwrap() };
    claim(ClaimSource::Preemption, Need::Stop, ClaimTarget::Gang(gang))
}

impl Fleet {
    fn new(change: impl FnOnce(&mut Policy)) -> Self {
        let budgets = vec![
            Budget { level: Some(Level::Rack), most: NodeLimit::Nodes(1) },
            Budget { level: None, most: NodeLimit::Nodes(3) },
        ];
        let mut policy = Policy::new(pool());
        policy.mode = Mode::Act;
        policy.budgets = Bounded::try_from(budgets).unwrap();
        change(&mut policy);
        let (mut arbiter, mut nodes) = (Arbiter::default(), BTreeMap::new());
        for (rack, number) in (0..RACKS).flat_map(|rack| (0..NODES_PER_RACK).map(move |number| (rack, number))) {
            let domains = BTreeMap::from([(Level::Rack, DomainName::parse(&format!("r{rack}")).unwrap())]);
            nodes.insert(node(rack, number), arbiter.domains.join(&pool(), &domains, Presence::In));
        }
        Self { arbiter, policy, nodes, freezes: Vec::new(), granted: Vec::new() }
    }

    fn rule(&self, claim: &Claim, permit: Permit, now: Timestamp) -> Ruling {
        let none = Membership::default();
        let membership = match &claim.target {
            ClaimTarget::Node(node) => &self.nodes[node],
            ClaimTarget::Gang(_) => &none,
        };
        let (pool, policy) = (&self.policy.pool, Some(&self.policy));
        let freezes = self.freezes.as_slice();
        self.arbiter.rule(
            claim,
            &Situation { pool, policy, membership, ledger: Ledger::Real, takes_capacity: true, permit, freezes, now },
        )
    }

    /// Rules on a claim and counts the grant.
    fn ask(&mut self, claim: &Claim, now: Timestamp) -> Ruling {
        let ruling = self.rule(claim, Permit::Granted, now);
        if ruling == Ruling::Granted && claim.needs > Need::Avoid {
            let name = match &claim.target {
                ClaimTarget::Node(node) => {
                    self.arbiter.domains.shift(&self.nodes[node], Presence::In, Presence::Out);
                    node.clone()
                }
                ClaimTarget::Gang(gang) => NodeName::parse(gang.name.as_str()).unwrap(),
            };
            self.arbiter.rates.note(&pool(), now, &name);
            self.granted.push((now, claim.clone()));
        }
        ruling
    }

    fn ask_all(&mut self, claims: &[Claim], now: Timestamp) -> usize {
        claims.iter().filter(|claim| self.ask(claim, now) == Ruling::Granted).count()
    }

    fn returns(&mut self, node: &NodeName) {
        self.arbiter.domains.shift(&self.nodes[node], Presence::Out, Presence::In);
    }
}

fn waits(on: WaitingOn) -> Ruling {
    Ruling::Waits(on, None)
}

#[test]
fn a_fault_and_a_request_share_one_budget() {
    let mut fleet = Fleet::new(|_| {});
    assert_eq!(fleet.ask(&fault(0, 0), MONDAY), Ruling::Granted);
    assert_eq!(fleet.ask(&request(0, 1), MONDAY), waits(WaitingOn::Budget));
    assert_eq!(fleet.ask(&request(1, 0), MONDAY), Ruling::Granted);
    assert_eq!(fleet.ask(&fault(2, 0), MONDAY), Ruling::Granted);
    assert_eq!(fleet.ask(&fault(3, 0), MONDAY), waits(WaitingOn::Budget));
    fleet.returns(&node(0, 0));
    assert_eq!(fleet.ask(&request(0, 1), MONDAY), Ruling::Granted);
}

#[test]
fn a_node_that_is_only_avoided_uses_no_budget() {
    let mut fleet = Fleet::new(|policy| policy.budgets = Bounded::new());
    let avoid = Claim { needs: Need::Avoid, ..fault(0, 0) };
    assert_eq!(fleet.ask(&avoid, MONDAY), Ruling::Granted);
    assert_eq!(fleet.ask(&fault(0, 0), MONDAY), waits(WaitingOn::Budget));
    assert_eq!(fleet.rule(&avoid, Permit::OnPaper, MONDAY), waits(WaitingOn::Mode));
}

#[test]
fn the_floor_keeps_nodes_in_service_whatever_the_budgets_allow() {
    let mut fleet = Fleet::new(|policy| policy.floor = Some(NodeLimit::Nodes(14)));
    assert_eq!(fleet.ask_all(&[fault(0, 0), fault(1, 0)], MONDAY), 2);
    assert_eq!(fleet.ask(&fault(2, 0), MONDAY), waits(WaitingOn::CapacityFloor));
    fleet.returns(&node(0, 0));
    assert_eq!(fleet.ask(&fault(2, 0), MONDAY), Ruling::Granted);
}

#[test]
fn the_rate_limits_grants_even_when_nodes_return_quickly() {
    let mut fleet = Fleet::new(|policy| policy.rate = Some(RateLimit { grants: 2, per: Span::hours(1) }));
    for rack in 0..2 {
        assert_eq!(fleet.ask(&fault(rack, 0), MONDAY), Ruling::Granted);
        fleet.returns(&node(rack, 0));
    }
    let hour = MONDAY + Span::hours(1);
    assert_eq!(fleet.ask(&fault(2, 0), MONDAY), Ruling::Waits(WaitingOn::RateLimit, Some(hour)));
    assert_eq!(fleet.ask(&fault(2, 0), hour), Ruling::Granted);
}

#[test]
fn a_freeze_stops_its_sources_until_it_expires() {
    let mut fleet = Fleet::new(|_| {});
    let until = MONDAY + Span::hours(2);
    fleet.freezes = vec![Freeze { sources: BTreeSet::from([ClaimSource::Rollout, ClaimSource::Window]), until }];
    assert_eq!(fleet.ask(&rollout()[0], MONDAY), Ruling::Waits(WaitingOn::Freeze, Some(until)));
    assert_eq!(fleet.ask(&fault(1, 0), MONDAY), Ruling::Granted);
    assert_eq!(fleet.ask(&rollout()[0], until), Ruling::Granted);
}

#[test]
fn maintenance_starts_in_its_time_and_is_void_after_it() {
    let mut fleet = Fleet::new(|_| {});
    let (from, to) = (MONDAY + Span::hours(1), MONDAY + Span::hours(3));
    let claims = maintenance(2, from, to);
    assert_eq!(fleet.ask(&claims[0], MONDAY), Ruling::Waits(WaitingOn::Window, Some(from)));
    // One node of the rack at a time.
    assert_eq!(fleet.ask_all(&claims, from), 1);
    fleet.returns(&node(2, 0));
    assert_eq!(fleet.ask(&claims[1], to), Ruling::Granted);
    assert_eq!(fleet.ask(&claims[2], to + Span(1)), Ruling::Void);
}

#[test]
fn a_rollout_waits_for_the_pools_window_and_shares_budgets_with_faults() {
    let window = WeeklyWindow { start_minute: 120, length: Span::hours(2) };
    let mut fleet = Fleet::new(|policy| policy.windows = Bounded::try_from(vec![window]).unwrap());
    let opens = MONDAY + Span::hours(2);
    assert_eq!(fleet.ask(&rollout()[0], MONDAY), Ruling::Waits(WaitingOn::Window, Some(opens)));
    assert_eq!(fleet.ask(&fault(0, 3), MONDAY), Ruling::Granted);
    // The fault has one of three places, and its rack has no other.
    assert_eq!(fleet.ask_all(&rollout(), opens), 2);
    assert!(fleet.granted.iter().skip(1).all(|(_, claim)| claim.id.as_str().starts_with("rollout-")));
}

#[test]
fn a_preemption_uses_no_nodes_and_counts_for_the_rate() {
    let mut fleet = Fleet::new(|policy| {
        policy.budgets = Bounded::new();
        policy.rate = Some(RateLimit { grants: 1, per: Span::hours(1) });
    });
    assert_eq!(fleet.ask(&preemption("low-1"), MONDAY), Ruling::Granted);
    let hour = MONDAY + Span::hours(1);
    assert_eq!(fleet.ask(&preemption("low-2"), MONDAY), Ruling::Waits(WaitingOn::RateLimit, Some(hour)));
}

#[test]
fn limits_come_before_the_permission() {
    let fleet = Fleet::new(|_| {});
    assert_eq!(fleet.rule(&fault(0, 0), Permit::NeedsApproval, MONDAY), waits(WaitingOn::Approval));
    assert_eq!(fleet.rule(&fault(0, 0), Permit::OnPaper, MONDAY), waits(WaitingOn::Mode));
    let full = Fleet::new(|policy| policy.budgets = Bounded::new());
    assert_eq!(full.rule(&fault(0, 0), Permit::NeedsApproval, MONDAY), waits(WaitingOn::Budget));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn grants_never_exceed_budget_floor_or_rate(
        steps in prop::collection::vec((0..RACKS, 0..NODES_PER_RACK, 0..5_u8, 0..40_u32, any::<bool>()), 1..120),
        (per_rack, in_all) in (0..4_u32, 0..10_u32),
        (floor, grants) in (0..17_u32, 0..5_u32),
    ) {
        let rate = RateLimit { grants, per: Span::hours(1) };
        let mut fleet = Fleet::new(|policy| {
            let budgets = vec![
                Budget { level: Some(Level::Rack), most: NodeLimit::Nodes(per_rack) },
                Budget { level: None, most: NodeLimit::Nodes(in_all) },
            ];
            policy.budgets = Bounded::try_from(budgets).unwrap();
            policy.floor = Some(NodeLimit::Nodes(floor));
            policy.rate = Some(rate);
        });
        let (mut now, mut out) = (MONDAY, BTreeSet::<(u8, u8)>::new());
        for (rack, number, source, minutes, returns) in steps {
            now = now + Span::minutes(minutes);
            if returns {
                if let Some(back) = out.pop_first() {
                    fleet.returns(&node(back.0, back.1));
                }
                continue;
            }
            let by = ClaimSource::ALL[usize::from(source)];
            let claim = claim(by, Need::Exclusive, ClaimTarget::Node(node(rack, number)));
            if !out.contains(&(rack, number)) && fleet.ask(&claim, now) == Ruling::Granted {
                out.insert((rack, number));
            }
            let of_rack = |rack| out.iter().filter(|(of, _)| *of == rack).count();
            prop_assert!((0..RACKS).all(|rack| of_rack(rack) <= usize::try_from(per_rack).unwrap()));
            prop_assert!(out.len() <= usize::try_from(in_all).unwrap());
            prop_assert!(out.is_empty() || 16 - out.len() >= usize::try_from(floor).unwrap());
            let recent = fleet.granted.iter().filter(|(at, _)| now.since(*at) < rate.per).count();
            prop_assert!(recent <= usize::try_from(grants).unwrap());
        }
    }
}
