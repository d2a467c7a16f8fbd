//! The agent's own series in the Prometheus text format. Names and labels are part of what others may rely on; every list
//! is bounded where it is kept.

use std::fmt::Write as _;
use std::time::Duration;

use mainstay_model::Serial;

use crate::agent::Agent;
use crate::sources::SourceName;

/// All series.
pub(crate) fn text(agent: &Agent, up: Duration) -> String {
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
    if let Some(keeper) = agent.keeper() {
        let (writes, failures) = keeper.writes();
        out.head("mainstay_agent_store_writes_total", "counter", "How often the store was written.");
        out.series("mainstay_agent_store_writes_total", &[], writes);
        out.head("mainstay_agent_store_failures_total", "counter", "How often it could not be.");
        out.series("mainstay_agent_store_failures_total", &[], failures);
    }
    out.0
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

struct Out(String);

impl Out {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn series(&mut self, name: &str, labels: &[(&str, &str)], value: u64) {
        self.0.push_str(name);
        for (at, (label, text)) in labels.iter().enumerate() {
            let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(self.0, "{}{label}=\"{text}\"", if at == 0 { "{" } else { "," });
        }
        let _ = writeln!(self.0, "{} {value}", if labels.is_empty() { "" } else { "}" });
    }
}
