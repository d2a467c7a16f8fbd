//! A controller on a real cluster: what an agent says becomes a record and an incident, nothing else is touched, a restart
//! gives the same, and an older leader is kept out by the server.

#![cfg(test)]

#[path = "observe/leadership.rs"]
mod leadership;
#[path = "observe/test_cluster.rs"]
mod test_cluster;

use std::time::Duration;

use anyhow::Result;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod};
use k8s_openapi::api::resource::v1::ResourceSlice;
use kube::api::{Patch, PatchParams};
use kube::{Api, ResourceExt as _};
use mainstay_api::{Cell, ConditionStatus, Fabric, FleetPolicy, GpuNode, Incident, NodeReport};
use mainstay_kube::{LiveView, Settings, SkipReason, SkippedKind, View};
use mainstay_model::{Contract, Execution, Mode, Stage, Step, WaitingOn};
use serde_json::json;
use test_cluster::ObservedCluster;
use testbed::eventually;

#[tokio::test]
async fn what_an_agent_says_becomes_a_record_and_an_incident_and_nothing_else_is_touched() -> Result<()> {
    let bed = ObservedCluster::start("observed", 8).await?;
    let folder = tempfile::tempdir()?;
    let running = bed.controller(Some(folder.path())).await?;
    let sick = &bed.nodes[3];
    for node in &bed.nodes {
        bed.report(node, 1, &[]).await?;
    }
    bed.report(sick, 2, &[("79", 3)]).await?;

    let record = eventually("the sick node's record", async || {
        bed.get::<GpuNode>(&sick.name).await?.status.filter(|status| status.stage == Stage::Suspect)
    })
    .await?;
    assert_eq!((record.epoch, record.waiting_on), (1, WaitingOn::Mode), "{record:?}");
    assert_eq!(record.proposals.as_slice().len(), 1, "what would have been done is on record: {record:?}");
    let incidents =
        eventually("one incident", async || Some(bed.list::<Incident>().await).filter(|all| !all.is_empty())).await?;
    let [incident] = &incidents[..] else { panic!("{incidents:?}") };
    let status = eventually("its status", async || bed.get::<Incident>(&incident.name_any()).await?.status).await?;
    assert_eq!(status.nodes.as_slice().iter().map(|node| node.as_str()).collect::<Vec<_>>(), [sick.name.as_str()]);
    assert_eq!(
        status.subject.part.as_ref().map(|part| part.serial.as_str()),
        Some(sick.serial(3).as_str()),
        "{status:?}"
    );
    assert_eq!(status.evidence.as_slice()[0].code.as_str(), "79");
    eventually("a record of every node that reported", async || {
        let records = bed.list::<GpuNode>().await;
        records.len() == 8 && records.iter().all(|record| record.status.is_some())
    })
    .await?;

    // A restart writes nothing but the takeover: everything was on record.
    let before = bed.settled_versions().await?;
    running.stop().await?;
    let running = bed.controller(Some(folder.path())).await?;
    eventually("the second leadership", async || {
        let epoch = bed.get::<Cell>("cell").await?.status?.epoch;
        (epoch == 2 && running.metrics().contains("mainstay_nodes{stage=\"Suspect\"} 1")).then_some(())
    })
    .await?;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(bed.versions().await, before, "a restart changed something");

    // What was said while nobody led is counted by the next leader, on top of what was.
    running.stop().await?;
    bed.report(sick, 3, &[("79", 3), ("48", 2)]).await?;
    let running = bed.controller(Some(folder.path())).await?;
    eventually("both codes on record", async || {
        let status = bed.get::<GpuNode>(&sick.name).await?.status?;
        let counted = |code: &str| status.arrivals.as_slice().iter().any(|entry| entry.code.as_str() == code);
        (counted("79") && counted("48")).then_some(())
    })
    .await?;
    running.stop().await?;
    bed.only_ours_was_written()?;
    let record = std::fs::read_to_string(folder.path().join("audit.jsonl"))?;
    for kind in ["led", "stage", "dryRun", "incident"] {
        assert!(record.contains(&format!("\"kind\":\"{kind}\"")), "no {kind} in the record:\n{record}");
    }
    Ok(())
}

#[tokio::test]
async fn a_person_sees_what_would_be_done_with_the_rights_of_a_viewer() -> Result<()> {
    let bed = ObservedCluster::start("viewed", 8).await?;
    let viewer = bed.viewer().await?;
    for node in &bed.nodes {
        bed.report(node, 1, &[]).await?;
    }
    let mut following = LiveView::begin(viewer.clone()).await?;
    assert_eq!(following.view().nodes().len(), 8);
    assert_eq!(following.view().unread(), [SkippedKind { kind: "pods", why: SkipReason::Forbidden }]);

    let sick = &bed.nodes[3];
    bed.report(sick, 2, &[("79", 3)]).await?;
    let give_up_at = std::time::Instant::now() + Duration::from_secs(30);
    let would_be = |view: &View| {
        let acts = view.decision().effects.iter().filter(|effect| effect.step == Step::Cordon);
        acts.map(|effect| (effect.node.to_string(), effect.execution)).collect::<Vec<_>>()
    };
    while would_be(following.view()).is_empty() {
        assert!(std::time::Instant::now() < give_up_at, "nothing would be done");
        following.next().await?;
    }
    for _ in 0..2 {
        following.next().await?;
        assert_eq!(would_be(following.view()), [(sick.name.clone(), Execution::DryRun)], "it is forgotten");
    }
    let view = View::read(&viewer).await?;
    assert_eq!(would_be(&view), [(sick.name.clone(), Execution::DryRun)]);
    assert_eq!(view.violations(), &[] as &[String]);
    assert_eq!(bed.list::<GpuNode>().await.len(), 0, "who looks writes nothing");

    // Whoever may read pods sees the work, listed or followed.
    bed.slurmd("slurmd-0", &sick.name).await?;
    let (read, followed) = (View::read(&bed.admin()).await?, LiveView::begin(bed.admin()).await?);
    assert_eq!((read.gangs().len(), followed.view().gangs().len()), (1, 1));
    assert_eq!(read.pod("default", "slurmd-0").map(|(_, node)| node.as_str()), Some(sick.name.as_str()));
    Ok(())
}

#[tokio::test]
async fn people_are_told_what_is_in_force_owners_are_followed_and_reports_of_gone_nodes_go() -> Result<()> {
    let mut bed = ObservedCluster::start("told", 4).await?;
    for node in &bed.nodes {
        bed.report(node, 1, &[]).await?;
    }
    let pools = bed.list::<FleetPolicy>().await;
    let first = pools[0].clone();
    // The controller may read the first, nobody knows the second, and the third is for those who may.
    let owners = json!([
        { "apiVersion": "batch/v1", "plural": "jobs" },
        { "apiVersion": "no.such/v1", "plural": "kinds" },
        { "apiVersion": "v1", "plural": "configmaps" },
    ]);
    let second = json!({
        "metadata": { "name": format!("z-{}", first.name_any()) },
        "spec": { "pool": first.spec.pool, "gang": { "owners": owners } },
    });
    let second: FleetPolicy = bed.make(Api::all(bed.admin()), second).await?;
    let owned = |api: &str, kind: &str, name: &str, uid: &str| json!([{ "apiVersion": api, "kind": kind, "name": name, "uid": uid, "controller": true }]);
    // The collector of garbage lets be what is owned by a kind that it does not know.
    let part = json!({ "metadata": { "name": "part-1", "ownerReferences": owned("a.b/v1", "Train", "nightly", "t") } });
    let part: ConfigMap = bed.make(Api::namespaced(bed.admin(), "default"), part).await?;
    let pod = json!({
        "metadata": {
            "name": "p", "ownerReferences": owned("v1", "ConfigMap", "part-1", &part.uid().unwrap_or_default()),
            "annotations": { "mainstay.dev/saves": "on-request" },
        },
        "spec": { "nodeName": bed.nodes[0].name, "containers": [{ "name": "c", "image": "c" }] },
    });
    let _: Pod = bed.make(Api::namespaced(bed.admin(), "default"), pod).await?;
    bed.take_away(3).await?;
    tokio::time::sleep(Duration::from_secs(3)).await;

    let running = bed.controller(None).await?;
    let accepted = async |name: &str| {
        let conditions = bed.get::<FleetPolicy>(name).await?.status?.conditions.0;
        conditions
            .into_iter()
            .find(|one| one.type_.as_str() == "Accepted")
            .map(|one| (one.status, one.reason.to_string()))
    };
    let words = |status, reason: &str| Some((status, reason.to_owned()));
    let told = eventually("a word on the first policy", async || accepted(&first.name_any()).await).await?;
    assert_eq!(Some(told), words(ConditionStatus::True, "InForce"));
    let told = eventually("a word on the second policy", async || accepted(&second.name_any()).await).await?;
    assert_eq!(Some(told), words(ConditionStatus::False, "Shadowed"));
    eventually("all nodes that are there are placed", async || {
        bed.list::<Fabric>().await.first()?.status.as_ref().filter(|status| status.nodes_placed == 3).map(|_| ())
    })
    .await?;
    eventually("the report of the gone node is gone", async || {
        (bed.list::<NodeReport>().await.len() == 3).then_some(())
    })
    .await?;
    eventually("owners were listed", async || {
        let text = running.metrics();
        text.lines().any(|line| line == "mainstay_watch_lists_total{kind=\"owners\"} 1").then_some(())
    })
    .await?;
    let alone = bed.get::<Cell>("cell").await.and_then(|cell| cell.status).map(|status| status.conditions.0);
    assert!(alone.is_some_and(|all| all.iter().all(|one| one.status == ConditionStatus::True)));

    // What a person sees is the same: one gang, by the topmost owner that is known.
    let view = View::read(&bed.admin()).await?;
    let gangs: Vec<(String, Contract)> =
        view.gangs().iter().map(|(id, facts)| (id.to_string(), facts.contract)).collect();
    assert_eq!(gangs, [("default/train/nightly".to_owned(), Contract::OnRequest)]);
    running.stop().await?;
    bed.only_ours_was_written()
}

#[tokio::test]
async fn a_new_leader_raises_the_epoch_and_the_old_one_is_refused() -> Result<()> {
    let bed = ObservedCluster::start("takeover", 2).await?;
    let settings = || Settings { lease: Duration::from_secs(5), ..Settings::default() };
    let first = bed.leading_controller(settings()).await?;
    let node = &bed.nodes[0];
    bed.report(node, 1, &[("79", 1)]).await?;
    eventually("a record of the first leader", async || bed.get::<GpuNode>(&node.name).await?.status).await?;
    let second = bed.controller_with(settings())?;
    assert!(!second.gauges.is_leading());
    first.kill().await;
    let epoch = eventually("the second leader", async || {
        Some(bed.get::<Cell>("cell").await?.status?.epoch).filter(|epoch| *epoch == 2)
    })
    .await?;
    eventually("its leadership", async || second.gauges.is_leading().then_some(())).await?;

    // What the first one had on its way.
    let late = json!({ "status": { "epoch": epoch - 1, "message": "late" } });
    let (nodes, late) = (bed.as_controller::<GpuNode>(), Patch::Merge(late));
    let refused = nodes.patch_status(&node.name, &PatchParams::default(), &late).await.unwrap_err().to_string();
    assert!(refused.contains("another leader has taken over"), "{refused}");

    // The stop switch and the mode are people's: the controller cannot raise them, and sees them.
    let mode = json!({ "spec": { "mode": "Act" } });
    let mine = bed.as_controller::<Cell>().patch("cell", &PatchParams::default(), &Patch::Merge(mode)).await;
    assert!(mine.is_err());
    assert_eq!(bed.get::<Cell>("cell").await.map(|cell| cell.spec.mode), Some(Mode::Observe));
    second.stop().await?;
    bed.only_ours_was_written()
}

#[tokio::test]
async fn what_others_do_is_seen_counted_and_named() -> Result<()> {
    let bed = ObservedCluster::start("others", 4).await?;
    let [cordoned, sentinel, complained, renewed] = &bed.nodes[..] else { panic!("four nodes") };
    bed.maps_condition("KernelDeadlock", "gpu-off-the-bus").await?;
    let running = bed.controller(None).await?;
    for node in &bed.nodes {
        bed.report(node, 1, &[]).await?;
    }
    bed.kubectl(&["cordon", &cordoned.name]).await?;
    bed.kubectl(&["label", "node", &sentinel.name, "dgxc.nvidia.com/nvsentinel-state=draining"]).await?;
    bed.complains(complained, "KernelDeadlock", "True").await?;
    bed.slurmd("slurm-worker-0", &renewed.name).await?;

    let tells = async |line: &str| {
        let name = line.split('{').next().unwrap_or_default();
        let text = running.metrics();
        let told: Vec<&str> = text.lines().filter(|told| told.starts_with(name)).collect();
        eventually(&format!("a series {line}, not {told:?}"), async || {
            running.metrics().lines().any(|told| told == line)
        })
        .await
    };
    tells("mainstay_nodes_cordoned_by_others{by=\"kubectl\"} 1").await?;
    tells("mainstay_other_remediator_nodes{remediator=\"nvsentinel\"} 1").await?;
    tells("mainstay_slurmd_pods 1").await?;
    let record = eventually("the node that another agent complains about", async || {
        bed.get::<GpuNode>(&complained.name).await?.status.filter(|status| status.stage == Stage::Suspect)
    })
    .await?;
    assert_eq!(record.cause.map(|cause| cause.rule.to_string()).as_deref(), Some("gpu-off-the-bus"));
    let incidents =
        eventually("its incident", async || Some(bed.list::<Incident>().await).filter(|all| !all.is_empty())).await?;
    assert_eq!(incidents.len(), 1, "{incidents:?}");

    // Deleted and made again under the same name: what was said before is of another registration.
    let before = bed.get::<GpuNode>(&renewed.name).await;
    assert!(before.is_some());
    bed.renew(renewed).await?;
    eventually("a wait for a report of its own", async || {
        let status = bed.get::<GpuNode>(&renewed.name).await?.status?;
        (status.waiting_on == WaitingOn::Report).then_some(())
    })
    .await?;
    running.stop().await?;
    bed.only_ours_was_written()
}

#[tokio::test]
async fn mode_act_only_observes_and_the_cell_says_so() -> Result<()> {
    let bed = ObservedCluster::start("modes", 6).await?;
    let [faulty, healthy, ..] = &bed.nodes[..] else { panic!("six nodes") };
    bed.allow_everything("Act").await?;
    for node in &bed.nodes {
        bed.report(node, 1, &[]).await?;
    }
    // What an older version stored in mode Act, without a cordon on either node.
    bed.stored_as_quarantined(faulty).await?;
    bed.stored_as_quarantined(healthy).await?;
    bed.report(faulty, 2, &[("79", 3)]).await?;
    let view = View::read(&bed.admin()).await?;
    assert_eq!(view.mode_in_effect(), Some(Mode::Observe));
    assert!(
        view.mode_notice()
            .is_some_and(|notice| notice.starts_with("Mode Act has no effect: the controller has no permission"))
    );
    assert!(view.decision().effects.iter().all(|effect| match &effect.step {
        Step::Store(persisted) => matches!(persisted.stage, Stage::InService | Stage::Suspect),
        Step::Order(_) | Step::Cordon | Step::Uncordon | Step::AskCheckpoint { .. } | Step::Stop { .. } => {
            effect.execution == Execution::DryRun
        }
        Step::Avoid | Step::EndAvoid | Step::PowerOff | Step::ReleasePods => effect.execution == Execution::DryRun,
    }));

    let folder = tempfile::tempdir()?;
    let running = bed.controller(Some(folder.path())).await?;
    let record = eventually("the faulty node to be suspected", async || {
        bed.get::<GpuNode>(&faulty.name).await?.status.filter(|status| status.stage == Stage::Suspect)
    })
    .await?;
    assert_eq!(record.waiting_on, WaitingOn::Mode, "{record:?}");
    assert!(record.history.as_slice().iter().all(|step| step.to != Stage::Quarantined), "{record:?}");
    eventually("the healthy node to be in service", async || {
        let status = bed.get::<GpuNode>(&healthy.name).await?.status?;
        let is_clean = status.history.as_slice().iter().all(|step| step.to != Stage::Quarantined);
        (status.stage == Stage::InService && is_clean).then_some(())
    })
    .await?;
    let honoured = async || {
        let conditions = bed.get::<Cell>("cell").await?.status?.conditions.0;
        conditions.into_iter().find(|one| one.type_.as_str() == "ModeHonoured")
    };
    let condition = eventually("the condition", honoured).await?;
    assert_eq!((condition.status, condition.reason.as_str()), (ConditionStatus::False, "NoPermissionToAct"));
    assert!(condition.message.as_str().starts_with("Mode Act has no effect:"), "{condition:?}");
    let cordoned = bed.kubectl(&["get", "nodes", "-o", "jsonpath={.items[*].spec}"]).await?;
    assert!(!cordoned.contains("unschedulable") && !cordoned.contains("mainstay.dev"), "{cordoned}");
    assert!(running.metrics().contains("mainstay_mode{mode=\"Observe\"} 1"));

    bed.allow_everything("Observe").await?;
    eventually("the condition to follow the mode", async || {
        honoured().await.filter(|condition| condition.status == ConditionStatus::True)
    })
    .await?;
    running.stop().await?;
    let record = std::fs::read_to_string(folder.path().join("audit.jsonl"))?;
    assert!(record.contains("\"execution\":\"DryRun\""), "{record}");
    assert!(!record.contains("\"execution\":\"Ordered\"") && !record.contains("\"to\":\"Quarantined\""), "{record}");
    bed.only_ours_was_written()
}

#[tokio::test]
async fn kubectl_describe_shows_the_events_of_a_node_and_of_an_incident() -> Result<()> {
    let bed = ObservedCluster::start("described", 2).await?;
    let node = &bed.nodes[0];
    let running = bed.controller(None).await?;
    bed.report(node, 1, &[("79", 3)]).await?;
    let incident = eventually("an incident", async || bed.list::<Incident>().await.pop()).await?;
    for (kind, name, reason) in [("gpunode", node.name.clone(), "Suspect"), ("incident", incident.name_any(), "Opened")]
    {
        eventually(&format!("the event of the {kind}"), async || {
            let text = bed.kubectl(&["describe", kind, &name]).await.ok()?;
            let events = text.split_once("\nEvents:")?.1.to_owned();
            events.contains(reason).then_some(())
        })
        .await?;
    }
    running.stop().await?;
    bed.only_ours_was_written()
}

#[tokio::test]
async fn a_node_that_offers_gpus_by_dra_is_managed_with_the_gpus_of_its_slices() -> Result<()> {
    let bed = ObservedCluster::start("dra", 1).await?;
    bed.make::<Node>(Api::all(bed.admin()), json!({ "metadata": { "name": "by-dra" } })).await?;
    let device = |number: i64| {
        json!({ "name": format!("gpu-{number}"), "attributes": {
            "type": { "string": "gpu" }, "uuid": { "string": format!("GPU-{number}") },
        } })
    };
    let slice = |name: &str, driver: &str, devices: Vec<serde_json::Value>| {
        json!({
            "metadata": { "name": name },
            "spec": {
                "driver": driver, "nodeName": "by-dra", "devices": devices,
                "pool": { "name": "by-dra", "generation": 1, "resourceSliceCount": 2 },
            },
        })
    };
    let slices: Api<ResourceSlice> = Api::all(bed.admin());
    bed.make(slices.clone(), slice("one", "gpu.nvidia.com", (0..4).map(device).collect())).await?;
    bed.make(slices.clone(), slice("two", "gpu.nvidia.com", (4..8).map(device).collect())).await?;
    bed.make(slices, slice("other", "net.example.com", (8..12).map(device).collect())).await?;

    // The roles of viewer and controller may read slices, and the API server supports the field selector.
    let viewer = bed.viewer().await?;
    let gpus = |view: &View| {
        let named = view.nodes().iter().find(|(name, _)| name.as_str() == "by-dra");
        named.and_then(|(_, inputs)| inputs.facts.as_ref()).map(|facts| facts.gpus)
    };
    assert_eq!(gpus(&View::read(&viewer).await?), Some(8));
    assert_eq!(gpus(LiveView::begin(viewer).await?.view()), Some(8));
    let running = bed.controller(None).await?;
    eventually("the GPUs of both nodes", async || {
        let metrics = running.metrics();
        let gpus = metrics.lines().filter(|line| line.starts_with("mainstay_gpus{"));
        let total: u64 = gpus.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum();
        total == 16
    })
    .await?;
    running.stop().await
}
