//! Capacity of the fleet for the HTTP API: allocation by pool, the queue for GPUs and the installed versions, each list
//! within its limit. It reads values only; the demo and a cluster collect them.

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use mainstay_api::http::{
    Capacity, GangRoom, GpuUse, INVENTORY_MAX, Inventory, InventoryLine, POOLS_MAX, PoolCapacity, QUEUES_MAX, QueueLine,
};
use mainstay_engine::{Engine, PoolLine};
use mainstay_model::NodeName;

use crate::snapshot::count;

/// Name of the row for all queues beyond the limit.
const OTHER: &str = "other";
/// What an agent writes for a version that it does not know.
const UNKNOWN: &str = "unknown";

/// GPUs that jobs hold and wait for.
#[derive(Debug, Clone, Default)]
pub struct Demand {
    /// Number of GPUs that jobs hold, by node.
    pub used: BTreeMap<NodeName, u16>,
    /// What waits for GPUs, one line per queue.
    pub queues: Vec<QueueLine>,
}

/// What is known about the GPUs of one node.
#[derive(Debug, Clone, Copy)]
pub struct InstalledNode<'a> {
    /// Number of GPUs that the node has, by Kubernetes.
    pub gpus: u16,
    /// Inventory in the latest report of its agent.
    pub inventory: Option<&'a mainstay_model::Inventory>,
    /// Firmware version of its GPUs, where its agent reports it.
    pub firmware: Option<&'a str>,
}

/// Capacity of the fleet. Without `demand`, pods cannot be read; without `inventory`, agent reports cannot be read.
#[must_use]
pub fn capacity(engine: &Engine, demand: Option<Demand>, inventory: Option<Inventory>) -> Capacity {
    let nothing = BTreeMap::new();
    let used = demand.as_ref().map(|demand| &demand.used);
    let is_known = used.is_some();
    let mut lines = engine.pools(used.unwrap_or(&nothing));
    let total = lines.iter().fold(GpuUse::default(), |sum, line| plus(sum, gpu_use(line, is_known)));
    lines.sort_by_key(|line| Reverse(line.gpus));
    let mut rooms: BTreeMap<String, Vec<GangRoom>> = BTreeMap::new();
    for line in used.map(|used| engine.room(used)).unwrap_or_default() {
        let room = GangRoom { level: line.level, gpus: line.gpus };
        rooms.entry(line.pool.to_string()).or_default().push(room);
    }
    let pools = lines.iter().take(POOLS_MAX).map(|line| {
        let mut largest = rooms.remove(line.pool.as_str()).unwrap_or_default();
        // The whole pool is wider than any of its domains.
        largest.sort_by_key(|room| (room.level.is_some(), Reverse(room.level)));
        PoolCapacity {
            pool: line.pool.to_string(),
            gpu_use: gpu_use(line, is_known),
            largest_gangs: is_known.then_some(largest),
        }
    });
    Capacity {
        total,
        pools: pools.collect(),
        pools_omitted: count(lines.len().saturating_sub(POOLS_MAX)),
        queues: demand.map(|demand| queues(demand.queues)),
        inventory,
    }
}

fn gpu_use(line: &PoolLine, is_known: bool) -> GpuUse {
    let known = |gpus: u32| is_known.then_some(gpus);
    GpuUse {
        nodes: line.nodes,
        gpus: line.gpus,
        allocated: known(line.allocated),
        free: known(line.free),
        held_back: known(line.held_back),
        out_of_service: line.out,
        out_of_service_allocated: known(line.out_allocated),
    }
}

fn plus(a: GpuUse, b: GpuUse) -> GpuUse {
    // The first addend is the start value, in which nothing is known yet.
    let known = |a: Option<u32>, b: Option<u32>| b.map(|b| b + a.unwrap_or(0));
    GpuUse {
        nodes: a.nodes + b.nodes,
        gpus: a.gpus + b.gpus,
        allocated: known(a.allocated, b.allocated),
        free: known(a.free, b.free),
        held_back: known(a.held_back, b.held_back),
        out_of_service: a.out_of_service + b.out_of_service,
        out_of_service_allocated: known(a.out_of_service_allocated, b.out_of_service_allocated),
    }
}

/// The queues that want the most GPUs. The rest shares one row.
fn queues(mut lines: Vec<QueueLine>) -> Vec<QueueLine> {
    lines.sort_by(|a, b| (b.gpus, &a.queue).cmp(&(a.gpus, &b.queue)));
    if lines.len() <= QUEUES_MAX {
        return lines;
    }
    let (mut rest, mut own): (Vec<_>, Vec<_>) = lines.into_iter().partition(|line| line.queue == OTHER);
    rest.extend(own.drain((QUEUES_MAX - 1).min(own.len())..));
    let other = rest.into_iter().reduce(|a, b| QueueLine {
        queue: OTHER.to_owned(),
        jobs: a.jobs + b.jobs,
        pods: a.pods.zip(b.pods).map(|(a, b)| a + b),
        gpus: a.gpus + b.gpus,
        waiting_since: a.waiting_since.min(b.waiting_since),
    });
    own.extend(other.map(|line| QueueLine { queue: OTHER.to_owned(), ..line }));
    own
}

/// Counts GPUs by model, driver and firmware.
pub fn inventory<'a>(nodes: impl Iterator<Item = InstalledNode<'a>>) -> Inventory {
    let mut rows: BTreeMap<[Option<&str>; 3], u32> = BTreeMap::new();
    let mut unlisted = 0_u32;
    for node in nodes {
        let listed = node.inventory.map_or(0, |inventory| count(inventory.gpus.as_slice().len()));
        unlisted += u32::from(node.gpus).saturating_sub(listed);
        if let Some(inventory) = node.inventory.filter(|_| listed > 0) {
            let known = |text: &'a str| Some(text).filter(|text| *text != UNKNOWN);
            let (model, driver) = (known(inventory.product.as_str()), known(inventory.driver.as_str()));
            *rows.entry([model, driver, node.firmware.and_then(known)]).or_default() += listed;
        }
    }
    let mut drivers: BTreeMap<Option<&str>, BTreeSet<&str>> = BTreeMap::new();
    for [model, driver, _] in rows.keys() {
        drivers.entry(*model).or_default().extend(driver);
    }
    let mut most: Vec<_> = rows.into_iter().collect();
    most.sort_by_key(|(_, gpus)| Reverse(*gpus));
    let omitted_gpus = most.split_off(INVENTORY_MAX.min(most.len())).iter().map(|(_, gpus)| gpus).sum();
    // Rows of one model are next to each other; a model that no agent knows comes last.
    most.sort_by_key(|([model, ..], gpus)| (model.is_none(), *model, Reverse(*gpus)));
    let row = |([model, driver, firmware], gpus): ([Option<&str>; 3], u32)| InventoryLine {
        model: model.map(ToOwned::to_owned),
        driver: driver.map(ToOwned::to_owned),
        firmware: firmware.map(ToOwned::to_owned),
        gpus,
        drivers_of_model: drivers.get(&model).map_or(0, |drivers| count(drivers.len())),
    };
    Inventory { rows: most.into_iter().map(row).collect(), omitted_gpus, unlisted_gpus: unlisted }
}
