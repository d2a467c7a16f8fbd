//! Admission sees a policy about a second after it is written. A marker policy that is written last shows when: the server reads
//! policies, and bindings, in the order in which they were written, so once the marker refuses, all earlier ones are in force.

use std::time::Duration;

use anyhow::{Result, bail};
use kube::Client;
use kube::api::{DeleteParams, PostParams};
use kube::core::Request;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

const SEEN_AT_MOST: Duration = Duration::from_secs(60);
const POLL_EVERY: Duration = Duration::from_millis(20);
const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
const BINDINGS: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";

/// Waits until every policy that was written or deleted before is seen.
pub(super) async fn settle(client: &Client, number: usize) -> Result<()> {
    let name = format!("install-orders-marker-{number}");
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": { "name": name },
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": { "resourceRules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"],
            }] },
            "matchConditions": [{ "name": "is-the-marker", "expression": format!("object.metadata.name == '{name}'") }],
            "validations": [{ "expression": "false", "message": format!("{name} is in force") }],
        },
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": { "name": name }, "spec": { "policyName": name, "validationActions": ["Deny"] },
    });
    for (prefix, object) in [(POLICIES, &policy), (BINDINGS, &binding)] {
        let request = Request::new(prefix).create(&PostParams::default(), serde_json::to_vec(object)?)?;
        client.request::<Value>(request).await?;
    }
    let marker = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } });
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    let give_up_at = Instant::now() + SEEN_AT_MOST;
    let is_seen = loop {
        let request =
            Request::new("/api/v1/namespaces/default/configmaps").create(&dry_run, serde_json::to_vec(&marker)?)?;
        match client.request::<Value>(request).await {
            Err(kube::Error::Api(status)) if status.message.contains("is in force") => break true,
            Ok(_) if Instant::now() < give_up_at => sleep(POLL_EVERY).await,
            Ok(_) => break false,
            Err(error) => return Err(error.into()),
        }
    };
    for prefix in [BINDINGS, POLICIES] {
        let request = Request::new(prefix).delete(&name, &DeleteParams::default())?;
        client.request::<Value>(request).await?;
    }
    if !is_seen {
        bail!("a policy was not in force after {} s", SEEN_AT_MOST.as_secs());
    }
    Ok(())
}
