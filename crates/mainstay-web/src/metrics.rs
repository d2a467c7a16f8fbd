//! Metrics in Prometheus' text format: the GPUs under the names of DCGM's exporter, and the fleet under ours. Written by
//! hand, because it is read from a picture and nothing is counted here.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use axum::extract::State;
use axum::http::{HeaderName, header};
use mainstay_api::http::NodeGpu;
use mainstay_model::{BreakerState, Mode, Stage, WaitingOn};

use super::ServerState;
use super::published::{GpuGauge, PublishedState};
use super::snapshot::NodeSnapshot;

/// GPUs with series of their own. A real exporter has those of one node; a whole fleet in one response is for viewing.
const GPUS_MAX: usize = 4_096;

pub(super) async fn metrics(State(served): State<ServerState>) -> ([(HeaderName, &'static str); 1], String) {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text(&served.hub.current()))
}

/// One family of metrics on its way into the text.
struct Family<'a> {
    text: &'a mut String,
    name: &'static str,
}

impl<'a> Family<'a> {
    fn new(text: &'a mut String, name: &'static str, kind: &str, help: &str) -> Self {
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        Self { text, name }
    }

    fn line(&mut self, labels: &[(&str, &str)], value: u64) {
        self.text.push_str(self.name);
        for (place, (label, text)) in labels.iter().enumerate() {
            let _ = write!(self.text, "{}{label}=\"{}\"", if place == 0 { '{' } else { ',' }, escaped(text));
        }
        let _ = writeln!(self.text, "{} {value}", if labels.is_empty() { "" } else { "}" });
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn text(shown: &PublishedState) -> String {
    let mut text = String::new();
    fleet(&mut text, shown);
    limits(&mut text, shown);
    gpus(&mut text, shown);
    text
}

fn fleet(text: &mut String, shown: &PublishedState) {
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
    let mut family = Family::new(text, "mainstay_gpus", "gauge", "GPUs by stage of their node.");
    for (stage, gpus) in stages {
        family.line(&[("stage", &format!("{stage:?}"))], gpus);
    }
    let mut family =
        Family::new(text, "mainstay_nodes_waiting", "gauge", "Nodes that are blocked, by what they wait for.");
    for (wait, nodes) in waits {
        family.line(&[("waiting_on", wait.word())], nodes);
    }
    let mut family = Family::new(text, "mainstay_mode", "gauge", "Mode of the cell; 1 for the current mode.");
    for mode in [Mode::Observe, Mode::Propose, Mode::Act] {
        family.line(&[("mode", &format!("{mode:?}"))], u64::from(picture.mode == mode));
    }
    let open = u64::try_from(picture.open().count()).unwrap_or(u64::MAX);
    Family::new(text, "mainstay_incidents_open", "gauge", "Open incidents.").line(&[], open);
    if let Some(costs) = picture.costs {
        Family::new(text, "mainstay_lost_gpu_seconds_total", "counter", "GPU time lost by jobs, in seconds.")
            .line(&[], costs.lost);
        Family::new(
            text,
            "mainstay_saved_gpu_seconds_total",
            "counter",
            "GPU time saved by checkpoints on request, in seconds.",
        )
        .line(&[], costs.saved);
    }
}

fn limits(text: &mut String, shown: &PublishedState) {
    let picture = &shown.latest;
    let mut family = Family::new(
        text,
        "mainstay_breaker_state",
        "gauge",
        "Circuit breakers by pool and rule: 1 half-open, 2 open; closed ones are absent.",
    );
    for breaker in &picture.breakers {
        let state = match breaker.state {
            BreakerState::Closed => 0,
            BreakerState::HalfOpen => 1,
            BreakerState::Open => 2,
        };
        family.line(&[("pool", &breaker.pool), ("rule", &breaker.rule)], state);
    }
    let level = |level: Option<mainstay_model::Level>| level.map_or("Pool".to_owned(), |level| format!("{level:?}"));
    let mut family =
        Family::new(text, "mainstay_budget_nodes_max", "gauge", "Disruption budget: nodes that may be out of service.");
    for budget in &picture.budgets {
        family.line(&[("pool", &budget.pool), ("level", &level(budget.level))], budget.max.into());
    }
    let mut family = Family::new(
        text,
        "mainstay_budget_nodes_out",
        "gauge",
        "Nodes out of service in the fullest domain of the budget.",
    );
    for budget in &picture.budgets {
        family.line(&[("pool", &budget.pool), ("level", &level(budget.level))], budget.out.into());
    }
}

/// One GPU with its node and its gauges, if they are measured.
type GpuSample<'a> = (&'a NodeSnapshot, &'a NodeGpu, Option<GpuGauge>);

/// A DCGM metric family: name, help text and how its value is read from a sample.
type GpuMetric = (&'static str, &'static str, fn(&GpuSample<'_>) -> Option<u64>);

fn gpus(text: &mut String, shown: &PublishedState) {
    let per_node = shown.latest.topology.gpus_per_node as usize;
    let gauge = |place: usize, gpu: &NodeGpu| *shown.gauges.get(place * per_node + usize::from(gpu.index))?;
    let nodes = shown.latest.nodes.iter().enumerate();
    let all = nodes
        .flat_map(|(place, node)| node.record.gpus_list.iter().map(move |gpu| (node.as_ref(), gpu, gauge(place, gpu))));
    let told: Vec<GpuSample<'_>> = all.take(GPUS_MAX).collect();
    let in_all = shown.latest.nodes.iter().map(|node| node.record.gpus_list.len()).sum::<usize>();
    let left_out = u64::try_from(in_all.saturating_sub(told.len())).unwrap_or(u64::MAX);
    Family::new(text, "mainstay_metrics_gpus_omitted", "gauge", "GPUs omitted from the per-GPU series.")
        .line(&[], left_out);
    let families: [GpuMetric; 4] = [
        ("DCGM_FI_DEV_GPU_TEMP", "GPU temperature (in C).", |(_, _, gauge)| Some(gauge.as_ref()?.celsius.into())),
        ("DCGM_FI_DEV_POWER_USAGE", "Power draw (in W).", |(_, _, gauge)| Some(gauge.as_ref()?.watts.into())),
        ("DCGM_FI_DEV_GPU_UTIL", "GPU utilization (in %).", |(_, _, gauge)| {
            Some(gauge.as_ref()?.utilization_percent.into())
        }),
        ("DCGM_FI_DEV_XID_ERRORS", "Value of the last XID error encountered.", |(node, gpu, _)| {
            Some(last_xid(node, gpu))
        }),
    ];
    for (name, help, value) in families {
        let mut family = Family::new(text, name, "gauge", help);
        for one in &told {
            if let Some(value) = value(one) {
                let (node, gpu, _) = one;
                family.line(&labels(node, gpu).each_ref().map(|(name, text)| (*name, text.as_str())), value);
            }
        }
    }
}

/// As DCGM's exporter has them.
fn labels(node: &NodeSnapshot, gpu: &NodeGpu) -> [(&'static str, String); 7] {
    [
        ("gpu", gpu.index.to_string()),
        ("UUID", gpu.uuid.clone()),
        ("pci_bus_id", gpu.pci.clone()),
        ("device", format!("nvidia{}", gpu.index)),
        ("modelName", node.record.product.clone().unwrap_or_default()),
        ("hostname", node.line.name.clone()),
        ("DCGM_FI_DRIVER_VERSION", node.record.driver.clone().unwrap_or_default()),
    ]
}

/// The last one that the GPU's driver printed; none is zero, as there.
fn last_xid(node: &NodeSnapshot, gpu: &NodeGpu) -> u64 {
    let of_gpu = node.record.evidence.iter().filter(|one| one.device.as_deref() == Some(&gpu.serial));
    let last = of_gpu.filter(|one| one.code.starts_with("XID ")).max_by_key(|one| one.last_at);
    last.and_then(|one| one.code.strip_prefix("XID ")?.parse().ok()).unwrap_or(0)
}
