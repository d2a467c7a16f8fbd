//! Files of a real node: the settings of kubelet, containerd and the network plugin, the kernel settings that only the node
//! sees, and its credentials. `docs/contribute/real-nodes.md` has the reasons for the unusual ones.

use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::machine::Machine;
use super::programs::{NodeProgram, NodePrograms};
use crate::image::Image;
use crate::pki::write_private;

/// Folders that are kept over a power cut, as a disk is; `run` is empty at every boot.
const FOLDERS: [&str; 5] = ["var-lib", "var-log", "cni", "kernel", "run"];

/// The kubelet writes these settings of the machine and cannot be stopped from doing so. In the node, files with the values
/// that it wants are mounted over them, and the machine keeps its own.
const KERNEL_SETTINGS: [(&str, &str); 6] = [
    ("vm/overcommit_memory", "1"),
    ("vm/panic_on_oom", "0"),
    ("kernel/panic", "10"),
    ("kernel/panic_on_oops", "1"),
    ("kernel/keys/root_maxkeys", "1000000"),
    ("kernel/keys/root_maxbytes", "25000000"),
];

const BOOT_ID: &str = "kernel/kernel/random/boot_id";

/// What the files of one node depend on.
#[derive(Debug)]
pub(super) struct Settings<'a> {
    pub(super) folder: &'a Path,
    pub(super) number: u8,
    pub(super) control_group: &'a str,
}

impl Settings<'_> {
    /// Address of the node, which only the node itself can reach.
    pub(super) fn address(&self) -> String {
        format!("198.18.1.{}", self.number)
    }

    /// Writes everything that stays the same at every boot.
    pub(super) fn write(&self, kubeconfig: &str, machine: &Machine, programs: &NodePrograms) -> Result<()> {
        for folder in FOLDERS {
            let path = self.folder.join(folder);
            std::fs::create_dir_all(&path).with_context(|| format!("cannot create {}", path.display()))?;
        }
        write_private(&self.folder.join("kubeconfig"), kubeconfig)?;
        for (name, text) in [
            ("kubelet.json", self.kubelet().to_string()),
            ("containerd.toml", containerd(machine)),
            ("cni/10-bridge.conflist", self.network().to_string()),
            // The machine's file may be a link into its own /run.
            ("resolv.conf", String::new()),
            ("machine-id", uuid()?.replace('-', "")),
        ] {
            write(&self.folder.join(name), &text)?;
        }
        for (name, value) in KERNEL_SETTINGS {
            write(&self.folder.join("kernel").join(name), &format!("{value}\n"))?;
        }
        let pause = Image::new("pause", &["/pause"]).program(&programs.path(NodeProgram::Pause), "pause");
        pause.write_tar(&self.folder.join("pause.tar"))
    }

    /// Writes and returns the boot id of the next boot.
    pub(super) fn new_boot_id(&self) -> Result<String> {
        let id = uuid()?;
        write(&self.folder.join(BOOT_ID), &format!("{id}\n"))?;
        Ok(id)
    }

    fn kubelet(&self) -> Value {
        json!({
            "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
            "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
            "address": self.address(), "healthzPort": 0,
            // The API server of the test cluster shows no client certificate to a kubelet.
            "authentication": { "anonymous": { "enabled": true }, "webhook": { "enabled": false } },
            "authorization": { "mode": "AlwaysAllow" },
            "cgroupDriver": "cgroupfs", "cgroupRoot": format!("/{}", self.control_group),
            "failCgroupV1": false, "failSwapOn": false, "enforceNodeAllocatable": [],
            "makeIPTablesUtilChains": false, "oomScoreAdj": 0, "maxPods": 32,
            "volumePluginDir": "/var/lib/kubelet/volume-plugins", "resolvConf": "/run/node/resolv.conf",
            // A test waits for what the node reports.
            "nodeStatusUpdateFrequency": "2s",
            // No registry has the images: what is deleted cannot be pulled again.
            "imageGCHighThresholdPercent": 100, "imageGCLowThresholdPercent": 99,
            "evictionHard": {
                "memory.available": "100Mi", "nodefs.available": "1%", "nodefs.inodesFree": "1%",
                "imagefs.available": "1%",
            },
        })
    }

    /// One bridge for the pods of the node. The addresses are reserved for tests of networks (RFC 2544).
    fn network(&self) -> Value {
        let subnet = json!({ "subnet": format!("198.19.{}.0/24", self.number) });
        json!({ "cniVersion": "0.4.0", "name": "pods", "plugins": [{
            "type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": false, "hairpinMode": true,
            "ipam": { "type": "host-local", "ranges": [[subnet]], "routes": [{ "dst": "0.0.0.0/0" }] },
        }] })
    }
}

fn containerd(machine: &Machine) -> String {
    let plugins = machine.network_plugins.display();
    format!(
        r#"version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "/var/lib/containerd-opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:1"
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{plugins}"
    conf_dir = "/run/node/cni"
"#
    )
}

fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
    }
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// A random UUID of the kernel.
fn uuid() -> Result<String> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/uuid").context("the kernel has no UUID")?;
    Ok(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_boot_has_another_id() {
        let dir = crate::process::tests::scratch("boot-id");
        let settings = Settings { folder: &dir, number: 7, control_group: "mainstay-node-x" };
        let first = settings.new_boot_id().unwrap();
        let second = settings.new_boot_id().unwrap();
        assert_ne!(first, second);
        assert_eq!(std::fs::read_to_string(dir.join(BOOT_ID)).unwrap().trim(), second);
        assert_eq!(settings.kubelet()["address"], "198.18.1.7");
        assert_eq!(settings.kubelet()["cgroupRoot"], "/mainstay-node-x");
        std::fs::remove_dir_all(dir).unwrap();
    }
}
