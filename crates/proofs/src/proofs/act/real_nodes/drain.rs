//! A fault report leads to the quarantine taint. A disruption budget refuses the eviction, and allows it once it is relaxed. The program
//! in the container gets SIGTERM and time for its last words.

use anyhow::{Context as _, Result};

use super::judge::Treatment;
use super::trial::{Machine, Trial, quarantine};

/// Prints its last words at SIGTERM, as a program does that saves its work. It stays long enough for a test to read them.
pub(super) const SAVES: &str =
    "trap 'echo saved at SIGTERM; sleep 3; exit 0' TERM; echo working; while :; do sleep 0.1; done";
pub(super) const LAST_WORDS: &str = "saved at SIGTERM";
pub(super) const WORKING: &str = "working";
/// Seconds that [`SAVES`] may take.
pub(super) const GRACE: u32 = 30;
/// A GPU that fell off the bus: the node leaves at once, and its jobs get no time to save.
pub(super) const OFF_THE_BUS: &[(&str, u64)] = &[("79", 1)];

const POD: &str = "kept-0";
const JOB: &str = "kept";

pub(super) async fn case(trial: &Trial<'_>, machine: &mut Machine, treatment: &mut Treatment) -> Result<()> {
    let uid = trial.run_pod(machine, (POD, JOB), SAVES, GRACE).await?;
    treatment.ends(POD, &uid);
    machine.wait_for_line(POD, WORKING, 1).await?;
    trial.protect(JOB, 1).await?;
    let untouched = trial.node(machine).await?;
    trial.expect(quarantine(&untouched).is_none(), "a healthy node has no quarantine taint");

    trial.report(machine, OFF_THE_BUS).await?;
    let taint = trial.wait_for_taint(machine).await?;
    trial.expect(taint["effect"] == "NoSchedule", format_args!("the taint has the effect NoSchedule: {taint}"));
    let node = trial.node(machine).await?;
    trial.expect(node["spec"]["unschedulable"].is_null(), "the operators' cordon is not used");
    trial.expect(
        !node["metadata"]["labels"]["mainstay.dev/fenced"].is_null(),
        "the treated node has the label of the fence",
    );

    trial.wait_for_eviction(POD, 429).await?;
    let pod = trial.pod(POD).await?.context("the pod is gone although its budget refuses the eviction")?;
    trial.expect(pod["metadata"]["uid"] == *uid, "a refused eviction leaves the pod as it is");
    trial.expect(pod["metadata"]["deletionTimestamp"].is_null(), "a refused eviction begins no end of the pod");
    trial.expect(machine.count_lines(POD, LAST_WORDS)? == 0, "a refused eviction sends no SIGTERM");
    let carried_out = trial.sent("pods/eviction", POD).iter().filter(|write| write.is_carried_out()).count();
    trial.expect(carried_out == 0, "no eviction is carried out against the budget");

    trial.protect(JOB, 0).await?;
    machine.wait_for_line(POD, LAST_WORDS, 1).await?;
    trial.wait_for_eviction(POD, 201).await?;
    trial.wait_for_end_of_pod(POD, &uid).await?;
    trial.wait_for_stage(machine, "Repairing").await?;
    let carried_out = trial.sent("pods/eviction", POD).iter().filter(|write| write.is_carried_out()).count();
    trial.expect(carried_out == 1, format_args!("the pod is evicted once, not {carried_out} times"));
    trial.expect(quarantine(&trial.node(machine).await?) == Some(taint), "the taint stays after the drain");
    Ok(())
}
