//! Objects that no schema of Mainstay accepts, and the result of converting them.

use mainstay_model::{Mode, Persisted, Policy, Report, Span, Subject, Timestamp};
use serde_json::{Value, json};

use crate::{Cell, ConversionError, FabricSpec, FleetPolicySpec, GpuNodeStatus, NodeReportSpec, Topology};

fn example(name: &str) -> Value {
    let path = format!("{}/../../deploy/examples/{name}.yaml", env!("CARGO_MANIFEST_DIR"));
    serde_saphyr::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn spec<T: serde::de::DeserializeOwned>(name: &str, change: impl FnOnce(&mut Value)) -> T {
    let mut spec = example(name)["spec"].clone();
    change(&mut spec);
    serde_json::from_value(spec).unwrap()
}

#[test]
fn the_examples_are_taken() {
    assert!(Report::try_from(&spec::<NodeReportSpec>("node-report", |_| ())).is_ok());
    let policy = Policy::try_from(&spec::<FleetPolicySpec>("fleet-policy", |_| ())).unwrap();
    assert_eq!((policy.mode, policy.budgets.as_slice().len()), (Mode::Propose, 3));
    let topology = Topology::try_from(&spec::<FabricSpec>("fabric", |_| ())).unwrap();
    assert_eq!((topology.labels().len(), topology.rails()), (5, 8));
}

#[test]
fn one_piece_of_evidence_counted_in_two_places_is_refused() {
    let twice: NodeReportSpec = spec("node-report", |spec| {
        let piece = spec["evidence"][0].clone();
        spec["evidence"].as_array_mut().unwrap().push(piece);
    });
    let refused = Report::try_from(&twice).unwrap_err();
    assert_eq!(refused.to_string(), "evidence names Xid 63 twice");
}

#[test]
fn a_budget_is_one_of_two_and_stands_once() {
    let tried =
        |budgets: Value| Policy::try_from(&spec::<FleetPolicySpec>("fleet-policy", |spec| spec["budgets"] = budgets));
    let refused = tried(json!([{ "nodesMax": 1, "percentMax": 1 }])).unwrap_err();
    assert_eq!(refused.to_string(), "budgets has both; set exactly one of nodesMax and percentMax");
    assert!(matches!(tried(json!([{ "level": "Rack" }])), Err(ConversionError::Choice { found: "neither", .. })));
    assert!(matches!(tried(json!([{ "nodesMax": -1 }])), Err(ConversionError::Negative { .. })));
    assert!(matches!(tried(json!([{ "percentMax": 101 }])), Err(ConversionError::TooLarge { .. })));
    assert!(matches!(tried(json!([{ "nodesMax": 1 }, { "percentMax": 5 }])), Err(ConversionError::Twice { .. })));
}

#[test]
fn a_lower_limit_above_its_upper_one_is_refused_and_a_default_yields() {
    let tried = |field: &str, value: Value| {
        Policy::try_from(&spec::<FleetPolicySpec>("fleet-policy", |spec| spec[field] = value))
    };
    let breaker = |value: Value| tried("circuitBreaker", value);
    let refused = breaker(json!({ "pauseSecondsMin": 601, "pauseSecondsMax": 600 })).unwrap_err();
    let text = "circuitBreaker.pauseSecondsMin is 601; it must not exceed circuitBreaker.pauseSecondsMax, which is 600";
    assert_eq!(refused.to_string(), text);
    let pauses = |value: Value| breaker(value).map(|policy| (policy.breaker.pause_min, policy.breaker.pause_max));
    let seconds = |min, max| Ok((Span::seconds(min), Span::seconds(max)));
    assert_eq!(pauses(json!({ "pauseSecondsMin": 600, "pauseSecondsMax": 600 })), seconds(600, 600));
    assert_eq!(pauses(json!({ "pauseSecondsMax": 600 })), seconds(600, 600));
    assert_eq!(pauses(json!({ "pauseSecondsMin": 20_000 })), seconds(20_000, 20_000));
    assert_eq!(pauses(json!({})), seconds(1_800, 14_400));
    for longest in ["answerMinutesSeconds", "answerNextCheckpointSeconds"] {
        let answer = |min: i32| tried("deadlines", json!({ "answerSecondsMin": min, longest: 900 }));
        assert!(matches!(answer(901), Err(ConversionError::Exceeds { value: 901, value_max: 900, .. })), "{longest}");
        assert!(answer(900).is_ok(), "{longest}");
    }
}

#[test]
fn a_ladder_begins_with_capture() {
    let ladder = json!([{ "rule": "r", "steps": ["Reboot"], "attemptsMax": 1, "windowSeconds": 60 }]);
    let spec: FleetPolicySpec = spec("fleet-policy", |spec| spec["repairPlans"] = ladder);
    assert!(matches!(Policy::try_from(&spec), Err(ConversionError::Choice { field: "repairPlans.steps", .. })));
}

#[test]
fn an_order_is_a_rung_or_a_suite() {
    let order = |more: Value| {
        let mut order = json!({
            "id": "reboot-n1-1", "epoch": 1, "bootId": "b", "nonce": "n", "startBy": "2026-11-15T03:00:00Z", "doneBy": "2026-11-15T04:00:00Z",
        });
        order.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let status: GpuNodeStatus = serde_json::from_value(json!({
            "epoch": 1, "stage": "Repairing", "since": "2026-11-15T03:00:00Z", "waitingOn": "Order", "message": "",
            "riskPpm": 0, "orders": [order],
        }))
        .unwrap();
        Persisted::try_from(&status)
    };
    assert!(order(json!({ "step": "Reboot" })).is_ok());
    assert!(matches!(order(json!({})), Err(ConversionError::Choice { found: "neither", .. })));
    assert!(matches!(
        order(json!({ "step": "Reboot", "suite": "s" })),
        Err(ConversionError::Choice { found: "both", .. })
    ));
    assert!(matches!(order(json!({ "step": "Reboot", "epoch": -1 })), Err(ConversionError::Negative { .. })));
}

#[test]
fn a_cell_of_a_negative_epoch_is_refused() {
    let mut cell = example("cell");
    cell["status"] = json!({ "epoch": -3 });
    let cell: Cell = serde_json::from_value(cell).unwrap();
    assert_eq!(cell.facts(Timestamp(0)).unwrap_err(), ConversionError::Negative { field: "epoch", value: -3 });
}

#[test]
fn a_level_or_a_label_that_stands_twice_is_refused() {
    let twice = |levels: Value| {
        let spec: FabricSpec = spec("fabric", |spec| spec["levels"] = levels);
        Topology::try_from(&spec)
    };
    let level = |level: &str, label: &str| json!({ "level": level, "nodeLabel": label });
    assert!(matches!(twice(json!([level("Rack", "a"), level("Rack", "b")])), Err(ConversionError::Twice { .. })));
    assert!(matches!(twice(json!([level("Rack", "a"), level("Leaf", "a")])), Err(ConversionError::Twice { .. })));
}

#[test]
fn a_label_that_is_no_name_of_a_domain_places_nobody() {
    let topology = Topology::try_from(&spec::<FabricSpec>("fabric", |_| ())).unwrap();
    let labels =
        [("mainstay.dev/rack", "r1"), ("mainstay.dev/pdu", ""), ("network.topology.nvidia.com/leaf", "\u{1b}[2J")];
    let labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    let domains = topology.domains(&labels);
    assert_eq!(domains.values().map(|name| name.as_str()).collect::<Vec<_>>(), ["r1"]);
}

#[test]
fn a_subject_without_the_block_of_its_type_is_refused() {
    for subject in
        [json!({ "type": "Node" }), json!({ "type": "Node", "driver": "580" }), json!({ "type": "Part", "node": "n1" })]
    {
        let subject: crate::Subject = serde_json::from_value(subject).unwrap();
        assert!(matches!(Subject::try_from(&subject), Err(ConversionError::Choice { field: "subject", .. })));
    }
}
