use mainstay_model::{
    Bounded, Fact, Gpu, Inventory as Listed, Level, NodeFacts, Observation, PlannedWork, Product, Ready, Schedulable,
    Serial, Timestamp, Version,
};

use super::*;

/// Nodes of eight GPUs in two pools: `train` has two nodes in one rack, `eval` has one that is not ready.
fn engine() -> Engine {
    let mut engine = Engine::new();
    for (name, pool, ready) in [("n1", "train", Ready::Yes), ("n2", "train", Ready::Yes), ("n3", "eval", Ready::No)] {
        let domains = [(Level::Rack, "r1".parse().unwrap()), (Level::Leaf, "l1".parse().unwrap())].into();
        let (uid, pool) = ("u".parse().unwrap(), pool.parse().unwrap());
        let schedulable = Schedulable::Yes;
        let facts = NodeFacts {
            uid,
            domains,
            pool,
            gpus: 8,
            ready,
            schedulable,
            planned: PlannedWork::Nothing,
            avoided: false,
            power: mainstay_model::Power::Unknown,
        };
        let fact = Fact::Node { node: name.parse().unwrap(), facts: Box::new(facts) };
        engine.observe(&Observation { at: Timestamp(0), fact });
    }
    let _ = engine.decide(Timestamp(1));
    engine
}

fn queue(name: &str, gpus: u32, waiting_since: i64) -> QueueLine {
    QueueLine { queue: name.to_owned(), jobs: 1, pods: Some(2), gpus, waiting_since }
}

#[test]
fn pools_come_largest_first_and_add_up_to_the_total() {
    let demand = Demand { used: [("n1".parse().unwrap(), 8)].into(), queues: Vec::new() };
    let all = capacity(&engine(), Some(demand), None);
    let names: Vec<_> = all.pools.iter().map(|pool| (pool.pool.as_str(), pool.gpu_use.gpus)).collect();
    assert_eq!((names, all.pools_omitted), (vec![("train", 16), ("eval", 8)], 0));
    assert_eq!((all.total.nodes, all.total.gpus, all.total.out_of_service), (3, 24, 8));
    assert_eq!((all.total.allocated, all.total.free, all.total.held_back), (Some(8), Some(8), Some(0)));
    let train = all.pools[0].largest_gangs.as_ref().unwrap();
    let rooms: Vec<_> = train.iter().map(|room| (room.level, room.gpus)).collect();
    assert_eq!(rooms, [(None, 8), (Some(Level::Leaf), 8), (Some(Level::Rack), 8)], "widest first");
}

#[test]
fn without_pods_only_what_nodes_tell_is_known() {
    let all = capacity(&engine(), None, None);
    assert_eq!((all.total.gpus, all.total.out_of_service), (24, 8));
    assert_eq!((all.total.allocated, all.total.free, all.total.held_back), (None, None, None));
    assert_eq!(all.total.out_of_service_allocated, None);
    assert!(all.pools.iter().all(|pool| pool.largest_gangs.is_none() && pool.gpu_use.free.is_none()));
    assert!(all.queues.is_none() && all.inventory.is_none());
}

#[test]
fn queues_beyond_the_limit_share_one_row_and_no_gpu_is_left_out() {
    let few = queues(vec![queue("b", 8, 5), queue("a", 8, 7), queue("c", 16, 9)]);
    assert_eq!(few.iter().map(|line| line.queue.as_str()).collect::<Vec<_>>(), ["c", "a", "b"]);
    let many = (0..200).map(|number| queue(&format!("q{number:03}"), number, i64::from(number)));
    let lines = queues(many.chain([queue(OTHER, 1_000, 500)]).collect());
    assert_eq!(lines.len(), QUEUES_MAX);
    assert_eq!(lines.iter().map(|line| line.gpus).sum::<u32>(), 200 * 199 / 2 + 1_000);
    assert_eq!(lines[0].queue, "q199");
    let other = lines.last().unwrap();
    assert_eq!((other.queue.as_str(), other.jobs, other.pods), (OTHER, 137, Some(274)));
    assert_eq!(other.waiting_since, 0, "the longest wait of the row");
}

fn listed(model: &str, driver: &str, gpus: u8) -> Listed {
    let gpu = |index: u8| Gpu {
        index: index.into(),
        serial: Serial::parse(&format!("s{index}")).unwrap(),
        uuid: format!("GPU-{index}").parse().unwrap(),
        pci: format!("0000:0{index}:00.0").parse().unwrap(),
    };
    Listed {
        board: Serial::parse("board").unwrap(),
        product: Product::parse(model).unwrap(),
        driver: Version::parse(driver).unwrap(),
        gpus: Bounded::try_from((0..gpus).map(gpu).collect::<Vec<_>>()).unwrap(),
        gpus_unavailable: None,
        nics: Bounded::new(),
    }
}

#[test]
fn a_model_with_two_drivers_is_counted_as_such() {
    let (old, new, other) = (listed("H100", "580.1", 8), listed("H100", "580.2", 8), listed("B200", "580.2", 4));
    let node = |inventory, firmware| InstalledNode { gpus: 8, inventory, firmware };
    let all = inventory(
        [node(Some(&old), Some("96")), node(Some(&new), Some("96")), node(Some(&new), None), node(Some(&new), None)]
            .into_iter()
            .chain([node(Some(&other), Some("97")), node(None, None)]),
    );
    let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let rows = all.rows.iter().map(|row| {
        let [model, driver, firmware] = [&row.model, &row.driver, &row.firmware].map(text);
        format!("{model} {driver} {firmware} {} of {}", row.gpus, row.drivers_of_model)
    });
    assert_eq!(
        rows.collect::<Vec<_>>(),
        ["B200 580.2 97 4 of 1", "H100 580.2 - 16 of 2", "H100 580.1 96 8 of 2", "H100 580.2 96 8 of 2"]
    );
    // Four GPUs that the agent of a node does not list, and eight of a node without a report.
    assert_eq!((all.unlisted_gpus, all.omitted_gpus), (12, 0));
}

#[test]
fn an_unknown_version_is_null_and_is_no_second_driver() {
    let (known, unknown) = (listed("H100", "580.1", 8), listed("H100", "unknown", 8));
    let node = |listed| InstalledNode { gpus: 8, inventory: Some(listed), firmware: Some("unknown") };
    let all = inventory([node(&known), node(&unknown)].into_iter());
    assert!(all.rows.iter().all(|row| row.firmware.is_none() && row.drivers_of_model == 1), "{all:?}");
    assert!(all.rows.iter().any(|row| row.driver.is_none()), "{all:?}");
}

#[test]
fn rare_versions_are_left_out_and_their_gpus_are_counted() {
    let nodes: Vec<Listed> = (0..200).map(|number| listed("H100", &format!("580.{number}"), 1)).collect();
    let node = |listed| InstalledNode { gpus: 1, inventory: Some(listed), firmware: None };
    let all = inventory(nodes.iter().map(node));
    assert_eq!((all.rows.len(), all.omitted_gpus), (INVENTORY_MAX, 72));
    assert!(all.rows.iter().all(|row| row.drivers_of_model == 200), "drivers that are not listed count too");
}
