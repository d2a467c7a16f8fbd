//! Finds dry-run decisions and their outcomes in the lines of the controller's audit log.

use std::collections::BTreeMap;
use std::path::Path;

use mainstay_kube::{AuditLine, AuditLog, Entry};
use mainstay_model::{ProposalOutcome, Stage, Timestamp};

use super::DryRunDecision;
use crate::output::Problem;

/// Every decision since then, with its outcome as far as the audit log shows it.
pub(super) fn read(folder: &Path, since: Timestamp) -> Result<Vec<DryRunDecision>, Problem> {
    let lines = AuditLog::read(folder).map_err(|error| Problem {
        what: format!("{} cannot be read", folder.display()),
        detail: format!("{error}."),
        hint: "use the folder that `mainstay serve --audit-log` writes to.".to_owned(),
    })?;
    Ok(decided(lines, since))
}

fn decided(lines: Vec<AuditLine>, since: Timestamp) -> Vec<DryRunDecision> {
    let mut known: BTreeMap<(String, String), DryRunDecision> = BTreeMap::new();
    for AuditLine { at, entry } in lines {
        match entry {
            // Each leader writes the same action once.
            Entry::DryRun { node, step, action, rule, .. } if step == "cordon" => {
                let node = node.to_string();
                let one = DryRunDecision {
                    node: node.clone(),
                    rule: rule.to_string(),
                    at,
                    happened: ProposalOutcome::Pending,
                };
                known.entry((node, action.to_string())).or_insert(one);
            }
            Entry::Stage { node, to, .. } => {
                let Some(happened) = outcome(to) else { continue };
                let is_open =
                    |one: &&mut DryRunDecision| one.node == node.as_str() && one.happened == ProposalOutcome::Pending;
                known.values_mut().filter(is_open).for_each(|one| one.happened = happened);
            }
            Entry::DryRun { .. }
            | Entry::Led { .. }
            | Entry::Incident { .. }
            | Entry::Exported { .. }
            | Entry::Forgotten { .. }
            | Entry::Acted { .. }
            | Entry::Violation { .. } => {}
        }
    }
    known.into_values().filter(|one| one.at >= since).collect()
}

/// What a change to this stage shows of an earlier decision.
const fn outcome(to: Stage) -> Option<ProposalOutcome> {
    match to {
        Stage::InService => Some(ProposalOutcome::Recovered),
        Stage::Maintenance => Some(ProposalOutcome::RemovedByOthers),
        Stage::Quarantined | Stage::Draining | Stage::Repairing | Stage::Qualifying => Some(ProposalOutcome::Executed),
        Stage::Bootstrapping | Stage::Upgrading | Stage::Held | Stage::Retired => Some(ProposalOutcome::Superseded),
        Stage::Suspect => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(at: i64, entry: serde_json::Value) -> AuditLine {
        AuditLine { at: Timestamp(at), entry: serde_json::from_value(entry).unwrap() }
    }

    #[test]
    fn a_decision_ends_as_its_node_goes_on_and_counts_once() {
        let would = |node: &str| {
            json!({ "kind": "dryRun", "node": node, "step": "cordon", "action": format!("cordon-{node}-1"), "rule": "r",
                "execution": "DryRun" })
        };
        let back = json!({ "kind": "stage", "node": "n1", "from": "Suspect", "to": "InService", "rule": "r",
            "waitingOn": "Nothing" });
        let lines = [line(1, would("n1")), line(2, would("n1")), line(3, would("n2")), line(4, back)];
        let told = decided(lines.to_vec(), Timestamp(0));
        let happened: Vec<_> = told.iter().map(|one| (one.node.as_str(), one.happened)).collect();
        assert_eq!(happened, [("n1", ProposalOutcome::Recovered), ("n2", ProposalOutcome::Pending)]);
        assert_eq!(decided(lines.to_vec(), Timestamp(2)).len(), 1, "what was decided before is left out");
    }
}
