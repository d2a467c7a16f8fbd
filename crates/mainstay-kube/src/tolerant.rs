//! An object that is read even if it does not match its schema: the error is kept with its name. Otherwise one invalid
//! object would fail the whole list and hide all others.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};

/// An object whose content may be invalid, with the parse error in place of the content.
#[derive(Debug, Clone)]
pub(crate) struct Tolerant<K> {
    metadata: ObjectMeta,
    /// The object, or why it is invalid.
    pub(crate) object: Result<K, Invalid>,
}

/// Why an object is invalid, and what is known of it nevertheless.
#[derive(Debug, Clone)]
pub(crate) struct Invalid {
    pub(crate) why: String,
    /// Value of `spec.nodeName`, which a Pod has.
    pub(crate) node_name: Option<Box<str>>,
}

impl<'de, K: DeserializeOwned> Deserialize<'de> for Tolerant<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut value = Value::deserialize(deserializer)?;
        let managed = value.pointer_mut("/metadata/managedFields").and_then(Value::as_array_mut);
        managed.into_iter().flatten().filter_map(Value::as_object_mut).for_each(without_owners);
        let metadata = metadata(value.get("metadata").unwrap_or(&Value::Null));
        let node_name = value.pointer("/spec/nodeName").and_then(Value::as_str).map(Box::from);
        let object = serde_json::from_value(value);
        Ok(Self { metadata, object: object.map_err(|error| Invalid { why: error.to_string(), node_name }) })
    }
}

/// Removes the list of owned fields, which is the largest part of every object. Of a Node, the owner of
/// `spec.unschedulable` is kept: it shows which client cordoned the node.
fn without_owners(entry: &mut Map<String, Value>) {
    let Some(fields) = entry.remove("fieldsV1") else { return };
    if fields.pointer("/f:spec/f:unschedulable").is_some() {
        entry.insert("fieldsV1".to_owned(), json!({ "f:spec": { "f:unschedulable": {} } }));
    }
}

/// The metadata, or only the fields that name the object and its version where the rest is invalid.
fn metadata(value: &Value) -> ObjectMeta {
    ObjectMeta::deserialize(value).unwrap_or_else(|_| {
        let text = |field: &str| value.get(field).and_then(Value::as_str).map(str::to_owned);
        ObjectMeta {
            name: text("name"),
            namespace: text("namespace"),
            uid: text("uid"),
            resource_version: text("resourceVersion"),
            ..ObjectMeta::default()
        }
    })
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

    use super::*;

    #[test]
    fn what_is_no_report_keeps_its_name_and_says_why() {
        let object = json!({ "metadata": { "name": "n1" }, "spec": { "nodeUid": "\u{1b}[2J" } });
        let read: Tolerant<NodeReport> = serde_json::from_value(object).unwrap();
        assert_eq!(read.meta().name.as_deref(), Some("n1"));
        assert!(read.object.unwrap_err().why.contains("NodeUid"));
    }

    #[test]
    fn metadata_that_is_invalid_still_names_the_object_and_its_version() {
        let metadata = json!({ "name": "p", "namespace": "a", "resourceVersion": "7", "labels": 1 });
        let object = json!({ "metadata": metadata, "spec": { "nodeName": "n1" } });
        let read: Tolerant<NodeReport> = serde_json::from_value(object).unwrap();
        assert_eq!((read.meta().name.as_deref(), read.meta().resource_version.as_deref()), (Some("p"), Some("7")));
        assert_eq!(read.object.unwrap_err().node_name.as_deref(), Some("n1"));
    }

    #[test]
    fn of_the_owned_fields_only_the_cordon_is_kept() {
        let entry = |fields: &Value| json!({ "manager": "kubectl", "fieldsV1": fields });
        let managed =
            [entry(&json!({ "f:spec": { "f:unschedulable": {}, "f:taints": {} } })), entry(&json!({ "f:status": {} }))];
        let object = json!({ "metadata": { "name": "n1", "managedFields": managed } });
        let read: Tolerant<NodeReport> = serde_json::from_value(object).unwrap();
        let kept = read
            .meta()
            .managed_fields
            .iter()
            .flatten()
            .map(|entry| entry.fields_v1.as_ref().map(|kept| kept.0.to_string()));
        assert_eq!(kept.collect::<Vec<_>>(), [Some(r#"{"f:spec":{"f:unschedulable":{}}}"#.to_owned()), None]);
    }
}
