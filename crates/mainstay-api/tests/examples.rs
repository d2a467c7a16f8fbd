//! The examples are true: a real server takes each of them without a warning, and `kubectl get` then tells something.

#![cfg(test)]

use anyhow::Result;
use testbed::{Options, deploy};

#[tokio::test]
async fn every_example_applies_without_a_warning_and_lists_usefully() -> Result<()> {
    let cluster = testbed::own(Options { nodes_max: 0, parts: Vec::new() }).await?;
    cluster.install_crds(&deploy()).await?;

    let entries = std::fs::read_dir(deploy().join("examples"))?.collect::<Result<Vec<_>, _>>()?;
    // Examples of whole tasks are in folders of their own.
    let files = entries.iter().filter(|entry| entry.path().is_file()).count();
    assert_eq!(files, mainstay_api::crds().len(), "one example a kind");
    let applied = cluster.apply(&deploy().join("examples")).await?;
    assert_eq!(applied.matches("serverside-applied").count(), files, "{applied}");

    let listed = cluster.run_kubectl(&["get", "mainstay", "--all-namespaces"]).await?;
    for crd in mainstay_api::crds() {
        let kind = crd.spec.names.kind.to_ascii_lowercase();
        assert!(listed.contains(&format!("{kind}.mainstay.dev/")), "{kind} is not in:\n{listed}");
    }
    for told in ["Propose", "NVIDIA H100 80GB HBM3", "Hold", "hgx-burn-in", "train-7", "Minutes"] {
        assert!(listed.contains(told), "{told} is not in:\n{listed}");
    }
    Ok(())
}
