//! Proof that the API server keeps the fence: every write that the controller could try, in every epoch and mode, is
//! taken or refused as stated, and so is what agents, jobs and people try. All against a real server.

mod agent;
mod attacks;
mod lost_cell;
mod matrix;
mod oldest;
mod operation;
mod takeover;
mod world;

use std::time::Duration;

pub(super) use attacks::PROOF as ATTACKS;
use world::{Answer, Kubernetes, World};

use crate::output;
use crate::prove::{Context, Goal, Measured, Proof, Runs};

/// How many cases there are. A new one is added here as well, so that none is lost unnoticed.
const CASES: i64 = 2_132;

pub(super) const PROOF: Proof = Proof {
    name: "fence-matrix",
    runs: Runs::InCi,
    unit: "cases as expected",
    goal: Goal::Exactly(CASES),
    limit: Duration::from_mins(8),
    run: |context| Box::pin(measure(context, Kubernetes::Newest)),
};

pub(super) const OLDEST: Proof = Proof {
    name: "oldest-kubernetes",
    // It builds that server first.
    runs: Runs::ByHand,
    limit: Duration::from_mins(60),
    run: |context| Box::pin(oldest::measure(context)),
    ..PROOF
};

/// One write, what was expected of it and what came.
struct Case {
    what: String,
    expected: Expected,
    answer: Answer,
}

/// What the server should say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    /// The write is taken.
    Taken,
    /// The role does not name it.
    NoRole,
    /// The definition refuses it: schema or CEL rule, in these words.
    Invalid(&'static str),
    /// An admission policy refuses it, in these words: Forbidden by a rule, Unprocessable without its parameter.
    Policy(&'static str),
}

impl Expected {
    fn is_met_by(self, answer: &Answer) -> bool {
        match self {
            Self::Taken => answer.code < 300,
            Self::NoRole => answer.code == 403 && answer.message.contains("cannot"),
            Self::Invalid(words) => answer.code == 422 && answer.message.contains(words),
            Self::Policy(words) => [403, 422].contains(&answer.code) && answer.message.contains(words),
        }
    }
}

async fn measure(context: &Context, kubernetes: Kubernetes) -> anyhow::Result<Measured> {
    let world = World::start(&context.workspace.root.join("deploy"), kubernetes).await?;
    let mut cases = matrix::run(&world).await?;
    cases.extend(agent::run(&world).await?);
    let (takeover, refused_after) = takeover::run(&world).await?;
    cases.extend(takeover);
    cases.extend(lost_cell::run(&world).await?);

    let surprises: Vec<&Case> = cases.iter().filter(|case| !case.expected.is_met_by(&case.answer)).collect();
    for Case { what, expected, answer } in surprises.iter().take(20) {
        output::note(format_args!("{what}: expected {expected:?}, got {} {}", answer.code, answer.message));
    }
    let detail = format!(
        "{} cases, {} not as expected; a stale write was refused {} ms after the takeover was answered",
        cases.len(),
        surprises.len(),
        refused_after.as_millis(),
    );
    Ok(Measured { value: i64::try_from(cases.len() - surprises.len())?, detail })
}
