//! What a leadership costs, what ends it and what does not, and the conditions that scripts wait for.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, ResourceExt as _};
use mainstay_api::{Cell, ConditionStatus, Fabric, GpuNode, Incident};
use mainstay_model::Stage;
use serde_json::json;
use testbed::eventually;

use crate::test_cluster::ObservedCluster;

#[tokio::test]
async fn a_faulty_node_costs_few_writes() -> Result<()> {
    let bed = ObservedCluster::start("writes", 8).await?;
    let running = bed.controller(None).await?;
    for node in &bed.nodes {
        bed.report(node, 1, &[]).await?;
    }
    eventually("a record of every node", async || {
        let records = bed.list::<GpuNode>().await;
        records.len() == 8 && records.iter().all(|record| record.status.is_some())
    })
    .await?;
    let count = async || -> Result<BTreeMap<String, u64>> {
        bed.settled_versions().await?;
        tokio::time::sleep(Duration::from_secs(3)).await;
        let mut counts = bed.cluster.audited_write_counts("mainstay-controller")?;
        counts.retain(|place, _| !place.contains("leases") && !place.contains("cells"));
        Ok(counts)
    };
    let added = |before: &BTreeMap<String, u64>, after: &BTreeMap<String, u64>| -> BTreeMap<String, u64> {
        let more = |place: &String| after[place] - before.get(place).copied().unwrap_or(0);
        after.keys().map(|place| (place.clone(), more(place))).filter(|(_, more)| *more > 0).collect()
    };
    let before = count().await?;
    bed.report(&bed.nodes[3], 2, &[("79", 3)]).await?;
    eventually("its incident", async || Some(bed.list::<Incident>().await).filter(|all| all.len() == 1)).await?;
    let after_one = count().await?;
    let one = added(&before, &after_one);
    let expected = [
        // Its new stage, and the Event about it.
        ("mainstay.dev/gpunodes/status", 1),
        ("events.k8s.io/events", 2),
        // An object is created without its status. The other Event is about the incident.
        ("mainstay.dev/incidents", 1),
        ("mainstay.dev/incidents/status", 1),
    ];
    assert_eq!(one, expected.map(|(place, count)| (place.to_owned(), count)).into(), "one faulty node");

    let record = bed.get::<GpuNode>(&bed.nodes[3].name).await.expect("a record");
    let incident = bed.list::<Incident>().await.remove(0);
    for fields in
        [record.metadata, incident.metadata].iter().flat_map(|metadata| metadata.managed_fields.iter().flatten())
    {
        assert_eq!(fields.manager.as_deref(), Some("mainstay-controller"), "one field manager: {fields:?}");
    }

    // A burst of reports, while the first writes are on their way.
    for sequence in 2..6 {
        for node in &bed.nodes[4..] {
            bed.report(node, sequence, &[("79", sequence)]).await?;
        }
    }
    let suspects = async || {
        let records = bed.list::<GpuNode>().await;
        records.iter().filter(|one| one.status.as_ref().is_some_and(|status| status.stage == Stage::Suspect)).count()
    };
    eventually("five suspects", async || (suspects().await == 5).then_some(())).await?;
    let burst = added(&after_one, &count().await?);
    // One for the fault, one for the evidence after it, and one where the wait changed to a shared cause.
    let statuses = burst["mainstay.dev/gpunodes/status"];
    assert!((4..=12).contains(&statuses), "four faulty nodes: {burst:?}");
    running.stop().await?;
    bed.only_ours_was_written()
}

#[tokio::test]
async fn an_edited_fabric_is_read_with_the_same_lease_and_epoch_and_nothing_is_logged_twice() -> Result<()> {
    let bed = ObservedCluster::start("edited", 4).await?;
    let folder = tempfile::tempdir()?;
    let running = bed.controller(Some(folder.path())).await?;
    let [sick, later, ..] = &bed.nodes[..] else { panic!("four nodes") };
    for node in &bed.nodes {
        bed.report(node, 1, &[]).await?;
    }
    bed.report(sick, 2, &[("79", 3)]).await?;
    let is_suspect = async |name: &str| {
        let status = bed.get::<GpuNode>(name).await?.status?;
        (status.stage == Stage::Suspect).then_some(())
    };
    eventually("the sick node's record", async || is_suspect(&sick.name).await).await?;
    eventually("its incident", async || (!bed.list::<Incident>().await.is_empty()).then_some(())).await?;
    let before = bed.settled_versions().await?;
    let leases: Api<Lease> = Api::namespaced(bed.admin(), testbed::NAMESPACE);
    let leads = async || -> Result<_> {
        let spec = leases.get("mainstay-leader").await?.spec.unwrap_or_default();
        let epoch = bed.get::<Cell>("cell").await.and_then(|cell| cell.status).map(|status| status.epoch);
        Ok((spec.lease_transitions, spec.holder_identity, epoch))
    };
    let led = leads().await?;
    let lines = || -> Result<Vec<String>> {
        let text = std::fs::read_to_string(folder.path().join("audit.jsonl"))?;
        let logged = text.lines().filter(|line| !line.contains("\"kind\":\"led\""));
        Ok(logged.map(|line| line.split_once("\"kind\"").map_or(line, |(_, rest)| rest).to_owned()).collect())
    };
    let logged = lines()?;
    assert!(logged.iter().any(|line| line.contains("dryRun")), "{logged:?}");

    let fabric = bed.list::<Fabric>().await[0].name_any();
    bed.kubectl(&["patch", "fabric", &fabric, "--type=merge", "-p", r#"{"spec":{"rails":4}}"#]).await?;
    eventually("everything to be read again", async || {
        let text = running.metrics();
        text.lines().any(|line| line == "mainstay_watch_lists_total{kind=\"nodes\"} 2").then_some(())
    })
    .await?;
    assert_eq!(bed.settled_versions().await?, before, "reading again changed something");
    bed.report(later, 2, &[("79", 3)]).await?;
    eventually("a fault after the edit", async || is_suspect(&later.name).await).await?;
    assert_eq!(leads().await?, led, "an edit changes neither the Lease nor the epoch");
    running.stop().await?;
    let all = lines()?;
    let again: Vec<&String> = all.iter().skip(logged.len()).filter(|line| logged.contains(line)).collect();
    assert!(again.is_empty(), "logged twice: {again:?}");
    bed.only_ours_was_written()
}

#[tokio::test]
async fn a_cell_below_the_epoch_that_two_agents_report_counts_as_restored() -> Result<()> {
    let bed = ObservedCluster::start("witnessed", 4).await?;
    let folder = tempfile::tempdir()?;
    for node in &bed.nodes {
        bed.report(node, 1, &[]).await?;
    }
    let running = bed.controller(Some(folder.path())).await?;
    let names_epoch = async |node: &str| {
        let patch = json!({ "spec": { "sequence": 2, "highestEpoch": 9 } }).to_string();
        bed.kubectl(&["patch", "nodereport", node, "--type=merge", "-p", &patch]).await.map(drop)
    };
    let restored = || running.metrics().lines().any(|line| line == "mainstay_cell_restored_total 1");
    names_epoch(&bed.nodes[0].name).await?;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(!restored(), "one node may lie");
    names_epoch(&bed.nodes[1].name).await?;
    eventually("the alert's counter", async || restored().then_some(())).await?;
    let current = async || {
        let conditions = bed.get::<Cell>("cell").await?.status?.conditions.0;
        conditions.into_iter().find(|one| one.type_.as_str() == "Current")
    };
    let condition = eventually("the condition", async || {
        current().await.filter(|condition| condition.status == ConditionStatus::False)
    })
    .await?;
    assert_eq!(condition.reason.as_str(), "RestoredStore");
    running.stop().await?;
    let seen = std::fs::read_to_string(folder.path().join("epoch-seen"))?;
    assert_eq!(seen, "9", "the next leader on this disk knows it");
    bed.only_ours_was_written()
}

#[tokio::test]
async fn kubectl_waits_for_a_node_in_service_and_for_a_closed_incident() -> Result<()> {
    let bed = ObservedCluster::start("waited", 2).await?;
    bed.maps_condition("KernelDeadlock", "gpu-off-the-bus").await?;
    let running = bed.controller(None).await?;
    let [node, healthy] = &bed.nodes[..] else { panic!("two nodes") };
    for node in &bed.nodes {
        bed.report(node, 1, &[]).await?;
    }
    let wait = async |condition: &str, object: &str| {
        bed.kubectl(&["wait", &format!("--for=condition={condition}"), object, "--timeout=30s"]).await
    };
    let gpu_node = format!("gpunode/{}", node.name);
    eventually("both objects", async || (bed.list::<GpuNode>().await.len() == 2).then_some(())).await?;
    wait("InService", &gpu_node).await?;
    bed.complains(node, "KernelDeadlock", "True").await?;
    wait("InService=False", &gpu_node).await?;
    let incident = eventually("its incident", async || bed.list::<Incident>().await.pop()).await?.name_any();
    wait("Closed=False", &format!("incident/{incident}")).await?;
    bed.complains(node, "KernelDeadlock", "False").await?;
    wait("InService", &gpu_node).await?;
    wait("Closed", &format!("incident/{incident}")).await?;

    // An edit of the spec makes the stored condition stale until the controller has seen the edit.
    let resolved = json!({ "spec": { "acknowledgement": { "by": "ana@example.com" } } });
    bed.kubectl(&["patch", "incident", &incident, "--type=merge", "-p", &resolved.to_string()]).await?;
    wait("Closed", &format!("incident/{incident}")).await?;
    let hold = json!({ "spec": { "request": { "kind": "Hold", "reason": "test", "by": "ana@example.com" } } });
    let healthy = format!("gpunode/{}", healthy.name);
    bed.kubectl(&["patch", &healthy, "--type=merge", "-p", &hold.to_string()]).await?;
    bed.kubectl(&["patch", &healthy, "--type=json", "-p", r#"[{"op":"remove","path":"/spec/request"}]"#]).await?;
    wait("InService", &healthy).await?;
    let before = bed.settled_versions().await?;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(bed.versions().await, before, "an unchanged status was written again");
    running.stop().await?;
    bed.only_ours_was_written()
}
