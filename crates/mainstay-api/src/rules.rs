//! The style guide of the API, as code: what every generated schema must keep to, whoever adds a field.
//!
//! `cargo xtask gen` refuses to write a CRD that breaks a rule, so a boolean never reaches a cluster.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::Value;

mod schema;

pub use schema::CelRule;

/// The fence inside the object: kinds whose status is ours refuse an older leader even without admission policies.
pub(crate) const EPOCH_RULE: &str =
    "!has(oldSelf.status) || (has(self.status) && self.status.epoch >= oldSelf.status.epoch)";
pub(crate) const EPOCH_SAYS: &str =
    "status.epoch is absent or lower than the stored one: another leader has taken over";

/// What was asked cannot be changed afterwards; ask again with a new object.
pub(crate) const SPEC_FIXED_RULE: &str = "self.spec == oldSelf.spec";
pub(crate) const SPEC_FIXED_SAYS: &str = "the spec is fixed when it is created: make a new object instead";

/// One place where a schema breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The kind.
    pub kind: String,
    /// The path in the schema, `spec.levels[].nodeLabel`.
    pub path: String,
    /// What is wrong.
    pub what: &'static str,
    /// How to mend it.
    pub hint: &'static str,
}

/// Every break of the API rules in these definitions; empty when all is well.
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

/// Every CEL rule of a definition, wherever in the schema it stands.
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
