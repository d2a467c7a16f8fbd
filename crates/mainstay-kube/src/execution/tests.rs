use serde_json::json;

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
fn a_mode_that_the_controller_may_not_carry_out_is_observed_and_named() {
    for mode in [Mode::Propose, Mode::Act] {
        assert_eq!(Capability::Observe.in_effect(mode), Mode::Observe);
        let notice = Capability::Observe.notice(mode).unwrap();
        assert!(notice.starts_with(&format!("Mode {mode:?} has no effect")), "{notice}");
        assert_eq!((Capability::Act.in_effect(mode), Capability::Act.notice(mode)), (mode, None));
    }
    assert_eq!(
        (Capability::Observe.in_effect(Mode::Observe), Capability::Observe.notice(Mode::Observe)),
        (Mode::Observe, None)
    );
}

#[test]
fn a_view_knows_from_the_cell_whether_the_leader_acts() {
    let cell = |mode: &str, status: &str, message: &str| -> Cell {
        let condition = json!({
            "type": "ModeHonoured", "status": status, "reason": "InEffect", "message": message, "observedGeneration": 1,
            "lastTransitionTime": "2026-11-19T00:00:00Z",
        });
        let status = json!({ "epoch": 3, "conditions": [condition] });
        serde_json::from_value(json!({ "metadata": { "name": "cell" }, "spec": { "mode": mode }, "status": status }))
            .unwrap()
    };
    let acts = |mode, status, message| Capability::shown_by(&cell(mode, status, message)) == Capability::Act;
    assert!(acts("Act", "True", "Mode Act is in effect."));
    assert!(!acts("Act", "False", "Mode Act has no effect: ..."));
    // The operator has just changed the mode, and the leader has not answered yet.
    assert!(!acts("Act", "True", "Mode Observe is in effect."));
    assert!(!acts("Observe", "True", "Mode Observe is in effect."));
}

#[test]
fn a_leader_that_acts_trusts_what_is_stored() {
    assert_eq!(corrected(&quarantined(), Capability::Act), None);
}

#[test]
fn a_stored_quarantine_that_was_never_executed_is_a_suspicion() {
    let corrected = corrected(&quarantined(), Capability::Observe).unwrap();
    assert_eq!((corrected.stage, corrected.since), (Stage::Suspect, Timestamp(10)));
    assert_eq!(corrected.history.as_slice(), [step(Stage::Suspect, 10)]);
    assert_eq!(corrected.proposals.as_slice(), [proposal(2, ProposalOutcome::Recovered)]);
    assert_eq!(corrected.round, 3, "an action's id is never used twice");
}

#[test]
fn without_a_cause_the_node_is_in_service_and_a_true_record_is_left_alone() {
    let retired = Persisted { cause: None, stage: Stage::Retired, ..quarantined() };
    assert_eq!(corrected(&retired, Capability::Observe).map(|corrected| corrected.stage), Some(Stage::InService));
    for stage in [Stage::InService, Stage::Suspect, Stage::Held, Stage::Maintenance, Stage::Upgrading] {
        let stored = Persisted {
            history: Bounded::try_from(vec![step(stage, 10)]).unwrap(),
            proposals: Bounded::try_from(vec![proposal(1, ProposalOutcome::NodeLost)]).unwrap(),
            ..Persisted::new(stage, Timestamp(10))
        };
        assert_eq!(corrected(&stored, Capability::Observe), None, "{stage:?}");
    }
    let back = Persisted { stage: Stage::InService, since: Timestamp(90), ..quarantined() };
    let corrected = corrected(&back, Capability::Observe).unwrap();
    assert_eq!((corrected.stage, corrected.since), (Stage::InService, Timestamp(90)));
    assert_eq!(corrected.history.as_slice(), [step(Stage::Suspect, 10)]);
}
