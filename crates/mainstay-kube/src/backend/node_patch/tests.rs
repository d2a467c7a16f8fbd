use mainstay_model::{
    ClaimId, Execution, Executor, NodeName, NodeUid, OrderId, Precondition, RuleName, Schedulable, Stage, Timestamp,
};

use super::*;

fn effect(step: Step) -> Effect {
    let node = NodeName::parse("n1").unwrap();
    Effect {
        id: OrderId::of("cordon", &node, 3),
        claim: Some(ClaimId::parse("fault-n1-3").unwrap()),
        executor: Executor::Backend,
        attempt: 1,
        execution: Execution::Ordered,
        expected: Precondition {
            uid: NodeUid::parse("u1").unwrap(),
            recorded: Stage::Quarantined,
            schedulable: Schedulable::Yes,
            is_empty: false,
            request: None,
        },
        start_by: Timestamp(0),
        done_by: Timestamp(0),
        epoch: Epoch(7),
        rule: RuleName::parse("gpu-off-the-bus").unwrap(),
        node,
        step,
    }
}

fn node() -> Value {
    json!({
        "metadata": {
            "name": "n1", "uid": "u1", "resourceVersion": "41",
            "labels": { "mainstay.dev/pool": "h100" },
            "annotations": { "karpenter.sh/do-not-disrupt": "true", "team": "a" },
        },
        "spec": { "taints": [{ "key": "nvidia.com/gpu", "effect": "NoSchedule" }], "podCIDR": "10.0.0.0/24" },
        "status": { "capacity": { "nvidia.com/gpu": "8" } },
    })
}

/// Applies the operations that our patches consist of.
fn patched(mut node: Value, patch: &[Value]) -> Value {
    for operation in patch {
        let path = operation["path"].as_str().unwrap();
        let (parent, key) = path.rsplit_once('/').unwrap();
        let key = key.replace("~1", "/").replace("~0", "~");
        match operation["op"].as_str().unwrap() {
            "test" => assert_eq!(node.pointer(path), Some(&operation["value"]), "{path}"),
            "add" | "replace" => node.pointer_mut(parent).unwrap()[&key] = operation["value"].clone(),
            "remove" => drop(node.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(&key).unwrap()),
            other => panic!("{other}"),
        }
    }
    node["metadata"]["resourceVersion"] = json!("42");
    node
}

fn carried_out(node: Value, step: Step) -> Value {
    let fresh = FreshNode::of(node.clone()).unwrap();
    assert!(!fresh.has(&step), "nothing would change");
    let patch = fresh.patch(&effect(step), Epoch(7));
    assert_eq!(patch[0], json!({ "op": "test", "path": "/metadata/uid", "value": "u1" }));
    assert_eq!(patch[1]["path"], "/metadata/resourceVersion");
    patched(node, &patch)
}

#[test]
fn a_quarantine_has_taint_epoch_approval_and_plan_in_one_patch() {
    let after = carried_out(node(), Step::Cordon);
    let taints = json!([
        { "key": "nvidia.com/gpu", "effect": "NoSchedule" },
        { "key": "mainstay.dev/quarantined", "value": "cordon-n1-3", "effect": "NoSchedule" },
    ]);
    assert_eq!(after["spec"], json!({ "taints": taints, "podCIDR": "10.0.0.0/24" }));
    assert_eq!(after["metadata"]["labels"], json!({ "mainstay.dev/pool": "h100", "mainstay.dev/fenced": "" }));
    let annotations = json!({
        "karpenter.sh/do-not-disrupt": "true", "team": "a",
        "cluster-autoscaler.kubernetes.io/scale-down-disabled": "true",
        "mainstay.dev/marks": "cluster-autoscaler.kubernetes.io/scale-down-disabled",
        "mainstay.dev/epoch": "7", "mainstay.dev/approval": "cordon-n1-3", "mainstay.dev/plan": "fault-n1-3",
    });
    assert_eq!(after["metadata"]["annotations"], annotations);
}

/// The node without the annotations that name the last action.
fn without_last_action(mut node: Value) -> Value {
    let annotations = node["metadata"]["annotations"].as_object_mut().unwrap();
    for (key, value) in signature(&effect(Step::Uncordon), Epoch(7)) {
        assert_eq!(annotations.remove(key), Some(Value::from(value)), "the fence reads {key}");
    }
    node
}

#[test]
fn a_return_leaves_the_node_as_it_was_with_the_marks_of_operators() {
    let out = carried_out(node(), Step::Cordon);
    let back = without_last_action(carried_out(out, Step::Uncordon));
    let mut expected = node();
    expected["metadata"]["resourceVersion"] = json!("42");
    assert_eq!(back, expected);
}

#[test]
fn a_node_without_labels_annotations_and_taints_gets_them_and_loses_them() {
    let mut bare = node();
    let metadata = bare["metadata"].as_object_mut().unwrap();
    metadata.remove("labels");
    metadata.remove("annotations");
    bare["spec"] = json!({});
    let out = carried_out(bare.clone(), Step::Avoid);
    let taint = json!([{ "key": "mainstay.dev/avoid", "value": "cordon-n1-3", "effect": "PreferNoSchedule" }]);
    assert_eq!(out["spec"]["taints"], taint);
    let back = without_last_action(carried_out(out, Step::EndAvoid));
    assert_eq!((&back["spec"], &back["metadata"]["labels"]), (&json!({}), &json!({})));
    assert_eq!(back["metadata"]["annotations"], json!({}));
}

#[test]
fn a_quarantine_replaces_the_avoid_taint_and_keeps_the_treatment() {
    let avoided = carried_out(node(), Step::Avoid);
    let out = carried_out(avoided, Step::Cordon);
    let fresh = FreshNode::of(out.clone()).unwrap();
    assert!(fresh.has(&Step::EndAvoid) && fresh.has(&Step::Cordon));
    assert_eq!(fresh.state.schedulable, Schedulable::NotByUs);
    let back = without_last_action(carried_out(out, Step::Uncordon));
    assert_eq!(back["metadata"]["annotations"], node()["metadata"]["annotations"]);
}

#[test]
fn a_tool_that_treats_the_node_is_named_and_a_cordon_is_none() {
    let mut sentinel = node();
    sentinel["metadata"]["labels"]["dgxc.nvidia.com/nvsentinel-state"] = json!("quarantined");
    let treated_by = |node: Value| FreshNode::of(node).unwrap().state.treated_by;
    assert_eq!(treated_by(sentinel).as_deref(), Some("nvsentinel"));
    let mut karpenter = node();
    karpenter["spec"]["taints"] = json!([{ "key": "karpenter.sh/disrupted", "effect": "NoSchedule" }]);
    assert_eq!(treated_by(karpenter).as_deref(), Some("karpenter"));
    let mut cordoned = node();
    cordoned["spec"]["unschedulable"] = json!(true);
    assert_eq!(treated_by(cordoned), None);
}

#[test]
fn the_value_of_a_taint_is_a_valid_label_value_for_any_action() {
    let long = format!("cordon-{}-3", "a.very-long-name".repeat(8));
    for action in [long.as_str(), "cordon-n1-3", "drain-_x_-1"] {
        let value = taint_value(action);
        assert!(value.len() <= 63 && value.ends_with(|c: char| c.is_ascii_alphanumeric()), "{value}");
        assert!(value.starts_with(|c: char| c.is_ascii_alphanumeric()), "{value}");
    }
}
