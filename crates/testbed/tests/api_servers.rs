//! Two API servers on one etcd, servers that are away for a while, and an etcd that is put back to an older state.

#![cfg(test)]

use std::pin::pin;
use std::time::Duration;

use anyhow::Result;
use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ListParams, PostParams, WatchEvent, WatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config, ResourceExt as _};
use serde_json::json;
use testbed::fault_proxy::FaultProxy;
use testbed::{ApiServer, Cluster, OptionalServer, Options, Program};
use tokio::time::timeout;

const SOON: Duration = Duration::from_secs(20);

async fn maps(cluster: &Cluster) -> Result<Api<ConfigMap>> {
    Ok(Api::namespaced(cluster.client().await?, "default"))
}

async fn create(maps: &Api<ConfigMap>, name: &str) -> Result<u64> {
    let object = serde_json::from_value(json!({ "metadata": { "name": name } }))?;
    let created = maps.create(&PostParams::default(), &object).await?;
    Ok(created.resource_version().unwrap_or_default().parse()?)
}

/// Names by a consistent read.
async fn names(maps: &Api<ConfigMap>) -> Vec<String> {
    let all = maps.list(&ListParams::default()).await.unwrap();
    all.iter().map(|map| map.name_any()).filter(|name| !name.starts_with("kube-")).collect()
}

async fn two() -> Cluster {
    testbed::own(Options { nodes_max: 10, parts: vec![OptionalServer::SecondApiServer] }).await.unwrap()
}

#[tokio::test]
async fn two_api_servers_show_one_state_and_each_serves_without_the_other() {
    let cluster = two().await;
    let second = cluster.through(ApiServer::Second).unwrap();
    assert_ne!(cluster.api_url(), second.api_url());
    let (a, b) = (maps(&cluster).await.unwrap(), maps(&second).await.unwrap());
    let before = b.list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
    let added = b.watch(&WatchParams::default(), &before).await.unwrap().try_filter_map(|event| async move {
        Ok(if let WatchEvent::Added(map) = event { Some(map.name_any()) } else { None })
    });
    let mut added = pin!(added);

    create(&a, "from-a").await.unwrap();
    assert_eq!(names(&b).await, ["from-a"], "read through the second");
    assert_eq!(timeout(SOON, added.next()).await.unwrap().unwrap().unwrap(), "from-a", "watched through the second");
    create(&b, "from-b").await.unwrap();
    assert_eq!(names(&a).await, ["from-a", "from-b"], "read through the first");

    // Both accept the tokens of both, and each writes its own audit log.
    cluster.create_account(testbed::NAMESPACE, "probe", &[]).await.unwrap_err();
    cluster.run_kubectl(&["create", "namespace", testbed::NAMESPACE]).await.unwrap();
    cluster.create_account(testbed::NAMESPACE, "probe", &["cluster-admin"]).await.unwrap();
    let token = cluster.token(testbed::NAMESPACE, "probe", None).await.unwrap();
    let probe = Api::<ConfigMap>::namespaced(second.client_with_token(&token).await.unwrap(), "default");
    create(&probe, "by-probe").await.unwrap();
    assert_eq!(second.audited_writes("probe").unwrap().count(), 1);
    assert_eq!(cluster.audited_writes("probe").unwrap().count(), 0);

    a_proxy_lets_the_second_lag(&second, &a).await;

    let outage = cluster.outage(Program::ApiServer).await.unwrap();
    assert_eq!(cluster.missing_servers(), ["kube-apiserver"]);
    assert!(timeout(SOON, cluster.client().await.unwrap().apiserver_version()).await.unwrap().is_err());
    create(&b, "meanwhile").await.unwrap();
    outage.end().await.unwrap();
    assert_eq!(cluster.missing_servers(), Vec::<&str>::new());
    assert!(names(&maps(&cluster).await.unwrap()).await.contains(&"meanwhile".to_owned()));

    second.crash(Program::ApiServer).await.unwrap();
    assert_eq!(cluster.missing_servers(), ["kube-apiserver-second"]);
    create(&maps(&cluster).await.unwrap(), "after").await.unwrap();
}

async fn a_proxy_lets_the_second_lag(second: &Cluster, first_maps: &Api<ConfigMap>) {
    let proxy = FaultProxy::start(&second.kubeconfig()).await.unwrap();
    let kubeconfig = Kubeconfig::from_yaml(&proxy.kubeconfig()).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    let lagging = Api::<ConfigMap>::namespaced(Client::try_from(config).unwrap(), "default");
    let from_cache = async || {
        let all = lagging.list(&ListParams::default().at("0")).await.unwrap();
        all.iter().any(|map| map.name_any() == "ahead")
    };
    proxy.lag().await.unwrap();
    create(first_maps, "ahead").await.unwrap();
    assert!(!from_cache().await && names(first_maps).await.contains(&"ahead".to_owned()));
    proxy.catch_up();
    testbed::eventually_within(SOON, "the second to catch up", async || from_cache().await).await.unwrap();
}

#[tokio::test]
async fn a_restored_etcd_has_the_older_state_and_serves_it_through_every_api_server() {
    let cluster = two().await;
    let map = maps(&cluster).await.unwrap();
    for name in ["kept", "deleted-later"] {
        create(&map, name).await.unwrap();
    }
    let snapshot = cluster.etcd_snapshot().await.unwrap();
    map.delete("deleted-later", &DeleteParams::default()).await.unwrap();
    let mut newest = 0;
    for number in 0..20 {
        newest = create(&map, &format!("later-{number}")).await.unwrap();
    }
    assert_eq!(names(&map).await.len(), 21);

    cluster.restore_etcd(&snapshot).await.unwrap();
    assert_eq!(cluster.missing_servers(), Vec::<&str>::new());
    for server in [ApiServer::First, ApiServer::Second] {
        let map = maps(&cluster.through(server).unwrap()).await.unwrap();
        assert_eq!(names(&map).await, ["deleted-later", "kept"], "{server:?}");
    }
    let version = create(&maps(&cluster).await.unwrap(), "new").await.unwrap();
    assert!(version < newest, "the revision went back: {version} after {newest}");
    // The same snapshot can be used again.
    cluster.restore_etcd(&snapshot).await.unwrap();
    assert_eq!(names(&maps(&cluster).await.unwrap()).await, ["deleted-later", "kept"]);
}

#[tokio::test]
async fn a_cluster_without_a_second_api_server_has_no_handle_on_it() {
    let cluster = testbed::shared().await.unwrap();
    assert!(cluster.through(ApiServer::Second).is_err());
    assert_eq!(cluster.through(ApiServer::First).unwrap().api_url(), cluster.api_url());
}
