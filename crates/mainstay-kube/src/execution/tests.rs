use mainstay_model::{Cause, NodeName, OrderId, RuleName, Timestamp, Urgency};

use super::*;

fn rule() -> RuleName {
    RuleName::parse("gpu-off-the-bus").unwrap()
}

fn step(to: Stage, at: i64) -> Transition {
    Transition { to, at: Timestamp(at), rule: rule(), word: None }
}

fn proposal(round: u32, happened: ProposalOutcome) -> Proposal {
    let action = OrderId::of("cordon", &NodeName::parse("n1").unwrap(), round);
    Proposal { action, rule: rule(), decided_at: Timestamp(1), happened, happened_at: None }
}

/// What an older version stored of a node that it never cordoned.
fn quarantined() -> Persisted {
    let cause = Cause { rule: rule(), urgency: Urgency::Now, device: None, rungs: Bounded::new() };
    Persisted {
        cause: Some(Box::new(cause)),
        round: 3,
        history: Bounded::try_from(vec![step(Stage::Suspect, 10), step(Stage::Quarantined, 20)]).unwrap(),
        proposals: Bounded::try_from(vec![
            proposal(2, ProposalOutcome::Recovered),
            proposal(3, ProposalOutcome::Executed),
        ])
        .unwrap(),
        ..Persisted::new(Stage::Quarantined, Timestamp(20))
    }
}

#[test]
fn a_mode_above_what_this_build_executes_is_observed_and_named() {
    for mode in [Mode::Propose, Mode::Act] {
        assert_eq!(in_effect(mode), Mode::Observe);
        let notice = notice(mode).unwrap();
        assert!(notice.starts_with(&format!("Mode {mode:?} has no effect yet")), "{notice}");
    }
    assert_eq!((in_effect(Mode::Observe), notice(Mode::Observe)), (Mode::Observe, None));
}

#[test]
fn a_stored_quarantine_that_was_never_executed_is_a_suspicion() {
    let corrected = corrected(&quarantined()).unwrap();
    assert_eq!((corrected.stage, corrected.since), (Stage::Suspect, Timestamp(10)));
    assert_eq!(corrected.history.as_slice(), [step(Stage::Suspect, 10)]);
    assert_eq!(corrected.proposals.as_slice(), [proposal(2, ProposalOutcome::Recovered)]);
    assert_eq!(corrected.round, 3, "an action's id is never used twice");
}

#[test]
fn without_a_cause_the_node_is_in_service_and_a_true_record_is_left_alone() {
    let retired = Persisted { cause: None, stage: Stage::Retired, ..quarantined() };
    assert_eq!(corrected(&retired).map(|corrected| corrected.stage), Some(Stage::InService));
    for stage in [Stage::InService, Stage::Suspect, Stage::Held, Stage::Maintenance, Stage::Upgrading] {
        let stored = Persisted {
            history: Bounded::try_from(vec![step(stage, 10)]).unwrap(),
            proposals: Bounded::try_from(vec![proposal(1, ProposalOutcome::NodeLost)]).unwrap(),
            ..Persisted::new(stage, Timestamp(10))
        };
        assert_eq!(corrected(&stored), None, "{stage:?}");
    }
    let back = Persisted { stage: Stage::InService, since: Timestamp(90), ..quarantined() };
    let corrected = corrected(&back).unwrap();
    assert_eq!((corrected.stage, corrected.since), (Stage::InService, Timestamp(90)));
    assert_eq!(corrected.history.as_slice(), [step(Stage::Suspect, 10)]);
}
