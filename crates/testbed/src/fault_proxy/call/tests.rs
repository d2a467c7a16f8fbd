use super::*;
use axum::http::Request;

pub(in crate::fault_proxy) fn call(method: &str, path: &str) -> Call {
    call_with(method, path, "")
}

fn call_with(method: &str, path: &str, body: &str) -> Call {
    let (parts, ()) = Request::builder().method(method).uri(path).body(()).unwrap().into_parts();
    Call::of(&parts, body.as_bytes())
}

#[test]
fn a_path_has_a_place_a_namespace_and_a_name() {
    let cases = [
        ("GET", "/api/v1/nodes", Verb::List, "nodes", "", ""),
        ("GET", "/api/v1/nodes?watch=true", Verb::Watch, "nodes", "", ""),
        ("GET", "/api/v1/namespaces/a", Verb::Get, "namespaces", "", "a"),
        ("PUT", "/api/v1/namespaces/a/finalize", Verb::Update, "namespaces/finalize", "", "a"),
        ("DELETE", "/api/v1/namespaces/a/pods", Verb::DeleteCollection, "pods", "a", ""),
        ("POST", "/api/v1/namespaces/a/pods/b/eviction", Verb::Create, "pods/eviction", "a", "b"),
        ("PATCH", "/apis/mainstay.dev/v1alpha1/gpunodes/n/status", Verb::Patch, "gpunodes/status", "", "n"),
        ("GET", "/version", Verb::List, "", "", ""),
    ];
    for (method, path, verb, place, namespace, name) in cases {
        let call = call(method, path);
        assert_eq!(
            (call.verb, call.place.as_str(), call.namespace.as_str(), call.name.as_str()),
            (verb, place, namespace, name),
            "{path}"
        );
    }
}

#[test]
fn a_new_object_is_found_by_the_name_in_its_body() {
    let body = r#"{"kind":"CheckpointRequest","metadata":{"name":"c1"}}"#;
    let create = call_with("POST", "/apis/mainstay.dev/v1alpha1/checkpointrequests", body);
    let filter = CallFilter::on("checkpointrequests").verb(Verb::Create);
    assert!(filter.clone().named("c1").matches(&create));
    assert!(!filter.named("c2").matches(&create));
}

#[test]
fn a_filter_on_an_object_leaves_its_subresources_alone() {
    let filter = CallFilter::on("nodes").named("n");
    assert!(filter.matches(&call("PATCH", "/api/v1/nodes/n")));
    assert!(!filter.matches(&call("PATCH", "/api/v1/nodes/n/status")));
    assert!(!filter.verb(Verb::Get).matches(&call("PATCH", "/api/v1/nodes/n")));
}

#[test]
fn leases_and_dry_runs_are_no_writes() {
    assert!(!call("PUT", "/apis/coordination.k8s.io/v1/namespaces/a/leases/b").is_write());
    assert!(!call("PATCH", "/api/v1/nodes/a?dryRun=All").is_write());
    assert!(call("POST", "/api/v1/namespaces/a/pods/b/eviction").is_write());
}
