//! What is told in the end: the same type for `-o json`, the terminal and the page. Everything that is counted is counted
//! here once.

mod build;
mod parts;
mod review;

use mainstay_model::{Rung, Source, Urgency, WaitingOn};
use serde::Serialize;

use super::skipped::SkippedLine;
use super::tickets::Kind;

pub(super) use build::{Asked, build};

/// The format that this version writes.
pub(super) const FORMAT: u32 = 1;

/// Everything.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    pub(super) format: u32,
    pub(super) window: Window,
    pub(super) fleet: Fleet,
    pub(super) read: Vec<Read>,
    pub(super) skipped: Vec<SkippedLine>,
    /// What machines said, by code, the most frequent first.
    pub(super) evidence: Vec<EvidenceLine>,
    /// What would have been done, in the order of time.
    pub(super) findings: Vec<Finding>,
    /// What many nodes shared.
    pub(super) shared: Vec<SharedLine>,
    /// The riskiest first.
    pub(super) lemons: Vec<LemonLine>,
    /// Parts that said anything, those with findings first.
    pub(super) parts: Vec<PartLine>,
    pub(super) stake: Stake,
    /// How tickets compare; none where there were none to read.
    pub(super) tickets: Option<Review>,
    /// What a cluster shows as of now; none where none was looked at.
    pub(super) cluster: Option<super::cluster::Seen>,
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
    /// Nodes that said anything that is evidence.
    pub(super) nodes_with_evidence: u64,
    /// GPUs whose serial a source named.
    pub(super) serials_known: u64,
    pub(super) boots: u64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Read {
    pub(super) kind: &'static str,
    #[serde(flatten)]
    pub(super) volume: super::gathered::Volume,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct EvidenceLine {
    pub(super) source: Source,
    pub(super) code: String,
    pub(super) kind: Kind,
    pub(super) count: u64,
    pub(super) nodes: u64,
    pub(super) parts: u64,
}

/// Who a part is, as far as anybody knows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PartName {
    pub(super) node: String,
    /// Where it sits; the node as a whole where absent.
    pub(super) slot: Option<String>,
    /// None where no source named it: then the node and the slot say which.
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

/// One time that a node would have been taken out, or was wanted out.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Finding {
    pub(super) id: String,
    pub(super) node: String,
    pub(super) part: PartName,
    pub(super) rule: String,
    pub(super) kind: Kind,
    /// When a rule first wanted the node out.
    pub(super) found_at: String,
    /// When Mainstay would have taken it out; never where absent.
    pub(super) would_act_at: Option<String>,
    /// What kept it from that.
    pub(super) held_by: Option<WaitingOn>,
    /// When nothing spoke against it any more; open at the end of the logs where absent.
    pub(super) ended_at: Option<String>,
    pub(super) urgency: Option<Urgency>,
    /// What would have been tried, in order.
    pub(super) plan: Vec<Rung>,
    /// Every rule that wanted it out, with its part.
    pub(super) because: Vec<Because>,
    /// When somebody did something: a ticket, or a boot. None where nobody did while it lasted.
    pub(super) reacted_at: Option<String>,
    pub(super) reaction: Reaction,
    /// GPU time of the node between what Mainstay would have done and what was done.
    pub(super) gpu_seconds_at_stake: u64,
    pub(super) tickets: Vec<String>,
    #[serde(skip)]
    pub(super) found_ms: i64,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Because {
    pub(super) rule: String,
    pub(super) part: PartName,
    pub(super) since: String,
}

/// What happened, as far as logs and tickets show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Reaction {
    Ticket,
    Boot,
    /// Nobody did anything before the evidence was a day old.
    Nobody,
    /// The logs end before.
    Open,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SharedLine {
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
    /// What the risk is made of, in words.
    pub(super) because: String,
    pub(super) findings: u64,
    pub(super) tickets: u64,
    pub(super) gpu_seconds_at_stake: u64,
    /// When it would have been taken out, for the picture.
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
    pub(super) said: Vec<Said>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Said {
    pub(super) source: Source,
    pub(super) code: String,
    pub(super) count: u64,
}

/// What was at stake. Work on the nodes is not in the logs, so this is time of sick nodes and no loss of work.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Stake {
    /// GPU time that nodes stayed in service after Mainstay would have taken them out.
    pub(super) gpu_seconds: u64,
    /// Half of the findings with a reaction were reacted to within this.
    pub(super) reacted_p50_seconds: u64,
    /// Nine of ten.
    pub(super) reacted_p90_seconds: u64,
    pub(super) reacted: u64,
    pub(super) by_kind: Vec<StakeLine>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StakeLine {
    pub(super) kind: Kind,
    pub(super) findings: u64,
    pub(super) gpu_seconds: u64,
}

/// Tickets beside findings.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Review {
    pub(super) tickets: u64,
    /// Tickets that belong to a finding and say the same, or nothing.
    pub(super) agree: u64,
    pub(super) without_finding: Vec<TicketLine>,
    /// Findings that nobody wrote a ticket for, by id.
    pub(super) finding_without_ticket: Vec<String>,
    pub(super) different_cause: Vec<TicketLine>,
    /// How much earlier Mainstay would have known: half of the tickets, nine of ten.
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
    /// What its words are about.
    pub(super) says: Kind,
    /// The finding it belongs to, and what that is about.
    pub(super) finding: Option<String>,
    pub(super) shown: Vec<Kind>,
}

#[derive(Debug, Default, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Week {
    pub(super) from: String,
    pub(super) by_kind: Vec<(Kind, u64)>,
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
