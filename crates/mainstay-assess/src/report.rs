//! The report: one type for `-o json`, the terminal and the HTML page. Every number is counted here once.

mod build;
mod parts;
mod review;

use std::path::Path;

use mainstay_model::{RepairStep, Source, Urgency, WaitingOn};
use serde::Serialize;

use super::dropped::DropCount;
use super::tickets::FaultKind;
use super::unrecognised::{UnrecognisedList, UnrecognisedSection};
use super::{html, text};

pub(super) use build::{ReportOptions, build};

/// The format that this version writes.
pub(super) const FORMAT: u32 = 1;

/// The complete report, as `-o json` prints it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    pub(super) format: u32,
    pub(super) window: Window,
    pub(super) fleet: Fleet,
    pub(super) read: Vec<SourceVolume>,
    pub(super) skipped: Vec<DropCount>,
    /// Evidence by code, the most frequent first.
    pub(super) evidence: Vec<EvidenceLine>,
    /// Error lines that no parser knows, by template.
    pub(super) unrecognised: UnrecognisedSection,
    /// What Mainstay would have done, in order of time.
    pub(super) findings: Vec<Finding>,
    /// Faults attributed to shared infrastructure.
    pub(super) shared: Vec<SharedFaultLine>,
    /// The riskiest first.
    pub(super) lemons: Vec<LemonLine>,
    /// Parts with evidence, those with findings first.
    pub(super) parts: Vec<PartLine>,
    pub(super) stake: Exposure,
    /// Tickets compared with findings; absent without a ticket file.
    pub(super) tickets: Option<Review>,
    /// Current state of the cluster; absent without `--cluster`.
    pub(super) cluster: Option<super::cluster::ClusterSection>,
    /// Findings by week, the first beginning with the window.
    pub(super) weeks: Vec<Week>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Window {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) days: u64,
    #[serde(skip)]
    pub(super) from_ms: i64,
    #[serde(skip)]
    pub(super) to_ms: i64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Fleet {
    pub(super) nodes: u64,
    pub(super) gpus: u64,
    /// Nodes with a log or a series.
    pub(super) nodes_heard: u64,
    /// Nodes with evidence.
    pub(super) nodes_with_evidence: u64,
    /// GPUs whose serial a source named.
    pub(super) serials_known: u64,
    pub(super) boots: u64,
}

/// One kind of source with the amount of data read from it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SourceVolume {
    pub(super) kind: &'static str,
    #[serde(flatten)]
    pub(super) volume: super::input::Volume,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct EvidenceLine {
    pub(super) source: Source,
    pub(super) code: String,
    /// The kind of component that the code is about, as the fault catalogue names it.
    pub(super) component: &'static str,
    pub(super) kind: FaultKind,
    pub(super) count: u64,
    pub(super) nodes: u64,
    pub(super) parts: u64,
}

/// A part of a node, as far as the sources identify it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PartName {
    pub(super) node: String,
    /// Its slot; the node as a whole where absent.
    pub(super) slot: Option<String>,
    /// Absent where no source names it; node and slot identify it then.
    pub(super) serial: Option<String>,
    pub(super) kind: PartKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum PartKind {
    Gpu,
    Nic,
    Node,
}

/// One time that a rule flagged a node for removal from service.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Finding {
    pub(super) id: String,
    pub(super) node: String,
    pub(super) part: PartName,
    pub(super) rule: String,
    pub(super) kind: FaultKind,
    /// When a rule first flagged the node for removal.
    pub(super) found_at: String,
    /// When Mainstay would have removed it; absent if never.
    pub(super) would_act_at: Option<String>,
    /// What the removal was blocked on.
    pub(super) held_by: Option<WaitingOn>,
    /// When no rule flagged it any more; absent while open at the end of the logs.
    pub(super) ended_at: Option<String>,
    pub(super) urgency: Option<Urgency>,
    /// What would have been tried, in order.
    pub(super) plan: Vec<RepairStep>,
    /// Every rule that flagged it, with its part.
    pub(super) because: Vec<FlagReason>,
    /// First ticket or reboot; absent if there was none while it lasted.
    pub(super) reacted_at: Option<String>,
    pub(super) reaction: Reaction,
    /// GPU time of the node from the decision to the reaction.
    pub(super) gpu_seconds_at_stake: u64,
    pub(super) tickets: Vec<String>,
    #[serde(skip)]
    pub(super) found_ms: i64,
}

/// A rule that flagged the node, with the part and the time.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FlagReason {
    pub(super) rule: String,
    pub(super) part: PartName,
    pub(super) since: String,
}

/// The first reaction, as far as logs and tickets show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Reaction {
    Ticket,
    Boot,
    /// No reaction before the evidence was a day old.
    // The value in reports of format 1.
    #[serde(rename = "nobody")]
    Missing,
    /// The logs end before.
    Open,
}

/// One fault attributed to shared infrastructure, with its number of nodes.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SharedFaultLine {
    pub(super) subject: String,
    pub(super) rule: String,
    pub(super) since: String,
    pub(super) nodes: u64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LemonLine {
    pub(super) node: String,
    pub(super) named_at: String,
    pub(super) risk_ppm: u32,
    /// The factors of the risk with their counts.
    pub(super) because: String,
    /// The same factors in few words, for the terminal.
    #[serde(skip)]
    pub(super) because_short: String,
    pub(super) findings: u64,
    pub(super) tickets: u64,
    pub(super) gpu_seconds_at_stake: u64,
    /// Times of its findings, for the chart.
    #[serde(skip)]
    pub(super) found_ms: Vec<i64>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PartLine {
    #[serde(flatten)]
    pub(super) name: PartName,
    pub(super) first_at: String,
    pub(super) last_at: String,
    pub(super) findings: u64,
    pub(super) said: Vec<CodeCount>,
}

/// How often a part reported one code.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CodeCount {
    pub(super) source: Source,
    pub(super) code: String,
    pub(super) count: u64,
}

/// GPU time of faulty nodes between the decision and the first reaction. It is not lost work,
/// because the logs do not show the jobs.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Exposure {
    /// GPU time that nodes stayed in service after Mainstay would have removed them.
    pub(super) gpu_seconds: u64,
    /// Median time from the decision to the reaction.
    pub(super) reacted_p50_seconds: u64,
    /// 90th percentile of that time.
    pub(super) reacted_p90_seconds: u64,
    pub(super) reacted: u64,
    pub(super) by_kind: Vec<ExposureLine>,
}

/// Findings and GPU time of one kind of fault.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExposureLine {
    pub(super) kind: FaultKind,
    pub(super) findings: u64,
    pub(super) gpu_seconds: u64,
}

/// Tickets compared with findings.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Review {
    pub(super) tickets: u64,
    /// Tickets that belong to a finding and name the same cause, or none.
    pub(super) agree: u64,
    pub(super) without_finding: Vec<TicketLine>,
    /// Findings without a ticket, by id.
    pub(super) finding_without_ticket: Vec<String>,
    pub(super) different_cause: Vec<TicketLine>,
    /// Lead of Mainstay over the ticket: median and 90th percentile.
    pub(super) earlier_p50_seconds: u64,
    pub(super) earlier_p90_seconds: u64,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TicketLine {
    pub(super) id: String,
    pub(super) node: String,
    pub(super) opened_at: String,
    pub(super) cause: String,
    /// The kind of fault that its text names.
    pub(super) says: FaultKind,
    /// The finding it belongs to, and the kinds of evidence behind it.
    pub(super) finding: Option<String>,
    pub(super) shown: Vec<FaultKind>,
}

#[derive(Debug, Default, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Week {
    pub(super) from: String,
    pub(super) by_kind: Vec<(FaultKind, u64)>,
}

impl Report {
    /// The report on one screen. `page` is the file with the complete report, which the last line names.
    #[must_use]
    pub fn text(&self, page: Option<&Path>) -> String {
        text::text(self, page)
    }

    /// Templates of error lines that no parser knows, without hosts and times: fit to be sent to others.
    #[must_use]
    pub fn unrecognised(&self) -> UnrecognisedList<'_> {
        self.unrecognised.list()
    }

    /// The same templates as a table.
    #[must_use]
    pub fn unrecognised_text(&self) -> String {
        let table = self.unrecognised.text(usize::MAX);
        if table.is_empty() { "Unrecognised: none.\n".to_owned() } else { table }
    }

    /// The report as one self-contained HTML document.
    #[must_use]
    pub fn html(&self) -> String {
        html::page(self)
    }
}

impl PartName {
    /// `serial 1653922001234 in r1n2 (0000:1b:00.0)`, or the node and the slot.
    pub(super) fn words(&self) -> String {
        match (&self.serial, &self.slot) {
            (Some(serial), Some(slot)) => format!("{serial} ({slot})"),
            (Some(serial), None) => serial.clone(),
            (None, Some(slot)) => format!("{} {slot}", self.kind.word()),
            (None, None) => "the node".to_owned(),
        }
    }
}

impl PartKind {
    const fn word(self) -> &'static str {
        match self {
            Self::Gpu => "GPU",
            Self::Nic => "NIC",
            Self::Node => "node",
        }
    }
}
