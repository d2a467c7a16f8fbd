//! A report held against what was true. Whatever differs is an error that names the first of it.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, ensure};
use serde_json::Value;

/// A finding may be a moment later than the line, and lines of one fault come within the poll of a sensor.
const AFTER_SECONDS: i64 = 5;
const BEFORE_SECONDS: i64 = 400;

/// Findings by which a log shows that a node is a lemon.
const SHOWN_BY: usize = 3;
/// Sound nodes that may be called lemons: one in a thousand node-months.
const NODE_MONTHS_PER_FALSE: u64 = 1_000;

/// Counts of lines by who said them and in which code.
type Counts = BTreeMap<(String, String, String), u64>;

/// One finding: from when to when.
type Span = (i64, i64);

pub(super) fn check(report: &Value, truth: &Value, metrics: &Value) -> anyhow::Result<String> {
    let lines = evidence(report, truth)?;
    let counters = counters(report, metrics)?;
    let spans = spans(report)?;
    let shown = faults(&spans, truth)?;
    let alarms = findings(&spans, truth)?;
    let lemons = lemons(report, truth, &spans)?;
    let tickets = tickets(report, truth)?;
    let findings: usize = spans.values().map(Vec::len).sum();
    Ok(format!(
        "{lines} lines of evidence and {counters} errors of counters, {shown} faults shown by {findings} findings ({alarms} by false alarms), {lemons}; {tickets}"
    ))
}

fn list<'a>(value: &'a Value, name: &str) -> anyhow::Result<&'a Vec<Value>> {
    value[name].as_array().with_context(|| format!("there is no {name}"))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn seconds(value: &Value) -> Option<i64> {
    value.as_str()?.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_second)
}

/// Every line, for its part: a GPU by its serial, an adapter by its slot.
fn evidence(report: &Value, truth: &Value) -> anyhow::Result<u64> {
    let (mut counted, mut printed) = (Counts::new(), Counts::new());
    for part in list(report, "parts")? {
        for said in list(part, "said")? {
            let (who, code) = match said["source"].as_str() {
                Some("Xid") => (&part["serial"], text(&said["code"])),
                Some("Nic") => (&part["slot"], "mlx5".to_owned()),
                Some(_) | None => continue,
            };
            *counted.entry((text(&part["node"]), text(who), code)).or_default() += said["count"].as_u64().unwrap_or(0);
        }
    }
    for said in list(truth, "evidence")? {
        let who = if said["code"] == "mlx5" { &said["slot"] } else { &said["serial"] };
        *printed.entry((text(&said["node"]), text(who), text(&said["code"]))).or_default() +=
            said["count"].as_u64().unwrap_or(0);
    }
    let differs = printed.iter().find(|(key, count)| counted.get(key) != Some(count));
    ensure!(differs.is_none(), "printed {differs:?}, counted {:?}", differs.and_then(|(key, _)| counted.get(key)));
    ensure!(counted.len() == printed.len(), "{} counts where {} were printed", counted.len(), printed.len());
    Ok(printed.values().sum())
}

/// What the exporter counted.
fn counters(report: &Value, metrics: &Value) -> anyhow::Result<u64> {
    let mut counted: BTreeMap<(String, String), u64> = BTreeMap::new();
    for part in list(report, "parts")? {
        for said in list(part, "said")?.iter().filter(|said| said["code"] == "ecc-uncorrected") {
            *counted.entry((text(&part["node"]), text(&part["slot"]))).or_default() +=
                said["count"].as_u64().unwrap_or(0);
        }
    }
    let of_truth = metrics.as_array().context("no truth of counters")?.iter();
    let with_errors = of_truth.filter(|gpu| gpu["uncorrected"].as_u64() > Some(0));
    let true_counts: BTreeMap<(String, String), u64> = with_errors
        .map(|gpu| ((text(&gpu["node"]), text(&gpu["slot"])), gpu["uncorrected"].as_u64().unwrap_or(0)))
        .collect();
    ensure!(!true_counts.is_empty(), "no counter rose in these days: another seed is needed");
    ensure!(counted == true_counts, "counters: {counted:?} where {true_counts:?} is true");
    Ok(true_counts.values().sum())
}

/// Findings by node, from their beginning to their end.
fn spans(report: &Value) -> anyhow::Result<BTreeMap<String, Vec<Span>>> {
    let mut spans: BTreeMap<String, Vec<Span>> = BTreeMap::new();
    for finding in list(report, "findings")? {
        let from = seconds(&finding["foundAt"]).context("a finding without a time")?;
        let to = seconds(&finding["endedAt"]).unwrap_or(i64::MAX);
        spans.entry(text(&finding["node"])).or_default().push((from, to));
    }
    Ok(spans)
}

/// Every printed fault that calls for removal is within a finding of its node.
fn faults(spans: &BTreeMap<String, Vec<Span>>, truth: &Value) -> anyhow::Result<u64> {
    let mut shown = 0;
    for fault in list(truth, "faults")?.iter().filter(|fault| fault["condemns"] == true) {
        let Some(at) = seconds(&fault["printedAt"]) else { continue };
        let of_node = spans.get(&text(&fault["node"])).map_or(&[][..], Vec::as_slice);
        let is_found = of_node.iter().any(|(from, to)| (from - BEFORE_SECONDS..=*to).contains(&at));
        ensure!(is_found, "a fault that the log shows is no finding: {fault}");
        shown += 1;
    }
    Ok(shown)
}

/// Every finding has a fault that was printed behind it, or a false alarm. Answers how many have an alarm alone.
fn findings(spans: &BTreeMap<String, Vec<Span>>, truth: &Value) -> anyhow::Result<u64> {
    let mut printed: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    // A job that fails prints something of its own, and sometimes what looks like hardware: that is the alarm.
    for fault in list(truth, "faults")?.iter().filter(|fault| fault["class"] != "software-and-watchdog") {
        printed.entry(text(&fault["node"])).or_default().extend(seconds(&fault["printedAt"]));
    }
    let mut alarms: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for alarm in list(truth, "alarms")? {
        alarms.entry(text(&alarm[0])).or_default().extend(seconds(&alarm[1]));
    }
    let mut by_alarms = 0;
    for (node, (from, _)) in spans.iter().flat_map(|(node, spans)| spans.iter().map(move |span| (node, span))) {
        let near = |of: &BTreeMap<String, Vec<i64>>| {
            let within = |at: &i64| (from - BEFORE_SECONDS..=from + AFTER_SECONDS).contains(at);
            of.get(node).is_some_and(|moments| moments.iter().any(within))
        };
        let (by_fault, by_alarm) = (near(&printed), near(&alarms));
        ensure!(by_fault || by_alarm, "nothing is behind a finding on {node} at {from}");
        by_alarms += u64::from(!by_fault);
    }
    Ok(by_alarms)
}

fn lemons(report: &Value, truth: &Value, spans: &BTreeMap<String, Vec<Span>>) -> anyhow::Result<String> {
    let named: BTreeSet<String> = list(report, "lemons")?.iter().map(|lemon| text(&lemon["node"])).collect();
    let lemons: BTreeSet<String> = list(truth, "lemons")?.iter().map(text).collect();
    let shown = lemons.iter().filter(|node| spans.get(*node).is_some_and(|spans| spans.len() >= SHOWN_BY));
    let shown: Vec<&String> = shown.collect();
    let missed: Vec<&&String> = shown.iter().filter(|node| !named.contains(**node)).collect();
    ensure!(
        !shown.is_empty() && missed.is_empty(),
        "lemons that the logs show and the report does not name: {missed:?}"
    );
    let falsely = named.difference(&lemons).count();
    let nodes = report["fleet"]["nodes"].as_u64().unwrap_or(0);
    let months = nodes * report["window"]["days"].as_u64().unwrap_or(0) / 30;
    let most = months.div_ceil(NODE_MONTHS_PER_FALSE);
    ensure!(u64::try_from(falsely)? <= most, "{falsely} sound nodes are called lemons; {most} may be");
    let hit = named.intersection(&lemons).count();
    Ok(format!(
        "{hit} of {} lemons named ({} shown by {SHOWN_BY} findings) and {falsely} sound nodes",
        lemons.len(),
        shown.len()
    ))
}

/// Disagreements put into the tickets are reported, and no ticket whose fault the log shows is without a finding.
fn tickets(report: &Value, truth: &Value) -> anyhow::Result<String> {
    let review = &report["tickets"];
    let ids = |name: &str| -> anyhow::Result<BTreeSet<String>> {
        Ok(list(review, name)?.iter().map(|ticket| text(&ticket["id"])).collect())
    };
    let (wrong, without) = (ids("differentCause")?, ids("withoutFinding")?);
    let planted =
        |name: &str| -> anyhow::Result<Vec<String>> { Ok(list(&truth["planted"], name)?.iter().map(text).collect()) };
    for (of, found) in [("wrongCause", &wrong), ("aboutNothing", &without)] {
        let missed: Vec<String> = planted(of)?.into_iter().filter(|id| !found.contains(id)).collect();
        ensure!(missed.is_empty(), "{of} was put into the tickets and is not reported: {missed:?}");
    }
    let shown: Vec<String> = list(truth, "shownTickets")?.iter().map(text).collect();
    let lost: Vec<&String> = shown.iter().filter(|id| without.contains(*id)).collect();
    ensure!(lost.is_empty(), "tickets whose fault the log shows, and no finding: {lost:?}");
    Ok(format!(
        "{} tickets, {} with another cause ({} put there), {} without a finding ({} put there)",
        review["tickets"],
        wrong.len(),
        planted("wrongCause")?.len(),
        without.len(),
        planted("aboutNothing")?.len()
    ))
}
