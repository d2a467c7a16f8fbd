//! Texts of the demo script: the event, the numbers and the reason, from the event log and the accounting.

use mainstay_engine::BreakerLine;
use mainstay_model::{DomainName, RuleName, Stage, Timestamp, format_milli, thousands};

use super::StepFault;
use crate::event_log::{Attempt, Interruption, StageChange};
use crate::job::Job;
use crate::world::World;
use crate::{Cause, FaultClass};

/// GPU time in GPU-hours: a digit after the point where there are few.
fn gpu_hours(gpu_seconds: u64) -> String {
    let milli = i64::try_from(gpu_seconds.saturating_mul(1_000) / 3_600).unwrap_or(i64::MAX);
    format_milli(milli, u32::from(milli < 10_000))
}

fn minutes(from: Timestamp, to: Timestamp) -> String {
    let minutes = (to.since(from).0 + 30_000) / 60_000;
    format!("{} min", thousands(minutes))
}

/// How the job that the trouble is about was stopped since, and how it began again.
fn stopped_and_began<'a>(world: &'a World, trouble: &StepFault) -> Option<(&'a Job, Interruption, &'a Attempt)> {
    let job = world.jobs().get(trouble.job as usize)?;
    let log = world.chronicle.as_ref()?.job_log(trouble.job)?;
    let interruption = log.interruptions().find(|interruption| interruption.at >= trouble.at)?;
    let attempt = log.attempts().find(|attempt| attempt.started_at >= interruption.at)?;
    Some((job, *interruption, attempt))
}

pub(super) fn asked_first(world: &World, trouble: &StepFault) -> Option<String> {
    let (job, stop, attempt) = stopped_and_began(world, trouble)?;
    let spare = attempt.joined.first().map_or_else(String::new, |node| format!(" on {}", world.name(*node)));
    Some(format!(
        "{} is removed from service: GPU {} has a pending row remap. The {}-GPU job {} saved step {} and resumes{spare} \
         (first-fit placement). {} GPU-hours lost, {} saved by the checkpoint.",
        world.name(trouble.node),
        trouble.device,
        thousands(u64::from(job.nodes_wanted) * 8),
        job.name(),
        thousands(stop.step),
        gpu_hours(stop.lost_gpu_seconds),
        gpu_hours(stop.saved_gpu_seconds),
    ))
}

pub(super) fn nothing_to_save(world: &World, trouble: &StepFault) -> Option<String> {
    let (job, stop, attempt) = stopped_and_began(world, trouble)?;
    Some(format!(
        "{}: GPU {} fell off the bus (XID 79). {} could not save and restarts from step {}, {} s after the fault. {} \
         GPU-hours lost.",
        world.name(trouble.node),
        trouble.device,
        job.name(),
        thousands(stop.step),
        thousands(attempt.started_at.since(trouble.at).0 / 1_000),
        gpu_hours(stop.lost_gpu_seconds),
    ))
}

pub(super) fn silent_rail(world: &World, trouble: &StepFault) -> Option<String> {
    let (job, stop, _) = stopped_and_began(world, trouble)?;
    Some(format!(
        "{} is removed from service: rail {} passes no traffic, without a log line. {} hung for {} s and restarts from \
         step {}. {} GPU-hours lost.",
        world.name(trouble.node),
        trouble.device,
        job.name(),
        thousands(stop.hung_seconds),
        thousands(stop.step),
        gpu_hours(stop.lost_gpu_seconds),
    ))
}

pub(super) fn node_is_back(world: &World, trouble: &StepFault) -> String {
    format!(" {} is back in service {} after the fault.", world.name(trouble.node), minutes(trouble.at, world.now))
}

pub(super) fn leaf_down(rule: &RuleName, leaf: &DomainName, trouble: &StepFault) -> String {
    format!(
        "Leaf {leaf} is down with {} nodes below it: one incident, attributed to the leaf ({rule}). Its nodes wait and \
         are not removed one by one.",
        trouble.nodes,
    )
}

/// Once every node below answers and is in service again, or out for something older.
pub(super) fn leaf_is_back(world: &World, trouble: &StepFault) -> Option<String> {
    let up_at = trouble.ends_at.filter(|at| world.now > *at)?;
    let below = world.leaf_of(trouble.node);
    let waits = |node: u32| {
        let machine = &world.machines()[node as usize];
        machine.seen.stage == Stage::Suspect || machine.facts.ready != mainstay_model::Ready::Yes
    };
    if below.clone().any(waits) {
        return None;
    }
    let went = |node: &u32| world.machines()[*node as usize].seen.taken_out_at.is_some_and(|at| at >= trouble.at);
    let out = match below.filter(went).count() {
        0 => "no node was removed".to_owned(),
        1 => "one node was removed".to_owned(),
        more => format!("{more} nodes were removed"),
    };
    let lost = world.books.lost().get(&Cause::Fault(FaultClass::LeafSwitchCrash));
    Some(format!(
        " The leaf is up again after {}: {out}, {} GPU-hours lost.",
        minutes(trouble.at, up_at),
        gpu_hours(lost.map_or(0, crate::Loss::total)),
    ))
}

pub(super) fn mad_sensor(world: &World, open: &BreakerLine) -> String {
    format!(
        "{} nodes with driver {} are removed by {}, then its circuit breaker opens: too many removals in a short time. \
         The other nodes keep running, and one node at a time is tested.",
        open.condemned,
        world.machines()[0].driver(),
        open.rule,
    )
}

pub(super) fn sensor_mended(world: &World, trouble: &StepFault, mended_at: Timestamp) -> String {
    let driver = world.machines()[trouble.node as usize].driver();
    let out = world
        .machines()
        .iter()
        .filter(|machine| machine.driver() == driver && machine.seen.taken_out_at.is_some_and(|at| at >= trouble.at));
    let out = u32::try_from(out.count()).unwrap_or(u32::MAX);
    format!(
        " The sensor recovers after {}: of {} nodes with a false alarm, {out} were removed and {} kept running.",
        minutes(trouble.at, mended_at),
        thousands(u64::from(trouble.nodes)),
        thousands(u64::from(trouble.nodes.saturating_sub(out))),
    )
}

pub(super) fn back_in_service(world: &World, back: &StageChange) -> String {
    let history = world.engine().persisted(&back.node).map(|persisted| persisted.history.as_slice());
    let left = history.unwrap_or_default().iter().rev().find(|entry| entry.to == Stage::Quarantined);
    let away = left.map_or_else(String::new, |left| format!("; {} out of service", minutes(left.at, back.at)));
    let rule = left.map_or_else(String::new, |left| format!(" for {}", left.rule));
    format!("{} passed its tests and is back in service{away}{rule}.", back.node)
}
