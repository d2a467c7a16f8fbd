//! One case a rule, told as a change to an example of `deploy/examples`: what is stored (if anything), what is written.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// A write that one rule refuses.
pub(crate) struct Case {
    pub(crate) kind: &'static str,
    pub(crate) message: &'static str,
    /// What is stored before; nothing where the rule refuses a creation or a first status.
    pub(crate) old: Option<Value>,
    pub(crate) new: Value,
}

pub(crate) fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy")
}

fn example(kind: &str) -> Value {
    let file = match kind {
        "Cell" => "cell",
        "NodeReport" => "node-report",
        "GpuNode" => "gpu-node",
        "Incident" => "incident",
        "FleetPolicy" => "fleet-policy",
        "Fabric" => "fabric",
        "Qualification" => "qualification",
        "CheckpointRequest" => "checkpoint-request",
        "Slo" => "slo",
        other => panic!("no example of {other}"),
    };
    let text = std::fs::read_to_string(deploy().join("examples").join(file).with_extension("yaml")).unwrap();
    serde_saphyr::from_str(&text).unwrap()
}

/// An object changed by a merge patch.
fn with(mut object: Value, patch: &Value) -> Value {
    fn merge(target: &mut Value, patch: &Value) {
        match (target, patch) {
            (Value::Object(target), Value::Object(patch)) => {
                for (key, value) in patch {
                    merge(target.entry(key).or_insert(Value::Null), value);
                }
            }
            (target, patch) => *target = patch.clone(),
        }
    }
    merge(&mut object, patch);
    object
}

/// Refused when it is created, or when its first status is written.
fn first(kind: &'static str, message: &'static str, patch: &Value) -> Case {
    Case { kind, message, old: None, new: with(example(kind), patch) }
}

/// Refused as a change of what is stored.
fn change(kind: &'static str, message: &'static str, before: &Value, patch: &Value) -> Case {
    let old = with(example(kind), before);
    Case { kind, message, new: with(old.clone(), patch), old: Some(old) }
}

fn status_of(kind: &str, epoch: i64) -> Value {
    let rest = match kind {
        "GpuNode" => json!({
            "stage": "InService", "since": "2026-11-15T03:00:00Z", "waitingOn": "Nothing", "message": "", "riskPpm": 0,
            "orders": [], "attempts": [], "arrivals": [], "history": [], "conditions": [],
        }),
        "Incident" => json!({
            "rule": "row-remap-pending", "subject": {"type": "Node", "node": "r12n04"}, "summary": "",
            "openedAt": "2026-11-15T03:00:00Z", "lostGpuSeconds": 0,
            "nodes": [], "evidence": [], "actions": [], "conditions": [],
        }),
        "Qualification" => json!({"round": 1, "results": [], "conditions": []}),
        "Fabric" => json!({"nodesPlaced": 0, "conditions": []}),
        "Cell" => json!({"breakers": [], "ruleCounters": [], "conditions": []}),
        _ => json!({"conditions": []}),
    };
    json!({"status": with(rest, &json!({"epoch": epoch}))})
}

fn epoch_falls(kind: &'static str) -> [Case; 2] {
    let message = "status.epoch is missing or lower than the stored epoch: another leader has taken over";
    let lower = change(kind, message, &status_of(kind, 7), &json!({"status": {"epoch": 6}}));
    let absent = Case { kind, message, old: lower.old.clone(), new: example(kind) };
    [lower, absent]
}

pub(crate) fn cases() -> Vec<Case> {
    let ours = ["Cell", "GpuNode", "Incident", "FleetPolicy", "Fabric", "Qualification", "Slo"];
    let mut all: Vec<Case> = ours.into_iter().flat_map(epoch_falls).collect();
    all.extend(cell());
    all.extend(node_report());
    all.extend(gpu_node());
    all.extend(records());
    all.extend(fleet_policy());
    all.extend(fabric());
    all.extend(slo());
    all
}

fn cell() -> Vec<Case> {
    let approval = |by: &str| {
        json!({
            "action": "a", "verb": "Drain", "node": "n1", "plan": "fault-n1-1",
            "expiresAt": "2026-11-15T03:30:00Z", "by": by,
        })
    };
    vec![
        first("Cell", "a cluster has one Cell, and its name is cell", &json!({"metadata": {"name": "another"}})),
        first(
            "Cell",
            "approvals must not name an action twice",
            &json!({"spec": {"approvals": [approval("ana"), approval("ben")]}}),
        ),
    ]
}

fn node_report() -> Vec<Case> {
    vec![
        change(
            "NodeReport",
            "spec.sequence must not decrease within a boot",
            &json!({}),
            &json!({"spec": {"sequence": 40}}),
        ),
        change(
            "NodeReport",
            "spec.sequence must increase when the content changes",
            &json!({}),
            &json!({"spec": {"evidence": []}}),
        ),
    ]
}

fn gpu_node() -> Vec<Case> {
    let order = json!({
        "id": "o1", "epoch": 7, "bootId": "b", "nonce": "n", "step": "Reboot", "suite": "burn-in",
        "startBy": "2026-11-15T03:00:00Z", "doneBy": "2026-11-15T04:00:00Z",
    });
    let arrivals = json!({"source": "Xid", "code": "48", "newestHour": 1, "hours": [-1], "days": []});
    vec![
        first(
            "GpuNode",
            "spec.request.reason must not be empty: the next engineer on call will read it",
            &json!({"spec": {"request": {"reason": ""}}}),
        ),
        first(
            "GpuNode",
            "spec.request.resolution is only allowed with kind Return or Hold",
            &json!({"spec": {"request": {"kind": "Drain", "resolution": "NothingFound"}}}),
        ),
        first(
            "GpuNode",
            "an order must set either step or suite, not both",
            &with(status_of("GpuNode", 7), &json!({"status": {"orders": [order]}})),
        ),
        first(
            "GpuNode",
            "counts in arrivals must not be negative",
            &with(status_of("GpuNode", 7), &json!({"status": {"arrivals": [arrivals]}})),
        ),
    ]
}

fn records() -> Vec<Case> {
    let fixed = "spec cannot be changed after creation: create a new object";
    let other_nonce = json!({"nonce": "another", "test": "burn", "verdict": "Passed"});
    vec![
        first(
            "Incident",
            "subject must set exactly the block that its type names",
            &with(status_of("Incident", 7), &json!({"status": {"subject": {"type": "Driver", "node": "r12n04"}}})),
        ),
        first(
            "Qualification",
            "verdict Passed needs at least one result, and every result must have passed with this qualification's nonce",
            &with(status_of("Qualification", 7), &json!({"status": {"verdict": "Passed", "results": [other_nonce]}})),
        ),
        change("Qualification", fixed, &json!({}), &json!({"spec": {"rounds": 1}})),
        change("CheckpointRequest", fixed, &json!({}), &json!({"spec": {"gang": "another"}})),
        change(
            "CheckpointRequest",
            "an acknowledgement cannot be changed or removed",
            &json!({"status": {"acknowledgedAt": "2026-11-15T03:08:12Z", "stepSaved": 41_200}}),
            &json!({"status": {"stepSaved": 41_300}}),
        ),
    ]
}

fn fleet_policy() -> Vec<Case> {
    let budgets = |budgets: Value| json!({"spec": {"budgets": budgets}});
    let ladder = json!({"rule": "a", "steps": ["Capture"], "attemptsMax": 1, "windowSeconds": 3600});
    vec![
        first(
            "FleetPolicy",
            "a budget must set either nodesMax or percentMax, not both",
            &budgets(json!([{"nodesMax": 1, "percentMax": 5}])),
        ),
        first(
            "FleetPolicy",
            "capacityFloor must set either nodesMin or percentMin, not both",
            &json!({"spec": {"capacityFloor": {"nodesMin": 1, "percentMin": 5}}}),
        ),
        first(
            "FleetPolicy",
            "circuitBreaker.pauseSecondsMin must not exceed pauseSecondsMax",
            &json!({"spec": {"circuitBreaker": {"pauseSecondsMin": 601, "pauseSecondsMax": 600}}}),
        ),
        first(
            "FleetPolicy",
            "deadlines.answerSecondsMin must not exceed answerMinutesSeconds or answerNextCheckpointSeconds",
            &json!({"spec": {"deadlines": {"answerSecondsMin": 601, "answerMinutesSeconds": 600}}}),
        ),
        first(
            "FleetPolicy",
            "deadlines.answerSecondsMin must not exceed answerMinutesSeconds or answerNextCheckpointSeconds",
            &json!({"spec": {"deadlines": {"answerSecondsMin": 601, "answerNextCheckpointSeconds": 600}}}),
        ),
        first(
            "FleetPolicy",
            "budgets must be positive: to stop all actions, set the mode to Observe",
            &budgets(json!([{"nodesMax": 0}])),
        ),
        first(
            "FleetPolicy",
            "budgets must not name a level twice, nor the whole pool twice",
            &budgets(json!([{"level": "Rack", "nodesMax": 1}, {"level": "Rack", "nodesMax": 2}])),
        ),
        first(
            "FleetPolicy",
            "a repair plan must begin with Capture: later steps destroy logs that the vendor asks for",
            &json!({"spec": {"repairPlans": [with(ladder.clone(), &json!({"steps": ["Reboot"]}))]}}),
        ),
        first(
            "FleetPolicy",
            "repairPlans must not name a rule twice",
            &json!({"spec": {"repairPlans": [ladder, ladder]}}),
        ),
        first(
            "FleetPolicy",
            "promotions must not name an action twice",
            &json!({"spec": {"promotions": [{"action": "Drain", "mode": "Act"}, {"action": "Drain", "mode": "Observe"}]}}),
        ),
        first(
            "FleetPolicy",
            "an override of an unrecognised line must use the rule site-line-noted, site-line-watched or site-line-removed",
            &json!({"spec": {"overrides": [{"source": "Unrecognised", "code": "nvme-1a2b3c4d", "rule": "gpu-off-the-bus"}]}}),
        ),
    ]
}

fn fabric() -> Vec<Case> {
    let levels = |levels: Value| json!({"spec": {"levels": levels}});
    let at = |level: &str, label: &str| json!({"level": level, "nodeLabel": label});
    vec![
        first("Fabric", "levels must not name a level twice", &levels(json!([at("Rack", "a"), at("Rack", "b")]))),
        first("Fabric", "levels must not use a node label twice", &levels(json!([at("Rack", "a"), at("Leaf", "a")]))),
        first(
            "Fabric",
            "levels must be ordered narrowest first: NvlinkDomain, Rack, Pdu, Leaf, Spine",
            &levels(json!([at("Spine", "a"), at("Rack", "b")])),
        ),
    ]
}

fn slo() -> Vec<Case> {
    let indicator = |indicator: Value| json!({"spec": {"indicator": indicator}});
    let query = |good: &str| json!({"good": good, "total": "sum(increase(b[$window]))"});
    vec![
        first(
            "Slo",
            "the name must have at most 63 lower-case letters, digits and hyphens: it is part of alert labels",
            &json!({"metadata": {"name": "research.jobs"}}),
        ),
        first(
            "Slo",
            "indicator.query must be set for type Query, and for no other type",
            &indicator(json!({"query": query("sum(increase(a[$window]))")})),
        ),
        first(
            "Slo",
            "indicator.boundSeconds must be set for QueueWait, DetectionTime, ReturnTime and Latency, and for no other type",
            &indicator(json!({"type": "QueueWait"})),
        ),
        first(
            "Slo",
            "indicator.metric must be set for type Latency, and for no other type",
            &indicator(json!({"type": "Latency", "boundSeconds": "0.3"})),
        ),
        first(
            "Slo",
            "indicator.matchers must be empty for type Query: write the labels in the queries",
            &indicator(json!({"type": "Query", "query": query("sum(increase(a[$window]))")})),
        ),
        first(
            "Slo",
            "both queries must contain [$window], which each rule replaces by its own window",
            &indicator(json!({"type": "Query", "matchers": [], "query": query("sum(increase(a[5m]))")})),
        ),
    ]
}
