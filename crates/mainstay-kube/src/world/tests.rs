//! From what a watch tells to what the brain finds, without a server.

use mainstay_engine::Engine;
use mainstay_model::{NodeFacts, Ready};
use serde_json::{Value, json};

use super::*;
use crate::watch::Key;

/// A world and an engine that receive objects as the API server stores them.
struct Harness {
    world: World,
    engine: Engine,
}

fn lenient<K: serde::de::DeserializeOwned>(object: Value) -> WatchEvent<Tolerant<K>> {
    WatchEvent::Is(Box::new(serde_json::from_value(object).unwrap()))
}

fn at(seconds: i64) -> Timestamp {
    Timestamp(seconds * 1_000)
}

fn node(uid: &str, conditions: &Value) -> ClusterEvent {
    let labels = json!({ "mainstay.dev/pool": "h100", "nvidia.com/gpu.count": "8" });
    let object =
        json!({ "metadata": { "name": "n1", "uid": uid, "labels": labels }, "status": { "conditions": conditions } });
    ClusterEvent::Node(WatchEvent::Is(Box::new(serde_json::from_value(object).unwrap())))
}

fn policy(name: &str, spec: &Value) -> ClusterEvent {
    let mut spec = spec.clone();
    spec["pool"] = json!("h100");
    ClusterEvent::Policy(lenient(json!({ "metadata": { "name": name }, "spec": spec })))
}

fn report(uid: &str, boot: &str, sequence: i64) -> ClusterEvent {
    let serials = (0..8).map(|gpu| json!({ "index": gpu, "serial": format!("s{gpu}"), "uuid": "u", "pci": "p" }));
    ClusterEvent::Report(lenient(json!({
        "metadata": { "name": "n1", "managedFields": [{ "time": "1970-01-01T00:00:07Z" }] },
        "spec": {
            "nodeUid": uid, "bootId": boot, "sequence": sequence, "reportedAt": "2026-11-15T03:00:00Z",
            "agentVersion": "1", "inventory": {
                "board": "b", "product": "NVIDIA H100 80GB HBM3", "driver": "580", "kernel": "6",
                "gpus": serials.collect::<Vec<_>>(),
            },
        },
    })))
}

impl Harness {
    fn new() -> Self {
        Self::in_mode("Observe")
    }

    fn in_mode(mode: &str) -> Self {
        let mut world = World::under(Epoch(1), Capability::Observe);
        let cell = json!({ "metadata": { "name": "cell" }, "spec": { "mode": mode }, "status": { "epoch": 1 } });
        world.take(ClusterEvent::Cell(lenient(cell)), at(0)).unwrap();
        world.begin_reading();
        Self { world, engine: Engine::new() }
    }

    fn tell(&mut self, seconds: i64, news: impl IntoIterator<Item = ClusterEvent>) {
        for one in news {
            self.world.take(one, at(seconds)).unwrap();
        }
        for observation in self.world.flush(at(seconds)) {
            self.engine.observe(&observation);
        }
        self.engine.decide(at(seconds));
    }

    fn found(&self) -> Vec<String> {
        let name = NodeName::parse("n1").unwrap();
        self.engine.found(&name).iter().map(|finding| finding.rule.to_string()).collect()
    }
}

fn ready(status: &str) -> Value {
    json!([{ "type": "Ready", "status": status }])
}

fn with_condition(type_: &str, status: &str) -> Value {
    let moment = "2026-11-15T03:00:00Z";
    json!([{ "type": "Ready", "status": "True" }, { "type": type_, "status": status, "lastTransitionTime": moment }])
}

#[test]
fn a_condition_of_another_agent_counts_as_the_policy_maps_it_and_as_long_as_it_holds() {
    let mut fed = Harness::new();
    fed.tell(1, [node("u1", &with_condition("AcceleratedHardwareReady", "False")), report("u1", "b1", 1)]);
    assert!(fed.found().is_empty(), "nobody asked to follow it: {:?}", fed.found());
    let maps = json!({ "overrides": [{ "source": "External", "code": "AcceleratedHardwareReady", "rule": "gpu-off-the-bus" }] });
    fed.tell(2, [policy("h100", &maps)]);
    assert_eq!(fed.found(), ["gpu-off-the-bus"]);
    fed.tell(3, [node("u1", &with_condition("AcceleratedHardwareReady", "True"))]);
    assert!(fed.found().is_empty(), "{:?}", fed.found());
}

#[test]
fn of_two_policies_for_a_pool_the_first_by_name_stands_and_without_any_nothing_is_allowed() {
    let mut fed = Harness::new();
    let budgets = |most: u32| json!({ "mode": "Act", "budgets": [{ "nodesMax": most }] });
    let most = |fed: &Harness| fed.engine.budgets().first().map(|line| line.most);
    fed.tell(1, [node("u1", &ready("True")), policy("b", &budgets(2))]);
    assert_eq!(most(&fed), Some(2));
    fed.tell(2, [policy("a", &budgets(1))]);
    assert_eq!(most(&fed), Some(1));
    let gone = |name: &str| ClusterEvent::Policy(WatchEvent::Gone(Key { namespace: None, name: name.into() }));
    fed.tell(3, [gone("a")]);
    assert_eq!(most(&fed), Some(2));
    fed.tell(4, [gone("b")]);
    assert_eq!(most(&fed), None);
}

#[test]
fn a_node_that_is_registered_anew_waits_for_a_report_of_its_own() {
    let mut fed = Harness::new();
    let name = NodeName::parse("n1").unwrap();
    fed.tell(1, [node("u1", &ready("True")), report("u1", "b1", 1)]);
    assert_eq!(fed.engine.report(&name).map(|line| line.waiting_on), Some(WaitingOn::Nothing));
    let gone = ClusterEvent::Node(WatchEvent::Gone(Key { namespace: None, name: "n1".into() }));
    fed.tell(2, [gone]);
    assert_eq!(fed.engine.report(&name), None);
    fed.tell(3, [node("u2", &ready("True"))]);
    assert_eq!(fed.engine.report(&name).map(|line| line.waiting_on), Some(WaitingOn::Report));
    fed.tell(4, [report("u2", "b2", 1)]);
    assert_eq!(fed.engine.report(&name).map(|line| line.waiting_on), Some(WaitingOn::Nothing));
}

#[test]
fn a_node_that_is_not_ready_and_whose_agent_is_silent_is_lost_and_one_witness_is_not_enough() {
    let mut fed = Harness::new();
    let name = NodeName::parse("n1").unwrap();
    fed.tell(10, [node("u1", &ready("True")), report("u1", "b1", 1)]);
    fed.tell(11, [node("u1", &ready("Unknown"))]);
    assert_eq!(fed.engine.report(&name).map(|line| line.waiting_on), Some(WaitingOn::SecondSignal));
    fed.tell(10 + 16 * 60, []);
    let line = fed.engine.report(&name).unwrap();
    assert_eq!(line.stage, Stage::Suspect);
    assert_ne!(line.waiting_on, WaitingOn::SecondSignal, "the agent's silence is the second: {line:?}");
}

#[test]
fn a_report_that_was_there_before_us_arrived_when_the_server_wrote_it() {
    let mut world = World::under(Epoch(1), Capability::Observe);
    world.take(report("u1", "b1", 1), at(100)).unwrap();
    assert_eq!(world.flush(at(100)).iter().map(|one| one.at).collect::<Vec<_>>(), [at(7)]);
    world.take(ClusterEvent::Report(WatchEvent::Listed), at(100)).unwrap();
    world.take(report("u1", "b1", 2), at(101)).unwrap();
    assert_eq!(world.flush(at(101)).iter().map(|one| one.at).collect::<Vec<_>>(), [at(101)]);
}

#[test]
fn an_object_that_cannot_be_understood_is_counted_and_takes_nothing_with_it() {
    let mut world = World::under(Epoch(1), Capability::Observe);
    let broken = json!({ "metadata": { "name": "n1" }, "spec": { "nodeUid": 7 } });
    world.take(ClusterEvent::Report(lenient(broken.clone())), at(1)).unwrap();
    world
        .take(ClusterEvent::GpuNode(lenient(json!({ "metadata": { "name": "n1" }, "spec": {}, "status": 7 }))), at(1))
        .unwrap();
    world.take(ClusterEvent::Policy(lenient(broken)), at(1)).unwrap();
    assert!(world.flush(at(1)).is_empty());
    let unfit: u64 = world.unfit().map(|(_, count)| count).sum();
    assert_eq!(unfit, 3);
}

#[test]
fn a_newer_leader_and_an_older_cell_end_a_leadership_and_another_fabric_is_read_with() {
    let cell = |epoch: i64| {
        ClusterEvent::Cell(lenient(
            json!({ "metadata": { "name": "cell" }, "spec": { "mode": "Act" }, "status": { "epoch": epoch } }),
        ))
    };
    let mut world = World::under(Epoch(5), Capability::Observe);
    assert_eq!(world.take(cell(5), at(0)), Ok(()));
    assert_eq!(world.take(cell(6), at(0)), Err(EndEvent::Deposed(Epoch(6))));
    assert_eq!(world.take(cell(4), at(0)), Err(EndEvent::Restored(Epoch(4))));
    let fabric = |label: &str| {
        let spec = json!({ "levels": [{ "level": "Rack", "nodeLabel": label }], "rails": 8 });
        ClusterEvent::Fabric(lenient(json!({ "metadata": { "name": "hall" }, "spec": spec })))
    };
    assert_eq!(world.take(fabric("a"), at(0)), Ok(()));
    world.begin_reading();
    assert_eq!(world.take(fabric("a"), at(0)), Ok(()));
    assert!(matches!(world.take(fabric("b"), at(0)), Err(EndEvent::ReadAnew(_))));
}

#[test]
fn a_view_follows_every_leader_and_never_leads() {
    let mut world = World::of_view();
    for epoch in [5, 7, 4] {
        let cell = json!({ "metadata": { "name": "cell" }, "spec": { "mode": "Act" }, "status": { "epoch": epoch } });
        world.take(ClusterEvent::Cell(lenient(cell)), at(0)).unwrap();
        let facts = world.flush(at(0));
        let [Observation { fact: Fact::Cell(cell), .. }] = &facts[..] else { panic!("the Cell alone") };
        assert_eq!(cell.epoch, Epoch(0));
    }
}

#[test]
fn a_record_that_somebody_deleted_is_not_on_record_any_more() {
    let mut world = World::under(Epoch(1), Capability::Observe);
    let status = json!({
        "epoch": 1, "stage": "Suspect", "since": "2026-11-15T03:00:00Z", "waitingOn": "Mode", "message": "", "riskPpm": 0,
    });
    world
        .take(
            ClusterEvent::GpuNode(lenient(json!({ "metadata": { "name": "n1" }, "spec": {}, "status": status }))),
            at(1),
        )
        .unwrap();
    let name = NodeName::parse("n1").unwrap();
    assert_eq!(world.on_record(&name).map(|record| record.stage), Some(Stage::Suspect));
    world.take(ClusterEvent::GpuNode(WatchEvent::Gone(Key { namespace: None, name: "n1".into() })), at(2)).unwrap();
    assert_eq!(world.on_record(&name), None);
    let last = world.flush(at(2)).pop().unwrap().fact;
    assert!(matches!(last, Fact::RecordGone { node } if node == name));
}

#[test]
fn in_every_mode_a_faulty_node_is_only_suspected_and_a_stored_quarantine_is_none() {
    let maps = json!({
        "mode": "Act", "promotions": [{ "action": "Cordon", "mode": "Act" }], "budgets": [{ "nodesMax": 4 }],
        "overrides": [{ "source": "External", "code": "KernelDeadlock", "rule": "gpu-off-the-bus" }],
    });
    let stored = json!({
        "epoch": 1, "stage": "Quarantined", "since": "1970-01-01T00:00:01Z", "waitingOn": "Mode", "message": "",
        "riskPpm": 0,
    });
    let stored = json!({ "metadata": { "name": "n1" }, "spec": {}, "status": stored });
    let name = NodeName::parse("n1").unwrap();
    for mode in ["Observe", "Propose", "Act"] {
        for was_stored in [false, true] {
            let mut fed = Harness::in_mode(mode);
            fed.tell(1, was_stored.then(|| ClusterEvent::GpuNode(lenient(stored.clone()))));
            fed.tell(2, [policy("h100", &maps), node("u1", &ready("True")), report("u1", "b1", 1)]);
            assert_eq!(fed.engine.report(&name).map(|line| line.stage), Some(Stage::InService), "{mode} {was_stored}");
            fed.tell(3, [node("u1", &with_condition("KernelDeadlock", "True"))]);
            let line = fed.engine.report(&name).unwrap();
            assert_eq!((line.stage, line.waiting_on), (Stage::Suspect, WaitingOn::Mode), "{mode} {was_stored}");
            assert_eq!(fed.world.overstated().contains(&name), was_stored, "it is stored as it was");
        }
    }
}

#[test]
fn a_node_whose_gpus_are_offered_by_dra_alone_is_managed_until_it_is_deleted() {
    let device = |number: i64| {
        json!({ "name": format!("gpu-{number}"), "attributes": {
            "type": { "string": "gpu" }, "uuid": { "string": format!("GPU-{number}") },
        } })
    };
    let devices: Vec<Value> = (0..8).map(device).collect();
    let slice = json!({
        "metadata": { "name": "n1-gpu" },
        "spec": {
            "driver": "gpu.nvidia.com", "nodeName": "n1", "devices": devices,
            "pool": { "name": "n1", "generation": 1, "resourceSliceCount": 1 },
        },
    });
    let slice = || ClusterEvent::Slice(WatchEvent::Is(Box::new(serde_json::from_value(slice.clone()).unwrap())));
    let node = || {
        let object = json!({ "metadata": { "name": "n1", "uid": "u1" }, "status": { "conditions": ready("True") } });
        ClusterEvent::Node(WatchEvent::Is(Box::new(serde_json::from_value(object).unwrap())))
    };
    let key = |name: &str| Key { namespace: None, name: name.into() };
    let gpus = |world: &mut World| {
        let Fact::Node { facts, .. } = world.flush(at(9)).pop()?.fact else { return None };
        Some(facts.gpus)
    };
    let mut world = World::under(Epoch(1), Capability::Observe);
    world.take(node(), at(1)).unwrap();
    assert_eq!(gpus(&mut world), None, "it offers no GPUs");
    world.take(slice(), at(2)).unwrap();
    world.take(node(), at(3)).unwrap();
    assert_eq!(gpus(&mut world), Some(8));
    // The driver is replaced, and its slice is deleted for a moment.
    world.take(ClusterEvent::Slice(WatchEvent::Gone(key("n1-gpu"))), at(4)).unwrap();
    world.take(node(), at(5)).unwrap();
    assert_eq!(gpus(&mut world), Some(8));
    world.take(ClusterEvent::Node(WatchEvent::Gone(key("n1"))), at(6)).unwrap();
    assert!(matches!(world.flush(at(6)).pop().unwrap().fact, Fact::NodeGone { .. }));
    world.take(node(), at(7)).unwrap();
    assert_eq!(gpus(&mut world), None, "a new node with its name offers none yet");
}

/// A bookmark of a kind, as a watch sends it.
fn bookmark(kind: Kind) -> ClusterEvent {
    match kind {
        Kind::Cell => ClusterEvent::Cell(WatchEvent::Bookmark),
        Kind::Policy => ClusterEvent::Policy(WatchEvent::Bookmark),
        Kind::Fabric => ClusterEvent::Fabric(WatchEvent::Bookmark),
        Kind::Node => ClusterEvent::Node(WatchEvent::Bookmark),
        Kind::Pod => ClusterEvent::Pod(WatchEvent::Bookmark),
        Kind::Report => ClusterEvent::Report(WatchEvent::Bookmark),
        Kind::GpuNode => ClusterEvent::GpuNode(WatchEvent::Bookmark),
        Kind::Incident => ClusterEvent::Incident(WatchEvent::Bookmark),
        Kind::Checkpoint => ClusterEvent::Checkpoint(WatchEvent::Bookmark),
    }
}

#[test]
fn the_view_is_as_old_as_the_last_handled_message_of_the_oldest_kind_and_stays_so_during_a_new_list() {
    let mut world = World::under(Epoch(1), Capability::Observe);
    let hear = |world: &mut World, event: ClusterEvent, seconds: i64, phase: Phase| {
        world.receive(ClusterMessage { heard_at: at(seconds), phase, event }, at(99)).unwrap();
        world.as_of()
    };
    for kind in Kind::ALL.into_iter().filter(|kind| *kind != Kind::Node) {
        assert_eq!(hear(&mut world, bookmark(kind), 20, Phase::Following), None, "nodes are not listed yet");
    }
    let seen = || node("u1", &ready("True"));
    assert_eq!(hear(&mut world, seen(), 30, Phase::Listing), None);
    let listed = ClusterEvent::Node(WatchEvent::Listed);
    assert_eq!(hear(&mut world, listed, 10, Phase::Following), Some(at(10)));
    assert_eq!(hear(&mut world, bookmark(Kind::Node), 40, Phase::Following), Some(at(20)));
    for kind in Kind::ALL {
        hear(&mut world, bookmark(kind), 50, Phase::Following);
    }
    // The version expired, and nodes are listed again: other kinds go on, and the view gets old.
    hear(&mut world, bookmark(Kind::Pod), 60, Phase::Following);
    assert_eq!(hear(&mut world, seen(), 70, Phase::Listing), Some(at(50)));
    let slice = ClusterEvent::Slice(WatchEvent::Bookmark);
    assert_eq!(hear(&mut world, slice, 80, Phase::Following), Some(at(50)), "no decision waits for slices");
}

/// A Node with a field that no Node has.
fn broken_node(uid: &str) -> ClusterEvent {
    let labels = json!({ "mainstay.dev/pool": "h100", "nvidia.com/gpu.count": "8" });
    let metadata = json!({ "name": "n1", "uid": uid, "labels": labels });
    ClusterEvent::Node(lenient(json!({ "metadata": metadata, "spec": { "taints": 7 } })))
}

#[test]
fn a_node_that_cannot_be_read_keeps_its_facts_and_is_not_known_to_be_ready() {
    let mut world = World::under(Epoch(1), Capability::Observe);
    world.take(node("u1", &ready("True")), at(1)).unwrap();
    let facts = |world: &mut World| match world.flush(at(9)).pop().map(|last| last.fact) {
        Some(Fact::Node { facts, .. }) => Some(*facts),
        _ => None,
    };
    let known = facts(&mut world).unwrap();
    world.take(broken_node("u1"), at(2)).unwrap();
    assert_eq!(facts(&mut world), Some(NodeFacts { ready: Ready::Unknown, ..known.clone() }));
    assert_eq!(world.unreadable_nodes().len(), 1);
    assert_eq!(world.unfit().find(|(kind, _)| *kind == Kind::Node), Some((Kind::Node, 1)));
    world.take(node("u1", &ready("True")), at(3)).unwrap();
    assert_eq!(facts(&mut world), Some(known));
    assert!(world.unreadable_nodes().is_empty());
    // Under the same name another node was registered, and no facts of it are known.
    world.take(broken_node("u2"), at(4)).unwrap();
    assert!(matches!(world.flush(at(4)).pop().unwrap().fact, Fact::NodeGone { .. }));
    assert_eq!(world.unreadable_nodes().len(), 1);
}

#[test]
fn a_node_that_was_never_readable_has_no_facts_and_is_counted_and_named() {
    let mut world = World::under(Epoch(1), Capability::Observe);
    world.take(broken_node("u1"), at(1)).unwrap();
    assert!(world.flush(at(1)).is_empty());
    assert_eq!(world.unreadable_nodes().iter().map(NodeName::as_str).collect::<Vec<_>>(), ["n1"]);
    world.take(ClusterEvent::Node(WatchEvent::Gone(Key { namespace: None, name: "n1".into() })), at(2)).unwrap();
    assert!(world.unreadable_nodes().is_empty());
}

#[test]
fn a_node_with_a_pod_that_cannot_be_read_is_not_empty() {
    let mut world = World::under(Epoch(1), Capability::Observe);
    let metadata = json!({ "name": "p", "namespace": "a" });
    let pod = json!({ "metadata": metadata, "spec": { "nodeName": "n1", "containers": 7 } });
    world.take(ClusterEvent::Pod(lenient(pod)), at(1)).unwrap();
    let facts = world.flush(at(1));
    let [Observation { fact: Fact::Gang { gang, facts }, .. }] = &facts[..] else { panic!("{facts:?}") };
    assert_eq!(gang.to_string(), "a/pod/p");
    assert_eq!(facts.nodes.as_slice().iter().map(NodeName::as_str).collect::<Vec<_>>(), ["n1"]);
}

/// A world with this many registered nodes, led with epoch 5.
fn led_world(nodes: usize) -> World {
    let mut world = World::under(Epoch(5), Capability::Observe);
    for number in 0..nodes {
        let labels = json!({ "mainstay.dev/pool": "h100" });
        let object =
            json!({ "metadata": { "name": format!("n{number}"), "uid": format!("u{number}"), "labels": labels } });
        world.take(ClusterEvent::Node(lenient(object)), at(1)).unwrap();
    }
    world
}

/// A report that names the highest epoch which its agent has read.
fn names_epoch(number: usize, uid: &str, epoch: i64) -> ClusterEvent {
    ClusterEvent::Report(lenient(json!({
        "metadata": { "name": format!("n{number}") },
        "spec": {
            "nodeUid": uid, "bootId": "b", "sequence": 1, "reportedAt": "2026-11-15T03:00:00Z", "agentVersion": "1",
            "inventory": { "board": "b", "product": "NVIDIA H100 80GB HBM3", "driver": "580", "kernel": "6", "gpus": [] },
            "highestEpoch": epoch,
        },
    })))
}

#[test]
fn two_registered_nodes_that_name_a_higher_epoch_show_that_etcd_was_restored() {
    let mut world = led_world(3);
    let mut told = |number, uid: &str, epoch| {
        world.take(names_epoch(number, uid, epoch), at(2)).unwrap();
        world.reported_epoch()
    };
    assert_eq!(told(0, "u0", 5), None, "it names ours");
    assert_eq!(told(0, "u0", 900), None, "one node may lie");
    assert_eq!(told(1, "another", 7), None, "the report is of another registration");
    assert_eq!(told(9, "u9", 7), None, "the node is not registered");
    assert_eq!(told(1, "u1", 7), Some(Epoch(7)), "the second highest, which one node alone cannot choose");
    assert_eq!(told(1, "u1", 5), None);
}

#[test]
fn in_a_cell_of_two_nodes_one_report_is_enough() {
    let mut world = led_world(2);
    world.take(names_epoch(0, "u0", 7), at(2)).unwrap();
    assert_eq!(world.reported_epoch(), Some(Epoch(7)));
    let gone = ClusterEvent::Report(WatchEvent::Gone(Key { namespace: None, name: "n0".into() }));
    world.take(gone, at(3)).unwrap();
    assert_eq!(world.reported_epoch(), None);
}
