//! Our condition: the Kubernetes shape with every string bounded, which the stock type is not.

use mainstay_model::{Reason, RuleName};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::Moment;

/// Whether a condition holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It does not.
    False,
    /// It is not known, which is never read as good news.
    Unknown,
}

/// One condition of an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// What it is about, as a past participle or an adjective: Accepted, Drained, Stuck.
    #[serde(rename = "type")]
    pub type_: RuleName,
    /// Whether it holds.
    pub status: ConditionStatus,
    /// Why, as one word that is documented; for a wait, the thing waited on.
    pub reason: RuleName,
    /// Why, in a sentence.
    pub message: Reason,
    /// The generation of the object it was judged on.
    #[schemars(range(min = 0))]
    pub observed_generation: i64,
    /// When it last changed.
    pub last_transition_time: Moment,
}

/// At most eight conditions, one of each type, merged by type so that other writers can add theirs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Conditions(pub Vec<Condition>);

impl Conditions {
    /// How many there may be.
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
