//! `cargo xtask prove`: lists the published figures, and starts the proofs that measure them. The proofs are in the crate
//! `proofs`, because they need the product.

use clap::builder::PossibleValuesParser;
use serde::Serialize;

use crate::delegate;
use crate::exit::Exit;
use crate::figures::claims::Claims;
use crate::figures::outcome::{Outcome, Verdict, verdict_in_ci};
use crate::figures::{ALL, Figure, Schedule};
use crate::output::{self, Format};
use crate::workspace::Workspace;

/// Proofs to run, and whether to record their figures.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Proofs to run [default: all that run in CI].
    #[arg(value_name = "NAME", value_parser = PossibleValuesParser::new(ALL.iter().map(|figure| figure.name)))]
    names: Vec<String>,
    /// List the proofs and their claims without running them.
    #[arg(long, conflicts_with_all = ["names", "record"])]
    list: bool,
    /// Append the figures to docs/reference/figures.jsonl; requires a clean checkout.
    #[arg(long)]
    record: bool,
    /// Format of `--list`; a run always prints JSON lines.
    #[arg(short, long, value_enum, default_value = "text", requires = "list")]
    output: Format,
}

/// Runs or lists proofs.
pub(crate) async fn run(args: &Args) -> anyhow::Result<Exit> {
    if args.list {
        return list(&Claims::read(&Workspace::load().await?)?, args.output);
    }
    let mut words = vec!["prove"];
    words.extend(args.names.iter().map(String::as_str));
    if args.record {
        words.push("--record");
    }
    delegate::run("proofs", &words).await
}

/// Runs every proof of CI and returns the names of those that fail CI.
pub(crate) async fn run_in_ci() -> anyhow::Result<Vec<&'static str>> {
    let mut outcomes: Vec<Outcome> = Vec::new();
    delegate::lines("proofs", &["prove", "--time-limits", "printed"], |line| {
        outcomes.extend(serde_json::from_str(&line));
        output::line(line)
    })
    .await?;
    let mut failed = Vec::new();
    for figure in ALL.iter().filter(|figure| figure.runs == Schedule::InCi) {
        match verdict_in_ci(figure, outcomes.iter().find(|outcome| outcome.name == figure.name)) {
            Verdict::Passes => {}
            Verdict::Printed => output::note(format_args!(
                "prove {}: misses its goal ({} {}); time goals are not enforced in CI, record a run by hand",
                figure.name, figure.goal, figure.unit
            )),
            Verdict::Fails => failed.push(figure.name),
        }
    }
    Ok(failed)
}

fn list(claims: &Claims, format: Format) -> anyhow::Result<Exit> {
    #[derive(Serialize)]
    struct Line<'a> {
        name: &'static str,
        sentence: &'a str,
        runs: Schedule,
        unit: &'static str,
        goal: String,
    }
    for figure in ALL {
        let Figure { name, runs, unit, goal, limit: _, servers: _ } = *figure;
        let sentence = claims.of(name)?.claim.as_str();
        match format {
            Format::Json => output::json(&Line { name, sentence, runs, unit, goal: goal.to_string() })?,
            Format::Text => output::line(format_args!("{name:<20} {sentence} ({runs}; {unit} {goal})"))?,
        }
    }
    Ok(Exit::Holds)
}
