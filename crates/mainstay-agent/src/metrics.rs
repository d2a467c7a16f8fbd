//! The agent's own series in the Prometheus text format. Names and labels are part of what others may rely on; every list
//! is bounded where it is kept.

use std::fmt::Write as _;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mainstay_model::Serial;

use crate::agent::Agent;
use crate::cluster::Counts;
use crate::sources::SourceName;
use crate::sources::nvml::GpuNow;

/// All series.
pub(crate) fn text(agent: &Agent, cluster: Option<&Counts>, up: Duration) -> String {
    let mut out = Out(String::with_capacity(8 * 1024));
    let store = agent.store();
    let version = env!("CARGO_PKG_VERSION");
    out.head("mainstay_agent_info", "gauge", "The agent: its version and the boot it runs in.");
    out.series("mainstay_agent_info", &[("version", version), ("boot_id", store.boot().as_str())], 1);
    out.head("mainstay_agent_up_seconds", "counter", "How long it has run.");
    out.series("mainstay_agent_up_seconds", &[], up.as_secs());
    out.head("mainstay_agent_xid_total", "counter", "XID events of this boot, every one, by code and place.");
    for (xid, pci, count) in store.xids().iter() {
        out.series("mainstay_agent_xid_total", &[("xid", xid), ("pci", pci)], count);
    }
    out.head("mainstay_agent_evidence_total", "counter", "Evidence of this boot, as it is reported.");
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
        (
            "mainstay_agent_kernel_records_read_total",
            "Records of the kernel log that were read in this boot.",
            log.read,
        ),
        ("mainstay_agent_kernel_records_lost_total", "Records that were overwritten unread.", log.lost),
        ("mainstay_agent_kernel_records_unreadable_total", "Records that were none.", log.unreadable),
        ("mainstay_agent_kernel_records_before_total", "Records gone before the agent first looked.", log.before),
    ] {
        out.head(name, "counter", help);
        out.series(name, &[], value);
    }
    sources(agent, &mut out);
    nvml(agent, &mut out);
    if let Some(keeper) = agent.keeper() {
        let (writes, failures) = keeper.writes();
        out.head("mainstay_agent_store_writes_total", "counter", "How often the store was written.");
        out.series("mainstay_agent_store_writes_total", &[], writes);
        out.head("mainstay_agent_store_failures_total", "counter", "How often it could not be.");
        out.series("mainstay_agent_store_failures_total", &[], failures);
    }
    if let Some(counts) = cluster {
        reports(counts, &mut out);
    }
    out.0
}

/// What became of the reports.
fn reports(counts: &Counts, out: &mut Out) {
    for (name, kind, help, value) in [
        ("mainstay_agent_reports_written_total", "counter", "Reports that the API server took.", &counts.written),
        ("mainstay_agent_reports_failed_total", "counter", "Writes of a report that it did not take.", &counts.failed),
        ("mainstay_agent_watches_total", "counter", "How often the watch of the GpuNode began.", &counts.watches),
    ] {
        out.head(name, kind, help);
        out.series(name, &[], value.load(Ordering::Relaxed));
    }
    let help = "How long ago a report was last taken, or since when none was.";
    out.head("mainstay_agent_report_age_seconds", "gauge", help);
    out.series("mainstay_agent_report_age_seconds", &[], counts.age().as_secs());
}

fn sources(agent: &Agent, out: &mut Out) {
    out.head("mainstay_agent_source_stalled", "gauge", "Whether a thread does not come back from a call.");
    for pulse in agent.pulses() {
        out.series("mainstay_agent_source_stalled", &[("source", pulse.name())], u64::from(pulse.stalled()));
    }
    out.head("mainstay_agent_source_rounds_total", "counter", "How often a thread came back.");
    for pulse in agent.pulses() {
        out.series("mainstay_agent_source_rounds_total", &[("source", pulse.name())], pulse.rounds());
    }
    out.head("mainstay_agent_source_blind", "gauge", "Whether a source could not read what it should.");
    for source in SourceName::ALL {
        let blind = agent.store().troubles().get(&source).is_some_and(|trouble| trouble.blind);
        out.series("mainstay_agent_source_blind", &[("source", source.word())], u64::from(blind));
    }
    out.head("mainstay_agent_version_info", "gauge", "What is installed, as files tell it.");
    let versions = agent.store().versions();
    let known = [("driver", &versions.driver), ("firmware", &versions.firmware), ("kernel", &versions.kernel)];
    let known = known.into_iter().filter_map(|(name, version)| Some((name, version.as_deref()?)));
    for (name, version) in known.chain(versions.more.iter().map(|(name, version)| (&**name, &**version))) {
        out.series("mainstay_agent_version_info", &[("name", name), ("version", version)], 1);
    }
}

/// How NVML is held, and how GPUs run.
fn nvml(agent: &Agent, out: &mut Out) {
    let guest = agent.guest();
    let cpu = u64::try_from(guest.cpu().as_micros()).unwrap_or(u64::MAX);
    for (name, kind, help, value) in [
        ("mainstay_agent_nvml_open", "gauge", "Whether NVML is open.", u64::from(!guest.is_free())),
        ("mainstay_agent_nvml_opened_total", "counter", "How often NVML was opened.", guest.opened()),
        ("mainstay_agent_nvml_cpu_microseconds_total", "counter", "Time on a processor within NVML.", cpu),
    ] {
        out.head(name, kind, help);
        out.series(name, &[], value);
    }
    type Of = fn(&GpuNow) -> Option<i64>;
    let series: [(&str, &str, Of); 11] = [
        ("celsius", "How hot the chip is.", |gpu| gpu.celsius.map(i64::from)),
        ("margin_celsius", "How far it is from slowing down.", |gpu| gpu.margin_celsius.map(i64::from)),
        ("memory_celsius", "How hot its memory is.", |gpu| gpu.memory_celsius.map(i64::from)),
        ("watts", "What it draws.", |gpu| gpu.watts.map(i64::from)),
        ("watts_enforced", "The power limit in force.", |gpu| gpu.watts_enforced.map(i64::from)),
        ("sm_mhz", "The clock of its multiprocessors.", |gpu| gpu.sm_mhz.map(i64::from)),
        ("busy_percent", "How busy it is.", |gpu| gpu.busy_percent.map(i64::from)),
        ("remapped_rows", "Rows that were remapped in its life.", |gpu| gpu.remapped_rows.map(i64::from)),
        ("nvlinks_up", "NVLinks that are up.", |gpu| Some(i64::from(gpu.links_up))),
        ("clock_reasons", "Why the clock is no faster, as NVML's bits.", |gpu| {
            gpu.clock_reasons.and_then(|bits| i64::try_from(bits).ok())
        }),
        ("mig_instances", "Instances that it is cut into.", |gpu| {
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

struct Out(String);

impl Out {
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
