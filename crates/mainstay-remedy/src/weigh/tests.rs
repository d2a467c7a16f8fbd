use mainstay_model::{Deadlines, Hazards};
use proptest::prelude::*;

use super::*;

const NOW: Timestamp = Timestamp(100_000_000);

/// A gang of 1,024 GPUs whose last checkpoint is a number of minutes ago, with hourly checkpoints, on a node whose jobs
/// can continue.
fn case(contract: Contract, minutes: u32) -> Case {
    let checkpoints = Checkpoints {
        last: Some(NOW - Span::minutes(minutes)),
        every: Some(Span::hours(1)),
        save: Some(Span::seconds(60)),
    };
    Case {
        now: NOW,
        urgency: Urgency::NextCheckpoint,
        hazard: Hazards::default().of(Urgency::NextCheckpoint),
        answer_within: Span::hours(1),
        answer_min: Span::minutes(10),
        gpus: 1_024,
        contract,
        checkpoints,
        spare: Spare::There,
        since: NOW,
    }
}

fn plan(case: &Case) -> Plan {
    weigh(case).plan
}

#[test]
fn what_was_just_saved_is_not_saved_again() {
    let mut slow = case(Contract::OnRequest, 2);
    slow.checkpoints.save = Some(Span::minutes(5));
    assert_eq!(plan(&slow), Plan::Now);
    assert_eq!(weigh(&slow).now.to_string(), "34.1");
    let quick = case(Contract::OnRequest, 20);
    assert_eq!(plan(&quick), Plan::AskAndWait { until: NOW + Span::hours(1) });
}

#[test]
fn a_gang_that_cannot_be_asked_is_waited_for_where_its_checkpoint_comes_in_time() {
    let until = NOW + Span::minutes(5) + Span::minutes(3) + Span::seconds(60);
    assert_eq!(plan(&case(Contract::None, 55)), Plan::AtCheckpoint { until });
    // Too soon after the last one: the next is an hour away, and the drain may not take longer.
    assert_eq!(plan(&case(Contract::None, 1)), Plan::Now);
    // It saves when it is stopped.
    assert_eq!(plan(&case(Contract::OnStop { within: Span::seconds(30) }, 55)), Plan::Now);
}

#[test]
fn once_the_checkpoint_is_there_the_gang_is_stopped() {
    let until = NOW + Span::minutes(9);
    for seconds in 0..9 * 60 {
        let now = NOW + Span::seconds(seconds);
        assert_eq!(plan(&Case { now, ..case(Contract::None, 55) }), Plan::AtCheckpoint { until });
    }
    assert_eq!(plan(&Case { now: until, ..case(Contract::None, 55) }), Plan::Now);
}

#[test]
fn the_worse_the_fault_the_sooner_it_is_stopped() {
    let calm = case(Contract::None, 10);
    assert!(matches!(plan(&calm), Plan::AtCheckpoint { .. }));
    let grave = Case { hazard: Hazard { hung: Ppm(900_000), per_hour: Ppm::ONE }, ..calm };
    assert_eq!(plan(&grave), Plan::Now);
    let dead =
        Case { urgency: Urgency::Now, hazard: Hazards::default().of(Urgency::Now), ..case(Contract::OnRequest, 59) };
    assert_eq!(weigh(&dead), Weighed { plan: Plan::Now, now: weigh(&dead).now, ask: None, at_checkpoint: None });
}

/// One GPU on a node that fails during any wait.
fn fails_for_sure(contract: Contract, minutes: u32) -> Case {
    let hazard = Hazard { hung: Ppm(0), per_hour: Ppm(1_000_000_000) };
    Case { hazard, gpus: 1, ..case(contract, minutes) }
}

#[test]
fn a_failure_during_the_wait_costs_the_work_since_the_checkpoint_and_the_watchdogs_time() {
    // 20 minutes of work, half of a checkpoint of a minute, and ten minutes until the watchdog.
    assert_eq!(weigh(&fails_for_sure(Contract::OnRequest, 20)).ask, Some(Cost(1_200 + 30 + 600)));
    // 55 minutes of work, half of the nine minutes until the next checkpoint counts, and the watchdog.
    assert_eq!(weigh(&fails_for_sure(Contract::None, 55)).at_checkpoint, Some(Cost(3_300 + 270 + 600)));
}

#[test]
fn later_checkpoints_halve_the_exposed_interval_and_the_time_without_room() {
    let mut often = Case { spare: Spare::None, ..fails_for_sure(Contract::None, 2) };
    often.checkpoints.every = Some(Span::minutes(10));
    // The next checkpoint counts after 570 s, the last one in time after 3,570 s. Exposed until the first: 120 s and
    // half of 570 s. Exposed later: 90 s and half of 600 s.
    let exposed = (570 * (120 + 285) + 3_000 * (90 + 300)) / 3_570;
    // Half of the wait is over, so 1,815 s of the hour without room are left; a part of a second counts as a second.
    assert_eq!(weigh(&often).at_checkpoint, Some(Cost(exposed + 600 + 1_815 + 1)));
}

#[test]
fn without_a_spare_work_goes_on_to_the_last_checkpoint_in_time() {
    let mut often = case(Contract::OnRequest, 2);
    often.checkpoints.every = Some(Span::minutes(10));
    assert!(matches!(plan(&often), Plan::AskAndWait { .. }));
    let Plan::AtCheckpoint { until } = plan(&Case { spare: Spare::None, ..often }) else {
        panic!("it is not waited for")
    };
    // Checkpoints at 8, 18, 28, 38, 48 minutes, each with 90 seconds on top; an answer has ten of the sixty.
    assert_eq!(until, NOW + Span::minutes(48) + Span::seconds(90));
}

#[test]
fn what_nobody_says_is_assumed() {
    let told = Checkpoints::default();
    let silent = Case { checkpoints: told, ..case(Contract::OnRequest, 0) };
    assert_eq!(plan(&silent), Plan::AskAndWait { until: NOW + Span::hours(1) });
    assert_eq!(plan(&Case { contract: Contract::None, ..silent }), Plan::Now);
    assert_eq!(weigh(&silent).now, Cost(30 * 60 * 1_024));
    // With an interval alone, half of it is lost on average.
    let often = Case { checkpoints: Checkpoints { every: Some(Span::minutes(10)), ..told }, ..silent };
    assert_eq!(weigh(&often).now, Cost(5 * 60 * 1_024));
    assert_eq!(weigh(&often).at_checkpoint, None);
}

fn spans() -> impl Strategy<Value = Option<Span>> {
    prop::option::of(prop_oneof![any::<u64>().prop_map(Span), (0..200_u32).prop_map(Span::minutes)])
}

fn cases() -> impl Strategy<Value = Case> {
    let last = prop::option::of(prop_oneof![
        any::<i64>().prop_map(Timestamp),
        (0..300_u32).prop_map(|minutes| NOW - Span::minutes(minutes))
    ]);
    let contract = prop_oneof![
        Just(Contract::None),
        Just(Contract::OnRequest),
        any::<u64>().prop_map(|within| Contract::OnStop { within: Span(within) }),
    ];
    let urgency = prop_oneof![Just(Urgency::Now), Just(Urgency::Minutes), Just(Urgency::NextCheckpoint)];
    let spare = prop_oneof![Just(Spare::There), Just(Spare::None)];
    // Chances: nothing is likelier than certain.
    let chance = || (0..=Ppm::ONE.0).prop_map(Ppm);
    let hazard = (chance(), chance()).prop_map(|(hung, per_hour)| Hazard { hung, per_hour });
    let told = (last, spans(), spans()).prop_map(|(last, every, save)| Checkpoints { last, every, save });
    (contract, urgency, spare, hazard, told, any::<u32>(), 0..120_u32).prop_map(
        |(contract, urgency, spare, hazard, checkpoints, gpus, minutes)| Case {
            now: NOW,
            urgency,
            hazard,
            answer_within: Deadlines::default().answer(urgency),
            answer_min: Deadlines::default().answer_min,
            gpus,
            contract,
            checkpoints,
            spare,
            since: NOW - Span::minutes(minutes),
        },
    )
}

proptest! {
    #[test]
    fn the_chosen_way_costs_least_and_never_waits_past_its_bound(case in cases()) {
        let Weighed { plan, now, ask, at_checkpoint } = weigh(&case);
        let bound = case.since + case.answer_within;
        let (cost, until) = match plan {
            Plan::Now => (Some(now), NOW),
            Plan::AskAndWait { until } => (ask, until),
            Plan::AtCheckpoint { until } => (at_checkpoint, until),
        };
        let least = [Some(now), ask, at_checkpoint].into_iter().flatten().min();
        prop_assert_eq!(cost, least);
        match plan {
            Plan::Now => {}
            Plan::AskAndWait { .. } => {
                prop_assert!(until <= NOW + case.answer_within);
                prop_assert!(until <= bound.max(NOW + case.answer_min));
                prop_assert_eq!(case.contract, Contract::OnRequest);
            }
            Plan::AtCheckpoint { .. } => prop_assert!(until <= bound),
        }
        prop_assert!(case.urgency != Urgency::Now || plan == Plan::Now);
    }

    #[test]
    fn whoever_is_waited_for_is_waited_for_to_the_end(case in cases(), share in 0..1_000_u64) {
        // With the hazards that there are. Where most of the work hung already, the last moments of a wait are worth less
        // than they cost, and a plan made of such a hazard would change its mind shortly before the end.
        let case = Case { hazard: Hazards::default().of(case.urgency), ..case };
        if let Plan::AtCheckpoint { until } = weigh(&case).plan {
            let later = Case { now: case.now + Span(until.since(case.now).0 * share / 1_000), ..case };
            // A gang that saves on request may still get a request near the end of the wait; no gang is stopped before that.
            let plan = weigh(&later).plan;
            let is_kept = plan == Plan::AtCheckpoint { until };
            let is_asked = matches!(plan, Plan::AskAndWait { .. }) && case.contract == Contract::OnRequest;
            prop_assert!(is_kept || is_asked, "{plan:?}");
        }
    }
}
