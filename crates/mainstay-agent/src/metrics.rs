//! The agent's own series in the Prometheus text format. Names and labels are part of what others may rely on; every list
//! is bounded where it is kept.

use std::fmt::Write as _;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mainstay_model::Serial;

use crate::agent::Agent;
use crate::cluster::Counts;
use crate::sources::SourceName;
use crate::sources::nvml::GpuStatus;

/// All series.
pub(crate) fn text(agent: &Agent, cluster: Option<&Counts>, up: Duration) -> String {
    let mut out = MetricsText(String::with_capacity(8 * 1024));
    let store = agent.store();
    let version = env!("CARGO_PKG_VERSION");
    out.head("mainstay_agent_info", "gauge", "Version of the agent and id of the current boot.");
    out.series("mainstay_agent_info", &[("version", version), ("boot_id", store.boot().as_str())], 1);
    out.head("mainstay_agent_uptime_seconds", "counter", "Time since the agent started, in seconds.");
    out.series("mainstay_agent_uptime_seconds", &[], up.as_secs());
    out.head("mainstay_agent_xid_total", "counter", "XID events since boot, by XID code and PCI address.");
    for (xid, pci, count) in store.xids().iter() {
        out.series("mainstay_agent_xid_total", &[("xid", xid), ("pci", pci)], count);
    }
    out.head("mainstay_agent_evidence_total", "counter", "Evidence since boot, as written to the NodeReport.");
    for piece in store.evidence().as_slice() {
        let source = format!("{:?}", piece.key.source);
        let device = piece.key.device.as_ref().map_or("", Serial::as_str);
        let labels = [
            ("source", &*source),
            ("code", piece.key.code.as_str()),
            ("device", device),
            ("detail", piece.key.detail.as_str()),
        ];
        out.series("mainstay_agent_evidence_total", &labels, piece.count);
    }
    let log = store.log();
    for (name, help, value) in [
        ("mainstay_agent_kernel_records_read_total", "Kernel log entries read since boot.", log.read),
        (
            "mainstay_agent_kernel_records_lost_total",
            "Kernel log entries overwritten before the agent read them.",
            log.lost,
        ),
        (
            "mainstay_agent_kernel_records_unreadable_total",
            "Kernel log entries that could not be parsed.",
            log.unreadable,
        ),
        (
            "mainstay_agent_kernel_records_before_total",
            "Kernel log entries overwritten before the agent first started in this boot.",
            log.before,
        ),
    ] {
        out.head(name, "counter", help);
        out.series(name, &[], value);
    }
    sources(agent, &mut out);
    nvml(agent, &mut out);
    if let Some(keeper) = agent.keeper() {
        let (writes, failures) = keeper.writes();
        out.head("mainstay_agent_store_writes_total", "counter", "Writes of the state file.");
        out.series("mainstay_agent_store_writes_total", &[], writes);
        out.head("mainstay_agent_store_failures_total", "counter", "Failed writes of the state file.");
        out.series("mainstay_agent_store_failures_total", &[], failures);
    }
    if let Some(counts) = cluster {
        reports(counts, &mut out);
    }
    out.0
}

/// What became of the reports.
fn reports(counts: &Counts, out: &mut MetricsText) {
    for (name, kind, help, value) in [
        (
            "mainstay_agent_reports_written_total",
            "counter",
            "NodeReport writes accepted by the API server.",
            &counts.written,
        ),
        (
            "mainstay_agent_reports_failed_total",
            "counter",
            "NodeReport writes that failed or were rejected.",
            &counts.failed,
        ),
        ("mainstay_agent_watches_total", "counter", "Watches of the GpuNode started.", &counts.watches),
    ] {
        out.head(name, kind, help);
        out.series(name, &[], value.load(Ordering::Relaxed));
    }
    let help = "Seconds since the last accepted NodeReport, or since the agent started.";
    out.head("mainstay_agent_report_age_seconds", "gauge", help);
    out.series("mainstay_agent_report_age_seconds", &[], counts.age().as_secs());
}

fn sources(agent: &Agent, out: &mut MetricsText) {
    out.head("mainstay_agent_source_stalled", "gauge", "1 while a call of the source hangs.");
    for pulse in agent.pulses() {
        out.series("mainstay_agent_source_stalled", &[("source", pulse.name())], u64::from(pulse.stalled()));
    }
    out.head("mainstay_agent_source_rounds_total", "counter", "Completed reads of the source.");
    for pulse in agent.pulses() {
        out.series("mainstay_agent_source_rounds_total", &[("source", pulse.name())], pulse.rounds());
    }
    out.head("mainstay_agent_source_unavailable", "gauge", "1 while the source cannot be read.");
    for source in SourceName::ALL {
        let blind = agent.store().troubles().get(&source).is_some_and(|trouble| trouble.unavailable);
        out.series("mainstay_agent_source_unavailable", &[("source", source.word())], u64::from(blind));
    }
    out.head("mainstay_agent_version_info", "gauge", "Installed software versions; the value is always 1.");
    let versions = agent.store().versions();
    let known = [("driver", &versions.driver), ("firmware", &versions.firmware), ("kernel", &versions.kernel)];
    let known = known.into_iter().filter_map(|(name, version)| Some((name, version.as_deref()?)));
    for (name, version) in known.chain(versions.more.iter().map(|(name, version)| (&**name, &**version))) {
        out.series("mainstay_agent_version_info", &[("name", name), ("version", version)], 1);
    }
}

/// How NVML is held, and how GPUs run.
fn nvml(agent: &Agent, out: &mut MetricsText) {
    let guest = agent.guest();
    let cpu = u64::try_from(guest.cpu().as_micros()).unwrap_or(u64::MAX);
    for (name, kind, help, value) in [
        ("mainstay_agent_nvml_open", "gauge", "1 while the agent has NVML open.", u64::from(!guest.is_free())),
        ("mainstay_agent_nvml_opened_total", "counter", "Times the agent opened NVML.", guest.opened()),
        (
            "mainstay_agent_nvml_cpu_microseconds_total",
            "counter",
            "Processor time spent in NVML calls, in microseconds.",
            cpu,
        ),
    ] {
        out.head(name, kind, help);
        out.series(name, &[], value);
    }
    /// Returns one metric value of a GPU, if the GPU has it.
    type GpuValue = fn(&GpuStatus) -> Option<i64>;
    let series: [(&str, &str, GpuValue); 11] = [
        ("celsius", "GPU temperature, in degrees Celsius.", |gpu| gpu.celsius.map(i64::from)),
        ("margin_celsius", "Margin to the GPU slowdown temperature, in degrees Celsius.", |gpu| {
            gpu.margin_celsius.map(i64::from)
        }),
        ("memory_celsius", "GPU memory temperature, in degrees Celsius.", |gpu| gpu.memory_celsius.map(i64::from)),
        ("watts", "GPU power draw, in watts.", |gpu| gpu.watts.map(i64::from)),
        ("watts_enforced", "GPU power limit in force, in watts.", |gpu| gpu.watts_enforced.map(i64::from)),
        ("sm_mhz", "GPU SM clock, in MHz.", |gpu| gpu.sm_mhz.map(i64::from)),
        ("busy_percent", "GPU utilisation, in percent.", |gpu| gpu.busy_percent.map(i64::from)),
        ("remapped_rows", "GPU memory rows remapped over the lifetime of the GPU.", |gpu| {
            gpu.remapped_rows.map(i64::from)
        }),
        ("nvlinks_up", "NVLinks of the GPU that are up.", |gpu| Some(i64::from(gpu.links_up))),
        ("clock_reasons", "Clock event reasons of the GPU, as the NVML bit mask.", |gpu| {
            gpu.clock_reasons.and_then(|bits| i64::try_from(bits).ok())
        }),
        ("mig_instances", "MIG instances of the GPU.", |gpu| {
            gpu.mig.as_ref().and_then(|mig| i64::try_from(mig.instances.len()).ok())
        }),
    ];
    for (what, help, of) in series {
        let name = format!("mainstay_agent_gpu_{what}");
        out.head(&name, "gauge", help);
        for gpu in agent.store().gpus_now() {
            if let Some(value) = of(gpu) {
                out.series(&name, &[("gpu", &gpu.index.to_string()), ("pci", &gpu.pci)], value);
            }
        }
    }
}

/// Text in the Prometheus format that is being written.
struct MetricsText(String);

impl MetricsText {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn series(&mut self, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        self.0.push_str(name);
        for (at, (label, text)) in labels.iter().enumerate() {
            let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(self.0, "{}{label}=\"{text}\"", if at == 0 { "{" } else { "," });
        }
        let _ = writeln!(self.0, "{} {value}", if labels.is_empty() { "" } else { "}" });
    }
}
