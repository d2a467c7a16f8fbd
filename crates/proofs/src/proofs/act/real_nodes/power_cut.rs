//! The machine loses its power in the middle of a drain: one pod is ending, and the eviction of another one is refused by a budget. Until
//! the machine is back, nothing more happens to its pods. After the boot the drain goes on.

use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::Value;
use testbed::eventually_within;
use testbed::fault_proxy::SentWrite;
use tokio::time::sleep;

use super::drain::{GRACE, LAST_WORDS, SAVES, WORKING};
use super::judge::Treatment;
use super::trial::{Machine, PATIENCE, Trial, quarantine};

/// Does not end at SIGTERM.
const STAYS: &str = "trap 'echo asked to end' TERM; echo working; while :; do sleep 0.1; done";
const ASKED: &str = "asked to end";
/// Seconds that [`STAYS`] may take. It outlasts the time without power, so that only a forced deletion would end the pod.
const LONG_GRACE: u32 = 600;
/// An uncontained memory error: the node leaves at once.
const UNCONTAINED: &[(&str, u64)] = &[("95", 1)];
/// The pod that is ending when the power is cut, and the one whose budget refuses the eviction.
const ENDING: &str = "ending-0";
const REFUSED: &str = "refused-0";
const REFUSED_JOB: &str = "refused";
/// How long the controller is watched after the cluster has declared the node unreachable.
const WATCHED: Duration = Duration::from_secs(8);

/// What must be the same until the power is back.
#[derive(Debug, PartialEq)]
struct PodState {
    uid: Value,
    ends_at: Value,
    grace: Value,
}

pub(super) async fn case(trial: &Trial<'_>, machine: &mut Machine, treatment: &mut Treatment) -> Result<()> {
    treatment.ends(ENDING, &trial.run_pod(machine, (ENDING, "ending"), STAYS, LONG_GRACE).await?);
    treatment.ends(REFUSED, &trial.run_pod(machine, (REFUSED, REFUSED_JOB), SAVES, GRACE).await?);
    for pod in [ENDING, REFUSED] {
        machine.wait_for_line(pod, WORKING, 1).await?;
    }
    trial.protect(REFUSED_JOB, 1).await?;
    trial.report(machine, UNCONTAINED).await?;
    let taint = trial.wait_for_taint(machine).await?;
    machine.wait_for_line(ENDING, ASKED, 1).await?;
    trial.wait_for_eviction(REFUSED, 429).await?;
    trial.expect(trial.stage(machine).await? == "Draining", "the power is cut during the drain");

    without_power(trial, machine, &taint).await?;
    after_boot(trial, machine, &taint).await
}

/// From the power cut until the node has been unreachable for a while.
async fn without_power(trial: &Trial<'_>, machine: &mut Machine, taint: &Value) -> Result<()> {
    let before = (state_of(trial, ENDING).await?, state_of(trial, REFUSED).await?);
    trial.expect(!before.0.ends_at.is_null(), "one pod is ending when the power is cut");
    trial.expect(before.1.ends_at.is_null(), "the other pod is not ending when the power is cut");
    machine.real.power_cut().await?;
    let known = actions_on(trial, machine).len();
    eventually_within(PATIENCE, "the node to be unreachable", async || {
        let node = trial.node(machine).await?;
        let conditions = node["status"]["conditions"].as_array().cloned().unwrap_or_default();
        Ok(conditions.iter().any(|one| one["type"] == "Ready" && one["status"] == "Unknown"))
    })
    .await?;
    sleep(WATCHED).await;

    let later = actions_on(trial, machine);
    for write in later.iter().skip(known) {
        let what = (&write.call.place, &write.call.name, write.status);
        trial.expect(!write.is_carried_out(), format_args!("nothing is carried out without power: {what:?}"));
        trial.expect(write.call.name == REFUSED, format_args!("nothing new is tried without power: {what:?}"));
    }
    let after = (state_of(trial, ENDING).await?, state_of(trial, REFUSED).await?);
    trial.expect(after == before, format_args!("the pods stay as they were: {before:?}, then {after:?}"));
    let node = trial.node(machine).await?;
    trial.expect(quarantine(&node).as_ref() == Some(taint), "the quarantine taint stays without power");
    let taints = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
    let is_released = taints.iter().any(|one| one["key"] == "node.kubernetes.io/out-of-service");
    trial.expect(!is_released, "the pods of the machine are not released");
    trial.expect(trial.stage(machine).await? == "Draining", "the drain waits for the machine");
    Ok(())
}

/// From the boot until the drain is complete.
async fn after_boot(trial: &Trial<'_>, machine: &mut Machine, taint: &Value) -> Result<()> {
    let (boot_id, uid) = (machine.real.boot_id().to_owned(), machine.node.uid.clone());
    machine.boot().await?;
    let node = trial.node(machine).await?;
    let seen = node["status"]["nodeInfo"]["bootID"].as_str().unwrap_or_default();
    trial.expect(seen == machine.real.boot_id() && seen != boot_id, "the kubelet reports another boot id");
    trial.equip(machine).await?;
    trial.expect(machine.node.uid == uid, "a boot does not change the registration");
    trial.report(machine, &[]).await?;

    machine.wait_for_line(REFUSED, WORKING, 2).await?;
    trial.expect(trial.pod(REFUSED).await?.is_some(), "a pod whose eviction is refused runs again after the boot");
    let ending = state_of_some(trial.pod(ENDING).await?);
    if let Some(ending) = ending {
        trial.expect(!ending.ends_at.is_null(), "the ending pod is not revived");
    }
    trial.protect(REFUSED_JOB, 0).await?;
    machine.wait_for_line(REFUSED, LAST_WORDS, 1).await?;
    trial.wait_for_eviction(REFUSED, 201).await?;
    for pod in [REFUSED, ENDING] {
        eventually_within(PATIENCE, &format!("pod {pod} to be gone"), async || Ok(trial.pod(pod).await?.is_none()))
            .await?;
    }
    trial.wait_for_stage(machine, "Repairing").await?;
    trial.expect(quarantine(&trial.node(machine).await?).as_ref() == Some(taint), "the taint of the same action stays");
    for pod in [REFUSED, ENDING] {
        let count = trial.sent("pods/eviction", pod).iter().filter(|write| write.is_carried_out()).count();
        trial.expect(count == 1, format_args!("{pod} is evicted once, not {count} times"));
    }
    Ok(())
}

/// The writes of the controller on the node and on its pods.
fn actions_on(trial: &Trial<'_>, machine: &Machine) -> Vec<SentWrite> {
    let all = trial.proxy.written().into_iter();
    let names = [machine.node.name.as_str(), ENDING, REFUSED];
    let is_other =
        |place: &str| place.split('/').next().is_some_and(|resource| resource == "nodes" || resource == "pods");
    all.filter(|write| is_other(&write.call.place) && names.contains(&write.call.name.as_str())).collect()
}

async fn state_of(trial: &Trial<'_>, pod: &str) -> Result<PodState> {
    state_of_some(trial.pod(pod).await?).with_context(|| format!("no pod {pod}"))
}

fn state_of_some(pod: Option<Value>) -> Option<PodState> {
    let metadata = pod?["metadata"].take();
    let field = |name: &str| metadata[name].clone();
    Some(PodState {
        uid: field("uid"),
        ends_at: field("deletionTimestamp"),
        grace: field("deletionGracePeriodSeconds"),
    })
}
