//! A controller that may act, on a real API server with its fence: what it does to a faulty node and its jobs, in which order, and what it
//! leaves alone. The API server's audit log is the judge. The nodes are KWOK's: no container runs.

#![cfg(test)]

#[path = "act/acting_cluster.rs"]
mod acting_cluster;

use acting_cluster::{ActingCluster, Change, LEASE};
use anyhow::Result;
use mainstay_api::{Cell, CheckpointRequest, GpuNode};
use mainstay_model::Stage;
use serde_json::json;
use testbed::test_cluster::resource_path;
use testbed::{PlayedExecutor, eventually};
use tokio::sync::Mutex;

/// A GPU that fell off the bus: the node leaves at once, and its jobs get no time.
const OFF_THE_BUS: &[(&str, u64)] = &[("79", 3)];
/// A contained memory error: the node leaves with the next checkpoint.
const CONTAINED: &[(&str, u64)] = &[("94", 1)];

#[tokio::test]
async fn a_faulty_node_is_quarantined_drained_repaired_tested_and_returned() -> Result<()> {
    let bed = ActingCluster::start("treated", 8).await?;
    let (sick, calm) = (bed.nodes[3].clone(), bed.nodes[4].clone());
    bed.run_pod("train-0", &sick, &[("job", "train")]).await?;
    bed.run_pod("train-1", &calm, &[("job", "train")]).await?;
    let before = bed.node(&sick.name).await?;
    bed.allow("Act").await?;
    bed.report_all_healthy().await?;
    let running = bed.controller().await?;
    let executor = Mutex::new(PlayedExecutor::start(&bed, &sick).await?);

    bed.report_xids(&sick, 2, OFF_THE_BUS).await?;
    let out = eventually("our taint", async || {
        bed.node(&sick.name).await.ok().filter(|node| node.pointer("/spec/taints").is_some())
    })
    .await?;
    assert_eq!(out["spec"]["taints"][0]["key"], "mainstay.dev/quarantined");
    assert_eq!(out["spec"]["taints"][0]["effect"], "NoSchedule");
    eventually("the job's pod gone from the sick node", async || bed.pod("train-0").await.ok().filter(Option::is_none))
        .await?;
    assert!(bed.pod("train-1").await?.is_some(), "the pod on the healthy node stays");

    eventually("the node back in service", async || {
        let _ = executor.lock().await.answer(&bed, &sick).await;
        let stored = bed.get::<GpuNode>(&sick.name).await?.status?;
        let node = bed.node(&sick.name).await.ok()?;
        (stored.stage == Stage::InService && node.pointer("/spec/taints").is_none()).then_some(())
    })
    .await?;
    let executor = executor.into_inner();
    assert!(executor.ran.iter().any(|(_, what)| what == "standard"), "it was tested: {:?}", executor.ran);
    let mut after = bed.node(&sick.name).await?;
    for key in ["epoch", "approval", "plan"] {
        let annotations = after["metadata"]["annotations"].as_object_mut().expect("annotations");
        assert!(annotations.remove(&format!("mainstay.dev/{key}")).is_some(), "the last action is named: {key}");
    }
    for place in ["/metadata/labels", "/metadata/annotations", "/spec"] {
        let at = |node: &serde_json::Value| node.pointer(place).cloned().unwrap_or_else(|| json!({}));
        assert_eq!(at(&after), at(&before), "{place} is as before the treatment");
    }
    running.stop().await?;
    assert_eq!(bed.field_managers()?.into_iter().collect::<Vec<_>>(), ["mainstay-controller"]);

    let changes = bed.changes();
    let at = |wanted: &dyn Fn(&Change) -> bool| changes.iter().position(wanted);
    let stored = at(&|one| one.place == "gpunodes/status" && one.body.contains("\"Quarantined\"")).expect("stored");
    let tainted = at(&|one| one.place == "nodes" && one.body.contains("mainstay.dev/quarantined")).expect("tainted");
    let evicted = at(&|one| one.place == "pods/eviction").expect("evicted");
    let returned = changes.iter().rposition(|one| one.place == "nodes").expect("returned");
    assert!(stored < tainted && tainted < evicted && evicted < returned, "{stored} {tainted} {evicted} {returned}");
    for one in changes.iter().filter(|one| one.place == "nodes") {
        assert!(one.body.contains("/metadata/resourceVersion") && one.body.contains("/metadata/uid"), "{one:?}");
        assert_eq!(one.name, sick.name, "no other node is written: {one:?}");
    }
    for one in changes.iter().filter(|one| one.place == "pods/eviction") {
        assert!(one.body.contains("preconditions") && one.body.contains("resourceVersion"), "{one:?}");
        assert_eq!(one.name, "train-0", "no other pod is evicted: {one:?}");
    }
    let taints = changes.iter().filter(|one| one.place == "nodes").count();
    let evictions = changes.iter().filter(|one| one.place == "pods/eviction").count();
    assert_eq!((taints, evictions), (2, 1), "nothing is done twice: {changes:?}");
    Ok(())
}

#[tokio::test]
async fn a_job_is_asked_to_save_and_stopped_after_its_answer_and_a_tenants_budget_is_kept() -> Result<()> {
    let bed = ActingCluster::start("asked", 8).await?;
    let sick = bed.nodes[2].clone();
    bed.run_saving_pod("train-0", &sick, "train").await?;
    bed.protect("train", 1).await?;
    bed.allow("Act").await?;
    bed.report_all_healthy().await?;
    let running = bed.controller().await?;
    bed.report_xids(&sick, 2, CONTAINED).await?;

    let requests = eventually("a checkpoint request", async || {
        Some(bed.all_in_default::<CheckpointRequest>().await).filter(|all| !all.is_empty())
    })
    .await?;
    let [request] = &requests[..] else { panic!("{requests:?}") };
    assert_eq!(
        (request.spec.gang.as_str(), request.spec.node.as_ref().map(|node| node.as_str())),
        ("train", Some(&*sick.name))
    );
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    assert!(bed.evictions_sent() == 0, "it is not stopped before it answers");

    bed.answer_checkpoint(request, 1_200).await?;
    eventually("an eviction that the tenant's budget refuses", async || {
        let refused = bed.changes_refused().into_iter().find(|one| one.place == "pods/eviction" && one.code == 429);
        refused.map(drop)
    })
    .await?;
    assert!(bed.pod("train-0").await?.is_some_and(|pod| pod["metadata"]["deletionTimestamp"].is_null()));
    bed.protect("train", 0).await?;
    eventually("the pod gone once the budget allows it", async || {
        bed.pod("train-0").await.ok().filter(Option::is_none)
    })
    .await?;
    assert_eq!(bed.all_in_default::<CheckpointRequest>().await.len(), 1, "it is asked once");
    running.stop().await?;
    Ok(())
}

#[tokio::test]
async fn another_tools_treatment_is_not_disturbed_and_without_promotion_nothing_is_done() -> Result<()> {
    let bed = ActingCluster::start("others", 8).await?;
    let (theirs, ours, observed) = (bed.nodes[1].clone(), bed.nodes[2].clone(), bed.nodes[3].clone());
    bed.merge(
        "/api/v1/nodes",
        &theirs.name,
        &json!({ "metadata": { "labels": { "dgxc.nvidia.com/nvsentinel-state": "quarantined" } } }),
    )
    .await?;
    bed.report_all_healthy().await?;
    let running = bed.controller().await?;
    bed.report_xids(&observed, 2, OFF_THE_BUS).await?;
    eventually("a dry run", async || {
        let status = bed.get::<GpuNode>(&observed.name).await?.status?;
        (!status.proposals.as_slice().is_empty()).then_some(())
    })
    .await?;
    assert_eq!(bed.writes_to_others(), 0, "in mode Observe nothing is written to nodes and pods");

    bed.allow("Act").await?;
    for node in [&theirs, &ours] {
        bed.report_xids(node, 2, OFF_THE_BUS).await?;
    }
    eventually("our taint", async || {
        bed.node(&ours.name).await.ok().filter(|node| node.pointer("/spec/taints").is_some())
    })
    .await?;
    let events = eventually("an Event that names the other tool", async || {
        let text = bed.kubectl(&["get", "events", "-o", "jsonpath={.items[*].message}"]).await.ok()?;
        text.contains("nvsentinel treats this node now").then_some(text)
    })
    .await?;
    assert!(events.contains(": refused: nvsentinel"), "{events}");
    assert!(bed.node(&theirs.name).await?.pointer("/spec/taints").is_none());
    running.stop().await?;
    Ok(())
}

#[tokio::test]
async fn a_node_that_registered_again_unseen_is_not_touched() -> Result<()> {
    let bed = ActingCluster::start("again", 8).await?;
    let (again, known) = (bed.nodes[1].clone(), bed.nodes[5].clone());
    bed.allow("Act").await?;
    bed.report_all_healthy().await?;
    let running = bed.controller().await?;
    bed.report_xids(&known, 2, OFF_THE_BUS).await?;
    eventually("our taint on the known node", async || {
        bed.node(&known.name).await.ok().filter(|node| node.pointer("/spec/taints").is_some())
    })
    .await?;

    bed.hide_node_events();
    bed.register_again(&again).await?;
    bed.report_xids(&again, 2, OFF_THE_BUS).await?;
    eventually("the decision to quarantine it", async || {
        let status = bed.get::<GpuNode>(&again.name).await?.status?;
        (status.stage != Stage::InService).then_some(())
    })
    .await?;
    tokio::time::sleep(LEASE).await;
    let writes = bed.changes().into_iter().filter(|one| one.place == "nodes" && one.name == again.name).count();
    assert_eq!(writes, 0, "the decision was about another registration");
    assert!(bed.node(&again.name).await?.pointer("/spec/taints").is_none());
    running.stop().await
}

#[tokio::test]
async fn a_leader_that_was_paused_does_nothing_after_the_next_one_leads() -> Result<()> {
    let bed = ActingCluster::start("paused", 8).await?;
    let sick = bed.nodes[3].clone();
    bed.allow("Act").await?;
    bed.report_all_healthy().await?;
    let first = bed.controller().await?;
    eventually("the first leader", async || bed.epoch().await.filter(|epoch| *epoch == 1)).await?;
    // Past its barrier, so that only the Lease and the fence hold it back.
    tokio::time::sleep(LEASE * 2).await;
    bed.pause(LEASE * 4);
    bed.report_xids(&sick, 2, OFF_THE_BUS).await?;
    let second = bed.second_controller().await?;
    eventually("the second leader", async || bed.epoch().await.filter(|epoch| *epoch == 2)).await?;
    let before = bed.changes().len();
    eventually("the second leader's taint", async || {
        bed.node(&sick.name).await.ok().filter(|node| node.pointer("/spec/taints").is_some())
    })
    .await?;
    let node = bed.node(&sick.name).await?;
    assert_eq!(node["metadata"]["annotations"]["mainstay.dev/epoch"], "2", "the second leader acted");
    tokio::time::sleep(LEASE * 3).await;
    let late: Vec<Change> = bed.changes().into_iter().skip(before).filter(|one| one.place != "leases").collect();
    let acted = late.iter().filter(|one| one.place == "nodes" || one.place == "pods/eviction").count();
    assert_eq!(acted, 0, "the paused leader acted after its time: {late:?}");
    first.stop().await?;
    second.stop().await
}

#[tokio::test]
async fn an_edit_during_a_treatment_writes_no_order() -> Result<()> {
    let bed = ActingCluster::start("edited", 8).await?;
    let sick = bed.nodes[3].clone();
    bed.allow("Act").await?;
    bed.report_all_healthy().await?;
    let running = bed.controller().await?;
    bed.report_xids(&sick, 2, OFF_THE_BUS).await?;
    let stored = async || bed.get::<GpuNode>(&sick.name).await?.status;
    eventually("the repair", async || stored().await.filter(|status| status.stage == Stage::Repairing)).await?;
    // No executor runs on the node, so the executor of effects refuses the order. The edit makes the stored condition stale.
    let request = json!({ "spec": { "request": { "kind": "Quarantine", "reason": "a look", "by": "ana" } } });
    bed.merge(&resource_path("gpunodes"), &sick.name, &request).await?;
    let seen = eventually("a condition of the edited object", async || {
        let generation = bed.get::<GpuNode>(&sick.name).await?.metadata.generation?;
        let status = stored().await?;
        let is_seen = status.conditions.0.iter().any(|one| one.observed_generation == generation && generation > 1);
        is_seen.then_some(status)
    })
    .await?;
    assert_eq!(seen.orders.as_slice(), [], "an order needs an effect of its own");
    tokio::time::sleep(LEASE).await;
    assert_eq!(stored().await.map(|status| status.orders.as_slice().len()), Some(0));
    running.stop().await
}

#[tokio::test]
async fn a_withdrawn_permission_ends_the_leadership_and_is_shown() -> Result<()> {
    let bed = ActingCluster::start("withdrawn", 8).await?;
    bed.allow("Act").await?;
    bed.report_all_healthy().await?;
    let running = bed.controller().await?;
    let is_honoured = async |wanted: &str, epoch: i64| {
        let status = bed.get::<Cell>("cell").await?.status?;
        let found = status.conditions.0.iter().find(|one| one.type_.as_str() == "ModeHonoured")?;
        (format!("{:?}", found.status) == wanted && bed.epoch().await? == epoch).then_some(())
    };
    eventually("the mode in effect", async || is_honoured("True", 1).await).await?;
    bed.kubectl(&["delete", "clusterrole", "mainstay-controller-acts"]).await?;
    eventually("a leadership without the permission", async || is_honoured("False", 2).await).await?;
    bed.report_xids(&bed.nodes[3], 2, OFF_THE_BUS).await?;
    eventually("a dry run", async || {
        let status = bed.get::<GpuNode>(&bed.nodes[3].name).await?.status?;
        (!status.proposals.as_slice().is_empty()).then_some(())
    })
    .await?;
    running.stop().await
}
