//! The programs under test: found in a cache outside the checkout, or built there from `tools/cluster` with Go.
//! Starting them is the business of [`crate::cluster`].

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::go::{BUILD_ENV, BuildTarget, digest};
use crate::lock::FileLock;
use crate::progress::{Progress, ProgressEvent};

/// The version that the servers report, and the one `tools/cluster/kubernetes/go.mod` requires.
pub const KUBERNETES_VERSION: &str = "v1.37.1";

/// The oldest Kubernetes that Mainstay supports, and the one `tools/cluster/oldest/go.mod` requires.
pub const OLDEST_KUBERNETES_VERSION: &str = "v1.33.13";

/// Another process may be building all of them.
const LOCK_AT_MOST: Duration = Duration::from_mins(90);

/// A program that a cluster consists of, or that talks to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Program {
    /// The store.
    Etcd,
    /// kube-apiserver.
    ApiServer,
    /// kube-controller-manager.
    ControllerManager,
    /// kube-scheduler.
    Scheduler,
    /// The command line client, for people.
    Kubectl,
    /// Nodes without machines.
    Kwok,
}

impl Program {
    /// All of them, in the order in which they are built.
    pub const ALL: [Self; 6] =
        [Self::Etcd, Self::ApiServer, Self::ControllerManager, Self::Scheduler, Self::Kubectl, Self::Kwok];

    /// The name of its file and of its log.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::ApiServer => "kube-apiserver",
            Self::ControllerManager => "kube-controller-manager",
            Self::Scheduler => "kube-scheduler",
            Self::Kubectl => "kubectl",
            Self::Kwok => "kwok",
        }
    }

    /// The Go package it is built from.
    const fn package(self) -> &'static str {
        match self {
            Self::Etcd => "go.etcd.io/etcd/server/v3",
            Self::ApiServer => "k8s.io/kubernetes/cmd/kube-apiserver",
            Self::ControllerManager => "k8s.io/kubernetes/cmd/kube-controller-manager",
            Self::Scheduler => "k8s.io/kubernetes/cmd/kube-scheduler",
            Self::Kubectl => "k8s.io/kubernetes/cmd/kubectl",
            Self::Kwok => "sigs.k8s.io/kwok/cmd/kwok",
        }
    }

    /// The folder under `tools/cluster` whose module pins that package.
    const fn module(self) -> &'static str {
        match self {
            Self::Etcd | Self::ApiServer | Self::ControllerManager | Self::Scheduler | Self::Kubectl => "kubernetes",
            Self::Kwok => "kwok",
        }
    }
}

impl std::fmt::Display for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// A directory that holds every program.
#[derive(Debug, Clone)]
pub struct Servers {
    dir: PathBuf,
}

impl Servers {
    /// Finds the programs in the cache, or builds them there: ten minutes on a fresh machine, nothing afterwards.
    pub async fn ensure(progress: Progress<'_>) -> Result<Self> {
        let tools = tools_dir();
        let cache = crate::cache::root()?.join("servers");
        let dir = cache.join(key(&tools)?);
        if dir.is_dir() {
            return Ok(Self { dir });
        }
        let _lock = lock(&dir, progress).await?;
        if !dir.is_dir() {
            build_all(&tools, &dir, progress).await?;
        }
        Ok(Self { dir })
    }

    /// The same with the API server of the oldest Kubernetes that is supported, built once: for a proof that runs by
    /// hand.
    pub async fn oldest(progress: Progress<'_>) -> Result<Self> {
        let newest = Self::ensure(progress).await?;
        let module = tools_dir().join("oldest");
        let args = stamped(OLDEST_KUBERNETES_VERSION);
        let key = digest(&format!("{:?} {args:?} {}", newest.dir, sums(&module)?));
        let dir = crate::cache::root()?.join("servers").join(format!("oldest-{key}"));
        let _lock = lock(&dir, progress).await?;
        if dir.is_dir() {
            return Ok(Self { dir });
        }
        let unfinished = dir.with_extension("unfinished");
        std::fs::create_dir_all(&unfinished).with_context(|| format!("cannot create {}", unfinished.display()))?;
        for program in Program::ALL.into_iter().filter(|program| *program != Program::ApiServer) {
            let link = unfinished.join(program.name());
            if !link.exists() {
                std::os::unix::fs::symlink(newest.path(program), link).context("cannot link the other servers")?;
            }
        }
        let built = BuildTarget { name: "kube-apiserver", package: Program::ApiServer.package(), args: &args };
        built
            .once(&module, &unfinished, || {
                progress(ProgressEvent::Building { program: Program::ApiServer, done: 0, of: 1 });
            })
            .await?;
        std::fs::rename(&unfinished, &dir).with_context(|| format!("cannot move the servers to {}", dir.display()))?;
        Ok(Self { dir })
    }

    /// Where the program is.
    pub fn path(&self, program: Program) -> PathBuf {
        self.dir.join(program.name())
    }
}

/// Takes the lock of a folder of servers, and reports if another process holds it.
async fn lock(dir: &Path, progress: Progress<'_>) -> Result<FileLock> {
    let path = dir.with_extension("lock");
    match FileLock::take(&path, Duration::ZERO).await {
        Ok(lock) => Ok(lock),
        Err(_) => {
            progress(ProgressEvent::WaitingForBuild);
            FileLock::take(&path, LOCK_AT_MOST).await
        }
    }
}

/// Builds in a folder next to the final one, which is therefore either absent or complete. A build that was interrupted
/// continues with the first program that is not finished.
async fn build_all(tools: &Path, dir: &Path, progress: Progress<'_>) -> Result<()> {
    let unfinished = dir.with_extension("unfinished");
    std::fs::create_dir_all(&unfinished).with_context(|| format!("cannot create {}", unfinished.display()))?;
    for (done, program) in Program::ALL.into_iter().enumerate() {
        let built = BuildTarget { name: program.name(), package: program.package(), args: &build_args() };
        let begin = || progress(ProgressEvent::Building { program, done, of: Program::ALL.len() });
        built.once(&tools.join(program.module()), &unfinished, begin).await?;
    }
    std::fs::rename(&unfinished, dir).with_context(|| format!("cannot move the servers to {}", dir.display()))
}

/// Without symbol tables the programs are a third smaller; without the stamp the server calls itself v0.0.0-master.
pub(crate) fn build_args() -> [String; 4] {
    stamped(KUBERNETES_VERSION)
}

fn stamped(version: &str) -> [String; 4] {
    let stamp = format!("-s -w -X k8s.io/component-base/version.gitVersion={version}");
    ["build".to_owned(), "-trimpath".to_owned(), "-ldflags".to_owned(), stamp]
}

/// What decides the result of a build: the pinned sums of both modules, the flags, the programs, the machine's kind.
fn key(tools: &Path) -> Result<String> {
    let mut text = format!("{} {:?} {:?}", std::env::consts::ARCH, BUILD_ENV, build_args());
    for program in Program::ALL {
        text.push_str(program.package());
    }
    for module in ["kubernetes", "kwok"] {
        text.push_str(&sums(&tools.join(module))?);
    }
    Ok(digest(&text))
}

/// What pins a module.
fn sums(module: &Path) -> Result<String> {
    let sums = module.join("go.sum");
    std::fs::read_to_string(&sums).with_context(|| format!("cannot read {}", sums.display()))
}

fn tools_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/cluster")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stamp_is_the_version_that_the_module_pins() {
        for (module, version) in [("kubernetes", KUBERNETES_VERSION), ("oldest", OLDEST_KUBERNETES_VERSION)] {
            let go_mod = std::fs::read_to_string(tools_dir().join(module).join("go.mod")).unwrap();
            assert!(go_mod.contains(&format!("k8s.io/kubernetes {version}")), "{module}/go.mod pins another version");
        }
    }

    #[test]
    fn every_program_is_a_tool_of_its_module() {
        for program in Program::ALL {
            let go_mod = std::fs::read_to_string(tools_dir().join(program.module()).join("go.mod")).unwrap();
            assert!(go_mod.contains(program.package()), "{program} is not in {}/go.mod", program.module());
        }
    }

    #[test]
    fn the_key_changes_with_a_pinned_sum_and_only_then() {
        let dir = crate::process::tests::scratch("key");
        for module in ["kubernetes", "kwok"] {
            std::fs::create_dir_all(dir.join(module)).unwrap();
            std::fs::write(dir.join(module).join("go.sum"), "a v1 h1:x=\n").unwrap();
        }
        let before = key(&dir).unwrap();
        assert_eq!(before, key(&dir).unwrap());
        assert_eq!(before.len(), 16);
        std::fs::write(dir.join("kwok/go.sum"), "a v2 h1:y=\n").unwrap();
        assert_ne!(before, key(&dir).unwrap());
        std::fs::remove_dir_all(dir).unwrap();
    }
}
