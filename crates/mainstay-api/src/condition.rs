//! The condition type of this API: the Kubernetes shape with every string bounded, which the stock type is not.

use mainstay_model::{Reason, RuleName};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::Moment;

/// Whether a condition is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ConditionStatus {
    /// The condition is met now.
    True,
    /// The condition is not met.
    False,
    /// The state is not known. Never treat it as True.
    Unknown,
}

/// One condition of an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Type of the condition, a past participle or an adjective: Accepted, Drained, Stuck.
    #[serde(rename = "type")]
    pub type_: RuleName,
    /// Whether the condition is met: True, False or Unknown.
    pub status: ConditionStatus,
    /// Reason as one documented word. For a wait, what the object waits for.
    pub reason: RuleName,
    /// Reason as one sentence for operators.
    pub message: Reason,
    /// Generation of the object that the condition was computed from.
    #[schemars(range(min = 0))]
    pub observed_generation: i64,
    /// Time at which the status last changed.
    pub last_transition_time: Moment,
}

/// At most eight conditions, one of each type. They are merged by type, so other writers can add their own.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Conditions(pub Vec<Condition>);

impl Conditions {
    /// Largest number of conditions on an object.
    pub const LEN_MAX: usize = 8;
}

impl JsonSchema for Conditions {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Conditions".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "array",
            "items": generator.subschema_for::<Condition>(),
            "maxItems": Self::LEN_MAX,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["type"],
        })
    }
}
