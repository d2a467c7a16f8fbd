//! The fleet map: the topology tree, and one packed column per property, so that 100,000 GPUs fit in a small answer.

use mainstay_model::{Stage, WaitingOn};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The fleet's topology and one column per property. Columns are base64; two-byte numbers are little-endian.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Map {
    /// Time of this state, in milliseconds since the Unix epoch.
    pub now: i64,
    /// Number of GPUs per node.
    pub gpus_per_node: u32,
    /// Topology tree. Columns list nodes in the order of this tree.
    pub spines: Vec<MapSpine>,
    /// Stage names that `stage` refers to.
    pub stages: Vec<Stage>,
    /// Stage of each node: one byte, an index into `stages`.
    pub stage: String,
    /// Wait names that `wait` refers to.
    pub waits: Vec<WaitingOn>,
    /// What each node waits for: one byte, an index into `waits`.
    pub wait: String,
    /// Running jobs that `job` refers to.
    pub jobs: Vec<MapJob>,
    /// Job on each node: two bytes, 0 for none, otherwise the index in `jobs` plus one.
    pub job: String,
    /// Risk of each node: two bytes, in steps of 16 parts per million.
    pub risk: String,
    /// GPU driver versions that `version` refers to.
    pub versions: Vec<String>,
    /// Driver version of each node: one byte, an index into `versions`.
    pub version: String,
    /// Faulty GPUs of each node: one byte, bit i is set if GPU i has a finding.
    pub faulty_gpus: String,
    /// Temperature of each node's hottest GPU: one byte, in degrees Celsius, 255 if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<String>,
    /// Average power per GPU of each node: one byte, in tens of watts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power: Option<String>,
}

/// One spine switch in the topology.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MapSpine {
    /// Name of the spine switch.
    pub name: String,
    /// Leaf switches below the spine.
    pub leaves: Vec<MapLeaf>,
}

/// One leaf switch in the topology.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MapLeaf {
    /// Name of the leaf switch.
    pub name: String,
    /// Open incident whose suspected cause is this leaf.
    pub faulty: Option<String>,
    /// Racks connected to the leaf.
    pub racks: Vec<MapRack>,
}

/// One rack in the topology.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MapRack {
    /// Name of the rack.
    pub name: String,
    /// Names of the nodes in the rack.
    pub nodes: Vec<String>,
}

/// One running job on the map.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MapJob {
    /// Unique id of the job.
    pub id: String,
    /// Name of the job for display.
    pub name: String,
    /// Number of GPUs of the job. Null where only its nodes are known.
    pub gpus: Option<u32>,
}

/// Changes on the map, sent as an event of the stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MapChanges {
    /// Node index, stage, wait, job and mask of faulty GPUs, encoded as in the map's columns.
    pub changed: Vec<[u32; 5]>,
}
