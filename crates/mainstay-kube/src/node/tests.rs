use serde_json::{Value, json};

use super::*;

fn node(change: impl FnOnce(&mut Value)) -> PartialNode {
    let mut node = json!({
        "metadata": {
            "name": "n1", "uid": "u1",
            "labels": { "mainstay.dev/pool": "h100", "nvidia.com/gpu.count": "8", "mainstay.dev/rack": "r1" },
        },
        "spec": {},
        "status": {
            "capacity": { "nvidia.com/gpu": "7", "cpu": "208" },
            "conditions": [{ "type": "Ready", "status": "True" }, { "type": "MemoryPressure", "status": "False" }],
        },
    });
    change(&mut node);
    serde_json::from_value(node).unwrap()
}

fn read_ours(node: &PartialNode) -> ManagedNode {
    let fabric = json!({ "levels": [{ "level": "Rack", "nodeLabel": "mainstay.dev/rack" }], "rails": 8 });
    let fabric: mainstay_api::FabricSpec = serde_json::from_value(fabric).unwrap();
    let fabrics = [("hall".to_owned(), Topology::try_from(&fabric).unwrap())].into();
    match read(node, &fabrics, 0, Capability::Observe) {
        ReadResult::Ours(read) => *read,
        other @ (ReadResult::NotOurs | ReadResult::Unfit(_)) => panic!("{other:?}"),
    }
}

#[test]
fn shared_gpus_are_not_taken_for_missing_ones() {
    let gpus = |change: fn(&mut Value)| read_ours(&node(change)).facts.gpus;
    assert_eq!(gpus(|_| {}), 8);
    // 8 GPUs with 7 instances each are offered as 56: how many GPUs there are is not known.
    let mig: fn(&mut Value) = |node| {
        node["metadata"]["labels"] =
            json!({ "nvidia.com/gpu.count": "56", "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb" });
        node["status"]["capacity"] = json!({ "nvidia.com/gpu": "56" });
    };
    assert_eq!(gpus(mig), 0);
    let mixed: fn(&mut Value) = |node| {
        node["metadata"]["labels"] = json!({});
        node["status"]["capacity"] = json!({ "nvidia.com/mig-1g.10gb": "56" });
    };
    assert_eq!(gpus(mixed), 0);
    let sliced: fn(&mut Value) = |node| {
        node["metadata"]["labels"]["nvidia.com/gpu.replicas"] = json!("4");
        node["status"]["capacity"] = json!({ "nvidia.com/gpu": "32" });
    };
    assert_eq!(gpus(sliced), 8);
}

#[test]
fn a_calm_node_is_ready_schedulable_in_its_place_and_should_have_the_gpus_it_came_up_with() {
    let ManagedNode { name, facts, others } = read_ours(&node(|_| ()));
    assert_eq!((name.as_str(), facts.pool.as_str(), facts.gpus), ("n1", "h100", 8));
    assert_eq!((facts.ready, facts.schedulable, facts.planned), (Ready::Yes, Schedulable::Yes, PlannedWork::Nothing));
    assert_eq!(facts.domains[&Level::Rack].as_str(), "r1");
    assert_eq!(others, OtherActors { placed: 1, ..OtherActors::default() });
}

#[test]
fn a_machine_without_gpus_is_not_ours_and_one_without_a_pool_is_in_the_unnamed_one() {
    let cpu = node(|node| {
        node["metadata"]["labels"] = json!({});
        node["status"]["capacity"] = json!({ "cpu": "64" });
    });
    assert_eq!(read(&cpu, &BTreeMap::new(), 0, Capability::Observe), ReadResult::NotOurs);
    let lost = node(|node| node["metadata"]["labels"] = json!({}));
    assert_eq!(read_ours(&lost).facts.pool.as_str(), "unnamed");
}

#[test]
fn a_cordon_is_named_by_whoever_set_it() {
    let cordoned = read_ours(&node(|node| {
        node["spec"]["unschedulable"] = json!(true);
        node["metadata"]["managedFields"] = json!([
            { "manager": "kubelet", "fieldsV1": { "f:status": {} } },
            { "manager": "kubectl-cordon", "fieldsV1": { "f:spec": { "f:unschedulable": {} } } },
        ]);
    }));
    assert_eq!(cordoned.facts.schedulable, Schedulable::NotByOthers);
    assert_eq!(cordoned.others.kept_away.as_deref(), Some("kubectl-cordon"));
}

#[test]
fn a_build_that_only_observes_has_no_taint_of_its_own_and_a_pool_s_usual_taint_says_nothing() {
    let taints = |key: &str| json!([{ "key": key, "effect": "NoSchedule" }]);
    let ours = read_ours(&node(|node| node["spec"] = json!({ "taints": taints(mainstay_api::TAINT) })));
    assert_eq!(ours.facts.schedulable, Schedulable::NotByOthers, "this build never sets it");
    assert_eq!(ours.others.kept_away.as_deref(), Some(mainstay_api::TAINT));
    let usual = read_ours(&node(|node| node["spec"] = json!({ "taints": taints("nvidia.com/gpu") })));
    assert_eq!((usual.facts.schedulable, &*usual.others.taints), (Schedulable::Yes, &["nvidia.com/gpu".into()][..]));
    let leaving = read_ours(&node(|node| node["spec"] = json!({ "taints": taints("karpenter.sh/disrupted") })));
    assert_eq!(leaving.facts.schedulable, Schedulable::NotByOthers);
    assert_eq!(leaving.others.kept_away.as_deref(), Some("karpenter"));
}

#[test]
fn another_remediator_is_known_by_its_marks() {
    let node = read_ours(&node(|node| {
        node["metadata"]["labels"]["dgxc.nvidia.com/nvsentinel-state"] = json!("draining");
        node["spec"]["unschedulable"] = json!(true);
    }));
    assert_eq!(node.others.remediator, Some("nvsentinel"));
    assert_eq!(node.others.kept_away.as_deref(), Some("nvsentinel"));
}

#[test]
fn other_agents_complain_with_conditions_that_are_true_or_with_readiness_that_is_not() {
    let node = read_ours(&node(|node| {
        node["status"]["conditions"] = json!([
            { "type": "Ready", "status": "Unknown" },
            { "type": "KernelDeadlock", "status": "True", "lastTransitionTime": "2026-11-15T03:00:00Z" },
            { "type": "ReadonlyFilesystem", "status": "False" },
            { "type": "AcceleratedHardwareReady", "status": "False", "lastTransitionTime": "2026-11-15T03:00:00Z" },
            { "type": "StorageReady", "status": "True" },
        ]);
    }));
    let codes: Vec<&str> = node.others.complaints.as_slice().iter().map(|complaint| complaint.code.as_str()).collect();
    assert_eq!(codes, ["AcceleratedHardwareReady", "KernelDeadlock"]);
    assert_eq!(node.facts.ready, Ready::Unknown);
}

#[test]
fn a_driver_upgrade_of_the_gpu_operator_is_planned_work_while_it_has_the_node() {
    let state = |state: &str| {
        read_ours(&node(|node| node["metadata"]["labels"]["nvidia.com/gpu-driver-upgrade-state"] = json!(state)))
            .facts
            .planned
    };
    assert_eq!(state("drain-required"), PlannedWork::Upgrade);
    assert_eq!(state("upgrade-done"), PlannedWork::Nothing);
    assert_eq!(state("upgrade-failed"), PlannedWork::Nothing);
}

#[test]
fn a_node_without_the_gpu_resource_has_the_gpus_of_its_resource_slices() {
    let dra = node(|node| {
        node["metadata"]["labels"] = json!({});
        node["status"]["capacity"] = json!({ "cpu": "208", "nvidia.com/gpu": "0" });
        node["status"]["allocatable"] = json!({ "cpu": "208", "nvidia.com/gpu": "0" });
    });
    let gpus = |by_dra| match read(&dra, &BTreeMap::new(), by_dra, Capability::Observe) {
        ReadResult::Ours(read) => Some(read.facts.gpus),
        ReadResult::NotOurs | ReadResult::Unfit(_) => None,
    };
    assert_eq!((gpus(0), gpus(8), gpus(200)), (None, Some(8), Some(GPUS_MAX)));
    assert_eq!((offered(&dra, 0), offered(&dra, 8)), (Some(0), Some(8)));
    // Both at once, as while a cluster moves to DRA: the device plugin's number counts.
    let both = node(|node| node["status"]["allocatable"] = json!({ "nvidia.com/gpu": "7" }));
    let ReadResult::Ours(read) = read(&both, &BTreeMap::new(), 2, Capability::Observe) else { panic!("it has GPUs") };
    assert_eq!((read.facts.gpus, offered(&both, 2)), (8, Some(7)));
}
