//! Checks one schema node at a time: its problems, and its CEL rules.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Map, Value};

/// A CEL rule of a generated schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CelRule {
    /// Path in the schema. Empty at the root of the object.
    pub path: String,
    /// The CEL expression.
    pub rule: String,
    /// Error message if the rule is violated.
    pub message: String,
}

type Problem = (&'static str, &'static str);

/// Words that make a number a length of time; such a field names its unit last.
const WORDS_OF_TIME: [&str; 9] =
    ["timeout", "duration", "period", "interval", "grace", "window", "delay", "backoff", "ttl"];
const UNITS_OF_TIME: [&str; 5] = ["Seconds", "Millis", "Minutes", "Hours", "Days"];

/// Calls `visit` on every schema node with its path. `metadata` is left out, because the server owns it.
pub(super) fn walk(node: &Value, path: &str, visit: &mut impl FnMut(&str, &Map<String, Value>)) {
    let Some(object) = node.as_object() else { return };
    visit(path, object);
    for (name, child) in object.get("properties").and_then(Value::as_object).into_iter().flatten() {
        if path.is_empty() && ["metadata", "apiVersion", "kind"].contains(&name.as_str()) {
            continue;
        }
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        walk(child, &path, visit);
    }
    if let Some(items) = object.get("items") {
        walk(items, &format!("{path}[]"), visit);
    }
    if let Some(values) = object.get("additionalProperties") {
        walk(values, &format!("{path}{{}}"), visit);
    }
}

pub(super) fn problems(path: &str, node: &Map<String, Value>) -> Vec<Problem> {
    let is_item = path.ends_with("[]") || path.ends_with("{}");
    let mut found = by_type(node, is_item);
    let name = path.rsplit('.').next().unwrap_or(path);
    if name == "phase" {
        found.push(("a phase", "use a stage enum and conditions: a phase mixes many facts"));
    }
    let is_number = ["integer", "string"].contains(&type_of(node)) && node.get("enum").is_none();
    let lower = name.to_ascii_lowercase();
    if is_number
        && WORDS_OF_TIME.iter().any(|word| lower.contains(word))
        && !UNITS_OF_TIME.iter().any(|unit| name.ends_with(unit))
    {
        found.push(("a bare duration", "name the unit last: drainTimeoutSeconds"));
    }
    if !path.is_empty() && !is_item && node.get("description").is_none() {
        found.push(("a field without a description", "describe it in a doc comment, for its reader"));
    }
    if name == "conditions" && !condition_has_generation(node) {
        found.push(("conditions without observedGeneration", "use mainstay_api::Conditions"));
    }
    if node.contains_key("x-kubernetes-validations") && !path.is_empty() {
        found.push((
            "a CEL rule below the root",
            "move it to the root of the object, where old and new can be compared",
        ));
    }
    found
}

fn by_type(node: &Map<String, Value>, is_item: bool) -> Vec<Problem> {
    let has = |key| node.contains_key(key);
    let mut found = Vec::new();
    if has("x-kubernetes-preserve-unknown-fields") || has("x-kubernetes-int-or-string") {
        found.push(("a field of no one type", "give it a type: untyped input cannot be validated"));
        return found;
    }
    match type_of(node) {
        "boolean" => found.push(("a boolean", "use an enum: a third state may be needed later")),
        "number" => found.push(("a float", "use an integer with its unit in the name, such as riskPpm")),
        "string" if !has("enum") && !has("maxLength") => {
            found.push(("a string without a bound", "use a bounded text of mainstay-model, or length(max = …)"));
        }
        "array" if !has("maxItems") => found.push(("a list without a bound", "use mainstay_model::Bounded")),
        "array" if !has("x-kubernetes-list-type") => {
            found.push(("a list without a merge strategy", "use mainstay_model::Bounded, which is atomic"));
        }
        // Items of a list of counts cannot carry a range attribute; a CEL rule at the root bounds them instead.
        "integer" if !has("minimum") && !is_item => {
            found.push(("an integer without a minimum", "add range(min = 0), or another minimum"));
        }
        "object" if has("additionalProperties") && !has("maxProperties") => {
            found.push(("a map without a bound", "use a bounded list of named items"));
        }
        "string" | "array" | "integer" | "object" => {}
        _ => found.push(("a field of unknown type", "give it a type that a CRD supports")),
    }
    found
}

fn type_of(node: &Map<String, Value>) -> &str {
    node.get("type").and_then(Value::as_str).unwrap_or("")
}

fn condition_has_generation(node: &Map<String, Value>) -> bool {
    let required = node.get("items").and_then(|items| items.get("required")).and_then(Value::as_array);
    required.is_some_and(|names| names.iter().any(|name| name == "observedGeneration"))
}

/// Problems of the definition itself: names, categories and printer columns.
pub(super) fn root_problems(crd: &CustomResourceDefinition) -> Vec<(String, &'static str, &'static str)> {
    let names = &crd.spec.names;
    let mut found = Vec::new();
    let mut problem = |what, hint| found.push((String::new(), what, hint));
    if names.short_names.as_ref().is_none_or(Vec::is_empty) {
        problem("a kind without a short name", "add shortname = …");
    }
    if names.categories.as_ref().is_none_or(|all| !all.iter().any(|name| name == "mainstay")) {
        problem("a kind outside the category mainstay", "add category = \"mainstay\"");
    }
    if crd.spec.versions.iter().any(|version| version.additional_printer_columns.as_ref().is_none_or(Vec::is_empty)) {
        problem("a kind without printer columns", "add printcolumn(…), so that kubectl get shows the state");
    }
    found
}

pub(super) fn cel_rules_of(path: &str, node: &Map<String, Value>) -> Vec<CelRule> {
    let text = |rule: &Value, key| rule.get(key).and_then(Value::as_str).unwrap_or("").to_owned();
    node.get("x-kubernetes-validations")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .map(|rule| CelRule { path: path.to_owned(), rule: text(rule, "rule"), message: text(rule, "message") })
        .collect()
}
