//! Panels for a close look at nodes: every GPU, and the agent itself.

use super::{Draw, Panel, panel};

pub(super) const PANELS: &[Panel] = &[
    panel(
        "Utilisation",
        Draw::Lines,
        "percent",
        &[("mainstay:gpu_utilisation_percent{node=~\"$node\"}", "{{node}} GPU {{gpu}}")],
        "Share of time with at least one kernel. It does not show how much of the GPU a kernel uses.",
    ),
    panel(
        "Memory used",
        Draw::Lines,
        "percentunit",
        &[("mainstay:gpu_memory_used_bytes{node=~\"$node\"} / mainstay:gpu_memory_size_bytes", "{{node}} GPU {{gpu}}")],
        "Share of the memory of the GPU. A job near 1 ends with an out-of-memory error of CUDA.",
    ),
    panel(
        "Temperature",
        Draw::Lines,
        "celsius",
        &[
            ("mainstay:gpu_celsius{node=~\"$node\"}", "{{node}} GPU {{gpu}}"),
            ("mainstay:gpu_memory_celsius{node=~\"$node\"}", "{{node}} GPU {{gpu}} memory"),
        ],
        "GPU and its memory.",
    ),
    panel(
        "Power against limit",
        Draw::Lines,
        "percentunit",
        &[("mainstay:gpu_watts{node=~\"$node\"} / mainstay:gpu_watts_limit", "{{node}} GPU {{gpu}}")],
        "Power draw as a share of the limit in force. A GPU at its limit lowers its clock.",
    ),
    panel(
        "SM clock",
        Draw::Lines,
        "hertz",
        &[("mainstay:gpu_sm_mhz{node=~\"$node\"} * 1000000", "{{node}} GPU {{gpu}}")],
        "Clock of the streaming multiprocessors.",
    ),
    panel(
        "Thermal slowdown or power brake",
        Draw::Lines,
        "bool",
        &[
            ("floor(mainstay:gpu_clock_reasons{node=~\"$node\"} / 64) % 2", "{{node}} GPU {{gpu}} thermal"),
            ("floor(mainstay:gpu_clock_reasons{node=~\"$node\"} / 128) % 2", "{{node}} GPU {{gpu}} power brake"),
        ],
        "1 while the hardware holds the GPU back: NVML's bits 64 and 128.",
    ),
    panel(
        "PCIe traffic",
        Draw::Lines,
        "Bps",
        &[
            ("mainstay:gpu_pcie_transmit_bytes:rate5m{node=~\"$node\"}", "{{node}} GPU {{gpu}} sent"),
            ("mainstay:gpu_pcie_receive_bytes:rate5m{node=~\"$node\"}", "{{node}} GPU {{gpu}} received"),
        ],
        "Bytes per second over PCIe. Drivers before R555 have no such counters.",
    ),
    panel(
        "PCIe replays",
        Draw::Lines,
        "short",
        &[("mainstay:gpu_pcie_replays:increase1h{node=~\"$node\"}", "{{node}} GPU {{gpu}}")],
        "Packets that were sent again within an hour. More than 1,000 open a ticket.",
    ),
    panel(
        "NVLink errors",
        Draw::Lines,
        "short",
        &[("mainstay:gpu_nvlink_errors:increase1h{node=~\"$node\"}", "{{node}} GPU {{gpu}}")],
        "Errors of all NVLinks of a GPU within an hour.",
    ),
    panel(
        "ECC errors",
        Draw::Lines,
        "short",
        &[
            ("mainstay:gpu_ecc_corrected:increase1h{node=~\"$node\"}", "{{node}} GPU {{gpu}} corrected"),
            ("mainstay:gpu_ecc_uncorrected:increase1h{node=~\"$node\"}", "{{node}} GPU {{gpu}} uncorrected"),
        ],
        "Memory errors within an hour. An uncorrected one ends a job.",
    ),
    panel(
        "Evidence",
        Draw::Table,
        "short",
        &[(
            "sum by (node, source, code, device) (mainstay_agent_evidence_total{node=~\"$node\"})",
            "{{node}} {{source}} {{code}}",
        )],
        "Fault evidence since boot, as the agent reports it. `mainstay why node NAME` explains it.",
    ),
    panel(
        "RoCE congestion",
        Draw::Lines,
        "pps",
        &[
            ("rate(mainstay_agent_rdma_cnp_sent_total{node=~\"$node\"}[5m])", "{{node}} CNP sent"),
            ("rate(mainstay_agent_rdma_cnp_handled_total{node=~\"$node\"}[5m])", "{{node}} CNP handled"),
            ("rate(mainstay_agent_rdma_ecn_marked_total{node=~\"$node\"}[5m])", "{{node}} ECN marked"),
        ],
        "Congestion packets per second over all adapters of a node.",
    ),
    panel(
        "Agent: age of the last report",
        Draw::Lines,
        "s",
        &[("mainstay_agent_report_age_seconds{node=~\"$node\"}", "{{node}}")],
        "Seconds since the API server accepted a report.",
    ),
    panel(
        "Agent: data sources",
        Draw::Lines,
        "bool",
        &[
            (
                "max by (node, source) (mainstay_agent_source_unavailable{node=~\"$node\"})",
                "{{node}} {{source}} unavailable",
            ),
            ("max by (node, source) (mainstay_agent_source_stalled{node=~\"$node\"})", "{{node}} {{source}} stalled"),
        ],
        "1 while the agent cannot read a source, or while a read hangs.",
    ),
];
