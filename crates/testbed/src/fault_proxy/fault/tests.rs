use super::super::call::tests::call;
use super::*;

#[test]
fn a_rule_counts_only_the_calls_that_it_is_about() {
    let mut rule = Rule::new(Fault::LoseAnswer, Turn::Nth(2), Call::is_write);
    let (read, write) = (call("GET", "/api/v1/nodes"), call("PATCH", "/api/v1/nodes/a"));
    let due = [&write, &read, &write, &write].map(|call| rule.due(call));
    assert_eq!(due, [None, None, Some(Fault::LoseAnswer), None]);
}

#[test]
fn turns_are_counted_from_one() {
    let turns = |turn: Turn| (1..=6).filter(|count| turn.is_at(*count)).collect::<Vec<u64>>();
    assert_eq!(turns(Turn::First(2)), [1, 2]);
    assert_eq!(turns(Turn::Cycle { nth: 2, of: 3 }), [2, 5]);
    assert_eq!(turns(Turn::Cycle { nth: 3, of: 3 }), [3, 6]);
}

#[test]
fn a_server_that_moved_on_answers_by_the_kind_of_call() {
    let status = |call: &Call| Reply::MovedOn.status(call).0.as_u16();
    assert_eq!(status(&call("PATCH", "/api/v1/nodes/a")), 409);
    assert_eq!(status(&call("GET", "/api/v1/nodes?watch=true&resourceVersion=7")), 410);
    assert_eq!(status(&call("GET", "/api/v1/nodes?limit=500")), 503);
}
