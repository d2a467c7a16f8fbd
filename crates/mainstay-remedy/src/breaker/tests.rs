//! A breaker opens, half-opens, and closes by a test or by itself. Its state does not depend on the order of events.

use mainstay_model::{OrderId, Resolution, Stage};
use proptest::prelude::*;

use super::*;

const MINUTE: i64 = 60_000;

fn pool() -> PoolName {
    PoolName::parse("h100").unwrap()
}

fn rule() -> RuleName {
    RuleName::parse("gpu-off-the-bus").unwrap()
}

fn size(nodes: u32) -> Size {
    Size::of(BreakerLimits::default(), nodes)
}

fn minute(minute: i64) -> Timestamp {
    Timestamp(minute * MINUTE)
}

fn happens(at_minute: i64, node: u32, event: Event) -> Happening {
    Happening { at: minute(at_minute), event, node: NodeName::parse(&format!("n{node}")).unwrap() }
}

fn told(happenings: &[(i64, u32, Event)]) -> Breakers {
    let mut breakers = Breakers::default();
    for (at, node, event) in happenings {
        breakers.note(&pool(), &rule(), &happens(*at, *node, *event), size(8));
    }
    breakers
}

fn at(breakers: &Breakers, at_minute: i64) -> (BreakerState, bool) {
    let standing = breakers.standing(&pool(), &rule(), minute(at_minute));
    (standing.state, standing.lets_through())
}

const OPENED: [(i64, u32, Event); 3] = [(0, 1, Event::Condemned), (10, 2, Event::Condemned), (20, 3, Event::Condemned)];

fn opened_and(more: &[(i64, u32, Event)]) -> Breakers {
    told(&[&OPENED[..], more].concat())
}

#[test]
fn a_small_pool_has_its_three_and_a_large_one_half_a_percent_with_the_test() {
    assert_eq!([1, 1_000, 1_200, 100_000].map(|nodes| size(nodes).nodes_max), [3, 3, 4, 498]);
}

#[test]
fn the_third_within_an_hour_opens_it_and_half_an_hour_later_one_may_go() {
    let slow = [(0, 1, Event::Condemned), (30, 2, Event::Condemned), (60, 3, Event::Condemned)];
    assert_eq!(at(&told(&slow), 60), (BreakerState::Closed, true));
    let breakers = opened_and(&[]);
    assert_eq!(at(&breakers, 20), (BreakerState::Open, false));
    assert_eq!(at(&breakers, 49), (BreakerState::Open, false));
    assert_eq!(at(&breakers, 50), (BreakerState::HalfOpen, true));
    let tested = opened_and(&[(50, 4, Event::Condemned)]);
    assert_eq!(at(&tested, 50), (BreakerState::HalfOpen, false));
}

#[test]
fn a_test_that_fails_closes_it_and_one_that_passes_doubles_the_pause_up_to_four_hours() {
    let confirmed = [(50, 4, Event::Condemned), (80, 4, Event::Ended(Outcome::Confirmed))];
    assert_eq!(at(&opened_and(&confirmed), 80), (BreakerState::Closed, true));

    let mut story = OPENED.to_vec();
    let mut now = 20;
    for (node, pause) in (4..).zip([30, 60, 120, 240, 240]) {
        assert_eq!(at(&told(&story), now + pause - 1), (BreakerState::Open, false), "{pause} minutes");
        assert_eq!(at(&told(&story), now + pause), (BreakerState::HalfOpen, true), "{pause} minutes");
        now += pause;
        story.extend([(now, node, Event::Condemned), (now + 20, node, Event::Ended(Outcome::Refuted))]);
        now += 20;
    }
}

#[test]
fn what_another_node_shows_is_no_answer_and_a_test_without_one_is_tried_again() {
    let other = [(50, 4, Event::Condemned), (60, 1, Event::Ended(Outcome::Confirmed))];
    assert_eq!(at(&opened_and(&other), 60), (BreakerState::HalfOpen, false));
    let unclear = [(50, 4, Event::Condemned), (60, 4, Event::Ended(Outcome::Unclear))];
    assert_eq!(at(&opened_and(&unclear), 60), (BreakerState::Open, false));
    assert_eq!(at(&opened_and(&unclear), 90), (BreakerState::HalfOpen, true));
    let lost = opened_and(&[(50, 4, Event::Condemned)]);
    assert_eq!(at(&lost, 50 + 360), (BreakerState::HalfOpen, true));
}

#[test]
fn it_closes_by_itself_when_nobody_came() {
    let breakers = opened_and(&[]);
    assert_eq!(at(&breakers, 109), (BreakerState::HalfOpen, true));
    assert_eq!(at(&breakers, 110), (BreakerState::Closed, true));
    // And counts again from zero.
    let again = opened_and(&[(200, 4, Event::Condemned), (201, 5, Event::Condemned)]);
    assert_eq!(at(&again, 201), (BreakerState::Closed, true));
}

#[test]
fn a_history_tells_who_took_the_node_out_and_what_was_shown_first() {
    let moved = |to, at, word| Transition { to, at: minute(at), rule: rule(), word };
    let (n1, nothing) = (NodeName::parse("n1").unwrap(), Some(Resolution::NothingFound));
    let history = [
        moved(Stage::Quarantined, 0, None),
        moved(Stage::Qualifying, 1, None),
        moved(Stage::Repairing, 2, None),
        moved(Stage::InService, 3, nothing),
        moved(Stage::Quarantined, 4, None),
        moved(Stage::Suspect, 4, None),
    ];
    let told: Vec<Happening> = happenings(&history, &n1).map(|(_, one)| one).collect();
    assert_eq!(told, [happens(0, 1, Event::Condemned), happens(2, 1, Event::Ended(Outcome::Confirmed))]);
}

#[test]
fn a_dry_run_decision_counts_as_a_removal_and_its_outcome_as_the_result_of_a_test() {
    for (happened, outcome) in [
        (ProposalOutcome::Pending, None),
        (ProposalOutcome::Recovered, Some(Outcome::Refuted)),
        (ProposalOutcome::RemovedByOthers, Some(Outcome::Confirmed)),
        (ProposalOutcome::NodeLost, Some(Outcome::Confirmed)),
        (ProposalOutcome::Executed, Some(Outcome::Unclear)),
        (ProposalOutcome::Superseded, Some(Outcome::Unclear)),
    ] {
        let proposal = Proposal {
            action: OrderId::parse("cordon-n1-1").unwrap(),
            rule: rule(),
            decided_at: minute(1),
            happened,
            happened_at: outcome.map(|_| minute(2)),
        };
        let n1 = NodeName::parse("n1").unwrap();
        let found: Vec<(RuleName, Happening)> =
            on_paper(&[proposal], &n1).map(|(rule, one)| (rule.clone(), one)).collect();
        let ended = outcome.map(|outcome| happens(2, 1, Event::Ended(outcome)));
        let expected = [happens(1, 1, Event::Condemned)].into_iter().chain(ended);
        assert_eq!(found, expected.map(|one| (rule(), one)).collect::<Vec<_>>(), "{happened:?}");
    }
}

#[test]
fn an_open_breaker_shows_the_removals_within_its_window_and_not_their_ends() {
    let breakers = opened_and(&[(25, 1, Event::Ended(Outcome::Unclear))]);
    let open = |now: i64| breakers.open(minute(now)).map(|(_, _, one, count)| (one.state, count)).collect::<Vec<_>>();
    assert_eq!(open(30), [(BreakerState::Open, 3)]);
    assert_eq!(open(59), [(BreakerState::HalfOpen, 3)]);
    // The removal at minute 0 is an hour old.
    assert_eq!(open(60), [(BreakerState::HalfOpen, 2)]);
    assert_eq!(open(110), []);
}

fn any_happening() -> impl Strategy<Value = Happening> {
    let event = prop_oneof![
        3 => Just(Event::Condemned),
        1 => Just(Event::Ended(Outcome::Confirmed)),
        1 => Just(Event::Ended(Outcome::Refuted)),
        1 => Just(Event::Ended(Outcome::Unclear)),
    ];
    (0..4_000_i64, 0..5_u32, event).prop_map(|(at, node, event)| happens(at, node, event))
}

proptest! {
    #[test]
    fn the_order_of_telling_and_what_was_forgotten_do_not_matter(
        kept in prop::collection::btree_set(any_happening(), 0..60),
        forgotten in prop::collection::vec(any_happening(), 0..10),
        turn in any::<prop::sample::Index>(),
    ) {
        let mut in_order = Breakers::default();
        for one in &kept {
            in_order.note(&pool(), &rule(), one, size(8));
        }
        let mut anyhow = Breakers::default();
        let mut all: Vec<&Happening> = kept.iter().chain(&forgotten).collect();
        let turn = if all.is_empty() { 0 } else { turn.index(all.len()) };
        all.rotate_left(turn);
        for one in all {
            anyhow.note(&pool(), &rule(), one, size(8));
        }
        for one in forgotten.iter().filter(|one| !kept.contains(*one)) {
            anyhow.forget(&pool(), &rule(), one);
        }
        prop_assert_eq!(anyhow, in_order);
    }

    #[test]
    fn between_two_of_the_same_pause_no_more_than_the_limit_go(
        wants in prop::collection::btree_set((0..3_000_i64, 0..50_u32), 0..200),
    ) {
        // Every node that is let through is removed, and no test ever has a result.
        let mut breakers = Breakers::default();
        let mut gone: Vec<i64> = Vec::new();
        for (at_minute, node) in wants {
            if breakers.standing(&pool(), &rule(), minute(at_minute)).lets_through() {
                breakers.note(&pool(), &rule(), &happens(at_minute, node, Event::Condemned), size(8));
                gone.push(at_minute);
            }
        }
        for (at, first) in gone.iter().enumerate() {
            let within = gone[at..].iter().take_while(|other| **other - first < 60).count();
            // Three open it, and one more may be its test within the same hour.
            prop_assert!(within <= 4, "{within} within an hour of minute {first}");
        }
    }
}

#[test]
fn a_pool_may_have_other_limits() {
    let limits = BreakerLimits { nodes_min: 2, pause_min: Span::minutes(5), ..BreakerLimits::default() };
    let mut breakers = Breakers::default();
    for node in [1, 2] {
        breakers.note(&pool(), &rule(), &happens(0, node, Event::Condemned), Size::of(limits, 8));
    }
    assert_eq!(at(&breakers, 4), (BreakerState::Open, false));
    assert_eq!(at(&breakers, 5), (BreakerState::HalfOpen, true));
    // With the default, two nodes are no reason to stop.
    assert_eq!(breakers.resize(&pool(), size(8)), [rule()]);
    assert_eq!(at(&breakers, 4), (BreakerState::Closed, true));
}
