//! The vendor's own tables, as data: every XID, how XIDs 144 to 150 are decoded, every SXid, and where we know better. What
//! the facts come to as rows is `plain.rs`.

use std::collections::BTreeSet;

use mainstay_model::{Code, RuleName, Source};

use super::bucket::{Bucket, Buckets};
use super::parse::{Reader, lines};
use super::{Decode, Generations, Problem};

pub(super) const XID: &str = "catalogue/xid.tsv";
pub(super) const NVLINK5: &str = "catalogue/nvlink5.tsv";
pub(super) const SXID: &str = "catalogue/sxid.tsv";
const EXCEPTIONS: &str = "catalogue/overrides.tsv";

const XID_COLUMNS: [&str; 6] = ["code", "mnemonic", "on", "rule", "immediate", "investigatory"];
const NVLINK5_COLUMNS: [&str; 9] =
    ["xid", "unit", "reason", "r565", "r575", "status", "rule", "immediate", "investigatory"];
const SXID_COLUMNS: [&str; 5] = ["code", "name", "class", "rule", "action"];
const EXCEPTION_COLUMNS: [&str; 5] = ["source", "code", "published", "rule", "reason"];

/// One XID, as NVIDIA publishes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Xid {
    /// On which line of its table.
    pub line: u32,
    /// Its number.
    pub code: Code,
    /// NVIDIA's name of it.
    pub mnemonic: Box<str>,
    /// Which GPUs it applies to.
    pub on: Generations,
    /// Our rule; absent where hand-written rows have the word.
    pub rule: Option<RuleName>,
    /// What is done at once; absent where NVIDIA leaves it open.
    pub immediate: Option<Bucket>,
    /// What is done then; absent where NVIDIA leaves it open.
    pub investigatory: Option<Bucket>,
}

/// One cause of an XID between 144 and 150.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nvlink5 {
    /// On which line of its table.
    pub line: u32,
    /// The XID.
    pub code: Code,
    /// The unit that tells of it.
    pub unit: Box<str>,
    /// How it is told from the others.
    pub decode: Decode,
    /// Our rule.
    pub rule: RuleName,
    /// What is done at once.
    pub immediate: Bucket,
    /// What is done then.
    pub investigatory: Bucket,
}

/// How bad an SXid is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SxidClass {
    /// It is not.
    NonFatal,
    /// To who uses the port, where the driver says so.
    PotentiallyFatal,
    /// To the fabric as a whole.
    AlwaysFatal,
}

/// One SXid, as NVIDIA publishes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sxid {
    /// On which line of its table.
    pub line: u32,
    /// Its number.
    pub code: Code,
    /// NVIDIA's name of it.
    pub name: Box<str>,
    /// How bad it is.
    pub class: SxidClass,
    /// Our rule.
    pub rule: RuleName,
    /// What it comes to.
    pub action: Bucket,
}

/// A code of which we say something else than its vendor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exception {
    /// Whose words.
    pub source: Source,
    /// Which code.
    pub code: Code,
    /// What the vendor publishes.
    pub published: Box<str>,
    /// The rule we follow instead.
    pub rule: RuleName,
    /// Why.
    pub reason: Box<str>,
}

/// All of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    /// Every XID, in order.
    pub xids: Vec<Xid>,
    /// Every cause of XIDs 144 to 150, in order.
    pub nvlink5: Vec<Nvlink5>,
    /// Every SXid, in order.
    pub sxids: Vec<Sxid>,
    /// Where we know better.
    pub exceptions: Vec<Exception>,
    /// What an action comes to, by name.
    pub buckets: Vec<Bucket>,
}

// === impl SxidClass ===

impl SxidClass {
    /// Every class.
    pub const ALL: [Self; 3] = [Self::NonFatal, Self::PotentiallyFatal, Self::AlwaysFatal];

    /// NVIDIA's word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::NonFatal => "non-fatal",
            Self::PotentiallyFatal => "potentially-fatal",
            Self::AlwaysFatal => "always-fatal",
        }
    }
}

// === impl Published ===

impl Published {
    /// The tables that Mainstay comes with.
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

    /// The codes of XIDs that the decode table speaks for.
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
        let decode = Decode::parse(reason, r565, r575, status);
        if decode.is_none() {
            let detail = format!("{reason} {r565} {r575} {status}");
            self.wrong("the pattern cannot be read", &detail, "write it as the head of the table says");
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
            self.wrong("there is no such class", &format!("class is {class:?}"), "one of those the table's head names");
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
            self.wrong("no reason is given", "the last column is empty", "say why we know better");
        }
        Some(Exception {
            source: source?,
            code: code?,
            published: published.into(),
            rule: rule?,
            reason: reason.into(),
        })
    }

    /// `-` is a column left open; the outer nothing is one that could not be read.
    #[expect(clippy::option_option, reason = "left open is not the same as wrong, and both are said here alone")]
    fn or_open<T>(&mut self, text: &str, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        if text == "-" { Some(None) } else { read(self).map(Some) }
    }
}
