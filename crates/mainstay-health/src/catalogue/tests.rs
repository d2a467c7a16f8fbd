//! What reading a catalogue refuses, and what switching a rule off leaves.

use super::*;

const LAST: &str = "*\t*\t-\t-\t1/24\tunknown-code\tWatch\tNextCheckpoint\t-\tours";

fn problems(lines: &[&str]) -> Vec<(u32, String)> {
    let text = lines.join("\n");
    let problems = Catalogue::parse(&text).err().unwrap_or_default();
    problems.into_iter().map(|problem| (problem.line, problem.what)).collect()
}

#[test]
fn the_built_in_catalogue_is_sound_and_in_the_order_of_its_file() {
    let catalogue = Catalogue::parse(include_str!("../../catalogue.tsv")).unwrap();
    assert_eq!(catalogue, Catalogue::built_in());
    let mut ranks: Vec<u16> = catalogue.rows().map(|row| row.rank).collect();
    ranks.sort_unstable();
    assert_eq!(ranks, (0..u16::try_from(ranks.len()).unwrap()).collect::<Vec<_>>());
    assert_eq!(catalogue.rule("recovery-reboot").map(|row| row.rank), Some(0), "the vendor's verdict leads");
}

#[test]
fn everything_wrong_with_a_line_is_told_at_once() {
    let bad = "Xyz\t7 9\tany r9:1\t\t0/25\tGPU Gone\tKill\tSoon\tKick>Reboot\t ";
    let found: Vec<String> = problems(&["# a comment", "", bad, LAST]).into_iter().map(|(_, what)| what).collect();
    assert_eq!(
        found,
        [
            "source is not a word we know",
            "the code cannot be read",
            "the condition cannot be read",
            "the code cannot be read",
            "the threshold cannot be read",
            "the rule's name cannot be taken",
            "response is not a word we know",
            "urgency is not a word we know",
            "rungs is not a word we know",
            "no fact is named",
        ]
    );
}

#[test]
fn a_problem_says_where_what_and_what_to_do() {
    let text = format!("Xid\t79\t-\t-\tonce\toff\tNote\tNow\t-\tours\n{LAST}");
    let problem = Catalogue::parse(&text).unwrap_err().remove(0);
    assert_eq!(
        problem.to_string(),
        "line 1: the threshold cannot be read\n  detail: count is \"once\"\n  \
         hint:   write how often, 1 or more, in how many hours, 1 to 24: 3/24"
    );
}

#[test]
fn a_short_row_is_one_problem() {
    assert_eq!(problems(&["Xid\t79", LAST]), [(1, "the row is not complete".to_owned())]);
}

#[test]
fn no_code_may_be_passed_over_in_silence() {
    let storm = "PcieAer\tcorrectable\t-\t-\t1000/1\tstorm\tWatch\tNow\t-\tours";
    let needs = "evidence of this code could be passed over in silence";
    assert_eq!(problems(&[storm, LAST]), [(1, needs.to_owned())]);
    let shorter = "Xid\t79\t-\t-\t1/23\toff\tWatch\tNow\t-\tours";
    assert_eq!(problems(&[shorter, LAST]), [(1, needs.to_owned())]);
    assert_eq!(problems(&["# nothing"]), [(0, "unknown codes would be passed over in silence".to_owned())]);
}

#[test]
fn a_row_that_cannot_be_reached_is_told() {
    let wide = "Xid\t79\t-\t-\t1/24\toff\tWatch\tNow\t-\tours";
    let narrow = "Xid\t79\tto 0x1\t63\t3/24\toff-again\tWatch\tNow\t-\tours";
    let found = problems(&[wide, narrow, LAST]);
    assert!(found.contains(&(2, "the row is never reached".to_owned())), "{found:?}");
    assert_eq!(problems(&[narrow, wide, LAST]), []);
    assert_eq!(problems(&[wide, wide, LAST]), [(2, "the row is never reached".to_owned())]);
}

#[test]
fn one_rule_has_one_answer() {
    let first = "Xid\t79\t-\t-\t1/24\toff\tRemove\tNow\tCapture>Reboot\tours";
    let same = "Xid\t80\t-\t-\t1/24\toff\tRemove\tNow\tCapture>Reboot\tours";
    let other = "Xid\t81\t-\t-\t1/24\toff\tRemove\tMinutes\tCapture>Reboot\tours";
    assert_eq!(problems(&[first, same, LAST]), []);
    assert_eq!(problems(&[first, other, LAST]), [(2, "one rule with two answers".to_owned())]);
}

#[test]
fn a_ladder_begins_with_capture_and_rises() {
    let with = |response: &str, rungs: &str| {
        let row = format!("Xid\t79\t-\t-\t1/24\toff\t{response}\tNow\t{rungs}\tours");
        problems(&[&row, LAST]).into_iter().map(|(_, what)| what).collect::<Vec<_>>()
    };
    assert_eq!(with("Remove", "Reboot>Replace"), ["the ladder does not begin with Capture"]);
    assert_eq!(with("Remove", "-"), ["the ladder does not begin with Capture"]);
    assert_eq!(with("Remove", "Capture>Reboot>ResetGpu"), ["the ladder does not go from gentle to harsh"]);
    assert_eq!(with("Watch", "Capture"), ["a row that removes nothing has a ladder"]);
    assert_eq!(with("Remove", "Capture>Reboot>Replace"), Vec::<String>::new());
}

#[test]
fn unknown_codes_have_one_rule_whatever_their_source() {
    let half = "Xid\t*\t-\t-\t1/24\tunknown-xid\tWatch\tNow\t-\tours";
    assert_eq!(problems(&[half, LAST]), [(1, "a row for any code of one source".to_owned())]);
}

#[test]
fn without_a_rule_the_others_keep_their_rank() {
    let whole = Catalogue::built_in();
    let less = whole.without("gpu-off-the-bus");
    assert_eq!(less.rule("gpu-off-the-bus"), None);
    assert_eq!(less.rows().count() + 1, whole.rows().count());
    assert!(less.rows().all(|row| whole.rule(row.rule.as_str()) == Some(row)));
}
