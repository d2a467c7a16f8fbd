//! What the controller may write on a Node and in an Eviction, with a role that allows every verb: the leader, epoch, label and
//! mode are right, so only the list of fields decides. Also on a node with 50 taints, 100 labels and 100 annotations.

use anyhow::Result;
use serde_json::{Map, Value, json};

use super::fenced_cluster::{
    CONTROLLER_NAMESPACE, FencedCluster, OF_OTHERS, Verb, WriteMode, WriteRequest, send_until,
};
use super::operation::{EPOCH, LABELLED_NODE, eviction, prefix, taints};
use super::{Case, ExpectedResponse};

/// A node with more taints, labels and annotations than any cluster needs.
const LARGE_NODE: &str = "large";
const TAINTS: u32 = 50;
const LABELS: u32 = 100;

const TAINT: ExpectedResponse = ExpectedResponse::Policy("of the taints, the controller changes only");
const SPEC: ExpectedResponse = ExpectedResponse::Policy("of the spec of a node, the controller changes taints only");
const LABEL: ExpectedResponse = ExpectedResponse::Policy("of the labels of a node");
const ANNOTATION: ExpectedResponse = ExpectedResponse::Policy("of the annotations of a node");
const METADATA: ExpectedResponse = ExpectedResponse::Policy("no finalizer, no owner and no other metadata");
const EXISTENCE: ExpectedResponse = ExpectedResponse::Policy("creates and deletes no node");
const PRECONDITIONS: ExpectedResponse = ExpectedResponse::Policy("the uid and the resourceVersion of the pod");
const GRACE: ExpectedResponse = ExpectedResponse::Policy("must leave the pod a grace period");
const OPTIONS: ExpectedResponse = ExpectedResponse::Policy("the options of an eviction are");
const ONCE: ExpectedResponse = ExpectedResponse::Policy("a checkpoint request is created and then never changed");

pub(super) async fn run(world: &FencedCluster) -> Result<Vec<Case>> {
    world.set_mode("Act").await?;
    widen_role(world).await?;
    let mut calls = on_nodes();
    calls.extend(of_existence(world)?);
    calls.extend(evictions(world)?);
    calls.extend(large_node(world).await?);
    let marked = json!({ "metadata": { "annotations": { (mainstay_api::EPOCH): EPOCH.to_string() } } });
    let request =
        WriteRequest { prefix: prefix("checkpointrequests"), name: "absent", verb: Verb::Update, body: marked };
    calls.push(("a checkpoint request is changed".to_owned(), request, ONCE));
    let mut cases = Vec::new();
    for (what, call, expected) in calls {
        // The wider role is seen a moment later.
        let answer = send_until(&world.controller, &call, WriteMode::Dry, expected).await?;
        cases.push(Case { what: format!("fields: {what}"), expected, answer });
    }
    Ok(cases)
}

type Call = (String, WriteRequest, ExpectedResponse);

/// What a cluster with a much wider role than ours would allow.
async fn widen_role(world: &FencedCluster) -> Result<()> {
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": { "name": "too-wide" },
        "rules": [
            { "apiGroups": [""], "resources": ["nodes", "pods/eviction"], "verbs": ["*"] },
            { "apiGroups": ["mainstay.dev"], "resources": ["checkpointrequests"], "verbs": ["*"] },
        ],
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": { "name": "too-wide" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "too-wide" },
        "subjects": [{ "kind": "ServiceAccount", "name": "mainstay-controller", "namespace": CONTROLLER_NAMESPACE }],
    });
    world.create("/apis/rbac.authorization.k8s.io/v1/clusterroles", &role).await?;
    world.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", &binding).await?;
    Ok(())
}

/// A patch of a node, with the label and the epoch of a valid write.
fn patch(name: &'static str, mut body: Value) -> WriteRequest {
    body["metadata"]["labels"][mainstay_api::FENCED] = json!("");
    body["metadata"]["annotations"][mainstay_api::EPOCH] = json!(EPOCH.to_string());
    WriteRequest { prefix: prefix("nodes"), name, verb: Verb::UpdateSpec, body }
}

fn on_nodes() -> Vec<Call> {
    let with_taints = |ours: &[(&str, &str)]| json!({ "spec": { "taints": taints(ours) } });
    let metadata = |field: &str, value: Value| json!({ "metadata": { field: value } });
    let owner =
        json!([{ "apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "11111111-1111-1111-1111-111111111111" }]);
    let (avoid, quarantine) = (mainstay_api::AVOID_TAINT, mainstay_api::TAINT);
    let taken = ExpectedResponse::Taken;
    let all = [
        ("the quarantine taint", with_taints(&[(quarantine, "NoSchedule")]), taken),
        ("both taints", with_taints(&[(quarantine, "NoSchedule"), (avoid, "PreferNoSchedule")]), taken),
        ("a hard avoid taint", with_taints(&[(avoid, "NoSchedule")]), taken),
        ("no taint of ours", with_taints(&[]), taken),
        ("an annotation of ours", metadata("annotations", json!({ "mainstay.dev/any": "x" })), taken),
        (
            "the autoscaler's mark",
            metadata("annotations", json!({ (mainstay_api::SCALE_DOWN_DISABLED): "true" })),
            taken,
        ),
        ("Karpenter's mark", metadata("annotations", json!({ (mainstay_api::DO_NOT_DISRUPT): "true" })), taken),
        (
            "a mark with another value",
            metadata("annotations", json!({ (mainstay_api::DO_NOT_DISRUPT): "no" })),
            ANNOTATION,
        ),
        ("another annotation", metadata("annotations", json!({ "example.com/a": "b" })), ANNOTATION),
        ("another annotation goes", metadata("annotations", json!({ (OF_OTHERS): null })), ANNOTATION),
        ("another annotation changes", metadata("annotations", json!({ (OF_OTHERS): "no" })), ANNOTATION),
        ("a similar prefix", metadata("annotations", json!({ "mainstay.development/a": "b" })), ANNOTATION),
        ("another label", metadata("labels", json!({ "example.com/a": "b" })), LABEL),
        ("another label goes", metadata("labels", json!({ (OF_OTHERS): null })), LABEL),
        ("another label changes", metadata("labels", json!({ (OF_OTHERS): "no" })), LABEL),
        ("the pool of the node", metadata("labels", json!({ "mainstay.dev/pool": "other" })), LABEL),
        ("a role of the node", metadata("labels", json!({ "node-role.kubernetes.io/control-plane": "" })), LABEL),
        ("a finalizer", metadata("finalizers", json!(["example.com/a"])), METADATA),
        ("an owner", metadata("ownerReferences", owner), METADATA),
        ("unschedulable", json!({ "spec": { "unschedulable": true } }), SPEC),
        ("a provider", json!({ "spec": { "providerID": "other://n2" } }), SPEC),
        ("an address range", json!({ "spec": { "podCIDR": "10.9.0.0/24", "podCIDRs": ["10.9.0.0/24"] } }), SPEC),
        ("NoExecute", with_taints(&[(quarantine, "NoExecute")]), TAINT),
        ("avoid with NoExecute", with_taints(&[(avoid, "NoExecute")]), TAINT),
        ("a soft quarantine", with_taints(&[(quarantine, "PreferNoSchedule")]), TAINT),
        ("out-of-service", with_taints(&[("node.kubernetes.io/out-of-service", "NoExecute")]), TAINT),
        ("soft out-of-service", with_taints(&[("node.kubernetes.io/out-of-service", "NoSchedule")]), TAINT),
        ("another tool's taint", with_taints(&[("example.com/broken", "NoSchedule")]), TAINT),
        ("kubectl's cordon taint", with_taints(&[("node.kubernetes.io/unschedulable", "NoSchedule")]), TAINT),
        ("all taints go", json!({ "spec": { "taints": null } }), TAINT),
        (
            "the server's taint is weakened",
            json!({ "spec": { "taints": [{ "key": "node.kubernetes.io/not-ready", "effect": "PreferNoSchedule" }] } }),
            TAINT,
        ),
    ];
    all.into_iter().map(|(what, body, expected)| (what.to_owned(), patch(LABELLED_NODE, body), expected)).collect()
}

/// A node is created, replaced as a whole, and deleted.
fn of_existence(world: &FencedCluster) -> Result<Vec<Call>> {
    let mut node = world.object("nodes")?.clone();
    node["metadata"] = json!({
        "name": "new", "labels": { (mainstay_api::FENCED): "" },
        "annotations": { (mainstay_api::EPOCH): EPOCH.to_string() },
    });
    let create = WriteRequest { prefix: prefix("nodes"), name: "new", verb: Verb::Create, body: node };
    let delete = WriteRequest { prefix: prefix("nodes"), name: LABELLED_NODE, verb: Verb::Delete, body: Value::Null };
    Ok(vec![("a node is created".to_owned(), create, EXISTENCE), ("a node is deleted".to_owned(), delete, EXISTENCE)])
}

fn evictions(world: &FencedCluster) -> Result<Vec<Call>> {
    let valid = world.eviction_options()?;
    let mut calls = Vec::new();
    let mut add = |what: &str, expected, change: &dyn Fn(&mut Value)| {
        let mut options = valid.clone();
        change(&mut options);
        let metadata = json!({
            "labels": { (mainstay_api::FENCED): "" }, "annotations": { (mainstay_api::EPOCH): EPOCH.to_string() },
        });
        let body = eviction(metadata, &options);
        calls.push((
            what.to_owned(),
            WriteRequest { prefix: prefix("pods"), name: "p1", verb: Verb::Evict, body },
            expected,
        ));
    };
    let gone = |key: &'static str| move |options: &mut Value| options["preconditions"][key] = Value::Null;
    add("an eviction", ExpectedResponse::Taken, &|_| ());
    add("an eviction with a grace period", ExpectedResponse::Taken, &|options| {
        options["gracePeriodSeconds"] = json!(30);
    });
    add("an eviction without options", PRECONDITIONS, &|options| *options = Value::Null);
    add("an eviction without a uid", PRECONDITIONS, &gone("uid"));
    add("an eviction without a version", PRECONDITIONS, &gone("resourceVersion"));
    add("an eviction with an empty version", PRECONDITIONS, &|options| {
        options["preconditions"]["resourceVersion"] = json!("");
    });
    add("an eviction without grace", GRACE, &|options| options["gracePeriodSeconds"] = json!(0));
    add("an eviction that orphans", OPTIONS, &|options| options["propagationPolicy"] = json!("Orphan"));
    Ok(calls)
}

/// The same decisions where the lists are long, so that the cost of the expressions stays within the server's limit.
async fn large_node(world: &FencedCluster) -> Result<Vec<Call>> {
    let many = |prefix: &str| -> Map<String, Value> {
        (0..LABELS).map(|i| (format!("example.com/{prefix}-{i}"), json!("v".repeat(60)))).collect()
    };
    let mut labels = many("label");
    labels.insert(mainstay_api::FENCED.to_owned(), json!(""));
    let theirs: Vec<Value> =
        (0..TAINTS).map(|i| json!({ "key": format!("example.com/taint-{i}"), "effect": "NoSchedule" })).collect();
    let node = json!({
        "apiVersion": "v1", "kind": "Node", "spec": { "taints": theirs },
        "metadata": { "name": LARGE_NODE, "labels": labels, "annotations": many("annotation") },
    });
    let stored = world.create(&prefix("nodes"), &node).await?;
    let with = |change: &dyn Fn(&mut Vec<Value>)| {
        let mut taints = stored["spec"]["taints"].as_array().cloned().unwrap_or_default();
        change(&mut taints);
        json!({ "spec": { "taints": taints } })
    };
    let quarantine = json!({ "key": mainstay_api::TAINT, "value": "drain-large-1", "effect": "NoSchedule" });
    let calls = [
        ("a large node is quarantined", with(&|all| all.push(quarantine.clone())), ExpectedResponse::Taken),
        ("a taint of a large node goes", with(&|all| drop(all.pop())), TAINT),
        ("taints of a large node change places", with(&|all| all.swap(0, 1)), TAINT),
        (
            "a label of a large node changes",
            json!({ "metadata": { "labels": { "example.com/label-99": "w" } } }),
            LABEL,
        ),
    ];
    Ok(calls.into_iter().map(|(what, body, expected)| (what.to_owned(), patch(LARGE_NODE, body), expected)).collect())
}
