//! What a machine must offer to run real nodes. All obstacles are collected at once: none of them is a reason to skip a test.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

const ENDS_AT_MOST: Duration = Duration::from_secs(20);

/// Controllers of cgroup v1 whose folders the kubelet requires.
const CONTROLLERS: [&str; 6] = ["cpu", "cpuacct", "cpuset", "memory", "pids", "systemd"];

/// Programs of the distribution, each with the Debian package that has it.
const PROGRAMS: [(&str, &str); 11] = [
    ("bash", "bash"),
    ("containerd", "containerd"),
    ("containerd-shim-runc-v2", "containerd"),
    ("ctr", "containerd"),
    ("ip", "iproute2"),
    ("iptables", "iptables"),
    ("mount", "mount"),
    ("nsenter", "util-linux"),
    ("runc", "runc"),
    ("tar", "tar"),
    ("unshare", "util-linux"),
];

/// Debian's folder of network plugins, and the one of the plugins' own releases.
const NETWORK_PLUGIN_FOLDERS: [&str; 2] = ["/usr/lib/cni", "/opt/cni/bin"];
const NETWORK_PLUGINS: [&str; 3] = ["bridge", "host-local", "loopback"];

/// A reason why this machine cannot run a real node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// The user is not root.
    NotRoot,
    /// A program is not in PATH.
    MissingProgram {
        /// Name of the program.
        program: &'static str,
        /// Debian package that has it.
        package: &'static str,
    },
    /// The network plugins of Kubernetes are in no known folder.
    MissingNetworkPlugins,
    /// A controller of cgroup v1 is not mounted. Machines with cgroup v2 alone have none of them.
    MissingController {
        /// Name of the controller.
        controller: &'static str,
    },
    /// The kernel or a sandbox does not allow new namespaces.
    NoNamespaces {
        /// Message of `unshare`.
        message: String,
    },
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRoot => write!(f, "the user is not root"),
            Self::MissingProgram { program, package } => {
                write!(f, "no program {program} (Debian package {package})")
            }
            Self::MissingNetworkPlugins => {
                let folders = NETWORK_PLUGIN_FOLDERS.join(" or ");
                write!(f, "no network plugins in {folders} (Debian package containernetworking-plugins)")
            }
            Self::MissingController { controller } => {
                write!(f, "no cgroup v1 controller {controller} in /sys/fs/cgroup; cgroup v2 alone is not supported")
            }
            Self::NoNamespaces { message } => write!(f, "no new namespaces: {message}"),
        }
    }
}

/// This machine cannot run real nodes. Has every obstacle that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CannotRun(pub Vec<Obstacle>);

impl fmt::Display for CannotRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this machine cannot run a real node")?;
        for obstacle in &self.0 {
            write!(f, "\n  detail: {obstacle}")?;
        }
        write!(f, "\n  hint:   docs/contribute/real-nodes.md lists what a machine needs; .ci/run installs the packages")
    }
}

impl std::error::Error for CannotRun {}

/// Where this machine keeps what a node uses.
#[derive(Debug, Clone)]
pub(super) struct Machine {
    pub(super) network_plugins: PathBuf,
}

impl Machine {
    /// Examines this machine.
    pub(super) async fn check() -> Result<Self, CannotRun> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
        let mut obstacles = missing(&folders, Path::new("/sys/fs/cgroup"));
        if rustix::process::geteuid().is_root() {
            obstacles.extend(namespaces().await.err());
        } else {
            obstacles.insert(0, Obstacle::NotRoot);
        }
        let network_plugins = NETWORK_PLUGIN_FOLDERS.iter().map(PathBuf::from).find(|folder| has_plugins(folder));
        match network_plugins {
            Some(network_plugins) if obstacles.is_empty() => Ok(Self { network_plugins }),
            Some(_) => Err(CannotRun(obstacles)),
            None => {
                obstacles.push(Obstacle::MissingNetworkPlugins);
                Err(CannotRun(obstacles))
            }
        }
    }
}

fn missing(path: &[PathBuf], cgroups: &Path) -> Vec<Obstacle> {
    let is_missing = |program: &str| !path.iter().any(|folder| folder.join(program).is_file());
    let programs = PROGRAMS.into_iter().filter(|(program, _)| is_missing(program));
    let programs = programs.map(|(program, package)| Obstacle::MissingProgram { program, package });
    let controllers = CONTROLLERS.into_iter().filter(|controller| !cgroups.join(controller).is_dir());
    programs.chain(controllers.map(|controller| Obstacle::MissingController { controller })).collect()
}

fn has_plugins(folder: &Path) -> bool {
    NETWORK_PLUGINS.iter().all(|plugin| folder.join(plugin).is_file())
}

/// Tries the namespaces of a node once.
async fn namespaces() -> Result<(), Obstacle> {
    let mut unshare = Command::new("unshare");
    unshare.args(["--mount", "--net", "--uts", "--ipc", "--pid", "--fork", "--mount-proc", "true"]);
    unshare.stdin(Stdio::null()).kill_on_drop(true);
    let message = match timeout(ENDS_AT_MOST, unshare.output()).await {
        Ok(Ok(output)) if output.status.success() => return Ok(()),
        Ok(Ok(output)) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("unshare did not end within {} s", ENDS_AT_MOST.as_secs()),
    };
    Err(Obstacle::NoNamespaces { message })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_missing_program_and_controller_is_named_with_the_package_to_install() {
        let dir = crate::process::tests::scratch("machine");
        for (program, _) in PROGRAMS.into_iter().filter(|(program, _)| *program != "runc") {
            std::fs::write(dir.join(program), "").unwrap();
        }
        for controller in CONTROLLERS.into_iter().filter(|controller| *controller != "memory") {
            std::fs::create_dir_all(dir.join("cgroup").join(controller)).unwrap();
        }
        let found = missing(std::slice::from_ref(&dir), &dir.join("cgroup"));
        let expected = [
            Obstacle::MissingProgram { program: "runc", package: "runc" },
            Obstacle::MissingController { controller: "memory" },
        ];
        assert_eq!(found, expected);
        let text = CannotRun(found).to_string();
        assert!(text.contains("Debian package runc") && text.contains("controller memory"), "{text}");
        std::fs::remove_dir_all(dir).unwrap();
    }
}
