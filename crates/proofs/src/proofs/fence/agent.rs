//! Who else writes: agents, each bound to one node, and jobs, each in its own namespace.

use anyhow::{Context as _, Result};
use kube::Client;
use serde_json::{Value, json};

use super::fenced_cluster::{
    CONTROLLER_NAMESPACE, FencedCluster, Verb, WriteMode, WriteRequest, WriteResponse, send, token,
};
use super::operation::{EPOCH, prefix};
use super::{Case, ExpectedResponse};

const OWN: ExpectedResponse = ExpectedResponse::Policy("may write that report only");
const UID: ExpectedResponse = ExpectedResponse::Policy("not the registration of the node");
const UNBOUND: ExpectedResponse = ExpectedResponse::Policy("bound to no node");

pub(super) async fn run(world: &FencedCluster) -> Result<Vec<Case>> {
    let mut cases = agents(world).await?;
    cases.extend(jobs(world).await?);
    Ok(cases)
}

async fn agents(world: &FencedCluster) -> Result<Vec<Case>> {
    let node: Value =
        world.create("/api/v1/nodes", &json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a1"}})).await?;
    let uid = node["metadata"]["uid"].as_str().context("a node without uid")?;
    let mut report = world.object("nodereports")?.clone();
    for name in ["a1", "a2"] {
        report["metadata"] = json!({ "name": name });
        report["spec"]["nodeUid"] = json!(uid);
        world.create(&prefix("nodereports"), &report).await?;
    }
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "agent-a1" },
        "spec": {
            "nodeName": "a1", "serviceAccountName": "mainstay-agent", "automountServiceAccountToken": false,
            "containers": [{ "name": "c", "image": "none" }],
        },
    });
    let pod = world.create(&format!("/api/v1/namespaces/{CONTROLLER_NAMESPACE}/pods"), &pod).await?;
    let bound = world.cluster.client_with_token(&token(&world.cluster, "mainstay-agent", Some(&pod)).await?).await?;
    let loose = world.cluster.client_with_token(&token(&world.cluster, "mainstay-agent", None).await?).await?;

    let create = |name: &'static str, uid: &str| {
        let mut body = report.clone();
        body["metadata"] = json!({ "name": name });
        body["spec"]["nodeUid"] = json!(uid);
        body["spec"]["sequence"] = json!(1_000);
        WriteRequest { prefix: prefix("nodereports"), name, verb: Verb::Create, body }
    };
    let update = |name: &'static str, uid: &str| WriteRequest { verb: Verb::UpdateSpec, ..spec_patch(name, uid) };
    let on = |resource: &str, name, verb, body| WriteRequest { prefix: prefix(resource), name, verb, body };
    let status = json!({ "status": { "epoch": EPOCH } });
    let annotation = json!({ "metadata": { "annotations": { "a": "b" } } });
    // The report named a1 exists, so a creation that admission lets through is answered with a conflict.
    let list: Vec<(&str, &Client, WriteRequest, ExpectedResponse)> = vec![
        ("an agent rewrites its own report", &bound, update("a1", uid), ExpectedResponse::Taken),
        ("an agent rewrites another node's report", &bound, update("a2", uid), OWN),
        ("an agent claims another registration", &bound, update("a1", "another"), UID),
        ("an agent creates another node's report", &bound, create("a3", uid), OWN),
        ("an agent creates a report for no node", &bound, create("stranger", uid), OWN),
        (
            "an agent deletes its report",
            &bound,
            on("nodereports", "a1", Verb::Delete, Value::Null),
            ExpectedResponse::NoRole,
        ),
        (
            "an agent patches its node",
            &bound,
            on("nodes", "a1", Verb::Update, annotation.clone()),
            ExpectedResponse::NoRole,
        ),
        (
            "an agent writes node status",
            &bound,
            on("nodes", "a1", Verb::UpdateStatus, annotation.clone()),
            ExpectedResponse::NoRole,
        ),
        (
            "an agent changes a GpuNode",
            &bound,
            on("gpunodes", "absent", Verb::Update, annotation.clone()),
            ExpectedResponse::NoRole,
        ),
        (
            "an agent orders itself",
            &bound,
            on("gpunodes", "absent", Verb::UpdateStatus, status.clone()),
            ExpectedResponse::NoRole,
        ),
        ("an agent raises the cell", &bound, on("cells", "cell", Verb::UpdateStatus, status), ExpectedResponse::NoRole),
        ("an agent changes the mode", &bound, on("cells", "cell", Verb::Update, annotation), ExpectedResponse::NoRole),
        ("a token of no node rewrites a report", &loose, update("a1", uid), UNBOUND),
        ("a token of no node creates a report", &loose, create("a3", uid), UNBOUND),
    ];
    let mut cases = Vec::new();
    for (what, client, call, expected) in list {
        cases.push(Case { what: what.to_owned(), expected, answer: send(client, &call, WriteMode::Dry).await? });
    }
    cases.push(first_report(world, &pod, &report).await?);
    Ok(cases)
}

/// A node's very first report is taken: its name is not in the request's path then, only in the object.
async fn first_report(world: &FencedCluster, pod: &Value, report: &Value) -> Result<Case> {
    let node: Value =
        world.create("/api/v1/nodes", &json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a4"}})).await?;
    let mut other = pod.clone();
    other["metadata"] = json!({ "name": "agent-a4" });
    other["spec"]["nodeName"] = json!("a4");
    let other = world.create(&format!("/api/v1/namespaces/{CONTROLLER_NAMESPACE}/pods"), &other).await?;
    let client = world.cluster.client_with_token(&token(&world.cluster, "mainstay-agent", Some(&other)).await?).await?;
    let mut body = report.clone();
    body["metadata"] = json!({ "name": "a4" });
    body["spec"]["nodeUid"] = node["metadata"]["uid"].clone();
    let call = WriteRequest { prefix: prefix("nodereports"), name: "a4", verb: Verb::Create, body };
    let answer = send(&client, &call, WriteMode::Dry).await?;
    Ok(Case { what: "an agent writes its node's first report".to_owned(), expected: ExpectedResponse::Taken, answer })
}

fn spec_patch(name: &'static str, uid: &str) -> WriteRequest {
    let body = json!({ "spec": { "nodeUid": uid, "sequence": 1_000 } });
    WriteRequest { prefix: prefix("nodereports"), name, verb: Verb::UpdateSpec, body }
}

/// A job answers in its own namespace and can neither ask nor answer elsewhere.
async fn jobs(world: &FencedCluster) -> Result<Vec<Case>> {
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "elsewhere" } });
    world.create("/api/v1/namespaces", &namespace).await?;
    let account = json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "train-7" } });
    world.create(&format!("/api/v1/namespaces/{CONTROLLER_NAMESPACE}/serviceaccounts"), &account).await?;
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": { "name": "train-7" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "mainstay-job" },
        "subjects": [{ "kind": "ServiceAccount", "name": "train-7", "namespace": CONTROLLER_NAMESPACE }],
    });
    world.create("/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings", &binding).await?;
    let client = world.cluster.client_with_token(&token(&world.cluster, "train-7", None).await?).await?;
    let answer_in = |namespace: &str| WriteRequest {
        prefix: format!("/apis/mainstay.dev/v1alpha1/namespaces/{namespace}/checkpointrequests"),
        name: "absent",
        verb: Verb::UpdateStatus,
        body: json!({ "status": { "acknowledgedAt": "2026-11-15T03:08:12Z", "stepSaved": 41_200 } }),
    };
    let ask = WriteRequest {
        prefix: prefix("checkpointrequests"),
        name: "absent",
        verb: Verb::UpdateSpec,
        body: json!({ "spec": { "gang": "another" } }),
    };
    let list = [
        ("a job answers in its namespace", answer_in("default"), ExpectedResponse::Taken),
        ("a job answers in another namespace", answer_in("elsewhere"), ExpectedResponse::NoRole),
        ("a job changes the question", ask, ExpectedResponse::NoRole),
    ];
    let mut cases = Vec::new();
    for (what, call, expected) in list {
        let answer: WriteResponse = send(&client, &call, WriteMode::Dry).await?;
        cases.push(Case { what: what.to_owned(), expected, answer });
    }
    Ok(cases)
}
