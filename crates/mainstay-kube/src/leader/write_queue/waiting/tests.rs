use mainstay_api::{Conditions, DisplayFields, GpuNodeStatus};
use mainstay_model::{Epoch, NodeName, Persisted, Ppm, Reason, Timestamp, WaitingOn};

use super::*;
use crate::write::{EventObject, NewEvent};

fn node(name: &str) -> NodeName {
    NodeName::parse(name).unwrap()
}

fn record(name: &str, stage: Stage) -> Write {
    let told = DisplayFields {
        epoch: Epoch(1),
        waiting_on: WaitingOn::Nothing,
        message: Reason::lossy(""),
        risk: Ppm(0),
        conditions: Conditions::default(),
    };
    let persisted = Persisted::new(stage, Timestamp(0));
    let status = Box::new(GpuNodeStatus::of(&persisted, told));
    Write::Record { node: node(name), status, is_new: false }
}

fn wait(name: &str) -> Write {
    Write::Wait { node: node(name), waiting_on: WaitingOn::Budget, message: Reason::lossy("wait"), conditions: None }
}

fn event(name: &str) -> Write {
    Write::Event(Box::new(NewEvent {
        name: name.to_owned(),
        regarding: EventObject::Node(node("n")),
        reason: String::new(),
        action: "Recorded",
        note: String::new(),
        is_warning: false,
    }))
}

fn cell() -> Write {
    Write::Cell { record: None, conditions: Vec::new() }
}

fn deletion(name: &str) -> Write {
    Write::Forget { name: name.to_owned(), uid: String::new() }
}

/// The targets of all writes, in the order in which they begin.
fn order(waiting: &mut WaitingWrites) -> Vec<Target> {
    std::iter::from_fn(|| waiting.take(|_, _, _| true)).map(|(target, _)| target).collect()
}

#[test]
fn writes_begin_by_urgency_and_then_by_age() {
    let mut waiting = WaitingWrites::default();
    let writes = [
        event("e"),
        deletion("old"),
        wait("w"),
        record("b", Stage::InService),
        record("z", Stage::Suspect),
        record("a", Stage::Quarantined),
        cell(),
    ];
    for write in writes {
        assert_eq!(waiting.push(write), 0);
    }
    let node = |name: &str| Target::Node(node(name));
    let expected = [
        Target::Cell,
        node("z"),
        node("a"),
        node("b"),
        node("w"),
        Target::Incident("old".to_owned()),
        Target::Event("e".to_owned()),
    ];
    assert_eq!(order(&mut waiting), expected);
    assert!(waiting.is_empty());
}

#[test]
fn a_later_write_takes_the_age_of_the_earlier_one_and_its_own_urgency() {
    let mut waiting = WaitingWrites::default();
    waiting.push(record("a", Stage::InService));
    waiting.push(record("b", Stage::Suspect));
    waiting.push(record("a", Stage::Suspect));
    waiting.push(wait("b"));
    let begun: Vec<(Target, Write)> = std::iter::from_fn(|| waiting.take(|_, _, _| true)).collect();
    assert_eq!(
        begun.iter().map(|(target, _)| target.clone()).collect::<Vec<_>>(),
        [Target::Node(node("a")), Target::Node(node("b"))]
    );
    // The wait became part of the record.
    assert!(matches!(&begun[1].1, Write::Record { status, .. } if status.waiting_on == WaitingOn::Budget));
}

#[test]
fn every_eighth_turn_goes_to_the_oldest_so_that_no_class_waits_forever() {
    let mut waiting = WaitingWrites::default();
    waiting.push(event("e"));
    waiting.push(deletion("old"));
    let mut begun = Vec::new();
    for number in 0..32 {
        // More urgent writes arrive as fast as writes begin.
        waiting.push(record(&format!("n{number}"), Stage::Suspect));
        begun.extend(waiting.take(|_, _, _| true).map(|(target, _)| target));
    }
    let turn = |target: &Target| begun.iter().position(|one| one == target);
    assert_eq!(turn(&Target::Event("e".to_owned())), Some(7));
    assert_eq!(turn(&Target::Incident("old".to_owned())), Some(15));
}

#[test]
fn what_may_not_begin_is_passed_over_and_stays() {
    let mut waiting = WaitingWrites::default();
    waiting.push(cell());
    waiting.push(event("e"));
    let next = waiting.take(|_, target, _| *target != Target::Cell).map(|(target, _)| target);
    assert_eq!(next, Some(Target::Event("e".to_owned())));
    assert_eq!(waiting.take(|_, target, _| *target != Target::Cell).map(|(target, _)| target), None);
    assert!(waiting.contains(&Target::Cell));
    assert_eq!(waiting.clear(), 1);
    assert!(order(&mut waiting).is_empty());
}

#[test]
fn the_queue_is_bounded_and_its_least_urgent_write_goes_first() {
    let mut waiting = WaitingWrites::default();
    let dropped: usize = (0..EVENTS_MAX + 3).map(|number| waiting.push(event(&format!("e{number}")))).sum();
    assert_eq!(dropped, 3);
    let dropped: usize = (0..WAITING_MAX).map(|number| waiting.push(wait(&format!("n{number}")))).sum();
    assert_eq!(dropped, EVENTS_MAX, "the Events made room");
    assert_eq!(waiting.push(cell()), 1);
    assert!(waiting.contains(&Target::Cell));
    assert!(!waiting.contains(&Target::Node(node(&format!("n{}", WAITING_MAX - 1)))));
}
