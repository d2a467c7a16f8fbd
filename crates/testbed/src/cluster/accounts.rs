//! Service accounts of a cluster: their tokens, clients, kubeconfigs and roles; and the kubeconfigs of nodes.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use k8s_openapi::api::authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Pod, ServiceAccount};
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::{Value, json};

use super::Cluster;
use crate::pki;

/// Longer than any test or proof runs.
const SECONDS: i64 = 8 * 3600;

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

    /// A client with the permissions of a service account.
    pub async fn client_of(&self, namespace: &str, account: &str) -> Result<Client> {
        self.client_with_token(&self.token(namespace, account, None).await?).await
    }

    /// Writes the kubeconfig of a service account, for a program that reads one: `ACCOUNT.kubeconfig`, or
    /// `ACCOUNT-second.kubeconfig` for the second API server.
    pub async fn kubeconfig_of(&self, namespace: &str, account: &str) -> Result<PathBuf> {
        let text = self.kubeconfig_with_token(&self.token(namespace, account, None).await?)?;
        self.write_file(&format!("{account}{}.kubeconfig", self.api_server.suffix()), &text)
    }

    /// A kubeconfig with the identity that the API server expects of a node's kubelet.
    pub(crate) fn kubeconfig_of_node(&self, node: &str) -> Result<String> {
        pki::kubeconfig_for_node(self.dir(), self.api_url(), node)
    }

    /// Creates a service account with these cluster roles and returns its kubeconfig.
    pub async fn create_account(&self, namespace: &str, name: &str, roles: &[&str]) -> Result<PathBuf> {
        let account = json!({
            "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": name, "namespace": namespace },
        });
        let bindings = roles.iter().map(|role| role_binding(namespace, name, role));
        self.apply_objects(&[account].into_iter().chain(bindings).collect::<Vec<_>>()).await?;
        self.kubeconfig_of(namespace, name).await
    }

    /// Binds a cluster role to a service account. The binding is named `ACCOUNT-ROLE`.
    pub async fn bind_role(&self, namespace: &str, account: &str, role: &str) -> Result<()> {
        self.apply_objects(&[role_binding(namespace, account, role)]).await
    }
}

fn role_binding(namespace: &str, account: &str, role: &str) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": { "name": format!("{account}-{role}") },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role },
        "subjects": [{ "kind": "ServiceAccount", "name": account, "namespace": namespace }],
    })
}
