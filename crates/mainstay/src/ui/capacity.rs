//! Capacity of a cluster: what its pods request, and what its agents list.

use mainstay_api::http::{Capacity, QueueLine};
use mainstay_kube::{GpuRequests, PendingPods, View};
use mainstay_web::render::capacity::{self, Demand, InstalledNode};

/// Name of the resource of agent reports, as views name kinds that they cannot read.
const REPORTS: &str = "nodereports";

pub(super) fn capacity(view: &View) -> Capacity {
    let demand = view
        .gpu_requests()
        .map(|GpuRequests { used, pending }| Demand { used, queues: pending.iter().map(queue).collect() });
    let has_reports = view.unread().iter().all(|unread| unread.kind != REPORTS);
    let nodes = view.nodes().iter().filter_map(|(name, node)| {
        Some(InstalledNode {
            gpus: node.facts.as_ref()?.gpus,
            inventory: node.report.as_ref().map(|report| &report.inventory),
            firmware: view.firmware(name),
        })
    });
    capacity::capacity(view.engine(), demand, has_reports.then(|| capacity::inventory(nodes)))
}

fn queue(pending: &PendingPods) -> QueueLine {
    let count = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
    QueueLine {
        queue: pending.queue.clone(),
        jobs: count(pending.jobs),
        pods: Some(count(pending.pods)),
        gpus: count(pending.gpus),
        waiting_since: pending.since.0,
    }
}
