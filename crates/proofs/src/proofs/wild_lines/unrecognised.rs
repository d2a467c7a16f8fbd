//! Proofs of the templates of unknown error lines: how many of the collected excerpts that give no evidence show up, and what
//! a flood of unknown lines costs. It uses the excerpts of `wild-lines`.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use mainstay_agent::sources::lines::{LineReader, Lines};
use mainstay_signal::{Writer, unrecognised};
use xtask::output;

use super::EXCERPTS;
use super::excerpt::{self, Tables};
use crate::prove::{Context, Measurement, Proof};

pub(in super::super) const SHOWN: Proof =
    Proof { name: "unrecognised", run: |_: &Context| Box::pin(async { shown() }) };
pub(in super::super) const COST: Proof =
    Proof { name: "unrecognised-cost", run: |_: &Context| Box::pin(async { cost() }) };

/// Share of fault excerpts that would have a template if no parser knew any line, in thousandths: a new fault is like that.
const ALONE_PERMILLE_MIN: usize = 900;

/// Lines that a node prints in one second.
const LINES_A_SECOND: usize = 1_000;
const SECONDS: i64 = 20;
/// Rounds of the measurement; the fastest of each kind counts, because a busy machine only slows down.
const ROUNDS: usize = 5;

/// The share of fault excerpts without evidence that the report lists as templates.
fn shown() -> anyhow::Result<Measurement> {
    let tables = Tables::read()?;
    let (mut on_node, mut elsewhere, mut harmless) = (Counts::default(), Counts::default(), Counts::default());
    let (mut faults, mut alone) = (0_usize, 0_usize);
    for line in EXCERPTS.lines() {
        let one = excerpt::read(line)?;
        let outcome = excerpt::assess(&one).with_context(|| one.id.clone())?;
        let counts = match (one.is_fault(), tables.is_elsewhere(&one.id)) {
            (true, false) => &mut on_node,
            (true, true) => &mut elsewhere,
            (false, _) => &mut harmless,
        };
        if one.is_fault() {
            faults += 1;
            alone += usize::from(one.lines.iter().any(|line| unrecognised(line, Writer::Unstated, None).is_some()));
        }
        if !outcome.evidence.is_empty() {
            continue;
        }
        counts.silent += 1;
        counts.listed += usize::from(outcome.templates > 0);
        if one.is_fault() && outcome.templates == 0 {
            output::note(format_args!("unrecognised: {} ({}) has neither evidence nor a template", one.id, one.label));
        }
    }
    let (silent, listed) = (on_node.silent + elsewhere.silent, on_node.listed + elsewhere.listed);
    let share = (listed * 1_000).checked_div(silent).unwrap_or(1_000);
    ensure!(
        alone * 1_000 >= faults * ALONE_PERMILLE_MIN,
        "without parsers, {alone} of {faults} faults have a template"
    );
    let detail = format!(
        "faults on the node: {on_node}; faults from elsewhere: {elsewhere}; others: {harmless}; if no parser knew any line, {alone} of {faults} faults would have a template"
    );
    Ok(Measurement { value: i64::try_from(share)?, detail })
}

/// Excerpts without evidence, and those of them with a template.
#[derive(Debug, Default)]
struct Counts {
    silent: usize,
    listed: usize,
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {} without evidence have a template", self.listed, self.silent)
    }
}

/// Time that the agent spends on unknown error lines, compared with lines that are not about hardware.
fn cost() -> anyhow::Result<Measurement> {
    let unknown = |number: usize| format!("newaccel 0000:13:00.0: lane {number} failed with status 0x{number:08x}");
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
