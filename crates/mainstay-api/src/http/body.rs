//! Reads the body of a call. All problems of a body are reported together, so that a caller corrects it once.

use schemars::{JsonSchema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// A type that the body of a call can be read into.
pub trait RequestBody: DeserializeOwned + JsonSchema {
    /// Reads a body from the fields of its JSON object.
    ///
    /// # Errors
    /// Every problem, one sentence each: fields that are missing, and fields whose value is invalid.
    fn from_fields(fields: &Map<String, Value>) -> Result<Self, Vec<String>> {
        serde_json::from_value(Value::Object(fields.clone())).map_err(|first| {
            let problems: Vec<String> = missing::<Self>(fields).chain(invalid::<Self>(fields)).collect();
            if problems.is_empty() { vec![first.to_string()] } else { problems }
        })
    }
}

impl<T: DeserializeOwned + JsonSchema> RequestBody for T {}

/// Required fields that the body does not have, as the schema lists them.
fn missing<T: JsonSchema>(fields: &Map<String, Value>) -> impl Iterator<Item = String> {
    let schema = SchemaGenerator::default().into_root_schema_for::<T>();
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let names: Vec<String> = required.iter().filter_map(|name| Some(name.as_str()?.to_owned())).collect();
    let absent: Vec<String> = names.into_iter().filter(|name| !fields.contains_key(name)).collect();
    absent.into_iter().map(|name| format!("`{name}` is missing"))
}

/// Fields that the body has and whose value is invalid. Each is read alone: what fails then, and is not the absence of
/// another field, is wrong with its own value.
fn invalid<T: DeserializeOwned>(fields: &Map<String, Value>) -> impl Iterator<Item = String> {
    fields.iter().filter_map(|(name, value)| {
        let alone: Map<String, Value> = [(name.clone(), value.clone())].into_iter().collect();
        let error = serde_json::from_value::<T>(Value::Object(alone)).err()?.to_string();
        (!error.starts_with("missing field")).then(|| format!("`{name}` is invalid: {error}"))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::http::{ModeChange, NodeRequest, SeekRequest, StopRequest};

    fn problems<T: RequestBody>(body: &Value) -> Vec<String> {
        T::from_fields(body.as_object().unwrap()).err().unwrap_or_default()
    }

    #[test]
    fn every_missing_field_is_reported_at_once() {
        assert_eq!(problems::<StopRequest>(&json!({})), ["`by` is missing", "`reason` is missing"]);
        assert_eq!(problems::<StopRequest>(&json!({ "by": "mira" })), ["`reason` is missing"]);
        assert_eq!(problems::<ModeChange>(&json!({})), ["`mode` is missing"]);
        assert!(StopRequest::from_fields(json!({ "by": "mira", "reason": "noise" }).as_object().unwrap()).is_ok());
        assert!(SeekRequest::from_fields(&Map::new()).is_ok(), "an optional field may be absent");
    }

    #[test]
    fn missing_and_invalid_fields_are_reported_together() {
        let problems = problems::<NodeRequest>(&json!({ "kind": "explode", "reason": 7 }));
        let [by, kind, reason] = &problems[..] else { panic!("{problems:?}") };
        assert_eq!(by, "`by` is missing");
        assert!(kind.starts_with("`kind` is invalid: unknown variant `explode`"), "{kind}");
        assert!(reason.starts_with("`reason` is invalid: "), "{reason}");
    }
}
