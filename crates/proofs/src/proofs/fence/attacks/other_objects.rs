//! Attempts with a stolen node token on objects other than its own report: reports, nodes, Mainstay objects,
//! permissions and every known resource.

use anyhow::Result;
use axum::http::Method;
use kube::api::ListParams;
use kube::core::Request;
use serde_json::{Value, json};

use super::super::fenced_cluster::{CONTROLLER_NAMESPACE, FencedCluster};
use super::super::operation::prefix;
use super::AttackSetup;
use super::attempt::{Attempt, FORMS};

const READS: &str = "Read every GpuNode, and every report by node name";
const ASKS: &str = "Query its own identity and permissions";
const LOOKS: &str =
    "Read what any account of the cluster may read: versions, health, the list of kinds and trust bundles";

const OURS: [&str; 8] =
    ["cells", "gpunodes", "incidents", "qualifications", "checkpointrequests", "fleetpolicies", "fabrics", "slos"];

pub(super) async fn all(stage: &AttackSetup) -> Result<Vec<Attempt>> {
    let mut all = reports(stage);
    all.extend(nodes());
    all.extend(records(&stage.world)?);
    all.extend(powers());
    all.extend(resources(&stage.world).await?);
    Ok(all)
}

/// The report of a node that is there, of one that has none, and of none, under either registration.
fn reports(stage: &AttackSetup) -> Vec<Attempt> {
    let path = prefix("nodereports");
    let mut all = Vec::new();
    for name in ["a2", "n1", "stranger"] {
        for uid in &stage.uids {
            let mut body = stage.report.clone();
            body["metadata"] = json!({ "name": name, "resourceVersion": stage.other_version });
            body["spec"]["nodeUid"] = json!(uid);
            body["spec"]["sequence"] = json!(2_000);
            all.extend((0..FORMS.len()).map(|form| Attempt::write("another's report", form, &path, name, &body)));
        }
        let pointer = json!([{ "op": "replace", "path": "/spec/sequence", "value": 9_000 }]);
        let patch = Attempt::new("another's sequence", Method::PATCH, format!("{path}/{name}"), &pointer);
        all.push(patch.content("application/json-patch+json"));
        all.push(Attempt::new("another's report goes", Method::DELETE, format!("{path}/{name}"), &Value::Null));
    }
    all.push(Attempt::get(format!("{path}/a2")).stated(READS));
    all.push(Attempt::get(path.clone()));
    all.push(Attempt::get(format!("{path}?watch=true&timeoutSeconds=1")));
    all
}

fn nodes() -> Vec<Attempt> {
    let mut all = Vec::new();
    let cordon = json!({ "spec": { "unschedulable": true } });
    let ready = json!({ "status": { "conditions": [{ "type": "Ready", "status": "False" }] } });
    for name in ["a1", "a2"] {
        for (path, body) in [("", &cordon), ("/status", &ready)] {
            let path = format!("/api/v1/nodes/{name}{path}");
            let patch =
                |content| Attempt::new(format!("{content} {path}"), Method::PATCH, &path, body).content(content);
            all.push(patch("application/merge-patch+json"));
            all.push(patch("application/strategic-merge-patch+json"));
            all.push(patch("application/json-patch+json"));
        }
        all.push(Attempt::new("a node goes", Method::DELETE, format!("/api/v1/nodes/{name}"), &Value::Null));
        all.push(Attempt::get(format!("/api/v1/nodes/{name}")));
        all.push(Attempt::get(format!("/api/v1/nodes/{name}/proxy/pods")));
    }
    let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "a9" } });
    all.push(Attempt::new("a new node", Method::POST, "/api/v1/nodes", &node));
    let pods = "/api/v1/namespaces/default/pods";
    let eviction = json!({ "apiVersion": "policy/v1", "kind": "Eviction", "metadata": { "name": "p1" } });
    let binding =
        json!({ "apiVersion": "v1", "kind": "Binding", "metadata": { "name": "p1" }, "target": { "name": "a1" } });
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "p9" },
        "spec": { "automountServiceAccountToken": false, "containers": [{ "name": "c", "image": "none" }] },
    });
    all.push(Attempt::new("evicts", Method::POST, format!("{pods}/p1/eviction"), &eviction));
    all.push(Attempt::new("binds", Method::POST, format!("{pods}/p1/binding"), &binding));
    all.push(Attempt::new("starts a pod", Method::POST, pods, &pod));
    all.push(Attempt::new("ends a pod", Method::DELETE, format!("{pods}/p1"), &Value::Null));
    all.push(Attempt::get(format!("{pods}/p1/log")));
    all.push(Attempt::get(format!("{pods}/p1/exec?command=sh")));
    all
}

/// Our records: made, changed, judged and deleted.
fn records(world: &FencedCluster) -> Result<Vec<Attempt>> {
    let mut all = Vec::new();
    for resource in OURS {
        let path = prefix(resource);
        let name = if resource == "cells" { mainstay_api::CELL_NAME } else { "absent" };
        let mut object = world.object(resource)?.clone();
        object["metadata"] = json!({ "name": if resource == "cells" { name } else { "forged" } });
        all.push(Attempt::write("forges", 3, &path, name, &object));
        let marked = json!({ "metadata": { "annotations": { "mainstay.dev/epoch": "5" } } });
        all.push(Attempt::new(format!("marks {resource}"), Method::PATCH, format!("{path}/{name}"), &marked));
        let status = json!({ "status": object.get("status").cloned().unwrap_or_else(|| json!({ "epoch": 5 })) });
        all.push(Attempt::new(format!("judges {resource}"), Method::PATCH, format!("{path}/{name}/status"), &status));
        let delete =
            Attempt::new(format!("deletes {resource}"), Method::DELETE, format!("{path}/{name}"), &Value::Null);
        all.push(if resource == "cells" { delete.refused_to_all() } else { delete });
    }
    let gpunodes = prefix("gpunodes");
    all.push(Attempt::get(format!("{gpunodes}/absent")).stated(READS));
    all.push(Attempt::get(format!("{gpunodes}?watch=true&timeoutSeconds=1")).stated(READS));
    Ok(all)
}

/// Becoming somebody else, or giving oneself more.
fn powers() -> Vec<Attempt> {
    let mut all = Vec::new();
    for account in ["mainstay-controller", "mainstay-agent", "default"] {
        let path = format!("/api/v1/namespaces/{CONTROLLER_NAMESPACE}/serviceaccounts/{account}/token");
        let body = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {} });
        all.push(Attempt::new(format!("a token of {account}"), Method::POST, path, &body));
    }
    let node = || Attempt::get("/api/v1/nodes/a1");
    let controller = "system:serviceaccount:mainstay-system:mainstay-controller";
    all.push(node().saying("Impersonate-User", controller));
    all.push(node().saying("Impersonate-User", "admin").saying("Impersonate-Group", "system:masters"));
    all.push(node().saying("Impersonate-User", "system:node:a1").saying("Impersonate-Group", "system:nodes"));
    let agent = "system:serviceaccount:mainstay-system:mainstay-agent";
    let report = Attempt::get(format!("{}/a2", prefix("nodereports"))).saying("Impersonate-User", agent);
    all.push(report.saying("Impersonate-Extra-authentication.kubernetes.io%2Fnode-name", "a2"));
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let role = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin" });
    let subject = json!({ "kind": "ServiceAccount", "name": "mainstay-agent", "namespace": CONTROLLER_NAMESPACE });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": { "name": "thief" }, "roleRef": role, "subjects": [subject],
    });
    all.push(Attempt::new("binds itself", Method::POST, format!("{rbac}/clusterrolebindings"), &binding));
    let everything = json!({ "rules": [{ "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] }] });
    all.push(Attempt::new("a wider role", Method::PATCH, format!("{rbac}/clusterroles/mainstay-agent"), &everything));
    let admission = "/apis/admissionregistration.k8s.io/v1";
    for (kind, name) in [
        ("validatingadmissionpolicies", "mainstay-agent"),
        ("validatingadmissionpolicybindings", "mainstay-agent"),
        ("validatingadmissionpolicies", "mainstay-fence"),
    ] {
        let path = format!("{admission}/{kind}/{name}");
        all.push(Attempt::new(format!("{name} goes"), Method::DELETE, path, &Value::Null));
    }
    let crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodereports.mainstay.dev";
    all.push(Attempt::new("the definition goes", Method::DELETE, crd, &Value::Null));
    for (kind, spec) in [
        ("authentication.k8s.io/v1/tokenreviews", json!({ "token": "x" })),
        ("authorization.k8s.io/v1/subjectaccessreviews", json!({ "user": "admin" })),
    ] {
        all.push(Attempt::new(
            format!("asks about others, {kind}"),
            Method::POST,
            format!("/apis/{kind}"),
            &json!({ "spec": spec }),
        ));
    }
    for (kind, spec) in [
        ("authentication.k8s.io/v1/selfsubjectreviews", json!({})),
        (
            "authorization.k8s.io/v1/selfsubjectaccessreviews",
            json!({ "resourceAttributes": { "verb": "get", "resource": "secrets" } }),
        ),
        ("authorization.k8s.io/v1/selfsubjectrulesreviews", json!({ "namespace": "default" })),
    ] {
        let attempt = Attempt::new(
            format!("asks about itself, {kind}"),
            Method::POST,
            format!("/apis/{kind}"),
            &json!({ "spec": spec }),
        );
        all.push(attempt.stated(ASKS));
    }
    all.extend(["/version", "/readyz", "/apis", "/openapi/v3"].map(|path| Attempt::get(path).stated(LOOKS)));
    all.extend(["/metrics", "/logs/", "/debug/pprof/", "/configz"].map(Attempt::get));
    all
}

/// Every kind that can be listed, of every group: read, and written in one way.
async fn resources(world: &FencedCluster) -> Result<Vec<Attempt>> {
    let mut groups = vec!["/api/v1".to_owned()];
    let found: Value = world.admin.request(Request::new("/apis").list(&ListParams::default())?).await?;
    for group in found["groups"].as_array().into_iter().flatten() {
        groups.push(format!("/apis/{}", group["preferredVersion"]["groupVersion"].as_str().unwrap_or_default()));
    }
    let mut all = Vec::new();
    for group in groups {
        let list: Value = world.admin.request(Request::new(&group).list(&ListParams::default())?).await?;
        for resource in list["resources"].as_array().into_iter().flatten() {
            let name = resource["name"].as_str().unwrap_or_default();
            let verbs: Vec<&str> =
                resource["verbs"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            if name.contains('/') || !verbs.contains(&"list") {
                continue;
            }
            let read = Attempt::get(format!("{group}/{name}?limit=1"));
            all.push(match name {
                "gpunodes" => read.stated(READS),
                "clustertrustbundles" => read.stated(LOOKS),
                _ => read,
            });
            let place = match resource["namespaced"].as_bool() {
                Some(true) => format!("{group}/namespaces/default/{name}"),
                _ => format!("{group}/{name}"),
            };
            let (what, method, path) = match all.len() % 3 {
                0 if verbs.contains(&"create") => ("creates", Method::POST, place),
                1 if verbs.contains(&"patch") => ("patches", Method::PATCH, format!("{place}/thing")),
                _ if verbs.contains(&"deletecollection") && name != "cells" => {
                    ("deletes all of", Method::DELETE, place)
                }
                _ => continue,
            };
            all.push(Attempt::new(format!("{what} {path}"), method, path, &json!({ "metadata": { "name": "thing" } })));
        }
    }
    Ok(all)
}
