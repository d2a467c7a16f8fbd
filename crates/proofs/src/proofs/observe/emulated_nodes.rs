//! Runs the agent's program on emulated nodes: each has a kernel log, GPUs, a pod and its token.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use fake_kernel::{Files, Line};
use fake_nvml::{FakeNode, Profile};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::PostParams;
use serde_json::json;
use tempfile::TempDir;
use testbed::{NAMESPACE, TestNode};

use super::super::agent::program::Agent;
use super::test_cluster::TestCluster;

const LOG_BYTES: usize = 1 << 16;
/// A hundred programs are not started in one moment on two cores.
const APART: Duration = Duration::from_millis(50);

/// An emulated node with a running agent and its kernel log.
pub(super) struct EmulatedNode {
    pub(super) node: usize,
    pub(super) agent: Agent,
    /// Where the agent serves its metrics.
    pub(super) address: String,
    kernel: Files,
    /// How the kernel names the first GPU.
    gpu: String,
    _folder: TempDir,
}

impl EmulatedNode {
    /// Logs a fault of the first GPU in the kernel log.
    pub(super) fn xid(&self, code: &str) {
        let words = match code {
            "154" => "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)",
            _ => "as a test says.",
        };
        let line = format!("NVRM: Xid ({}): {code}, pid='<unknown>', name=<unknown>, {words}", self.gpu);
        self.kernel.write(Line::text(&line));
    }
}

/// Starts the program on the first nodes of the fleet.
pub(super) async fn start(bed: &TestCluster, program: &Path, count: usize) -> Result<Vec<EmulatedNode>> {
    let mut all = Vec::new();
    for (number, node) in bed.nodes.iter().take(count).enumerate() {
        all.push(machine(bed, program, number, node).await.with_context(|| format!("the agent of {}", node.name))?);
        tokio::time::sleep(APART).await;
    }
    for machine in &mut all {
        machine.address = machine.agent.listening().await?;
    }
    Ok(all)
}

async fn machine(bed: &TestCluster, program: &Path, number: usize, node: &TestNode) -> Result<EmulatedNode> {
    let folder = TempDir::new()?;
    let at = |name: &str| folder.path().join(name);
    let mut state = Profile::H100.state();
    for (index, gpu) in state.gpus.iter_mut().enumerate() {
        gpu.serial = node.serial(index);
        gpu.uuid = node.gpu_uuid(index);
    }
    let first = state.gpus.first().context("no GPU")?.pci;
    let gpu = format!("PCI:{:04x}:{:02x}:{:02x}", first.domain, first.bus, first.device);
    let nvml = FakeNode::create(&at("nvml"), &state)?;
    for folder in [
        "sys/bus/pci/devices",
        "sys/module/nvidia/holders/nvidia_uvm",
        "sys/class/dmi/id",
        "root/run/nvidia-persistenced",
    ] {
        std::fs::create_dir_all(at(folder))?;
    }
    std::fs::create_dir_all(at("proc/sys/kernel/random"))?;
    std::fs::write(at("root/run/nvidia-persistenced/nvidia-persistenced.pid"), "4242\n")?;
    std::fs::write(at("proc/sys/kernel/random/boot_id"), format!("2c4f2c9e-0a55-4a8f-8a75-{:012x}\n", node.ordinal))?;
    std::fs::write(at("proc/sys/kernel/osrelease"), "6.8.0\n")?;
    std::fs::write(at("sys/class/dmi/id/board_serial"), format!("{}\n", node.board()))?;
    std::fs::write(at("token"), token(bed, node).await?)?;
    let kernel = Files::serve(LOG_BYTES)?;
    let mut args: Vec<OsString> = Vec::new();
    for (option, path) in [
        ("--kmsg", kernel.log_path()),
        ("--sys", at("sys")),
        ("--proc", at("proc")),
        ("--root", at("root")),
        ("--nvml", nvml.library()),
        ("--state", at("state.json")),
        ("--token", at("token")),
        ("--server-ca", bed.cluster.authority()),
    ] {
        args.extend([option.into(), path.into_os_string()]);
    }
    args.extend(["--server", bed.cluster.api_url(), "--listen", "127.0.0.1:0"].map(OsString::from));
    let agent = Agent::start(program, "run", &args)?;
    Ok(EmulatedNode { node: number, agent, address: String::new(), kernel, gpu, _folder: folder })
}

/// What the kubelet would mount: the token of the agent's pod on that node.
async fn token(bed: &TestCluster, node: &TestNode) -> Result<String> {
    let pod = json!({
        "metadata": { "name": format!("agent-{}", node.name) },
        "spec": {
            "nodeName": node.name, "serviceAccountName": "mainstay-agent", "automountServiceAccountToken": false,
            "tolerations": [{ "operator": "Exists" }], "containers": [{ "name": "agent", "image": "agent" }],
        },
    });
    let pods = Api::<Pod>::namespaced(bed.admin.clone(), NAMESPACE);
    let pod = pods.create(&PostParams::default(), &serde_json::from_value(pod)?).await?;
    bed.cluster.token(NAMESPACE, "mainstay-agent", Some(&pod)).await
}
