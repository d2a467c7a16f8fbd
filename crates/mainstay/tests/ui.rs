//! `mainstay ui` as people meet it: the real binary against a real API server, beside a real controller.

#![cfg(test)]

#[path = "ui/test_cluster.rs"]
mod test_cluster;

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use mainstay_api::http::{
    AllowedAction, Capacity, Decision, Fleet, IncidentDetail, Job, Map, NodeDetail, NodeLine, Page, Plan, Problem,
    UnreadableReason,
};
use mainstay_model::{Execution, Mode, Stage};
use reqwest::StatusCode;
use serde_json::{Value, json};
use test_cluster::{GANG, UiCluster, roles};
use testbed::{NAMESPACE, Options, Program, Prometheus, eventually};

#[tokio::test(flavor = "multi_thread")]
async fn the_page_agrees_with_the_cluster_and_looking_writes_nothing() -> Result<()> {
    let bed = UiCluster::start("shown", 8).await?;
    let sick = bed.nodes[3].name.clone();
    let viewer = bed.cluster.create_account(NAMESPACE, "viewer", &["mainstay-viewer"]).await?;
    let before = bed.versions().await?;
    let page = test_cluster::ui(&viewer, &[])?;
    ensure!(page.began["unreadable"] == json!(["pods"]) && page.began["nodes"] == 8, "{}", page.began);
    ensure!(page.began["user"] == Value::Null && page.began["allowedActions"] == json!([]), "{}", page.began);

    let incidents = eventually("the incident", async || {
        let incidents: Page<IncidentDetailLine> = page.read("/incidents").await.ok()?;
        (incidents.items.len() == 1).then_some(incidents.items)
    })
    .await?;
    let stored = bed.cluster.get_json(&["incidents"]).await?;
    let stored = &stored["items"][0];
    ensure!(incidents[0].id == stored["metadata"]["name"], "{incidents:?} {stored}");
    let fleet: Fleet = page.read("/fleet").await?;
    ensure!((fleet.nodes, fleet.gpus, fleet.incidents_open) == (8, 64, 1), "{fleet:?}");
    ensure!(fleet.mode == Mode::Observe && fleet.demo.is_none() && fleet.lost_gpu_seconds.is_none(), "{fleet:?}");
    let seen = fleet.cluster.unwrap_or_default();
    ensure!(seen.unreadable.len() == 1 && seen.unreadable[0].kind == "pods", "{seen:?}");
    ensure!(seen.unreadable[0].why == UnreadableReason::Forbidden && seen.stale_since.is_none(), "{seen:?}");

    let record = bed.cluster.get_json(&["gpunode", &sick]).await?;
    let node: NodeDetail = page.read(&format!("/nodes/{sick}")).await?;
    ensure!(json!(node.line.stage) == record["status"]["stage"], "{node:?} {record}");
    ensure!(node.line.stage == Stage::Suspect && node.line.rule.as_deref() == Some("gpu-off-the-bus"), "{node:?}");
    let stored = record["status"]["message"].as_str().unwrap_or_default();
    ensure!(stored.starts_with("gpu-off-the-bus"), "{node:?} {record}");
    ensure!(node.why.problem.as_deref() == Some(node.line.message.as_str()), "{node:?}");
    ensure!(node.record.incident.as_deref() == Some(&*incidents[0].id), "{node:?}");
    ensure!(node.why.sentence.contains(&sick) && node.why.evidence.iter().any(|it| it.contains("79")), "{node:?}");
    let calm: Page<NodeLine> = page.read("/nodes?stage=InService").await?;
    ensure!(calm.items.len() == 7, "{calm:?}");

    let detail: IncidentDetail = page.read(&format!("/incidents/{}", incidents[0].id)).await?;
    ensure!(detail.record.nodes_list == [sick.clone()] && detail.record.lines.is_none(), "{detail:?}");
    ensure!(detail.record.timeline.iter().any(|event| event.text.contains("XID 79")), "{detail:?}");
    ensure!(detail.incident.gpus == 8 && detail.incident.lost_gpu_seconds.is_none(), "{detail:?}");
    let map: Map = page.read("/map").await?;
    let names = map.spines.iter().flat_map(|spine| &spine.leaves).flat_map(|leaf| &leaf.racks);
    ensure!(names.map(|rack| rack.nodes.len()).sum::<usize>() == 8 && map.temperature.is_none(), "{map:?}");
    let plan: Plan = page.read("/plan").await?;
    ensure!(plan.items.iter().any(|item| item.node == sick), "{plan:?}");
    let decisions: Page<Decision> = page.read("/decisions").await?;
    ensure!(decisions.items.iter().any(|one| one.node == sick && one.action == "move to Suspect"), "{decisions:?}");

    // Without permission to list pods, allocation and queue are not known; nodes and reports tell the rest.
    let capacity: Capacity = page.read("/capacity").await?;
    ensure!((capacity.total.nodes, capacity.total.gpus, capacity.total.out_of_service) == (8, 64, 0), "{capacity:?}");
    ensure!(capacity.total.allocated.is_none() && capacity.total.free.is_none(), "{capacity:?}");
    ensure!(capacity.queues.is_none(), "{capacity:?}");
    ensure!(capacity.pools.iter().all(|pool| pool.largest_gangs.is_none()), "{capacity:?}");
    let installed = capacity.inventory.unwrap_or_default();
    ensure!(installed.rows.iter().map(|row| row.gpus).sum::<u32>() == 64, "{installed:?}");
    ensure!(installed.rows.iter().all(|row| row.model.is_some() && row.driver.is_some()), "{installed:?}");
    ensure!(installed.unlisted_gpus == 0, "{installed:?}");

    let refused =
        page.send("POST", &format!("/incidents/{}/acknowledge", incidents[0].id), json!({ "by": "x" })).await?;
    ensure!(refused.status() == StatusCode::FORBIDDEN);
    let problem: Problem = refused.json().await?;
    ensure!(problem.hint.contains(&format!("mainstay incident ack {}", incidents[0].id)), "{problem:?}");
    ensure!(page.send("POST", "/demo", json!({ "paused": true })).await?.status() == StatusCode::NOT_FOUND);

    page.stop()?;
    ensure!(bed.versions().await? == before, "something was written");
    bed.wrote_nothing("viewer")
}

#[tokio::test(flavor = "multi_thread")]
async fn with_acts_the_page_acts_as_the_caller_and_with_no_other_name() -> Result<()> {
    let bed = UiCluster::start("acted", 4).await?;
    bed.run_pod("train-0", &bed.nodes[0], &[(GANG, "train")]).await?;
    bed.run_pod("train-1", &bed.nodes[1], &[(GANG, "train")]).await?;
    let operator = bed.cluster.create_account(NAMESPACE, "operator", &["mainstay-operator", "view"]).await?;
    let page = test_cluster::ui(&operator, &["--allow-actions"])?;
    let person = "system:serviceaccount:mainstay-system:operator";
    ensure!(page.began["user"] == person && page.began["unreadable"] == json!([]), "{}", page.began);
    let fleet: Fleet = page.read("/fleet").await?;
    let seen = fleet.cluster.unwrap_or_default();
    ensure!(
        seen.allowed_actions == [AllowedAction::Acknowledge, AllowedAction::Request, AllowedAction::SetMode]
            && seen.user.as_deref() == Some(person)
    );

    let jobs: Page<Job> = page.read("/jobs").await?;
    ensure!(jobs.items.len() == 1 && jobs.items[0].id == "default/train" && jobs.items[0].nodes == 2, "{jobs:?}");
    ensure!(jobs.items[0].gpus.is_none() && jobs.items[0].lost_gpu_seconds.is_none(), "{jobs:?}");
    let node: NodeDetail = page.read(&format!("/nodes/{}", bed.nodes[1].name)).await?;
    ensure!(node.line.job.as_deref() == Some("default/train"), "{node:?}");

    // Twelve GPUs of three nodes are held, twelve are free, and eight of the suspect node are not counted as free.
    let none: Capacity = page.read("/capacity").await?;
    ensure!(none.total.allocated == Some(0) && none.queues.as_ref().is_some_and(Vec::is_empty), "{none:?}");
    bed.request_gpus("busy-0", Some(&bed.nodes[0]), 8).await?;
    bed.request_gpus("busy-1", Some(&bed.nodes[1]), 4).await?;
    for pod in ["next-0", "next-1", "later-0"] {
        bed.request_gpus(pod, None, 8).await?;
    }
    let capacity = eventually("the queue", async || {
        let capacity: Capacity = page.read("/capacity").await.ok()?;
        let pods = capacity.queues.iter().flatten().map(|line| line.pods.unwrap_or(0)).sum::<u32>();
        (pods == 3 && capacity.total.allocated == Some(12)).then_some(capacity)
    })
    .await?;
    let total = capacity.total;
    ensure!((total.gpus, total.out_of_service, total.out_of_service_allocated) == (32, 0, Some(0)), "{total:?}");
    ensure!((total.free, total.held_back) == (Some(12), Some(8)), "{total:?}");
    let rooms = capacity.pools.iter().flat_map(|pool| pool.largest_gangs.iter().flatten());
    let whole: u32 = rooms.filter(|room| room.level.is_none()).map(|room| room.gpus).sum();
    ensure!(whole == 12, "{capacity:?}");
    let queues = capacity.queues.unwrap_or_default();
    ensure!(queues.len() == 1 && queues[0].queue == "default/research", "{queues:?}");
    ensure!((queues[0].jobs, queues[0].gpus) == (2, 24) && queues[0].waiting_since > 0, "{queues:?}");
    let ends = ["delete", "pod", "next-0", "next-1", "later-0", "--force", "--grace-period=0"];
    bed.cluster.run_kubectl(&ends).await?;
    eventually("the queue to be empty", async || {
        let capacity: Capacity = page.read("/capacity").await.ok()?;
        capacity.queues.filter(Vec::is_empty)
    })
    .await?;

    let incident = bed.incident().await?;
    let path = format!("/incidents/{incident}/acknowledge");
    ensure!(page.send("POST", &path, json!({ "by": "mallory" })).await?.status() == StatusCode::ACCEPTED);
    let stored = bed.cluster.get_json(&["incident", &incident]).await?;
    ensure!(stored["spec"]["acknowledgement"]["by"] == person, "{stored}");
    eventually("the page to show it", async || {
        let detail: IncidentDetail = page.read(&format!("/incidents/{incident}")).await.ok()?;
        (detail.incident.acknowledged_by.as_deref() == Some(person)).then_some(())
    })
    .await?;

    let name = &bed.nodes[3].name;
    let path = format!("/nodes/{name}/request");
    let request = json!({ "kind": "hold", "by": "mallory", "reason": "fan noise, ticket 4711" });
    ensure!(page.send("POST", &path, request.clone()).await?.status() == StatusCode::ACCEPTED);
    let stored = bed.cluster.get_json(&["gpunode", name]).await?;
    ensure!(stored["spec"]["request"] == json!({ "kind": "Hold", "by": person, "reason": "fan noise, ticket 4711" }));
    eventually("the request to be seen", async || {
        let node: NodeDetail = page.read(&format!("/nodes/{name}")).await.ok()?;
        node.record.request.filter(|asked| asked.by == person)
    })
    .await?;
    ensure!(page.send("DELETE", &path, Value::Null).await?.status() == StatusCode::ACCEPTED);
    ensure!(bed.cluster.get_json(&["gpunode", name]).await?["spec"]["request"] == Value::Null);
    ensure!(page.send("POST", "/nodes/nobody/request", request).await?.status() == StatusCode::NOT_FOUND);

    ensure!(page.send("PUT", "/mode", json!({ "mode": "Propose" })).await?.status() == StatusCode::ACCEPTED);
    ensure!(bed.cluster.get_json(&["cell", "cell"]).await?["spec"]["mode"] == "Propose");
    let fleet = eventually("the notice that the mode has no effect", async || {
        page.read::<Fleet>("/fleet").await.ok().filter(|fleet| fleet.mode == Mode::Propose)
    })
    .await?;
    ensure!(fleet.mode_in_effect == Mode::Observe, "{fleet:?}");
    let notice = fleet.mode_notice.unwrap_or_default();
    ensure!(notice.starts_with("Mode Propose has no effect:"), "{notice}");
    let plan: Plan = page.read("/plan").await?;
    ensure!(plan.items.iter().all(|item| item.execution != Some(Execution::Ordered)), "{plan:?}");
    let stop = json!({ "by": "mallory", "reason": "it looks wrong" });
    ensure!(page.send("POST", "/stop", stop).await?.status() == StatusCode::ACCEPTED);
    ensure!(bed.cluster.get_json(&["cell", "cell"]).await?["spec"]["mode"] == "Observe");

    // Rights that are taken away while the page is open: the API server's words are what is said.
    bed.cluster.run_kubectl(&["delete", "clusterrolebinding", "operator-mainstay-operator"]).await?;
    let refused = eventually("the refusal", async || {
        let answer = page.send("PUT", "/mode", json!({ "mode": "Act" })).await.ok()?;
        (answer.status() == StatusCode::FORBIDDEN).then_some(answer)
    })
    .await?;
    let problem: Problem = refused.json().await?;
    ensure!(problem.detail.contains("cannot get resource") && !problem.hint.is_empty(), "{problem:?}");
    page.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shared_page_lets_in_whom_the_api_server_lets_see_the_fleet() -> Result<()> {
    let bed = UiCluster::start("gated", 4).await?;
    bed.cluster.apply(&bed.cluster.write_file("ui.yaml", &roles()?)?).await?;
    let own = bed.cluster.kubeconfig_of(NAMESPACE, "mainstay-ui").await?;
    let page = test_cluster::ui(&own, &["--shared"])?;
    bed.cluster.create_account(NAMESPACE, "mira", &["mainstay-viewer"]).await?;
    bed.cluster.create_account(NAMESPACE, "tom", &[]).await?;
    let (mira, tom) =
        (bed.cluster.token(NAMESPACE, "mira", None).await?, bed.cluster.token(NAMESPACE, "tom", None).await?);

    ensure!(page.status(None, "/api/v1/fleet").await? == 401);
    ensure!(page.status(None, "/api/v1/stream").await? == 401);
    ensure!(page.status(Some("made-up"), "/api/v1/fleet").await? == 401);
    ensure!(page.status(Some(&tom), "/api/v1/fleet").await? == 403);
    ensure!(page.status(Some(&tom), "/metrics").await? == 403);
    ensure!(page.status(Some(&mira), "/api/v1/fleet").await? == 200);
    ensure!(page.status(None, "/").await? == 200, "the page has to come before it can ask for a token");
    let other = ["create", "token", "mira", "--namespace", "mainstay-system", "--audience", "somebody-else"];
    let other = bed.cluster.run_kubectl(&other).await?;
    ensure!(page.status(Some(other.trim()), "/api/v1/fleet").await? == 401, "a token for somebody else is none");
    let acted = page.as_(&mira).send("PUT", "/mode", json!({ "mode": "Act" })).await?;
    ensure!(acted.status() == StatusCode::FORBIDDEN, "{acted:?}");
    let meant = ["create", "token", "mira", "--namespace", "mainstay-system", "--audience", "mainstay-ui"];
    let meant = bed.cluster.run_kubectl(&meant).await?;
    let strict = test_cluster::ui(&own, &["--shared", "--audience", "mainstay-ui"])?;
    ensure!(strict.status(Some(meant.trim()), "/api/v1/fleet").await? == 200);
    ensure!(
        strict.status(Some(&mira), "/api/v1/fleet").await? == 401,
        "a token for the API server is not for the page"
    );
    strict.stop()?;
    let mut stream = page.as_(&mira).stream().await?;

    bed.cluster.run_kubectl(&["delete", "clusterrolebinding", "mira-mainstay-viewer"]).await?;
    let revoked_at = Instant::now();
    while page.status(Some(&mira), "/api/v1/fleet").await? == 200 {
        ensure!(revoked_at.elapsed() < Duration::from_secs(32), "a right that is gone still holds");
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    ensure!(page.status(Some(&mira), "/api/v1/fleet").await? == 403);
    let ends = async { while let Ok(Some(_)) = stream.chunk().await {} };
    ensure!(tokio::time::timeout(Duration::from_secs(20), ends).await.is_ok(), "the stream goes on");

    bed.cluster.bind_role(NAMESPACE, "mira", "mainstay-viewer").await?;
    eventually("mira to be let in again", async || {
        (page.status(Some(&mira), "/api/v1/fleet").await.ok()? == 200).then_some(())
    })
    .await?;
    bed.cluster.create_account(NAMESPACE, "anna", &["mainstay-viewer"]).await?;
    let anna = bed.cluster.token(NAMESPACE, "anna", None).await?;
    bed.cluster.crash(Program::ApiServer).await?;
    ensure!(page.status(Some(&anna), "/api/v1/fleet").await? == 503, "who is not answered for is let in");
    let gone_at = Instant::now();
    while page.status(Some(&mira), "/api/v1/fleet").await? == 200 {
        ensure!(gone_at.elapsed() < Duration::from_secs(32), "an old answer still holds");
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    ensure!(page.status(Some(&mira), "/api/v1/fleet").await? == 503);
    page.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_falls_silent_is_said_to_be_silent() -> Result<()> {
    let bed = UiCluster::start("silent", 1).await?;
    let viewer = bed.cluster.create_account(NAMESPACE, "viewer", &["mainstay-viewer"]).await?;
    let page = test_cluster::ui(&viewer, &[])?;
    bed.cluster.crash(Program::ApiServer).await?;
    let since = eventually("the silence to be said", async || {
        let fleet: Fleet = page.read("/fleet").await.ok()?;
        fleet.cluster?.stale_since
    })
    .await?;
    let fleet: Fleet = page.read("/fleet").await?;
    ensure!(fleet.nodes == 1 && since <= fleet.now, "what was known stays: {fleet:?}");
    page.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_without_mainstay_is_shown_as_one() -> Result<()> {
    let cluster = testbed::own(Options { nodes_max: 0, parts: Vec::new() }).await?;
    let page = test_cluster::ui(&cluster.kubeconfig(), &[])?;
    let fleet: Fleet = page.read("/fleet").await?;
    let seen = fleet.cluster.unwrap_or_default();
    ensure!(fleet.nodes == 0 && seen.unreadable.len() == 7, "{seen:?}");
    ensure!(seen.unreadable.iter().all(|unread| unread.why == UnreadableReason::NotInstalled), "{seen:?}");
    page.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_shown_is_refused_at_the_start() -> Result<()> {
    let said = test_cluster::fails(&["ui", "--listen", "0.0.0.0:0"], None).await?;
    ensure!(said.starts_with("problem: refusing to listen on 0.0.0.0:0 without authentication\n"), "{said}");
    ensure!(said.contains("--shared"), "{said}");
    let nowhere = tempfile::tempdir()?.path().join("none");
    let said = test_cluster::fails(&["ui", "--listen", "127.0.0.1:0"], Some(&nowhere)).await?;
    ensure!(said.starts_with("problem: cannot reach the API server\n  detail: "), "{said}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a browser: `cargo xtask check --only browser` runs it"]
async fn the_page_does_what_it_should_in_a_browser() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let prometheus = Prometheus::with_slo(folder.path(), "research-jobs", &[0, 200, 201, 202]).await?;
    let bed = UiCluster::start("cluster-a", 32).await?.with_slo(&prometheus.url).await?;
    let viewer = bed.cluster.create_account(NAMESPACE, "mira", &["mainstay-viewer"]).await?;
    bed.cluster.apply(&bed.cluster.write_file("ui.yaml", &roles()?)?).await?;
    let page = test_cluster::ui(&viewer, &["--name", "cluster-a"])?;
    let shared = test_cluster::ui(
        &bed.cluster.kubeconfig_of(NAMESPACE, "mainstay-ui").await?,
        &["--shared", "--name", "cluster-a"],
    )?;
    let incident = bed.incident().await?;
    // The terminal shows the same as the page.
    let why = test_cluster::prints(&["why", "slo", "research-jobs"], &viewer).await?;
    // Where a line ends depends on the name of the incident.
    let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in
        ["it burns its error budget too fast", "44.4 %, 16 bad of 28.8 allowed", "75 % outside known incidents"]
    {
        ensure!(why.contains(words), "{words}: {why}");
    }
    ensure!(why.contains(&format!("25 % during {incident}")), "{why}");
    let list = test_cluster::prints(&["slo", "list"], &viewer).await?;
    ensure!(list.lines().nth(1).is_some_and(|line| line.contains("44.4 %") && !line.contains("old data")), "{list}");
    let token = bed.cluster.token(NAMESPACE, "mira", None).await?;
    let names = [
        ("ADDRESS", page.address()),
        ("SHARED", shared.address()),
        ("TOKEN", &token),
        ("NODE", &bed.nodes[3].name),
        ("INCIDENT", &incident),
    ];
    test_cluster::node("e2e/cluster.mjs", &names).await
}

/// What is read of a line of an incident.
#[derive(Debug, serde::Deserialize)]
struct IncidentDetailLine {
    id: String,
}
