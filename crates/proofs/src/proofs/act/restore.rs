//! etcd is put back to a snapshot after the controller has acted. The controller has to notice it and only observe from then on, and no
//! step may run a second time. Then an operator recovers as the runbook describes, and the controller acts again.

mod agents;
mod recovery;
mod trial;

use std::time::Duration;

use anyhow::{Result, ensure};
use xtask::{dist, output};

use crate::prove::{Context, Measurement};
use trial::{Case, Found, Memory, Trial};

/// Time from a ready API server to the controller's own count of restored stores.
const NOTICED_WITHIN: Duration = Duration::from_secs(5);
const MINUTE: Duration = Duration::from_mins(1);

/// No leader changed since the snapshot, so the restored Cell has the epoch of the leader that runs.
const SAME_LEADER: Case = Case { memory: Memory::Process, takeovers: 0, lease_seconds: 1, age: Duration::ZERO };
const ALL: [Case; 5] = [
    Case { age: MINUTE, ..SAME_LEADER },
    // The Lease outlasts the restore, so that the leadership does not end by itself.
    Case { age: MINUTE, lease_seconds: 15, ..SAME_LEADER },
    Case { age: MINUTE, takeovers: 1, ..SAME_LEADER },
    Case { age: MINUTE, takeovers: 1, memory: Memory::Disk, ..SAME_LEADER },
    Case { age: MINUTE, takeovers: 2, memory: Memory::Agents, ..SAME_LEADER },
];

/// The usual restore: the leader is the one of the snapshot.
pub(super) async fn one(context: &Context) -> Result<Measurement> {
    measure(context, &[SAME_LEADER]).await
}

/// Restores with a snapshot of a minute, with other leaders, and with other memories.
pub(super) async fn every(context: &Context) -> Result<Measurement> {
    measure(context, &ALL).await
}

async fn measure(context: &Context, cases: &[Case]) -> Result<Measurement> {
    let program = dist::binary(&context.workspace).await?;
    let (mut value, mut details) = (0, Vec::new());
    for case in cases {
        let trial = Trial::start(&program, *case).await?;
        let (found, served) = trial.run().await?;
        ensure!(found.ran > 0, "no order was run");
        value += i64::try_from(violations(&found))?;
        let mut words = words(case, &found);
        if let Some(noticed_after) = found.noticed_after {
            context.within("noticing the restore", noticed_after, NOTICED_WITHIN)?;
            recovery::recover(&trial, &program, &context.workspace.root).await?;
            words.push_str(", recovered as documented");
        }
        served.kill().await?;
        output::note(format_args!("prove restore: {words}"));
        details.push(words);
    }
    Ok(Measurement { value, detail: details.join("; ") })
}

fn violations(found: &Found) -> usize {
    usize::from(found.noticed_after.is_none()) + usize::from(!found.is_observed) + found.late + found.twice
}

fn words(case: &Case, found: &Found) -> String {
    let Case { memory, takeovers, lease_seconds, age: _ } = case;
    let Found { age, ran, noticed_after, early, late, twice, is_observed } = found;
    let noticed =
        noticed_after.map_or("not noticed".to_owned(), |after| format!("noticed after {} ms", after.as_millis()));
    format!(
        "snapshot of {} s, {takeovers} takeovers since, Lease of {lease_seconds} s, memory {memory:?}: {ran} steps run before, {noticed}, {early} actions until then, {late} after it, {twice} steps run again, later fault {}",
        age.as_secs(),
        if *is_observed { "observed" } else { "not only observed" },
    )
}
