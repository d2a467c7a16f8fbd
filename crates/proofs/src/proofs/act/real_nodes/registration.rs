//! A node registers again under its name, and a pod is created again under its name, while the controller acts on the earlier one. First
//! its view is behind: it reads the new uid and sends nothing. Then its patch is on the way, and later its eviction: the API server refuses
//! both.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use kube::api::{DeleteParams, PostParams};
use kube::core::Request;
use serde_json::{Value, json};
use testbed::fault_proxy::{CallFilter, EventFault, EventRule, Fault, Rule, SentWrite, Turn, Verb, WatchEvent};
use testbed::{SOON, eventually_within};
use tokio::time::{Instant, sleep};

use super::drain::{GRACE, OFF_THE_BUS, SAVES, WORKING};
use super::judge::Treatment;
use super::trial::{HELD, Machine, NODES, PATIENCE, Trial, quarantine, uid_of};

const POD: &str = "again-0";
const JOB: &str = "again";
/// Time between two reports of the agent.
const REPORT_EVERY: Duration = Duration::from_secs(3);

pub(super) async fn case(trial: &Trial<'_>, machine: &mut Machine, treatment: &mut Treatment) -> Result<()> {
    let first = machine.node.uid.clone();
    let old_pod = trial.run_pod(machine, (POD, JOB), SAVES, GRACE).await?;
    treatment.ends(POD, &old_pod);
    machine.wait_for_line(POD, WORKING, 1).await?;
    let second = registered_by_the_kubelet(trial, machine).await?;
    treatment.registered(&second);
    let third = registered_while_a_patch_is_on_the_way(trial, machine).await?;
    treatment.registered(&third);
    let uids = [&first, &second, &third];
    trial.expect(
        uids.iter().all(|uid| uids.iter().filter(|other| other == &uid).count() == 1),
        "every registration has its own uid",
    );
    let patches = trial.sent("nodes", &machine.node.name);
    trial.expect(patches.iter().all(|write| tested_uid(write) != first), "no request names the first registration");

    let new_pod = created_again_during_the_eviction(trial, machine, &old_pod).await?;
    treatment.ends(POD, &new_pod);
    trial.wait_for_end_of_pod(POD, &new_pod).await?;
    trial.wait_for_stage(machine, "Repairing").await
}

/// The machine boots without its Node object, so its kubelet registers again. The controller gets no event about it, and decides on the
/// registration that it knows.
async fn registered_by_the_kubelet(trial: &Trial<'_>, machine: &mut Machine) -> Result<String> {
    let (name, first) = (machine.node.name.clone(), machine.node.uid.clone());
    let hidden = name.clone();
    let is_hidden = move |event: &WatchEvent| event.resource == "nodes" && event.name == hidden;
    trial.proxy.add_for_events(EventRule::new(EventFault::Drop, Turn::Every, is_hidden));
    machine.real.power_cut().await?;
    delete_node(trial, &name).await?;
    machine.boot().await?;
    trial.equip(machine).await?;
    let second = machine.node.uid.clone();
    trial.expect(second != first, "the kubelet has registered its node again");

    trial.report(machine, OFF_THE_BUS).await?;
    eventually_within(PATIENCE, "an action that ends without a request", async || {
        let lines = trial.audit_lines()?;
        Ok(lines.iter().any(|line| line["kind"] == "acted" && line["node"] == *name && line["outcome"] == "conflict"))
    })
    .await?;
    trial.expect(trial.sent("nodes", &name).is_empty(), "an action on the earlier registration sends no request");
    trial.expect(quarantine(&trial.node(machine).await?).is_none(), "the new registration is not tainted by it");
    Ok(second)
}

/// The controller sees the second registration and patches it. The patch is held on its way until there is a third one.
async fn registered_while_a_patch_is_on_the_way(trial: &Trial<'_>, machine: &mut Machine) -> Result<String> {
    let (name, second) = (machine.node.name.clone(), machine.node.uid.clone());
    trial.proxy.clear_rules();
    hold_first(trial, CallFilter::on("nodes").verb(Verb::Patch).named(&name));
    // Any change of the node is an event that shows the controller the second registration.
    trial.bed().merge(NODES, &name, &json!({ "metadata": { "annotations": { "example.com/touched": "" } } })).await?;
    wait_for_held(trial, "nodes", &name).await?;
    let third = register(trial, machine).await?;
    machine.node.uid.clone_from(&third);
    let patch = wait_for_first_answer(trial, "nodes", &name).await?;
    trial.expect(tested_uid(&patch) == second, "the patch that was on the way names the second registration");
    trial.expect(patch.status == Some(422), format_args!("the patch is refused with 422, not {:?}", patch.status));
    Ok(third)
}

/// The eviction is held on its way until its pod was deleted and another one has its name.
async fn created_again_during_the_eviction(trial: &Trial<'_>, machine: &mut Machine, old_pod: &str) -> Result<String> {
    hold_first(trial, CallFilter::on("pods/eviction").named(POD));
    let until = Instant::now() + PATIENCE;
    // A refused patch is decided again with the next report, or after a minute.
    while trial.sent("pods/eviction", POD).is_empty() {
        ensure!(Instant::now() < until, "no eviction after the third registration");
        trial.report(machine, OFF_THE_BUS).await?;
        sleep(REPORT_EVERY).await;
    }
    let running = trial.pod(POD).await?.context("the pod is gone before its eviction")?;
    trial.expect(running["metadata"]["uid"] == *old_pod, "the pod survives both registrations of its node");
    trial.force_delete_pod(POD).await?;
    let new_pod = trial.run_pod(machine, (POD, JOB), SAVES, GRACE).await?;
    let eviction = wait_for_first_answer(trial, "pods/eviction", POD).await?;
    let now = trial.pod(POD).await?;
    trial.expect(evicted_uid(&eviction) == old_pod, "the eviction that was on the way names the earlier pod");
    trial.expect(
        eviction.status == Some(409),
        format_args!("the eviction is refused with 409, not {:?}", eviction.status),
    );
    if trial.sent("pods/eviction", POD).len() == 1 {
        let is_untouched =
            now.is_some_and(|now| uid_of(&now) == new_pod && now["metadata"]["deletionTimestamp"].is_null());
        trial.expect(is_untouched, "the refused eviction does not touch the new pod");
    }
    trial.wait_for_eviction(POD, 201).await?;
    let carried_out: Vec<SentWrite> =
        trial.sent("pods/eviction", POD).into_iter().filter(SentWrite::is_carried_out).collect();
    let names_new = carried_out.iter().all(|write| evicted_uid(write) == new_pod);
    trial.expect(names_new && carried_out.len() == 1, "the new pod is evicted once, by a request of its own");
    Ok(new_pod)
}

/// Holds the next of these calls on its way to the API server.
fn hold_first(trial: &Trial<'_>, filter: CallFilter) {
    trial.proxy.add(Rule::on(Fault::Stall(HELD), Turn::Nth(1), filter));
}

async fn wait_for_held(trial: &Trial<'_>, place: &str, name: &str) -> Result<()> {
    let is_sent = async || !trial.sent(place, name).is_empty();
    eventually_within(PATIENCE, &format!("a write of {place} {name}"), is_sent).await?;
    let first = trial.sent(place, name).into_iter().next();
    ensure!(first.is_some_and(|first| first.status.is_none()), "the write of {place} {name} was not held");
    Ok(())
}

/// The first write of an object, once the server has answered it.
async fn wait_for_first_answer(trial: &Trial<'_>, place: &str, name: &str) -> Result<SentWrite> {
    let answered = async || trial.sent(place, name).into_iter().next().filter(|first| first.status.is_some());
    eventually_within(SOON, &format!("an answer to the write of {place} {name}"), answered).await
}

async fn delete_node(trial: &Trial<'_>, name: &str) -> Result<()> {
    trial.bed().admin.request::<Value>(Request::new(NODES).delete(name, &DeleteParams::default())?).await?;
    Ok(())
}

/// Deletes the Node object and creates it again. Only uid and resource version differ, so that nothing else refuses a patch. Returns the
/// new uid.
async fn register(trial: &Trial<'_>, machine: &Machine) -> Result<String> {
    let node = trial.node(machine).await?;
    let metadata = &node["metadata"];
    let object = json!({
        "apiVersion": "v1", "kind": "Node", "spec": node["spec"], "status": node["status"],
        "metadata": { "name": metadata["name"], "labels": metadata["labels"], "annotations": metadata["annotations"] },
    });
    delete_node(trial, &machine.node.name).await?;
    let request = Request::new(NODES).create(&PostParams::default(), serde_json::to_vec(&object)?)?;
    let created: Value = trial.bed().admin.request(request).await?;
    Ok(uid_of(&created))
}

/// The uid that a patch of a node tests.
fn tested_uid(write: &SentWrite) -> String {
    let body = write.json();
    let test = body.as_array().into_iter().flatten().find(|one| one["op"] == "test" && one["path"] == "/metadata/uid");
    test.and_then(|test| test["value"].as_str()).unwrap_or_default().to_owned()
}

/// The uid that an eviction names.
fn evicted_uid(write: &SentWrite) -> String {
    write.json()["deleteOptions"]["preconditions"]["uid"].as_str().unwrap_or_default().to_owned()
}
