//! `cargo xtask prove`: runs the benchmarks and checks behind every published figure. This file defines a proof and how it
//! is run and printed. The proofs themselves are in `proofs/`, their claims in `claims.toml`.

pub(crate) mod claims;
pub(crate) mod machine;
pub(crate) mod record;
mod servers;
#[cfg(test)]
mod tests;

use std::fmt;
use std::pin::Pin;
use std::time::{Duration, Instant};

use anyhow::bail;
use claims::Claims;
use clap::builder::PossibleValuesParser;
use serde::Serialize;
use tokio::time::timeout;

use crate::exit::Exit;
use crate::output::{self, Format};
use crate::proofs;
use crate::workspace::Workspace;

/// A published figure and the code that measures it again.
pub(crate) struct Proof {
    /// As in `cargo xtask prove NAME`; also the key of its claim.
    pub(crate) name: &'static str,
    pub(crate) runs: Schedule,
    /// Unit of the figure, in the plural: `seconds`, `arrows`.
    pub(crate) unit: &'static str,
    pub(crate) goal: Goal,
    /// A proof that takes longer is stopped and does not hold.
    pub(crate) limit: Duration,
    pub(crate) run: fn(&Context) -> ProofFuture<'_>,
}

impl Proof {
    /// Whether the figure depends on how fast the machine is. CI machines are shared, so CI prints such a goal and fails
    /// on counts, sizes and ratios only; a recorded run enforces it.
    fn is_wall_clock(&self) -> bool {
        WALL_CLOCK_UNITS.contains(&self.unit)
    }
}

/// Units of times, and of rates per time.
const WALL_CLOCK_UNITS: &[&str] = &["seconds", "milliseconds", "ms", "µs", "transitions a second"];

/// A proof in progress, which ends with its measurement. It need not be `Send`: proofs run one after the other, so that
/// they do not disturb each other.
pub(crate) type ProofFuture<'a> = Pin<Box<dyn Future<Output = anyhow::Result<Measurement>> + 'a>>;

/// The input of a proof.
pub(crate) struct Context {
    pub(crate) workspace: Workspace,
    pub(crate) wall_clock: TimeLimitPolicy,
}

/// Whether a missed time limit fails the proof or is only printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeLimitPolicy {
    /// The proof fails: a run by hand, recorded or not.
    Enforced,
    /// The miss is printed: a run in CI.
    Printed,
}

impl Context {
    /// Checks a time limit that a proof has besides its goal: an error in a run by hand, a line of output in CI.
    pub(crate) fn within(&self, what: &str, took: Duration, most: Duration) -> anyhow::Result<()> {
        if took <= most {
            return Ok(());
        }
        let missed = format!("{what} took {} ms, limit {} ms", took.as_millis(), most.as_millis());
        match self.wall_clock {
            TimeLimitPolicy::Enforced => bail!(missed),
            TimeLimitPolicy::Printed => {
                output::note(format_args!("prove: {missed}; time limits are not enforced in CI"));
                Ok(())
            }
        }
    }
}

/// The value that a proof measured, with details for the reader.
#[derive(Clone, Debug)]
pub(crate) struct Measurement {
    pub(crate) value: i64,
    /// What was measured besides the value, for the reader.
    pub(crate) detail: String,
}

/// Whether a proof runs in CI or by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Schedule {
    /// In CI, with every change.
    InCi,
    /// By hand: it needs a larger machine, or more time.
    ByHand,
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Schedule::InCi => "CI",
            Schedule::ByHand => "by hand",
        })
    }
}

/// The bound that the figure must keep.
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

/// The JSON line that a run prints. Scripts may rely on these six fields.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Outcome {
    pub(crate) name: &'static str,
    /// Absent where the measurement failed.
    pub(crate) value: Option<i64>,
    pub(crate) unit: &'static str,
    pub(crate) goal: String,
    pub(crate) holds: bool,
    pub(crate) seconds: f64,
}

/// Proofs to run, and whether to record their figures.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Proofs to run [default: all that run in CI].
    #[arg(value_name = "NAME", value_parser = PossibleValuesParser::new(proofs::ALL.iter().map(|proof| proof.name)))]
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
pub(crate) async fn run(workspace: Workspace, args: &Args) -> anyhow::Result<Exit> {
    if args.list {
        return list(&Claims::read(&workspace)?, args.output);
    }
    let stamp = if args.record { Some(record::Stamp::take(&workspace).await?) } else { None };
    let chosen: Vec<&Proof> = proofs::ALL
        .iter()
        .filter(|proof| match args.names.as_slice() {
            [] => proof.runs == Schedule::InCi,
            names => names.iter().any(|name| name == proof.name),
        })
        .collect();
    let outcomes = run_all(&Context { workspace, wall_clock: TimeLimitPolicy::Enforced }, &chosen).await?;
    if let Some(stamp) = stamp {
        record::keep(&outcomes, &stamp).await?;
    }
    Ok(if outcomes.iter().all(|outcome| outcome.holds) { Exit::Holds } else { Exit::DoesNotHold })
}

/// Runs every proof of CI, one after the other, and returns the names of those that fail CI.
pub(crate) async fn run_in_ci(workspace: Workspace) -> anyhow::Result<Vec<&'static str>> {
    let chosen: Vec<&Proof> = proofs::ALL.iter().filter(|proof| proof.runs == Schedule::InCi).collect();
    let outcomes = run_all(&Context { workspace, wall_clock: TimeLimitPolicy::Printed }, &chosen).await?;
    let mut failed = Vec::new();
    for (proof, outcome) in chosen.iter().zip(&outcomes) {
        match verdict_in_ci(proof, outcome) {
            Verdict::Passes => {}
            Verdict::Printed => output::note(format_args!(
                "prove {}: misses its goal ({} {}); time goals are not enforced in CI, record a run by hand",
                proof.name, proof.goal, proof.unit
            )),
            Verdict::Fails => failed.push(outcome.name),
        }
    }
    Ok(failed)
}

/// What CI makes of an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Passes,
    /// A time goal is missed, which CI prints and does not enforce.
    Printed,
    Fails,
}

/// A missed time goal is printed only. A proof that measured nothing fails whatever its unit.
fn verdict_in_ci(proof: &Proof, outcome: &Outcome) -> Verdict {
    match (outcome.holds, outcome.value) {
        (true, _) => Verdict::Passes,
        (false, Some(_)) if proof.is_wall_clock() => Verdict::Printed,
        (false, _) => Verdict::Fails,
    }
}

async fn run_all(context: &Context, chosen: &[&Proof]) -> anyhow::Result<Vec<Outcome>> {
    let claims = Claims::read(&context.workspace)?;
    servers::prepare(chosen).await?;
    let mut outcomes = Vec::new();
    for proof in chosen {
        output::note(format_args!("prove {}: {}", proof.name, claims.of(proof.name)?.claim));
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

fn list(claims: &Claims, format: Format) -> anyhow::Result<Exit> {
    #[derive(Serialize)]
    struct Line<'a> {
        name: &'static str,
        sentence: &'a str,
        runs: Schedule,
        unit: &'static str,
        goal: String,
    }
    for proof in proofs::ALL {
        let Proof { name, runs, unit, goal, limit: _, run: _ } = *proof;
        let sentence = claims.of(name)?.claim.as_str();
        match format {
            Format::Json => output::json(&Line { name, sentence, runs, unit, goal: goal.to_string() })?,
            Format::Text => output::line(format_args!("{name:<20} {sentence} ({runs}; {unit} {goal})"))?,
        }
    }
    Ok(Exit::Holds)
}
