//! What a bundle is made of: each part with its time and its room. What needs no driver comes first, so that tools which hang
//! in one keep nobody else waiting.

use std::path::PathBuf;
use std::time::Duration;

use super::Plan;
use crate::text;
use crate::tools::Tools;

/// Adapters that links are asked of; nodes have eight or ten.
const ADAPTERS_MAX: usize = 16;

/// The last lines of a journal; at some 150 bytes each well within the room that a journal has.
const JOURNAL_LINES: &str = "100000";

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

/// One part.
#[derive(Debug, Clone)]
pub(super) struct Item {
    /// Its file.
    pub(super) name: String,
    pub(super) from: ItemSource,
    pub(super) time: Duration,
    pub(super) bytes_max: u64,
}

/// Where the content of a bundle part comes from.
#[derive(Debug, Clone)]
pub(super) enum ItemSource {
    /// What a program says.
    Program(Program),
    /// The kernel's log, read by ourselves.
    KernelLog,
    /// The daemon's evidence as it is kept.
    Store,
    /// The same as a report.
    Report,
    /// One look at everything that we read.
    Scan,
    /// The end of a file.
    Tail(PathBuf),
}

/// A program and what of it is taken.
#[derive(Debug, Clone)]
pub(super) struct Program {
    pub(super) name: &'static str,
    /// None where it is not on this machine.
    pub(super) path: Option<PathBuf>,
    pub(super) arguments: Vec<String>,
    /// Files of which it writes one, instead of saying anything; as it is or gzipped.
    pub(super) writes: &'static [&'static str],
}

/// Everything, in the order in which it is begun.
pub(super) fn all(plan: &Plan, tools: &Tools) -> Vec<Item> {
    let own = |name: &str, from, seconds, bytes_max| Item {
        name: name.to_owned(),
        from,
        time: Duration::from_secs(seconds),
        bytes_max,
    };
    let since = format!("@{}", plan.options.since.second());
    let mut items = vec![
        own("kernel.log", ItemSource::KernelLog, 10, 32 * MIB),
        own("store.json", ItemSource::Store, 5, 16 * MIB),
        own("report.json", ItemSource::Report, 5, MIB),
        own("scan.json", ItemSource::Scan, 15, 4 * MIB),
    ];
    // Only machines with switches of NVLink have one.
    let fabric = plan.settings.root.join("var/log/fabricmanager.log");
    if fabric.exists() {
        items.push(own("fabricmanager.log", ItemSource::Tail(fabric), 10, 16 * MIB));
    }
    let program = |name: String, program: &'static str, arguments: &[&str], seconds, bytes_max| {
        let arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        let from = ItemSource::Program(Program { name: program, path: tools.find(program), arguments, writes: &[] });
        Item { name, from, time: Duration::from_secs(seconds), bytes_max }
    };
    let journal = ["--no-pager", "-o", "short-iso-precise", "-n", JOURNAL_LINES, "--since", &since];
    // Of all boots: the fault may be what rebooted the machine.
    let kernel = [&journal[..], &["_TRANSPORT=kernel"]].concat();
    let services: Vec<&str> = SERVICES.iter().flat_map(|unit| ["-u", unit]).collect();
    let services = [&journal[..], &services].concat();
    items.extend([
        program("journal-kernel.txt".into(), "journalctl", &kernel, 30, 32 * MIB),
        program("journal-services.txt".into(), "journalctl", &services, 30, 16 * MIB),
        program("journal-boots.txt".into(), "journalctl", &["--no-pager", "--list-boots"], 20, MIB),
        program("lspci.txt".into(), "lspci", &["-vvv"], 30, 8 * MIB),
        program("lspci-tree.txt".into(), "lspci", &["-tnnv"], 20, MIB),
        program("ipmi-events.txt".into(), "ipmitool", &["sel", "elist"], 30, 4 * MIB),
    ]);
    let adapters = text::names(&plan.settings.sys.join("class/infiniband"), ADAPTERS_MAX).unwrap_or_default();
    if !adapters.is_empty() {
        items.push(program("ibstat.txt".into(), "ibstat", &[], 20, MIB));
    }
    for adapter in &adapters {
        let (link, counters) = (format!("mlxlink-{adapter}.txt"), format!("perfquery-{adapter}.txt"));
        items.push(program(link, "mlxlink", &["-d", adapter, "-m", "-c"], 30, MIB));
        items.push(program(counters, "perfquery", &["-C", adapter, "-x"], 20, MIB));
        let interfaces = plan.settings.sys.join("class/infiniband").join(adapter).join("device/net");
        for interface in text::names(&interfaces, 1).unwrap_or_default() {
            let optics = format!("optics-{interface}.txt");
            items.push(program(optics, "ethtool", &["-m", &interface], 20, MIB));
        }
    }
    items.extend([
        program("nvidia-smi.xml".into(), "nvidia-smi", &["-q", "-x"], 45, 16 * MIB),
        program("nvlink-status.txt".into(), "nvidia-smi", &["nvlink", "-s"], 30, MIB),
        program("nvlink-errors.txt".into(), "nvidia-smi", &["nvlink", "-e"], 30, MIB),
        program("topology.txt".into(), "nvidia-smi", &["topo", "-m"], 30, MIB),
        // The quick level: the deeper ones take the GPUs away from whoever works on them.
        program("dcgm-diag.json".into(), "dcgmi", &["diag", "-r", "1", "-j"], 60, 4 * MIB),
        bug_report(tools),
    ]);
    items
}

/// Services of the hardware. Others' journals are full of pods and jobs, and no vendor needs them.
const SERVICES: [&str; 9] = [
    "nvidia-persistenced",
    "nvidia-fabricmanager",
    "nvidia-imex",
    "nvidia-dcgm",
    "dcgm-exporter",
    "openibd",
    "opensm",
    "rasdaemon",
    "mainstay-agent",
];

/// NVIDIA's own script writes pieces of gzip one after the other into the folder where it is started (plain text on a machine
/// without gzip), so what there is when it is ended can be read.
fn bug_report(tools: &Tools) -> Item {
    let (name, writes) = ("nvidia-bug-report.sh", &["nvidia-bug-report.log.gz", "nvidia-bug-report.log"]);
    Item {
        name: "nvidia-bug-report.log".to_owned(),
        from: ItemSource::Program(Program { name, path: tools.find(name), arguments: Vec::new(), writes }),
        time: Duration::from_secs(100),
        bytes_max: 128 * MIB,
    }
}

// === impl Item ===

impl Item {
    /// The command, for who wants to run it again.
    pub(super) fn command(&self) -> Option<String> {
        match &self.from {
            ItemSource::Program(program) => {
                let words = std::iter::once(program.name).chain(program.arguments.iter().map(String::as_str));
                Some(words.collect::<Vec<_>>().join(" "))
            }
            ItemSource::KernelLog | ItemSource::Store | ItemSource::Report | ItemSource::Scan | ItemSource::Tail(_) => {
                None
            }
        }
    }
}
