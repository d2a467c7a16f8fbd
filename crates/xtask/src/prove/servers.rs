//! Test servers of the proofs. They are built on first use, for minutes, so `prove` builds them before the clock of a
//! proof starts.

use testbed::Servers;
use testbed::progress::builds_only;

use super::Proof;

/// Proofs that start Kubernetes servers.
pub(super) const ON_SERVERS: &[&str] = &[
    "agent-attacks",
    "agent-cell",
    "cluster-100k",
    "cluster-100k-memory",
    "cluster-10k",
    "cluster-10k-steady",
    "cluster-1k",
    "crash-observe",
    "fence-matrix",
    "image",
    "install-orders",
    "install-orders-all",
    "node-bytes-calm",
    "node-bytes-fullest",
    "observe-end-to-end",
    "scale-100k",
    "scale-10k",
    "untouched",
];

/// Proofs that start the oldest supported API server.
pub(super) const ON_OLDEST: &[&str] = &["oldest-kubernetes"];

/// Builds the servers that these proofs need and the cache does not have. An interrupted build continues where it was.
pub(super) async fn prepare(chosen: &[&Proof]) -> anyhow::Result<()> {
    let any = |names: &[&str]| chosen.iter().any(|proof| names.contains(&proof.name));
    if any(ON_SERVERS) {
        Servers::ensure(&builds_only).await?;
    }
    if any(ON_OLDEST) {
        Servers::oldest(&builds_only).await?;
    }
    Ok(())
}
