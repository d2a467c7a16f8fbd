//! Single Go programs for tests and proofs: found in the cache, or built there from the module of the same name in `tools`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::go::{BUILD_ENV, BuildTarget, digest};
use crate::lock::FileLock;
use crate::progress::note;

/// Other builds may use the same two cores.
const LOCK_AT_MOST: Duration = Duration::from_mins(60);

/// Finds Sloth, a generator of SLO rules, in the cache or builds it there.
pub async fn sloth() -> Result<PathBuf> {
    go_tool("sloth", "github.com/slok/sloth/cmd/sloth").await
}

/// Finds pint, a linter of Prometheus rules, in the cache or builds it there.
pub async fn pint() -> Result<PathBuf> {
    go_tool("pint", "github.com/cloudflare/pint/cmd/pint").await
}

/// Finds prometheus-adapter, which serves Prometheus queries as metrics of Kubernetes, in the cache or builds it there.
pub async fn prometheus_adapter() -> Result<PathBuf> {
    go_tool("prometheus-adapter", "sigs.k8s.io/prometheus-adapter/cmd/adapter").await
}

/// Finds the controller of JobSet, which restarts gangs, in the cache or builds it there.
pub async fn jobset() -> Result<PathBuf> {
    go_tool("jobset", "sigs.k8s.io/jobset").await
}

/// Finds a program in the cache, or builds it there: minutes on a fresh machine, nothing afterwards.
pub(crate) async fn go_tool(name: &str, package: &str) -> Result<PathBuf> {
    let module = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools").join(name);
    // Without symbol tables it is a third smaller.
    let args = ["build", "-trimpath", "-ldflags", "-s -w"].map(str::to_owned);
    let sums = module.join("go.sum");
    let sums = std::fs::read_to_string(&sums).with_context(|| format!("cannot read {}", sums.display()))?;
    let key = digest(&format!("{} {BUILD_ENV:?} {args:?} {sums}", std::env::consts::ARCH));
    let dir = crate::cache::root()?.join(name).join(key);
    let program = dir.join(name);
    if program.is_file() {
        return Ok(program);
    }
    std::fs::create_dir_all(&dir).with_context(|| format!("cannot create {}", dir.display()))?;
    let _lock = FileLock::take(&dir.join("lock"), LOCK_AT_MOST).await?;
    let built = BuildTarget { name, package, args: &args };
    built.once(&module, &dir, || note(&format!("building {name}, once per machine"))).await?;
    Ok(program)
}
