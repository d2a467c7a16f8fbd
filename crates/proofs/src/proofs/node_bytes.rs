//! Proofs of what one node costs the store: its NodeReport and its GpuNode together, as etcd holds them, managedFields
//! included.

mod largest_object;

use anyhow::Context as _;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use testbed::{Cluster, Options, etcd};

use crate::prove::{Context, Measurement, Proof};

pub(super) const CALM: Proof = Proof { name: "node-bytes-calm", run: |context| Box::pin(measure(context, calm)) };

pub(super) const FULLEST: Proof = Proof {
    name: "node-bytes-fullest",
    run: |context| {
        Box::pin(measure(context, |_| Ok((largest_object::of("NodeReport")?, largest_object::of("GpuNode")?))))
    },
};

type Pair = (Value, Value);

async fn measure(context: &Context, pair: fn(&Context) -> anyhow::Result<Pair>) -> anyhow::Result<Measurement> {
    let cluster = testbed::own(Options { nodes_max: 0, parts: Vec::new() }).await?;
    cluster.install_crds(&context.workspace.root.join("deploy")).await?;
    let (report, node) = pair(context)?;
    let report_bytes = stored_bytes(&cluster, &report, "mainstay-agent").await?;
    let node_bytes = stored_bytes(&cluster, &node, "mainstay-controller").await?;
    let detail = format!("NodeReport {report_bytes} bytes, GpuNode {node_bytes} bytes");
    Ok(Measurement { value: i64::try_from(report_bytes + node_bytes)?, detail })
}

/// Writes an object as its writers do (server-side apply, status apart) and answers what etcd holds.
async fn stored_bytes(cluster: &Cluster, object: &Value, manager: &str) -> anyhow::Result<usize> {
    let kind = object["kind"].as_str().context("a kind")?;
    let plural = format!("{}s", kind.to_ascii_lowercase());
    let resource = ApiResource {
        group: mainstay_api::GROUP.to_owned(),
        version: mainstay_api::VERSION.to_owned(),
        api_version: format!("{}/{}", mainstay_api::GROUP, mainstay_api::VERSION),
        kind: kind.to_owned(),
        plural: plural.clone(),
    };
    let api: Api<DynamicObject> = Api::all_with(cluster.client().await?, &resource);
    let name = object["metadata"]["name"].as_str().context("a name")?;
    let params = PatchParams::apply(manager);
    api.patch(name, &params, &Patch::Apply(object)).await.with_context(|| format!("{kind} was refused"))?;
    if object.get("status").is_some() {
        let written = api.patch_status(name, &params, &Patch::Apply(object)).await;
        written.with_context(|| format!("the status of {kind} was refused"))?;
    }
    let key = etcd::custom_key(mainstay_api::GROUP, &plural, name);
    etcd::stored_bytes(cluster.etcd_url(), &key).await?.with_context(|| format!("{key} is not in the store"))
}

/// The example of a report, and a node that came back from one repair two weeks ago.
fn calm(context: &Context) -> anyhow::Result<Pair> {
    let path = "deploy/examples/node-report.yaml";
    let report = serde_saphyr::from_str(context.workspace.text(path).with_context(|| format!("no {path}"))?)?;
    let transition = |to: &str, at: &str| json!({"to": to, "at": at, "rule": "row-remap-pending"});
    let node = json!({
        "apiVersion": "mainstay.dev/v1alpha1",
        "kind": "GpuNode",
        "metadata": {"name": "r12n04", "annotations": {(mainstay_api::EPOCH): "412"}},
        "spec": {},
        "status": {
            "epoch": 412, "stage": "InService", "since": "2026-11-01T08:00:00Z", "waitingOn": "Nothing",
            "message": "in service", "riskPpm": 1200,
            "conditions": [{
                "type": "Reporting", "status": "True", "reason": "Nothing", "message": "reports arrive",
                "observedGeneration": 1, "lastTransitionTime": "2026-11-01T08:00:00Z",
            }],
            "orders": [],
            "attempts": [{
                "rule": "row-remap-pending", "step": "ResetGpu", "device": "1652823054904",
                "orderedAt": "2026-11-01T07:20:00Z",
            }],
            "arrivals": [{
                "source": "Xid", "code": "63", "device": "1652823054904", "newestHour": 498_000,
                "hours": [1], "days": [1],
            }],
            "history": [
                transition("Draining", "2026-11-01T07:00:00Z"),
                transition("Repairing", "2026-11-01T07:20:00Z"),
                transition("Qualifying", "2026-11-01T07:31:00Z"),
                transition("InService", "2026-11-01T08:00:00Z"),
            ],
        },
    });
    Ok((report, node))
}
