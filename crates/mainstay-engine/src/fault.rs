//! What is wrong, in one line: the part and its fault. Incidents, `why` and plans all use it, so they agree.

use std::collections::BTreeSet;

use mainstay_health::{RuleKind, RuleText, rule_text};
use mainstay_model::{Level, NodeName, Part, Response, RuleName, Serial, Source, Subject, Timestamp};

use crate::state::State;
use crate::state::node::Node;
use crate::view::findings;
use crate::why::{self, Evidence, source_word};

/// Error codes that a title names; more of them repeat the same fault.
const CODES_MAX: usize = 2;

/// A fault in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The rule that names the fault; not the driver's recommendation where a fault of the same part is known.
    pub rule: RuleName,
    /// Part and fault in one line, for example "GPU 7 of r0020n02 fell off the bus (XID 79)".
    pub title: String,
    /// What the rule means, as one sentence; empty for a rule without a text.
    pub explanation: &'static str,
    /// Name of the runbook; none for a rule without a text.
    pub runbook: Option<&'static str>,
}

/// The runbook for an incident. A shared cause has its own: the fault of one node is only its symptom.
fn runbook(subject: &Subject, text: Option<RuleText>) -> Option<&'static str> {
    match subject {
        Subject::Domain { .. } => Some("shared-cause"),
        Subject::Driver(_) => Some("driver"),
        Subject::Node(_) | Subject::Part { .. } => text.map(|text| text.runbook),
    }
}

/// The name of a level of the topology, as it starts a line.
#[must_use]
pub const fn level_name(level: Level) -> &'static str {
    match level {
        Level::NvlinkDomain => "NVLink domain",
        Level::Rack => "Rack",
        Level::Pdu => "PDU",
        Level::Leaf => "Leaf",
        Level::Spine => "Spine",
    }
}

/// The fault behind an incident: its subject, its rule and the nodes that show it.
pub(crate) fn fault(state: &State, subject: &Subject, rule: &RuleName, nodes: &[NodeName], now: Timestamp) -> Fault {
    let node = nodes.first().and_then(|node| state.named(node));
    let (rule, codes) = match node {
        Some(node) => {
            let device = device_of(state, node, subject, rule, now);
            let rule = named_by(state, node, rule, device.as_ref(), now);
            let codes = codes(state, node, &rule, device.as_ref(), now);
            (rule, codes)
        }
        None => (rule.clone(), String::new()),
    };
    let text = rule_text(rule.as_str());
    let title = match text {
        Some(text) => format!("{} {}{codes}", place(subject, text, node, nodes), text.title),
        None => format!("{} matches rule {rule}{codes}", whole(subject, node, nodes)),
    };
    Fault { rule, title, explanation: text.map_or("", |text| text.explanation), runbook: runbook(subject, text) }
}

/// The part at fault: the subject's own, or that of the first node where many share a cause.
fn device_of(state: &State, node: &Node, subject: &Subject, rule: &RuleName, now: Timestamp) -> Option<Serial> {
    match subject {
        Subject::Part { serial, .. } => Some(serial.clone()),
        Subject::Node(_) => None,
        Subject::Domain { .. } | Subject::Driver(_) => {
            let found = findings(state, node, now);
            found.list.as_slice().iter().find(|one| one.rule == *rule)?.device.clone()
        }
    }
}

/// The rule that names the fault. The driver's recommendation names none, so a fault of the same part is preferred.
fn named_by(state: &State, node: &Node, rule: &RuleName, device: Option<&Serial>, now: Timestamp) -> RuleName {
    let is_verdict = |rule: &RuleName| rule_text(rule.as_str()).is_some_and(|text| text.kind == RuleKind::Verdict);
    if !is_verdict(rule) {
        return rule.clone();
    }
    let found = findings(state, node, now);
    let mut faults = found
        .list
        .as_slice()
        .iter()
        .filter(|one| one.device.as_ref() == device && one.response > Response::Note && !is_verdict(&one.rule));
    faults.next().map_or_else(|| rule.clone(), |one| one.rule.clone())
}

/// The error codes behind a rule, in parentheses; those that operators search for.
fn codes(state: &State, node: &Node, rule: &RuleName, device: Option<&Serial>, now: Timestamp) -> String {
    let about = (rule.clone(), device.cloned());
    let evidence = why::evidence::evidence(state, node, Some(&about), now);
    let codes: BTreeSet<String> = evidence.as_slice().iter().filter_map(code).take(CODES_MAX).collect();
    if codes.is_empty() {
        return String::new();
    }
    format!(" ({})", codes.into_iter().collect::<Vec<_>>().join(", "))
}
fn code(evidence: &Evidence) -> Option<String> {
    match evidence {
        Evidence::Counted(seen) => match seen.source {
            Source::Xid | Source::Sxid => Some(format!("{} {}", source_word(seen.source), seen.code)),
            Source::PcieAer | Source::Nic | Source::Kernel | Source::Nvml => None,
            Source::Unrecognised => Some(seen.code.to_string()),
            Source::Inventory | Source::External | Source::Driver | Source::Service => None,
        },
        Evidence::Gpus { .. } | Evidence::Backend(_) | Evidence::Agent { .. } | Evidence::Asked(_) => None,
    }
}

/// What is at fault, as it starts a line.
fn place(subject: &Subject, text: RuleText, node: Option<&Node>, nodes: &[NodeName]) -> String {
    match subject {
        Subject::Node(name) if text.part != "node" => {
            let article = if text.part.starts_with("NV") { "An" } else { "A" };
            format!("{article} {} of {name}", text.part)
        }
        Subject::Node(_) | Subject::Part { .. } => whole(subject, node, nodes),
        Subject::Domain { .. } | Subject::Driver(_) => format!("{}: {}", whole(subject, node, nodes), text.part),
    }
}

fn whole(subject: &Subject, node: Option<&Node>, nodes: &[NodeName]) -> String {
    let many = || if nodes.len() == 1 { "1 node".to_owned() } else { format!("{} nodes", nodes.len()) };
    match subject {
        Subject::Node(name) => name.to_string(),
        Subject::Domain { level, name } => format!("{} {name}, {}", level_name(*level), many()),
        Subject::Driver(version) => format!("Driver {version}, {}", many()),
        Subject::Part { part, serial } => {
            let gpus =
                node.and_then(|node| node.report.as_deref()).map_or(&[][..], |report| report.inventory.gpus.as_slice());
            let index = gpus.iter().find(|gpu| gpu.serial == *serial).map(|gpu| gpu.index);
            let on = nodes.first().map_or_else(String::new, |node| format!(" of {node}"));
            match (part, index) {
                (Part::Gpu, Some(index)) => format!("GPU {index}{on}"),
                (Part::Gpu, None) => format!("GPU {serial}{on}"),
                (Part::Board, _) => format!("Board {serial}{on}"),
                (Part::Nic, _) => format!("NIC {serial}{on}"),
            }
        }
    }
}
