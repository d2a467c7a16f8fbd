//! `Fabric`: the node label that names a node's failure domain at each level. It never lists nodes.

use kube::CustomResource;
use mainstay_model::{Bounded, Level};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Conditions;
use crate::rules::{EPOCH_RULE, EPOCH_SAYS};

/// Which node labels name the failure domains of a node.
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
        "levels must not name a level twice"
    ),
    validation = (
        "self.spec.levels.all(a, self.spec.levels.exists_one(b, b.nodeLabel == a.nodeLabel))",
        "levels must not use a node label twice"
    ),
    validation = (
        "[0, 1, 2, 3].all(i, i + 1 >= self.spec.levels.size() || {'NvlinkDomain': 0, 'Rack': 1, 'Pdu': 2, 'Leaf': 3, 'Spine': 4}[self.spec.levels[i].level] <= {'NvlinkDomain': 0, 'Rack': 1, 'Pdu': 2, 'Leaf': 3, 'Spine': 4}[self.spec.levels[i + 1].level])",
        "levels must be ordered narrowest first: NvlinkDomain, Rack, Pdu, Leaf, Spine"
    ),
    printcolumn(name = "Rails", type_ = "integer", json_path = ".spec.rails"),
    printcolumn(name = "Nodes-Placed", type_ = "integer", json_path = ".status.nodesPlaced"),
    printcolumn(name = "Accepted", type_ = "string", json_path = ".status.conditions[?(@.type==\"Accepted\")].status"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct FabricSpec {
    /// Topology levels of this cluster, narrowest first. A power domain is the level Pdu.
    #[schemars(length(min = 1))]
    pub levels: Bounded<FabricLevel, 5>,
    /// Number of rails in the compute fabric.
    #[schemars(range(min = 0, max = 16))]
    pub rails: i32,
}

/// One topology level and the node label that names its domain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FabricLevel {
    /// Topology level that the label belongs to.
    pub level: Level,
    /// Key of the node label whose value is the domain's name.
    #[schemars(length(min = 1, max = 317))]
    pub node_label: String,
}

/// State that the controller computed for the Fabric.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FabricStatus {
    /// Epoch of the leader that wrote this status.
    #[schemars(range(min = 0))]
    pub epoch: i64,
    /// Number of nodes that have a label for every level.
    #[schemars(range(min = 0))]
    pub nodes_placed: i32,
    /// Condition Accepted: whether the Fabric is in use, and why not.
    #[serde(default)]
    pub conditions: Conditions,
}
