//! The texts of a file that the plain-English rules read, each with its line and kind. This file selects the extractor
//! by path; it judges no word.

use super::{markdown, rust, script, yaml};
use crate::figures::claims;
use crate::workspace::File;

/// The kind of reader a text has, which decides what is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Prose of a Markdown document.
    Document,
    /// Heading of a Markdown document: not a sentence.
    Heading,
    /// Short help of a command or flag.
    Help,
    /// Help shown by `--help` only.
    LongHelp,
    /// Output, error or metric help: a string literal of a shipped crate.
    Message,
    /// Text of the web UI.
    Page,
    /// Claim or note of a proof.
    Claim,
    /// Summary of an alert.
    Alert,
    /// Description of a field of a custom resource or of the HTTP API.
    Field,
    /// Heading of a scenario.
    Scenario,
    /// Comment or rustdoc, read by contributors.
    Comment,
}

/// A piece of text without markup around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Text {
    /// Line in the file where it begins, from 1. Later lines of the text are later lines of the file.
    pub(crate) line: usize,
    pub(crate) kind: Kind,
    pub(crate) text: String,
}

/// Golden transcripts of commands: they show whole sentences that the code puts together from several literals.
const TRANSCRIPTS: &str = "docs/reference/cli.md";

/// The document of the HTTP API.
const HTTP_API: &str = "docs/reference/openapi.json";

/// Every text of a file; empty for files of other types.
pub(crate) fn of_file(file: &File) -> Vec<Text> {
    let (path, Some(text)) = (file.path.as_str(), file.text.as_deref()) else { return Vec::new() };
    if path.starts_with("docs/decisions/") && path.ends_with(".md") {
        return decision_head(text);
    }
    match path.rsplit_once('.') {
        Some((_, "md")) if path == TRANSCRIPTS => markdown::texts(text).into_iter().chain(transcripts(text)).collect(),
        Some((_, "md")) => markdown::texts(text),
        Some((_, "json")) if path == HTTP_API => json_descriptions(text),
        Some((_, "rs")) => rust::texts(path, text),
        Some((stem, "ts" | "tsx")) if path.starts_with("ui/src/") && !stem.ends_with(".test") => script::texts(text),
        Some((_, "txt")) if path.starts_with("scenarios/") => scenario_heading(text),
        Some((_, "txt")) if path.starts_with("deploy/") => lines(text, Kind::Message),
        Some((_, "yaml")) if path.starts_with("deploy/alerts/") => yaml::texts(text, Kind::Alert),
        Some((_, "yaml")) if path.starts_with("deploy/crds/") => yaml::texts(text, Kind::Field),
        _ if path == claims::PATH => claim_lines(text),
        _ => Vec::new(),
    }
}

/// Title and status of a decision record. Its reasoning is history and stays as it was written.
fn decision_head(text: &str) -> Vec<Text> {
    let head: Vec<&str> = text.lines().take_while(|line| !line.starts_with("## ")).collect();
    markdown::texts(&head.join("\n"))
}

/// The comment at the top of a scenario.
fn scenario_heading(text: &str) -> Vec<Text> {
    let lines: Vec<&str> = text.lines().map_while(|line| line.strip_prefix('#')).collect();
    let text = lines.join("\n");
    if text.trim().is_empty() { Vec::new() } else { vec![Text { line: 1, kind: Kind::Scenario, text }] }
}

fn lines(text: &str, kind: Kind) -> Vec<Text> {
    let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
    lines.map(|(text, line)| Text { line, kind, text: text.to_owned() }).collect()
}

/// The output in code blocks, without the commands.
fn transcripts(text: &str) -> Vec<Text> {
    let mut inside = false;
    let mut found = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        if line.starts_with("```") {
            inside = !inside;
        } else if inside && !line.starts_with("$ ") && !line.trim().is_empty() {
            found.push(Text { line: number, kind: Kind::Message, text: line.to_owned() });
        }
    }
    found
}

/// Descriptions and summaries of a formatted JSON document, one line each.
fn json_descriptions(text: &str) -> Vec<Text> {
    let value = |line: &str| {
        let line = line.trim();
        let rest = line.strip_prefix("\"description\": ").or_else(|| line.strip_prefix("\"summary\": "))?;
        Some(rest.trim_end_matches(',').trim_matches('"').replace("\\\"", "\"").replace("\\n", " "))
    };
    let lines = text.lines().zip(1..);
    lines.filter_map(|(line, number)| Some(Text { line: number, kind: Kind::Field, text: value(line)? })).collect()
}

/// Read from the lines, because a parser drops their numbers.
fn claim_lines(text: &str) -> Vec<Text> {
    let value = |line: &str| {
        let rest = line.strip_prefix("claim = ").or_else(|| line.strip_prefix("notes = "))?;
        Some(rest.trim_matches('"').replace("\\\"", "\""))
    };
    let lines = text.lines().zip(1..);
    lines.filter_map(|(line, number)| Some(Text { line: number, kind: Kind::Claim, text: value(line)? })).collect()
}
