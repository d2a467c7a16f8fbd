//! Tests the fence of actions before a new leader acts: an eviction of a pod that does not exist, as a dry run, with the previous epoch.
//! The API server evaluates its policies before it looks for the pod.

use std::time::Duration;

use kube::api::Api;
use mainstay_api::{CELL_NAME, Cell, EPOCH, FENCED};
use mainstay_model::Reason;
use serde_json::json;

use super::{ClusterBackend, Read, calls, read};
use crate::error::words;

/// Namespace and name of a pod that does not exist.
const NAMESPACE: &str = "default";
const POD: &str = "mainstay-fence-probe";
/// Time limit of the test.
const WITHIN: Duration = Duration::from_secs(5);

impl ClusterBackend {
    pub(super) async fn probe_fence(&self) -> Read<()> {
        let failed = |why: &str| Err(mainstay_act::Failure(Reason::lossy(why)));
        let cells: Api<Cell> = Api::all(self.client.clone());
        let cell = read(cells.get(CELL_NAME)).await?;
        let known = cell.status.map_or(0, |status| status.epoch);
        if u64::try_from(known) != Ok(self.epoch.0) {
            return failed(&format!("the Cell has epoch {known}, not {}", self.epoch.0));
        }
        let stale = self.epoch.0.saturating_sub(1);
        let eviction = json!({
            "apiVersion": "policy/v1", "kind": "Eviction",
            "metadata": {
                "name": POD, "namespace": NAMESPACE, "labels": { (FENCED): "" },
                "annotations": { (EPOCH): stale.to_string() },
            },
            "deleteOptions": { "preconditions": { "uid": "none", "resourceVersion": "1" } },
        });
        let path = format!("/api/v1/namespaces/{NAMESPACE}/pods/{POD}/eviction");
        match calls::dry_run(&self.client, &path, &eviction, WITHIN).await {
            Ok(Err(error)) if names_epoch(&words(&error), stale) => Ok(()),
            Ok(Err(error)) => failed(&words(&error)),
            Ok(Ok(())) => failed("an eviction with the previous epoch was accepted"),
            Err(_) => failed("no answer before the timeout"),
        }
    }
}

/// Whether the policy `mainstay-fence-actions` refused a write because of its epoch. The words are those of
/// `deploy/allow-actions/10-fence.yaml`.
fn names_epoch(words: &str, epoch: u64) -> bool {
    words.contains(&format!("mainstay fence: this write carries epoch \"{epoch}\""))
}
