//! Capacity of the fleet: allocation of GPUs by pool, what waits for GPUs, and which versions are installed.

use mainstay_model::Level;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Largest number of pools in [`Capacity::pools`].
pub const POOLS_MAX: usize = 64;
/// Largest number of queues in [`Capacity::queues`].
pub const QUEUES_MAX: usize = 65;
/// Largest number of rows in [`Inventory::rows`].
pub const INVENTORY_MAX: usize = 128;

/// Allocation of GPUs, the queue for GPUs, and the installed versions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Capacity {
    /// GPUs of all pools together, pools that are not listed included.
    pub total: GpuUse,
    /// Pools with the most GPUs, largest first, at most 64.
    pub pools: Vec<PoolCapacity>,
    /// Number of further pools, which are not listed.
    pub pools_omitted: u32,
    /// What waits for GPUs by queue, most GPUs first, at most 65. Further queues share the row `other`. Null where pods
    /// cannot be read.
    pub queues: Option<Vec<QueueLine>>,
    /// Versions that agents report. Null where agent reports cannot be read.
    pub inventory: Option<Inventory>,
}

/// GPUs by availability. Allocated, free, held back and out of service add up to all GPUs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GpuUse {
    /// Number of nodes.
    pub nodes: u32,
    /// Number of GPUs.
    pub gpus: u32,
    /// GPUs that jobs hold, on nodes in service: what running pods request, not how busy a GPU is. Null where pods cannot
    /// be read.
    pub allocated: Option<u32>,
    /// GPUs that no job holds, on nodes that take new jobs. Null where pods cannot be read.
    pub free: Option<u32>,
    /// GPUs that no job holds, on nodes in service that Mainstay does not count as free: suspect, starting, or cordoned by
    /// another actor. Null where pods cannot be read.
    pub held_back: Option<u32>,
    /// GPUs of nodes that are out of service or that Kubernetes does not see as ready.
    pub out_of_service: u32,
    /// GPUs among `outOfService` that jobs still hold. Null where pods cannot be read.
    pub out_of_service_allocated: Option<u32>,
}

/// GPUs of one pool, and the largest gangs that fit into it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PoolCapacity {
    /// Name of the pool.
    pub pool: String,
    /// GPUs of the pool by availability.
    #[serde(flatten)]
    pub gpu_use: GpuUse,
    /// Largest gang that fits now: in the whole pool first, then in one domain of each topology level, widest first. At
    /// most 6. Null where pods cannot be read.
    pub largest_gangs: Option<Vec<GangRoom>>,
}

/// Largest gang that fits into one failure domain or into a whole pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GangRoom {
    /// Topology level of the domain. Null: the whole pool.
    pub level: Option<Level>,
    /// Free GPUs of the emptiest domain. A gang that needs whole nodes may not fit.
    pub gpus: u32,
}

/// What waits for GPUs in one queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueLine {
    /// Namespace and Kueue queue as `namespace/queue`, or the namespace alone.
    pub queue: String,
    /// Number of jobs with at least one part that waits.
    pub jobs: u32,
    /// Number of pods that wait for a node. Null in a demo, which has no pods.
    pub pods: Option<u32>,
    /// GPUs that wait to be allocated. Parts of a GPU (MIG) count as 0.
    pub gpus: u32,
    /// Start of the longest wait, in milliseconds since the Unix epoch.
    pub waiting_since: i64,
}

/// GPUs by model, driver version and firmware version.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Inventory {
    /// Combinations with the most GPUs, by model and then most GPUs first, at most 128.
    pub rows: Vec<InventoryLine>,
    /// GPUs of further combinations, which are not listed.
    pub omitted_gpus: u32,
    /// GPUs that no agent lists: the agent of their node has not reported, or cannot read its GPUs.
    pub unlisted_gpus: u32,
}

/// GPUs with the same model and versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InventoryLine {
    /// GPU model. Null where the agent does not know it.
    pub model: Option<String>,
    /// Driver version. Null where the agent does not know it.
    pub driver: Option<String>,
    /// Firmware version. Null where the agent does not report it.
    pub firmware: Option<String>,
    /// Number of GPUs.
    pub gpus: u32,
    /// Number of driver versions among all GPUs of this model.
    pub drivers_of_model: u32,
}
