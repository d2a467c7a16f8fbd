//! Values of the web UI's metrics: the GPUs under the names of DCGM's exporter, and the fleet under ours. They are read from
//! the published state; nothing is counted here.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::http::HeaderMap;
use mainstay_api::http::NodeGpu;
use mainstay_model::{BreakerState, Mode, Stage, WaitingOn};
use mainstay_telemetry::listener::{self, MetricsResponse};
use mainstay_telemetry::metrics::{Exporter, Samples, catalogue};

use super::ServerState;
use super::published::{GpuGauge, PublishedState};
use super::snapshot::NodeSnapshot;

pub(super) async fn metrics(State(served): State<ServerState>, headers: HeaderMap) -> MetricsResponse {
    listener::metrics_response(&headers, samples(&served.hub.current()))
}

fn samples(shown: &PublishedState) -> Samples {
    let mut samples = Samples::new(Exporter::Ui);
    fleet(&mut samples, shown);
    limits(&mut samples, shown);
    gpus(&mut samples, shown);
    samples
}

fn fleet(samples: &mut Samples, shown: &PublishedState) {
    let picture = &shown.latest;
    let mut stages: BTreeMap<Stage, u64> = Stage::ALL.map(|stage| (stage, 0)).into();
    let mut waits: BTreeMap<WaitingOn, u64> = WaitingOn::ALL.map(|wait| (wait, 0)).into();
    waits.remove(&WaitingOn::Nothing);
    for node in &picture.nodes {
        *stages.entry(node.line.stage).or_default() += u64::from(node.line.gpus);
        if let Some(nodes) = waits.get_mut(&node.line.waiting_on) {
            *nodes += 1;
        }
    }
    for (stage, gpus) in stages {
        samples.set(catalogue::GPUS, [&format!("{stage:?}")], gpus);
    }
    for (wait, nodes) in waits {
        samples.set(catalogue::NODES_WAITING, [wait.word()], nodes);
    }
    for mode in [Mode::Observe, Mode::Propose, Mode::Act] {
        samples.set(catalogue::MODE, [&format!("{mode:?}")], picture.mode == mode);
    }
    samples.set(catalogue::INCIDENTS_OPEN, [], u64::try_from(picture.open().count()).unwrap_or(u64::MAX));
    if let Some(costs) = picture.costs {
        samples.count(catalogue::LOST_GPU_SECONDS, [], costs.lost);
        samples.count(catalogue::SAVED_GPU_SECONDS, [], costs.saved);
    }
}

fn limits(samples: &mut Samples, shown: &PublishedState) {
    for breaker in &shown.latest.breakers {
        let state: u64 = match breaker.state {
            BreakerState::Closed => 0,
            BreakerState::HalfOpen => 1,
            BreakerState::Open => 2,
        };
        samples.set(catalogue::BREAKER_STATE, [&breaker.pool, &breaker.rule], state);
    }
    for budget in &shown.latest.budgets {
        let level = budget.level.map_or("Pool".to_owned(), |level| format!("{level:?}"));
        samples.set(catalogue::BUDGET_NODES_MAX, [&budget.pool, &level], u64::from(budget.max));
        samples.set(catalogue::BUDGET_NODES_OUT, [&budget.pool, &level], u64::from(budget.out));
    }
}

fn gpus(samples: &mut Samples, shown: &PublishedState) {
    let per_node = shown.latest.topology.gpus_per_node as usize;
    let gauge = |place: usize, gpu: &NodeGpu| *shown.gauges.get(place * per_node + usize::from(gpu.index))?;
    let nodes = shown.latest.nodes.iter().enumerate();
    let all = nodes
        .flat_map(|(place, node)| node.record.gpus_list.iter().map(move |gpu| (node.as_ref(), gpu, gauge(place, gpu))));
    for (node, gpu, gauge) in all.take(catalogue::GPUS_OF_FLEET) {
        gpu_series(samples, node, gpu, gauge);
    }
    let in_all = shown.latest.nodes.iter().map(|node| node.record.gpus_list.len()).sum::<usize>();
    let left_out = u64::try_from(in_all.saturating_sub(catalogue::GPUS_OF_FLEET)).unwrap_or(u64::MAX);
    samples.set(catalogue::GPUS_OMITTED, [], left_out);
}

fn gpu_series(samples: &mut Samples, node: &NodeSnapshot, gpu: &NodeGpu, gauge: Option<GpuGauge>) {
    let labels = labels(node, gpu);
    let labels = labels.each_ref().map(String::as_str);
    samples.set(catalogue::DCGM_XID_ERRORS, labels, last_xid(node, gpu));
    if let Some(gauge) = gauge {
        samples.set(catalogue::DCGM_GPU_TEMP, labels, u64::from(gauge.celsius));
        samples.set(catalogue::DCGM_POWER_USAGE, labels, u64::from(gauge.watts));
        samples.set(catalogue::DCGM_GPU_UTIL, labels, u64::from(gauge.utilization_percent));
    }
}

/// Label values in the order of the catalogue, as DCGM's exporter has them.
fn labels(node: &NodeSnapshot, gpu: &NodeGpu) -> [String; 7] {
    [
        gpu.index.to_string(),
        gpu.uuid.clone(),
        gpu.pci.clone(),
        format!("nvidia{}", gpu.index),
        node.record.product.clone().unwrap_or_default(),
        node.line.name.clone(),
        node.record.driver.clone().unwrap_or_default(),
    ]
}

/// XID that the GPU's driver printed last. 0 if there is none, as in DCGM's exporter.
fn last_xid(node: &NodeSnapshot, gpu: &NodeGpu) -> u64 {
    let of_gpu = node.record.evidence.iter().filter(|one| one.device.as_deref() == Some(&gpu.serial));
    let last = of_gpu.filter(|one| one.code.starts_with("XID ")).max_by_key(|one| one.last_at);
    last.and_then(|one| one.code.strip_prefix("XID ")?.parse().ok()).unwrap_or(0)
}
