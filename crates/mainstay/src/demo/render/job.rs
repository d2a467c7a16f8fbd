//! The jobs of a live fleet, drawn.

use std::sync::Arc;

use mainstay_api::http::{self, JobAttempt, JobCheckpoint, JobInterruption, JobRecord};
use mainstay_sim::{AttemptEnd, Interruption, JobState, JobView, LiveFleet};
use mainstay_text::thousands;
use mainstay_web::snapshot::{JobSnapshot, Snapshot, count};

use crate::demo::incidents::IncidentTracker;

pub(super) fn jobs(live: &LiveFleet, cases: &IncidentTracker, last: Option<&Snapshot>) -> Vec<Arc<JobSnapshot>> {
    let drawn = live.jobs().map(|job| self::job(live, &job, cases)).enumerate();
    let known = |place: usize| last.and_then(|last| last.jobs.get(place));
    drawn
        .map(|(place, job)| known(place).filter(|known| ***known == job).cloned().unwrap_or_else(|| Arc::new(job)))
        .collect()
}

fn job(live: &LiveFleet, job: &JobView<'_>, cases: &IncidentTracker) -> JobSnapshot {
    let log = job.log();
    let checkpoints = job.checkpoints();
    JobSnapshot {
        job: http::Job {
            id: job.name(),
            name: job.name(),
            gpus: Some(job.gpus()),
            nodes: count(job.nodes().len()),
            state: match job.state() {
                JobState::Waiting => http::JobState::Waiting,
                JobState::Running => http::JobState::Running,
                JobState::Saving => http::JobState::Saving,
                JobState::Done => http::JobState::Done,
            },
            started_at: job.started_at().map(|at| at.0),
            attempts: Some(log.attempts_total),
            lost_gpu_seconds: Some(log.lost_gpu_seconds),
            saved_gpu_seconds: Some(log.saved_gpu_seconds),
            last_checkpoint_at: checkpoints.last().map(|checkpoint| checkpoint.at.0),
        },
        nodes: job.nodes().to_vec(),
        record: JobRecord {
            attempts_list: log
                .attempts()
                .map(|attempt| JobAttempt {
                    started_at: attempt.started_at.0,
                    ended_at: attempt.ended.map(|(at, _)| at.0),
                    ended: attempt.ended.map(|(_, ended)| how(ended).to_owned()),
                    nodes: attempt.nodes,
                    lost_gpu_seconds: attempt.lost_gpu_seconds,
                })
                .collect(),
            checkpoints: checkpoints.iter().map(|one| JobCheckpoint { at: one.at.0, step: one.step }).collect(),
            interruptions: log.interruptions().map(|one| interruption(live, one, cases)).collect(),
        },
    }
}

/// How an attempt ended. Why is the incident's to say: what was wrong in truth is not shown.
const fn how(ended: AttemptEnd) -> &'static str {
    match ended {
        AttemptEnd::Finished => "It was done",
        AttemptEnd::Failed(_) => "It could not go on",
        AttemptEnd::Drained(_) => "It was stopped to free a node",
    }
}

fn interruption(live: &LiveFleet, one: &Interruption, cases: &IncidentTracker) -> JobInterruption {
    let node = one.node.and_then(|number| live.node_at(number)).map(|view| view.name);
    let step = thousands(one.step);
    let text = match (one.ended, node) {
        (AttemptEnd::Drained(_), Some(node)) => format!("It was stopped to free {node} and goes on from step {step}."),
        (AttemptEnd::Failed(_), Some(node)) => {
            format!("It could not go on because of {node}, and restarts from step {step}.")
        }
        (ended, _) => format!("{}; the next attempt begins at step {step}.", how(ended)),
    };
    JobInterruption {
        at: one.at.0,
        incident: node.and_then(|node| cases.at(node, one.at)).map(ToOwned::to_owned),
        text,
        lost_gpu_seconds: one.lost_gpu_seconds,
    }
}
