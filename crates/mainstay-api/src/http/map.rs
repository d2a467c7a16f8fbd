//! The fleet map: a tree of names, and one column per property in the order of that tree, packed so that a hundred thousand
//! GPUs travel in little.

use mainstay_model::{Stage, WaitingOn};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The hall as it stands. Columns are base64; numbers of two bytes have the low one first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Map {
    /// As of when.
    pub now: i64,
    /// GPUs of a node.
    pub gpus_per_node: u32,
    /// The tree; nodes are counted in its order.
    pub spines: Vec<MapSpine>,
    /// The words of `stage`.
    pub stages: Vec<Stage>,
    /// One byte a node: a place in `stages`.
    pub stage: String,
    /// The words of `wait`.
    pub waits: Vec<WaitingOn>,
    /// One byte a node: a place in `waits`.
    pub wait: String,
    /// The jobs that run.
    pub jobs: Vec<MapJob>,
    /// Two bytes a node: none where zero, else one more than the place in `jobs`.
    pub job: String,
    /// Two bytes a node: risk in steps of 16 parts per million.
    pub risk: String,
    /// The words of `version`: drivers.
    pub versions: Vec<String>,
    /// One byte a node: a place in `versions`.
    pub version: String,
    /// One byte a node: bit i is set where GPU i has a finding.
    pub sick_gpus: String,
    /// One byte a node: degrees Celsius of its hottest GPU, 255 where unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<String>,
    /// One byte a node: tens of watts a GPU, on average.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power: Option<String>,
}

/// A spine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MapSpine {
    /// Its name.
    pub name: String,
    /// The leaves below it.
    pub leaves: Vec<MapLeaf>,
}

/// A leaf.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MapLeaf {
    /// Its name.
    pub name: String,
    /// The open incident that it is blamed for.
    pub sick: Option<String>,
    /// The racks below it.
    pub racks: Vec<MapRack>,
}

/// A rack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MapRack {
    /// Its name.
    pub name: String,
    /// The names of its nodes.
    pub nodes: Vec<String>,
}

/// A job that runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MapJob {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its GPUs; none where only its nodes are known.
    pub gpus: Option<u32>,
}

/// What has changed on the map, as an event of the stream tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MapChanges {
    /// Node, stage, wait, job and mask of sick GPUs, each as in the columns of the map.
    pub changed: Vec<[u32; 5]>,
}
