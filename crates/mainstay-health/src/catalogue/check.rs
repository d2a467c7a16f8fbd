//! Whether the rows of a catalogue fit together: no code is passed over in silence, no row is out of reach, one rule has
//! one answer. Single lines are read in `parse.rs`.

use super::{Problem, Row, Threshold, When, With};
use crate::arrivals::HOURS;

/// What a row must match to have the last word on its code.
const ALWAYS: Threshold = Threshold { count: 1, hours: HOURS };

/// The problems of lines, with those of the rows beside each other, in order of lines.
pub(super) fn problems_with(rows: &[(u32, Row)], mut problems: Vec<Problem>) -> Vec<Problem> {
    // A line that could not be read may be the one that is missed here; it is told first, alone.
    if !problems.is_empty() {
        return problems;
    }
    if !rows.iter().any(|(_, row)| row.source.is_none() && row.code.is_none()) {
        problems.push(problem(
            0,
            "unknown codes would be passed over in silence",
            "no row has source * and code *".to_owned(),
            "end the catalogue with one",
        ));
    }
    for (at, (line, row)) in rows.iter().enumerate() {
        let above = rows.get(..at).unwrap_or_default();
        let below = rows.get(at + 1..).unwrap_or_default();
        problems.extend(half_any(*line, row));
        problems.extend(no_last_word(*line, row, below));
        problems.extend(out_of_reach(*line, row, above));
        problems.extend(another_answer(*line, row, above));
    }
    problems
}

fn problem(line: u32, what: &str, detail: String, hint: &str) -> Problem {
    Problem { line, what: what.to_owned(), detail, hint: hint.to_owned() }
}

fn same_code(a: &Row, b: &Row) -> bool {
    a.source == b.source && a.code == b.code
}

fn half_any(line: u32, row: &Row) -> Option<Problem> {
    (row.source.is_some() && row.code.is_none()).then(|| {
        problem(
            line,
            "a row for any code of one source",
            format!("{} names a source and no code", row.rule),
            "name the code, or give source * too: unknown codes have one rule",
        )
    })
}

fn no_last_word(line: u32, row: &Row, below: &[(u32, Row)]) -> Option<Problem> {
    let last = !below.iter().any(|(_, other)| same_code(row, other));
    let always = row.when == When::Always && row.with == With::Whatever && row.threshold == ALWAYS;
    (last && !always).then(|| {
        problem(
            line,
            "evidence of this code could be passed over in silence",
            format!("{} is its last row, and does not always match", row.rule),
            "add a row below with when -, with - and count 1/24",
        )
    })
}

fn out_of_reach(line: u32, row: &Row, above: &[(u32, Row)]) -> Option<Problem> {
    let (_, first) = above.iter().find(|(_, other)| same_code(row, other) && covers(other, row))?;
    Some(problem(
        line,
        "the row is never reached",
        format!("whatever {} matches, {} above it has matched", row.rule, first.rule),
        "move it up, or remove it",
    ))
}

fn covers(wide: &Row, narrow: &Row) -> bool {
    (wide.when == When::Always || wide.when == narrow.when)
        && (wide.with == With::Whatever || wide.with == narrow.with)
        && wide.threshold.count <= narrow.threshold.count
        && wide.threshold.hours >= narrow.threshold.hours
}

fn another_answer(line: u32, row: &Row, above: &[(u32, Row)]) -> Option<Problem> {
    let answer = |row: &Row| (row.response, row.urgency, row.rungs.clone());
    let (first, _) = above.iter().find(|(_, other)| other.rule == row.rule && answer(other) != answer(row))?;
    Some(problem(
        line,
        "one rule with two answers",
        format!("{} says something else on line {first}", row.rule),
        "give it another name: an override that names the rule must mean one thing",
    ))
}
