use mainstay_model::{Bounded, PastIncident, Ppm, RuleName, Serial, Span, Timestamp};
use proptest::collection::vec;
use proptest::prelude::*;

use super::{Factor, LEMON, Risk, RiskInput, risk};
use crate::fixture::{BEGIN, Node, hours, report};

fn serial(text: &str) -> Serial {
    Serial::parse(text).unwrap()
}

fn incident(part: &str, at: Timestamp) -> PastIncident {
    PastIncident { serial: Some(serial(part)), rule: RuleName::parse("gpu-off-the-bus").unwrap(), at }
}

fn day(day: u32) -> Timestamp {
    hours(24 * day)
}

fn after(incidents: &[PastIncident], now: Timestamp) -> Risk {
    risk(&RiskInput { incidents, arrivals: &[], parts: None }, now)
}

/// The risk of a node that reported these lines, each list on the next day, the last of them now.
fn reported(lines: &[&[&str]], incidents: &[PastIncident]) -> Risk {
    let mut node = Node::new();
    let mut now = BEGIN;
    for (number, lines) in (0..).zip(lines) {
        now = day(number);
        // Another boot each day: counts start again at zero.
        node.report(now, report(&format!("b{number}"), lines));
    }
    risk(&RiskInput { incidents, arrivals: node.persisted.arrivals.as_slice(), parts: None }, now)
}

fn ppm_of(risk: &Risk, factor: Factor) -> u32 {
    risk.contributions.iter().find(|one| one.factor == factor).map_or(0, |one| one.ppm.0)
}

#[test]
fn a_node_without_a_past_is_a_risk_as_any() {
    let calm = after(&[], day(1));
    assert_eq!((calm.ppm, calm.to_string().as_str()), (Ppm(9_000), "9000 ppm"));
    assert!(!calm.is_lemon());
}

#[test]
fn a_relapse_weighs_more_than_a_fault_of_another_part() {
    let relapse = after(&[incident("G3", day(1)), incident("G3", day(9))], day(10));
    let another = after(&[incident("G3", day(1)), incident("G4", day(9))], day(10));
    assert!(relapse.ppm > another.ppm, "{relapse} is no more than {another}");
    assert_eq!(relapse.to_string(), "74000 ppm: incidents 2 (60000), relapses 1 (5000)");
    let months_later = after(&[incident("G3", day(1)), incident("G3", day(40))], day(41));
    assert_eq!(ppm_of(&months_later, Factor::Relapses), 0);
}

#[test]
fn what_lies_long_back_fades() {
    let past = [incident("G3", day(0))];
    let fading: Vec<u32> = [1, 8, 31, 91].map(|now| ppm_of(&after(&past, day(now)), Factor::Incidents)).into();
    assert_eq!(fading, [40_000, 20_000, 12_000, 0]);
}

#[test]
fn a_part_that_was_replaced_took_its_past_with_it() {
    let incidents = [incident("G3", day(1)), incident("B1", day(2))];
    let mut node = Node::new();
    node.report(day(3), report("b1", &["Nic link-down N3 1", "Nvml spare-rows-gone G3 1"]));
    let (board, new) = (serial("B1"), serial("G3-new"));
    let parts = [&board, &new];
    let past = RiskInput { incidents: &incidents, arrivals: node.persisted.arrivals.as_slice(), parts: None };
    assert_eq!(risk(&past, day(3)).ppm, Ppm(9_000 + 80_000 + 8_000 + 100_000));
    assert_eq!(risk(&RiskInput { parts: Some(&parts), ..past }, day(3)).ppm, Ppm(9_000 + 40_000));
}

#[test]
fn a_node_whose_links_flap_all_week_is_a_lemon_at_its_next_fault() {
    let flaps: [&[&str]; 4] = [
        &["Nic link-down N1 1", "Nic link-up N1 1", "Nic link-down N2 1"],
        &["Nic link-down N1 1"],
        &["Nic link-down N3 9", "Nic carrier-changes N3 18", "Nic link-down N4 1"],
        &["Nic link-down N1 1", "PcieAer nonfatal G1 1"],
    ];
    let flapping = reported(&flaps, &[]);
    assert_eq!(flapping.to_string(), "209000 ppm: part-days with link or bus errors 7 (200000)");
    assert!(reported(&flaps, &[incident("G3", day(3))]).is_lemon());
}

#[test]
fn a_leaf_that_restarts_makes_no_lemons() {
    let all: Vec<String> = (0..8).map(|nic| format!("Nic link-down N{nic} 1")).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    assert_eq!(ppm_of(&reported(&[&all], &[]), Factor::Repeats), 16_000);
}

#[test]
fn what_applications_and_trickling_counters_say_is_no_repeat() {
    let said: &[&str] = &["Xid 31 G1 5", "Xid 45 G2 1", "Kernel oom - 3", "Nic symbol-error N1 40", "Nic link-up N1 4"];
    assert_eq!(reported(&[said; 7], &[]).ppm, Ppm(9_000));
}

#[test]
fn spare_rows_that_are_gone_weigh_more_than_few() {
    let low = reported(&[&["Nvml spare-rows-low G1 1 banks 2"]], &[]);
    let gone = reported(&[&["Nvml spare-rows-low G1 1 banks 2", "Nvml spare-rows-gone G2 1 banks 1"]], &[]);
    assert_eq!([ppm_of(&low, Factor::SpareRows), ppm_of(&gone, Factor::SpareRows)], [20_000, 100_000]);
    assert!(gone.to_string().ends_with("GPUs with few spare memory rows 1 (100000)"), "{gone}");
}

#[test]
fn corrected_errors_count_when_they_rise() {
    let steady: &[&str] = &["Nvml ecc-corrected G1 900 dram"];
    let more: &[&str] = &["Nvml ecc-corrected G1 2400 dram"];
    let few: &[&str] = &["Nvml ecc-corrected G1 100 dram"];
    let rising = |days: &[&[&str]]| ppm_of(&reported(days, &[]), Factor::CorrectedRising) > 0;
    assert!(!rising(&[steady; 7]), "the same every day");
    assert!(rising(&[steady, steady, steady, steady, steady, more, more]), "more than twice as many");
    assert!(!rising(&[few]), "a trickle");
    assert!(rising(&[more]), "from nothing");
    assert!(!rising(&[more, steady, steady]), "the day before the last two is an older day");
}

#[test]
fn corrected_errors_rise_from_a_thousand_and_twice_as_many_on() {
    let day = |count: u32| format!("Nvml ecc-corrected G1 {count} dram");
    let rises = |counts: &[u32]| {
        let lines: Vec<String> = counts.iter().map(|count| day(*count)).collect();
        let days: Vec<Vec<&str>> = lines.iter().map(|line| vec![line.as_str()]).collect();
        let days: Vec<&[&str]> = days.iter().map(Vec::as_slice).collect();
        ppm_of(&reported(&days, &[]), Factor::CorrectedRising) > 0
    };
    assert!(rises(&[500, 500]) && !rises(&[500, 499]));
    assert!(rises(&[500, 500, 500, 500, 500, 1_000, 1_000]));
    assert!(!rises(&[500, 500, 500, 500, 500, 1_000, 999]));
}

proptest! {
    /// At the same time, one more incident never lowers the risk, although only eight are stored.
    #[test]
    fn one_incident_more_never_lowers_the_risk(steps in vec((0_u8..3, 0_u32..(24 * 40)), 1..24)) {
        let mut kept: Bounded<PastIncident, 8> = Bounded::new();
        let mut now = BEGIN;
        for (part, later) in steps {
            now = now + Span::hours(later);
            let before = after(kept.as_slice(), now);
            kept.push_forgetting_oldest(incident(&format!("G{part}"), now));
            let with_one_more = after(kept.as_slice(), now);
            prop_assert!(with_one_more.ppm >= before.ppm, "{} became {}", before, with_one_more);
            prop_assert!(with_one_more.ppm <= Ppm::ONE);
        }
        prop_assert!(LEMON < Ppm::ONE);
    }
}
