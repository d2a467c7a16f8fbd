//! The fault catalogue: rows of data, found by source and code. The rows themselves are in `catalogue.tsv`; holding them
//! against a node is `findings.rs`.

mod check;
mod parse;
mod when;

use std::cmp::Ordering;

use mainstay_model::{Bounded, Code, Response, RuleName, Rung, Source, Urgency};

pub use parse::Problem;
pub(crate) use when::Said;
pub use when::{Registers, When};

/// The code under which a missing GPU is looked up.
pub(crate) const GPU_MISSING: &str = "gpu-missing";

/// The code under which an impossible counter is recorded and looked up, whichever source counted.
pub(crate) const COUNTER_IMPOSSIBLE: &str = "counter-impossible";

/// What must be seen beside the evidence for a row to match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum With {
    /// Nothing.
    Whatever,
    /// One of these codes, from the same source and part.
    Codes(Vec<Code>),
    /// Another XID or SXid of the node that asks for something.
    Other,
}

/// How often within how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Threshold {
    /// So many at least.
    pub count: u32,
    /// In so many of the newest hour buckets, the one that is filling included.
    pub hours: u8,
}

/// One row: what it matches, and what it says then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Its place in the catalogue, from 0.
    pub rank: u16,
    /// Whose words; whoever's where absent.
    pub source: Option<Source>,
    /// Which code; any that no other row names where absent.
    pub code: Option<Code>,
    /// What the detail must be.
    pub when: When,
    /// What must be beside it.
    pub with: With,
    /// How often it must have come.
    pub threshold: Threshold,
    /// The rule it stands for.
    pub rule: RuleName,
    /// What it asks for.
    pub response: Response,
    /// How long work may be waited for.
    pub urgency: Urgency,
    /// What to try.
    pub rungs: Bounded<Rung, 8>,
    /// Who says so.
    pub fact: Box<str>,
}

/// The rows of one code, in order of rank, and what is asked of them often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Group {
    source: Option<Source>,
    code: Option<Code>,
    pub(crate) rows: Vec<Row>,
    /// Whether any row looks at the detail; where none does, details need not be read.
    pub(crate) detail: Detailed,
    /// The strongest response of any row: a code that is only ever noted explains nothing else.
    pub(crate) strongest: Response,
}

/// Whether details matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detailed {
    Yes,
    No,
}

/// All rows, found by source and code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Catalogue {
    /// Sorted by source and code; the group without either, which speaks for unknown codes, is the first.
    groups: Vec<Group>,
}

// === impl Catalogue ===

impl Catalogue {
    /// The catalogue Mainstay comes with.
    #[must_use]
    pub fn built_in() -> Self {
        let (rows, problems) = parse::rows(include_str!("../catalogue.tsv"));
        let problems = check::problems_with(&rows, problems);
        assert!(problems.is_empty(), "the built-in catalogue is sound (a test reads it): {problems:?}");
        Self::of(rows.into_iter().map(|(_, row)| row))
    }

    /// Reads a catalogue of the same form as `catalogue.tsv`.
    ///
    /// # Errors
    /// Everything that is wrong with it, in order of lines.
    pub fn parse(text: &str) -> Result<Self, Vec<Problem>> {
        let (rows, problems) = parse::rows(text);
        let problems = check::problems_with(&rows, problems);
        if problems.is_empty() { Ok(Self::of(rows.into_iter().map(|(_, row)| row))) } else { Err(problems) }
    }

    /// The same without one rule; what it spoke for falls to the rows below it, and in the end to the unknown code. The
    /// other rows keep their rank.
    #[must_use]
    pub fn without(&self, rule: &str) -> Self {
        Self::of(self.rows().filter(|row| row.rule.as_str() != rule).cloned())
    }

    /// Every row, code by code.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.groups.iter().flat_map(|group| &group.rows)
    }

    /// The first row that stands for a rule: what an override of that name means. A policy that names a rule without a
    /// row changes nothing.
    #[must_use]
    pub fn rule(&self, rule: &str) -> Option<&Row> {
        self.rows().filter(|row| row.rule.as_str() == rule).min_by_key(|row| row.rank)
    }

    /// The rows of a code that has some, by its source or whoever says it.
    pub(crate) fn known(&self, source: Source, code: &str) -> Option<&Group> {
        let find = |source: Option<Source>| {
            let at = self.groups.binary_search_by(|group| order(group.source, group.code.as_ref(), source, Some(code)));
            at.ok().and_then(|at| self.groups.get(at))
        };
        find(Some(source)).or_else(|| find(None))
    }

    /// The rows that speak for codes nobody has a rule for.
    pub(crate) fn unknown(&self) -> &[Row] {
        let group = self.groups.first().filter(|group| group.code.is_none());
        group.map_or(&[], |group| &group.rows)
    }

    fn of(rows: impl Iterator<Item = Row>) -> Self {
        let mut rows: Vec<Row> = rows.collect();
        rows.sort_by(|a, b| {
            let code = b.code.as_ref().map(Code::as_str);
            order(a.source, a.code.as_ref(), b.source, code).then(a.rank.cmp(&b.rank))
        });
        let mut groups: Vec<Group> = Vec::new();
        for row in rows {
            match groups.last_mut().filter(|group| group.source == row.source && group.code == row.code) {
                Some(group) => group.take(row),
                None => groups.push(Group::new(row)),
            }
        }
        Self { groups }
    }
}

fn order(
    source: Option<Source>,
    code: Option<&Code>,
    than_source: Option<Source>,
    than_code: Option<&str>,
) -> Ordering {
    source.cmp(&than_source).then_with(|| code.map(Code::as_str).cmp(&than_code))
}

// === impl Group ===

impl Group {
    fn new(row: Row) -> Self {
        let mut group = Self {
            source: row.source,
            code: row.code.clone(),
            rows: Vec::new(),
            detail: Detailed::No,
            strongest: row.response,
        };
        group.take(row);
        group
    }

    fn take(&mut self, row: Row) {
        if row.when != When::Always {
            self.detail = Detailed::Yes;
        }
        self.strongest = self.strongest.max(row.response);
        self.rows.push(row);
    }
}

#[cfg(test)]
mod tests;
