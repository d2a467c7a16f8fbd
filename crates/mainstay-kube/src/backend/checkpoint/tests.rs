use mainstay_model::{
    ClaimId, Execution, Executor, GangName, Namespace, NodeName, NodeUid, OrderId, Precondition, RuleName, Schedulable,
    Stage, Urgency,
};

use super::*;

fn ask(gang: &str, drain: i64) -> Effect {
    let node = NodeName::parse("n1").unwrap();
    let gang = GangId { namespace: Namespace::parse("team").unwrap(), name: GangName::parse(gang).unwrap() };
    let answer_by = Timestamp(90_000);
    Effect {
        id: OrderId::of("drain", &node, 3),
        claim: Some(ClaimId::parse("fault-n1-3").unwrap()),
        executor: Executor::Backend,
        attempt: 1,
        execution: Execution::Ordered,
        expected: Precondition {
            uid: NodeUid::parse("u1").unwrap(),
            recorded: Stage::Draining,
            schedulable: Schedulable::NotByUs,
            is_empty: false,
            request: None,
        },
        start_by: Timestamp(0),
        done_by: Timestamp(0),
        epoch: Epoch(7),
        rule: RuleName::parse("gpu-off-the-bus").unwrap(),
        node,
        step: Step::AskCheckpoint { gang, drain: Timestamp(drain), urgency: Urgency::Now, answer_by },
    }
}

#[test]
fn a_request_has_one_name_for_each_gang_and_drain() {
    let name = |gang: &str, drain: i64| request(&ask(gang, drain), Epoch(7)).unwrap().metadata.name.unwrap();
    assert_eq!(name("jobset/train", 30_000), name("jobset/train", 30_000));
    let names = [name("jobset/train", 30_000), name("jobset-train", 30_000), name("jobset/train", 30_001)];
    let different: std::collections::BTreeSet<&String> = names.iter().collect();
    assert_eq!(different.len(), 3, "{names:?}");
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
    assert!(names.iter().all(|name| name.len() <= 253 && name.chars().all(is_plain)), "{names:?}");
}

#[test]
fn a_request_carries_epoch_approval_and_plan() {
    let annotations = request(&ask("jobset/train", 30_000), Epoch(7)).unwrap().metadata.annotations.unwrap();
    let told: Vec<(&str, &str)> = annotations.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    let expected =
        [("mainstay.dev/approval", "drain-n1-3"), ("mainstay.dev/epoch", "7"), ("mainstay.dev/plan", "fault-n1-3")];
    assert_eq!(told, expected);
}

#[test]
fn a_job_saves_until_it_answers_or_its_time_is_over() {
    let mut open = request(&ask("jobset/train", 30_000), Epoch(7)).unwrap();
    assert!(is_open(&open, Timestamp(89_000)) && !is_open(&open, Timestamp(90_000)));
    let saved = mainstay_api::CheckpointRequestStatus { acknowledged_at: Timestamp(50_000).into(), step_saved: 7 };
    open.status = Some(saved);
    assert!(!is_open(&open, Timestamp(60_000)));
}
