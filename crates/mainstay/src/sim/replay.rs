//! `mainstay sim replay`: a controller's journal again, or one fault-injection seed again, and the property that it violates, minimised to the injected
//! faults that matter. The run itself is in `mainstay-sim`; here it is printed, with the command that repeats it.

mod journal;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;
#[cfg(feature = "developer")]
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use mainstay_engine::Guard;
use mainstay_sim::{CALM_WITHIN, PropertyViolation, STORM, STORM_NODES, SeedResult, SeedRun, shrink, timeline};
use mainstay_text::{counted, duration, thousands, wrapped};
use serde::Serialize;

use super::progress::MinimiseProgress;
use super::summary::COLUMNS;
use super::{Format, Output};
use crate::output::{self, CommandOutput, Problem};

/// A seed, or a journal.
#[derive(Args)]
pub(crate) struct Replay {
    /// Random seed
    #[arg(long, required_unless_present = "journal", conflicts_with = "journal")]
    seed: Option<u64>,
    /// Journal file of a controller, to replay instead of a seed
    #[arg(long, value_name = "FILE", conflicts_with_all = ["only_faults", "whole"])]
    journal: Option<PathBuf>,
    /// FleetPolicies to replay the journal with, YAML
    #[arg(long, value_name = "FILE", requires = "journal")]
    policy: Option<PathBuf>,
    /// Injected faults to keep, comma-separated numbers
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', conflicts_with = "whole")]
    only_faults: Vec<usize>,
    /// Safety rule to disable, to verify that a check fails without it
    #[cfg(feature = "developer")]
    #[arg(long, hide = true, value_name = "RULE", value_parser = rules().try_map(|word| guard(&word)))]
    disable_rule: Option<Guard>,
    /// Keep all faults if a check fails
    #[arg(long)]
    whole: bool,
    #[command(flatten)]
    format: Format,
}

/// JSON output of one replayed seed, with the command that repeats it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReplayReport<'a> {
    #[serde(flatten)]
    weathered: &'a SeedResult,
    /// The rule that was off.
    without: Option<&'static str>,
    /// The troubles that were played, by number; all of them where absent.
    keep: Option<&'a [usize]>,
    broken: Vec<ViolationLine<'a>>,
    command: String,
}

/// One violated property, with its time since the start of the run.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ViolationLine<'a> {
    /// Since the storm began.
    at_milliseconds: i64,
    promise: &'a str,
    what: &'a str,
}

#[cfg(feature = "developer")]
fn rules() -> PossibleValuesParser {
    PossibleValuesParser::new(Guard::ALL.map(Guard::name))
}

#[cfg(feature = "developer")]
fn guard(word: &str) -> Result<Guard, String> {
    let found = Guard::ALL.into_iter().find(|guard| guard.name() == word);
    found.ok_or_else(|| format!("allowed: {}", Guard::ALL.map(Guard::name).join(", ")))
}

pub(super) fn run(asked: &Replay) -> Result<CommandOutput, Problem> {
    match &asked.journal {
        Some(file) => journal::run(file, asked.policy.as_deref(), asked.format.output),
        None => run_seed(asked, asked.seed.unwrap_or_default()),
    }
}

fn run_seed(asked: &Replay, seed: u64) -> Result<CommandOutput, Problem> {
    let keep: BTreeSet<usize> = asked.only_faults.iter().copied().collect();
    let keep = (!keep.is_empty()).then(|| keep.into_iter().collect::<Vec<_>>());
    let storm = SeedRun::of(seed).keeping(keep);
    #[cfg(feature = "developer")]
    let storm = match asked.disable_rule {
        Some(guard) => storm.without(guard),
        None => storm,
    };
    let mut storm = storm;
    let tries = MinimiseProgress::new(&name(&storm));
    let mut weathered = storm.weather();
    all_are_there(&storm, &weathered)?;
    let wants_less = !weathered.broken.is_empty() && storm.keep.is_none() && !asked.whole;
    if wants_less && let Some(shrunk) = shrink(&storm, &mut |count| tries.count(count)) {
        storm = shrunk.storm;
        weathered = storm.weather();
    }
    tries.finish();
    let text = match asked.format.output {
        Output::Json => json(&storm, &weathered)?,
        Output::Text => match weathered.broken.first() {
            None => calm(&storm, &weathered),
            Some(first) => broken(&storm, &weathered, first),
        },
    };
    Ok(if weathered.broken.is_empty() { CommandOutput::success(text) } else { CommandOutput::check_failed(text) })
}

/// A number that no trouble has would be left out in silence.
fn all_are_there(storm: &SeedRun, weathered: &SeedResult) -> Result<(), Problem> {
    let kept = storm.keep.as_ref().map_or(weathered.troubles, |keep| u64::try_from(keep.len()).unwrap_or(u64::MAX));
    if kept == weathered.troubles {
        return Ok(());
    }
    Err(Problem {
        what: format!("seed {} does not have all of these faults", storm.seed),
        detail: format!("{} requested, {} found.", counted(kept, "fault", "faults"), weathered.troubles),
        hint: format!("numbers start at 0; `mainstay sim replay --seed {}` prints how many there are", storm.seed),
    })
}

fn name(storm: &SeedRun) -> String {
    let without = storm.disabled().map_or_else(String::new, |guard| format!(" without rule {}", guard.name()));
    format!("seed {}{without}", storm.seed)
}

/// The command that plays exactly these troubles again.
fn command(storm: &SeedRun, weathered: &SeedResult) -> String {
    let mut command = format!("mainstay sim replay --seed {}", storm.seed);
    match &storm.keep {
        Some(keep) => {
            let keep: Vec<String> = keep.iter().map(usize::to_string).collect();
            command.push_str(&format!(" --only-faults {}", keep.join(",")));
        }
        None if weathered.broken.is_empty() => {}
        None => command.push_str(" --whole"),
    }
    if let Some(guard) = storm.disabled() {
        command.push_str(&format!(" --disable-rule {}", guard.name()));
    }
    command
}

fn json(storm: &SeedRun, weathered: &SeedResult) -> Result<String, Problem> {
    let broken = weathered.broken.iter();
    output::json(&ReplayReport {
        weathered,
        without: storm.disabled().map(Guard::name),
        keep: storm.keep.as_deref(),
        broken: broken
            .map(|PropertyViolation { at, promise, what }| ViolationLine { at_milliseconds: at.0, promise, what })
            .collect(),
        command: command(storm, weathered),
    })
}

/// What there is to say of a storm in which nothing broke.
fn calm(storm: &SeedRun, weathered: &SeedResult) -> String {
    let calm = weathered.calm_after_seconds.map_or_else(String::new, |seconds| {
        let within = CALM_WITHIN.0 / 1_000;
        format!(
            " In the recovery phase every node was back in service and no wait was left after {} (limit {}).",
            duration(seconds),
            duration(within)
        )
    });
    let longest = weathered.longest_wait_seconds.iter().max_by_key(|(_, seconds)| **seconds);
    let longest = longest.map_or_else(String::new, |(on, seconds)| {
        format!(" Longest wait in the recovery phase: {}, {}.", on.word(), duration(*seconds))
    });
    let text = format!(
        "No property violated by {}: {} on {} nodes within {}, {} audited.{calm}{longest}",
        name(storm),
        counted(weathered.troubles, "injected fault", "injected faults"),
        thousands(STORM_NODES.into()),
        duration(STORM.0 / 1_000),
        counted(weathered.decisions, "decision", "decisions"),
    );
    wrapped(&text, COLUMNS, "")
}

/// What broke, the story that leads there, and how to see it again.
fn broken(storm: &SeedRun, weathered: &SeedResult, first: &PropertyViolation) -> String {
    let told = format!("VIOLATED by {}: {}. {}.", name(storm), first.promise, first.what);
    let story_of = match (&storm.keep, weathered.troubles) {
        (Some(_), 1) => "Timeline of the one fault that matters".to_owned(),
        (Some(_), troubles) => format!("Timeline of the {troubles} faults that matter"),
        (None, troubles) => format!("End of the timeline of {troubles} faults"),
    };
    let story: String = timeline(storm).iter().map(|line| in_columns(line)).collect();
    let again = command(storm, weathered);
    format!(
        "{}\n{story_of}, in hours since the start\n{story}\nTo repeat this run:\n  {again}\n",
        wrapped(&told, COLUMNS, "")
    )
}

/// A line of a story: its clock, then the text, which goes on below itself.
fn in_columns(line: &str) -> String {
    const CLOCK: usize = "00:00:00.000".len();
    let (clock, text) = line.split_at_checked(CLOCK).unwrap_or(("", line));
    let margin = text.chars().take_while(|character| *character == ' ').count();
    let indent = " ".repeat(2 + clock.len() + margin);
    format!("  {clock}{:margin$}{}", "", wrapped(text, COLUMNS - indent.len(), &indent))
}
