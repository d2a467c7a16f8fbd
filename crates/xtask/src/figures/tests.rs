//! Goals, claims, records and the table of made-up figures.

use std::time::Duration;

use super::claims;
use super::machine::Machine;
use super::outcome::{Outcome, Verdict, verdict_in_ci};
use super::record::{self, Record, problems_of};
use super::*;

const fn figure(name: &'static str, goal: Goal) -> Figure {
    let (limit, servers) = (Duration::from_secs(1), TestServers::Unused);
    Figure { name, runs: Schedule::ByHand, unit: "things", goal, limit, servers }
}

#[test]
fn a_goal_holds_at_its_bound_and_not_past_it() {
    assert!(Goal::AtMost(7).holds(7) && !Goal::AtMost(7).holds(8));
    assert!(Goal::AtLeast(7).holds(7) && !Goal::AtLeast(7).holds(6));
    assert!(Goal::Exactly(7).holds(7) && !Goal::Exactly(7).holds(6) && !Goal::Exactly(7).holds(8));
}

#[test]
fn names_are_unique_and_units_are_given() {
    for (at, figure) in ALL.iter().enumerate() {
        assert!(ALL.iter().skip(at + 1).all(|other| other.name != figure.name), "{} twice", figure.name);
        assert!(!figure.unit.is_empty(), "{}", figure.name);
        assert!(
            figure.name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'),
            "{}",
            figure.name
        );
    }
}

#[test]
fn every_unit_of_time_is_a_wall_clock_unit() {
    for figure in ALL {
        let of_time = figure.unit.contains("second") || ["ms", "µs", "s", "minutes"].contains(&figure.unit);
        assert_eq!(figure.is_wall_clock(), of_time, "{} in {}", figure.name, figure.unit);
    }
}

fn line(name: &str, goal: &str) -> String {
    format!(
        r#"{{"name":"{name}","value":7,"unit":"things","goal":"{goal}","holds":true,"seconds":0.1,"date":"2026-01-02","commit":"abc","machine":{{"cpu":"x","cores":2,"memory_gib":24}},"rustc":"1.95.0"}}"#
    )
}

#[test]
fn records_need_a_proof_with_the_same_goal_and_their_order() {
    let figures = [figure("a", Goal::AtMost(9)), figure("b", Goal::AtMost(9))];
    let told = |lines: &[String]| -> Vec<String> {
        problems_of(&lines.join("\n"), &figures).into_iter().map(|problem| problem.what).collect()
    };
    assert_eq!(told(&[line("a", "<= 8"), line("a", "<= 9"), line("b", "<= 9")]), Vec::<String>::new());
    assert_eq!(told(&[line("c", "<= 9")]), ["the figure c has no proof"]);
    assert_eq!(told(&[line("a", "<= 8")]), ["the figure a was recorded for another goal"]);
    assert_eq!(told(&[line("b", "<= 9"), line("a", "<= 9")]), ["docs/reference/figures.jsonl is not sorted by name"]);
    assert_eq!(told(&["{}".to_owned()]), ["docs/reference/figures.jsonl:1 is not a record"]);
}

#[test]
fn ci_fails_on_counts_and_prints_missed_times() {
    let (count, time) = (figure("x", Goal::AtMost(6)), Figure { unit: "ms", ..figure("x", Goal::AtMost(6)) });
    let outcome = |value: Option<i64>, holds| Outcome {
        name: "x".to_owned(),
        value,
        unit: String::new(),
        goal: String::new(),
        holds,
        seconds: 0.1,
    };
    let (missed, failed, kept) = (outcome(Some(7), false), outcome(None, false), outcome(Some(6), true));
    for (figure, outcome, expected) in [
        (&count, Some(&missed), Verdict::Fails),
        (&time, Some(&missed), Verdict::Printed),
        (&time, Some(&failed), Verdict::Fails),
        (&time, None, Verdict::Fails),
        (&time, Some(&kept), Verdict::Passes),
    ] {
        assert_eq!(verdict_in_ci(figure, outcome), expected, "{outcome:?}");
    }
}

const CLAIM: &str = "basis = \"real\"\ngoal_set = \"2026-01-02 abcdef0\"\nclaim = ";

#[test]
fn every_proof_has_a_claim_and_every_claim_a_figure() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/claims.toml")).unwrap();
    assert_eq!(claims::problems_of(&text, ALL), []);
}

#[test]
fn a_claims_file_that_does_not_match_is_a_problem() {
    let figures = [figure("a", Goal::AtMost(9))];
    let told = |text: &str| -> Vec<String> {
        claims::problems_of(text, &figures).into_iter().map(|problem| problem.what).collect()
    };
    assert_eq!(told(&format!("[a]\n{CLAIM}\"Things, count\"")), Vec::<String>::new());
    assert_eq!(told(""), ["the proof a has no claim"]);
    let two = format!("[a]\n{CLAIM}\"Things, count\"\n[b]\n{CLAIM}\"Things, count\"");
    assert_eq!(told(&two), ["the claim b has no proof"]);
    let long = format!("[a]\n{CLAIM}\"{}\"", "word ".repeat(26));
    assert_eq!(told(&long), ["the claim of a is too long"]);
    let undated = format!("[a]\n{CLAIM}\"Things\"").replace("2026-01-02 abcdef0", "last year");
    assert_eq!(told(&undated), ["the claim of a does not state when its goal was set"]);
    let same = format!("[a]\n{CLAIM}\"Things\"\nfirst_goal = \"<= 9\"");
    assert_eq!(told(&same), ["the first goal of a was not relaxed"]);
    assert_eq!(told("[a]\nclaim = 1"), ["crates/xtask/claims.toml cannot be read"]);
}

#[test]
fn a_relaxed_goal_counts_as_missed() {
    let text = format!("[a]\n{CLAIM}\"Things\"\nfirst_goal = \"<= 5\"");
    let claims = claims::parse(&text).unwrap();
    let claim = claims.of("a").unwrap();
    assert!(claim.counts(true, 5) && !claim.counts(true, 6) && !claim.counts(false, 5));
    for wrong in ["<= many", "< 5", "5"] {
        assert!(claims::parse(&text.replace("<= 5", wrong)).is_err(), "{wrong}");
    }
}

#[test]
fn the_machine_is_described_without_its_name() {
    let here = Machine::here();
    assert!(!here.cpu.is_empty() && here.cores > 0);
    if cfg!(target_os = "linux") {
        assert!(here.memory_gib > 0);
    }
}

fn recorded(name: &str, value: i64, holds: bool, commit: &str) -> String {
    format!(
        r#"{{"name":"{name}","value":{value},"unit":"seconds","goal":"<= 60","holds":{holds},"seconds":70.5,"date":"2026-01-02","commit":"{commit}","machine":{{"cpu":"CPU","cores":2,"memory_gib":24}},"rustc":"1.95.0"}}"#
    )
}

/// The rows of the table for three proofs: `a` not recorded, `b` with a goal of 60 seconds, `c` with a relaxed goal.
fn rows(lines: &[String]) -> Vec<String> {
    let figure = |name, goal| Figure { unit: "seconds", ..figure(name, goal) };
    let claim = "claim = \"Time to start\"\nbasis = \"emulated\"\ngoal_set = \"2026-01-01 abcdef0\"\n";
    let claims = format!("[a]\n{claim}[b]\n{claim}notes = \"One disk.\"\n[c]\n{claim}first_goal = \"<= 30\"\n");
    let claims = claims::parse(&claims).unwrap();
    let records: Vec<Record> = record::parse(&lines.join("\n")).unwrap();
    let figures = [figure("b", Goal::AtMost(60)), figure("a", Goal::Exactly(0)), figure("c", Goal::AtMost(60))];
    let table = table::table(&figures, &claims, &records).unwrap();
    assert!(table.contains("\n## Notes\n\n- `b`: One disk.\n"), "{table}");
    table.lines().filter(|line| line.starts_with("| `")).map(str::to_owned).collect()
}

#[test]
fn the_table_shows_every_proof_recorded_or_not() {
    assert_eq!(
        rows(&[recorded("b", 61, false, "abc")]),
        [
            "| `a` | Time to start | not recorded | = 0 seconds | 2026-01-01, `abcdef0` | – | emulated | by hand: no run | – |",
            "| `b` | Time to start | 61 seconds | <= 60 seconds | 2026-01-01, `abcdef0` | **MISSED** | emulated | by hand: one run | 2026-01-02, `abc`, A |",
            "| `c` | Time to start | not recorded | <= 60 seconds (first: <= 30) | 2026-01-01, `abcdef0` | – | emulated | by hand: no run | – |",
        ]
    );
}

#[test]
fn the_table_shows_a_relaxed_goal_as_missed() {
    let row = |value| rows(&[recorded("c", value, true, "abc")]).remove(2);
    assert!(row(40).contains("| **MISSED** (holds for the relaxed goal) |"), "{}", row(40));
    assert!(row(30).contains("| holds |"), "{}", row(30));
}

#[test]
fn three_runs_have_a_median_and_a_range() {
    let row = |values: &[i64]| {
        let lines: Vec<String> = values.iter().map(|value| recorded("b", *value, true, "abc")).collect();
        rows(&lines).remove(1)
    };
    assert!(row(&[9, 7]).contains("| 7 seconds |") && row(&[9, 7]).contains("| by hand: 2 runs |"), "{}", row(&[9, 7]));
    assert!(row(&[9, 7, 20]).contains("| by hand: 3 runs, median 9, range 7–20 |"), "{}", row(&[9, 7, 20]));
    assert!(row(&[9, 7, 20, 12]).contains("4 runs, median 10, range 7–20"), "{}", row(&[9, 7, 20, 12]));
    assert!(row(&[5, 5, 5]).contains("3 runs, all 5"), "{}", row(&[5, 5, 5]));
}
