//! The programs of a real node, built once per machine from `tools/cluster/kubelet`: the kubelet, and the small ones that a
//! node needs. The distribution's programs, such as containerd, are the business of [`super::machine`].

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::go::{BUILD_ENV, BuildTarget, digest};
use crate::lock::FileLock;
use crate::progress::note;
use crate::servers::build_args;

/// Another process may be building them, and the servers at the same time.
const LOCK_AT_MOST: Duration = Duration::from_mins(60);

/// A program of `tools/cluster/kubelet`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeProgram {
    /// The node agent of Kubernetes.
    Kubelet,
    /// Device plugin that offers GPUs without hardware.
    FakeGpu,
    /// Forwards connections between the node's network namespace and the API server.
    Forward,
    /// Holds the namespaces of a pod.
    Pause,
}

impl NodeProgram {
    const ALL: [Self; 4] = [Self::Kubelet, Self::FakeGpu, Self::Forward, Self::Pause];

    /// File name of the program.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kubelet => "kubelet",
            Self::FakeGpu => "fakegpu",
            Self::Forward => "forward",
            Self::Pause => "pause",
        }
    }

    const fn package(self) -> &'static str {
        match self {
            Self::Kubelet => "k8s.io/kubernetes/cmd/kubelet",
            Self::FakeGpu => "./fakegpu",
            Self::Forward => "./forward",
            Self::Pause => "./pause",
        }
    }
}

/// A folder that holds every program of a real node.
#[derive(Debug, Clone)]
pub struct NodePrograms {
    dir: PathBuf,
}

impl NodePrograms {
    /// Finds the programs in the cache, or builds them there: a minute on a machine that has built the servers, nothing
    /// afterwards.
    pub async fn ensure() -> Result<Self> {
        let module = module();
        let dir = crate::cache::root()?.join("kubelet").join(key(&module)?);
        if dir.is_dir() {
            return Ok(Self { dir });
        }
        let _lock = FileLock::take(&dir.with_extension("lock"), LOCK_AT_MOST).await?;
        if !dir.is_dir() {
            build_all(&module, &dir).await?;
        }
        Ok(Self { dir })
    }

    /// Folder of the programs.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Path of a program.
    pub fn path(&self, program: NodeProgram) -> PathBuf {
        self.dir.join(program.name())
    }
}

/// Builds in a folder next to the final one, which is therefore either absent or complete.
async fn build_all(module: &Path, dir: &Path) -> Result<()> {
    let unfinished = dir.with_extension("unfinished");
    std::fs::create_dir_all(&unfinished).with_context(|| format!("cannot create {}", unfinished.display()))?;
    let args = build_args();
    for program in NodeProgram::ALL {
        let built = BuildTarget { name: program.name(), package: program.package(), args: &args };
        let begin = || note(&format!("building {} of real nodes, once per machine", program.name()));
        built.once(module, &unfinished, begin).await?;
    }
    std::fs::rename(&unfinished, dir).with_context(|| format!("cannot move the programs to {}", dir.display()))
}

/// What decides the result of a build: the pinned sums, the sources of the module, the flags, the machine's kind.
fn key(module: &Path) -> Result<String> {
    let mut text = format!("{} {BUILD_ENV:?} {:?}", std::env::consts::ARCH, build_args());
    let sources = NodeProgram::ALL.iter().filter_map(|program| program.package().strip_prefix("./"));
    for file in ["go.sum".to_owned()].into_iter().chain(sources.map(|folder| format!("{folder}/main.go"))) {
        let path = module.join(file);
        text += &std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    }
    Ok(digest(&text))
}

fn module() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/cluster/kubelet")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::servers::KUBERNETES_VERSION;

    #[test]
    fn the_kubelet_is_a_tool_of_its_module_in_the_version_of_the_servers() {
        let go_mod = std::fs::read_to_string(module().join("go.mod")).unwrap();
        assert!(go_mod.contains(&format!("tool {}\n", NodeProgram::Kubelet.package())), "{go_mod}");
        assert!(go_mod.contains(&format!("k8s.io/kubernetes {KUBERNETES_VERSION} ")), "{go_mod}");
    }

    #[test]
    fn the_key_changes_with_a_source_of_the_module() {
        let dir = crate::process::tests::scratch("kubelet-key");
        for file in ["go.sum", "fakegpu/main.go", "forward/main.go", "pause/main.go"] {
            let path = dir.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "one").unwrap();
        }
        let before = key(&dir).unwrap();
        assert_eq!(before, key(&dir).unwrap());
        std::fs::write(dir.join("pause/main.go"), "another").unwrap();
        assert_ne!(before, key(&dir).unwrap());
        std::fs::remove_dir_all(dir).unwrap();
    }
}
