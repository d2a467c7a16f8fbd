//! The vendor's own tables as data: every XID, how XIDs 144 to 150 are decoded, every SXid, and where Mainstay differs.
//! `vendor_rows.rs` turns them into rows.

use std::collections::BTreeSet;

use mainstay_model::{Code, RuleName, Source};

use super::bucket::{Bucket, Buckets};
use super::parse::{Reader, lines};
use super::{DecodePattern, Generations, Problem};

pub(super) const XID: &str = "catalogue/xid.tsv";
pub(super) const NVLINK5: &str = "catalogue/nvlink5.tsv";
pub(super) const SXID: &str = "catalogue/sxid.tsv";
const EXCEPTIONS: &str = "catalogue/overrides.tsv";

const XID_COLUMNS: [&str; 6] = ["code", "mnemonic", "on", "rule", "immediate", "investigatory"];
const NVLINK5_COLUMNS: [&str; 9] =
    ["xid", "unit", "reason", "r565", "r575", "status", "rule", "immediate", "investigatory"];
const SXID_COLUMNS: [&str; 5] = ["code", "name", "class", "rule", "action"];
const EXCEPTION_COLUMNS: [&str; 5] = ["source", "code", "published", "rule", "reason"];

/// One XID as NVIDIA publishes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Xid {
    /// Line number in its table.
    pub line: u32,
    /// Number of the XID.
    pub code: Code,
    /// NVIDIA's name of the XID.
    pub mnemonic: Box<str>,
    /// GPUs that the XID applies to.
    pub on: Generations,
    /// Mainstay's rule; absent where hand-written rows decide.
    pub rule: Option<RuleName>,
    /// The immediate action; absent where NVIDIA publishes none.
    pub immediate: Option<Bucket>,
    /// The investigatory action; absent where NVIDIA publishes none.
    pub investigatory: Option<Bucket>,
}

/// One cause of an XID between 144 and 150.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nvlink5 {
    /// Line number in its table.
    pub line: u32,
    /// The XID that the cause belongs to.
    pub code: Code,
    /// The hardware unit that reports the cause.
    pub unit: Box<str>,
    /// The condition that identifies the cause.
    pub decode: DecodePattern,
    /// Mainstay's rule for the cause.
    pub rule: RuleName,
    /// The vendor's immediate action.
    pub immediate: Bucket,
    /// The vendor's investigatory action.
    pub investigatory: Bucket,
}

/// Severity class of an SXid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SxidClass {
    /// The error is not fatal.
    NonFatal,
    /// Fatal to the users of the port, if the driver logs so.
    PotentiallyFatal,
    /// Fatal to the whole NVLink fabric of the node.
    AlwaysFatal,
}

/// One SXid as NVIDIA publishes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sxid {
    /// Line number in its table.
    pub line: u32,
    /// Number of the SXid.
    pub code: Code,
    /// NVIDIA's name of the SXid.
    pub name: Box<str>,
    /// Severity class of the SXid.
    pub class: SxidClass,
    /// Mainstay's rule for the SXid.
    pub rule: RuleName,
    /// The bucket of the SXid.
    pub action: Bucket,
}

/// A code for which Mainstay differs from its vendor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exception {
    /// Source of the code.
    pub source: Source,
    /// The fault code.
    pub code: Code,
    /// The vendor's published action.
    pub published: Box<str>,
    /// The rule that Mainstay uses instead.
    pub rule: RuleName,
    /// Reason for the difference.
    pub reason: Box<str>,
}

/// All of the vendor's tables and Mainstay's differences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VendorTables {
    /// Every XID, in order.
    pub xids: Vec<Xid>,
    /// Every cause of XIDs 144 to 150, in order.
    pub nvlink5: Vec<Nvlink5>,
    /// Every SXid, in order.
    pub sxids: Vec<Sxid>,
    /// Differences from the vendor.
    pub exceptions: Vec<Exception>,
    /// All buckets, by name.
    pub buckets: Vec<Bucket>,
}

// === impl SxidClass ===

impl SxidClass {
    /// All severity classes.
    pub const ALL: [Self; 3] = [Self::NonFatal, Self::PotentiallyFatal, Self::AlwaysFatal];

    /// Returns NVIDIA's name of the class.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::NonFatal => "non-fatal",
            Self::PotentiallyFatal => "potentially-fatal",
            Self::AlwaysFatal => "always-fatal",
        }
    }
}

// === impl VendorTables ===

impl VendorTables {
    /// Returns the tables that Mainstay ships with.
    #[must_use]
    pub fn built_in() -> Self {
        let mut problems = Vec::new();
        let buckets = Buckets::built_in(&mut problems);
        let published = Self::read(&buckets, &mut problems);
        assert!(problems.is_empty(), "the built-in tables are sound (a test reads them): {problems:?}");
        published
    }

    pub(super) fn read(buckets: &Buckets, problems: &mut Vec<Problem>) -> Self {
        Self {
            xids: table(XID, include_str!("../../catalogue/xid.tsv"), problems, |reader, line, text| {
                reader.xid(line, text, buckets)
            }),
            nvlink5: table(NVLINK5, include_str!("../../catalogue/nvlink5.tsv"), problems, |reader, line, text| {
                reader.nvlink5(line, text, buckets)
            }),
            sxids: table(SXID, include_str!("../../catalogue/sxid.tsv"), problems, |reader, line, text| {
                reader.sxid(line, text, buckets)
            }),
            exceptions: table(
                EXCEPTIONS,
                include_str!("../../catalogue/overrides.tsv"),
                problems,
                |reader, _, text| reader.exception(text),
            ),
            buckets: buckets.iter().cloned().collect(),
        }
    }

    /// Returns the codes of XIDs that the decode table covers.
    pub(super) fn decoded(&self) -> BTreeSet<&Code> {
        self.nvlink5.iter().map(|row| &row.code).collect()
    }
}

fn table<T>(
    name: &'static str,
    text: &str,
    problems: &mut Vec<Problem>,
    read: impl Fn(&mut Reader<'_>, u32, &str) -> Option<T>,
) -> Vec<T> {
    lines(text).filter_map(|(line, text)| read(&mut Reader::new(name, line, problems), line, text)).collect()
}

impl Reader<'_> {
    fn xid(&mut self, line: u32, text: &str, buckets: &Buckets) -> Option<Xid> {
        let [code, mnemonic, on, rule, immediate, investigatory] = self.columns(text, XID_COLUMNS)?;
        let code = self.one_code(code);
        let generations = Generations::parse(on);
        if generations.is_none() {
            self.wrong("the generations cannot be read", &format!("on is {on:?}"), "write letters of A, H, B, G, or -");
        }
        let rule = self.or_open(rule, |reader| reader.rule(rule));
        let immediate = self.or_open(immediate, |reader| reader.bucket(immediate, buckets).cloned());
        let investigatory = self.or_open(investigatory, |reader| reader.bucket(investigatory, buckets).cloned());
        Some(Xid {
            line,
            code: code?,
            mnemonic: mnemonic.into(),
            on: generations?,
            rule: rule?,
            immediate: immediate?,
            investigatory: investigatory?,
        })
    }

    fn nvlink5(&mut self, line: u32, text: &str, buckets: &Buckets) -> Option<Nvlink5> {
        let [code, unit, reason, r565, r575, status, rule, immediate, investigatory] =
            self.columns(text, NVLINK5_COLUMNS)?;
        let code = self.one_code(code);
        let decode = DecodePattern::parse(reason, r565, r575, status);
        if decode.is_none() {
            let detail = format!("{reason} {r565} {r575} {status}");
            self.wrong(
                "the pattern cannot be read",
                &detail,
                "use the form that the comment at the top of the table explains",
            );
        }
        let rule = self.rule(rule);
        let immediate = self.bucket(immediate, buckets).cloned();
        let investigatory = self.bucket(investigatory, buckets).cloned();
        Some(Nvlink5 {
            line,
            code: code?,
            unit: unit.into(),
            decode: decode?,
            rule: rule?,
            immediate: immediate?,
            investigatory: investigatory?,
        })
    }

    fn sxid(&mut self, line: u32, text: &str, buckets: &Buckets) -> Option<Sxid> {
        let [code, name, class, rule, action] = self.columns(text, SXID_COLUMNS)?;
        let code = self.one_code(code);
        let known = SxidClass::ALL.into_iter().find(|one| one.word() == class);
        if known.is_none() {
            self.wrong(
                "the class is unknown",
                &format!("class is {class:?}"),
                "use a class that the comment at the top of the table lists",
            );
        }
        let rule = self.rule(rule);
        let action = self.bucket(action, buckets).cloned();
        Some(Sxid { line, code: code?, name: name.into(), class: known?, rule: rule?, action: action? })
    }

    fn exception(&mut self, text: &str) -> Option<Exception> {
        let [source, code, published, rule, reason] = self.columns(text, EXCEPTION_COLUMNS)?;
        let source = self.known_source(source);
        let code = self.one_code(code);
        let rule = self.rule(rule);
        if reason.trim().is_empty() {
            self.wrong("no reason is given", "the last column is empty", "state why Mainstay differs from the vendor");
        }
        Some(Exception {
            source: source?,
            code: code?,
            published: published.into(),
            rule: rule?,
            reason: reason.into(),
        })
    }

    /// `-` is an empty column; the outer `None` is a column that could not be parsed.
    #[expect(
        clippy::option_option,
        reason = "an empty column differs from an invalid one, and only this function returns both"
    )]
    fn or_open<T>(&mut self, text: &str, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        if text == "-" { Some(None) } else { read(self).map(Some) }
    }
}
