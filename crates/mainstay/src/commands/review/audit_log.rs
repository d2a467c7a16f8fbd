//! Reads dry-run decisions and their outcomes from the JSON lines of the controller's audit log. JSON lines, of which
//! only those are read that say what would have been done and how the node went on.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use mainstay_model::{ProposalOutcome, Timestamp};
use mainstay_text::{JsonLine, Lines};
use serde_json::Value;

use super::DryRunDecision;
use crate::output::Problem;

/// The controller keeps eight files.
const FILES_MAX: usize = 64;
/// The longest line is a closed incident as a whole object, which etcd bounds at 1.5 MiB.
const LINE_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Every decision since then, with what the record knows of its end.
pub(super) fn read(folder: &Path, since: Timestamp) -> Result<Vec<DryRunDecision>, Problem> {
    let unreadable = |error: &dyn std::fmt::Display| Problem {
        what: format!("{} cannot be read", folder.display()),
        detail: format!("{error}."),
        hint: "use the folder that `mainstay serve --audit-log` writes to.".to_owned(),
    };
    let listed = std::fs::read_dir(folder).map_err(|error| unreadable(&error))?;
    let mut files: Vec<_> = listed.filter_map(Result::ok).map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "jsonl"));
    if files.is_empty() {
        return Err(unreadable(&"no audit.jsonl is in it"));
    }
    let mut lines: Vec<(i64, Value)> = Vec::new();
    for path in files.iter().take(FILES_MAX) {
        let file = File::open(path).map_err(|error| unreadable(&error))?;
        let mut read = Lines::new(BufReader::new(file), LINE_BYTES_MAX);
        while let Some(line) = read.next_json::<Value>().map_err(|error| unreadable(&error))? {
            match line {
                JsonLine::Value(line) => lines.extend(line["at"].as_i64().map(|at| (at, line))),
                // A power cut may cut the last line.
                JsonLine::Invalid | JsonLine::TooLong => {}
            }
        }
    }
    lines.sort_by_key(|(at, _)| *at);
    Ok(decided(&lines, since))
}

fn decided(lines: &[(i64, Value)], since: Timestamp) -> Vec<DryRunDecision> {
    let mut known: BTreeMap<(String, String), DryRunDecision> = BTreeMap::new();
    for (at, line) in lines {
        let text = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
        match line["kind"].as_str() {
            // The same action is told once for each leader.
            Some("dryRun") if line["step"] == "cordon" => {
                let one = DryRunDecision {
                    node: text("node"),
                    rule: text("rule"),
                    at: Timestamp(*at),
                    happened: ProposalOutcome::Pending,
                };
                known.entry((text("node"), text("action"))).or_insert(one);
            }
            Some("stage") => {
                let happened = match line["to"].as_str() {
                    Some("InService") => ProposalOutcome::Recovered,
                    Some("Maintenance") => ProposalOutcome::RemovedByOthers,
                    Some("Quarantined" | "Draining" | "Repairing" | "Qualifying") => ProposalOutcome::Executed,
                    Some(_) | None => continue,
                };
                let node = text("node");
                let open =
                    known.values_mut().filter(|one| one.node == node && one.happened == ProposalOutcome::Pending);
                open.for_each(|one| one.happened = happened);
            }
            Some(_) | None => {}
        }
    }
    known.into_values().filter(|one| one.at >= since).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_decision_ends_as_its_node_goes_on_and_counts_once() {
        let would = json!({ "kind": "dryRun", "node": "n1", "step": "cordon", "action": "cordon-n1-1", "rule": "r" });
        let back = json!({ "kind": "stage", "node": "n1", "to": "InService", "rule": "r" });
        let other = json!({ "kind": "dryRun", "node": "n2", "step": "cordon", "action": "cordon-n2-1", "rule": "r" });
        let lines = [(1, would.clone()), (2, would), (3, other), (4, back)];
        let told = decided(&lines, Timestamp(0));
        let happened: Vec<_> = told.iter().map(|one| (one.node.as_str(), one.happened)).collect();
        assert_eq!(happened, [("n1", ProposalOutcome::Recovered), ("n2", ProposalOutcome::Pending)]);
        assert_eq!(decided(&lines, Timestamp(2)).len(), 1, "what was decided before is left out");
    }

    #[test]
    fn a_folder_without_a_record_says_so() {
        let folder = tempfile::tempdir().unwrap();
        assert!(read(folder.path(), Timestamp(0)).unwrap_err().detail.contains("no audit.jsonl"));
    }
}
