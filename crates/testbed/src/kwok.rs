//! KWOK: what it is allowed to do, which nodes it plays, and how these and their pods behave. The behaviour itself is
//! in `tools/cluster/kwok/stages.yaml`; here it is only fitted to the size of the fleet.

use anyhow::Result;
use k8s_openapi::api::flowcontrol::v1::FlowSchema;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::PostParams;
use kube::{Api, Client};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::pki::Identity;
use crate::sizing::Sizing;

/// Node label: whose kubelet this node has. KWOK plays the nodes that say [`KUBELET_KWOK`]; change the value, and the
/// node falls silent as if its machine had died: no lease, no status, its pods neither start nor stop.
pub const KUBELET_LABEL: &str = "testbed.mainstay.dev/kubelet";

/// The value of [`KUBELET_LABEL`] that KWOK looks for.
pub const KUBELET_KWOK: &str = "kwok";

/// Pod annotation: the pod succeeds after this long, such as `30s`. Without it, a pod runs until it is deleted.
pub const COMPLETES_AFTER_ANNOTATION: &str = "testbed.mainstay.dev/completes-after";

/// Pod annotation: a deleted pod takes this long to stop, such as `5s`, or [`STOPS_NEVER`]. Without it, none.
pub const STOPS_AFTER_ANNOTATION: &str = "testbed.mainstay.dev/stops-after";

/// The value of [`STOPS_AFTER_ANNOTATION`] for a pod that hangs in Terminating.
pub const STOPS_NEVER: &str = "never";

const STAGES: &str = include_str!("../../../tools/cluster/kwok/stages.yaml");

pub(crate) fn node_selector() -> String {
    format!("{KUBELET_LABEL}={KUBELET_KWOK}")
}

/// The configuration file: the stages and nothing else. KWOK's default of four workers of each kind is right: with
/// sixteen it no longer kept up with its own watch, the server cut it off time and again, and a third of all patches
/// were made twice.
pub(crate) fn config(sizing: Sizing) -> String {
    STAGES
        .replace("durationMilliseconds: 300000", &format!("durationMilliseconds: {}", sizing.status_seconds * 1_000))
        .replace(
            "jitterDurationMilliseconds: 600000",
            &format!("jitterDurationMilliseconds: {}", sizing.status_seconds * 2_000),
        )
}

/// Gives KWOK the rights of many kubelets and nothing more, and a lane of its own at the server: simulated heartbeats
/// must not wait behind, nor push away, the requests of what is under test.
pub(crate) async fn grant(client: &Client) -> Result<()> {
    create::<ClusterRole>(client, role()).await?;
    create::<ClusterRoleBinding>(client, binding()).await?;
    create::<FlowSchema>(client, lane()).await
}

async fn create<K>(client: &Client, object: Value) -> Result<()>
where
    K: kube::Resource<DynamicType = (), Scope = k8s_openapi::ClusterResourceScope>
        + DeserializeOwned
        + serde::Serialize
        + Clone
        + std::fmt::Debug,
{
    Api::<K>::all(client.clone()).create(&PostParams::default(), &serde_json::from_value(object)?).await?;
    Ok(())
}

fn role() -> Value {
    let rule = |group: &str, resources: &[&str], verbs: &[&str]| json!({"apiGroups": [group], "resources": resources, "verbs": verbs});
    json!({
        "metadata": {"name": Identity::Kwok.user()},
        "rules": [
            rule("", &["nodes"], &["get", "list", "watch"]),
            rule("", &["nodes/status", "pods/status"], &["patch"]),
            rule("", &["pods"], &["get", "list", "watch", "delete"]),
            rule("", &["events"], &["create", "patch"]),
            rule("coordination.k8s.io", &["leases"], &["get", "list", "watch", "create", "update"]),
        ],
    })
}

fn binding() -> Value {
    json!({
        "metadata": {"name": Identity::Kwok.user()},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": Identity::Kwok.user()},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": Identity::Kwok.user()}],
    })
}

fn lane() -> Value {
    json!({
        "metadata": {"name": "testbed-kwok"},
        "spec": {
            "matchingPrecedence": 100,
            "priorityLevelConfiguration": {"name": "exempt"},
            "rules": [{
                "subjects": [{"kind": "User", "user": {"name": Identity::Kwok.user()}}],
                "resourceRules": [{
                    "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"], "namespaces": ["*"], "clusterScope": true,
                }],
                "nonResourceRules": [{"nonResourceURLs": ["*"], "verbs": ["*"]}],
            }],
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heartbeat_is_that_of_the_fleets_size() {
        let sizing = Sizing::for_nodes(100_000);
        let config = config(sizing);
        assert!(config.contains(&format!("    durationMilliseconds: {}\n", sizing.status_seconds * 1_000)), "{config}");
        assert!(
            config.contains(&format!("jitterDurationMilliseconds: {}\n", sizing.status_seconds * 2_000)),
            "{config}"
        );
        assert!(!config.contains("300000") && !config.contains("600000"), "a placeholder was left");
    }

    #[test]
    fn the_stages_know_the_same_annotations_as_the_tests() {
        for word in [COMPLETES_AFTER_ANNOTATION, STOPS_AFTER_ANNOTATION, &format!("[\"{STOPS_NEVER}\"]")] {
            assert!(STAGES.contains(word), "{word} is unknown to the stages");
        }
    }
}
