//! The real Helm, for tests of the chart: found in the cache, or built there from `tools/helm` with Go.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use tokio::process::Command;
use tokio::time::timeout;

use crate::go_tool::go_tool;

/// Longer than Helm itself is told to wait.
const ENDS_AT_MOST: Duration = Duration::from_mins(5);

/// Helm, and where it keeps what it knows.
#[derive(Debug, Clone)]
pub struct Helm {
    program: PathBuf,
}

impl Helm {
    /// Finds it in the cache, or builds it there: three minutes on a fresh machine, nothing afterwards.
    pub async fn ensure() -> Result<Self> {
        let program = go_tool("helm", "helm.sh/helm/v4/cmd/helm").await?;
        Ok(Self { program })
    }

    /// The program's path, for scripts that call it by name.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// What it prints; an error with its own words where it fails. With a kubeconfig it talks to that cluster, else to none.
    pub async fn run(&self, home: &Path, kubeconfig: Option<&Path>, args: &[&str]) -> Result<String> {
        let mut command = Command::new(&self.program);
        // Nothing of the person who runs the test: no repositories, plugins or caches.
        command.args(args).env("HOME", home).kill_on_drop(true);
        for (key, folder) in [("HELM_CACHE_HOME", "cache"), ("HELM_CONFIG_HOME", "config"), ("HELM_DATA_HOME", "data")]
        {
            command.env(key, home.join(folder));
        }
        command.env("KUBECONFIG", kubeconfig.unwrap_or(Path::new("/dev/null")));
        let output = timeout(ENDS_AT_MOST, command.output())
            .await
            .with_context(|| format!("helm {args:?} did not end within {} s", ENDS_AT_MOST.as_secs()))??;
        if !output.status.success() {
            bail!("helm {args:?}: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}
