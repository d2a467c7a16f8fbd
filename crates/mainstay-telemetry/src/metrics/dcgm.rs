//! Metrics of NVIDIA's dcgm-exporter with the same meaning as metrics of the agent. The recording rules accept either
//! source under one name, and prefer dcgm-exporter where both have a GPU. No decision of the controller reads them.
//!
//! Names, types and units are those of `etc/default-counters.csv` and `etc/dcp-metrics-included.csv` of dcgm-exporter
//! 4.6.0, and of the list of field identifiers in DCGM's documentation.

use super::{Counter, Definition, Gauge, catalogue};

/// One recorded series per GPU, and the metrics that it is recorded from.
#[derive(Debug, Clone, Copy)]
pub struct Mapping {
    /// Name of the recorded series.
    pub record: &'static str,
    /// Metric of the agent.
    pub ours: &'static Definition,
    /// Metrics of dcgm-exporter, best first. The metrics of one entry are added.
    pub dcgm: &'static [&'static [&'static str]],
    /// Number that a value of dcgm-exporter is multiplied by.
    pub factor: u32,
    /// How the agent's metric becomes the recorded value.
    pub ours_over: Window,
    /// How the metrics of dcgm-exporter become the recorded value.
    pub dcgm_over: Window,
}

/// Function over time that a recording rule applies to a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Window {
    /// The last value.
    Last,
    /// Growth per second, over five minutes.
    Rate,
    /// Growth in one hour.
    Increase,
}

/// Labels of every recorded series. `node` is a label of the scrape.
pub const LABELS: [&str; 3] = ["node", "gpu", "uuid"];

const MIB: u32 = 1_024 * 1_024;

/// Every recorded series of a GPU.
pub const ALL: &[Mapping] = &[
    gauge("mainstay:gpu_utilisation_percent", catalogue::AGENT_GPU_BUSY, &[&["DCGM_FI_DEV_GPU_UTIL"]], 1),
    gauge("mainstay:gpu_memory_used_bytes", catalogue::AGENT_GPU_MEMORY_USED, &[&["DCGM_FI_DEV_FB_USED"]], MIB),
    gauge(
        "mainstay:gpu_memory_size_bytes",
        catalogue::AGENT_GPU_MEMORY_SIZE,
        // The exporter's default list has the parts and not the total; older lists lack the reserved part.
        &[
            &["DCGM_FI_DEV_FB_TOTAL"],
            &["DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_FB_FREE", "DCGM_FI_DEV_FB_RESERVED"],
            &["DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_FB_FREE"],
        ],
        MIB,
    ),
    gauge("mainstay:gpu_celsius", catalogue::AGENT_GPU_CELSIUS, &[&["DCGM_FI_DEV_GPU_TEMP"]], 1),
    gauge("mainstay:gpu_memory_celsius", catalogue::AGENT_GPU_MEMORY, &[&["DCGM_FI_DEV_MEMORY_TEMP"]], 1),
    gauge("mainstay:gpu_watts", catalogue::AGENT_GPU_WATTS, &[&["DCGM_FI_DEV_POWER_USAGE"]], 1),
    gauge(
        "mainstay:gpu_watts_limit",
        catalogue::AGENT_GPU_WATTS_ENFORCED,
        &[&["DCGM_FI_DEV_ENFORCED_POWER_LIMIT"], &["DCGM_FI_DEV_POWER_MGMT_LIMIT"]],
        1,
    ),
    gauge("mainstay:gpu_sm_mhz", catalogue::AGENT_GPU_SM_MHZ, &[&["DCGM_FI_DEV_SM_CLOCK"]], 1),
    gauge(
        "mainstay:gpu_clock_reasons",
        catalogue::AGENT_GPU_CLOCK_REASONS,
        // The name before DCGM 3.3.5 and the name since; both are NVML's bits.
        &[&["DCGM_FI_DEV_CLOCKS_EVENT_REASONS"], &["DCGM_FI_DEV_CLOCK_THROTTLE_REASONS"]],
        1,
    ),
    traffic(
        "mainstay:gpu_pcie_transmit_bytes:rate5m",
        catalogue::AGENT_GPU_PCIE_TRANSMIT,
        &[&["DCGM_FI_PROF_PCIE_TX_BYTES"]],
    ),
    traffic(
        "mainstay:gpu_pcie_receive_bytes:rate5m",
        catalogue::AGENT_GPU_PCIE_RECEIVE,
        &[&["DCGM_FI_PROF_PCIE_RX_BYTES"]],
    ),
    errors(
        "mainstay:gpu_pcie_replays:increase1h",
        catalogue::AGENT_GPU_PCIE_REPLAYS,
        &[&["DCGM_FI_DEV_PCIE_REPLAY_COUNTER"]],
    ),
    gauge("mainstay:gpu_nvlinks_up", catalogue::AGENT_GPU_NVLINKS_UP, &[], 1),
    errors(
        "mainstay:gpu_nvlink_errors:increase1h",
        catalogue::AGENT_GPU_NVLINK_ERRORS,
        &[&[
            "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL",
            "DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL",
            "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL",
        ]],
    ),
    errors(
        "mainstay:gpu_ecc_corrected:increase1h",
        catalogue::AGENT_GPU_ECC_CORRECTED,
        &[&["DCGM_FI_DEV_ECC_SBE_VOL_TOTAL"]],
    ),
    errors(
        "mainstay:gpu_ecc_uncorrected:increase1h",
        catalogue::AGENT_GPU_ECC_UNCORRECTED,
        &[&["DCGM_FI_DEV_ECC_DBE_VOL_TOTAL"]],
    ),
];

type Sources = &'static [&'static [&'static str]];

const fn gauge(record: &'static str, ours: Gauge<2>, dcgm: Sources, factor: u32) -> Mapping {
    Mapping { record, ours: ours.0, dcgm, factor, ours_over: Window::Last, dcgm_over: Window::Last }
}

/// The profiling fields of DCGM are rates already.
const fn traffic(record: &'static str, ours: Counter<2>, dcgm: Sources) -> Mapping {
    Mapping { record, ours: ours.0, dcgm, factor: 1, ours_over: Window::Rate, dcgm_over: Window::Last }
}

const fn errors(record: &'static str, ours: Counter<2>, dcgm: Sources) -> Mapping {
    Mapping { record, ours: ours.0, dcgm, factor: 1, ours_over: Window::Increase, dcgm_over: Window::Increase }
}

// === impl Window ===

impl Window {
    fn of(self, metric: &str) -> String {
        match self {
            Self::Last => metric.to_owned(),
            Self::Rate => format!("rate({metric}[5m])"),
            Self::Increase => format!("increase({metric}[1h])"),
        }
    }
}

// === impl Mapping ===

impl Mapping {
    /// Expression of the recording rule, in PromQL: one operand per source, best first.
    #[must_use]
    pub fn operands(&self) -> Vec<String> {
        let by = LABELS.join(", ");
        let dcgm = self.dcgm.iter().map(|names| {
            // A MIG instance has series of its own, with a label that a whole GPU does not have.
            let series = names.iter().map(|name| self.dcgm_over.of(&format!("{name}{{GPU_I_ID=\"\"}}")));
            let sum = series.collect::<Vec<_>>().join(" + ");
            let named = format!("label_replace({sum}, \"uuid\", \"$1\", \"UUID\", \"(.+)\")");
            let scaled = if self.factor == 1 { named } else { format!("{} * {named}", self.factor) };
            format!("max by ({by}) ({scaled})")
        });
        dcgm.chain([format!("max by ({by}) ({})", self.ours_over.of(self.ours.name))]).collect()
    }
}
