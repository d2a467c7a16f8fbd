//! The fault proxy between a client and a real API server: each fault is seen by the client as it would be without the proxy,
//! and the server has done what it is said to have done.

#![cfg(test)]

use std::pin::pin;
use std::time::{Duration, Instant};

use anyhow::Result;
use axum::http;
use futures::{Stream, StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Node, Pod, ServiceAccount};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{EvictParams, ListParams, Patch, PatchParams, PostParams, WatchEvent as KubeEvent, WatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config, ResourceExt as _};
use serde_json::{Value, json};
use testbed::fault_proxy::{
    Call, CallFilter, EventFault, EventRule, Fault, FaultProxy, Reply, Rule, Turn, Verb, WatchEvent,
};
use tokio::time::timeout;

const SOON: Duration = Duration::from_secs(20);
const A_MOMENT: Duration = Duration::from_millis(400);

/// A namespace of the shared server, seen with and without the proxy.
struct Bed {
    proxy: FaultProxy,
    namespace: String,
    client: Client,
    direct: Api<ConfigMap>,
    through: Api<ConfigMap>,
}

async fn client_of(proxy: &FaultProxy) -> Result<Client> {
    let kubeconfig = Kubeconfig::from_yaml(&proxy.kubeconfig())?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    // As our programs do: kube would repeat a call after 429, 503 and 504 for minutes.
    config.default_retry = false;
    Ok(Client::try_from(config)?)
}

async fn bed(name: &str) -> Result<Bed> {
    // A test that runs again has a namespace of its own.
    let namespace = format!("{name}-{}", std::process::id());
    let cluster = testbed::shared().await?;
    let admin = cluster.client().await?;
    let namespaces = Api::<Namespace>::all(admin.clone());
    let object = serde_json::from_value(json!({ "metadata": { "name": namespace } }))?;
    namespaces.create(&PostParams::default(), &object).await?;
    let proxy = FaultProxy::start(&cluster.kubeconfig()).await?;
    let client = client_of(&proxy).await?;
    let through = Api::namespaced(client.clone(), &namespace);
    let direct = Api::namespaced(admin, &namespace);
    Ok(Bed { proxy, namespace, client, direct, through })
}

impl Bed {
    async fn create(&self, api: &Api<ConfigMap>, name: &str) -> kube::Result<ConfigMap> {
        let object = ConfigMap {
            metadata: kube::core::ObjectMeta { name: Some(name.to_owned()), ..Default::default() },
            ..ConfigMap::default()
        };
        api.create(&PostParams::default(), &object).await
    }

    /// Pods without and with the proxy, once the namespace accepts them.
    async fn pods(&self) -> [Api<Pod>; 2] {
        let accounts = Api::<ServiceAccount>::namespaced(self.direct.clone().into_client(), &self.namespace);
        let account = async || accounts.get_opt("default").await.ok()?;
        testbed::eventually_within(SOON, "the default service account", account).await.unwrap();
        [self.direct.clone().into_client(), self.client.clone()].map(|client| Api::namespaced(client, &self.namespace))
    }

    async fn exists(&self, name: &str) -> bool {
        self.direct.get_opt(name).await.unwrap().is_some()
    }

    /// Names of new objects, by a watch through the proxy from now on. An ERROR event is `error CODE`.
    async fn watch(&self) -> Result<impl Stream<Item = Result<String, kube::Error>>> {
        let version = self.direct.list(&ListParams::default()).await?.metadata.resource_version.unwrap_or_default();
        let events = self.through.watch(&WatchParams::default(), &version).await?;
        // The controller manager may put a ConfigMap of its own into the namespace.
        Ok(events.try_filter_map(|event| async move {
            Ok(match event {
                KubeEvent::Added(object) if object.name_any().starts_with("kube-") => None,
                KubeEvent::Added(object) => Some(object.name_any()),
                KubeEvent::Error(status) => Some(format!("error {}", status.code)),
                KubeEvent::Modified(_) | KubeEvent::Deleted(_) | KubeEvent::Bookmark(_) => None,
            })
        }))
    }
}

fn about(name: &'static str) -> impl Fn(&WatchEvent) -> bool + Send + Sync {
    move |event| event.name == name
}

fn code(error: kube::Error) -> u16 {
    let kube::Error::Api(status) = error else { panic!("no answer of a server: {error}") };
    status.code
}

#[tokio::test]
async fn a_lost_answer_and_a_cut_call_look_alike_and_only_one_was_carried_out() {
    let bed = bed("proxy-lost").await.unwrap();
    bed.proxy.add(Rule::new(Fault::LoseAnswer, Turn::Nth(1), Call::is_write));
    bed.proxy.add(Rule::new(Fault::CutBefore, Turn::Nth(2), Call::is_write));
    for (name, is_there) in [("lost", true), ("cut", false)] {
        let error = bed.create(&bed.through, name).await.unwrap_err();
        assert!(!matches!(error, kube::Error::Api(_)), "{name}: an answer came: {error}");
        assert_eq!(bed.exists(name).await, is_there, "{name}");
    }
    bed.create(&bed.through, "calm").await.unwrap();
    assert_eq!(bed.proxy.writes(), 3);
    let carried_out: Vec<bool> = bed.proxy.written().iter().map(|write| write.is_carried_out()).collect();
    assert_eq!(carried_out, [true, false, true]);
}

#[tokio::test]
async fn an_answer_in_the_servers_place_is_an_error_of_the_server() {
    let bed = bed("proxy-answer").await.unwrap();
    let replies = [
        (Reply::Forbidden, 403),
        (Reply::Conflict, 409),
        (Reply::Gone, 410),
        (Reply::Invalid, 422),
        (Reply::TooManyRequests(1), 429),
        (Reply::InternalError, 500),
        (Reply::Unavailable, 503),
        (Reply::Timeout, 504),
    ];
    for (reply, expected) in replies {
        bed.proxy.clear();
        bed.proxy.add(Rule::new(Fault::Answer(reply), Turn::Every, |call| call.is_read()));
        assert_eq!(code(bed.through.get("none").await.unwrap_err()), expected, "{reply:?}");
    }
}

#[tokio::test]
async fn a_held_call_holds_everything_and_a_stalled_one_only_itself() {
    let bed = bed("proxy-held").await.unwrap();
    bed.proxy.add(Rule::new(Fault::Stall(A_MOMENT), Turn::Nth(1), Call::is_write));
    bed.proxy.add(Rule::new(Fault::DelayAnswer(A_MOMENT), Turn::Nth(2), Call::is_write));
    for name in ["late", "answered-late"] {
        let began = Instant::now();
        bed.create(&bed.through, name).await.unwrap();
        assert!(began.elapsed() >= A_MOMENT);
    }

    bed.proxy.add(Rule::new(Fault::HoldAfter, Turn::Nth(1), Call::is_write));
    let watch = bed.watch().await.unwrap();
    assert!(timeout(A_MOMENT, bed.create(&bed.through, "held")).await.is_err());
    timeout(SOON, bed.proxy.wait_until_held()).await.unwrap();
    assert!(bed.exists("held").await, "the server carries it out first");
    assert!(timeout(A_MOMENT, bed.through.get("late")).await.is_err(), "nothing passes");
    assert!(timeout(A_MOMENT, pin!(watch).next()).await.is_err(), "no event passes");
    bed.proxy.clear();
    bed.proxy.add(Rule::new(Fault::HoldBefore, Turn::Nth(1), Call::is_write));
    assert!(timeout(A_MOMENT, bed.create(&bed.through, "never")).await.is_err());
    assert!(!bed.exists("never").await);
    bed.proxy.clear_rules();
    bed.through.get("late").await.unwrap();
    let written = bed.proxy.written();
    assert_eq!((written.len(), written[0].call.name.as_str(), written[0].status), (1, "never", None));
}

#[tokio::test]
async fn a_paused_client_receives_and_does_nothing_until_its_time_is_over() {
    let bed = bed("proxy-paused").await.unwrap();
    let mut watch = pin!(bed.watch().await.unwrap());
    bed.proxy.pause_for(10 * SOON);
    bed.create(&bed.direct, "from-another").await.unwrap();
    let late = tokio::spawn({
        let api = bed.through.clone();
        let object = serde_json::from_value::<ConfigMap>(json!({ "metadata": { "name": "late" } })).unwrap();
        async move { api.create(&PostParams::default(), &object).await }
    });
    assert!(timeout(A_MOMENT, watch.next()).await.is_err(), "no event");
    assert!(!bed.exists("late").await);
    bed.proxy.resume();
    timeout(SOON, late).await.expect("the pause is over").unwrap().unwrap();
    assert_eq!(timeout(SOON, watch.next()).await.unwrap().unwrap().unwrap(), "from-another");

    bed.proxy.pause_for(A_MOMENT);
    let began = Instant::now();
    timeout(SOON, bed.through.get("late")).await.expect("the pause ends by itself").unwrap();
    assert!(began.elapsed() >= A_MOMENT / 2, "{:?}", began.elapsed());
}

#[tokio::test]
async fn events_are_dropped_repeated_delayed_and_the_watch_is_closed() {
    let bed = bed("proxy-events").await.unwrap();
    let faults = [
        ("drop", EventFault::Drop),
        ("twice", EventFault::Duplicate),
        ("late", EventFault::Delay(A_MOMENT)),
        ("close", EventFault::Close),
    ];
    for (name, fault) in faults {
        bed.proxy.add_for_events(EventRule::new(fault, Turn::Every, about(name)));
    }
    let watch = bed.watch().await.unwrap();
    let began = Instant::now();
    for name in ["first", "drop", "twice", "late", "last", "close", "after"] {
        bed.create(&bed.direct, name).await.unwrap();
    }
    let seen: Vec<String> = timeout(SOON, watch.try_collect()).await.expect("the watch ends").unwrap();
    assert!(began.elapsed() >= A_MOMENT);
    assert_eq!(seen, ["first", "twice", "twice", "late", "last"]);
}

#[tokio::test]
async fn a_garbled_event_cannot_be_decoded_and_an_expired_watch_ends_with_410() {
    let bed = bed("proxy-garbled").await.unwrap();
    bed.proxy.add_for_events(EventRule::new(EventFault::Garble, Turn::Every, about("bad")));
    bed.proxy.add_for_events(EventRule::new(EventFault::Expire, Turn::Every, about("old")));
    let [direct, pods] = bed.pods().await;
    let watched = pods.watch(&WatchParams::default().fields("metadata.name=bad"), "0").await.unwrap();
    direct.create(&PostParams::default(), &pod("bad")).await.unwrap();
    let events = watched.filter(|event| std::future::ready(!matches!(event, Ok(KubeEvent::Bookmark(_)))));
    let event = timeout(SOON, pin!(events).next()).await.unwrap().unwrap();
    assert!(event.is_err(), "decoded: {event:?}");

    let watch = bed.watch().await.unwrap();
    for name in ["new", "old", "after"] {
        bed.create(&bed.direct, name).await.unwrap();
    }
    let seen: Vec<String> = timeout(SOON, watch.try_collect()).await.expect("the watch ends").unwrap();
    assert_eq!(seen, ["new", "error 410"]);
}

#[tokio::test]
async fn a_lagging_cache_shows_an_old_state_until_it_catches_up() {
    let bed = bed("proxy-lag").await.unwrap();
    bed.create(&bed.direct, "before").await.unwrap();
    let mut watch = pin!(bed.watch().await.unwrap());
    bed.proxy.lag().await.unwrap();
    let behind = bed.create(&bed.direct, "behind").await.unwrap();

    let names = async |params: &ListParams| {
        let list = bed.through.list(params).await.unwrap();
        let mut names: Vec<String> = list.items.iter().map(|one| one.name_any()).collect();
        names.retain(|name| !name.starts_with("kube-"));
        names
    };
    assert_eq!(names(&ListParams::default().at("0")).await, ["before"], "from the cache");
    assert_eq!(names(&ListParams::default()).await, ["before", "behind"], "a consistent list");
    let version = behind.resource_version().unwrap();
    let newer = ListParams::default().at(&version).matching(kube::api::VersionMatch::NotOlderThan);
    assert_eq!(code(bed.through.list(&newer).await.unwrap_err()), 504, "newer than the cache");
    assert!(timeout(A_MOMENT, watch.next()).await.is_err(), "no event");
    bed.proxy.catch_up();
    let event = timeout(SOON, watch.next()).await.unwrap().unwrap().unwrap();
    assert_eq!(event, "behind");
}

#[tokio::test]
async fn a_rule_is_about_one_verb_and_place_and_name() {
    let bed = bed("proxy-place").await.unwrap();
    let filter = CallFilter::on("configmaps").verb(Verb::Create).named("b");
    bed.proxy.add(Rule::on(Fault::Answer(Reply::Conflict), Turn::First(1), filter));
    bed.create(&bed.through, "a").await.unwrap();
    assert_eq!(code(bed.create(&bed.through, "b").await.unwrap_err()), 409);
    bed.create(&bed.through, "b").await.unwrap();
}

#[tokio::test]
async fn patches_of_every_kind_and_evictions_pass_and_are_on_record() {
    let bed = bed("proxy-record").await.unwrap();
    bed.create(&bed.through, "a").await.unwrap();
    let data = |text: &str| json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": { "text": text } });
    let plain = PatchParams::default();
    bed.through.patch("a", &plain, &Patch::Merge(data("merge"))).await.unwrap();
    bed.through.patch("a", &plain, &Patch::Strategic(data("strategic"))).await.unwrap();
    bed.through.patch("a", &PatchParams::apply("test").force(), &Patch::Apply(data("apply"))).await.unwrap();
    let test_and_set = json!([
        { "op": "test", "path": "/data/text", "value": "apply" },
        { "op": "replace", "path": "/data/text", "value": "json" },
    ]);
    let json_patch = || {
        let path = format!("/api/v1/namespaces/{}/configmaps/a", bed.namespace);
        let request = http::Request::patch(path).header("content-type", "application/json-patch+json");
        request.body(test_and_set.to_string().into_bytes()).unwrap()
    };
    bed.client.request::<ConfigMap>(json_patch()).await.unwrap();
    assert_eq!(code(bed.client.request::<ConfigMap>(json_patch()).await.unwrap_err()), 422, "a test that fails");
    let [_, pods] = bed.pods().await;
    pods.create(&PostParams::default(), &pod("evicted")).await.unwrap();
    pods.evict("evicted", &EvictParams::default()).await.unwrap();

    let written = bed.proxy.written();
    let lines: Vec<String> = written
        .iter()
        .map(|write| {
            let kind = write.content_type.trim_start_matches("application/").trim_end_matches("+json");
            let call = &write.call;
            format!("{:?} {} {} {kind} {}", call.verb, call.place, call.name, write.status.unwrap_or_default())
        })
        .collect();
    assert_eq!(
        lines,
        [
            "Create configmaps a json 201",
            "Patch configmaps a merge-patch 200",
            "Patch configmaps a strategic-merge-patch 200",
            "Patch configmaps a apply-patch+yaml 200",
            "Patch configmaps a json-patch 200",
            "Patch configmaps a json-patch 422",
            "Create pods evicted json 201",
            "Create pods/eviction evicted json 201",
        ]
    );
    assert_eq!(written[4].json(), test_and_set);
    assert_eq!(written[4].digest, written[5].digest, "the same body");
    assert_ne!(written[3].digest, written[4].digest);
}

#[tokio::test]
async fn calls_have_the_identity_of_the_client_and_no_other() {
    let cluster = testbed::shared().await.unwrap();
    let kubeconfig = cluster.kubeconfig_of("default", "default").await.unwrap();
    let proxy = FaultProxy::start(&kubeconfig).await.unwrap();
    let client = client_of(&proxy).await.unwrap();
    let list = Api::<Node>::all(client.clone()).list(&ListParams::default()).await;
    let kube::Error::Api(status) = list.unwrap_err() else { panic!("no answer of the server") };
    assert!(status.message.contains("system:serviceaccount:default:default"), "{}", status.message);

    let request = http::Request::get("/api/v1/nodes").header("impersonate-user", "admin").body(Vec::new()).unwrap();
    let kube::Error::Api(status) = client.request::<Value>(request).await.unwrap_err() else { panic!("no answer") };
    assert!(status.code == 403 && status.message.contains("fault proxy"), "{}", status.message);

    // As a program sees it whose proxy is gone: no connection is left open.
    drop(proxy);
    assert!(timeout(SOON, client.apiserver_version()).await.unwrap().is_err());
}

#[tokio::test]
async fn a_streaming_list_arrives_event_by_event() {
    let bed = bed("proxy-stream").await.unwrap();
    for name in ["a", "b"] {
        bed.create(&bed.direct, name).await.unwrap();
    }
    let watched = bed.through.watch(&WatchParams::default().initial_events(), "0").await.unwrap();
    let mut watched = pin!(watched);
    let mut seen = Vec::new();
    loop {
        match timeout(SOON, watched.next()).await.unwrap().unwrap().unwrap() {
            KubeEvent::Added(object) => seen.push(object.name_any()),
            KubeEvent::Bookmark(_) => break,
            KubeEvent::Modified(_) | KubeEvent::Deleted(_) | KubeEvent::Error(_) => {
                panic!("{seen:?}, then no new object")
            }
        }
    }
    seen.retain(|name| !name.starts_with("kube-"));
    assert_eq!(seen, ["a", "b"]);
    bed.create(&bed.direct, "later").await.unwrap();
    let event = timeout(SOON, watched.next()).await.expect("the watch is still open");
    assert!(matches!(event, Some(Ok(KubeEvent::Added(object))) if object.name_any() == "later"));
}

#[tokio::test]
async fn a_refused_eviction_is_refused_at_once_and_sent_once() {
    let bed = bed("proxy-refused").await.unwrap();
    let [direct, pods] = bed.pods().await;
    let selector = json!({ "matchLabels": { "budget": "proxy-refused" } });
    let budget = json!({ "metadata": { "name": "budget" }, "spec": { "minAvailable": 1, "selector": selector } });
    let budgets = Api::<PodDisruptionBudget>::namespaced(direct.clone().into_client(), &bed.namespace);
    budgets.create(&PostParams::default(), &serde_json::from_value(budget).unwrap()).await.unwrap();
    let mut refused = pod("refused");
    refused.metadata.labels = Some([("budget".to_owned(), "proxy-refused".to_owned())].into());
    direct.create(&PostParams::default(), &refused).await.unwrap();
    // No budget protects a pod that is pending.
    let running = Patch::Merge(json!({ "status": { "phase": "Running" } }));
    direct.patch_status("refused", &PatchParams::default(), &running).await.unwrap();

    let evicted = timeout(SOON, pods.evict("refused", &EvictParams::default())).await.expect("no call is repeated");
    assert_eq!(code(evicted.unwrap_err()), 429);
    let statuses: Vec<_> = bed.proxy.written().into_iter().map(|write| write.status).collect();
    assert_eq!(statuses, [Some(429)]);
}

fn pod(name: &str) -> Pod {
    let spec = json!({ "containers": [{ "name": "work", "image": "work" }], "terminationGracePeriodSeconds": 0 });
    serde_json::from_value(json!({ "metadata": { "name": name }, "spec": spec })).unwrap()
}
