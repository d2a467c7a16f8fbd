//! Runs the real kubectl against a cluster, as an administrator or an install script does.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::time::timeout;

use crate::Cluster;

const ENDS_AT_MOST: Duration = Duration::from_mins(2);

/// Directory `deploy` of the repository: definitions, admission policies, examples.
pub fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy")
}

impl Cluster {
    /// What kubectl prints; an error with its own words where it fails. A warning of the server counts as a failure.
    pub async fn run_kubectl(&self, args: &[&str]) -> Result<String> {
        let mut command = Command::new(self.kubectl());
        command.arg("--kubeconfig").arg(self.kubeconfig()).arg("--warnings-as-errors").args(args).kill_on_drop(true);
        let output = timeout(ENDS_AT_MOST, command.output())
            .await
            .with_context(|| format!("kubectl {args:?} did not end within {} s", ENDS_AT_MOST.as_secs()))??;
        if !output.status.success() {
            bail!("kubectl {args:?}: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Objects as JSON: the arguments of `kubectl get`, without the format.
    pub async fn get_json(&self, args: &[&str]) -> Result<Value> {
        let output = self.run_kubectl(&[&["get", "-o", "json"], args].concat()).await?;
        Ok(serde_json::from_str(&output)?)
    }

    /// Applies a file, or every file of a folder in order, server-side.
    pub async fn apply(&self, path: &Path) -> Result<String> {
        let path = path.to_str().with_context(|| format!("{} is not UTF-8", path.display()))?;
        self.run_kubectl(&["apply", "--server-side", "--force-conflicts", "-f", path]).await
    }

    /// Applies objects as one list, server-side.
    pub async fn apply_objects(&self, objects: &[Value]) -> Result<()> {
        let file = tempfile::NamedTempFile::new()?;
        std::fs::write(file.path(), json!({ "apiVersion": "v1", "kind": "List", "items": objects }).to_string())?;
        self.apply(file.path()).await.map(drop)
    }

    /// Installs what every Mainstay installation has: definitions, the Cell, roles and admission policies.
    pub async fn install_mainstay(&self) -> Result<()> {
        self.install_crds(&deploy()).await?;
        self.apply(&deploy().join("policy")).await.map(drop)
    }

    /// Applies our custom resource definitions from `deploy/crds` and waits until the server serves them.
    pub async fn install_crds(&self, deploy: &Path) -> Result<()> {
        self.apply(&deploy.join("crds")).await?;
        self.run_kubectl(&["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"]).await?;
        Ok(())
    }
}
