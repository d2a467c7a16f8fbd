//! `NodeReport`: what a node's agent says. That agent alone writes it, and it can lower only its own node's standing.

use kube::CustomResource;
use mainstay_model::{
    BootId, Bounded, Code, Detail, GangName, GpuUuid, GpusUnavailable, Namespace, NodeUid, Nonce, OrderId,
    OrderOutcome, PciAddress, Product, Serial, SoftwareName, Source, TestName, Verdict, Version,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Moment;

/// One node's report. The whole of it is the agent's word, so it has no status: the controller's answer is the GpuNode.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "mainstay.dev",
    version = "v1alpha1",
    kind = "NodeReport",
    doc = "What a node's agent says: inventory, versions, evidence with counts, and how orders ended.",
    shortname = "nrep",
    category = "mainstay",
    validation = (
        "self.spec.bootId != oldSelf.spec.bootId || self.spec.sequence >= oldSelf.spec.sequence",
        "within a boot the sequence never falls"
    ),
    validation = (
        "self.spec.bootId != oldSelf.spec.bootId || self.spec.sequence != oldSelf.spec.sequence || self.spec == oldSelf.spec",
        "a sequence names one content: raise it when the content changes"
    ),
    printcolumn(name = "Product", type_ = "string", json_path = ".spec.inventory.product"),
    printcolumn(name = "Driver", type_ = "string", json_path = ".spec.inventory.driver"),
    printcolumn(name = "Sequence", type_ = "integer", json_path = ".spec.sequence"),
    printcolumn(name = "Reported", type_ = "date", json_path = ".spec.reportedAt"),
    printcolumn(name = "Boot", type_ = "string", json_path = ".spec.bootId", priority = 1),
    printcolumn(name = "Agent", type_ = "string", json_path = ".spec.agentVersion", priority = 1)
)]
#[serde(rename_all = "camelCase")]
pub struct NodeReportSpec {
    /// The registration of the node that the agent's token is bound to; admission compares the two.
    pub node_uid: NodeUid,
    /// This boot of the machine.
    pub boot_id: BootId,
    /// The report's place within the boot.
    #[schemars(range(min = 0))]
    pub sequence: i64,
    /// When it was written, by the agent's clock.
    pub reported_at: Moment,
    /// The agent's version.
    pub agent_version: Version,
    /// What the node is made of.
    pub inventory: Inventory,
    /// What was seen since boot. Where the list is full, what was quiet for two days makes room, and is counted as overflow.
    #[serde(default)]
    pub evidence: Bounded<Evidence, 48>,
    /// How orders ended; kept until the order leaves the GpuNode.
    #[serde(default)]
    pub outcomes: Bounded<Outcome, 8>,
    /// What qualification tests showed; kept until the order leaves the GpuNode.
    #[serde(default)]
    pub results: Bounded<TestResult, 32>,
    /// Acknowledgements of jobs that cannot reach the API server, relayed after checking the peer's credentials.
    #[serde(default)]
    pub acknowledged: Bounded<Acknowledged, 8>,
}

/// Everything on the node that can fail by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Inventory {
    /// The baseboard's serial.
    pub board: Serial,
    /// The GPU model.
    pub product: Product,
    /// The GPU driver's version.
    pub driver: Version,
    /// The GPU firmware's version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware: Option<Version>,
    /// The kernel's version.
    pub kernel: Version,
    /// Other software that a fault may depend on: CUDA, NCCL, the container runtime, firmware of adapters.
    #[serde(default)]
    pub software: Bounded<Software, 8>,
    /// The GPUs that the driver lists now.
    #[serde(default)]
    pub gpus: Bounded<Gpu, 16>,
    /// Why the agent cannot list GPUs, for example a missing NVML library. Absent while `gpus` is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpus_unavailable: Option<GpusUnavailable>,
    /// The adapters of the compute fabric.
    #[serde(default)]
    pub nics: Bounded<Nic, 16>,
}

/// One GPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Gpu {
    /// Its number on the node.
    #[schemars(range(min = 0, max = 15))]
    pub index: i32,
    /// Its serial; history follows it.
    pub serial: Serial,
    /// The driver's id of it.
    pub uuid: GpuUuid,
    /// Where it sits.
    pub pci: PciAddress,
}

/// One piece of software.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Software {
    /// Which.
    pub name: SoftwareName,
    /// Its version.
    pub version: Version,
}

/// One network adapter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Nic {
    /// Which rail it serves.
    #[schemars(range(min = 0, max = 15))]
    pub rail: i32,
    /// Its serial.
    pub serial: Serial,
    /// Where it sits.
    pub pci: PciAddress,
}

/// One counted piece of evidence. Source, code, device and detail together are its key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// Who said it.
    pub source: Source,
    /// The fault code in the source's own words.
    pub code: Code,
    /// The serial of the part it is about; the node as a whole where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Serial>,
    /// What tells two of one code apart: a link, a register, a process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Detail>,
    /// How often since boot; it never falls within one.
    #[schemars(range(min = 0))]
    pub count: i64,
    /// First seen, by the agent's clock.
    pub first_seen_at: Moment,
    /// Last seen, by the agent's clock.
    pub last_seen_at: Moment,
}

/// How an order ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// Which order.
    pub order: OrderId,
    /// How it ended.
    pub outcome: OrderOutcome,
    /// When, by the agent's clock.
    pub ended_at: Moment,
    /// What stood in the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Detail>,
}

/// What one qualification test showed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TestResult {
    /// The nonce of the order that asked for it.
    pub nonce: Nonce,
    /// Which test.
    pub test: TestName,
    /// What it showed.
    pub verdict: Verdict,
    /// The measured figure or the first failure, in the test's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Detail>,
}

/// A job's acknowledgement that reached the agent's socket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Acknowledged {
    /// Where the gang lives.
    pub namespace: Namespace,
    /// Which gang.
    pub gang: GangName,
    /// The last step that is safe on storage.
    #[schemars(range(min = 0))]
    pub step_saved: i64,
    /// When, by the agent's clock.
    pub acknowledged_at: Moment,
}
