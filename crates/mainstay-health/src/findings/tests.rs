//! What is found on one node, case by case. That every row of the catalogue has a case is in `tests/rows.rs`.

mod properties;
mod rows;

use mainstay_model::{RepairStep, Response};

use super::*;
use crate::catalogue::Catalogue;
use crate::fixture::{BEGIN, Node, hours, minutes, names, policy, report};
use crate::{COUNT_STEP_MAX, roll};

fn node(lines: &[&str]) -> Node {
    let mut node = Node::new();
    node.report(BEGIN, report("b1", lines));
    node
}

#[test]
fn a_calm_node_has_nothing() {
    assert_eq!(node(&[]).findings(BEGIN), Findings::default());
}

#[test]
fn a_code_nobody_has_a_rule_for_is_watched() {
    for line in ["Xid 999 G1 1", "Sxid 999 - 1", "Nic never-heard-of N1 1"] {
        let found = node(&[line]).findings(BEGIN);
        assert_eq!(names(&found), ["unknown-code"], "{line}");
        assert_eq!(found.list.as_slice().first().map(|one| one.response), Some(Response::Watch));
    }
}

#[test]
fn the_vendors_verdict_leads_and_the_most_urgent_says_when() {
    let node = node(&["Xid 79 G1 1", "Xid 95 G1 1", "Xid 154 G1 1 to 0x1", "Xid 45 G1 900"]);
    let found = node.findings(BEGIN);
    assert_eq!(names(&found), ["recovery-reset", "gpu-off-the-bus", "memory-uncontained", "teardown"]);
    assert_eq!(found.list.as_slice().first().map(|one| one.urgency), Some(Urgency::Minutes));
    assert_eq!(found.urgency(), Some(Urgency::Now));
}

#[test]
fn a_verdict_of_none_takes_no_other_verdict_back() {
    let node = node(&["Xid 154 G1 1@10 to 0x1", "Xid 154 G1 1@20 to 0x0", "Xid 48 G1 1"]);
    assert_eq!(node.rules(BEGIN), ["recovery-reset", "double-bit", "recovery-none"]);
}

#[test]
fn a_remap_on_another_gpu_does_not_soften_a_double_bit_error() {
    assert_eq!(node(&["Xid 48 G1 1", "Xid 63 G2 1"]).rules(BEGIN), ["double-bit", "remap-recorded"]);
    assert_eq!(node(&["Xid 48 G1 1", "Xid 63 G1 1"]).rules(BEGIN), ["double-bit-remapped", "remap-recorded"]);
}

#[test]
fn a_harmless_link_does_not_hide_another() {
    let node = node(&["Xid 74 G1 9 link 1 r0=00000001", "Xid 74 G1 1 link 2 r0=00000100", "Xid 74 G1 1 link 3 r0=8"]);
    assert_eq!(node.rules(BEGIN), ["nvlink-hardware", "nvlink-unread", "nvlink-harmless"]);
}

#[test]
fn parity_errors_of_two_links_do_not_add_up() {
    let two = node(&["Xid 74 G1 2 link 1 r0=10", "Xid 74 G1 2 link 2 r0=10"]);
    assert_eq!(two.rules(BEGIN), ["nvlink-parity"]);
    let one = node(&["Xid 74 G1 2 link 1 r0=10", "Xid 74 G1 1 link 1 r2=1"]);
    assert_eq!(one.rules(BEGIN), ["nvlink-parity-repeated"]);
}

#[test]
fn teardown_noise_is_no_company_for_a_sympathetic_link_error() {
    assert_eq!(
        node(&["Xid 74 G1 1 link 1 r0=2", "Xid 45 G2 7"]).rules(BEGIN),
        ["nvlink-sympathetic-alone", "teardown"]
    );
    assert_eq!(
        node(&["Xid 74 G1 1 link 1 r0=2", "Xid 79 G2 1"]).rules(BEGIN),
        ["gpu-off-the-bus", "nvlink-sympathetic"]
    );
}

#[test]
fn one_gpu_that_keeps_faulting_is_watched_and_many_that_do_once_are_not() {
    assert_eq!(node(&["Xid 31 G1 1", "Xid 31 G2 1", "Xid 31 G3 1"]).rules(BEGIN), ["page-fault"; 3]);
    assert_eq!(node(&["Xid 31 G1 3"]).rules(BEGIN), ["page-fault-repeated"]);
}

#[test]
fn a_window_lapses_when_it_said_it_would() {
    let mut node = node(&["Xid 31 G1 2"]);
    node.report(hours(5), report("b1", &["Xid 31 G1 3"]));
    let found = node.findings(hours(6));
    assert_eq!(names(&found), ["page-fault-repeated"]);
    assert_eq!(found.changes_at, Some(hours(24)));
    assert_eq!(node.rules(hours(24) - mainstay_model::Span(1)), ["page-fault-repeated"]);
    let found = node.findings(hours(24));
    assert_eq!((names(&found), found.changes_at), (vec!["page-fault".to_owned()], Some(hours(29))));
    assert_eq!(node.findings(hours(29)), Findings::default());
}

#[test]
fn a_storm_is_over_an_hour_after_it_stopped() {
    let node = node(&["PcieAer correctable G1 1500"]);
    let found = node.findings(minutes(30));
    assert_eq!((names(&found), found.changes_at), (vec!["pcie-correctable-storm".to_owned()], Some(hours(1))));
    assert_eq!(node.rules(hours(1)), ["pcie-corrected"]);
}

#[test]
fn what_came_before_a_clean_return_does_not_count() {
    let mut node = node(&["Xid 94 G1 1", "Xid 74 G1 1@5 link 1 r0=00000100"]);
    node.qualifies();
    assert_eq!(node.findings(hours(1)), Findings::default());
    // Something harmless arrives later: the old detail, still in the report, is not part of it.
    let later = ["Xid 94 G1 1", "Xid 74 G1 1@5 link 1 r0=00000100", "Xid 74 G1 1@99 link 2 r0=1"];
    node.report(hours(2), report("b1", &later));
    assert_eq!(node.rules(hours(2)), ["nvlink-harmless"]);
}

#[test]
fn details_that_went_with_a_boot_are_watched_not_forgotten() {
    let mut node = node(&["Xid 74 G1 1 link 1 r0=00000100", "Xid 79 G1 1"]);
    node.report(hours(1), report("b2", &[]));
    assert_eq!(node.rules(hours(1)), ["gpu-off-the-bus", "nvlink-unread"]);
    node.report(hours(2), report("b2", &["Xid 74 G1 1 link 1 r0=1"]));
    assert_eq!(node.rules(hours(2)), ["gpu-off-the-bus", "nvlink-unread", "nvlink-harmless"]);
}

#[test]
fn a_counter_that_fell_is_watched_beside_what_was_found_before() {
    let mut node = node(&["Xid 48 G1 2"]);
    node.report(hours(1), report("b1", &["Xid 48 G1 1"]));
    assert_eq!(node.rules(hours(1)), ["double-bit", "counter-impossible"]);
    assert_eq!(node.rules(hours(24)), ["counter-impossible"], "never health");
    node.qualifies();
    assert_eq!(node.findings(hours(24)), Findings::default(), "a clean qualification settles it");
}

#[test]
fn a_counter_that_leapt_is_watched_as_long_as_it_stands() {
    let mut node = node(&["Xid 48 G1 4294967295"]);
    node.qualifies();
    assert_eq!(node.rules(hours(200)), ["counter-impossible"], "whatever a qualification says");
    node.report(hours(201), report("b2", &["Xid 48 G1 1"]));
    assert_eq!(node.rules(hours(201)), ["double-bit"], "a new boot counts afresh");
}

#[test]
fn a_fall_the_record_has_no_room_for_is_still_told() {
    let lines: Vec<String> = (0..16).map(|at| format!("Xid 45 G{at} 2")).collect();
    let mut node = node(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    let fewer: Vec<String> = (0..16).map(|at| format!("Xid 45 G{at} {}", if at == 3 { 1 } else { 2 })).collect();
    node.report(hours(1), report("b1", &fewer.iter().map(String::as_str).collect::<Vec<_>>()));
    assert_eq!(node.rules(hours(1)).first().map(String::as_str), Some("counter-impossible"));
}

#[test]
fn a_report_the_record_has_not_seen_is_not_passed_over() {
    let mut node = node(&["Xid 31 G1 1"]);
    // The record is an older one: a controller restarted, and the report came first.
    node.latest = report("b1", &["Xid 31 G1 3", "Xid 79 G2 1"]);
    assert_eq!(node.rules(hours(1)), ["gpu-off-the-bus", "page-fault-repeated"]);
}

#[test]
fn a_jump_no_machine_makes_is_no_storm() {
    let jump = format!("PcieAer correctable G1 {}", COUNT_STEP_MAX + 1);
    assert_eq!(node(&[&jump]).rules(BEGIN), ["counter-impossible"]);
}

#[test]
fn evidence_without_a_place_is_watched_and_removes_no_node() {
    let lines: Vec<String> = (10..27).map(|at| format!("Xid 79 G{at} 1")).collect();
    let node = node(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    let all = node.findings(BEGIN);
    let removes = |device: &str| {
        let about = |finding: &&Finding| finding.device.as_ref().is_some_and(|serial| serial.as_str() == device);
        all.list.as_slice().iter().find(about).map(|finding| finding.response)
    };
    assert_eq!(removes("G25"), Some(Response::Remove));
    assert_eq!((removes("G26"), all.dropped), (None, 1), "the milder one is the one that has no room");
}

#[test]
fn a_gpu_is_missed_only_where_both_sides_spoke() {
    let mut node = node(&[]);
    node.lists(7);
    assert_eq!(node.rules(BEGIN), ["gpu-missing"]);
    let built_in = Rules { catalogue: &Catalogue::built_in(), policy: None };
    let silent = FindingInput { inventory: None, facts: Some(&node.facts), evidence: &[], arrivals: &[] };
    assert_eq!(findings(built_in, &silent, BEGIN), Findings::default());
    let unexpected = FindingInput { facts: None, inventory: Some(&node.latest.inventory), ..silent };
    assert_eq!(findings(built_in, &unexpected, BEGIN), Findings::default());
    node.facts.gpus = 4;
    assert_eq!(node.rules(BEGIN), Vec::<String>::new());
}

#[test]
fn gpus_that_the_agent_cannot_list_are_not_missing() {
    let mut node = node(&[]);
    node.lists(0);
    assert_eq!(node.rules(BEGIN), ["gpu-missing"], "the driver lists none");
    node.latest.inventory.gpus_unavailable = Some("NVML library not found".parse().unwrap());
    assert_eq!(node.rules(BEGIN), Vec::<String>::new());
}

#[test]
fn a_pool_may_read_a_code_as_another_rule() {
    let node = node(&["Xid 63 G1 1"]);
    let catalogue = Catalogue::built_in();
    let calmer = policy(Source::Xid, "63", "page-fault", None);
    assert_eq!(names(&node.findings_with(&catalogue, Some(&calmer), BEGIN)), ["page-fault"]);
    let harsher = policy(Source::Xid, "63", "remap-failed", Some(Urgency::Now));
    let found = node.findings_with(&catalogue, Some(&harsher), BEGIN);
    let [finding] = found.list.as_slice() else { panic!("one finding: {found:?}") };
    assert_eq!((finding.rule.as_str(), finding.urgency), ("remap-failed", Urgency::Now));
    assert_eq!(finding.rungs.as_slice(), [RepairStep::Capture, RepairStep::ResetGpu, RepairStep::Replace]);
    let other_source = policy(Source::Sxid, "63", "page-fault", None);
    assert_eq!(names(&node.findings_with(&catalogue, Some(&other_source), BEGIN)), ["remap-recorded"]);
    let no_such_rule = policy(Source::Xid, "63", "no-such-rule", Some(Urgency::Now));
    assert_eq!(node.findings_with(&catalogue, Some(&no_such_rule), BEGIN), node.findings(BEGIN));
}

#[test]
fn a_pool_may_give_an_unknown_code_a_meaning() {
    let known_here = policy(Source::Xid, "999", "gpu-off-the-bus", None);
    let found = node(&["Xid 999 G1 1"]).findings_with(&Catalogue::built_in(), Some(&known_here), BEGIN);
    assert_eq!((names(&found), found.urgency()), (vec!["gpu-off-the-bus".to_owned()], Some(Urgency::Now)));
}

#[test]
fn two_codes_of_one_rule_are_one_finding_and_the_more_urgent() {
    let node = node(&["Xid 64 G1 1", "Xid 999 G1 1"]);
    let same = policy(Source::Xid, "999", "remap-failed", Some(Urgency::Now));
    let found = node.findings_with(&Catalogue::built_in(), Some(&same), BEGIN);
    assert_eq!((names(&found), found.urgency()), (vec!["remap-failed".to_owned()], Some(Urgency::Now)));
}

#[test]
fn a_code_that_a_gpu_cannot_have_is_watched() {
    let mut node = node(&["Xid 74 G1 1 link 1 r0=00000100"]);
    assert_eq!(node.rules(BEGIN), ["nvlink-hardware"]);
    node.is_a("NVIDIA GB200", "580.95.05");
    assert_eq!(node.rules(BEGIN), ["xid-out-of-place"]);
    node.is_a("NVIDIA L40S", "580.95.05");
    assert_eq!(node.rules(BEGIN), ["nvlink-hardware"], "a GPU that is in no column of the vendor's");
}

#[test]
fn a_cause_of_blackwells_nvlink_is_decoded_in_the_layout_of_the_driver() {
    let mut node = node(&["Xid 149 G1 1 NETIR_LINK_EVT Fatal link 1 i=020001c6 s=00000000"]);
    node.is_a("NVIDIA GB200", "570.86.15");
    assert_eq!(node.rules(BEGIN), ["nvlink5-down-by-peer"]);
    node.is_a("NVIDIA GB200", "580.95.05");
    assert_eq!(node.rules(BEGIN), ["nvlink5-unread"], "the other layout has no such cause");
    node.is_a("NVIDIA GB200", "unknown");
    assert_eq!(node.rules(BEGIN), ["nvlink5-unread"]);
    node.is_a("NVIDIA H100 80GB HBM3", "570.86.15");
    assert_eq!(node.rules(BEGIN), ["xid-out-of-place"]);
}

#[test]
fn of_several_bits_of_a_status_the_worst_speaks() {
    let mut node = node(&["Xid 144 G1 1 SAW_MVB Fatal link 1 i=00000001 s=00000006"]);
    node.is_a("NVIDIA GB200", "580.95.05");
    assert_eq!(node.rules(BEGIN), ["nvlink5-fatal"]);
}

#[test]
fn one_place_on_the_chip_is_watched_and_all_over_it_is_the_application() {
    assert_eq!(node(&["Xid 13 G1 3 gpc 1 tpc 3"]).rules(BEGIN), ["graphics-exception-one-place"]);
    assert_eq!(node(&["Xid 13 G1 3 gpc 1 tpc 3", "Xid 13 G1 9"]).rules(BEGIN).len(), 2, "a line without a place");
    assert_eq!(node(&["Xid 13 G1 3 gpc 1 tpc 3", "Xid 13 G1 3 gpc 2 tpc 0"]).rules(BEGIN), ["graphics-exception"]);
}

#[test]
fn a_leaf_that_restarts_flaps_every_link_once_and_nobody_is_blamed() {
    let lines: Vec<String> = (0..8).map(|at| format!("Nic link-down - 1 0000:{at}8:00.0")).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    assert_eq!(node(&lines).rules(BEGIN), ["link-down"]);
    assert_eq!(node(&["Nic link-down - 3 0000:18:00.0"]).rules(BEGIN), ["link-flapping"]);
}

#[test]
fn what_keeps_coming_is_worth_what_the_vendor_investigates() {
    assert_eq!(node(&["Xid 39 G1 2"]).rules(BEGIN), ["copy-engine"]);
    assert_eq!(node(&["Xid 39 G1 3"]).rules(BEGIN), ["copy-engine-repeated"]);
    assert_eq!(node(&["Xid 11 G1 9"]).rules(BEGIN), ["push-buffer-invalid"], "the application's, however often");
}

#[test]
fn a_rolled_record_gives_the_same_findings() {
    let mut node = node(&["Xid 31 G1 3", "Xid 48 G2 1"]);
    for hour in [1, 23, 24, 200] {
        let before = node.findings(hours(hour));
        roll(&mut node.persisted, hours(hour));
        assert_eq!(node.findings(hours(hour)), before, "hour {hour}");
    }
}

#[test]
fn the_worst_stay_when_there_are_too_many() {
    let mut lines: Vec<String> = (0..15).map(|at| format!("Xid 45 G{at} 1")).collect();
    lines.extend((0..15).map(|at| format!("Xid 999 G{at} 1")));
    lines.push("Xid 79 G7 1".to_owned());
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let found = node(&lines).findings(BEGIN);
    assert_eq!((found.list.as_slice().len(), found.dropped), (16, 15));
    let mut rules = names(&found);
    assert_eq!(rules.remove(0), "gpu-off-the-bus");
    assert_eq!(rules, ["unknown-code"; 15]);
}
