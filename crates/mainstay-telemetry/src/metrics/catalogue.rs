//! Every metric that Mainstay exports, in one table. `cargo xtask gen` makes docs/reference/metrics.md from it.

use super::Exporter::{Agent, Controller, Ui};
use super::{Counter, Definition, Gauge, Histogram, Kind, Unit};

/// Most series of a metric whose label values come from fixed lists.
const FIXED: usize = 256;
/// Most names that other tools and users choose, such as taint keys.
const NAMES: usize = 32;
/// Most pairs of a pool with a rule or a topology level.
const POOLS: usize = 1_024;
/// Most queues with series of their own, and one more for all others. Tenants choose the names of queues.
pub const QUEUES: usize = 64;
/// Most nodes with series of their own in the controller.
pub const NODES_NAMED: usize = 256;
/// Most incidents with series of their own. Those with the most nodes come first.
pub const INCIDENTS: usize = 256;
/// Most nodes whose failure domains are exported.
const NODES_PLACED: usize = 20_000;
/// Most combinations of GPU model, driver and firmware.
pub const VERSIONS: usize = 128;
/// Most GPUs of one node; the agent reads no more.
const GPUS_OF_NODE: usize = 64;
/// Most GPUs with series of their own in the web UI. An exporter has those of one node; a whole fleet is for viewing.
pub const GPUS_OF_FLEET: usize = 4_096;

/// Labels of a GPU's series in NVIDIA's dcgm-exporter.
const DCGM: [&str; 7] = ["gpu", "UUID", "pci_bus_id", "device", "modelName", "hostname", "DCGM_FI_DRIVER_VERSION"];

/// Labels of a GPU's series from the agent. The scrape adds the node.
const GPU: [&str; 2] = ["gpu", "uuid"];

macro_rules! catalogue {
    ($($id:ident: $kind:ident<$count:literal> =
        $name:literal, $unit:ident, $labels:expr, $max:expr, [$($exporter:ident),+], $help:literal;)+) => {
        $(
            #[doc = $help]
            pub const $id: $kind<$count> = {
                const LABELS: [&str; $count] = $labels;
                $kind(&Definition {
                    name: $name,
                    kind: Kind::$kind,
                    unit: Unit::$unit,
                    labels: &LABELS,
                    series_max: $max,
                    exporters: &[$($exporter),+],
                    help: $help,
                })
            };
        )+
        /// Definitions of all metrics, in the order of the metric reference.
        pub const ALL: &[&Definition] = &[$($id.0),+];
    };
}

// Constant, type and number of labels = name, unit, labels, most series, exporters, help.
catalogue! {
    UP: Gauge<0> = "mainstay_up", One, [], 1, [Controller],
        "Always 1 while this process answers.";
    LEADING: Gauge<0> = "mainstay_leading", One, [], 1, [Controller],
        "1 if this process is the leader, otherwise 0.";
    EPOCH: Gauge<0> = "mainstay_epoch", One, [], 1, [Controller],
        "Epoch of the last leadership of this process.";
    TAKEOVERS: Counter<0> = "mainstay_takeovers_total", One, [], 1, [Controller],
        "Number of times this process became leader.";
    DECISIONS: Counter<0> = "mainstay_decisions_total", One, [], 1, [Controller],
        "Number of decisions the engine made.";
    NODE_EVALUATIONS: Counter<0> = "mainstay_node_evaluations_total", One, [], 1, [Controller],
        "Number of times the engine evaluated a node.";
    AUDIT_VIOLATIONS: Counter<0> = "mainstay_audit_violations_total", One, [], 1, [Controller],
        "Decisions that violated an invariant and were not executed.";
    CELL_RESTORED: Counter<0> = "mainstay_cell_restored_total", One, [], 1, [Controller],
        "Times that etcd was restored to an earlier state, as the Cell, the Lease or the agents show.";
    CELL_BREAKERS_OMITTED: Gauge<0> = "mainstay_cell_breakers_omitted", One, [], 1, [Controller],
        "Circuit breakers that are not closed and that the status of the Cell has no place for.";
    CELL_OUTCOMES_LOST: Counter<0> = "mainstay_cell_outcomes_lost_total", One, [], 1, [Controller],
        "Outcomes of findings that the rule counters of the Cell have no place for.";
    LIST_ITEMS_LOST: Counter<1> = "mainstay_list_items_lost_total", One, ["list"], FIXED, [Controller, Agent],
        "Items that a list of limited length had no room for, counted each time the list is made.";
    AUDIT_LOG_LINES: Counter<0> = "mainstay_audit_log_lines_total", One, [], 1, [Controller],
        "Lines written to the audit log.";
    AUDIT_LOG_FAILURES: Counter<0> = "mainstay_audit_log_failures_total", One, [], 1, [Controller],
        "Lines that could not be written to the audit log.";
    JOURNAL_ENTRIES: Counter<0> = "mainstay_journal_entries_total", One, [], 1, [Controller],
        "Entries written to the journal of facts.";
    JOURNAL_ENTRIES_LOST: Counter<0> = "mainstay_journal_entries_lost_total", One, [], 1, [Controller],
        "Entries missing from the journal of facts, because the disk failed or was too slow.";
    LAST_DECISION: Gauge<0> = "mainstay_last_decision_timestamp_seconds", Seconds, [], 1, [Controller],
        "Time of the engine's last decision, in seconds since the Unix epoch.";
    API_ANSWER_AGE: Gauge<0> = "mainstay_api_answer_age_seconds", Seconds, [], 1, [Controller],
        "Time since the API server last answered a call of this controller for the Lease, in seconds.";
    WRITES: Counter<2> = "mainstay_writes_total", One, ["what", "result"], FIXED, [Controller],
        "Writes to the API server, by object and result.";
    WRITES_FAILED: Counter<1> = "mainstay_writes_failed_total", One, ["what"], FIXED, [Controller],
        "Writes that failed after their retries, by object.";
    WATCH_AGE: Gauge<1> = "mainstay_watch_age_seconds", Seconds, ["kind"], FIXED, [Controller],
        "Time since the last event of a watch, in seconds, by resource kind.";
    WATCH_EVENTS: Counter<1> = "mainstay_watch_events_total", One, ["kind"], FIXED, [Controller],
        "Watch events received, by resource kind.";
    WATCH_LISTS: Counter<1> = "mainstay_watch_lists_total", One, ["kind"], FIXED, [Controller],
        "Complete lists read, by resource kind.";
    WATCH_FAILURES: Counter<1> = "mainstay_watch_failures_total", One, ["kind"], FIXED, [Controller],
        "Watch failures, by resource kind.";
    OBJECTS_INVALID: Counter<1> = "mainstay_objects_invalid_total", One, ["kind"], FIXED, [Controller],
        "Objects that do not match their schema, by resource kind.";
    NODES_UNREADABLE: Gauge<1> = "mainstay_nodes_unreadable", One, ["node"], NODES_NAMED, [Controller],
        "1 for each node whose Node object cannot be read. It keeps its last facts and counts as not ready.";
    SLURMD_PODS: Gauge<0> = "mainstay_slurmd_pods", One, [], 1, [Controller],
        "Pods that run slurmd. Mainstay never evicts them.";

    MODE: Gauge<1> = "mainstay_mode", One, ["mode"], FIXED, [Controller, Ui],
        "1 for the mode in effect, 0 for the others.";
    NODES: Gauge<1> = "mainstay_nodes", One, ["stage"], FIXED, [Controller],
        "Number of nodes, by stage.";
    STAGE_SECONDS_MAX: Gauge<1> = "mainstay_stage_seconds_max", Seconds, ["stage"], FIXED, [Controller],
        "Longest time any node has spent in the stage, in seconds.";
    STAGE_LIMIT: Gauge<1> = "mainstay_stage_limit_seconds", Seconds, ["stage"], FIXED, [Controller],
        "Default time limit of the stage, in seconds; a pool can have another one.";
    STAGE_OVERDUE: Gauge<1> = "mainstay_stage_overdue_nodes", One, ["stage"], FIXED, [Controller],
        "Nodes in the stage for longer than its default time limit.";
    NODES_WAITING: Gauge<1> = "mainstay_nodes_waiting", One, ["waiting_on"], FIXED, [Controller, Ui],
        "Number of nodes that wait, by what they wait for.";
    INCIDENTS_OPEN: Gauge<0> = "mainstay_incidents_open", One, [], 1, [Controller, Ui],
        "Number of open incidents.";
    INCIDENT_NODES: Gauge<6> = "mainstay_incident_nodes", One, ["incident", "rule", "level", "domain", "title", "acknowledged"], INCIDENTS, [Controller],
        "Nodes of each open incident, at most 72, by cause: level Node, Driver or a topology level, and its name.";
    NODE_INFO: Gauge<7> = "mainstay_node_info", One, ["node", "pool", "nvlink_domain", "rack", "pdu", "leaf", "spine"], NODES_PLACED, [Controller],
        "Pool and failure domains of each node; the value is always 1.";
    BREAKER_STATE: Gauge<2> = "mainstay_breaker_state", One, ["pool", "rule"], POOLS, [Controller, Ui],
        "State of each circuit breaker that is not closed: 1 half open, 2 open.";
    BUDGET_NODES_MAX: Gauge<2> = "mainstay_budget_nodes_max", One, ["pool", "level"], POOLS, [Controller, Ui],
        "Nodes that may be out of service at once, by pool and topology level.";
    BUDGET_NODES_OUT: Gauge<2> = "mainstay_budget_nodes_out", One, ["pool", "level"], POOLS, [Controller, Ui],
        "Nodes out of service in the fullest domain, without dry-run removals.";
    CORDONED_BY_OTHERS: Gauge<1> = "mainstay_nodes_cordoned_by_others", One, ["by"], NAMES, [Controller],
        "Nodes cordoned or tainted by another actor, by actor.";
    OTHER_REMEDIATOR: Gauge<1> = "mainstay_other_remediator_nodes", One, ["remediator"], NAMES, [Controller],
        "Nodes that another remediation tool is repairing, by tool.";
    NODES_TAINTED: Gauge<1> = "mainstay_nodes_tainted", One, ["key"], NAMES, [Controller],
        "Nodes with an unrelated taint, by taint key.";

    GPUS: Gauge<1> = "mainstay_gpus", One, ["state"], FIXED, [Controller, Ui],
        "Number of GPUs, by state: the stage of their node.";
    LARGEST_GANG: Gauge<2> = "mainstay_largest_gang_gpus", One, ["pool", "level"], POOLS, [Controller],
        "GPUs of the largest gang that fits now into one domain of the level, by pool.";
    INVENTORY_GPUS: Gauge<3> = "mainstay_inventory_gpus", One, ["model", "driver", "firmware"], VERSIONS, [Controller],
        "GPUs that agents report, by GPU model, driver version and firmware version.";
    DETECTION: Histogram<0> = "mainstay_detection_seconds", Seconds, [], 1, [Controller],
        "Time from the last evidence before it to the decision that a node is faulty, in seconds.";
    RETURN: Histogram<0> = "mainstay_return_seconds", Seconds, [], 1, [Controller],
        "Time from the detection of a fault to the return of the node to service, in seconds.";
    PENDING_PODS: Gauge<1> = "mainstay_pending_gpu_pods", One, ["queue"], QUEUES + 1, [Controller],
        "Pods that request GPUs and have no node, by queue.";
    PENDING_GPUS: Gauge<1> = "mainstay_pending_gpus", One, ["queue"], QUEUES + 1, [Controller],
        "GPUs that pods without a node request, by queue.";
    PENDING_SECONDS_MAX: Gauge<1> = "mainstay_pending_seconds_max", Seconds, ["queue"], QUEUES + 1, [Controller],
        "Longest time that a pod with GPU requests has waited for a node, in seconds, by queue.";
    JOBS: Counter<2> = "mainstay_jobs_total", One, ["queue", "outcome"], 4 * (QUEUES + 1), [Controller],
        "Jobs with GPUs that ended, by queue and outcome: success, infrastructure, user or preempted.";
    JOB_RESTARTS: Counter<1> = "mainstay_job_restarts_total", One, ["queue"], QUEUES + 1, [Controller],
        "Restarts of jobs with GPUs: containers that restarted, and jobs that got new pods after a failure, by queue.";
    JOB_WAIT: Histogram<1> = "mainstay_job_wait_seconds", Seconds, ["queue"], QUEUES + 1, [Controller],
        "Time from the creation of a job until all of its GPU pods had a node, in seconds, by queue.";
    CHECKPOINT_AGE_MAX: Gauge<1> = "mainstay_checkpoint_age_seconds_max", Seconds, ["queue"], QUEUES + 1, [Controller],
        "Time since the oldest last checkpoint among running jobs that report one, in seconds, by queue.";
    DEVICE_PLUGIN_RESTARTS: Counter<1> = "mainstay_device_plugin_restarts_total", One, ["node"], NODES_NAMED + 1, [Controller],
        "Container restarts of the GPU device plugin since the controller leads, by node.";

    LOST_GPU_SECONDS: Counter<0> = "mainstay_lost_gpu_seconds_total", Seconds, [], 1, [Ui],
        "GPU time lost by jobs, in seconds.";
    SAVED_GPU_SECONDS: Counter<0> = "mainstay_saved_gpu_seconds_total", Seconds, [], 1, [Ui],
        "GPU time saved by checkpoints on request, in seconds.";
    GPUS_OMITTED: Gauge<0> = "mainstay_metrics_gpus_omitted", One, [], 1, [Ui],
        "GPUs omitted from the series of single GPUs.";
    DCGM_GPU_TEMP: Gauge<7> = "DCGM_FI_DEV_GPU_TEMP", One, DCGM, GPUS_OF_FLEET, [Ui],
        "GPU temperature (in C).";
    DCGM_POWER_USAGE: Gauge<7> = "DCGM_FI_DEV_POWER_USAGE", One, DCGM, GPUS_OF_FLEET, [Ui],
        "Power draw (in W).";
    DCGM_GPU_UTIL: Gauge<7> = "DCGM_FI_DEV_GPU_UTIL", One, DCGM, GPUS_OF_FLEET, [Ui],
        "GPU utilization (in %).";
    DCGM_XID_ERRORS: Gauge<7> = "DCGM_FI_DEV_XID_ERRORS", One, DCGM, GPUS_OF_FLEET, [Ui],
        "Value of the last XID error encountered.";

    AGENT_INFO: Gauge<2> = "mainstay_agent_info", One, ["version", "boot_id"], 1, [Agent],
        "Version of the agent and id of the current boot; the value is always 1.";
    AGENT_UPTIME: Gauge<0> = "mainstay_agent_uptime_seconds", Seconds, [], 1, [Agent],
        "Time since the agent started, in seconds.";
    AGENT_VERSION_INFO: Gauge<2> = "mainstay_agent_version_info", One, ["name", "version"], FIXED, [Agent],
        "Installed software versions; the value is always 1.";
    AGENT_XIDS: Counter<2> = "mainstay_agent_xid_total", One, ["xid", "pci"], POOLS, [Agent],
        "XID events since boot, by XID code and PCI address.";
    AGENT_EVIDENCE: Counter<4> = "mainstay_agent_evidence_total", One, ["source", "code", "device", "detail"], FIXED, [Agent],
        "Evidence since boot, as written to the NodeReport.";
    AGENT_KERNEL_READ: Counter<0> = "mainstay_agent_kernel_records_read_total", One, [], 1, [Agent],
        "Kernel log entries read since boot.";
    AGENT_KERNEL_LOST: Counter<0> = "mainstay_agent_kernel_records_lost_total", One, [], 1, [Agent],
        "Kernel log entries overwritten before the agent read them.";
    AGENT_KERNEL_UNREADABLE: Counter<0> = "mainstay_agent_kernel_records_unreadable_total", One, [], 1, [Agent],
        "Kernel log entries that could not be parsed.";
    AGENT_KERNEL_BEFORE: Counter<0> = "mainstay_agent_kernel_records_before_total", One, [], 1, [Agent],
        "Kernel log entries overwritten before the agent first started in this boot.";
    AGENT_SOURCE_STALLED: Gauge<1> = "mainstay_agent_source_stalled", One, ["source"], FIXED, [Agent],
        "1 while a call of the source hangs.";
    AGENT_SOURCE_ROUNDS: Counter<1> = "mainstay_agent_source_rounds_total", One, ["source"], FIXED, [Agent],
        "Completed reads of the source.";
    AGENT_SOURCE_UNAVAILABLE: Gauge<1> = "mainstay_agent_source_unavailable", One, ["source"], FIXED, [Agent],
        "1 while the source cannot be read.";
    AGENT_STORE_WRITES: Counter<0> = "mainstay_agent_store_writes_total", One, [], 1, [Agent],
        "Writes of the state file.";
    AGENT_STORE_FAILURES: Counter<0> = "mainstay_agent_store_failures_total", One, [], 1, [Agent],
        "Failed writes of the state file.";
    AGENT_REPORTS_WRITTEN: Counter<0> = "mainstay_agent_reports_written_total", One, [], 1, [Agent],
        "NodeReport writes accepted by the API server.";
    AGENT_REPORTS_FAILED: Counter<0> = "mainstay_agent_reports_failed_total", One, [], 1, [Agent],
        "NodeReport writes that failed or were rejected.";
    AGENT_WATCHES: Counter<0> = "mainstay_agent_watches_total", One, [], 1, [Agent],
        "Watches of the GpuNode started.";
    AGENT_REPORT_AGE: Gauge<0> = "mainstay_agent_report_age_seconds", Seconds, [], 1, [Agent],
        "Seconds since the last accepted NodeReport, or since the agent started.";
    AGENT_NVML_OPEN: Gauge<0> = "mainstay_agent_nvml_open", One, [], 1, [Agent],
        "1 while the agent has NVML open.";
    AGENT_NVML_OPENED: Counter<0> = "mainstay_agent_nvml_opened_total", One, [], 1, [Agent],
        "Times the agent opened NVML.";
    AGENT_NVML_CPU: Counter<0> = "mainstay_agent_nvml_cpu_microseconds_total", Microseconds, [], 1, [Agent],
        "Processor time spent in NVML calls, in microseconds.";
    AGENT_GPU_CELSIUS: Gauge<2> = "mainstay_agent_gpu_celsius", Celsius, GPU, GPUS_OF_NODE, [Agent],
        "GPU temperature, in degrees Celsius.";
    AGENT_GPU_MARGIN: Gauge<2> = "mainstay_agent_gpu_margin_celsius", Celsius, GPU, GPUS_OF_NODE, [Agent],
        "Margin to the GPU slowdown temperature, in degrees Celsius.";
    AGENT_GPU_MEMORY: Gauge<2> = "mainstay_agent_gpu_memory_celsius", Celsius, GPU, GPUS_OF_NODE, [Agent],
        "GPU memory temperature, in degrees Celsius.";
    AGENT_GPU_WATTS: Gauge<2> = "mainstay_agent_gpu_watts", Watts, GPU, GPUS_OF_NODE, [Agent],
        "GPU power draw, in watts.";
    AGENT_GPU_WATTS_ENFORCED: Gauge<2> = "mainstay_agent_gpu_watts_enforced", Watts, GPU, GPUS_OF_NODE, [Agent],
        "GPU power limit in force, in watts.";
    AGENT_GPU_SM_MHZ: Gauge<2> = "mainstay_agent_gpu_sm_mhz", Megahertz, GPU, GPUS_OF_NODE, [Agent],
        "GPU SM clock, in MHz.";
    AGENT_GPU_BUSY: Gauge<2> = "mainstay_agent_gpu_busy_percent", Percent, GPU, GPUS_OF_NODE, [Agent],
        "GPU utilisation, in percent.";
    AGENT_GPU_REMAPPED_ROWS: Gauge<2> = "mainstay_agent_gpu_remapped_rows", One, GPU, GPUS_OF_NODE, [Agent],
        "GPU memory rows remapped over the lifetime of the GPU.";
    AGENT_GPU_NVLINKS_UP: Gauge<2> = "mainstay_agent_gpu_nvlinks_up", One, GPU, GPUS_OF_NODE, [Agent],
        "NVLinks of the GPU that are up.";
    AGENT_GPU_CLOCK_REASONS: Gauge<2> = "mainstay_agent_gpu_clock_reasons", One, GPU, GPUS_OF_NODE, [Agent],
        "Clock event reasons of the GPU, as the NVML bit mask.";
    AGENT_GPU_INFO: Gauge<3> = "mainstay_agent_gpu_info", One, ["gpu", "uuid", "pci"], GPUS_OF_NODE, [Agent],
        "PCI address of the GPU, as in mainstay_agent_xid_total; the value is always 1.";
    AGENT_GPU_MEMORY_USED: Gauge<2> = "mainstay_agent_gpu_memory_used_bytes", Bytes, GPU, GPUS_OF_NODE, [Agent],
        "GPU memory in use by processes, in bytes.";
    AGENT_GPU_MEMORY_SIZE: Gauge<2> = "mainstay_agent_gpu_memory_size_bytes", Bytes, GPU, GPUS_OF_NODE, [Agent],
        "GPU memory in all, including what the driver reserves, in bytes.";
    AGENT_GPU_PCIE_TRANSMIT: Counter<2> = "mainstay_agent_gpu_pcie_transmit_bytes_total", Bytes, GPU, GPUS_OF_NODE, [Agent],
        "Bytes that the GPU sent over PCIe since the driver was loaded.";
    AGENT_GPU_PCIE_RECEIVE: Counter<2> = "mainstay_agent_gpu_pcie_receive_bytes_total", Bytes, GPU, GPUS_OF_NODE, [Agent],
        "Bytes that the GPU received over PCIe since the driver was loaded.";
    AGENT_GPU_PCIE_REPLAYS: Counter<2> = "mainstay_agent_gpu_pcie_replays_total", One, GPU, GPUS_OF_NODE, [Agent],
        "PCIe packets of the GPU that were sent again, since the driver was loaded.";
    AGENT_GPU_NVLINK_ERRORS: Counter<2> = "mainstay_agent_gpu_nvlink_errors_total", One, GPU, GPUS_OF_NODE, [Agent],
        "Checksum errors, recoveries and uncorrected errors of all NVLinks of the GPU, since the driver was loaded.";
    AGENT_GPU_ECC_CORRECTED: Counter<2> = "mainstay_agent_gpu_ecc_corrected_total", One, GPU, GPUS_OF_NODE, [Agent],
        "Corrected ECC errors of the GPU since the driver was loaded.";
    AGENT_GPU_ECC_UNCORRECTED: Counter<2> = "mainstay_agent_gpu_ecc_uncorrected_total", One, GPU, GPUS_OF_NODE, [Agent],
        "Uncorrected ECC errors of the GPU since the driver was loaded.";
    AGENT_GPU_MIG_INSTANCES: Gauge<2> = "mainstay_agent_gpu_mig_instances", One, GPU, GPUS_OF_NODE, [Agent],
        "MIG instances of the GPU.";

    AGENT_DRIVER_RESTARTS: Counter<0> = "mainstay_agent_driver_restarts_total", One, [], 1, [Agent],
        "Times the GPU driver was unloaded and loaded again since the agent started.";
    AGENT_OOM_KILLS: Counter<0> = "mainstay_agent_oom_kills_total", One, [], 1, [Agent],
        "Processes that the kernel killed since boot because host memory ran out.";
    AGENT_RDMA_CNP_SENT: Counter<0> = "mainstay_agent_rdma_cnp_sent_total", One, [], 1, [Agent],
        "Congestion notification packets that the adapters of the node sent.";
    AGENT_RDMA_CNP_HANDLED: Counter<0> = "mainstay_agent_rdma_cnp_handled_total", One, [], 1, [Agent],
        "Congestion notification packets after which the adapters of the node sent more slowly.";
    AGENT_RDMA_ECN_MARKED: Counter<0> = "mainstay_agent_rdma_ecn_marked_total", One, [], 1, [Agent],
        "RoCE packets that the adapters of the node received with a congestion mark of a switch.";
    AGENT_RDMA_TRANSMIT_WAIT: Counter<0> = "mainstay_agent_rdma_transmit_wait_total", One, [], 1, [Agent],
        "Ticks in which a port of the node had data and could not send, for example after a pause frame.";

    SERIES_OMITTED: Gauge<0> = "mainstay_metrics_series_omitted", One, [], 1, [Controller, Agent, Ui],
        "Series left out of this response, because a metric reached its limit.";
}
