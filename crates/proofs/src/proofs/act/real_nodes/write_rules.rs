//! What a write of the controller may contain: a patch of a node, and an eviction. The list is written down here once more, and not taken
//! from the policies or from the code that it judges.

use serde_json::Value;
use testbed::fault_proxy::{SentWrite, Verb};

const TAINT: &str = "mainstay.dev/quarantined";
const AVOID: &str = "mainstay.dev/avoid";
/// Paths of a node that a patch may change, in addition to the annotations of Mainstay.
const PATHS: [&str; 6] = [
    "/metadata/labels",
    "/metadata/labels/mainstay.dev~1fenced",
    "/metadata/annotations",
    "/metadata/annotations/cluster-autoscaler.kubernetes.io~1scale-down-disabled",
    "/metadata/annotations/karpenter.sh~1do-not-disrupt",
    "/spec/taints",
];
const ANNOTATION: &str = "/metadata/annotations/mainstay.dev~1";

/// Why a patch of a node breaks the contract, if it does. A patch of an earlier registration must have been refused.
pub(super) fn patch_problem(write: &SentWrite, current: &str) -> Option<String> {
    if write.call.verb != Verb::Patch || write.content_type != "application/json-patch+json" {
        return Some(format!("{:?} as {}", write.call.verb, write.content_type));
    }
    let body = write.json();
    let operations = body.as_array().map_or(&[][..], Vec::as_slice);
    let [uid, version, changes @ ..] = operations else { return Some(format!("no tests: {body}")) };
    let tests = |one: &Value, path: &str| one["op"] == "test" && one["path"] == path && !text(&one["value"]).is_empty();
    if !tests(uid, "/metadata/uid") || !tests(version, "/metadata/resourceVersion") || changes.is_empty() {
        return Some(format!("it does not begin with tests of uid and resource version: {body}"));
    }
    if write.is_carried_out() && uid["value"] != current {
        return Some(format!("it is carried out on another registration than {current}: {body}"));
    }
    changes.iter().find_map(change_problem)
}

fn change_problem(change: &Value) -> Option<String> {
    let path = text(&change["path"]);
    if !PATHS.contains(&path) && !path.starts_with(ANNOTATION) {
        return Some(format!("it changes {path}"));
    }
    // A whole map is only created, and empty.
    if matches!(path, "/metadata/labels" | "/metadata/annotations") && change["value"] != serde_json::json!({}) {
        return Some(format!("it replaces all of {path}"));
    }
    let taints = change["value"].as_array().filter(|_| path == "/spec/taints");
    let wrong = taints.into_iter().flatten().find(|taint| {
        let (key, effect) = (text(&taint["key"]), text(&taint["effect"]));
        match key {
            TAINT => effect != "NoSchedule",
            AVOID => effect != "PreferNoSchedule" && effect != "NoSchedule",
            "node.kubernetes.io/out-of-service" => true,
            _ => key.starts_with("mainstay.dev/"),
        }
    });
    wrong.map(|taint| format!("it sets the taint {taint}"))
}

/// Why an eviction breaks the contract, if it does. One that names another pod of the same name must have been refused.
pub(super) fn eviction_problem(write: &SentWrite, current: &str) -> Option<String> {
    let body = write.json();
    let options = &body["deleteOptions"];
    let preconditions = &options["preconditions"];
    if write.call.verb != Verb::Create || body["kind"] != "Eviction" {
        return Some(format!("it is no creation of an Eviction: {body}"));
    }
    if text(&preconditions["uid"]).is_empty() || text(&preconditions["resourceVersion"]).is_empty() {
        return Some(format!("it has no preconditions: {body}"));
    }
    if options.as_object().is_some_and(|options| options.keys().any(|key| key != "preconditions")) {
        return Some(format!("it changes how the pod ends: {options}"));
    }
    let is_another = write.is_carried_out() && preconditions["uid"] != current;
    is_another.then(|| format!("it is carried out on another pod than {current}: {body}"))
}

/// Whether a stored status has this stage.
pub(super) fn has_stage(status: &Value, stage: &str) -> bool {
    status["status"]["stage"] == stage
}

/// Whether a stored status has a grant.
pub(super) fn grants(status: &Value) -> bool {
    !text(&status["status"]["grant"]["claim"]).is_empty()
}

/// Whether a patch sets the quarantine taint.
pub(super) fn sets_taint(patch: &Value) -> bool {
    let operations = patch.as_array().into_iter().flatten().filter(|one| one["path"] == "/spec/taints");
    operations.filter_map(|one| one["value"].as_array()).flatten().any(|taint| taint["key"] == TAINT)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
