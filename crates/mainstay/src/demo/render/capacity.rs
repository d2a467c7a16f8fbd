//! Capacity of a live fleet: which nodes its jobs hold, which jobs wait, and what its agents list.

use std::collections::BTreeMap;

use mainstay_api::http::{Capacity, QueueLine};
use mainstay_model::Timestamp;
use mainstay_sim::{JobState, JobView, LiveFleet};
use mainstay_web::render::capacity::{self, Demand, InstalledNode};

pub(super) fn capacity(live: &LiveFleet) -> Capacity {
    let busy = live.nodes().filter(|node| node.job.is_some());
    // A simulated job holds whole nodes.
    let used = busy.map(|node| (node.name.clone(), node.facts.gpus)).collect();
    let nodes = live.nodes().map(|node| InstalledNode {
        gpus: node.facts.gpus,
        inventory: node.report.map(|report| &report.inventory),
        // Simulated agents report no firmware.
        firmware: None,
    });
    capacity::capacity(live.engine(), Some(Demand { used, queues: queues(live) }), Some(capacity::inventory(nodes)))
}

/// Jobs that wait for nodes, by namespace.
fn queues(live: &LiveFleet) -> Vec<QueueLine> {
    let mut queues: BTreeMap<String, QueueLine> = BTreeMap::new();
    for job in live.jobs().filter(|job| job.state() == JobState::Waiting) {
        let queue = job.gang().namespace.to_string();
        let since = waiting_since(&job).0;
        let line = queues.entry(queue.clone()).or_insert(QueueLine {
            queue,
            jobs: 0,
            pods: None,
            gpus: 0,
            waiting_since: since,
        });
        line.jobs += 1;
        line.gpus += job.gpus();
        line.waiting_since = line.waiting_since.min(since);
    }
    queues.into_values().collect()
}

/// A job waits from its submission, or from the end of its latest attempt.
fn waiting_since(job: &JobView<'_>) -> Timestamp {
    let last = job.log().attempts().next_back();
    last.and_then(|attempt| attempt.ended).map_or(job.submitted_at(), |(at, _)| at)
}
