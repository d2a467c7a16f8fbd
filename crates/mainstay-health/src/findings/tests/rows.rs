//! One case that fires and one near miss for the rows of the catalogue. A row that looks at more than a code and a count,
//! and has neither a case here nor a scenario that names its rule, fails; the plain ones are each played from the table.

use std::collections::BTreeMap;

use super::*;
use mainstay_model::{Detail, EvidenceKey};

use crate::catalogue::{Generations, Row};
use crate::fixture::of;

/// What is said, line by line; `lists n` is how many GPUs the report lists.
struct Case {
    rule: &'static str,
    fires: &'static [&'static str],
    misses: &'static [&'static str],
}

const fn case(rule: &'static str, fires: &'static [&'static str], misses: &'static [&'static str]) -> Case {
    Case { rule, fires, misses }
}

#[rustfmt::skip] // one line a row, to be read as a table
const CASES: &[Case] = &[
    case("recovery-reboot",          &["Xid 154 G1 1 to 0x2"],                    &["Xid 154 G1 1 to 0x20"]),
    case("recovery-reset",           &["Xid 154 G1 1 to 0x1"],                    &["Xid 154 G1 1 to 0x10"]),
    case("recovery-drain-reset",     &["Xid 154 G1 1 to 0x4"],                    &["Xid 154 G1 1 to 0x40"]),
    case("recovery-drain-peers",     &["Xid 154 G1 1 to 0x3"],                    &["Xid 154 G1 1 to 0x33"]),
    case("recovery-none",            &["Xid 154 G1 1 to 0x0"],                    &["Xid 154 G1 1 to 0x00"]),
    case("recovery-bus-reset",       &["Xid 154 G1 1 to 0x6"],                    &["Xid 154 G1 1 to 0x8"]),
    case("recovery-imex",            &["Xid 154 G1 1 to 0x5"],                    &["Xid 154 G1 1 to 0x50"]),
    case("recovery-unknown",         &["Xid 154 G1 1 to 0x8"],                    &["Xid 154 G1 1 to 0x4"]),
    case("gpu-off-the-bus",          &["Xid 79 G1 1"],                            &["Sxid 79 G1 1"]),
    case("memory-uncontained",       &["Xid 95 G1 1"],                            &["Xid 94 G1 1"]),
    case("pcie-fatal",               &["PcieAer fatal G1 1"],                     &["PcieAer nonfatal G1 1"]),
    case("gpu-missing",              &["lists 7"],                                &["lists 8"]),
    case("gsp-timeout",              &["Xid 119 G1 1"],                           &["Xid 11 G1 1"]),
    case("remap-failed",             &["Xid 64 G1 1"],                            &["Xid 63 G1 1"]),
    case("double-bit-remapped",      &["Xid 48 G1 1", "Xid 64 G1 1"],             &["Xid 48 G1 1", "Xid 64 G2 1"]),
    case("double-bit",               &["Xid 48 G1 1"],                            &["Xid 48 G1 1", "Xid 63 G1 1"]),
    case("memory-contained",         &["Xid 94 G1 1"],                            &["Xid 94 G1 0"]),
    case("nvlink-hardware",          &["Xid 74 G1 1 link 3 r0=10000000"],         &["Xid 74 G1 1 link 3 r0=08000000"]),
    case("nvlink-parity-repeated",   &["Xid 74 G1 3 link 3 r4=00040000"],         &["Xid 74 G1 2 link 3 r4=00040000"]),
    case("nvlink-fabric",            &["Xid 74 G1 1 link 3 r3=00040000"],         &["Xid 74 G1 1 link 3 r3=00020000"]),
    case("nvlink-signal",            &["Xid 74 G1 1 link 3 r0=00200000"],         &["Xid 74 G1 1 link 3 r0=00800000"]),
    case("nvlink-diagnose",          &["Xid 74 G1 3 link 3 r2=00080000"],         &["Xid 74 G1 2 link 3 r2=00080000"]),
    case("nvlink-parity",            &["Xid 74 G1 2 link 3 r2=00000040"],         &["Xid 74 G1 2 link 3 r2=00000080"]),
    case("nvlink-repeated",          &["Xid 74 G1 3 link 3 r0=20000000"],         &["Xid 74 G1 2 link 3 r0=20000000"]),
    case("nvlink-harmless",          &["Xid 74 G1 9 link 3 r0=40800001 r4=00100000"], &["Xid 74 G1 9 link 3 r0=40800009"]),
    case("nvlink-once",              &["Xid 74 G1 2 link 3 r2=00060000"],         &["Xid 74 G1 3 link 3 r2=00060000"]),
    case("nvlink-sympathetic",       &["Xid 74 G1 1 link 3 r3=00010000", "Sxid 12028 - 1"], &["Xid 74 G1 1 link 3 r3=00010000"]),
    case("nvlink-sympathetic-alone", &["Xid 74 G1 1 link 3 r0=00100002"],         &["Xid 74 G1 1 link 3 r0=00100002", "Xid 48 G2 1"]),
    case("nvlink-unread",            &["Xid 74 G1 1 link 3 r2=00002000"],         &["Xid 74 G1 1 link 3 r2=00002001"]),
    case("pcie-correctable-storm",   &["PcieAer correctable G1 1000"],            &["PcieAer correctable G1 999"]),
    case("pcie-corrected",           &["PcieAer correctable G1 999"],             &["PcieAer correctable G1 1000"]),
    case("remap-recorded",           &["Xid 63 G1 1"],                            &["Xid 6 G1 1"]),
    case("page-fault-repeated",      &["Xid 31 G1 3"],                            &["Xid 31 G1 2"]),
    case("page-fault",               &["Xid 31 G1 2"],                            &["Xid 31 G1 3"]),
    case("teardown",                 &["Xid 45 G1 10000"],                        &["Xid 4 G1 1"]),
    case("sram-threshold",           &["Nvml sram-threshold G1 1", "Xid 48 G1 1"], &["Xid 48 G1 1"]),
    case("double-bit-where",         &["Xid 172 G1 1", "Xid 48 G1 1"],            &["Xid 172 G1 1", "Xid 48 G2 1"]),
    case("double-bit-unsaid",        &["Xid 171 G1 1"],                           &["Xid 171 G1 1", "Xid 48 G1 1"]),
    case("graphics-exception-one-place", &["Xid 13 G1 3 gpc 1 tpc 3"],            &["Xid 13 G1 2 gpc 1 tpc 3"]),
    case("graphics-exception",       &["Xid 13 G1 9"],                            &["Xid 13 G1 3 gpc 0 tpc 0"]),
    case("nvlink-privilege-repeated", &["Xid 137 G1 3"],                          &["Xid 137 G1 2"]),
    case("channel-reset",            &["Xid 43 G1 900"],                          &["Xid 44 G1 1"]),
    case("gsp-error",                &["Xid 120 G1 1"],                           &["Xid 119 G1 1"]),
    case("pcie-fatal-timeout",       &["Xid 167 G1 1"],                           &["Xid 158 G1 1"]),
    case("adapter-failed",           &["Nic hardware-error N1 1"],                &["Nic health-issue N1 1"]),
    case("link-flapping",            &["Nic link-down N1 3"],                     &["Nic link-down N1 2"]),
    case("port-down",                &["Nic port-down N1 1 port 1"],              &["Nic link-down N1 1 port 1"]),
    case("port-symbol-errors",       &["Nic symbol-error N1 121 port 1"],         &["Nic symbol-error N1 120 port 1"]),
    case("thermal-slowdown-lasting", &["Nvml thermal-slowdown G1 30"],            &["Nvml thermal-slowdown G1 29"]),
    case("sram-corrected-many",      &["Nvml ecc-corrected G1 10000 sram"],       &["Nvml ecc-corrected G1 9999 sram"]),
    case("dram-corrected-many",      &["Nvml ecc-corrected G1 20000000 dram"],    &["Nvml ecc-corrected G1 20000000 sram"]),
    case("nvlink-crc-storm",         &["Nvml nvlink-crc G1 360000 link 3"],       &["Nvml nvlink-crc G1 200000 link 3", "Nvml nvlink-crc G1 200000 link 4"]),
    case("fabric-manager-down",      &["Inventory fabric-manager-down - 1"],      &["lists 7"]),
    case("out-of-memory",            &["Kernel oom-kill - 40 cgroup"],            &["Kernel hung-task - 1"]),
    case("nvswitch-port-fatal",      &["Sxid 11013 - 1 nvswitch0 Fatal link 3"],  &["Sxid 11013 - 1 nvswitch0 Non-fatal link 3"]),
    case("nvswitch-port-error",      &["Sxid 11013 - 1 nvswitch0 Non-fatal link 3"], &["Sxid 11013 - 1 nvswitch0 Fatal link 3"]),
    case("counter-impossible",       &["Xid 79 G1 900000001"],                    &["Xid 79 G1 900000000"]),
    case("unknown-code",             &["Xid 999 G1 1"],                           &["Xid 79 G1 1"]),
];

fn given(lines: &[&'static str]) -> Node {
    let said: Vec<&str> = lines.iter().copied().filter(|line| !line.starts_with("lists ")).collect();
    let mut node = node(&said);
    for gpus in lines.iter().filter_map(|line| line.strip_prefix("lists ")) {
        node.lists(gpus.parse().unwrap());
    }
    node
}

fn saying(found: &Findings, rule: &str) -> Option<Finding> {
    found.list.as_slice().iter().find(|finding| finding.rule.as_str() == rule).cloned()
}

/// The rules that a scenario is about: played by the engine's tests, with the rule and without it.
#[expect(
    clippy::disallowed_methods,
    reason = "a test reads the stories beside the code; the brain itself reads nothing"
)]
fn told_in_a_scenario() -> Vec<String> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let texts = files.map(|file| std::fs::read_to_string(file).unwrap());
    texts.filter_map(|text| text.lines().find_map(|line| line.strip_prefix("rule ")).map(str::to_owned)).collect()
}

#[test]
fn every_row_has_a_case_or_a_scenario_and_every_case_a_row() {
    let catalogue = Catalogue::built_in();
    let mut by_rank: BTreeMap<u16, &str> = BTreeMap::new();
    for case in CASES {
        let found = given(case.fires).findings_with(&catalogue, None, BEGIN);
        let finding = saying(&found, case.rule).unwrap_or_else(|| panic!("{} does not fire: {found:?}", case.rule));
        by_rank.insert(finding.rank, case.rule);
    }
    let told = told_in_a_scenario();
    for row in catalogue.rows() {
        match by_rank.remove(&row.rank) {
            None if is_plain(row) || is_decoded(row) => {}
            Some(fired) => assert_eq!(fired, row.rule.as_str(), "row {}", row.rank),
            // One rule may have a row for each of several codes; a case of one of them is a case of the rule.
            None => {
                let rule = row.rule.as_str();
                let known = told.iter().any(|told| told == rule) || CASES.iter().any(|case| case.rule == rule);
                assert!(known, "{rule} has no case and no scenario");
            }
        }
    }
    assert_eq!(by_rank, BTreeMap::new());
}

#[test]
fn every_row_answers_as_it_is_written() {
    let catalogue = Catalogue::built_in();
    for case in CASES {
        let finding = saying(&given(case.fires).findings_with(&catalogue, None, BEGIN), case.rule).unwrap();
        let row = catalogue.rows().find(|row| row.rank == finding.rank).unwrap();
        assert_eq!(
            (&finding.rule, finding.response, finding.urgency, finding.rungs),
            (&row.rule, row.response, row.urgency, row.rungs.clone()),
            "{}",
            case.rule
        );
    }
}

/// A row that looks at a code and how often it came, and at nothing else.
fn is_plain(row: &Row) -> bool {
    let counts =
        matches!(row.when, DetailCondition::Always | DetailCondition::Each) && row.with == EvidenceCondition::Whatever;
    counts && row.on == Generations::ANY && row.code.is_some() && row.source.is_some()
}

/// A row of the vendor's tables that looks at a register or at the GPU: `cargo xtask prove catalogue` plays each of them.
fn is_decoded(row: &Row) -> bool {
    matches!(row.when, DetailCondition::Decoded(_) | DetailCondition::Word(_)) || row.on != Generations::ANY
}

/// A node that said the code of a row so often.
fn saying_so_often(row: &Row, count: u32) -> Node {
    let mut node = Node::new();
    let (source, code) = (row.source.unwrap(), row.code.clone().unwrap());
    let key = EvidenceKey { source, code, device: None, detail: Detail::parse("x").unwrap() };
    let (first_seen_at, last_seen_at) = (BEGIN, BEGIN);
    node.report(BEGIN, of("b1", vec![Evidence { key, count: count.into(), first_seen_at, last_seen_at }]));
    node.is_a("a GPU of no generation", "580.95.05");
    node
}

#[test]
fn every_plain_row_speaks_from_its_count_on() {
    for row in Catalogue::built_in().rows().filter(|row| is_plain(row) && row.rule.as_str() != "gpu-missing") {
        let rule = row.rule.as_str();
        let finding = saying(&saying_so_often(row, row.threshold.count).findings(BEGIN), rule);
        assert_eq!(finding.map(|one| one.response), Some(row.response), "{rule} of {:?}", row.code);
        if row.threshold.count > 1 {
            let less = saying_so_often(row, row.threshold.count - 1).findings(BEGIN);
            assert_eq!(saying(&less, rule), None, "{rule} of {:?}", row.code);
        }
    }
}

#[test]
fn every_row_has_a_near_miss() {
    for case in CASES {
        let found = given(case.misses).findings(BEGIN);
        assert_eq!(saying(&found, case.rule), None, "{} fires on {:?}", case.rule, case.misses);
    }
}

#[test]
fn every_rule_can_be_switched_off_and_is_then_missed() {
    let catalogue = Catalogue::built_in();
    for case in CASES {
        let node = given(case.fires);
        let on = node.findings_with(&catalogue, None, BEGIN);
        let off = node.findings_with(&catalogue.without(case.rule), None, BEGIN);
        assert_eq!(saying(&off, case.rule), None);
        assert_ne!(on, off, "{} changes nothing", case.rule);
        assert!(case.rule == "unknown-code" || !off.list.as_slice().is_empty(), "{}: silence", case.rule);
    }
}
