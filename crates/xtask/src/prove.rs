//! `cargo xtask prove`: how the project states figures. A figure is a named proof that anyone can run again; here is
//! what a proof is and how one is run and told. The proofs themselves are in `proofs/`.

pub(crate) mod machine;
pub(crate) mod record;
#[cfg(test)]
mod tests;

use std::fmt;
use std::pin::Pin;
use std::time::{Duration, Instant};

use clap::builder::PossibleValuesParser;
use serde::Serialize;
use tokio::time::timeout;

use crate::exit::Exit;
use crate::output::{self, Format};
use crate::proofs;
use crate::workspace::Workspace;

/// A figure the project claims, and how to find it again.
pub(crate) struct Proof {
    /// As in `cargo xtask prove NAME`.
    pub(crate) name: &'static str,
    /// What is claimed, in one sentence.
    pub(crate) sentence: &'static str,
    pub(crate) runs: Runs,
    /// Of the figure, in the plural: `seconds`, `arrows`.
    pub(crate) unit: &'static str,
    pub(crate) goal: Goal,
    /// A proof that takes longer is stopped and does not hold.
    pub(crate) limit: Duration,
    pub(crate) run: fn(&Context) -> Running<'_>,
}

/// A proof under way. It need not be `Send`: proofs run one after the other, so that they do not disturb each other.
pub(crate) type Running<'a> = Pin<Box<dyn Future<Output = anyhow::Result<Measured>> + 'a>>;

/// What a proof may look at.
pub(crate) struct Context {
    pub(crate) workspace: Workspace,
}

/// What a proof found.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) value: i64,
    /// For the reader: what was looked at, what stood out.
    pub(crate) detail: String,
}

/// Where a proof runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Runs {
    /// With every change.
    InCi,
    /// When somebody asks: it needs a larger machine, or more time.
    ByHand,
}

impl fmt::Display for Runs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Runs::InCi => "CI",
            Runs::ByHand => "by hand",
        })
    }
}

/// What the figure must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goal {
    AtMost(i64),
    AtLeast(i64),
    Exactly(i64),
}

impl Goal {
    pub(crate) fn holds(self, value: i64) -> bool {
        match self {
            Goal::AtMost(most) => value <= most,
            Goal::AtLeast(least) => value >= least,
            Goal::Exactly(exact) => value == exact,
        }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Goal::AtMost(most) => write!(f, "<= {most}"),
            Goal::AtLeast(least) => write!(f, ">= {least}"),
            Goal::Exactly(exact) => write!(f, "= {exact}"),
        }
    }
}

/// The line that a run prints. These six fields are what others may rely on.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Outcome {
    pub(crate) name: &'static str,
    /// Absent where nothing could be measured.
    pub(crate) value: Option<i64>,
    pub(crate) unit: &'static str,
    pub(crate) goal: String,
    pub(crate) holds: bool,
    pub(crate) seconds: f64,
}

/// Which proofs to run, and what to do with the figures.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Proofs to run; without a name, all that run in CI.
    #[arg(value_name = "NAME", value_parser = PossibleValuesParser::new(proofs::ALL.iter().map(|proof| proof.name)))]
    names: Vec<String>,
    /// Name the proofs with a sentence each, and run none.
    #[arg(long, conflicts_with_all = ["names", "record"])]
    list: bool,
    /// Keep the figures in docs/reference/figures.jsonl; the checkout must be clean.
    #[arg(long)]
    record: bool,
    /// How `--list` is written; a run always prints JSON lines.
    #[arg(short, long, value_enum, default_value = "text", requires = "list")]
    output: Format,
}

/// Runs or lists proofs.
pub(crate) async fn run(workspace: Workspace, args: &Args) -> anyhow::Result<Exit> {
    if args.list {
        return list(args.output);
    }
    let stamp = if args.record { Some(record::Stamp::take(&workspace).await?) } else { None };
    let chosen: Vec<&Proof> = proofs::ALL
        .iter()
        .filter(|proof| match args.names.as_slice() {
            [] => proof.runs == Runs::InCi,
            names => names.iter().any(|name| name == proof.name),
        })
        .collect();
    let outcomes = run_all(&Context { workspace }, &chosen).await?;
    if let Some(stamp) = stamp {
        record::keep(&outcomes, &stamp).await?;
    }
    Ok(if outcomes.iter().all(|outcome| outcome.holds) { Exit::Holds } else { Exit::DoesNotHold })
}

/// Every proof that runs in CI, one after the other. Answers the names of those whose goal is missed.
pub(crate) async fn run_in_ci(workspace: Workspace) -> anyhow::Result<Vec<&'static str>> {
    let chosen: Vec<&Proof> = proofs::ALL.iter().filter(|proof| proof.runs == Runs::InCi).collect();
    let outcomes = run_all(&Context { workspace }, &chosen).await?;
    Ok(outcomes.iter().filter(|outcome| !outcome.holds).map(|outcome| outcome.name).collect())
}

async fn run_all(context: &Context, chosen: &[&Proof]) -> anyhow::Result<Vec<Outcome>> {
    let mut outcomes = Vec::new();
    for proof in chosen {
        output::note(format_args!("prove {}: {}", proof.name, proof.sentence));
        let outcome = run_one(context, proof).await;
        output::json(&outcome)?;
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

async fn run_one(context: &Context, proof: &Proof) -> Outcome {
    let start = Instant::now();
    let value = match timeout(proof.limit, (proof.run)(context)).await {
        Ok(Ok(measured)) => {
            output::note(format_args!("prove {}: {}", proof.name, measured.detail));
            Some(measured.value)
        }
        Ok(Err(error)) => {
            output::note(format_args!("prove {}: could not be measured: {error:#}", proof.name));
            None
        }
        Err(_) => {
            output::note(format_args!("prove {}: stopped after {} s", proof.name, proof.limit.as_secs()));
            None
        }
    };
    Outcome {
        name: proof.name,
        value,
        unit: proof.unit,
        goal: proof.goal.to_string(),
        holds: value.is_some_and(|value| proof.goal.holds(value)),
        seconds: (start.elapsed().as_secs_f64() * 10.0).round() / 10.0,
    }
}

fn list(format: Format) -> anyhow::Result<Exit> {
    #[derive(Serialize)]
    struct Line {
        name: &'static str,
        sentence: &'static str,
        runs: Runs,
        unit: &'static str,
        goal: String,
    }
    for proof in proofs::ALL {
        let Proof { name, sentence, runs, unit, goal, limit: _, run: _ } = *proof;
        match format {
            Format::Json => output::json(&Line { name, sentence, runs, unit, goal: goal.to_string() })?,
            Format::Text => output::line(format_args!("{name:<20} {sentence} ({runs}; {unit} {goal})"))?,
        }
    }
    Ok(Exit::Holds)
}
