//! The post-mortem of an incident as Markdown: what the records show, and what only an operator can answer.

use std::fmt::Write as _;

use mainstay_api::http::{IncidentDetail, IncidentEvent, IncidentEventKind, IncidentState};
use mainstay_text::{counted, duration, few, gpu_hours};

/// Nodes and jobs that one line names; the rest is a number.
const NAMES_MAX: usize = 24;

/// Questions that no record answers.
const FOR_OPERATORS: [&str; 4] = [
    "What was the cause, and which evidence shows it?",
    "Which step of the runbook was missing, wrong or too slow?",
    "Which alert or rule would have shown the fault earlier?",
    "What changes, who changes it, and until when?",
];

/// Writes the post-mortem. `now` is the end of an incident that is still open.
#[must_use]
pub fn postmortem(detail: &IncidentDetail, now: i64) -> String {
    let (incident, record) = (&detail.incident, &detail.record);
    let end = incident.closed_at.unwrap_or(now);
    let lasted = u64::try_from(end.saturating_sub(incident.opened_at)).unwrap_or(0) / 1_000;
    let mut text = format!("# {}\n\n{}\n\n", incident.title, record.sentence);
    let mut fact = |name: &str, value: &str| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "- {name}: {value}");
    };
    fact("incident", &incident.id);
    fact("rule", &incident.rule);
    if let Some(runbook) = &incident.runbook {
        fact("runbook", &format!("`mainstay runbook {runbook}`"));
    }
    fact("suspected cause", &format!("{:?} {}", incident.subject.kind, incident.subject.name));
    fact("opened", &clock(incident.opened_at));
    fact("closed", &incident.closed_at.map_or_else(|| "still open".to_owned(), clock));
    fact("duration", &duration(lasted));
    fact("acknowledged by", incident.acknowledged_by.as_deref().unwrap_or("no operator"));
    fact("nodes", &few(&record.nodes_list, NAMES_MAX));
    let jobs = if record.jobs.is_empty() { "none on record".to_owned() } else { few(&record.jobs, NAMES_MAX) };
    fact("jobs", &jobs);
    text.push_str("\n## Cost\n\n");
    let most = u64::from(incident.gpus).saturating_mul(lasted);
    let known = |gpu_seconds: Option<u64>| {
        gpu_seconds.map_or_else(|| "not measured".to_owned(), |cost| format!("{} GPU-hours", gpu_hours(cost)))
    };
    let gpus = counted(incident.gpus.into(), "GPU", "GPUs");
    let _ = writeln!(text, "- work lost: {}", known(incident.lost_gpu_seconds));
    let _ = writeln!(text, "- work saved by checkpoint requests: {}", known(incident.saved_gpu_seconds));
    let _ =
        writeln!(text, "- capacity affected, at most: {} GPU-hours ({gpus} for {})", gpu_hours(most), duration(lasted));
    let is_evidence = |event: &&IncidentEvent| event.kind == IncidentEventKind::Evidence;
    events(&mut text, "Evidence", record.timeline.iter().filter(is_evidence));
    if let Some(lines) = record.lines.as_ref().filter(|lines| !lines.is_empty()) {
        text.push_str("\nLog lines:\n\n");
        // Indented, because a line of a log may contain the end of a fenced block.
        for line in lines {
            let _ = writeln!(text, "    {line}");
        }
    }
    events(&mut text, "Timeline", record.timeline.iter());
    let _ = write!(
        text,
        "\n## Limits\n\n- disruption budgets: {}\n- in another mode: {}\n",
        record.budget, record.other_mode
    );
    text.push_str("\n## Open questions\n\n");
    for question in gaps(detail).into_iter().chain(FOR_OPERATORS) {
        let _ = writeln!(text, "- [ ] {question}");
    }
    text
}

/// What the records lack.
fn gaps(detail: &IncidentDetail) -> Vec<&'static str> {
    let (incident, record) = (&detail.incident, &detail.record);
    let has = |kind: IncidentEventKind| record.timeline.iter().any(|event| event.kind == kind);
    let all = [
        (incident.state == IncidentState::Open, "The incident is open: what ends it?"),
        (incident.acknowledged_by.is_none(), "No operator acknowledged the incident: was one notified?"),
        (incident.lost_gpu_seconds.is_none(), "Lost work was not measured: what do the owners of the jobs report?"),
        (!has(IncidentEventKind::Evidence), "No evidence is on record: what do the logs of the nodes show?"),
        (record.lines.is_none(), "Log lines stay on the nodes: was a bundle collected?"),
        (!has(IncidentEventKind::Returned), "No return to service is on record: are all nodes back?"),
    ];
    all.into_iter().filter_map(|(is_open, question)| is_open.then_some(question)).collect()
}

fn events<'a>(text: &mut String, title: &str, events: impl Iterator<Item = &'a IncidentEvent>) {
    let _ = write!(text, "\n## {title}\n\n");
    let mut is_empty = true;
    for event in events {
        is_empty = false;
        let node = event.node.as_ref().filter(|node| !event.text.starts_with(node.as_str()));
        let node = node.map_or_else(String::new, |node| format!("{node}: "));
        let _ = writeln!(text, "- {}, {:?}: {node}{}", clock(event.at), event.kind, event.text);
    }
    if is_empty {
        text.push_str("None on record.\n");
    }
}

fn clock(at: i64) -> String {
    let at = jiff::Timestamp::from_millisecond(at).unwrap_or_default();
    at.strftime("%F %T UTC").to_string()
}

#[cfg(test)]
mod tests {
    use mainstay_api::http::{Incident, IncidentRecord, IncidentSubject, SubjectKind};

    use super::*;

    fn detail() -> IncidentDetail {
        let event =
            |at, kind, text: &str| IncidentEvent { at, kind, node: Some("n1".to_owned()), text: text.to_owned() };
        IncidentDetail {
            incident: Incident {
                id: "n1-gpu-off-the-bus".to_owned(),
                title: "GPU 3 of n1 fell off the bus (XID 79)".to_owned(),
                explanation: String::new(),
                runbook: Some("gpu-off-the-bus".to_owned()),
                subject: IncidentSubject { kind: SubjectKind::Part, name: "165".to_owned() },
                rule: "gpu-off-the-bus".to_owned(),
                state: IncidentState::Open,
                opened_at: 0,
                closed_at: None,
                nodes: 1,
                gpus: 8,
                lost_gpu_seconds: None,
                saved_gpu_seconds: None,
                out_of_service_gpu_seconds_per_hour: 0,
                doing: String::new(),
                acknowledged_by: None,
            },
            record: IncidentRecord {
                sentence: "The GPU is gone.".to_owned(),
                nodes_list: vec!["n1".to_owned()],
                timeline: vec![
                    event(0, IncidentEventKind::Evidence, "XID 79 on 165, 1 time"),
                    event(1_000, IncidentEventKind::Decision, "n1 cordon: dry run"),
                ],
                jobs: Vec::new(),
                lines: Some(vec!["``` # not a heading".to_owned()]),
                budget: "One node may be out.".to_owned(),
                other_mode: "The same.".to_owned(),
            },
        }
    }

    #[test]
    fn it_has_timeline_evidence_cost_and_questions() {
        let text = postmortem(&detail(), 3_600_000);
        for part in [
            "# GPU 3 of n1 fell off the bus (XID 79)\n",
            "- capacity affected, at most: 8.0 GPU-hours (8 GPUs for 1 h)\n",
            "## Evidence\n\n- 1970-01-01 00:00:00 UTC, Evidence: n1: XID 79 on 165, 1 time\n",
            "- 1970-01-01 00:00:01 UTC, Decision: n1 cordon: dry run\n",
            "- [ ] No operator acknowledged the incident: was one notified?\n",
            "    ``` # not a heading\n",
        ] {
            assert!(text.contains(part), "{part:?} is missing in\n{text}");
        }
    }

    #[test]
    fn what_is_on_record_is_no_question() {
        let mut known = detail();
        known.incident.acknowledged_by = Some("ana".to_owned());
        known.incident.lost_gpu_seconds = Some(7_200);
        let text = postmortem(&known, 3_600_000);
        assert!(!text.contains("No operator acknowledged") && !text.contains("was not measured"), "{text}");
        assert!(text.contains("- work lost: 2.0 GPU-hours\n"), "{text}");
    }
}
