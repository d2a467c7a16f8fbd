//! What stamping counts and what it refuses, case by case. What holds for any run of reports is in `tests/properties.rs`.

mod properties;

use mainstay_model::{Evidence, Stage};

use super::*;
use crate::fixture::{BEGIN, Node, hours, minutes, report};

fn only(node: &Node) -> &Arrivals {
    let [entry] = node.persisted.arrivals.as_slice() else { panic!("one entry: {:?}", node.persisted.arrivals) };
    entry
}

#[test]
fn counts_are_folded_by_the_time_of_arrival() {
    let mut node = Node::new();
    node.report(minutes(5), report("b1", &["Xid 31 G1 2"]));
    node.report(minutes(50), report("b1", &["Xid 31 G1 5"]));
    node.report(hours(3), report("b1", &["Xid 31 G1 6"]));
    assert_eq!(only(&node).hours.as_slice(), [1, 0, 0, 5]);
    assert_eq!(only(&node).days.as_slice(), [6]);
    assert_eq!(only(&node).counted, 6);
    node.report(hours(26), report("b1", &["Xid 31 G1 7"]));
    assert_eq!(only(&node).hours.as_slice().len(), 24, "the first five have left");
    assert_eq!(only(&node).days.as_slice(), [1, 6]);
}

#[test]
fn details_of_one_code_and_part_are_one_count() {
    let mut node = Node::new();
    node.report(
        BEGIN,
        report("b1", &["Xid 74 G1 2 link 3 r0=1", "Xid 74 G1 3 link 4 r0=1", "Xid 74 G2 1 link 3 r0=1"]),
    );
    let counted: Vec<u64> = node.persisted.arrivals.as_slice().iter().map(|entry| entry.counted).collect();
    assert_eq!(counted, [5, 1]);
}

#[test]
fn a_report_that_comes_again_changes_nothing() {
    let mut node = Node::new();
    let first = report("b1", &["Xid 31 G1 2"]);
    node.report(BEGIN, first.clone());
    let once = node.persisted.clone();
    let stamped = node.report(hours(5), first);
    assert_eq!((stamped.changed(), &node.persisted), (false, &once));
}

#[test]
fn a_new_boot_counts_from_zero_and_keeps_what_arrived() {
    let mut node = Node::new();
    node.report(BEGIN, report("b1", &["Xid 31 G1 5"]));
    assert_eq!(node.report(hours(1), report("b2", &[])).boot, Boot::New);
    assert_eq!((only(&node).counted, only(&node).hours.as_slice()), (0, [5].as_slice()));
    let stamped = node.report(hours(2), report("b2", &["Xid 31 G1 3"]));
    assert_eq!((stamped.boot, stamped.arrived), (Boot::Same, 3));
    assert_eq!(only(&node).hours.as_slice(), [3, 0, 5]);
}

#[test]
fn a_count_that_falls_within_a_boot_is_recorded_as_impossible() {
    let mut node = Node::new();
    node.report(BEGIN, report("b1", &["Xid 31 G1 5"]));
    let stamped = node.report(hours(1), report("b1", &["Xid 31 G1 4"]));
    assert_eq!((stamped.arrived, stamped.impossible, stamped.changed()), (0, 1, true));
    let [fallen, recorded] = node.persisted.arrivals.as_slice() else { panic!("{:?}", node.persisted.arrivals) };
    assert_eq!((fallen.code.as_str(), fallen.counted, fallen.hours.as_slice()), ("31", 4, [5].as_slice()));
    assert_eq!((recorded.code.as_str(), recorded.hours.as_slice()), ("counter-impossible", [1].as_slice()));
    assert_eq!((recorded.source, &recorded.device), (fallen.source, &fallen.device));
    let before = node.persisted.clone();
    assert!(!node.report(hours(2), report("b1", &["Xid 31 G1 4"])).changed(), "told once");
    assert_eq!(node.persisted, before);
}

#[test]
fn an_agent_that_forgot_hides_no_fault_that_comes_again() {
    let mut node = Node::new();
    node.report(BEGIN, report("b1", &["Xid 94 G1 1"]));
    node.qualifies();
    assert_eq!(node.report(hours(1), report("b1", &[])).impossible, 1);
    assert_eq!(node.report(hours(2), report("b1", &["Xid 94 G1 1"])).arrived, 1, "as many as before, and another one");
}

#[test]
fn no_machine_counts_more_than_a_step_at_once() {
    // A dead device reads as ones, DCGM's blank is 2^63 - 14.
    for count in [COUNT_STEP_MAX + 1, u64::from(u32::MAX), 9_223_372_036_854_775_794, u64::MAX] {
        let mut node = Node::new();
        let stamped = node.report(BEGIN, report("b1", &[&format!("PcieAer correctable G1 {count}")]));
        assert_eq!((stamped.arrived, stamped.impossible), (0, 1), "{count}");
        assert!(node.persisted.arrivals.as_slice().is_empty());
    }
    let mut node = Node::new();
    let stamped = node.report(BEGIN, report("b1", &[&format!("PcieAer correctable G1 {COUNT_STEP_MAX}")]));
    assert_eq!((stamped.arrived, stamped.impossible), (COUNT_STEP_MAX, 0));
}

#[test]
fn a_bucket_stops_where_the_api_does() {
    let mut node = Node::new();
    for step in 1..=4 {
        node.report(BEGIN, report("b1", &[&format!("PcieAer correctable G1 {}", COUNT_STEP_MAX * step)]));
    }
    assert_eq!(only(&node).hours.as_slice(), [i32::MAX.unsigned_abs()]);
}

#[test]
fn a_clock_that_stepped_back_counts_into_the_newest_hour() {
    let mut node = Node::new();
    node.report(hours(10), report("b1", &["Xid 31 G1 1"]));
    node.report(hours(7), report("b1", &["Xid 31 G1 2"]));
    assert_eq!(only(&node).hours.as_slice(), [2]);
}

/// The parts on record after sixteen boots, an hour apart, with a fault of another part in each.
fn sixteen_boots() -> Node {
    let mut node = Node::new();
    for at in 0..16 {
        node.report(hours(at), report(&format!("b{at}"), &[&format!("Xid 31 G{at} 1")]));
    }
    node
}

fn parts(node: &Node) -> Vec<String> {
    node.persisted.arrivals.as_slice().iter().map(|entry| entry.device.clone().unwrap().to_string()).collect()
}

#[test]
fn a_full_record_drops_the_least_recent_of_what_is_settled() {
    let mut node = sixteen_boots();
    let stamped = node.report(hours(26), report("b99", &["Xid 31 G99 1"]));
    assert_eq!((stamped.arrived, stamped.uncounted), (1, 0));
    assert_eq!(parts(&node).len(), 16);
    assert!(!parts(&node).contains(&"G0".to_owned()) && parts(&node).contains(&"G1".to_owned()));
}

#[test]
fn noise_does_not_push_a_fault_out_of_sight() {
    let mut node = sixteen_boots();
    let stamped = node.report(hours(20), report("b99", &["Xid 31 G99 1"]));
    assert_eq!((stamped.arrived, stamped.uncounted), (0, 1));
    assert!(parts(&node).contains(&"G0".to_owned()));
    assert_eq!(node.findings(hours(20)).dropped, 1, "all seventeen are found");
}

#[test]
fn a_fault_takes_the_place_of_noise_and_nothing_is_counted_twice() {
    let mut lines: Vec<String> = (0..16).map(|at| format!("Xid 45 G{at} 1")).collect();
    lines.push("Xid 79 G5 1".to_owned());
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let mut node = Node::new();
    let stamped = node.report(BEGIN, report("b1", &lines));
    assert_eq!((stamped.arrived, stamped.uncounted), (17, 0));
    assert!(!parts(&node).contains(&"G0".to_owned()), "one that is only counted gives way");
    assert_eq!(node.rules(BEGIN).first().map(String::as_str), Some("gpu-off-the-bus"));
    let before = node.persisted.clone();
    // All windows have lapsed, and still none of the sixteen gives its place up to another of its weight.
    let stamped = node.report(hours(30), report("b1", &lines));
    assert_eq!((stamped.changed(), stamped.uncounted), (false, 1), "no old evidence is counted again");
    assert_eq!(node.persisted, before);
    assert_eq!(node.rules(hours(30)), ["teardown"], "without a place it is not known when it came");
}

#[test]
fn reboots_of_a_node_in_service_are_counted_and_others_are_not() {
    let reboots = |node: &Node| -> u64 {
        let all = node.persisted.arrivals.as_slice().iter().filter(|entry| entry.code.as_str() == "rebooted");
        all.map(|entry| buckets::within(entry, HOURS, buckets::hour_of(hours(1)))).sum()
    };
    let mut node = Node::new();
    node.report(BEGIN, report("b1", &[]));
    node.report(minutes(5), report("b2", &[]));
    assert_eq!(reboots(&node), 0, "it is in maintenance");
    node.persisted.stage = Stage::InService;
    for boot in ["b3", "b4", "b4", "b5"] {
        node.report(minutes(9), report(boot, &[]));
    }
    assert_eq!((reboots(&node), node.rules(minutes(9))), (3, vec!["reboot-loop".to_owned()]));
}

#[test]
fn what_arrives_during_the_tests_counts_against_them_and_survives_a_pass() {
    let mut node = Node::new();
    node.report(BEGIN, report("b1", &["Xid 94 G1 2", "Xid 94 G2 1"]));
    begin_tests(&mut node.persisted);
    assert_eq!(since_tests(node.persisted.arrivals.as_slice()), []);
    node.report(hours(1), report("b1", &["Xid 94 G1 5", "Xid 94 G2 1"]));
    let newer = since_tests(node.persisted.arrivals.as_slice());
    assert_eq!(newer.iter().map(|one| one.hours.as_slice().to_vec()).collect::<Vec<_>>(), [[3]]);
    // G2 was not treated, so a pass does not settle it.
    let is_first = |entry: &Arrivals| entry.device.as_ref().is_some_and(|device| device.as_str() == "G1");
    forget_hours(&mut node.persisted, is_first);
    let counts = |node: &Node| -> Vec<u64> {
        node.persisted
            .arrivals
            .as_slice()
            .iter()
            .map(|one| buckets::within(one, HOURS, buckets::hour_of(hours(1))))
            .collect()
    };
    assert_eq!(counts(&node), [3, 1]);
    // A new boot counts from zero: all that it reports came after the tests began.
    node.report(hours(2), report("b2", &["Xid 94 G1 1"]));
    assert_eq!(since_tests(node.persisted.arrivals.as_slice()).len(), 1);
}

#[test]
fn a_clean_return_forgets_hours_and_keeps_days() {
    let mut node = Node::new();
    node.report(BEGIN, report("b1", &["Xid 94 G1 2"]));
    node.qualifies();
    assert_eq!((only(&node).hours.as_slice(), only(&node).days.as_slice()), ([].as_slice(), [2].as_slice()));
    let stamped = node.report(hours(1), report("b1", &["Xid 94 G1 2"]));
    assert_eq!(stamped.arrived, 0, "what was settled does not arrive again");
    node.report(hours(2), report("b1", &["Xid 94 G1 3"]));
    assert_eq!((only(&node).hours.as_slice(), only(&node).days.as_slice()), ([1].as_slice(), [3].as_slice()));
}

#[test]
fn rolling_lets_go_of_what_no_window_reaches() {
    let mut node = Node::new();
    node.report(BEGIN, report("b1", &["Xid 31 G1 2"]));
    roll(&mut node.persisted, hours(24));
    assert_eq!((only(&node).hours.as_slice().len(), only(&node).days.as_slice()), (0, [2].as_slice()));
    roll(&mut node.persisted, hours(24 * 7));
    assert_eq!(only(&node).counted, 2, "the mark of this boot stays");
    node.report(hours(24 * 7), report("b2", &[]));
    assert!(node.persisted.arrivals.as_slice().is_empty());
}

#[test]
fn a_quiet_kind_may_make_room_in_a_full_list_and_counts_anew_when_it_comes_again() {
    let mut node = Node::new();
    node.report(BEGIN, report("b1", &["Xid 31 G1 5"]));
    let stamped = node.report(hours(30), report("b1", &["Kernel overflow - 1"]));
    assert_eq!((stamped.impossible, stamped.arrived, stamped.changed()), (0, 1, true), "the overflow alone arrives");
    let stamped = node.report(hours(31), report("b1", &["Kernel overflow - 1", "Xid 31 G1 2"]));
    assert_eq!((stamped.impossible, stamped.arrived), (0, 2), "from zero");

    // It came again before the next report.
    let mut node = Node::new();
    node.report(BEGIN, report("b1", &["Xid 31 G1 5"]));
    let stamped = node.report(hours(30), report("b1", &["Kernel overflow - 1", "Xid 31 G1 2"]));
    assert_eq!((stamped.impossible, stamped.arrived), (0, 3));
}

#[test]
fn a_kind_that_arrived_within_a_day_or_left_a_list_with_room_did_not_make_room() {
    for (at, lines) in [(hours(20), &["Kernel overflow - 1"][..]), (hours(30), &["Xid 48 G2 1"][..])] {
        let mut node = Node::new();
        node.report(BEGIN, report("b1", &["Xid 31 G1 5"]));
        assert_eq!(node.report(at, report("b1", lines)).impossible, 1, "{lines:?}");
    }
}
