//! Runs the real kubectl against a cluster, the way a person or an install script would.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use tokio::process::Command;
use tokio::time::timeout;

use crate::Cluster;

const ENDS_AT_MOST: Duration = Duration::from_mins(2);

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

    /// Applies a file, or every file of a folder in order, server-side.
    pub async fn apply(&self, path: &Path) -> Result<String> {
        let path = path.to_str().with_context(|| format!("{} is not UTF-8", path.display()))?;
        self.run_kubectl(&["apply", "--server-side", "--force-conflicts", "-f", path]).await
    }

    /// Applies our custom resource definitions from `deploy/crds` and waits until the server serves them.
    pub async fn install_crds(&self, deploy: &Path) -> Result<()> {
        self.apply(&deploy.join("crds")).await?;
        self.run_kubectl(&["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"]).await?;
        Ok(())
    }
}
