//! One storm again, by its seed: what it showed, or which promise it broke, cut down to the troubles that matter. The
//! storm itself is the library's; here it is told, with the command that brings the same bytes again.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use mainstay_engine::Switch;
use mainstay_sim::{Broken, CALM_WITHIN, STORM, STORM_NODES, Storm, Weathered, shrink, story};
use serde::Serialize;

use super::progress::Tries;
use super::summary::COLUMNS;
use super::{Format, Output};
use crate::draw::{counted, duration, thousands, wrapped};
use crate::output::{self, Problem, Said};

/// One storm.
#[derive(Args)]
pub(crate) struct Replay {
    /// The seed of the storm
    #[arg(long)]
    seed: u64,
    /// Only these troubles, by number; nothing is left out beyond that
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', conflicts_with = "whole")]
    keep: Vec<usize>,
    /// Switch this rule of the brain off, to see that somebody notices
    #[arg(long, value_name = "RULE", value_parser = rules().try_map(|word| switch(&word)))]
    without: Option<Switch>,
    /// Tell the whole storm: leave nothing out where it breaks a promise
    #[arg(long)]
    whole: bool,
    #[command(flatten)]
    format: Format,
}

/// What a storm came to, for programs.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Told<'a> {
    #[serde(flatten)]
    weathered: &'a Weathered,
    /// The rule that was off.
    without: Option<&'static str>,
    /// The troubles that were played, by number; all of them where absent.
    keep: Option<&'a [usize]>,
    broken: Vec<ToldBroken<'a>>,
    command: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToldBroken<'a> {
    /// Since the storm began.
    at_milliseconds: i64,
    promise: &'a str,
    what: &'a str,
}

fn rules() -> PossibleValuesParser {
    PossibleValuesParser::new(Switch::ALL.map(Switch::name))
}

fn switch(word: &str) -> Result<Switch, String> {
    let found = Switch::ALL.into_iter().find(|switch| switch.name() == word);
    found.ok_or_else(|| format!("the rules are {}", Switch::ALL.map(Switch::name).join(", ")))
}

pub(super) fn run(asked: &Replay) -> Result<Said, Problem> {
    let keep: BTreeSet<usize> = asked.keep.iter().copied().collect();
    let keep = (!keep.is_empty()).then(|| keep.into_iter().collect::<Vec<_>>());
    let mut storm = Storm { seed: asked.seed, without: asked.without, keep };
    let tries = Tries::new(&name(&storm));
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
    Ok(if weathered.broken.is_empty() { Said::done(text) } else { Said::broken(text) })
}

/// A number that no trouble has would be left out in silence.
fn all_are_there(storm: &Storm, weathered: &Weathered) -> Result<(), Problem> {
    let kept = storm.keep.as_ref().map_or(weathered.troubles, |keep| u64::try_from(keep.len()).unwrap_or(u64::MAX));
    if kept == weathered.troubles {
        return Ok(());
    }
    Err(Problem {
        what: format!("storm {} has no trouble of some of these numbers", storm.seed),
        detail: format!("{} asked for, {} found.", counted(kept, "trouble was", "troubles were"), weathered.troubles),
        hint: format!("numbers begin with 0; `mainstay sim replay --seed {}` says how many there are", storm.seed),
    })
}

fn name(storm: &Storm) -> String {
    let without = storm.without.map_or_else(String::new, |switch| format!(" without {}", switch.name()));
    format!("storm {}{without}", storm.seed)
}

/// The command that plays exactly these troubles again.
fn command(storm: &Storm, weathered: &Weathered) -> String {
    let mut command = format!("mainstay sim replay --seed {}", storm.seed);
    match &storm.keep {
        Some(keep) => {
            let keep: Vec<String> = keep.iter().map(usize::to_string).collect();
            command.push_str(&format!(" --keep {}", keep.join(",")));
        }
        None if weathered.broken.is_empty() => {}
        None => command.push_str(" --whole"),
    }
    if let Some(switch) = storm.without {
        command.push_str(&format!(" --without {}", switch.name()));
    }
    command
}

fn json(storm: &Storm, weathered: &Weathered) -> Result<String, Problem> {
    let broken = weathered.broken.iter();
    output::json(&Told {
        weathered,
        without: storm.without.map(Switch::name),
        keep: storm.keep.as_deref(),
        broken: broken
            .map(|Broken { at, promise, what }| ToldBroken { at_milliseconds: at.0, promise, what })
            .collect(),
        command: command(storm, weathered),
    })
}

/// What there is to say of a storm in which nothing broke.
fn calm(storm: &Storm, weathered: &Weathered) -> String {
    let calm = weathered.calm_after_seconds.map_or_else(String::new, |seconds| {
        let within = CALM_WITHIN.0 / 1_000;
        format!(
            "; every node was back and nobody waited any more {} after it ({} allowed)",
            duration(seconds),
            duration(within)
        )
    });
    let longest = weathered.longest_wait_seconds.iter().max_by_key(|(_, seconds)| **seconds);
    let longest = longest.map_or_else(String::new, |(on, seconds)| {
        format!("; the longest wait in the calm was on {}, {}", on.word(), duration(*seconds))
    });
    let text = format!(
        "No promise was broken in {}: {} on {} nodes within {}, {} audited{calm}{longest}.",
        name(storm),
        counted(weathered.troubles, "trouble", "troubles"),
        thousands(STORM_NODES.into()),
        duration(STORM.0 / 1_000),
        counted(weathered.decisions, "decision", "decisions"),
    );
    wrapped(&text, COLUMNS, "")
}

/// What broke, the story that leads there, and how to see it again.
fn broken(storm: &Storm, weathered: &Weathered, first: &Broken) -> String {
    let told = format!("BROKEN in {}: {}. {}.", name(storm), first.promise, first.what);
    let story_of = match (&storm.keep, weathered.troubles) {
        (Some(_), 1) => "The story of the one trouble that is left".to_owned(),
        (Some(_), troubles) => format!("The story of the {troubles} troubles that are left"),
        (None, troubles) => format!("How the storm of {troubles} troubles ended"),
    };
    let story: String = story(storm).iter().map(|line| in_columns(line)).collect();
    let again = command(storm, weathered);
    format!(
        "{}\n{story_of}, in hours since it began\n{story}\nThe same bytes again:\n  {again}\n",
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
