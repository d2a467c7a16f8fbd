//! The plain-English rules: no banned word in text that users read, fewer and fewer of them in comments, sentences that are
//! short, and help of at most 12 words. What a text is, is decided in `text.rs`; which words are banned, in
//! `banned_words.tsv`.

pub(crate) mod banned_words;
pub(crate) mod limits;
mod markdown;
mod rust;
mod script;
pub(crate) mod sentence;
#[cfg(test)]
mod tests;
pub(crate) mod text;
mod yaml;

use std::collections::BTreeMap;

use anyhow::Context;

use self::banned_words::{BannedWords, Hit};
use self::limits::Limits;
use self::text::{Kind, Text};
use crate::output;
use crate::problem::Problem;
use crate::workspace::{File, Workspace};

/// The 90th percentile of the sentence lengths of a document.
const SENTENCE_P90_MAX: usize = 30;
/// Shorter texts, such as most table cells, are no sentences.
const SENTENCE_WORDS_MIN: usize = 4;
const HELP_WORDS_MAX: usize = 12;
const CHANGELOG: &str = "changelog.d/";
/// Longest sentences shown for a document that is over the limit.
const LONGEST_SHOWN: usize = 5;

/// What the rules found, by file.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) problems: Vec<Problem>,
    files: BTreeMap<String, Counts>,
    /// Length and place of every sentence, by document.
    sentences: BTreeMap<String, Vec<(usize, String)>>,
}

/// One row of the summary.
#[derive(Debug, Default)]
struct Counts {
    banned: usize,
    p90: Option<usize>,
    long_help: usize,
    comments: usize,
    limit: usize,
}

impl Counts {
    fn is_clean(&self) -> bool {
        self.banned == 0 && self.long_help == 0 && self.comments == self.limit && self.p90.is_none()
    }
}

/// Applies the rules to every file. A workspace without the list of banned words has nothing to apply.
pub(crate) fn report(workspace: &Workspace) -> Report {
    let Some(list) = workspace.text(banned_words::PATH) else { return Report::default() };
    let (banned, limits) = match (BannedWords::parse(list), limits::read(workspace)) {
        (Ok(banned), Ok(limits)) => (banned, limits),
        (Err(error), _) | (_, Err(error)) => {
            let hint = "correct the file; its head explains the columns.".to_owned();
            let what = format!("{error}");
            let problems = vec![Problem { code: "PLAIN00", what, detail: format!("{error:#}."), hint }];
            return Report { problems, ..Report::default() };
        }
    };
    let mut report = Report::default();
    for file in &workspace.files {
        report.file(file, &banned, limits.get(&file.path).copied().unwrap_or_default());
    }
    for path in limits.keys().filter(|path| workspace.text(path).is_none()) {
        report.problems.push(below(path, 0, limits.get(path).copied().unwrap_or_default()));
    }
    report.judge_sentences();
    report
}

/// The fragments of the changelog are one document; each other file is its own.
fn document_of(path: &str) -> &str {
    if path.starts_with(CHANGELOG) { CHANGELOG } else { path }
}

impl Report {
    fn file(&mut self, file: &File, banned: &BannedWords, limit: usize) {
        let texts = text::of_file(file);
        let mut counts = Counts { limit, ..Counts::default() };
        let mut in_comments = Vec::new();
        for text in &texts {
            let hits = banned.hits(&file.path, &text.text);
            let places = hits.into_iter().map(|hit| (text.line + hit.line, hit));
            if text.kind == Kind::Comment {
                in_comments.extend(places);
            } else {
                counts.banned += places.len();
                self.problems.extend(places.map(|(line, hit)| banned_word(&file.path, line, &hit)));
            }
            let words = sentence::words(&text.text);
            if text.kind == Kind::Help && words > HELP_WORDS_MAX {
                counts.long_help += 1;
                self.problems.push(long_help(&file.path, text, words));
            }
        }
        counts.comments = in_comments.len();
        if counts.comments > limit {
            self.problems.push(above(&file.path, &in_comments, limit));
        } else if counts.comments < limit {
            self.problems.push(below(&file.path, counts.comments, limit));
        }
        let documents = texts.iter().filter(|text| text.kind == Kind::Document);
        for (line, one) in documents.flat_map(lines_and_sentences) {
            let words = sentence::words(&one);
            if words >= SENTENCE_WORDS_MIN {
                let of_document = self.sentences.entry(document_of(&file.path).to_owned()).or_default();
                of_document.push((words, format!("{}:{line}", file.path)));
            }
        }
        if !counts.is_clean() {
            self.files.insert(file.path.clone(), counts);
        }
    }

    fn judge_sentences(&mut self) {
        for (document, mut sentences) in std::mem::take(&mut self.sentences) {
            let p90 = sentence::p90(sentences.iter().map(|(words, _)| *words).collect());
            if p90 > SENTENCE_P90_MAX {
                sentences.sort_unstable_by(|a, b| b.cmp(a));
                self.problems.push(long_sentences(&document, p90, &sentences));
                self.files.entry(document).or_default().p90 = Some(p90);
            }
        }
    }

    /// Prints a row per file with something to correct, and the sums.
    pub(crate) fn print_summary(&self) {
        if self.files.is_empty() {
            return;
        }
        output::note(format_args!(
            "{:<60} {:>6} {:>5} {:>9} {:>8} {:>6}",
            "plain-english", "banned", "p90", "long help", "comments", "limit"
        ));
        let mut sum = Counts::default();
        for (path, counts) in &self.files {
            let p90 = counts.p90.map_or("-".to_owned(), |p90| p90.to_string());
            let Counts { banned, long_help, comments, limit, .. } = counts;
            output::note(format_args!("{path:<60} {banned:>6} {p90:>5} {long_help:>9} {comments:>8} {limit:>6}"));
            sum.banned += banned;
            sum.long_help += long_help;
            sum.comments += comments;
            sum.limit += limit;
        }
        let over = self.files.values().filter(|counts| counts.p90.is_some()).count();
        output::note(format_args!(
            "{:<60} {:>6} {over:>5} {:>9} {:>8} {:>6}",
            "sum (p90: documents above the limit)", sum.banned, sum.long_help, sum.comments, sum.limit
        ));
    }
}

/// Lowers the limits of comments to what is there now. The first run writes the list.
pub(crate) fn lower_limits(workspace: &Workspace) -> anyhow::Result<()> {
    let Some(list) = workspace.text(banned_words::PATH) else { return Ok(()) };
    let banned = BannedWords::parse(list)?;
    let mut counts = Limits::new();
    for file in &workspace.files {
        let comments = text::of_file(file).into_iter().filter(|text| text.kind == Kind::Comment);
        let count: usize = comments.map(|text| banned.hits(&file.path, &text.text).len()).sum();
        if count > 0 {
            counts.insert(file.path.clone(), count);
        }
    }
    let limits = match workspace.text(limits::PATH) {
        Some(known) => limits::lowered(&limits::parse(known)?, &counts),
        None => counts,
    };
    let text = limits::render(&limits);
    if workspace.text(limits::PATH) != Some(text.as_str()) {
        std::fs::write(workspace.root.join(limits::PATH), text)
            .with_context(|| format!("cannot write {}", limits::PATH))?;
        output::note(format_args!("tidy: wrote {}", limits::PATH));
    }
    Ok(())
}

fn banned_word(path: &str, line: usize, hit: &Hit) -> Problem {
    Problem {
        code: "PLAIN01",
        what: format!("{path}:{line} uses \"{}\"", hit.word),
        detail: "users read this text.".to_owned(),
        hint: format!("write: {}.", hit.replacement),
    }
}

fn above(path: &str, hits: &[(usize, Hit)], limit: usize) -> Problem {
    let words: Vec<String> = hits.iter().map(|(line, hit)| format!("{line} \"{}\"", hit.word)).collect();
    Problem {
        code: "PLAIN02",
        what: format!("{path} has {} banned words in comments, limit {limit}", hits.len()),
        detail: format!("lines: {}.", words.join(", ")),
        hint: format!("reword them; {} has the replacements.", banned_words::PATH),
    }
}

fn below(path: &str, count: usize, limit: usize) -> Problem {
    Problem {
        code: "PLAIN03",
        what: format!("{path} has {count} banned words in comments, below its limit {limit}"),
        detail: "a limit only falls, so that what was corrected stays corrected.".to_owned(),
        hint: "run `cargo xtask tidy --fix`, which lowers it.".to_owned(),
    }
}

fn long_help(path: &str, text: &Text, words: usize) -> Problem {
    Problem {
        code: "PLAIN05",
        what: format!("{path}:{} has help of {words} words", text.line),
        detail: format!("\"{}\"", text.text.split_whitespace().collect::<Vec<_>>().join(" ")),
        hint: format!("shorten it to {HELP_WORDS_MAX} words; put the rest after an empty doc line."),
    }
}

fn lines_and_sentences(text: &Text) -> impl Iterator<Item = (usize, String)> {
    let begin = text.line;
    sentence::sentences(&text.text).into_iter().map(move |(line, one)| (begin + line, one))
}

fn long_sentences(document: &str, p90: usize, longest_first: &[(usize, String)]) -> Problem {
    let longest = longest_first.iter().take(LONGEST_SHOWN).map(|(words, place)| format!("{words} words at {place}"));
    Problem {
        code: "PLAIN04",
        what: format!("{document} has long sentences: 90th percentile {p90} words, limit {SENTENCE_P90_MAX}"),
        detail: format!("the longest: {}.", longest.collect::<Vec<_>>().join(", ")),
        hint: "one idea a sentence; a row of conditions is a list.".to_owned(),
    }
}
