//! A node walks through its whole life, and every combination of facts settles within a bounded number of steps.

use proptest::prelude::*;

use super::*;

fn calm() -> Facts {
    Facts {
        health: Health::Clear,
        request: None,
        planned: PlannedWork::Nothing,
        blamed: Blamed::Node,
        breaker: Breaker::Closed,
        first: First::Repair,
        ruling: Ruling::Granted,
        budget: Budget::Kept,
        permit: Permit::Granted,
        taken_out: TakenOut::ByUs,
        schedulable: Schedulable::Yes,
        work: Work::Gone,
        machine: Machine::Answers,
        repair: Repair::Due,
        trial: Trial::Due,
        orders: Orders::NotYet,
        proof: Proof::Stands,
    }
}

#[test]
fn a_condemned_node_is_taken_out_repaired_proven_and_returned() {
    let mut facts = Facts { health: Health::Condemned, work: Work::Saving, ..calm() };
    assert_eq!(next(Stage::InService, &facts), Next::Go(Stage::Suspect));
    assert_eq!(next(Stage::Suspect, &facts), Next::Go(Stage::Quarantined));
    assert_eq!(next(Stage::Quarantined, &facts), Next::Wait(WaitingOn::WatchSync));
    facts.schedulable = Schedulable::NotByUs;
    assert_eq!(next(Stage::Quarantined, &facts), Next::Go(Stage::Draining));
    assert_eq!(next(Stage::Draining, &facts), Next::Wait(WaitingOn::Checkpoint));
    facts.work = Work::Gone;
    assert_eq!(next(Stage::Draining, &facts), Next::Go(Stage::Repairing));
    assert_eq!(next(Stage::Repairing, &facts), Next::Wait(WaitingOn::Order));
    facts.orders = Orders::Accepted;
    assert_eq!(next(Stage::Repairing, &facts), Next::Order(WaitingOn::Order));
    facts.repair = Repair::Done;
    assert_eq!(next(Stage::Repairing, &facts), Next::Go(Stage::Qualifying));
    assert_eq!(next(Stage::Qualifying, &facts), Next::Order(WaitingOn::Qualification));
    facts.trial = Trial::Running;
    assert_eq!(next(Stage::Qualifying, &facts), Next::Wait(WaitingOn::Qualification));
    facts.trial = Trial::Failed;
    assert_eq!(next(Stage::Qualifying, &facts), Next::Go(Stage::Repairing));
    facts.trial = Trial::Passed;
    assert_eq!(next(Stage::Qualifying, &facts), Next::Go(Stage::InService));
}

#[test]
fn a_node_that_others_removed_is_tested_while_it_is_cordoned_and_returns_when_they_uncordon_it() {
    let others = Facts { taken_out: TakenOut::ByOthers, schedulable: Schedulable::NotByOthers, ..calm() };
    let uncordoned = Facts { schedulable: Schedulable::Yes, ..others };
    for stage in [Stage::Maintenance, Stage::Upgrading, Stage::Bootstrapping] {
        assert_eq!(next(stage, &others), Next::Go(Stage::Qualifying));
        assert_eq!(next(stage, &Facts { work: Work::Leaving, ..others }), Next::Go(Stage::InService));
        assert_eq!(next(stage, &uncordoned), Next::Go(Stage::InService));
    }
    assert_eq!(next(Stage::Qualifying, &others), Next::Wait(WaitingOn::Qualification));
    assert_eq!(next(Stage::Qualifying, &uncordoned), Next::Go(Stage::InService));
}

#[test]
fn a_late_cordon_of_mainstay_is_undone_only_after_a_test() {
    let cordoned = Facts { schedulable: Schedulable::NotByUs, ..calm() };
    assert_eq!(next(Stage::InService, &cordoned), Next::Wait(WaitingOn::WatchSync));
    assert_eq!(next(Stage::InService, &Facts { proof: Proof::Lapsed, ..cordoned }), Next::Go(Stage::Qualifying));
    assert_eq!(next(Stage::InService, &calm()), Next::Wait(WaitingOn::Nothing));
    for health in [Health::Clear, Health::Watched] {
        assert_eq!(next(Stage::Suspect, &Facts { health, ..cordoned }), Next::Go(Stage::Qualifying));
        let busy = Facts { health, work: Work::Leaving, ..cordoned };
        assert_eq!(next(Stage::Suspect, &busy), Next::Go(Stage::Draining));
    }
}

#[test]
fn a_person_holds_a_node_in_any_stage_and_what_was_out_is_proven_afterwards() {
    let held = Facts { request: Some(RequestKind::Hold), ..calm() };
    for stage in [Stage::InService, Stage::Draining, Stage::Repairing, Stage::Qualifying, Stage::Maintenance] {
        assert_eq!(next(stage, &held), Next::Go(Stage::Held));
    }
    let released = Facts { schedulable: Schedulable::NotByUs, ..calm() };
    assert_eq!(next(Stage::Held, &released), Next::Go(Stage::Qualifying));
    assert_eq!(next(Stage::Held, &Facts { work: Work::Leaving, ..released }), Next::Go(Stage::Draining));
    assert_eq!(next(Stage::Held, &calm()), Next::Go(Stage::InService));
    assert_eq!(next(Stage::Held, &held), Next::Wait(WaitingOn::Operator));
    assert_eq!(next(Stage::Retired, &held), Next::Wait(WaitingOn::Nothing));
}

#[test]
fn a_node_without_a_cordon_whose_budget_others_used_waits_for_its_turn() {
    let lost = Facts { budget: Budget::Lost, work: Work::Leaving, ..calm() };
    for stage in [Stage::Quarantined, Stage::Draining, Stage::Repairing, Stage::Qualifying] {
        assert_eq!(next(stage, &lost), Next::Go(Stage::Suspect), "{stage:?}");
        // A cordon keeps the place. A node that others removed has none to lose.
        for kept in [
            Facts { schedulable: Schedulable::NotByUs, ..lost },
            Facts { schedulable: Schedulable::NotByOthers, ..lost },
            Facts { taken_out: TakenOut::ByOthers, ..lost },
            Facts { budget: Budget::Kept, ..lost },
        ] {
            assert_ne!(next(stage, &kept), Next::Go(Stage::Suspect), "{stage:?} {kept:?}");
        }
    }
    for stage in [Stage::InService, Stage::Held, Stage::Retired, Stage::Maintenance] {
        assert_ne!(next(stage, &lost), Next::Go(Stage::Suspect), "{stage:?}");
    }
}

#[test]
fn an_operator_gets_a_node_back_only_without_jobs_and_after_a_passed_test() {
    let back = Facts { request: Some(RequestKind::Return), ..calm() };
    for stage in [Stage::Quarantined, Stage::Draining, Stage::Repairing] {
        assert_eq!(next(stage, &back), Next::Go(Stage::Qualifying), "{stage:?}");
    }
    let cordoned = Facts { work: Work::Leaving, schedulable: Schedulable::NotByUs, ..back };
    assert_eq!(next(Stage::Quarantined, &cordoned), Next::Go(Stage::Draining));
    assert_eq!(next(Stage::Draining, &cordoned), Next::Wait(WaitingOn::Drain));
    // The operator learns of the failure. Without a request, the repair goes on.
    let failed = Facts { trial: Trial::Failed, ..back };
    assert_eq!(next(Stage::Qualifying, &failed), Next::Wait(WaitingOn::Operator));
    assert_eq!(next(Stage::Qualifying, &Facts { request: None, ..failed }), Next::Go(Stage::Repairing));
}

#[test]
fn a_request_decides_where_a_removed_node_stops() {
    let cordoned = Facts { schedulable: Schedulable::NotByUs, first: First::Test, ..calm() };
    let asked = |request, stage| next(stage, &Facts { request: Some(request), ..cordoned });
    assert_eq!(asked(RequestKind::Quarantine, Stage::Quarantined), Next::Wait(WaitingOn::Operator));
    assert_eq!(asked(RequestKind::Drain, Stage::Quarantined), Next::Go(Stage::Draining));
    for request in [RequestKind::Quarantine, RequestKind::Drain] {
        assert_eq!(asked(request, Stage::Draining), Next::Wait(WaitingOn::Operator));
    }
    assert_eq!(next(Stage::Draining, &cordoned), Next::Go(Stage::Qualifying));
}

#[test]
fn a_step_without_permission_waits_for_it() {
    let cordoned = Facts { schedulable: Schedulable::NotByUs, orders: Orders::Accepted, ..calm() };
    for (permit, on) in [(Permit::NeedsApproval, WaitingOn::Approval), (Permit::OnPaper, WaitingOn::Mode)] {
        let facts = Facts { permit, ..cordoned };
        for stage in [Stage::InService, Stage::Quarantined, Stage::Repairing, Stage::Qualifying] {
            assert_eq!(next(stage, &facts), Next::Wait(on), "{stage:?}");
        }
        for trial in [Trial::Running, Trial::Passed] {
            assert_eq!(next(Stage::Qualifying, &Facts { trial, ..facts }), Next::Wait(on), "{trial:?}");
        }
    }
}

#[test]
fn a_flagged_node_waits_for_the_first_obstacle_and_a_request_overrules_two_of_them() {
    let flagged = Facts {
        health: Health::Condemned,
        blamed: Blamed::Domain,
        breaker: Breaker::Open,
        ruling: Ruling::Waits(WaitingOn::Budget),
        ..calm()
    };
    let own = Facts { blamed: Blamed::Node, ..flagged };
    let waits = |facts: &Facts| next(Stage::Suspect, facts);
    assert_eq!(waits(&flagged), Next::Wait(WaitingOn::SharedCause));
    assert_eq!(waits(&own), Next::Wait(WaitingOn::Breaker));
    assert_eq!(waits(&Facts { breaker: Breaker::Closed, ..own }), Next::Wait(WaitingOn::Budget));
    assert_eq!(waits(&Facts { request: Some(RequestKind::Drain), ..flagged }), Next::Wait(WaitingOn::Budget));
    assert_eq!(waits(&Facts { health: Health::Watched, ..flagged }), Next::Wait(WaitingOn::SecondSignal));
    assert_eq!(waits(&Facts { health: Health::Clear, ..flagged }), Next::Go(Stage::InService));
}

#[test]
fn planned_work_begins_from_service_and_ends_with_a_test_of_what_mainstay_removed() {
    let stages = [
        (PlannedWork::Bootstrap, Stage::Bootstrapping),
        (PlannedWork::Maintenance, Stage::Maintenance),
        (PlannedWork::Upgrade, Stage::Upgrading),
    ];
    for (planned, stage) in stages {
        let facts = Facts { planned, health: Health::Condemned, ..calm() };
        for from in [Stage::InService, Stage::Suspect] {
            assert_eq!(next(from, &facts), Next::Go(stage));
        }
        for (_, from) in stages {
            let same = if from == stage { Next::Wait(WaitingOn::Operator) } else { Next::Go(stage) };
            assert_eq!(next(from, &facts), same);
        }
        let over = Facts { schedulable: Schedulable::NotByUs, permit: Permit::OnPaper, ..calm() };
        assert_eq!(next(stage, &over), Next::Go(Stage::Qualifying));
    }
}

fn any_facts() -> impl Strategy<Value = Facts> {
    let health = prop_oneof![Just(Health::Clear), Just(Health::Watched), Just(Health::Condemned)];
    let request = prop_oneof![
        Just(None),
        Just(Some(RequestKind::Hold)),
        Just(Some(RequestKind::Quarantine)),
        Just(Some(RequestKind::Drain)),
        Just(Some(RequestKind::Return)),
        Just(Some(RequestKind::Retire)),
    ];
    let planned = prop_oneof![
        Just(PlannedWork::Nothing),
        Just(PlannedWork::Bootstrap),
        Just(PlannedWork::Maintenance),
        Just(PlannedWork::Upgrade)
    ];
    let permit = prop_oneof![Just(Permit::Granted), Just(Permit::NeedsApproval), Just(Permit::OnPaper)];
    let schedulable = prop_oneof![Just(Schedulable::Yes), Just(Schedulable::NotByUs), Just(Schedulable::NotByOthers)];
    let work = prop_oneof![Just(Work::Gone), Just(Work::Saving), Just(Work::Leaving)];
    let repair = prop_oneof![Just(Repair::Due), Just(Repair::Ordered), Just(Repair::Done), Just(Repair::Exhausted)];
    let trial = prop_oneof![Just(Trial::Due), Just(Trial::Running), Just(Trial::Passed), Just(Trial::Failed)];
    let orders = prop_oneof![Just(Orders::Accepted), Just(Orders::NotYet)];
    let budget = prop_oneof![Just(Budget::Kept), Just(Budget::Lost)];
    let breaker = prop_oneof![Just(Breaker::Closed), Just(Breaker::Open)];
    let first = prop_oneof![Just(First::Repair), Just(First::Test)];
    let blamed = prop_oneof![Just(Blamed::Node), Just(Blamed::Domain)];
    let ruling = prop_oneof![Just(Ruling::Granted), Just(Ruling::Waits(WaitingOn::Budget))];
    let machine = prop_oneof![Just(Machine::Answers), Just(Machine::Silent), Just(Machine::Dead), Just(Machine::Off)];
    let more = (budget, breaker, first, blamed, ruling, orders, machine);
    (health, request, planned, permit, schedulable, work, repair, trial, more).prop_map(
        |(
            health,
            request,
            planned,
            permit,
            schedulable,
            work,
            repair,
            trial,
            (budget, breaker, first, blamed, ruling, orders, machine),
        )| {
            Facts {
                blamed,
                breaker,
                first,
                health,
                request,
                planned,
                ruling,
                budget,
                permit,
                taken_out: TakenOut::ByUs,
                schedulable,
                work,
                machine,
                repair,
                trial,
                orders,
                proof: Proof::Stands,
            }
        },
    )
}

#[test]
fn pods_of_a_machine_that_does_not_answer_wait_until_it_is_off() {
    let on = |machine, permit| next(Stage::Draining, &Facts { machine, permit, work: Work::Leaving, ..calm() });
    let granted = |machine| on(machine, Permit::Granted);
    assert_eq!(granted(Machine::Silent), Next::Wait(WaitingOn::Operator));
    assert_eq!(granted(Machine::Dead), Next::Wait(WaitingOn::Drain));
    assert_eq!(granted(Machine::Off), Next::Wait(WaitingOn::Drain));
    assert_eq!(on(Machine::Dead, Permit::NeedsApproval), Next::Wait(WaitingOn::Approval));
    let gone = Facts { machine: Machine::Silent, ..calm() };
    assert_eq!(next(Stage::Draining, &gone), Next::Go(Stage::Repairing));
}

#[test]
fn the_end_of_the_line_decides_what_a_node_waits_for() {
    let none = Overruling { lost_budget: false, foreign_report: false, past_limit: false, obstacle: None };
    assert_eq!(wait(WaitingOn::Drain, none), WaitingOn::Drain);
    assert_eq!(wait(WaitingOn::Nothing, none), WaitingOn::Nothing);
    let foreign = Overruling { foreign_report: true, ..none };
    assert_eq!(wait(WaitingOn::Nothing, foreign), WaitingOn::Report);
    assert_eq!(wait(WaitingOn::Drain, foreign), WaitingOn::Drain);
    let lost = Overruling { lost_budget: true, ..foreign };
    assert_eq!(wait(WaitingOn::Nothing, lost), WaitingOn::Budget);
    let blocked = Overruling { obstacle: Some(WaitingOn::Leadership), ..lost };
    assert_eq!(wait(WaitingOn::Drain, blocked), WaitingOn::Leadership);
    assert_eq!(wait(WaitingOn::Operator, Overruling { lost_budget: false, ..blocked }), WaitingOn::Operator);
    assert_eq!(wait(WaitingOn::Drain, Overruling { past_limit: true, ..blocked }), WaitingOn::Operator);
}

#[test]
fn work_that_slipped_in_leaves_before_anything_is_ordered() {
    let slipped = Facts { work: Work::Leaving, schedulable: Schedulable::NotByUs, ..calm() };
    assert_eq!(next(Stage::Repairing, &Facts { repair: Repair::Due, ..slipped }), Next::Go(Stage::Draining));
    assert_eq!(next(Stage::Qualifying, &slipped), Next::Go(Stage::Draining));
    // What is under way is not called back.
    let ordered = Facts { repair: Repair::Ordered, ..slipped };
    assert_eq!(next(Stage::Repairing, &ordered), Next::Wait(WaitingOn::Order));
}

#[test]
fn what_is_retired_is_emptied_first_and_comes_back_only_when_somebody_asks() {
    let facts = Facts { request: Some(RequestKind::Retire), schedulable: Schedulable::NotByUs, ..calm() };
    let busy = Facts { work: Work::Saving, ..facts };
    assert_eq!(next(Stage::InService, &facts), Next::Go(Stage::Suspect));
    assert_eq!(next(Stage::Draining, &busy), Next::Wait(WaitingOn::Checkpoint));
    for stage in [Stage::Draining, Stage::Repairing, Stage::Qualifying] {
        assert_eq!(next(stage, &facts), Next::Go(Stage::Retired));
    }
    let ordered = Facts { repair: Repair::Ordered, ..facts };
    assert_eq!(next(Stage::Repairing, &ordered), Next::Wait(WaitingOn::Order));
    assert_eq!(next(Stage::Retired, &Facts { request: None, ..facts }), Next::Wait(WaitingOn::Nothing));
    let back = Facts { request: Some(RequestKind::Return), ..facts };
    assert_eq!(next(Stage::Retired, &back), Next::Go(Stage::Qualifying));
}

proptest! {
    #[test]
    fn no_node_leaves_service_without_a_grant(facts in any_facts()) {
        if next(Stage::Suspect, &facts) == Next::Go(Stage::Quarantined) {
            prop_assert_eq!(facts.ruling, Ruling::Granted);
            let asked = facts.request.is_some_and(RequestKind::takes_out);
            prop_assert!(asked || facts.breaker == Breaker::Closed && facts.blamed == Blamed::Node);
        }
        // Neither a breaker nor a shared cause blocks the return of a node.
        for stage in [Stage::Quarantined, Stage::Draining, Stage::Repairing, Stage::Qualifying, Stage::Held] {
            let closed = Facts { breaker: Breaker::Closed, blamed: Blamed::Node, ..facts };
            let open = Facts { breaker: Breaker::Open, blamed: Blamed::Domain, ..facts };
            prop_assert_eq!(next(stage, &closed), next(stage, &open));
        }
        // The only way back into service from repair is a passed trial.
        for stage in [Stage::Quarantined, Stage::Draining, Stage::Repairing] {
            prop_assert_ne!(next(stage, &facts), Next::Go(Stage::InService));
        }
        // An order needs a node that accepts it, and a permit.
        for stage in Stage::ALL {
            if matches!(next(stage, &facts), Next::Order(_)) {
                prop_assert!(facts.orders == Orders::Accepted && facts.permit == Permit::Granted);
                prop_assert!(matches!(stage, Stage::Repairing | Stage::Qualifying));
            }
        }
        if next(Stage::Qualifying, &facts) == Next::Go(Stage::InService) {
            prop_assert_eq!(facts.trial, Trial::Passed);
        }
    }
}
