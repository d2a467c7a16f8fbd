//! Tokens of service accounts, as a kubelet asks for them.

use anyhow::{Context as _, Result};
use k8s_openapi::api::authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Pod, ServiceAccount};
use kube::Api;
use kube::api::PostParams;

use super::Cluster;

/// Longer than any test runs.
const SECONDS: i64 = 3600;

impl Cluster {
    /// A token of a service account. One that is bound to a pod carries the node of that pod.
    pub async fn token(&self, namespace: &str, account: &str, pod: Option<&Pod>) -> Result<String> {
        let bound_object_ref = pod.map(|pod| BoundObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("Pod".to_owned()),
            name: pod.metadata.name.clone(),
            uid: pod.metadata.uid.clone(),
        });
        let spec =
            TokenRequestSpec { expiration_seconds: Some(SECONDS), bound_object_ref, ..TokenRequestSpec::default() };
        let request = TokenRequest { spec: Some(spec), ..TokenRequest::default() };
        let accounts = Api::<ServiceAccount>::namespaced(self.client().await?, namespace);
        let answer = accounts.create_token_request(account, &PostParams::default(), &request).await?;
        answer.status.and_then(|status| status.token).context("no token in the answer")
    }
}
