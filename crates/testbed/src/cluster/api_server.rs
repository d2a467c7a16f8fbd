//! Two API servers on one etcd: which of them a handle talks to.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use super::Cluster;
use crate::pki::{self, Identity};

/// One of the API servers of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApiServer {
    /// The one that every cluster has, and that all other servers talk to.
    First,
    /// The one of [`super::OptionalServer::SecondApiServer`].
    Second,
}

impl ApiServer {
    /// The name by which it is on record and has its log.
    pub(super) const fn process_name(self) -> &'static str {
        match self {
            Self::First => "kube-apiserver",
            Self::Second => "kube-apiserver-second",
        }
    }

    /// What distinguishes the names of its files.
    pub(super) const fn suffix(self) -> &'static str {
        match self {
            Self::First => "",
            Self::Second => "-second",
        }
    }

    /// The administrator's kubeconfig for it.
    pub(super) fn kubeconfig(self, dir: &Path) -> PathBuf {
        match self {
            Self::First => Identity::Admin.kubeconfig(dir),
            Self::Second => dir.join(format!("kubeconfig{}", self.suffix())),
        }
    }

    /// Writes that kubeconfig: as the first server's, with another address.
    pub(super) fn write_kubeconfig(self, dir: &Path, first_url: &str, url: &str) -> Result<()> {
        let first = Self::First.kubeconfig(dir);
        let text = std::fs::read_to_string(&first).with_context(|| format!("cannot read {}", first.display()))?;
        pki::write_private(&self.kubeconfig(dir), &text.replace(first_url, url))
    }
}

impl Cluster {
    /// Another handle on this cluster. Its clients, kubeconfigs, kubectl and audit log are those of one of two API servers.
    /// The servers do not end with it.
    pub fn through(&self, api_server: ApiServer) -> Result<Self> {
        ensure!(api_server == ApiServer::First || self.record.second_api_url.is_some(), "there is one API server only");
        let mut handle = Self::of(&self.dir, self.record.clone());
        handle.api_server = api_server;
        Ok(handle)
    }
}
