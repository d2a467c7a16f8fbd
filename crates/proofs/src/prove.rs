//! Started by `cargo xtask prove`: runs the benchmarks and checks behind every published figure. This file defines a proof
//! and how it is run and printed. The proofs themselves are in `proofs/`. Units, goals and limits are in
//! `xtask::figures`.

mod record;
#[cfg(test)]
mod tests;

use std::pin::Pin;
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};
use clap::builder::PossibleValuesParser;
use tokio::time::timeout;
use xtask::exit::Exit;
use xtask::figures::claims::Claims;
use xtask::figures::outcome::Outcome;
use xtask::figures::{self, Figure, Schedule};
use xtask::output;
use xtask::workspace::Workspace;

use crate::{proofs, servers};

/// The code that measures a published figure again.
pub(crate) struct Proof {
    /// Name of its figure.
    pub(crate) name: &'static str,
    pub(crate) run: fn(&Context) -> ProofFuture<'_>,
}

/// A proof in progress, which ends with its measurement. It need not be `Send`: proofs run one after the other, so that
/// they do not disturb each other.
pub(crate) type ProofFuture<'a> = Pin<Box<dyn Future<Output = anyhow::Result<Measurement>> + 'a>>;

/// The input of a proof.
pub(crate) struct Context {
    pub(crate) workspace: Workspace,
    pub(crate) time_limits: TimeLimitPolicy,
}

/// Whether a missed time limit fails the proof or is only printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum TimeLimitPolicy {
    /// The proof fails: a run by hand, recorded or not
    Enforced,
    /// The miss is printed: a run in CI
    Printed,
}

impl Context {
    /// Checks a time limit that a proof has besides its goal: an error in a run by hand, a line of output in CI.
    pub(crate) fn within(&self, what: &str, took: Duration, most: Duration) -> anyhow::Result<()> {
        if took <= most {
            return Ok(());
        }
        let missed = format!("{what} took {} ms, limit {} ms", took.as_millis(), most.as_millis());
        match self.time_limits {
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

/// Proofs to run, and whether to record their figures.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Proofs to run [default: all that run in CI].
    #[arg(value_name = "NAME", value_parser = PossibleValuesParser::new(figures::ALL.iter().map(|figure| figure.name)))]
    names: Vec<String>,
    /// Append the figures to docs/reference/figures.jsonl; requires a clean checkout.
    #[arg(long)]
    record: bool,
    /// Effect of a missed time limit.
    #[arg(long, value_enum, default_value = "enforced", conflicts_with = "record")]
    time_limits: TimeLimitPolicy,
}

/// Runs proofs one after the other, and prints one JSON line for each.
pub(crate) async fn run(args: &Args) -> anyhow::Result<Exit> {
    let workspace = Workspace::load().await?;
    let stamp = if args.record { Some(record::Stamp::take(&workspace).await?) } else { None };
    let chosen = figures::ALL.iter().filter(|figure| match args.names.as_slice() {
        [] => figure.runs == Schedule::InCi,
        names => names.iter().any(|name| name == figure.name),
    });
    let claims = Claims::read(&workspace)?;
    let context = Context { workspace, time_limits: args.time_limits };
    let mut outcomes = Vec::new();
    for figure in chosen {
        output::note(format_args!("prove {}: {}", figure.name, claims.of(figure.name)?.claim));
        let outcome = run_one(&context, figure, proofs::of(figure.name)?).await;
        output::json(&outcome)?;
        outcomes.push(outcome);
    }
    if let Some(stamp) = stamp {
        record::keep(&outcomes, &stamp).await?;
    }
    Ok(if outcomes.iter().all(|outcome| outcome.holds) { Exit::Holds } else { Exit::DoesNotHold })
}

async fn run_one(context: &Context, figure: &Figure, proof: &Proof) -> Outcome {
    // The first use of the servers builds them, which is not part of the measurement.
    let servers = servers::ensure(figure.servers).await;
    let start = Instant::now();
    let measured = match servers {
        Ok(()) => timeout(figure.limit, (proof.run)(context))
            .await
            .unwrap_or_else(|_| Err(anyhow!("stopped after {} s", figure.limit.as_secs()))),
        Err(error) => Err(error),
    };
    let value = match measured {
        Ok(measured) => {
            output::note(format_args!("prove {}: {}", figure.name, measured.detail));
            Some(measured.value)
        }
        Err(error) => {
            output::note(format_args!("prove {}: could not be measured: {error:#}", figure.name));
            None
        }
    };
    Outcome {
        name: figure.name.to_owned(),
        value,
        unit: figure.unit.to_owned(),
        goal: figure.goal.to_string(),
        holds: value.is_some_and(|value| figure.goal.holds(value)),
        seconds: (start.elapsed().as_secs_f64() * 10.0).round() / 10.0,
    }
}
