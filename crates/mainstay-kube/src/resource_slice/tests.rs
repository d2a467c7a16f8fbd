use serde_json::{Value, json};

use super::*;

fn gpu(number: u32) -> Value {
    json!({ "name": format!("gpu-{number}"), "attributes": {
        "type": { "string": "gpu" }, "uuid": { "string": format!("GPU-{number}") }, "index": { "int": number },
        "driverVersion": { "version": "580.82.7" }, "addressingMode": { "bool": true },
    } })
}

fn mig(gpu: u32, instance: u32) -> Value {
    json!({ "name": format!("gpu-{gpu}-mig-{instance}"), "attributes": {
        "type": { "string": "mig" }, "uuid": { "string": format!("MIG-{gpu}-{instance}") },
        "parentUUID": { "string": format!("GPU-{gpu}") }, "parentIndex": { "int": gpu },
    } })
}

fn slice(name: &str, node: &str, generation: i64, devices: &[Value]) -> PartialSlice {
    let object = json!({
        "metadata": { "name": name },
        "spec": {
            "driver": "gpu.nvidia.com", "nodeName": node, "devices": devices,
            "pool": { "name": node, "generation": generation, "resourceSliceCount": 1 },
        },
    });
    serde_json::from_value(object).unwrap()
}

fn counted(slices: &[PartialSlice]) -> u16 {
    let mut known = ResourceSlices::default();
    slices.iter().for_each(|slice| known.is(slice));
    known.gpus("n1")
}

#[test]
fn whole_gpus_are_counted_over_all_slices_of_a_node() {
    let (low, high): (Vec<Value>, Vec<Value>) = ((0..4).map(gpu).collect(), (4..8).map(gpu).collect());
    assert_eq!(counted(&[slice("a", "n1", 1, &low), slice("b", "n1", 1, &high)]), 8);
    assert_eq!(counted(&[slice("a", "n1", 1, &low), slice("b", "n2", 1, &high)]), 4);
    assert_eq!(counted(&[]), 0);
}

#[test]
fn mig_devices_count_as_the_gpu_that_they_are_part_of() {
    let split: Vec<Value> = (0..2).flat_map(|gpu| (0..7).map(move |instance| mig(gpu, instance))).collect();
    assert_eq!(counted(&[slice("a", "n1", 1, &split)]), 2);
    // The driver can offer a GPU both whole and in parts.
    let both: Vec<Value> = split.iter().cloned().chain([gpu(0), gpu(2)]).collect();
    assert_eq!(counted(&[slice("a", "n1", 1, &both)]), 3);
}

#[test]
fn a_gpu_without_a_uuid_is_known_by_its_index_or_its_name() {
    let mut by_index = mig(3, 0);
    by_index["attributes"].as_object_mut().unwrap().remove("parentUUID");
    let mut same = mig(3, 1);
    same["attributes"].as_object_mut().unwrap().remove("parentUUID");
    assert_eq!(counted(&[slice("a", "n1", 1, &[by_index, same])]), 1);
    let named = |name: &str| json!({ "name": name, "attributes": { "gpu.nvidia.com/type": { "string": "gpu" } } });
    assert_eq!(counted(&[slice("a", "n1", 1, &[named("gpu-0"), named("gpu-1")])]), 2);
}

#[test]
fn other_devices_and_other_drivers_are_no_gpus_of_the_node() {
    let other = json!({ "name": "vfio-0", "attributes": { "type": { "string": "vfio" }, "uuid": { "string": "v" } } });
    let untyped = json!({ "name": "gpu-1" });
    assert_eq!(counted(&[slice("a", "n1", 1, &[gpu(0), other, untyped])]), 1);
    let mut foreign = slice("b", "n1", 1, &[gpu(1)]);
    foreign.spec.driver = "compute-domain.nvidia.com".to_owned();
    assert_eq!(counted(&[foreign]), 0);
    assert_eq!(counted(&[slice("c", "", 1, &[gpu(1)])]), 0, "it belongs to no single node");
}

#[test]
fn slices_of_an_older_generation_are_not_counted() {
    let (old, new) = (slice("a", "n1", 1, &[gpu(0), gpu(1)]), slice("b", "n1", 2, &[gpu(0)]));
    assert_eq!(counted(&[old.clone(), new.clone()]), 1);
    assert_eq!(counted(&[new, old]), 1);
}

#[test]
fn the_count_survives_a_restart_of_the_driver_and_ends_with_the_node() {
    let node = NodeName::parse("n1").unwrap();
    let mut known = ResourceSlices::default();
    known.is(&slice("a", "n1", 1, &[gpu(0), gpu(1)]));
    known.gone("a", |_| true);
    assert_eq!(known.gpus("n1"), 2, "the driver is being replaced");
    known.is(&slice("a", "n1", 2, &[gpu(0)]));
    assert_eq!(known.gpus("n1"), 1, "the new driver offers fewer");
    known.node_gone(&node);
    assert_eq!(known.gpus("n1"), 0);
    // The slices of a deleted node are deleted after it.
    known.is(&slice("a", "n1", 3, &[gpu(0)]));
    known.gone("a", |_| false);
    assert_eq!(known.gpus("n1"), 0);
    assert!(known.slices.is_empty() && known.by_node.is_empty() && known.counts.is_empty());
}

#[test]
fn a_node_has_a_limited_number_of_slices() {
    let many: Vec<PartialSlice> = (0..200).map(|one| slice(&format!("s{one}"), "n1", 1, &[gpu(one)])).collect();
    assert_eq!(usize::from(counted(&many)), SLICES_MAX);
}
