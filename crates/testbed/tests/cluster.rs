//! The promises of the testbed, kept by real servers.

#![cfg(test)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use testbed::fleet::labels;
use testbed::{Cluster, Fleet, OptionalServer, Options, Program, etcd, kwok, servers};

const SOON: Duration = Duration::from_secs(25);

fn silent(_: testbed::ProgressEvent) {}

/// The first answer, or a failed test.
async fn eventually<A: testbed::Answer>(what: &str, ask: impl AsyncFn() -> A) -> A::Value {
    testbed::eventually_within(SOON, what, ask).await.unwrap()
}

async fn ready_fleet(client: &Client, name: &str, nodes: usize) -> Result<Fleet> {
    let fleet = Fleet::new(nodes, 8, 7).named(name);
    fleet.create(client, &silent).await?;
    let readiness = fleet.wait_ready(client, SOON, &silent).await?;
    assert_eq!((readiness.ready, readiness.total), (nodes, nodes));
    Ok(fleet)
}

fn pod(name: &str, node: &str, annotations: &[(&str, &str)]) -> Result<Pod> {
    let annotations: BTreeMap<_, _> = annotations.iter().copied().collect();
    let container = json!({"name": "work", "image": "work", "resources": {"limits": {labels::GPU_RESOURCE: "8"}}});
    Ok(serde_json::from_value(json!({
        "metadata": {"name": name, "annotations": annotations},
        "spec": {"nodeName": node, "containers": [container], "terminationGracePeriodSeconds": 1},
    }))?)
}

async fn wait_for_phase(pods: &Api<Pod>, name: &str, phase: &str) {
    let reached = async || {
        let status = pods.get(name).await.ok()?.status?;
        (status.phase.as_deref() == Some(phase)).then_some(())
    };
    eventually(&format!("pod {name} {phase}"), reached).await;
}

#[tokio::test]
async fn every_test_of_a_run_shares_one_server_of_the_pinned_version() {
    let (first, second) = tokio::join!(testbed::shared(), testbed::shared());
    let (first, second) = (first.unwrap(), second.unwrap());
    assert_eq!(first.api_url(), second.api_url());
    let version = second.client().await.unwrap().apiserver_version().await.unwrap();
    assert_eq!(version.git_version, servers::KUBERNETES_VERSION);
    assert_eq!(first.missing_servers(), Vec::<&str>::new());
    assert!(first.resident_bytes() > 100 << 20, "four servers in {} bytes", first.resident_bytes());
}

#[tokio::test]
async fn kwok_nodes_become_ready_with_their_gpus_and_their_place_in_the_fabric() {
    let client = testbed::shared().await.unwrap().client().await.unwrap();
    let fleet = ready_fleet(&client, "fabric", 16).await.unwrap();
    // Again: nothing to do, and no error.
    fleet.create(&client, &silent).await.unwrap();

    let mine = ListParams::default().labels(&format!("{}=fabric", labels::FLEET));
    let nodes = Api::<Node>::all(client.clone());
    let found: BTreeMap<String, Node> =
        nodes.list(&mine).await.unwrap().into_iter().map(|node| (node.name_any(), node)).collect();
    assert_eq!(found.len(), 16);
    for planned in fleet.nodes() {
        let node = &found[&planned.name];
        assert_eq!(*node.labels(), planned.labels());
        assert_eq!(node.status.as_ref().unwrap().allocatable.as_ref().unwrap()[labels::GPU_RESOURCE].0, "8");
    }
    // Born with a taint, which the node lifecycle controller lifts: it is at work.
    let untainted = async || {
        let all = nodes.list(&mine).await.ok()?;
        all.iter().all(|node| node.spec.as_ref().is_none_or(|spec| spec.taints.is_none())).then_some(())
    };
    eventually("nodes without taint", untainted).await;
}

#[tokio::test]
async fn pods_run_complete_stop_and_hang_as_they_are_told() {
    let client = testbed::shared().await.unwrap().client().await.unwrap();
    let fleet = ready_fleet(&client, "pods", 1).await.unwrap();
    let node = fleet.nodes().next().unwrap().name;
    let pods = Api::<Pod>::namespaced(client, "default");
    let create = async |name: &str, annotations: &[(&str, &str)]| {
        pods.create(&PostParams::default(), &pod(name, &node, annotations).unwrap()).await.unwrap();
    };
    create("ordinary", &[]).await;
    create("hanging", &[(kwok::STOPS_AFTER_ANNOTATION, kwok::STOPS_NEVER)]).await;
    create("short", &[(kwok::COMPLETES_AFTER_ANNOTATION, "1s")]).await;
    wait_for_phase(&pods, "ordinary", "Running").await;
    wait_for_phase(&pods, "hanging", "Running").await;
    wait_for_phase(&pods, "short", "Succeeded").await;

    for name in ["ordinary", "hanging"] {
        pods.delete(name, &DeleteParams::default()).await.unwrap();
    }
    eventually("the ordinary pod gone", async || pods.get_opt("ordinary").await.ok()?.is_none().then_some(())).await;
    // Its grace of one second is long over, and nobody ended it.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let hanging = pods.get("hanging").await.unwrap();
    assert!(hanging.metadata.deletion_timestamp.is_some(), "not Terminating: {hanging:?}");

    pods.delete("hanging", &DeleteParams::default().grace_period(0)).await.unwrap();
    eventually("the forced pod gone", async || pods.get_opt("hanging").await.ok()?.is_none().then_some(())).await;
}

#[tokio::test]
async fn a_stranger_is_refused_and_a_service_account_can_do_only_what_rbac_grants() {
    let cluster = testbed::shared().await.unwrap();
    let code = |error: kube::Error| if let kube::Error::Api(status) = error { status.code } else { 0 };
    let list = async |client: Client| Api::<Node>::all(client).list(&ListParams::default()).await;

    let stranger = cluster.client_with_token("made-up").await.unwrap();
    assert_eq!(code(list(stranger).await.unwrap_err()), 401);

    let account = cluster.client_of("default", "default").await.unwrap();
    assert_eq!(code(list(account).await.unwrap_err()), 403);
}

#[tokio::test]
async fn the_store_tells_what_an_object_weighs() {
    let cluster = testbed::shared().await.unwrap();
    let fleet = ready_fleet(&cluster.client().await.unwrap(), "weighed", 1).await.unwrap();
    let name = fleet.nodes().next().unwrap().name;
    let key = format!("/registry/minions/{name}");
    let bytes = etcd::stored_bytes(cluster.etcd_url(), &key).await.unwrap().unwrap();
    assert!((1_000..8_000).contains(&bytes), "{bytes} bytes");
    assert_eq!(etcd::stored_bytes(cluster.etcd_url(), "/registry/minions/nobody").await.unwrap(), None);
}

#[tokio::test]
async fn clusters_of_their_own_live_side_by_side_can_be_broken_and_leave_nothing_behind() {
    let bare = || Options { nodes_max: 10, parts: Vec::new() };
    let (first, second) = tokio::join!(testbed::own(bare()), testbed::own(bare()));
    let (first, second) = (first.unwrap(), second.unwrap());
    assert_ne!(first.api_url(), second.api_url());
    assert_ne!(first.etcd_url(), second.etcd_url());

    first.crash(Program::ApiServer).await.unwrap();
    assert_eq!(first.missing_servers(), vec!["kube-apiserver"]);
    assert!(first.client().await.unwrap().apiserver_version().await.is_err());
    second.client().await.unwrap().apiserver_version().await.unwrap();

    let dirs = [&first, &second].map(|cluster: &Cluster| cluster.dir().to_owned());
    let started: Vec<PathBuf> = dirs.iter().flat_map(|dir| recorded(dir)).collect();
    assert_eq!(started.len(), 4);
    assert_eq!(started.iter().filter(|process| process.exists()).count(), 3);
    drop((first, second));
    assert!(started.iter().all(|process| !process.exists()), "left behind: {started:?}");
    assert!(dirs.iter().all(|dir| !dir.exists()), "left behind: {dirs:?}");
}

#[tokio::test]
async fn the_scheduler_binds_pods_as_long_as_there_are_gpus_where_a_test_asks_for_it() {
    let parts = vec![OptionalServer::ControllerManager, OptionalServer::Kwok, OptionalServer::Scheduler];
    let cluster = testbed::own(Options { nodes_max: 10, parts }).await.unwrap();
    let client = cluster.client().await.unwrap();
    ready_fleet(&client, "scheduled", 2).await.unwrap();
    let pods = Api::<Pod>::namespaced(client, "default");
    for name in ["a", "b", "c"] {
        let mut pod = pod(name, "", &[]).unwrap();
        pod.spec.as_mut().unwrap().node_name = None;
        pods.create(&PostParams::default(), &pod).await.unwrap();
    }
    let phases = async || {
        let all = pods.list(&ListParams::default()).await.ok()?;
        let count = |phase| {
            all.iter().filter(|pod| pod.status.as_ref().and_then(|it| it.phase.as_deref()) == Some(phase)).count()
        };
        (count("Running") == 2).then(|| count("Pending"))
    };
    assert_eq!(eventually("two nodes full", phases).await, 1, "three pods of eight GPUs fit on two nodes");
}

/// The processes that a cluster started, as directories of /proc.
fn recorded(dir: &Path) -> Vec<PathBuf> {
    let record = std::fs::read_to_string(dir.join("processes")).unwrap_or_default();
    record.lines().filter_map(|line| line.split(' ').next()).map(|pid| Path::new("/proc").join(pid)).collect()
}
