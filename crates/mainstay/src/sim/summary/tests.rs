//! The summary of a fixed outcome, as a file to be read: `UPDATE=1` writes it anew.

use std::path::Path;

use mainstay_sim::Outcome;

use super::{COLUMNS, text};

const OUTCOME: &str = include_str!("../../../tests/golden/outcome.json");

fn outcome() -> Outcome {
    serde_json::from_str(OUTCOME).unwrap()
}

#[test]
fn a_month_reads_as_the_file_says() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/sim-run.txt");
    let shown = text(&outcome());
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&golden, &shown).unwrap();
    }
    let expected = std::fs::read_to_string(&golden).unwrap();
    assert_eq!(shown, expected, "UPDATE=1 writes {} anew", golden.display());
}

#[test]
fn every_line_fits_a_hundred_columns() {
    for line in text(&outcome()).lines() {
        assert!(line.chars().count() <= COLUMNS, "{} columns: {line}", line.chars().count());
    }
}

#[test]
fn a_violation_is_the_first_thing_said() {
    let mut outcome = outcome();
    outcome.engine.violations = 1;
    assert!(text(&outcome).starts_with("UNSAFE: the auditor found 1 violation in 21,904 decisions."));
}

#[test]
fn where_nothing_happened_the_summary_says_so() {
    let mut outcome = outcome();
    outcome.lost.clear();
    outcome.out_gpu_seconds.clear();
    outcome.out_by_stage_gpu_seconds.clear();
    outcome.series.nodes_out.clear();
    outcome.series.lost_gpu_seconds.clear();
    outcome.quarantines.total = 0;
    outcome.back.count = 0;
    outcome.run.settings.clear();
    let shown = text(&outcome);
    for said in [
        "Work lost: none.",
        "Out of service: no node.",
        "Over time: no data.",
        "no rule removed a node",
        "set   defaults",
        "quarantined … in service      0       –",
    ] {
        assert!(shown.contains(said), "{said}\n{shown}");
    }
}

#[test]
fn a_year_still_fits_a_line() {
    let mut outcome = outcome();
    outcome.series.step_seconds = 3_600;
    outcome.series.nodes_out = (0..8_784).map(|step| step % 7).collect();
    outcome.series.lost_gpu_seconds = vec![3_600; 8_784];
    let shown = text(&outcome);
    let line = shown.lines().find(|line| line.starts_with("  nodes out  ")).unwrap();
    assert!(line.chars().count() < COLUMNS && line.ends_with("  6"), "{line}");
    assert!(shown.contains("Over time, 7 d per column"));
}

#[test]
fn a_long_tail_of_reasons_is_one_row_and_little_is_not_nothing() {
    let mut outcome = outcome();
    outcome.out_gpu_seconds = (0..40_u64).map(|place| (format!("rule-{place:02}"), 36_000_000 >> place)).collect();
    let shown = text(&outcome);
    let row = shown.lines().find(|line| line.contains(" more reasons ")).unwrap();
    // 26 of the halves are not nothing, and nothing is not shown.
    assert!(row.trim_start().starts_with("15 more reasons"), "{row}");
    assert!(row.contains(" <0.01 ") && row.contains(" <0.1 "), "{row}");
    assert!(shown.contains("rule-10 ") && !shown.contains("rule-11 "), "{shown}");
}
