//! The fault catalogue: rows of data, indexed by source and code. The rows are in `catalogue.tsv` and in the tables of
//! `catalogue/`; `findings.rs` applies them to a node.

mod bucket;
mod check;
mod decode;
mod detail_condition;
mod generation;
mod parse;
mod row;
mod rule_texts;
mod rules;
mod vendor_rows;
mod vendor_tables;
mod weight;

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeSet;

use mainstay_model::{Code, Response, Source};

pub use bucket::Bucket;
use bucket::Buckets;
pub use decode::{DecodePattern, Layout};
pub(crate) use detail_condition::ParsedDetail;
pub use detail_condition::{DetailCondition, Registers};
pub use generation::{Generation, Generations};
use parse::Draft;
pub use parse::Problem;
pub use row::{EvidenceCondition, Row, Threshold};
pub use rule_texts::{RuleKind, RuleText, rule_names, rule_text};
pub use rules::Rules;
pub use vendor_tables::{Exception, Nvlink5, Sxid, SxidClass, VendorTables, Xid};
pub(crate) use weight::Weight;

/// The code of a missing GPU.
pub(crate) const GPU_MISSING: &str = "gpu-missing";

/// The code of an impossible counter, for every source.
pub(crate) const COUNTER_IMPOSSIBLE: &str = "counter-impossible";

/// Code of a machine in service that rebooted, which Mainstay counts itself.
pub(crate) const REBOOTED: &str = "rebooted";

/// The kernel code under which an agent reports that its list of evidence is full.
pub(crate) const EVIDENCE_OVERFLOW: &str = "overflow";

/// The rows of one code, in order of rank, with cached properties.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Group {
    source: Option<Source>,
    code: Option<Code>,
    pub(crate) rows: Vec<Row>,
    /// Whether any row uses the detail; if not, details need not be parsed.
    pub(crate) detail: DetailUse,
    /// The strongest response of any row: a code that is only counted explains no other fault.
    pub(crate) strongest: Response,
}

/// Whether any row of a code has a condition on the detail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DetailUse {
    Yes,
    No,
}

/// The fault catalogue: all rows, indexed by source and code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Catalogue {
    /// Sorted by source and code. The group without either is for unknown codes and comes first.
    groups: Vec<Group>,
}

// === impl Catalogue ===

impl Catalogue {
    /// Returns the catalogue that Mainstay ships with.
    #[must_use]
    pub fn built_in() -> Self {
        match all_tables() {
            Ok(catalogue) => catalogue,
            Err(problems) => unreachable!("the built-in catalogue is sound (a test reads it): {problems:?}"),
        }
    }

    /// Parses a catalogue in the form of `catalogue.tsv`, with the built-in buckets and no other table.
    ///
    /// # Errors
    /// Returns all problems of the text, in order of lines.
    pub fn parse(text: &str) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        let buckets = Buckets::built_in(&mut problems);
        let drafts = parse::rows("catalogue", text, &buckets, &mut problems);
        Self::checked(drafts, problems)
    }

    /// Returns the catalogue without one rule. The rows below it, and finally the unknown code, apply instead. The
    /// other rows keep their rank.
    #[must_use]
    pub fn without(&self, rule: &str) -> Self {
        Self::of(self.rows().filter(|row| row.rule.as_str() != rule).cloned())
    }

    /// Returns every row, code by code.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.groups.iter().flat_map(|group| &group.rows)
    }

    /// Returns the first row of a rule, which an override of that name uses. A policy that names a rule without a row
    /// changes nothing.
    #[must_use]
    pub fn rule(&self, rule: &str) -> Option<&Row> {
        self.rows().filter(|row| row.rule.as_str() == rule).min_by_key(|row| row.rank)
    }

    /// Returns the kind of component that a code is about, as the text of its rule names it; `node` if no rule has it.
    #[must_use]
    pub fn component(&self, source: Source, code: &str) -> &'static str {
        let rows = self.known(source, code).map_or(self.unknown(), |group| &group.rows);
        let text = rows.first().and_then(|row| rule_text(row.rule.as_str()));
        match (source, text) {
            // The rule for unknown codes knows no component, but these sources have only one.
            (Source::Xid, _) => "GPU",
            (Source::Sxid, _) => "NVSwitch",
            (_, Some(text)) => text.part,
            (_, None) => "node",
        }
    }

    /// Returns the rows of a known code, for its source or for any source.
    pub(crate) fn known(&self, source: Source, code: &str) -> Option<&Group> {
        let find = |source: Option<Source>| {
            let at = self.groups.binary_search_by(|group| order(group.source, group.code.as_ref(), source, Some(code)));
            at.ok().and_then(|at| self.groups.get(at))
        };
        find(Some(source)).or_else(|| find(None))
    }

    /// Returns the rows for codes without a rule.
    pub(crate) fn unknown(&self) -> &[Row] {
        let group = self.groups.first().filter(|group| group.code.is_none());
        group.map_or(&[], |group| &group.rows)
    }

    /// Assigns ranks to the rows, in their order. Rows for any source come last, because a recognised code is more
    /// specific.
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

    /// Sorts the rows of one code: rows for some GPUs come before rows for all.
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
        ("catalogue/drivers.tsv", include_str!("../catalogue/drivers.tsv")),
        ("catalogue/counters.tsv", include_str!("../catalogue/counters.tsv")),
        ("catalogue/site.tsv", include_str!("../catalogue/site.tsv")),
    ] {
        drafts.extend(parse::rows(table, text, &buckets, &mut problems));
    }
    let published = VendorTables::read(&buckets, &mut problems);
    let written: BTreeSet<(Source, Code)> =
        drafts.iter().filter_map(|draft| draft.row.source.zip(draft.row.code.clone())).collect();
    drafts.extend(vendor_rows::rows(&published, &written, &buckets, &mut problems));
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
            detail: DetailUse::No,
            strongest: row.response,
        };
        group.take(row);
        group
    }

    fn take(&mut self, row: Row) {
        if row.when != DetailCondition::Always {
            self.detail = DetailUse::Yes;
        }
        self.strongest = self.strongest.max(row.response);
        self.rows.push(row);
    }
}

#[cfg(test)]
mod tests;
