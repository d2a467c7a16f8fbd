//! `Fabric`: which node label names a node's failure domain at each level. Never a list of nodes.

use kube::CustomResource;
use mainstay_model::{Bounded, Level};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Conditions;
use crate::rules::{EPOCH_RULE, EPOCH_SAYS};

/// How nodes say where they stand.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "mainstay.dev",
    version = "v1alpha1",
    kind = "Fabric",
    doc = "One node-label key per topology level, and the number of rails.",
    status = "FabricStatus",
    shortname = "fab",
    category = "mainstay",
    validation = (EPOCH_RULE, EPOCH_SAYS),
    validation = (
        "self.spec.levels.all(a, self.spec.levels.exists_one(b, b.level == a.level))",
        "each level stands once"
    ),
    validation = (
        "self.spec.levels.all(a, self.spec.levels.exists_one(b, b.nodeLabel == a.nodeLabel))",
        "each level has a node label of its own"
    ),
    validation = (
        "[0, 1, 2, 3].all(i, i + 1 >= self.spec.levels.size() || {'NvlinkDomain': 0, 'Rack': 1, 'Pdu': 2, 'Leaf': 3, 'Spine': 4}[self.spec.levels[i].level] <= {'NvlinkDomain': 0, 'Rack': 1, 'Pdu': 2, 'Leaf': 3, 'Spine': 4}[self.spec.levels[i + 1].level])",
        "levels stand narrowest first: NvlinkDomain, Rack, Pdu, Leaf, Spine"
    ),
    printcolumn(name = "Rails", type_ = "integer", json_path = ".spec.rails"),
    printcolumn(name = "Nodes-Placed", type_ = "integer", json_path = ".status.nodesPlaced"),
    printcolumn(name = "Accepted", type_ = "string", json_path = ".status.conditions[?(@.type==\"Accepted\")].status"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct FabricSpec {
    /// The levels that are known here, narrowest first. A power domain is the level Pdu.
    #[schemars(length(min = 1))]
    pub levels: Bounded<FabricLevel, 5>,
    /// How many rails the compute fabric has.
    #[schemars(range(min = 0, max = 16))]
    pub rails: i32,
}

/// One level and where to read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FabricLevel {
    /// Which level.
    pub level: Level,
    /// The node label whose value names the domain.
    #[schemars(length(min = 1, max = 317))]
    pub node_label: String,
}

/// What the controller makes of the fabric.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FabricStatus {
    /// The epoch of the leader that wrote this.
    #[schemars(range(min = 0))]
    pub epoch: i64,
    /// How many nodes have a label for every level.
    #[schemars(range(min = 0))]
    pub nodes_placed: i32,
    /// Whether it is in force, and what is wrong with it if not.
    #[serde(default)]
    pub conditions: Conditions,
}
