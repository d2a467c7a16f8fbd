//! Proof that the API server keeps the fence: every write that the controller could try, in every epoch and mode, is
//! taken or refused as stated, and so is what agents, jobs and people try. All against a real server.

mod agent;
mod approval_claim;
mod approvals;
mod attacks;
mod fenced_cluster;
mod fields;
mod lost_cell;
mod matrix;
mod oldest_kubernetes;
mod operation;
mod orders;
mod other_clients;
mod takeover;

pub(super) use attacks::PROOF as ATTACKS;
use fenced_cluster::{FencedCluster, KubernetesVersion, WriteResponse};

use xtask::output;

use crate::prove::{Context, Measurement, Proof};

pub(super) const PROOF: Proof =
    Proof { name: "fence-matrix", run: |context| Box::pin(measure(context, KubernetesVersion::Newest)) };

pub(super) const OLDEST: Proof =
    Proof { name: "oldest-kubernetes", run: |context| Box::pin(oldest_kubernetes::measure(context)) };

/// One write, what was expected of it and what came.
struct Case {
    what: String,
    expected: ExpectedResponse,
    answer: WriteResponse,
}

/// The response that the API server should give to a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExpectedResponse {
    /// The write is taken.
    Taken,
    /// The role does not name it.
    NoRole,
    /// The definition refuses it: schema or CEL rule, in these words.
    Invalid(&'static str),
    /// An admission policy refuses it, in these words: Forbidden by a rule, Unprocessable without its parameter.
    Policy(&'static str),
}

impl ExpectedResponse {
    fn is_met_by(self, answer: &WriteResponse) -> bool {
        match self {
            Self::Taken => answer.code < 300,
            Self::NoRole => answer.code == 403 && answer.message.contains("cannot"),
            Self::Invalid(words) => answer.code == 422 && answer.message.contains(words),
            Self::Policy(words) => [403, 422].contains(&answer.code) && answer.message.contains(words),
        }
    }
}

async fn measure(context: &Context, kubernetes: KubernetesVersion) -> anyhow::Result<Measurement> {
    let world = FencedCluster::start(&context.workspace.root.join("deploy"), kubernetes).await?;
    let mut cases = matrix::run(&world).await?;
    cases.extend(approvals::run(&world).await?);
    cases.extend(orders::run(&world).await?);
    cases.extend(agent::run(&world).await?);
    cases.extend(fields::run(&world).await?);
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
    Ok(Measurement { value: i64::try_from(cases.len() - surprises.len())?, detail })
}
