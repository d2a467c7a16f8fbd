//! Parses the rows of a table, one line each, and reports every problem of a line. `check.rs` checks that the rows fit
//! together.

use std::fmt::Debug;

use mainstay_model::{Bounded, Code, RepairStep, Response, RuleName, Source, Urgency};

use super::bucket::{Bucket, Buckets};
use super::{DetailCondition, EvidenceCondition, Row, Threshold};
use crate::arrivals::HOURS;

const COLUMNS: [&str; 8] = ["source", "code", "when", "with", "count", "rule", "bucket", "fact"];

const SOURCES: [Source; 11] = [
    Source::Xid,
    Source::Sxid,
    Source::PcieAer,
    Source::Nic,
    Source::Kernel,
    Source::Nvml,
    Source::Inventory,
    Source::External,
    Source::Driver,
    Source::Service,
    Source::Unrecognised,
];
const RESPONSES: [Response; 3] = [Response::Note, Response::Watch, Response::Remove];
const URGENCIES: [Urgency; 3] = [Urgency::Now, Urgency::Minutes, Urgency::NextCheckpoint];
const RUNGS: [RepairStep; 6] = [
    RepairStep::Capture,
    RepairStep::RestartService,
    RepairStep::ResetGpu,
    RepairStep::Reboot,
    RepairStep::PowerCycle,
    RepairStep::Replace,
];

/// One problem of a catalogue, with a hint.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[error("{table} line {line}: {what}\n  detail: {detail}\n  hint:   {hint}")]
pub struct Problem {
    /// The table with the problem.
    pub table: &'static str,
    /// Line number, from 1; 0 if no single line is wrong.
    pub line: u32,
    /// A short description of the problem.
    pub what: String,
    /// The value that was found.
    pub detail: String,
    /// How to fix the problem.
    pub hint: String,
}

/// A row with its position in the file. It gets its rank when all tables are combined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Draft {
    pub(super) table: &'static str,
    pub(super) line: u32,
    pub(super) row: Row,
}

/// Returns the lines of a table that are rows, with their numbers.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (u32, &str)> {
    (1_u32..).zip(text.lines()).filter(|(_, text)| !text.is_empty() && !text.starts_with('#'))
}

/// Parses the rows of a table with the columns of `catalogue.tsv`.
pub(super) fn rows(table: &'static str, text: &str, buckets: &Buckets, problems: &mut Vec<Problem>) -> Vec<Draft> {
    let read = lines(text).filter_map(|(line, text)| {
        let row = Reader::new(table, line, problems).row(text, buckets)?;
        Some(Draft { table, line, row })
    });
    read.collect()
}

/// Parses one line and collects all its problems, so that the author can fix them together.
pub(super) struct Reader<'a> {
    table: &'static str,
    line: u32,
    problems: &'a mut Vec<Problem>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(table: &'static str, line: u32, problems: &'a mut Vec<Problem>) -> Self {
        Self { table, line, problems }
    }

    pub(super) fn wrong(&mut self, what: &str, detail: &str, hint: &str) {
        let (what, detail, hint) = (what.to_owned(), detail.to_owned(), hint.to_owned());
        self.problems.push(Problem { table: self.table, line: self.line, what, detail, hint });
    }

    /// Returns the columns of a line if it has the right number of them.
    pub(super) fn columns<'t, const N: usize>(&mut self, text: &'t str, names: [&str; N]) -> Option<[&'t str; N]> {
        let columns: Vec<&str> = text.split('\t').collect();
        let found = columns.len();
        let columns = <[&str; N]>::try_from(columns).ok();
        if columns.is_none() {
            let detail = format!("{found} columns where {N} are needed");
            self.wrong("the row is not complete", &detail, &format!("separate by one tab each: {}", names.join(", ")));
        }
        columns
    }

    fn row(&mut self, text: &str, buckets: &Buckets) -> Option<Row> {
        let [source, code, when, with, count, rule, bucket, fact] = self.columns(text, COLUMNS)?;
        // Parse every column before returning, so that all problems are reported.
        let source = self.source(source);
        let code = self.code(code);
        let when = self.when(when);
        let with = self.with(with);
        let threshold = self.threshold(count);
        let rule = self.rule(rule);
        let bucket = self.bucket(bucket, buckets);
        if fact.trim().is_empty() {
            self.wrong(
                "the source of the fact is missing",
                "the last column is empty",
                "name the source of the fact; \"Mainstay\" for our own judgement",
            );
        }
        let mut row = Row::answering(rule?, bucket?, fact);
        (row.source, row.code, row.when, row.with) = (source?, code?, when?, with?);
        row.threshold = threshold?;
        Some(row)
    }

    /// Returns a bucket by its name.
    pub(super) fn bucket<'b>(&mut self, name: &str, buckets: &'b Buckets) -> Option<&'b Bucket> {
        let found = buckets.get(name);
        if found.is_none() {
            self.wrong("the bucket is unknown", &format!("bucket is {name:?}"), "name a row of buckets.tsv");
        }
        found
    }

    pub(super) fn response(&mut self, text: &str) -> Option<Response> {
        self.word("response", text, &RESPONSES)
    }

    pub(super) fn urgency(&mut self, text: &str) -> Option<Urgency> {
        self.word("urgency", text, &URGENCIES)
    }

    pub(super) fn known_source(&mut self, text: &str) -> Option<Source> {
        self.word("source", text, &SOURCES)
    }

    fn source(&mut self, text: &str) -> Option<Option<Source>> {
        if text == "*" { Some(None) } else { self.known_source(text).map(Some) }
    }

    fn code(&mut self, text: &str) -> Option<Option<Code>> {
        if text == "*" { Some(None) } else { self.one_code(text).map(Some) }
    }

    pub(super) fn one_code(&mut self, text: &str) -> Option<Code> {
        let read = Code::parse(text);
        read.map_err(|why| self.wrong("the code cannot be read", &why.to_string(), "write it as its source does")).ok()
    }

    fn when(&mut self, text: &str) -> Option<DetailCondition> {
        let read = DetailCondition::parse(text);
        if read.is_none() {
            self.wrong(
                "the condition cannot be read",
                &format!("when is {text:?}"),
                "write -, each, word TEXT, the whole detail, or bits as any r0:8,9 r2:13 (registers 0 to 6, bits 0 to 31)",
            );
        }
        read
    }

    fn with(&mut self, text: &str) -> Option<EvidenceCondition> {
        match text {
            "-" => Some(EvidenceCondition::Whatever),
            "other" => Some(EvidenceCondition::Other),
            codes => {
                let read: Vec<Option<Code>> = codes.split('|').map(|code| self.one_code(code)).collect();
                read.into_iter().collect::<Option<Vec<Code>>>().map(EvidenceCondition::Codes)
            }
        }
    }

    fn threshold(&mut self, text: &str) -> Option<Threshold> {
        let read = text
            .split_once('/')
            .and_then(|(count, hours)| Some(Threshold { count: count.parse().ok()?, hours: hours.parse().ok()? }));
        let read = read.filter(|read| read.count > 0 && (1..=HOURS).contains(&read.hours));
        if read.is_none() {
            let hint = format!("write a count of at least 1 and a number of hours from 1 to {HOURS}: 3/24");
            self.wrong("the threshold cannot be read", &format!("count is {text:?}"), &hint);
        }
        read
    }

    pub(super) fn rule(&mut self, text: &str) -> Option<RuleName> {
        let kebab = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let read = RuleName::parse(text).ok().filter(|_| text.bytes().all(kebab));
        if read.is_none() {
            self.wrong(
                "the rule name is invalid",
                &format!("rule is {text:?}"),
                "use lower-case letters, digits and dashes: it is also a metric label and a heading",
            );
        }
        read
    }

    pub(super) fn rungs(&mut self, text: &str, response: Option<Response>) -> Option<Bounded<RepairStep, 8>> {
        let read: Option<Vec<RepairStep>> = match text {
            "-" => Some(Vec::new()),
            words => {
                let each: Vec<Option<RepairStep>> =
                    words.split('>').map(|word| self.word("rungs", word, &RUNGS)).collect();
                each.into_iter().collect()
            }
        };
        let rungs = read?;
        let rising = rungs.is_sorted_by(|a, b| a < b);
        let what = match response? {
            Response::Remove if rungs.first() != Some(&RepairStep::Capture) => {
                "the repair plan does not begin with Capture"
            }
            Response::Remove if !rising => "the repair plan is not sorted from least to most disruptive",
            Response::Note | Response::Watch if !rungs.is_empty() => {
                "a row that does not remove the node has a repair plan"
            }
            Response::Note | Response::Watch | Response::Remove => return Bounded::try_from(rungs).ok(),
        };
        self.wrong(
            what,
            &format!("the plan is {text:?}"),
            "put Capture first, because later steps destroy data that the vendor asks for; write - without a plan",
        );
        None
    }

    fn word<T: Copy + Debug>(&mut self, column: &str, text: &str, all: &[T]) -> Option<T> {
        let found = all.iter().copied().find(|one| format!("{one:?}") == text);
        if found.is_none() {
            let words: Vec<String> = all.iter().map(|one| format!("{one:?}")).collect();
            let (what, detail) = (format!("{column} has an unknown value"), format!("{column} is {text:?}"));
            self.wrong(&what, &detail, &format!("one of {}", words.join(", ")));
        }
        found
    }
}
