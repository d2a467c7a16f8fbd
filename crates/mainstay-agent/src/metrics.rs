//! Values of the agent's metrics. Their names, labels and limits are in the catalogue of `mainstay-telemetry`.

use std::sync::atomic::Ordering;
use std::time::Duration;

use mainstay_model::Serial;
use mainstay_telemetry::metrics::{Counter, Exporter, Gauge, Samples, catalogue};

use crate::agent::Agent;
use crate::cluster::Counts;
use crate::sources::SourceName;
use crate::sources::nvml::GpuStatus;

/// All series of one scrape.
pub(crate) fn samples(agent: &Agent, cluster: Option<&Counts>, up: Duration) -> Samples {
    let mut samples = Samples::new(Exporter::Agent);
    let store = agent.store();
    samples.set(catalogue::AGENT_INFO, [env!("CARGO_PKG_VERSION"), store.boot().as_str()], true);
    samples.set(catalogue::AGENT_UPTIME, [], up.as_secs());
    for (xid, pci, count) in store.xids().iter() {
        samples.count(catalogue::AGENT_XIDS, [xid, pci], count);
    }
    for piece in store.evidence().as_slice() {
        let source = format!("{:?}", piece.key.source);
        let device = piece.key.device.as_ref().map_or("", Serial::as_str);
        let labels = [&*source, piece.key.code.as_str(), device, piece.key.detail.as_str()];
        samples.count(catalogue::AGENT_EVIDENCE, labels, piece.count);
    }
    let log = store.log();
    samples.count(catalogue::AGENT_KERNEL_READ, [], log.read);
    samples.count(catalogue::AGENT_KERNEL_LOST, [], log.lost);
    samples.count(catalogue::AGENT_KERNEL_UNREADABLE, [], log.unreadable);
    samples.count(catalogue::AGENT_KERNEL_BEFORE, [], log.before);
    for (list, items) in [("gpus", store.lost_gpus()), ("nics", store.lost_nics())] {
        samples.count(catalogue::LIST_ITEMS_LOST, [list], items);
    }
    sources(agent, &mut samples);
    nvml(agent, &mut samples);
    host(agent, &mut samples);
    if let Some(keeper) = agent.keeper() {
        let (writes, failures) = keeper.writes();
        samples.count(catalogue::AGENT_STORE_WRITES, [], writes);
        samples.count(catalogue::AGENT_STORE_FAILURES, [], failures);
    }
    if let Some(counts) = cluster {
        let at = |value: &std::sync::atomic::AtomicU64| value.load(Ordering::Relaxed);
        samples.count(catalogue::AGENT_REPORTS_WRITTEN, [], at(&counts.written));
        samples.count(catalogue::AGENT_REPORTS_FAILED, [], at(&counts.failed));
        samples.count(catalogue::AGENT_WATCHES, [], at(&counts.watches));
        samples.set(catalogue::AGENT_REPORT_AGE, [], counts.age().as_secs());
    }
    samples
}

fn sources(agent: &Agent, samples: &mut Samples) {
    for pulse in agent.pulses() {
        samples.set(catalogue::AGENT_SOURCE_STALLED, [pulse.name()], pulse.stalled());
        samples.count(catalogue::AGENT_SOURCE_ROUNDS, [pulse.name()], pulse.rounds());
    }
    for source in SourceName::ALL {
        let unavailable = agent.store().troubles().get(&source).is_some_and(|trouble| trouble.unavailable);
        samples.set(catalogue::AGENT_SOURCE_UNAVAILABLE, [source.word()], unavailable);
    }
    let versions = agent.store().versions();
    let known = [("driver", &versions.driver), ("firmware", &versions.firmware), ("kernel", &versions.kernel)];
    let known = known.into_iter().filter_map(|(name, version)| Some((name, version.as_deref()?)));
    for (name, version) in known.chain(versions.more.iter().map(|(name, version)| (&**name, &**version))) {
        samples.set(catalogue::AGENT_VERSION_INFO, [name, version], true);
    }
}

/// Use of NVML, and the state of the GPUs.
fn nvml(agent: &Agent, samples: &mut Samples) {
    let guest = agent.guest();
    samples.set(catalogue::AGENT_NVML_OPEN, [], !guest.is_free());
    samples.count(catalogue::AGENT_NVML_OPENED, [], guest.opened());
    let cpu = u64::try_from(guest.cpu().as_micros()).unwrap_or(u64::MAX);
    samples.count(catalogue::AGENT_NVML_CPU, [], cpu);
    for gpu in agent.store().gpus_now() {
        let index = gpu.index.to_string();
        samples.set(catalogue::AGENT_GPU_INFO, [&*index, &*gpu.uuid, &*gpu.pci], true);
        for (metric, value) in gauges(gpu) {
            if let Some(value) = value {
                samples.set(metric, [&*index, &*gpu.uuid], value);
            }
        }
        for (metric, value) in counters(gpu) {
            if let Some(value) = value {
                samples.count(metric, [&*index, &*gpu.uuid], value);
            }
        }
    }
}

/// Counters of the node as a whole. A node does not have all of them.
fn host(agent: &Agent, samples: &mut Samples) {
    let congestion = agent.store().congestion();
    for (metric, value) in [
        (catalogue::AGENT_DRIVER_RESTARTS, Some(agent.guest().driver_restarts())),
        (catalogue::AGENT_OOM_KILLS, agent.oom_kills()),
        (catalogue::AGENT_RDMA_CNP_SENT, congestion.cnp_sent),
        (catalogue::AGENT_RDMA_CNP_HANDLED, congestion.cnp_handled),
        (catalogue::AGENT_RDMA_ECN_MARKED, congestion.ecn_marked),
        (catalogue::AGENT_RDMA_TRANSMIT_WAIT, congestion.transmit_wait),
    ] {
        if let Some(value) = value {
            samples.count(metric, [], value);
        }
    }
}

/// Values of one GPU. A GPU does not have all of them.
fn gauges(gpu: &GpuStatus) -> [(Gauge<2>, Option<i64>); 13] {
    let bytes = |bytes: Option<u64>| bytes.and_then(|bytes| i64::try_from(bytes).ok());
    [
        (catalogue::AGENT_GPU_CELSIUS, gpu.celsius.map(i64::from)),
        (catalogue::AGENT_GPU_MARGIN, gpu.margin_celsius.map(i64::from)),
        (catalogue::AGENT_GPU_MEMORY, gpu.memory_celsius.map(i64::from)),
        (catalogue::AGENT_GPU_WATTS, gpu.watts.map(i64::from)),
        (catalogue::AGENT_GPU_WATTS_ENFORCED, gpu.watts_enforced.map(i64::from)),
        (catalogue::AGENT_GPU_MEMORY_USED, bytes(gpu.memory_used_bytes)),
        (catalogue::AGENT_GPU_MEMORY_SIZE, bytes(gpu.memory_size_bytes)),
        (catalogue::AGENT_GPU_SM_MHZ, gpu.sm_mhz.map(i64::from)),
        (catalogue::AGENT_GPU_BUSY, gpu.busy_percent.map(i64::from)),
        (catalogue::AGENT_GPU_REMAPPED_ROWS, gpu.remapped_rows.map(i64::from)),
        (catalogue::AGENT_GPU_NVLINKS_UP, Some(i64::from(gpu.links_up))),
        (catalogue::AGENT_GPU_CLOCK_REASONS, gpu.clock_reasons.and_then(|bits| i64::try_from(bits).ok())),
        (catalogue::AGENT_GPU_MIG_INSTANCES, gpu.mig.as_ref().and_then(|mig| i64::try_from(mig.instances.len()).ok())),
    ]
}

/// Counters of one GPU since the driver was loaded.
const fn counters(gpu: &GpuStatus) -> [(Counter<2>, Option<u64>); 6] {
    [
        (catalogue::AGENT_GPU_PCIE_TRANSMIT, gpu.pcie_transmit_bytes),
        (catalogue::AGENT_GPU_PCIE_RECEIVE, gpu.pcie_receive_bytes),
        (catalogue::AGENT_GPU_PCIE_REPLAYS, gpu.pcie_replays),
        (catalogue::AGENT_GPU_NVLINK_ERRORS, gpu.nvlink_errors),
        (catalogue::AGENT_GPU_ECC_CORRECTED, gpu.ecc_corrected),
        (catalogue::AGENT_GPU_ECC_UNCORRECTED, gpu.ecc_uncorrected),
    ]
}
