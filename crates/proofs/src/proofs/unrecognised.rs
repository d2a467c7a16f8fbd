//! Proofs of the templates of unknown error lines: how many of the collected excerpts that give no evidence show up, and what
//! a flood of unknown lines costs. The excerpts and their labels are those of `wild_lines`.

use std::io::Cursor;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use mainstay_agent::sources::lines::{LineReader, Lines};
use mainstay_assess::{Assessment, Log, Zone};
use mainstay_model::{NodeName, Timestamp};
use mainstay_signal::Writer;
use serde::Deserialize;
use serde_json::Value;

use crate::prove::{Context, Measurement, Proof};

pub(super) const SHOWN: Proof = Proof { name: "unrecognised", run: |_: &Context| Box::pin(async { shown() }) };
pub(super) const COST: Proof = Proof { name: "unrecognised-cost", run: |_: &Context| Box::pin(async { cost() }) };

const EXCERPTS: &str = include_str!("wild_lines/excerpts.jsonl");

/// Labels of excerpts that are no fault.
const NO_FAULT: [&str; 2] = ["noise/benign", "unknown"];

/// Excerpts that a detail names; the rest is a number.
const NAMED_MAX: usize = 12;

/// Lines that a node prints in one second.
const LINES_A_SECOND: usize = 1_000;
const SECONDS: i64 = 20;
/// Rounds of the measurement; the fastest of each kind counts, because a busy machine only slows down.
const ROUNDS: usize = 5;

/// What is read of an excerpt.
#[derive(Deserialize)]
struct Excerpt {
    id: String,
    lines: Vec<String>,
    label: String,
}

/// What the assessment of one excerpt shows.
struct Shown {
    evidence: bool,
    template: bool,
}

fn excerpts() -> anyhow::Result<Vec<Excerpt>> {
    let lines = EXCERPTS.lines().filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_str(line).context("an excerpt is not valid")).collect()
}

/// The share of fault excerpts without evidence that the report lists as templates.
fn shown() -> anyhow::Result<Measurement> {
    let (mut faults, mut silent, mut listed, mut calm, mut calm_listed) = (0_u64, 0_u64, 0_u64, 0_u64, 0_u64);
    let mut missed: Vec<String> = Vec::new();
    for excerpt in excerpts()? {
        let shown = assess(&excerpt)?;
        if NO_FAULT.contains(&excerpt.label.as_str()) {
            calm += 1;
            calm_listed += u64::from(shown.template);
            continue;
        }
        faults += 1;
        if shown.evidence {
            continue;
        }
        silent += 1;
        listed += u64::from(shown.template);
        if !shown.template {
            missed.push(excerpt.id);
        }
    }
    let share = if silent == 0 { 1_000 } else { listed * 1_000 / silent };
    let more = missed.len().saturating_sub(NAMED_MAX);
    missed.truncate(NAMED_MAX);
    let detail = format!(
        "{faults} excerpts of faults, {silent} without evidence, {listed} of these as a template; not shown: {} and {more} more; {calm_listed} of {calm} others have a template",
        missed.join(" "),
    );
    Ok(Measurement { value: i64::try_from(share)?, detail })
}

/// Runs the assessment on one excerpt, as `mainstay assess` does with a file of its lines.
fn assess(excerpt: &Excerpt) -> anyhow::Result<Shown> {
    let text = excerpt.lines.join("\n") + "\n";
    let now = Timestamp(1_800_000_000_000);
    let assessment = Assessment {
        logs: vec![Log::Stream { name: excerpt.id.clone(), from: Box::new(Cursor::new(text.into_bytes())) }],
        prometheus: None,
        nodes: None,
        tickets: None,
        cluster: None,
        since: None,
        until: None,
        node: Some(NodeName::parse("n1")?),
        booted: Some(Timestamp(1_700_000_000_000)),
        zone: Zone { offset_minutes: 0, until: now },
        gpus_per_node: 8,
        max_unavailable_percent: 3,
    };
    // Without a line that can be read there is no report: then nothing is shown.
    let Ok(report) = assessment.run(&|_| {}) else { return Ok(Shown { evidence: false, template: false }) };
    let report = serde_json::to_value(&report)?;
    let is_any = |list: &Value| list.as_array().is_some_and(|list| !list.is_empty());
    Ok(Shown { evidence: is_any(&report["evidence"]), template: is_any(&report["unrecognised"]["templates"]) })
}

/// Time that the agent spends on unknown error lines, compared with lines that are not about hardware.
fn cost() -> anyhow::Result<Measurement> {
    let unknown = |number: usize| format!("NVRM: widgetFrob_GH100: lane {number} failed with status 0x{number:08x}");
    let other =
        |number: usize| format!("usb 1-{}: new high-speed USB device number {number} using xhci_hcd", number % 9);
    let unknown: Vec<String> = (0..LINES_A_SECOND).map(unknown).collect();
    let other: Vec<String> = (0..LINES_A_SECOND).map(other).collect();
    let (mut unknown_least, mut other_least) = (Duration::MAX, Duration::MAX);
    let mut made = 0;
    for _ in 0..ROUNDS {
        let (took, templates) = read(&unknown);
        unknown_least = unknown_least.min(took);
        made = templates;
        other_least = other_least.min(read(&other).0);
    }
    let percent = unknown_least.as_micros() * 100 / other_least.as_micros().max(1);
    let a_second = |took: Duration| took.as_micros() / u128::try_from(SECONDS).unwrap_or(1);
    let detail = format!(
        "{LINES_A_SECOND} lines a second for {SECONDS} s: {} µs a second for unknown lines, {} µs for others; {made} templates made",
        a_second(unknown_least),
        a_second(other_least),
    );
    Ok(Measurement { value: i64::try_from(percent)?, detail })
}

/// Reads the lines once for each second, as the agent's kernel log source does; returns the time and the templates made.
fn read(lines: &[String]) -> (Duration, usize) {
    let (mut reader, mut found) = (LineReader::default(), Lines::default());
    let begun = Instant::now();
    for second in 0..SECONDS {
        for line in lines {
            reader.read(line, Writer::Kernel, Some(4), second * 1_000, &mut found);
        }
    }
    (begun.elapsed(), found.unrecognised.len())
}
