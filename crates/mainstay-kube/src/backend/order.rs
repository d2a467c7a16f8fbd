//! Orders: added to the stored status of the node, under the resource version that was read. Only this writes an order.

use std::time::Duration;

use kube::api::Api;
use mainstay_act::Reply;
use mainstay_api::{DisplayFields, GpuNode, GpuNodeStatus};
use mainstay_model::{NewOrder, NodeName, Outcome, Persisted, Ppm, Reason};
use serde_json::{Value, json};

use super::{ClusterBackend, Read, calls, read, replied};

/// The status of a node with one more order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OrderWrite {
    node: String,
    object: Value,
}

impl ClusterBackend {
    /// The status with the order; none if the order is there.
    pub(super) async fn order_write(&self, node: &NodeName, new: &NewOrder) -> Read<Option<OrderWrite>> {
        let failed = |why: &str| mainstay_act::Failure(Reason::lossy(why));
        let nodes: Api<GpuNode> = Api::all(self.client.clone());
        let found = read(nodes.get_opt(node.as_str())).await?.ok_or_else(|| failed("the GpuNode does not exist"))?;
        let status = found.status.ok_or_else(|| failed("the GpuNode has no status"))?;
        let mut persisted =
            Persisted::try_from(&status).map_err(|error| failed(&format!("the GpuNode is invalid: {error}")))?;
        if persisted.has_order(&new.order.nonce) {
            return Ok(None);
        }
        persisted.add_order(new);
        let told = DisplayFields {
            epoch: self.epoch,
            waiting_on: status.waiting_on,
            message: status.message,
            risk: Ppm(u32::try_from(status.risk_ppm).unwrap_or(0)),
            conditions: status.conditions,
        };
        let object = json!({
            "apiVersion": "mainstay.dev/v1alpha1", "kind": "GpuNode",
            "metadata": { "name": node, "resourceVersion": found.metadata.resource_version },
            "status": GpuNodeStatus::of(&persisted, told),
        });
        Ok(Some(OrderWrite { node: node.to_string(), object }))
    }

    pub(super) async fn write_order(&self, write: &OrderWrite, within: Duration) -> Reply {
        let place = ("/apis/mainstay.dev/v1alpha1/gpunodes", write.node.as_str());
        match replied(calls::apply_status(&self.client, place, &write.object, within).await) {
            // The status shows it at once; its end is observed in the node's report.
            Reply::Ended(Outcome::Applied) => Reply::Ended(Outcome::Started),
            other @ (Reply::Ended(_) | Reply::Later { .. }) => other,
        }
    }
}
