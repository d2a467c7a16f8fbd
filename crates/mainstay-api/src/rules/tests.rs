//! The real schemas keep every rule, and each rule can fail.

use serde_json::json;

use super::{schema, violations};

fn problems_of(path: &str, node: &serde_json::Value) -> Vec<&'static str> {
    schema::problems(path, node.as_object().unwrap()).into_iter().map(|(what, _)| what).collect()
}

#[test]
fn every_generated_schema_keeps_the_rules_of_the_api() {
    let found = violations(&crate::crds());
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn each_rule_refuses_what_it_is_for() {
    let described = |mut node: serde_json::Value| {
        node["description"] = json!("d");
        node
    };
    let cases = [
        ("spec.ready", described(json!({"type": "boolean"})), "a boolean"),
        ("spec.share", described(json!({"type": "number"})), "a float"),
        ("status.phase", described(json!({"type": "string", "enum": ["A"]})), "a phase"),
        ("spec.drainTimeout", described(json!({"type": "integer", "minimum": 0})), "a bare duration"),
        ("spec.name", described(json!({"type": "string"})), "a string without a bound"),
        ("spec.list", described(json!({"type": "array", "items": {}})), "a list without a bound"),
        ("spec.list", described(json!({"type": "array", "maxItems": 1})), "a list without a merge strategy"),
        ("spec.count", described(json!({"type": "integer"})), "an integer without a minimum"),
        ("spec.map", described(json!({"type": "object", "additionalProperties": {}})), "a map without a bound"),
        ("spec.any", described(json!({"x-kubernetes-preserve-unknown-fields": true})), "a field of no one type"),
        ("spec.any", described(json!({})), "a field of unknown type"),
        ("spec.name", json!({"type": "string", "maxLength": 1}), "a field without a description"),
        (
            "status.conditions",
            described(
                json!({"type": "array", "maxItems": 1, "x-kubernetes-list-type": "map", "items": {"required": []}}),
            ),
            "conditions without observedGeneration",
        ),
        ("spec", described(json!({"type": "object", "x-kubernetes-validations": []})), "a CEL rule below the root"),
    ];
    for (path, node, expected) in cases {
        assert_eq!(problems_of(path, &node), [expected], "{path}: {node}");
    }
}

#[test]
fn a_field_that_keeps_the_rules_has_no_problem() {
    let node = json!({"type": "integer", "minimum": 0, "description": "d"});
    assert_eq!(problems_of("spec.drainTimeoutSeconds", &node), Vec::<&str>::new());
}

#[test]
fn a_kind_nobody_can_list_is_refused() {
    let mut crd = crate::crds().remove(0);
    crd.spec.names.short_names = None;
    crd.spec.names.categories = None;
    crd.spec.versions[0].additional_printer_columns = None;
    let found: Vec<_> = violations(&[crd]).into_iter().map(|violation| violation.what).collect();
    assert_eq!(
        found,
        ["a kind without a short name", "a kind outside the category mainstay", "a kind without printer columns"]
    );
}
