//! Reads the rows of a catalogue, one line each, and says everything that is wrong with a line. Whether the rows fit
//! together is `check.rs`.

use std::fmt::Debug;

use mainstay_model::{Bounded, Code, Response, RuleName, Rung, Source, Urgency};

use super::{Row, Threshold, When, With};
use crate::arrivals::HOURS;

const COLUMNS: [&str; 10] = ["source", "code", "when", "with", "count", "rule", "response", "urgency", "rungs", "fact"];

const SOURCES: [Source; 9] = [
    Source::Xid,
    Source::Sxid,
    Source::PcieAer,
    Source::Nic,
    Source::Kernel,
    Source::Nvml,
    Source::Dcgm,
    Source::Inventory,
    Source::External,
];
const RESPONSES: [Response; 3] = [Response::Note, Response::Watch, Response::Remove];
const URGENCIES: [Urgency; 3] = [Urgency::Now, Urgency::Minutes, Urgency::NextCheckpoint];
const RUNGS: [Rung; 6] =
    [Rung::Capture, Rung::RestartService, Rung::ResetGpu, Rung::Reboot, Rung::PowerCycle, Rung::Replace];

/// Something wrong with a catalogue.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[error("line {line}: {what}\n  detail: {detail}\n  hint:   {hint}")]
pub struct Problem {
    /// On which line, from 1; 0 where no one line is at fault.
    pub line: u32,
    /// What is wrong.
    pub what: String,
    /// What was found.
    pub detail: String,
    /// What to do.
    pub hint: String,
}

/// The rows with their lines, and the problems of the lines that are none.
pub(super) fn rows(text: &str) -> (Vec<(u32, Row)>, Vec<Problem>) {
    let mut rows = Vec::new();
    let mut problems = Vec::new();
    for (line, text) in (1_u32..).zip(text.lines()) {
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let mut reader = Reader { line, problems: &mut problems };
        match u16::try_from(rows.len()) {
            Ok(rank) => rows.extend(reader.row(rank, text).map(|row| (line, row))),
            Err(_) => reader.wrong("too many rows", "a rank has 16 bits", "split the catalogue"),
        }
    }
    (rows, problems)
}

/// One line being read; what is wrong is collected, so that a line is mended in one go.
struct Reader<'a> {
    line: u32,
    problems: &'a mut Vec<Problem>,
}

impl Reader<'_> {
    fn wrong(&mut self, what: &str, detail: &str, hint: &str) {
        let (what, detail, hint) = (what.to_owned(), detail.to_owned(), hint.to_owned());
        self.problems.push(Problem { line: self.line, what, detail, hint });
    }

    fn row(&mut self, rank: u16, text: &str) -> Option<Row> {
        let columns: Vec<&str> = text.split('\t').collect();
        let &[source, code, when, with, count, rule, response, urgency, rungs, fact] = columns.as_slice() else {
            let detail = format!("{} columns where {} are needed", columns.len(), COLUMNS.len());
            self.wrong(
                "the row is not complete",
                &detail,
                &format!("separate by one tab each: {}", COLUMNS.join(", ")),
            );
            return None;
        };
        // Every column is read before any is missed.
        let source = self.source(source);
        let code = self.code(code);
        let when = self.when(when);
        let with = self.with(with);
        let threshold = self.threshold(count);
        let rule = self.rule(rule);
        let response = self.word("response", response, &RESPONSES);
        let urgency = self.word("urgency", urgency, &URGENCIES);
        let rungs = self.rungs(rungs, response);
        if fact.trim().is_empty() {
            self.wrong("no fact is named", "the last column is empty", "say who says so; \"ours\" where we do");
        }
        Some(Row {
            rank,
            source: source?,
            code: code?,
            when: when?,
            with: with?,
            threshold: threshold?,
            rule: rule?,
            response: response?,
            urgency: urgency?,
            rungs: rungs?,
            fact: fact.into(),
        })
    }

    fn source(&mut self, text: &str) -> Option<Option<Source>> {
        if text == "*" { Some(None) } else { self.word("source", text, &SOURCES).map(Some) }
    }

    fn code(&mut self, text: &str) -> Option<Option<Code>> {
        if text == "*" { Some(None) } else { self.one_code(text).map(Some) }
    }

    fn one_code(&mut self, text: &str) -> Option<Code> {
        let read = Code::parse(text);
        read.map_err(|why| self.wrong("the code cannot be read", &why.to_string(), "write it as its source does")).ok()
    }

    fn when(&mut self, text: &str) -> Option<When> {
        let read = When::parse(text);
        if read.is_none() {
            self.wrong(
                "the condition cannot be read",
                &format!("when is {text:?}"),
                "write -, the whole detail, or bits as any r0:8,9 r2:13 (registers 0 to 6, bits 0 to 31)",
            );
        }
        read
    }

    fn with(&mut self, text: &str) -> Option<With> {
        match text {
            "-" => Some(With::Whatever),
            "other" => Some(With::Other),
            codes => {
                let read: Vec<Option<Code>> = codes.split('|').map(|code| self.one_code(code)).collect();
                read.into_iter().collect::<Option<Vec<Code>>>().map(With::Codes)
            }
        }
    }

    fn threshold(&mut self, text: &str) -> Option<Threshold> {
        let read = text
            .split_once('/')
            .and_then(|(count, hours)| Some(Threshold { count: count.parse().ok()?, hours: hours.parse().ok()? }));
        let read = read.filter(|read| read.count > 0 && (1..=HOURS).contains(&read.hours));
        if read.is_none() {
            let hint = format!("write how often, 1 or more, in how many hours, 1 to {HOURS}: 3/24");
            self.wrong("the threshold cannot be read", &format!("count is {text:?}"), &hint);
        }
        read
    }

    fn rule(&mut self, text: &str) -> Option<RuleName> {
        let kebab = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let read = RuleName::parse(text).ok().filter(|_| text.bytes().all(kebab));
        if read.is_none() {
            self.wrong(
                "the rule's name cannot be taken",
                &format!("rule is {text:?}"),
                "use lower-case letters, digits and dashes: it is also a metric label and a heading",
            );
        }
        read
    }

    fn rungs(&mut self, text: &str, response: Option<Response>) -> Option<Bounded<Rung, 8>> {
        let read: Option<Vec<Rung>> = match text {
            "-" => Some(Vec::new()),
            words => {
                let each: Vec<Option<Rung>> = words.split('>').map(|word| self.word("rungs", word, &RUNGS)).collect();
                each.into_iter().collect()
            }
        };
        let rungs = read?;
        let rising = rungs.is_sorted_by(|a, b| a < b);
        let what = match response? {
            Response::Remove if rungs.first() != Some(&Rung::Capture) => "the ladder does not begin with Capture",
            Response::Remove if !rising => "the ladder does not go from gentle to harsh",
            Response::Note | Response::Watch if !rungs.is_empty() => "a row that removes nothing has a ladder",
            Response::Note | Response::Watch | Response::Remove => return Bounded::try_from(rungs).ok(),
        };
        self.wrong(
            what,
            &format!("rungs is {text:?}"),
            "Capture comes first, because what follows destroys what the vendor asks for; write - where nothing is tried",
        );
        None
    }

    fn word<T: Copy + Debug>(&mut self, column: &str, text: &str, all: &[T]) -> Option<T> {
        let found = all.iter().copied().find(|one| format!("{one:?}") == text);
        if found.is_none() {
            let words: Vec<String> = all.iter().map(|one| format!("{one:?}")).collect();
            let (what, detail) = (format!("{column} is not a word we know"), format!("{column} is {text:?}"));
            self.wrong(&what, &detail, &format!("one of {}", words.join(", ")));
        }
        found
    }
}
