//! `scan`: reads every source once, for an operator on a node. Counters are printed as they are, because one read has no
//! earlier value to compare with. Evidence is what the kernel log has of this boot, and abnormal states now.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use mainstay_model::{BootId, Evidence, Serial};
use mainstay_signal::{CurrentReading, Flag, Value};
use serde::Serialize;
use tokio::time::{Instant, timeout_at};

use crate::agent::{Agent, SourceEvent};
use crate::kmsg::StartPosition;
use crate::output::{self, Format, Outcome, Problem};
use crate::settings::{HoldMode, Settings};
use crate::sources::SourceName;
use crate::sources::nvml::GpuStatus;
use crate::sources::versions::Versions;
use crate::store::Store;

/// How long a person waits for sources that hang.
const LIMIT: Duration = Duration::from_secs(8);

/// How long the driver is waited for at the end.
const LET_GO: Duration = Duration::from_secs(1);

/// Everything that one scan of the node found, as `scan` prints it.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct ScanResult {
    health: &'static str,
    boot_id: String,
    versions: Versions,
    /// How GPUs run.
    gpus: Vec<GpuStatus>,
    /// Of the kernel log, counted since boot.
    evidence: Vec<Evidence>,
    /// Not as it should be now.
    states: Vec<Row>,
    /// Counters that are not zero; since when they count, only their driver knows.
    counters: Vec<Row>,
    kernel_records: u64,
    /// What could not be looked at.
    unseen: BTreeMap<&'static str, String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    place: String,
    source: String,
    code: String,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
}

pub(crate) async fn run(
    mut settings: Settings,
    boot: BootId,
    since_clear: bool,
    format: Format,
) -> Result<output::CommandOutput, Problem> {
    // One look needs no events, and so nothing is held after it.
    settings.nvml_hold = HoldMode::Nothing;
    let from = if since_clear { StartPosition::Cleared } else { StartPosition::Oldest };
    let mut waits = settings.sources();
    let no_threads = |error: std::io::Error| {
        Problem::new("the agent cannot start", error, "check the resource limits of the process (ulimit).")
    };
    let mut agent = Agent::start(settings, Store::new(boot), None, from).map_err(no_threads)?;
    let mut seen = ScanResult::default();
    let end = Instant::now() + LIMIT;
    while !waits.is_empty() {
        let Ok(happened) = timeout_at(end, agent.next()).await else { break };
        match happened.map_err(no_threads)?.event {
            Some(SourceEvent::CaughtUp) => waits.retain(|source| *source != SourceName::KernelLog),
            Some(SourceEvent::Looked { source, readings, trouble }) => {
                // The kernel log first says that it is open, and is done when it is read.
                if source != SourceName::KernelLog || trouble {
                    waits.retain(|waiting| *waiting != source);
                }
                seen.take(&readings);
            }
            None => {}
        }
    }
    seen.end(&agent, &waits);
    agent.end(LET_GO).await;
    let found = match (seen.evidence.is_empty() && seen.states.is_empty(), seen.unseen.is_empty()) {
        (false, _) => Outcome::Evidence,
        (true, false) => Outcome::Unseen,
        (true, true) => Outcome::Nothing,
    };
    seen.health = match found {
        Outcome::Evidence => "evidence",
        Outcome::Unseen => "nothing found, some sources unavailable",
        Outcome::Nothing | Outcome::Closed | Outcome::NotBegun => "nothing found",
    };
    let text = match format {
        Format::Text => seen.text(),
        Format::Json => output::json(&seen, true)?,
    };
    Ok(output::CommandOutput { text, outcome: found })
}

// === impl ScanResult ===

impl ScanResult {
    fn take(&mut self, readings: &[(mainstay_signal::Place, mainstay_signal::Reading)]) {
        for (place, reading) in readings {
            let CurrentReading { source, code, detail, value } = reading.current();
            let row = |count| Row {
                place: place.to_string(),
                source: format!("{source:?}"),
                code: code.to_owned(),
                detail,
                count,
            };
            match value {
                Value::State(Flag::Set) => self.states.push(row(None)),
                Value::Total(count) if count > 0 => self.counters.push(row(Some(count))),
                Value::State(Flag::Clear) | Value::Total(_) => {}
            }
        }
    }

    fn end(&mut self, agent: &Agent, waits: &[SourceName]) {
        let store = agent.store();
        self.boot_id = store.boot().to_string();
        self.versions = store.versions();
        self.evidence = store.evidence().as_slice().to_vec();
        self.kernel_records = store.log().read;
        self.gpus = store.gpus_now().to_vec();
        for (source, trouble) in store.troubles() {
            self.unseen.insert(source.word(), trouble.what.clone());
        }
        for source in waits {
            let mut text = format!("no response within {} s; the call hangs", LIMIT.as_secs());
            if *source == SourceName::Nvml {
                let _ = write!(text, " in {}", agent.guest().doing().words());
            }
            self.unseen.insert(source.word(), text);
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        let known = |version: &Option<String>| version.clone().unwrap_or_else(|| "unknown".to_owned());
        let Versions { board, product, driver, firmware, kernel, more } = &self.versions;
        let _ = writeln!(text, "{}", self.health);
        for (name, value) in [
            ("boot", self.boot_id.clone()),
            ("board", known(board)),
            ("GPU", known(product)),
            ("driver", known(driver)),
            ("firmware", known(firmware)),
            ("kernel", known(kernel)),
            ("log", format!("{} entries read", self.kernel_records)),
        ] {
            let _ = writeln!(text, "  {name:<10} {value}");
        }
        for (name, version) in more {
            let _ = writeln!(text, "  {name:<10} {version}");
        }
        self.gpu_table(&mut text);
        if !self.evidence.is_empty() {
            let rows = self.evidence.iter().map(|piece| {
                let device = piece.key.device.as_ref().map_or("node", Serial::as_str).to_owned();
                let moment = jiff::Timestamp::from_millisecond(piece.last_seen_at.0).unwrap_or(jiff::Timestamp::MAX);
                let count = piece.count.to_string();
                let key = &piece.key;
                [
                    format!("{:?}", key.source),
                    key.code.to_string(),
                    device,
                    count,
                    format!("{moment:.0}"),
                    key.detail.to_string(),
                ]
            });
            table(&mut text, "Evidence since boot", ["SOURCE", "CODE", "DEVICE", "COUNT", "LAST", "DETAIL"], rows);
        }
        for (title, rows) in [("Abnormal states", &self.states), ("Non-zero counters", &self.counters)] {
            if rows.is_empty() {
                continue;
            }
            let rows = rows.iter().map(|row| {
                let count = row.count.map_or_else(String::new, |count| count.to_string());
                [row.source.clone(), row.code.clone(), row.place.clone(), count, row.detail.clone()]
            });
            table(&mut text, title, ["SOURCE", "CODE", "PLACE", "COUNT", "DETAIL"], rows);
        }
        if !self.unseen.is_empty() {
            let rows = self.unseen.iter().map(|(source, why)| [(*source).to_owned(), why.clone()]);
            table(&mut text, "Sources unavailable", ["SOURCE", "REASON"], rows);
        }
        text
    }
}

impl ScanResult {
    fn gpu_table(&self, text: &mut String) {
        if self.gpus.is_empty() {
            return;
        }
        let number = |value: Option<u32>, unit: &str| value.map_or_else(String::new, |value| format!("{value}{unit}"));
        let rows = self.gpus.iter().map(|gpu| {
            let margin = gpu.margin_celsius.map_or_else(String::new, |margin| format!("{margin} C"));
            let mig = match &gpu.mig {
                Some(mig) if mig.enabled => format!("{} instances", mig.instances.len()),
                Some(_) | None => "off".to_owned(),
            };
            [
                gpu.index.to_string(),
                gpu.pci.clone(),
                number(gpu.celsius, " C"),
                margin,
                number(gpu.watts, " W"),
                number(gpu.watts_enforced, " W"),
                number(gpu.sm_mhz, " MHz"),
                format!("{}/{}", gpu.links_up, gpu.links),
                number(gpu.busy_percent, " %"),
                mig,
            ]
        });
        let head = ["GPU", "PCI", "TEMP", "MARGIN", "POWER", "LIMIT", "CLOCK", "LINKS", "UTIL", "MIG"];
        table(text, "GPUs", head, rows);
    }
}

/// Columns as wide as their widest word, two spaces between.
fn table<const COLUMNS: usize>(
    text: &mut String,
    title: &str,
    head: [&str; COLUMNS],
    rows: impl Iterator<Item = [String; COLUMNS]>,
) {
    let rows: Vec<[String; COLUMNS]> = std::iter::once(head.map(str::to_owned)).chain(rows).collect();
    let widths: [usize; COLUMNS] =
        std::array::from_fn(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0));
    let _ = writeln!(text, "\n{title}");
    for row in rows {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        let _ = writeln!(text, "  {}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
}
