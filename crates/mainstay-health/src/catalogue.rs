//! The fault catalogue: rows of data, found by source and code. The rows themselves are in `catalogue.tsv` and in the
//! tables of `catalogue/`; holding them against a node is `findings.rs`.

mod bucket;
mod check;
mod decode;
mod explained;
mod generation;
mod parse;
mod plain;
mod published;
mod row;
mod when;

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeSet;

use mainstay_model::{Code, Response, Source};

pub use bucket::Bucket;
use bucket::Buckets;
pub use decode::{Decode, Layout};
pub use explained::{RuleKind, RuleText, rule_text};
pub use generation::{Generation, Generations};
use parse::Draft;
pub use parse::Problem;
pub use published::{Exception, Nvlink5, Published, Sxid, SxidClass, Xid};
pub use row::{Row, Threshold, With};
pub(crate) use when::Said;
pub use when::{Registers, When};

/// The code under which a missing GPU is looked up.
pub(crate) const GPU_MISSING: &str = "gpu-missing";

/// The code under which an impossible counter is recorded and looked up, whichever source counted.
pub(crate) const COUNTER_IMPOSSIBLE: &str = "counter-impossible";

/// The kernel's code under which an agent says that its list of evidence is full.
pub(crate) const EVIDENCE_OVERFLOW: &str = "overflow";

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
        match all_tables() {
            Ok(catalogue) => catalogue,
            Err(problems) => unreachable!("the built-in catalogue is sound (a test reads it): {problems:?}"),
        }
    }

    /// Reads a catalogue of the same form as `catalogue.tsv`, with the buckets that Mainstay comes with and no other table.
    ///
    /// # Errors
    /// Everything that is wrong with it, in order of lines.
    pub fn parse(text: &str) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        let buckets = Buckets::built_in(&mut problems);
        let drafts = parse::rows("catalogue", text, &buckets, &mut problems);
        Self::checked(drafts, problems)
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

    /// Gives rows their ranks, in the order in which they come; the rows for whoever's codes come last, because anything
    /// that was recognised says more.
    fn checked(drafts: Vec<Draft>, mut problems: Vec<Problem>) -> Result<Self, Vec<Problem>> {
        let (mut drafts, last): (Vec<Draft>, Vec<Draft>) =
            drafts.into_iter().partition(|draft| draft.row.source.is_some());
        drafts.extend(last);
        for (at, draft) in drafts.iter_mut().enumerate() {
            match u16::try_from(at) {
                Ok(rank) => draft.row.rank = rank,
                Err(_) => parse::Reader::new(draft.table, draft.line, &mut problems).wrong(
                    "too many rows",
                    "a rank has 16 bits",
                    "split the catalogue",
                ),
            }
        }
        let problems = check::problems_with(&drafts, problems);
        if problems.is_empty() { Ok(Self::of(drafts.into_iter().map(|draft| draft.row))) } else { Err(problems) }
    }

    /// Of one code, rows for some GPUs come before those for any.
    fn of(rows: impl Iterator<Item = Row>) -> Self {
        let mut rows: Vec<Row> = rows.collect();
        rows.sort_by(|a, b| {
            let code = b.code.as_ref().map(Code::as_str);
            let narrow = |row: &Row| Reverse(row.on != Generations::ANY);
            order(a.source, a.code.as_ref(), b.source, code).then(narrow(a).cmp(&narrow(b))).then(a.rank.cmp(&b.rank))
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

/// The hand-written rows, then those for readings and for the host, then the vendor's tables.
fn all_tables() -> Result<Catalogue, Vec<Problem>> {
    let mut problems = Vec::new();
    let buckets = Buckets::built_in(&mut problems);
    let mut drafts = Vec::new();
    for (table, text) in [
        ("catalogue.tsv", include_str!("../catalogue.tsv")),
        ("catalogue/host.tsv", include_str!("../catalogue/host.tsv")),
        ("catalogue/counters.tsv", include_str!("../catalogue/counters.tsv")),
    ] {
        drafts.extend(parse::rows(table, text, &buckets, &mut problems));
    }
    let published = Published::read(&buckets, &mut problems);
    let written: BTreeSet<(Source, Code)> =
        drafts.iter().filter_map(|draft| draft.row.source.zip(draft.row.code.clone())).collect();
    drafts.extend(plain::rows(&published, &written, &buckets, &mut problems));
    Catalogue::checked(drafts, problems)
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
