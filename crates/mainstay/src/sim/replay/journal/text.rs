//! The result of a replayed journal, as text and as JSON.

use mainstay_kube::{JournalEnd, JournalHeader};
use mainstay_model::{NodeName, Timestamp};
use mainstay_text::{counted, duration, wrapped};
use serde::Serialize;

use super::super::super::summary::COLUMNS;
use super::{Comparison, Difference, Replayed};

/// Differences that the text lists, the earliest first.
const SHOWN_MAX: usize = 20;

/// JSON output of a replayed journal.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report<'a> {
    recorded_by: &'a JournalHeader,
    facts: u64,
    decisions: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_at: Option<String>,
    /// Decisions that differ from the recorded ones.
    differing: u64,
    /// Decisions that differ under the other policy; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    differing_by_policy: Option<u64>,
    gaps: u64,
    lost_entries: u64,
    /// Whether the file ends within a frame.
    end: &'static str,
    differences: Vec<DifferenceLine<'a>>,
    differences_left_out: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DifferenceLine<'a> {
    at: String,
    node: Option<&'a NodeName>,
    recorded: &'a str,
    replayed: &'a str,
    decisions: u64,
}

/// The JSON output.
pub(super) fn report(replayed: &Replayed) -> Report<'_> {
    let comparison = shown(replayed);
    let differences = in_order(comparison).into_iter().map(|(node, one)| DifferenceLine {
        at: moment(one.at),
        node: node.as_ref(),
        recorded: &one.recorded,
        replayed: &one.replayed,
        decisions: one.decisions,
    });
    Report {
        recorded_by: &replayed.header,
        facts: replayed.facts,
        decisions: replayed.decisions,
        first_at: replayed.span.map(|(first, _)| moment(first)),
        last_at: replayed.span.map(|(_, last)| moment(last)),
        differing: replayed.unrepeated.decisions,
        differing_by_policy: replayed.by_policy.as_ref().map(|comparison| comparison.decisions),
        gaps: replayed.gaps,
        lost_entries: replayed.lost,
        end: match replayed.end {
            JournalEnd::Complete => "complete",
            JournalEnd::Cut => "cut",
        },
        differences: differences.collect(),
        differences_left_out: comparison.left_out,
    }
}

/// The text output.
pub(super) fn text(replayed: &Replayed) -> String {
    let span = replayed.span.map_or_else(String::new, |(first, last)| {
        let seconds = last.since(first).0 / 1_000;
        format!(" over {}, from {} to {}", duration(seconds), moment(first), moment(last))
    });
    let what = format!(
        "Replayed {} and {}{span}, recorded by Mainstay {}.",
        counted(replayed.facts, "fact", "facts"),
        counted(replayed.decisions, "decision", "decisions"),
        replayed.header.mainstay
    );
    let mut text = wrapped(&what, COLUMNS, "");
    let mut add = |line: &str| text.push_str(&wrapped(line, COLUMNS, ""));
    notes(replayed).iter().for_each(|note| add(note));
    add(&verdict(replayed));
    let comparison = shown(replayed);
    let all = in_order(comparison);
    for (node, one) in all.iter().take(SHOWN_MAX) {
        let node = node.as_ref().map_or("no node", NodeName::as_str);
        let more = one.decisions.saturating_sub(1);
        let more = if more == 0 { String::new() } else { format!(", and {more} later") };
        text.push_str(&format!("\n{}  {node}{more}\n", moment(one.at)));
        text.push_str(&hung("recorded", &one.recorded));
        text.push_str(&hung("replayed", &one.replayed));
    }
    let rest = u64::try_from(all.len().saturating_sub(SHOWN_MAX)).unwrap_or(u64::MAX);
    if rest + comparison.left_out > 0 {
        text.push_str(&format!("\nNot shown: {} more.\n", counted(rest + comparison.left_out, "node", "nodes")));
    }
    text
}

/// The differences that the caller asked for.
fn shown(replayed: &Replayed) -> &Comparison {
    replayed.by_policy.as_ref().unwrap_or(&replayed.unrepeated)
}

fn in_order(comparison: &Comparison) -> Vec<(&Option<NodeName>, &Difference)> {
    let mut all: Vec<_> = comparison.nodes.iter().collect();
    all.sort_by_key(|(node, one)| (one.at, *node));
    all
}

fn verdict(replayed: &Replayed) -> String {
    let differ = |comparison: &Comparison| {
        let nodes = u64::try_from(comparison.nodes.len()).unwrap_or(u64::MAX);
        format!("{} of {} differ, on {}", comparison.decisions, replayed.decisions, counted(nodes, "node", "nodes"))
    };
    match &replayed.by_policy {
        None if replayed.unrepeated.decisions == 0 => "All decisions are identical.".to_owned(),
        None => format!("DIFFERENT: {}. The first difference of each node:", differ(&replayed.unrepeated)),
        Some(comparison) if comparison.decisions == 0 => "The other policy changes no decision.".to_owned(),
        Some(comparison) => {
            format!("With the other policy, {}. The first difference of each node:", differ(comparison))
        }
    }
}

/// What limits the result.
fn notes(replayed: &Replayed) -> Vec<String> {
    let mut notes = Vec::new();
    if replayed.end == JournalEnd::Cut {
        notes.push("The file is cut: its last entries are missing.".to_owned());
    }
    if replayed.gaps > 0 {
        let gaps = counted(replayed.gaps, "gap", "gaps");
        notes.push(format!("The journal has {gaps} with {} lost entries. A snapshot follows each gap.", replayed.lost));
    }
    let this = JournalHeader::of_this_build();
    if replayed.header.mainstay != this.mainstay {
        notes.push(format!("This is Mainstay {}: a difference may come from the version.", this.mainstay));
    }
    if replayed.header.catalogue != this.catalogue {
        notes.push("The fault catalogue of this version is another one.".to_owned());
    }
    if replayed.by_policy.is_some() && replayed.unrepeated.decisions > 0 {
        let count = replayed.unrepeated.decisions;
        notes.push(format!("{count} recorded decisions differ with the recorded policy already."));
    }
    notes
}

fn hung(label: &str, words: &str) -> String {
    let indent = " ".repeat(12);
    format!("  {label}  {}", wrapped(words, COLUMNS - indent.len(), &indent))
}

fn moment(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.0).map_or_else(|_| format!("{} ms", at.0), |at| at.to_string())
}
