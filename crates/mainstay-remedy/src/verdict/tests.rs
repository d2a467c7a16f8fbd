//! What histories say of rules, and that nothing is counted twice.

use mainstay_model::{Bounded, OrderId, Proposal};
use proptest::prelude::*;

use super::*;

use Stage::{Draining, Held, InService, Maintenance, Qualifying, Quarantined, Repairing, Suspect};

const FAULT: Option<Resolution> = Some(Resolution::FaultFound);
const NOTHING: Option<Resolution> = Some(Resolution::NothingFound);

fn rule() -> RuleName {
    RuleName::parse("gpu-off-the-bus").unwrap()
}

fn node() -> NodeName {
    NodeName::parse("n1").unwrap()
}

fn history(stages: &[(Stage, Option<Resolution>)]) -> Vec<Transition> {
    (0..)
        .zip(stages)
        .map(|(at, (to, word))| Transition { to: *to, at: Timestamp(at), rule: rule(), word: *word })
        .collect()
}

/// The outcomes of the one round of a history.
fn outcomes(stages: &[(Stage, Option<Resolution>)]) -> Vec<Outcome> {
    let history = history(stages);
    let mut rounds = rounds(&history);
    let round = rounds.next().unwrap();
    round.judged.into_iter().map(|(_, outcome)| outcome).collect()
}

fn unsaid(stages: &[Stage]) -> Vec<Outcome> {
    outcomes(&stages.iter().map(|stage| (*stage, None)).collect::<Vec<_>>())
}

#[test]
fn a_test_speaks_for_the_rule_or_against_it_and_a_reset_for_neither() {
    assert_eq!(unsaid(&[Suspect, Quarantined, Draining, Repairing, Qualifying]), []);
    assert_eq!(unsaid(&[Quarantined, Draining, Qualifying, InService]), [Outcome::Refuted]);
    assert_eq!(unsaid(&[Quarantined, Draining, Qualifying, Repairing]), [Outcome::Confirmed]);
    assert_eq!(unsaid(&[Quarantined, Repairing, Qualifying, Repairing]), [Outcome::Confirmed]);
    assert_eq!(unsaid(&[Quarantined, Repairing, Qualifying, InService]), [Outcome::Unclear]);
    assert_eq!(unsaid(&[Quarantined, Suspect]), [Outcome::Unclear]);
    assert_eq!(unsaid(&[Quarantined, Maintenance]), [Outcome::Unclear]);
    // A test that work kept from ending has not failed.
    assert_eq!(unsaid(&[Quarantined, Qualifying, Draining, Repairing, Qualifying, InService]), [Outcome::Unclear]);
}

#[test]
fn a_machine_that_was_not_reachable_is_confirmed_by_its_repair_and_never_refuted_by_its_return() {
    let unreachable = |stages: &[Stage]| {
        let mut history = history(&stages.iter().map(|stage| (*stage, None)).collect::<Vec<_>>());
        history[0].rule = UNREACHABLE.get();
        let round = rounds(&history).next().unwrap();
        round.judged.into_iter().map(|(_, outcome)| outcome).collect::<Vec<_>>()
    };
    assert_eq!(unreachable(&[Quarantined, Repairing, Qualifying, InService]), [Outcome::Confirmed]);
    assert_eq!(unreachable(&[Quarantined, Draining, Qualifying, InService]), [Outcome::Unclear]);
    assert_eq!(unreachable(&[Quarantined, Draining, Qualifying, Repairing]), [Outcome::Confirmed]);
}

#[test]
fn a_person_has_the_last_word_until_the_node_is_back() {
    let repaired = [(Quarantined, None), (Repairing, None)];
    let and = |more: &[(Stage, Option<Resolution>)]| outcomes(&[&repaired[..], more].concat());
    assert_eq!(and(&[(Qualifying, FAULT), (InService, FAULT)]), [Outcome::Confirmed]);
    assert_eq!(and(&[(Qualifying, None), (InService, NOTHING)]), [Outcome::Refuted]);
    let failed = [(Qualifying, None), (Repairing, None)];
    assert_eq!(and(&[&failed[..], &[(Qualifying, NOTHING)]].concat()), [Outcome::Confirmed, Outcome::Refuted]);
    assert_eq!(and(&[(Held, None), (Qualifying, FAULT)]), [Outcome::Unclear, Outcome::Confirmed]);
    assert_eq!(and(&[(Qualifying, None), (InService, None), (Held, FAULT)]), [Outcome::Unclear]);
    // What stood before the round began was said of something else.
    assert_eq!(outcomes(&[(Quarantined, FAULT), (Qualifying, FAULT), (InService, None)]), [Outcome::Refuted]);
    assert_eq!(outcomes(&[(Quarantined, FAULT), (Qualifying, NOTHING)]), [Outcome::Refuted]);
    // A resolution that is still set when the next removal begins belongs to neither.
    assert_eq!(outcomes(&[(Quarantined, None), (Quarantined, FAULT)]), [Outcome::Unclear]);
}

fn persisted(stages: &[(Stage, Option<Resolution>)], happened: &[(ProposalOutcome, i64)]) -> Persisted {
    let mut persisted = Persisted::new(InService, Timestamp(0));
    for transition in history(stages) {
        persisted.history.push_forgetting_oldest(transition);
    }
    let proposals = happened.iter().map(|(happened, at)| Proposal {
        action: OrderId::parse("cordon-n1-1").unwrap(),
        rule: rule(),
        decided_at: Timestamp(0),
        happened: *happened,
        happened_at: Some(Timestamp(*at)),
    });
    persisted.proposals = Bounded::try_from(proposals.collect::<Vec<_>>()).unwrap();
    persisted
}

fn counts(records: &[RuleRecord]) -> [u64; 4] {
    records.first().map_or([0; 4], |one| [one.confirmed, one.refuted, one.confirmed_on_paper, one.refuted_on_paper])
}

fn told(persisted: &Persisted) -> Verdicts {
    let mut verdicts = Verdicts::default();
    judged(persisted, &node()).for_each(|one| verdicts.note(one));
    verdicts
}

#[test]
fn paper_is_counted_apart_and_a_correction_moves_one_count() {
    let happened = [
        (ProposalOutcome::NodeLost, 1),
        (ProposalOutcome::RemovedByOthers, 2),
        (ProposalOutcome::Recovered, 3),
        (ProposalOutcome::Executed, 4),
    ];
    let on_paper = told(&persisted(&[], &happened));
    assert_eq!(counts(&on_paper.added(&[], Timestamp(0), None)), [0, 0, 2, 1]);

    let corrected = [(Quarantined, None), (Qualifying, None), (Repairing, None), (Qualifying, NOTHING)];
    let verdicts = told(&persisted(&corrected, &[]));
    let before = verdicts.added(&[], Timestamp(0), Some(Timestamp(3)));
    assert_eq!(counts(&before), [1, 0, 0, 0]);
    assert_eq!(counts(&verdicts.added(&before, Timestamp(3), None)), [0, 1, 0, 0]);
}

#[test]
fn an_outcome_that_no_node_stores_any_more_is_not_counted() {
    let persisted = persisted(&[], &[(ProposalOutcome::Recovered, 1), (ProposalOutcome::Recovered, 3)]);
    let mut verdicts = told(&persisted);
    assert!(verdicts.has_any(Timestamp(3)) && !verdicts.has_any(Timestamp(4)));
    let last = judged(&persisted, &node()).last().unwrap();
    verdicts.forget(&last);
    assert!(verdicts.has_any(Timestamp(1)) && !verdicts.has_any(Timestamp(2)));
    assert_eq!(counts(&verdicts.added(&[], Timestamp(0), None)), [0, 0, 0, 1]);
}

#[test]
fn a_record_that_is_full_takes_no_other_rule_and_forgets_none() {
    let full: Vec<RuleRecord> =
        (0..RULES_MAX).map(|number| RuleRecord::new(RuleName::parse(&format!("rule-{number}")).unwrap())).collect();
    let verdicts = told(&persisted(&[], &[(ProposalOutcome::Recovered, 1)]));
    let after = verdicts.added(&full, Timestamp(0), None);
    assert_eq!(after.len(), RULES_MAX);
    assert!(after.iter().all(|record| record.judged() == 0));
    let uncounted = |records: &[RuleRecord], from, to| verdicts.uncounted(records, Timestamp(from), Timestamp(to));
    assert_eq!([uncounted(&after, 0, 2), uncounted(&after, 0, 1), uncounted(&after, 2, 3)], [1, 0, 0]);
    assert_eq!(uncounted(&verdicts.added(&full[1..], Timestamp(0), None), 0, 2), 0, "the last place was free");
}

fn any_stage() -> impl Strategy<Value = (Stage, Option<Resolution>)> {
    let stages = [InService, Suspect, Quarantined, Draining, Repairing, Qualifying, Held, Maintenance];
    (prop::sample::select(stages.to_vec()), prop::sample::select(vec![None, None, None, FAULT, NOTHING]))
}

proptest! {
    #[test]
    fn however_often_it_is_written_down_meanwhile_the_counts_are_the_same(
        stages in prop::collection::vec(any_stage(), 0..16),
        written_at in prop::collection::btree_set(0..17_i64, 0..6),
    ) {
        let at_once = told(&persisted(&stages, &[])).added(&[], Timestamp(0), None);
        let (mut records, mut counted_to) = (Vec::new(), Timestamp(0));
        for at in written_at.into_iter().map(Timestamp) {
            // What is known by then and no more.
            let so_far = &stages[..stages.len().min(usize::try_from(at.0).unwrap())];
            records = told(&persisted(so_far, &[])).added(&records, counted_to, Some(at));
            counted_to = at;
        }
        let now = told(&persisted(&stages, &[])).added(&records, counted_to, None);
        prop_assert_eq!(counts(&now), counts(&at_once));
    }
}
