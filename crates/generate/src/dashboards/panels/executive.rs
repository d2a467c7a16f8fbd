//! Panels for managers: use, success, capacity and inventory.

use super::{Draw, Panel, panel};

pub(super) const PANELS: &[Panel] = &[
    panel(
        "GPU utilisation",
        Draw::Number,
        "percent",
        &[("avg(mainstay:gpu_utilisation_percent)", "average")],
        "Average over all GPUs that report. A GPU without a job counts as 0.",
    ),
    panel(
        "GPUs",
        Draw::Number,
        "short",
        &[("sum(mainstay_gpus)", "GPUs")],
        "GPUs of all nodes that the controller knows.",
    ),
    panel(
        "GPUs out of service",
        Draw::Number,
        "percentunit",
        &[("1 - sum(mainstay_gpus{state=~\"InService|Suspect\"}) / sum(mainstay_gpus)", "share")],
        "Share of GPUs on nodes that take no jobs.",
    ),
    panel(
        "Jobs without infrastructure failure",
        Draw::Number,
        "percentunit",
        &[(
            "sum(increase(mainstay_jobs_total{outcome=\"success\"}[7d])) / sum(increase(mainstay_jobs_total{outcome=~\"success|infrastructure\"}[7d]))",
            "7 days",
        )],
        "Jobs of the last 7 days that succeeded, of those that succeeded or failed for an infrastructure cause.",
    ),
    panel(
        "Utilisation",
        Draw::Lines,
        "percent",
        &[("avg(mainstay:gpu_utilisation_percent)", "average")],
        "Average over all GPUs that report. Short bursts do not show.",
    ),
    panel(
        "GPUs by state",
        Draw::Stacked,
        "short",
        &[("sum by (state) (mainstay_gpus)", "{{state}}")],
        "The state is the stage of the node.",
    ),
    panel(
        "Jobs by outcome",
        Draw::Stacked,
        "short",
        &[("sum by (outcome) (increase(mainstay_jobs_total[1d]))", "{{outcome}}")],
        "Jobs that ended within a day. Only infrastructure counts against the fleet.",
    ),
    panel(
        "Queue wait, p95",
        Draw::Lines,
        "s",
        &[("histogram_quantile(0.95, sum by (queue, le) (rate(mainstay_job_wait_seconds_bucket[1h])))", "{{queue}}")],
        "95 % of the jobs of the last hour started within this time. The value is a bucket's end at most.",
    ),
    panel(
        "Capacity out of service",
        Draw::Lines,
        "short",
        &[("sum(mainstay_gpus{state!~\"InService|Suspect\"})", "GPUs")],
        "GPUs on nodes that take no jobs. The area under the line is the GPU time that was lost.",
    ),
    panel(
        "Time to detect and to return, p95",
        Draw::Lines,
        "s",
        &[
            ("histogram_quantile(0.95, sum by (le) (rate(mainstay_detection_seconds_bucket[1d])))", "detect"),
            ("histogram_quantile(0.95, sum by (le) (rate(mainstay_return_seconds_bucket[1d])))", "return"),
        ],
        "From the evidence to the decision, and from the decision to the return to service, over a day.",
    ),
    panel(
        "Inventory",
        Draw::Table,
        "short",
        &[("sum by (model, driver, firmware) (mainstay_inventory_gpus)", "{{model}} {{driver}} {{firmware}}")],
        "GPUs by model, driver and firmware, as the agents report them.",
    ),
];
