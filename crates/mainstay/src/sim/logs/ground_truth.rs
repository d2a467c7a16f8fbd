//! Ground truth for checking a reader of the logs: counts of log lines by part, faults, lemons and tickets with known
//! errors.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};

use mainstay_sim::{FaultClass, KernelLogLine, TrueFault, TrueTicket};
use serde::Serialize;

use super::WriteContext;
use super::files::stamp;

/// Of so many tickets one is not written, and one names another cause; of so many nodes one has a ticket about nothing.
const DROPPED: usize = 10;
const WRONG: usize = 15;
const ABOUT_NOTHING: usize = 50;

/// Content of `truth.json`: evidence, faults, lemons and ticket errors.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GroundTruth {
    /// Lines of evidence, by part and code; of an adapter all codes together, as `mlx5`.
    pub(super) evidence: Vec<EvidenceCount>,
    pub(super) faults: Vec<Fault>,
    /// Lines with nothing behind them.
    pub(super) alarms: Vec<(String, String)>,
    pub(super) lemons: Vec<String>,
    pub(super) tickets: u64,
    /// Tickets of a fault that the log shows.
    shown_tickets: Vec<String>,
    pub(super) planted: TicketErrors,
}

/// Number of log lines with one code from one part.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct EvidenceCount {
    pub(super) node: String,
    pub(super) slot: String,
    pub(super) serial: String,
    pub(super) code: String,
    pub(super) count: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Fault {
    at: String,
    node: String,
    class: FaultClass,
    condemns: bool,
    printed_at: Option<String>,
    slot: Option<String>,
    serial: Option<String>,
    said: Vec<String>,
}

/// Deliberate disagreements between tickets and logs.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TicketErrors {
    /// Tickets that name another cause than the one that is in the log.
    wrong_cause: Vec<String>,
    /// Tickets about nodes with nothing wrong.
    about_nothing: Vec<String>,
    /// Faults that the log shows and nobody wrote a ticket for: node and when it was printed.
    dropped: Vec<(String, String)>,
}

/// Writes the tickets and the truth.
pub(super) fn write(writing: &WriteContext<'_>) -> io::Result<GroundTruth> {
    let mut truth = GroundTruth {
        evidence: evidence(&writing.lived.lines),
        faults: writing.lived.faults.iter().map(|fault| told(writing, fault)).collect(),
        alarms: writing.lived.alarms.iter().map(|(node, at)| (node.to_string(), written(writing.moved(*at)))).collect(),
        lemons: writing.lived.lemons.iter().map(ToString::to_string).collect(),
        tickets: 0,
        shown_tickets: Vec::new(),
        planted: TicketErrors::default(),
    };
    let mut rows = tickets(writing, &mut truth);
    rows.extend(about_nothing(writing, &mut truth.planted));
    rows.sort();
    truth.tickets = u64::try_from(rows.len()).unwrap_or(0);
    let mut out = BufWriter::new(File::create(writing.asked.out.join("tickets.csv"))?);
    writeln!(out, "opened_at,id,node,closed_at,cause")?;
    for [opened, id, node, closed, cause] in rows {
        writeln!(out, "{opened},{id},{node},{closed},\"{cause}\"")?;
    }
    out.flush()?;
    let text = serde_json::to_string_pretty(&truth).map_err(io::Error::other)?;
    fs::write(writing.asked.out.join("truth.json"), text + "\n")?;
    Ok(truth)
}

fn written(at_ms: i64) -> String {
    stamp(at_ms, "%Y-%m-%dT%H:%M:%SZ")
}

fn evidence(lines: &[KernelLogLine]) -> Vec<EvidenceCount> {
    let mut counts: BTreeMap<(String, String, String, String), u64> = BTreeMap::new();
    for line in lines {
        let Some((slot, serial)) = &line.about else { continue };
        let key = (line.node.to_string(), slot.to_string(), serial.to_string(), code_of(&line.text));
        *counts.entry(key).or_default() += 1;
    }
    let said = |((node, slot, serial, code), count)| EvidenceCount { node, slot, serial, code, count };
    counts.into_iter().map(said).collect()
}

/// `79` of an Xid, `mlx5` of everything that an adapter says.
fn code_of(text: &str) -> String {
    let behind = text.strip_prefix("NVRM: Xid (").and_then(|rest| rest.split_once("): "));
    behind.map_or_else(|| "mlx5".to_owned(), |(_, rest)| rest.chars().take_while(char::is_ascii_digit).collect())
}

fn told(writing: &WriteContext<'_>, fault: &TrueFault) -> Fault {
    let (slot, serial) = fault.about.as_ref().map(|(slot, serial)| (slot.to_string(), serial.to_string())).unzip();
    Fault {
        at: written(writing.moved(fault.at)),
        node: fault.node.to_string(),
        class: fault.class,
        condemns: fault.class.condemns(),
        printed_at: fault.printed_at.map(|at| written(writing.moved(at))),
        slot,
        serial,
        said: fault.said.iter().map(|line| code_of(line)).collect(),
    }
}

/// A ticket for every visit of people, but for those that are left out or turned wrong on purpose. Only what the log shows
/// can be turned wrong: of the rest nobody could tell.
fn tickets(writing: &WriteContext<'_>, truth: &mut GroundTruth) -> Vec<[String; 5]> {
    let GroundTruth { planted, shown_tickets, .. } = truth;
    let mut rows = Vec::new();
    for (number, ticket) in writing.lived.tickets.iter().enumerate() {
        let id = format!("T{:05}", number + 1);
        let faults: Vec<&TrueFault> = ticket.faults.iter().filter_map(|at| writing.lived.faults.get(*at)).collect();
        let shown = faults.iter().find(|fault| is_shown(fault, ticket));
        if let Some(fault) = shown.filter(|_| number % DROPPED == 3) {
            let at = fault.printed_at.map_or_else(String::new, |at| written(writing.moved(at)));
            planted.dropped.push((ticket.node.to_string(), at));
            continue;
        }
        let mut cause = shown.or(faults.first()).map_or("checked, nothing found", |fault| words(fault));
        if let Some(fault) = shown.filter(|_| number % WRONG == 4) {
            cause = if words(fault).contains("PSU") { "cable replaced" } else { "PSU failed, power supply replaced" };
            planted.wrong_cause.push(id.clone());
        }
        shown_tickets.extend(shown.map(|_| id.clone()));
        let closed = ticket.closed_at.map_or_else(String::new, |at| written(writing.moved(at)));
        rows.push([written(writing.moved(ticket.opened_at)), id, ticket.node.to_string(), closed, cause.to_owned()]);
    }
    rows
}

fn is_shown(fault: &TrueFault, ticket: &TrueTicket) -> bool {
    fault.class.condemns() && fault.printed_at.is_some_and(|at| at <= ticket.opened_at)
}

/// What a person would write of a fault: what its lines say, in a person's words.
fn words(fault: &TrueFault) -> &'static str {
    let said: Vec<String> = fault.said.iter().map(|line| code_of(line)).collect();
    match said.first().map(String::as_str) {
        Some("79") => "GPU fell off the bus",
        Some("74") => "NVLink error, GPU reseated",
        Some("119") => "GSP timeout, GPU reset",
        Some("64") => "row remap failure, GPU replaced",
        Some("63") => "ECC: row remap pending",
        Some("94") => "contained ECC error",
        Some("48" | "95") => "uncontained ECC error",
        Some("mlx5") => "NIC or cable replaced",
        Some(_) => "GPU fault",
        None => match fault.class {
            FaultClass::HostHardware => "host died, PSU or board",
            FaultClass::RackPower => "rack lost power",
            FaultClass::FailSlowOnset => "slow node",
            FaultClass::GpuSilentDataCorruption => "wrong results, GPU replaced",
            FaultClass::HostUnplannedMaintenance => "maintenance of the host",
            FaultClass::GpuHardFault | FaultClass::GpuHbmUncorrectable | FaultClass::GpuSramGspThermal => "GPU fault",
            FaultClass::NvlinkTransient | FaultClass::DeliveryDefect => "GPU fault",
            FaultClass::NicHardFault | FaultClass::LinkHardFault => "NIC or cable replaced",
            FaultClass::LinkFlap | FaultClass::LeafSwitchCrash => "network down",
            FaultClass::SoftwareAndWatchdog => "job failed",
        },
    }
}

/// Tickets about nodes that said nothing at all in the week around them.
fn about_nothing(writing: &WriteContext<'_>, planted: &mut TicketErrors) -> Vec<[String; 5]> {
    let half = i64::from(writing.asked.world.days) * super::DAY_MS / 2;
    let mut rows = Vec::new();
    for (number, placed) in writing.lived.nodes.iter().enumerate().filter(|(number, _)| number % ABOUT_NOTHING == 7) {
        let is_near = |line: &KernelLogLine| line.node == placed.node && (line.at.0 - half).abs() < 7 * super::DAY_MS;
        if writing.lived.lines.iter().any(is_near) {
            continue;
        }
        let id = format!("N{:05}", number + 1);
        let opened = writing.first_ms + half;
        planted.about_nothing.push(id.clone());
        rows.push([
            written(opened),
            id,
            placed.node.to_string(),
            written(opened + 3_600_000),
            "GPU fell off the bus".into(),
        ]);
    }
    rows
}
