//! An object that is read even if it does not match its schema: the error is kept with its name. Otherwise one invalid
//! object would fail the whole list and hide all others.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An object whose content may be invalid, with the parse error in place of the content.
#[derive(Debug, Clone)]
pub(crate) struct Tolerant<K> {
    metadata: ObjectMeta,
    /// The object, or why it is invalid.
    pub(crate) object: Result<K, String>,
}

impl<'de, K: DeserializeOwned> Deserialize<'de> for Tolerant<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut value = serde_json::Value::deserialize(deserializer)?;
        // The list of field owners is the largest part of every object, and is not needed.
        let fields = value.pointer_mut("/metadata").and_then(|metadata| metadata.as_object_mut());
        let managed = fields.and_then(|fields| fields.get_mut("managedFields")).and_then(|all| all.as_array_mut());
        for entry in managed.into_iter().flatten() {
            if let Some(entry) = entry.as_object_mut() {
                entry.remove("fieldsV1");
            }
        }
        let metadata = value.get("metadata").cloned().unwrap_or_default();
        let metadata = serde_json::from_value(metadata).map_err(serde::de::Error::custom)?;
        Ok(Self { metadata, object: serde_json::from_value(value).map_err(|error| error.to_string()) })
    }
}

impl<K> Serialize for Tolerant<K> {
    /// Writes only the metadata: these objects are never sent.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.metadata.serialize(serializer)
    }
}

impl<K: Resource<DynamicType = ()>> Resource for Tolerant<K> {
    type DynamicType = ();
    type Scope = K::Scope;

    fn kind(dynamic: &()) -> Cow<'_, str> {
        K::kind(dynamic)
    }

    fn group(dynamic: &()) -> Cow<'_, str> {
        K::group(dynamic)
    }

    fn version(dynamic: &()) -> Cow<'_, str> {
        K::version(dynamic)
    }

    fn plural(dynamic: &()) -> Cow<'_, str> {
        K::plural(dynamic)
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

#[cfg(test)]
mod tests {
    use mainstay_api::NodeReport;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_no_report_keeps_its_name_and_says_why() {
        let object = json!({ "metadata": { "name": "n1" }, "spec": { "nodeUid": "\u{1b}[2J" } });
        let read: Tolerant<NodeReport> = serde_json::from_value(object).unwrap();
        assert_eq!(read.meta().name.as_deref(), Some("n1"));
        assert!(read.object.unwrap_err().contains("NodeUid"));
    }
}
