//! Who the agent is: its token says so. The API server put the node's name and UID into it when the kubelet asked for the
//! token on behalf of the pod, and compares every report with them. Nothing is verified here; a forged token is the
//! server's to refuse.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mainstay_model::{NodeName, NodeUid};
use serde::Deserialize;

use crate::output::Problem;

/// A token is one or two kilobytes.
const TOKEN_BYTES_MAX: u64 = 64 * 1024;

/// The node that the token is bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) node: NodeName,
    pub(crate) uid: NodeUid,
}

#[derive(Deserialize)]
struct Claims {
    #[serde(rename = "kubernetes.io")]
    kubernetes: KubernetesClaim,
}

/// The `kubernetes.io` claim of a service account token.
#[derive(Deserialize)]
struct KubernetesClaim {
    node: NodeClaim,
}

/// Name and UID of the node in a service account token.
#[derive(Deserialize)]
struct NodeClaim {
    name: String,
    uid: String,
}

// === impl Identity ===

impl Identity {
    pub(crate) fn read(path: &Path) -> Result<Self, Problem> {
        let text = read(path).map_err(|error| {
            let what = format!("cannot read the token {}", path.display());
            Problem::new(what, error, "check --token; in a pod the kubelet mounts it.")
        })?;
        Self::of(&text).ok_or_else(|| {
            Problem::new(
                format!("the token {} is not bound to a node", path.display()),
                "the API server accepts a NodeReport only with the node name and UID in the token.",
                "use the token of a pod on this node (Kubernetes 1.33 or later).",
            )
        })
    }

    fn of(token: &str) -> Option<Self> {
        let claims = token.trim().split('.').nth(1)?;
        let claims = URL_SAFE_NO_PAD.decode(claims.trim_end_matches('=')).ok()?;
        let node = serde_json::from_slice::<Claims>(&claims).ok()?.kubernetes.node;
        Some(Self { node: NodeName::parse(&node.name).ok()?, uid: NodeUid::parse(&node.uid).ok()? })
    }
}

fn read(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    let file = std::fs::File::open(path)?;
    std::io::Read::read_to_string(&mut std::io::Read::take(file, TOKEN_BYTES_MAX), &mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(claims: &str) -> String {
        format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(claims))
    }

    #[test]
    fn a_token_of_a_pod_names_its_node() {
        let claims = r#"{"aud":["x"],"kubernetes.io":{"namespace":"mainstay-system","node":{"name":"gpu-17","uid":"0a1b"},"pod":{"name":"a","uid":"b"}}}"#;
        let identity = Identity::of(&token(claims));
        assert_eq!(
            identity.map(|it| (it.node.to_string(), it.uid.to_string())),
            Some(("gpu-17".into(), "0a1b".into()))
        );
    }

    #[test]
    fn what_names_no_node_is_no_identity() {
        let without = token(r#"{"kubernetes.io":{"namespace":"mainstay-system"}}"#);
        let hostile = token(r#"{"kubernetes.io":{"node":{"name":"../../etc","uid":"0a1b"}}}"#);
        for text in ["", "a", "a.b", "a.b.c", "..", &without, &hostile] {
            assert_eq!(Identity::of(text), None, "{text}");
        }
    }
}
