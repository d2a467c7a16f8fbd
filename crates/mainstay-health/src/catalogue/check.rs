//! Checks that the rows of all tables fit together: no code is dropped, no row is unreachable, one rule has one
//! response. `parse.rs` reads single lines.

use std::collections::BTreeMap;

use mainstay_model::{Code, RuleName, Source};

use super::parse::Draft;
use super::{DetailCondition, EvidenceCondition, Generations, Problem, Row};

/// Returns the problems of lines together with those between rows, in the order of the rows.
pub(super) fn problems_with(drafts: &[Draft], mut problems: Vec<Problem>) -> Vec<Problem> {
    // A line that could not be parsed may be the one that seems missing here, so its problem is reported first and
    // alone.
    if !problems.is_empty() {
        return problems;
    }
    if !drafts.iter().any(|draft| draft.row.source.is_none() && draft.row.code.is_none()) {
        problems.push(Problem {
            table: "catalogue",
            line: 0,
            what: "unknown codes would be ignored".to_owned(),
            detail: "no row has source * and code *".to_owned(),
            hint: "end the catalogue with one".to_owned(),
        });
    }
    let mut of_code: BTreeMap<(Option<Source>, Option<&Code>), Vec<&Draft>> = BTreeMap::new();
    let mut of_rule: BTreeMap<&RuleName, &Draft> = BTreeMap::new();
    // Rows are tried in this order: those for some GPUs before those for any.
    let (any, some): (Vec<&Draft>, Vec<&Draft>) = drafts.iter().partition(|draft| draft.row.on == Generations::ANY);
    for draft in some.into_iter().chain(any) {
        let row = &draft.row;
        let above = of_code.entry((row.source, row.code.as_ref())).or_default();
        let first = *of_rule.entry(&row.rule).or_insert(draft);
        problems.extend(half_any(draft));
        problems.extend(out_of_reach(draft, above));
        problems.extend(another_answer(draft, first));
        above.push(draft);
    }
    problems.extend(of_code.values().filter_map(|rows| no_last_word(rows.last()?)));
    problems.sort_by_key(|problem| (order_of(drafts, problem.table), problem.line));
    problems
}

/// Returns the position of a table among the others.
fn order_of(drafts: &[Draft], table: &str) -> usize {
    drafts.iter().position(|draft| draft.table == table).map_or(0, |at| at + 1)
}

fn problem(draft: &Draft, what: &str, detail: String, hint: &str) -> Problem {
    Problem { table: draft.table, line: draft.line, what: what.to_owned(), detail, hint: hint.to_owned() }
}

fn half_any(draft: &Draft) -> Option<Problem> {
    let row = &draft.row;
    (row.source.is_some() && row.code.is_none()).then(|| {
        problem(
            draft,
            "a row for any code of one source",
            format!("{} names a source and no code", row.rule),
            "name the code, or use source * as well: unknown codes have one rule",
        )
    })
}

fn no_last_word(last: &Draft) -> Option<Problem> {
    (!last.row.always_matches()).then(|| {
        problem(
            last,
            "evidence of this code could be ignored",
            format!("{} is its last row, and does not always match", last.row.rule),
            "add a row below with when -, with - and count 1/24",
        )
    })
}

fn out_of_reach(draft: &Draft, above: &[&Draft]) -> Option<Problem> {
    let first = above.iter().find(|other| covers(&other.row, &draft.row))?;
    Some(problem(
        draft,
        "the row is never reached",
        format!("every evidence that {} matches is matched by {} above it", draft.row.rule, first.row.rule),
        "move it up, or remove it",
    ))
}

fn covers(wide: &Row, narrow: &Row) -> bool {
    (wide.when == DetailCondition::Always || wide.when == narrow.when)
        && (wide.with == EvidenceCondition::Whatever || wide.with == narrow.with)
        && (wide.on == Generations::ANY || wide.on == narrow.on)
        && wide.threshold.count <= narrow.threshold.count
        && wide.threshold.hours >= narrow.threshold.hours
}

fn another_answer(draft: &Draft, first: &Draft) -> Option<Problem> {
    let answer = |draft: &Draft| (draft.row.response, draft.row.urgency, draft.row.rungs.clone());
    (answer(first) != answer(draft)).then(|| {
        problem(
            draft,
            "one rule has two responses",
            format!("{} has another response on line {} of {}", draft.row.rule, first.line, first.table),
            "use another rule name: an override that names the rule must have one meaning",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::bucket::Buckets;
    use super::super::parse;
    use super::*;
    use crate::Catalogue;

    #[test]
    fn a_row_for_every_generation_covers_one_and_not_the_reverse() {
        let catalogue = Catalogue::built_in();
        let every = catalogue.rows().find(|row| row.on == Generations::ANY).unwrap();
        let of_one = catalogue.rows().find(|row| row.on != Generations::ANY).unwrap().on;
        let one = Row { on: of_one, ..every.clone() };
        assert!(covers(every, &one) && covers(&one, &one) && !covers(&one, every));
    }

    #[test]
    fn problems_are_in_the_order_of_the_tables_and_their_lines() {
        let mut unread = Vec::new();
        let buckets = Buckets::built_in(&mut unread);
        let late = "Xid\t80\t-\t-\t3/24\tlate\tWATCH\tours";
        let off = "Xid\t79\t-\t-\t1/24\toff\tWATCH\tours";
        let last = "*\t*\t-\t-\t1/24\tunknown-code\tWATCH\tours";
        let mut drafts = parse::rows("z.tsv", &[off, late].join("\n"), &buckets, &mut unread);
        drafts.extend(parse::rows("a.tsv", &[off, last].join("\n"), &buckets, &mut unread));
        assert_eq!(unread, []);
        let found: Vec<_> = problems_with(&drafts, unread).into_iter().map(|one| (one.table, one.line)).collect();
        assert_eq!(found, [("z.tsv", 2), ("a.tsv", 1)]);
    }
}
