use std::collections::{BTreeMap, BTreeSet};

use super::*;

/// Kubernetes' rule for label values: at most 63 of [A-Za-z0-9._-], beginning and ending with a letter or digit.
fn valid_label_value(value: &str) -> bool {
    let edge = |c: Option<char>| c.is_none_or(|c| c.is_ascii_alphanumeric());
    value.len() <= 63
        && value.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
        && edge(value.chars().next())
        && edge(value.chars().last())
}

fn sizes<K: Ord>(fleet: &Fleet, key: impl Fn(&FleetNode<'_>) -> K) -> BTreeMap<K, usize> {
    fleet.nodes().fold(BTreeMap::new(), |mut counts, node| {
        *counts.entry(key(&node)).or_default() += 1;
        counts
    })
}

#[test]
fn the_same_seed_gives_the_same_fleet_and_another_seed_another() {
    let objects = |seed| Fleet::new(500, 8, seed).nodes().map(|node| node.object().unwrap()).collect::<Vec<_>>();
    assert_eq!(objects(7), objects(7));
    assert_ne!(objects(7), objects(8));
}

#[test]
fn a_larger_fleet_begins_with_the_smaller_one() {
    let large = Fleet::new(400, 8, 3);
    let small = Fleet::new(100, 8, 3);
    let names = |fleet: &Fleet| fleet.nodes().take(100).map(|node| node.labels()).collect::<Vec<_>>();
    assert_eq!(names(&large), names(&small));
}

#[test]
fn a_hundred_thousand_nodes_have_distinct_names_and_addresses() {
    let fleet = Fleet::new(100_000, 8, 1);
    let mut names = BTreeSet::new();
    let mut addresses = BTreeSet::new();
    for node in fleet.nodes() {
        assert!(names.insert(node.name.clone()), "{} twice", node.name);
        if node.ordinal % 100 == 0 {
            let object = node.object().unwrap();
            let address = object.status.unwrap().addresses.unwrap()[0].address.clone();
            assert!(addresses.insert(address.clone()), "{address} twice");
        }
    }
    assert_eq!((names.len(), addresses.len()), (100_000, 1_000));
}

#[test]
fn every_node_has_its_place_at_every_level_in_valid_labels() {
    for gpus in [4, 8] {
        for node in Fleet::new(2_000, gpus, 42).named("t1").nodes() {
            let labels = node.labels();
            for level in labels::LEVELS {
                assert!(labels.get(level).is_some_and(|value| !value.is_empty()), "{} has no {level}", node.name);
            }
            for (key, value) in &labels {
                assert!(valid_label_value(value), "{}: {key}={value}", node.name);
            }
        }
    }
}

#[test]
fn levels_nest_and_are_never_fuller_than_the_shape_allows() {
    for gpus in [4, 8] {
        let fleet = Fleet::new(5_000, gpus, 9);
        let shape = fleet.shape();
        let most = |counts: BTreeMap<String, usize>| u64::try_from(*counts.values().max().unwrap()).unwrap();
        let rack = shape.nodes_per_rack;
        assert!(most(sizes(&fleet, |node| node.rack.clone())) <= rack);
        assert!(most(sizes(&fleet, |node| node.pdu.clone())) <= rack * shape.racks_per_pdu);
        assert!(most(sizes(&fleet, |node| node.leaf.clone())) <= rack * shape.racks_per_leaf);
        let mut parents = BTreeMap::new();
        for node in fleet.nodes() {
            let path = (node.pdu.clone(), node.leaf.clone(), node.spine.clone());
            assert_eq!(*parents.entry(node.rack.clone()).or_insert_with(|| path.clone()), path, "rack {}", node.rack);
        }
    }
}

#[test]
fn nvlink_reaches_over_the_rack_with_four_gpus_and_over_the_node_with_eight() {
    let domains = |gpus| sizes(&Fleet::new(1_000, gpus, 5), |node| node.nvlink_domain.clone());
    assert!(domains(8).values().all(|&nodes| nodes == 1));
    assert_eq!(*domains(4).values().max().unwrap(), 18);
}

#[test]
fn some_racks_have_a_gap_and_some_nodes_the_next_driver() {
    let fleet = Fleet::new(10_000, 8, 1);
    let racks = sizes(&fleet, |node| node.rack.clone());
    let gaps = racks.values().filter(|&&nodes| nodes == 3).count();
    assert!((100..=220).contains(&gaps), "{gaps} of {} racks", racks.len());
    let drivers = sizes(&fleet, |node| node.labels()["nvidia.com/cuda.driver-version.full"].clone());
    assert_eq!(drivers.len(), 2, "{drivers:?}");
    let pools = sizes(&fleet, |node| node.pool);
    assert_eq!(pools.len(), 2, "{pools:?}");
}

#[test]
fn a_node_offers_its_gpus() {
    let fleet = Fleet::new(1, 8, 0);
    let object = fleet.nodes().next().unwrap().object().unwrap();
    let status = object.status.unwrap();
    assert_eq!(status.capacity.unwrap()[labels::GPU_RESOURCE].0, "8");
    assert_eq!(status.allocatable.unwrap()[labels::GPU_RESOURCE].0, "8");
    assert!(status.conditions.is_none(), "a node that nobody runs would look ready");
}
