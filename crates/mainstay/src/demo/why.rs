//! `mainstay demo why`: the explanation of one node of a running demo, as text. The demo's engine writes the
//! sentences; this file arranges them.

use mainstay_api::http::NodeExplanation;
use mainstay_engine::why::NO_ACTION;

use crate::commands::labelled;

/// Fault, meaning, evidence, wait, next step and operator action, one per line.
pub(super) fn text(node: &str, why: &NodeExplanation) -> String {
    let NodeExplanation {
        sentence: _,
        since: _,
        until: _,
        problem,
        explanation,
        runbook,
        waiting,
        action,
        evidence,
        unrecognised,
        next,
        sooner,
    } = why;
    let joined = |lines: &[String]| Some(lines.join("; ")).filter(|text| !text.is_empty());
    let (evidence, unrecognised) = (joined(evidence), joined(unrecognised));
    let runbook = runbook.as_deref().map(crate::runbook::command);
    // Without a fault, the text describes the state of the node.
    let waiting_label = if problem.is_some() { "Waiting for" } else { "State" };
    let lines = [
        ("Meaning", explanation.as_deref()),
        ("Evidence", evidence.as_deref()),
        ("Unrecognised", unrecognised.as_deref()),
        (waiting_label, Some(waiting.as_str())),
        ("Next", Some(next.as_str())),
        ("Sooner if", sooner.as_deref()),
        ("Runbook", runbook.as_deref()),
        ("Action", Some(action.as_deref().unwrap_or(NO_ACTION))),
    ];
    let mut text = format!("{}\n", problem.as_deref().unwrap_or(node));
    text.extend(lines.into_iter().filter_map(|(label, line)| Some(labelled(label, line?))));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn healthy() -> NodeExplanation {
        NodeExplanation {
            sentence: String::new(),
            problem: None,
            explanation: None,
            runbook: None,
            waiting: "no fault found".to_owned(),
            action: None,
            evidence: Vec::new(),
            unrecognised: Vec::new(),
            since: 0,
            until: None,
            next: "jobs continue".to_owned(),
            sooner: None,
        }
    }

    #[test]
    fn a_healthy_node_has_a_state_and_waits_for_nothing() {
        let lines = "r0001n00\n  State         no fault found\n  Next          jobs continue\n  Action        No action needed\n";
        assert_eq!(text("r0001n00", &healthy()), lines);
    }

    #[test]
    fn a_fault_is_the_first_line_and_its_evidence_one_line() {
        let why = NodeExplanation {
            problem: Some("GPU 3 of r0001n00 fell off the bus (XID 79)".to_owned()),
            waiting: "mode Observe is in effect in the cell".to_owned(),
            evidence: vec!["XID 79 once".to_owned(), "1 GPU missing".to_owned()],
            ..healthy()
        };
        let text = text("r0001n00", &why);
        assert!(text.starts_with("GPU 3 of r0001n00 fell off the bus (XID 79)\n"), "{text}");
        assert!(text.contains("  Evidence      XID 79 once; 1 GPU missing\n"), "{text}");
        assert!(text.contains("  Waiting for   mode Observe is in effect in the cell\n"), "{text}");
    }
}
