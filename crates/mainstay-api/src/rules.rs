//! The style guide of the API as code: rules that every generated schema must follow.
//!
//! `cargo xtask gen` refuses to write a CRD that breaks a rule, so a boolean never reaches a cluster.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::Value;

mod schema;

pub use schema::CelRule;

/// Fencing inside the object: kinds with a status reject an older leader even without admission policies.
pub(crate) const EPOCH_RULE: &str =
    "!has(oldSelf.status) || (has(self.status) && self.status.epoch >= oldSelf.status.epoch)";
pub(crate) const EPOCH_SAYS: &str =
    "status.epoch is missing or lower than the stored epoch: another leader has taken over";

/// A request cannot be changed after creation; a new request needs a new object.
pub(crate) const SPEC_FIXED_RULE: &str = "self.spec == oldSelf.spec";
pub(crate) const SPEC_FIXED_SAYS: &str = "spec cannot be changed after creation: create a new object";

/// One place where a schema breaks a rule of the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Kind whose schema breaks the rule.
    pub kind: String,
    /// Path in the schema, for example `spec.levels[].nodeLabel`.
    pub path: String,
    /// What is wrong with the schema.
    pub what: &'static str,
    /// How to correct the schema.
    pub hint: &'static str,
}

/// Every violation of the API rules in these definitions. Empty if there is none.
#[must_use]
pub fn violations(crds: &[CustomResourceDefinition]) -> Vec<Violation> {
    let mut found = Vec::new();
    for crd in crds {
        let kind = &crd.spec.names.kind;
        for (path, what, hint) in schema::root_problems(crd) {
            found.push(Violation { kind: kind.clone(), path, what, hint });
        }
        for schema in schemas(crd) {
            schema::walk(&schema, "", &mut |path, node| {
                for (what, hint) in schema::problems(path, node) {
                    found.push(Violation { kind: kind.clone(), path: path.to_owned(), what, hint });
                }
            });
        }
    }
    found
}

/// Every CEL rule of a definition, at any depth of its schema.
#[must_use]
pub fn cel_rules(crd: &CustomResourceDefinition) -> Vec<CelRule> {
    let mut rules = Vec::new();
    for schema in schemas(crd) {
        schema::walk(&schema, "", &mut |path, node| rules.extend(schema::cel_rules_of(path, node)));
    }
    rules
}

fn schemas(crd: &CustomResourceDefinition) -> Vec<Value> {
    crd.spec
        .versions
        .iter()
        .filter_map(|version| version.schema.as_ref()?.open_api_v3_schema.as_ref())
        // A schema that came out of the derive is plain data and always becomes JSON; Null would break every rule.
        .map(|schema| serde_json::to_value(schema).unwrap_or(Value::Null))
        .collect()
}

#[cfg(test)]
mod tests;
