//! `NodeReport`: what a node's agent reports. Only that agent writes it, and it can only make its own node look worse.

use kube::CustomResource;
use mainstay_model::{
    BootId, Bounded, Code, Component, Detail, GangName, GpuUuid, GpusUnavailable, Namespace, NodeUid, Nonce,
    OrderOutcome, PciAddress, Product, Serial, SoftwareName, Source, Template, TestName, Verdict, Version,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Moment;

/// One node's report. Only the node's agent writes it, so it has no status. The controller writes to the GpuNode.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "mainstay.dev",
    version = "v1alpha1",
    kind = "NodeReport",
    doc = "Report of a node's agent: inventory, versions, evidence with counts, and outcomes of orders.",
    shortname = "nrep",
    category = "mainstay",
    validation = (
        "self.spec.bootId != oldSelf.spec.bootId || self.spec.sequence >= oldSelf.spec.sequence",
        "spec.sequence must not decrease within a boot"
    ),
    validation = (
        "self.spec.bootId != oldSelf.spec.bootId || self.spec.sequence != oldSelf.spec.sequence || self.spec == oldSelf.spec",
        "spec.sequence must increase when the content changes"
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
    /// UID of the Node that the agent's token is bound to. Admission compares the two.
    pub node_uid: NodeUid,
    /// Id of the node's current boot.
    pub boot_id: BootId,
    /// Number of the report within the boot. It never decreases.
    #[schemars(range(min = 0))]
    pub sequence: i64,
    /// Time at which the agent wrote the report, by its own clock.
    pub reported_at: Moment,
    /// Version of the agent that reports.
    pub agent_version: Version,
    /// Hardware and software of the node.
    pub inventory: Inventory,
    /// Faults seen since boot, with counts. If the list is full, an entry without news for two days is dropped and
    /// counted as overflow.
    #[serde(default)]
    pub evidence: Bounded<Evidence, 48>,
    /// Outcomes of orders, kept until the order is removed from the GpuNode.
    #[serde(default)]
    pub outcomes: Bounded<Outcome, 8>,
    /// Results of qualification tests, kept until the order is removed from the GpuNode.
    #[serde(default)]
    pub results: Bounded<TestResult, 32>,
    /// Acknowledgements of jobs that cannot reach the API server. The agent relays them after checking the peer's
    /// credentials.
    #[serde(default)]
    pub acknowledged: Bounded<JobAcknowledgement, 8>,
    /// Error lines of the last day that no parser knows, by template. They are not evidence, except where an override of
    /// the FleetPolicy names their code.
    #[serde(default)]
    pub unrecognised: Bounded<UnrecognisedLine, 8>,
    /// Number of unknown lines since boot that no template in the list counts: no room, or too many within one second.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub unrecognised_more: i64,
    /// Highest epoch that the agent has read in its GpuNode, also before a reboot. After a restore of etcd it shows that
    /// the Cell is older than the last leader. Absent while the agent has read none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub highest_epoch: Option<i64>,
}

/// Everything on the node that can fail by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Inventory {
    /// Serial number of the baseboard.
    pub board: Serial,
    /// Product name of the GPU model.
    pub product: Product,
    /// Version of the GPU driver.
    pub driver: Version,
    /// Version of the GPU firmware.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware: Option<Version>,
    /// Version of the Linux kernel.
    pub kernel: Version,
    /// Other software that a fault may depend on: CUDA, NCCL, the container runtime, adapter firmware.
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

/// One GPU of the node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Gpu {
    /// Index of the GPU on the node.
    #[schemars(range(min = 0, max = 15))]
    pub index: i32,
    /// Serial number of the GPU. Its history follows this number.
    pub serial: Serial,
    /// UUID that the driver gives the GPU.
    pub uuid: GpuUuid,
    /// PCI address of the GPU.
    pub pci: PciAddress,
}

/// One software package and its version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Software {
    /// Name of the software package.
    pub name: SoftwareName,
    /// Version of the software package.
    pub version: Version,
}

/// One network adapter of the node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Nic {
    /// Rail that the adapter is connected to.
    #[schemars(range(min = 0, max = 15))]
    pub rail: i32,
    /// Serial number of the adapter.
    pub serial: Serial,
    /// PCI address of the adapter.
    pub pci: PciAddress,
}

/// One counted kind of evidence. Source, code, device and detail together are its key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// Source that reported the evidence.
    pub source: Source,
    /// Fault code as the source reports it.
    pub code: Code,
    /// Serial number of the part. Absent: the whole node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Serial>,
    /// What distinguishes two entries of one code: a link, a register, a process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Detail>,
    /// Number of occurrences since boot. It never decreases within a boot.
    #[schemars(range(min = 0))]
    pub count: i64,
    /// Time of the first occurrence, by the agent's clock.
    pub first_seen_at: Moment,
    /// Time of the latest occurrence, by the agent's clock.
    pub last_seen_at: Moment,
}

/// Error lines with one template.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnrecognisedLine {
    /// Driver and digest of the template. An override of a FleetPolicy refers to the template by this code.
    pub code: Code,
    /// The line without its values: `#` replaces a number, an address or an id, `*` replaces a name or a path.
    pub template: Template,
    /// Kind of hardware that the line is about.
    pub component: Component,
    /// Number of lines since the template was first seen.
    #[schemars(range(min = 0))]
    pub count: i64,
    /// Time of the first line, by the agent's clock.
    pub first_seen_at: Moment,
    /// Time of the latest line, by the agent's clock.
    pub last_seen_at: Moment,
}

/// Outcome of one order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// Nonce of the order that ended.
    pub nonce: Nonce,
    /// Result of the order: done, failed or not run.
    pub outcome: OrderOutcome,
    /// Time at which the order ended, by the agent's clock.
    pub ended_at: Moment,
    /// Reason for a failure, as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Detail>,
}

/// Result of one qualification test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TestResult {
    /// Nonce of the order that requested the test.
    pub nonce: Nonce,
    /// Name of the test.
    pub test: TestName,
    /// Verdict of the test.
    pub verdict: Verdict,
    /// Measured value or first failure, as the test prints it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Detail>,
}

/// A checkpoint acknowledgement of a job that the agent received on its socket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobAcknowledgement {
    /// Namespace of the gang.
    pub namespace: Namespace,
    /// Name of the gang that acknowledges.
    pub gang: GangName,
    /// Last training step that is on durable storage.
    #[schemars(range(min = 0))]
    pub step_saved: i64,
    /// Time of the acknowledgement, by the agent's clock.
    pub acknowledged_at: Moment,
}
