//! One node in detail, and its history.

use std::collections::BTreeMap;

use mainstay_api::http::{self, NodeLine};
use mainstay_engine::level_name;
use mainstay_engine::why::source_word;
use mainstay_kube::View;
use mainstay_model::{Level, NodeName, ProposalOutcome, Response};
use mainstay_text::{Align, Table, duration, few, percent};
use mainstay_web::snapshot::why_of;
use serde::Serialize;

use super::{Items, ago, line};
use crate::commands::incidents;
use crate::commands::why::{clock, gangs_on, labelled, work};
use crate::kubeconfig::QueryOutput;
use crate::marks::mark;
use crate::output::Problem;

/// One node in detail, as `node show` prints it in JSON and YAML.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NodeDocument {
    #[serde(flatten)]
    line: NodeLine,
    why: http::NodeExplanation,
    pool: String,
    uid: String,
    domains: BTreeMap<Level, String>,
    ready: String,
    kept_away_by: Option<String>,
    remediator: Option<&'static str>,
    complaints: Vec<String>,
    reported_at: Option<i64>,
    boot_id: Option<String>,
    product: Option<String>,
    driver: Option<String>,
    findings: Vec<NodeFinding>,
    request: Option<http::OperatorRequest>,
    incident: Option<String>,
    gangs: Vec<String>,
}

/// One finding of the engine on a node: rule, response and device.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NodeFinding {
    rule: String,
    response: Response,
    device: Option<String>,
}

pub(super) fn show(view: &View, name: &NodeName) -> Result<QueryOutput, Problem> {
    let seen = view.nodes().get(name).cloned().unwrap_or_default();
    let (Some(line), Some(facts), Some(why)) = (line(view, name), seen.facts.as_ref(), view.engine().why(name)) else {
        return Err(Problem {
            what: format!("{name} is not registered"),
            detail: "Kubernetes has no GPU node of this name; only an agent report or a stored status remains."
                .to_owned(),
            hint: format!("`mainstay node history {name}` shows the stored status."),
        });
    };
    let others = view.others(name).cloned().unwrap_or_default();
    let inventory = seen.report.as_ref().map(|report| &report.inventory);
    let findings = view.engine().found(name);
    let found = findings.iter().map(|one| NodeFinding {
        rule: one.rule.to_string(),
        response: one.response,
        device: one.device.as_ref().map(ToString::to_string),
    });
    let open = incidents::open(view);
    let incident = open.iter().find(|case| case.nodes.contains(name)).map(|case| case.name.clone());
    let gangs = gangs_on(view, name);
    let shown = NodeDocument {
        why: why_of(&why),
        pool: facts.pool.to_string(),
        uid: facts.uid.to_string(),
        domains: facts.domains.iter().map(|(level, domain)| (*level, domain.to_string())).collect(),
        ready: format!("{:?}", facts.ready),
        kept_away_by: others.kept_away.as_ref().map(ToString::to_string),
        remediator: others.remediator,
        complaints: others.complaints.as_slice().iter().map(|one| one.code.to_string()).collect(),
        reported_at: seen.reported_at.map(|at| at.0),
        boot_id: seen.report.as_ref().map(|report| report.boot_id.to_string()),
        product: inventory.map(|inventory| inventory.product.to_string()),
        driver: inventory.map(|inventory| inventory.driver.to_string()),
        findings: found.collect(),
        request: seen.request.as_ref().map(|request| http::OperatorRequest {
            kind: request.kind.into(),
            by: request.by.to_string(),
            reason: request.reason.to_string(),
        }),
        incident,
        gangs: gangs.iter().map(|(gang, _)| gang.to_string()).collect(),
        line,
    };
    let mut text = text(view, name, &shown);
    text.push_str(&labelled("Jobs", &work(view, &gangs)));
    text.push_str(&evidence(view, name));
    QueryOutput::new(&shown, text)
}

fn text(view: &View, name: &NodeName, shown: &NodeDocument) -> String {
    let NodeDocument { line, .. } = shown;
    let mut text = format!("{} {name}  {:?} for {}\n", mark(line.stage), line.stage, since(view, line.since));
    text.push_str(&labelled("Why", &shown.why.sentence));
    let place: Vec<String> =
        shown.domains.iter().map(|(level, domain)| format!("{} {domain}", level_name(*level))).collect();
    text.push_str(&labelled("Location", &format!("pool {}; {}", shown.pool, place.join(", "))));
    let made = match (&shown.product, &shown.driver) {
        (Some(product), Some(driver)) => format!("{} x {product}, driver {driver}", line.gpus),
        (Some(_) | None, Some(_) | None) => format!("{} GPUs, model unknown until its agent reports", line.gpus),
    };
    text.push_str(&labelled("Hardware", &made));
    let heard = shown.reported_at.map_or_else(|| "never".to_owned(), |at| format!("{} ago", since(view, at)));
    text.push_str(&labelled("Last report", &heard));
    text.push_str(&labelled("Ready", &shown.ready.to_lowercase()));
    let mut others: Vec<String> = Vec::new();
    others.extend(shown.kept_away_by.as_ref().map(|by| format!("cordoned by {by}")));
    others.extend(shown.remediator.map(|who| format!("! {who} repairs it as well")));
    if !shown.complaints.is_empty() {
        others.push(format!("conditions: {}", few(&shown.complaints, 6)));
    }
    if !others.is_empty() {
        text.push_str(&labelled("Others", &others.join("; ")));
    }
    if let Some(asked) = &shown.request {
        text.push_str(&labelled("Request", &format!("{:?} by {}: {}", asked.kind, asked.by, asked.reason)));
    }
    let risk = percent(line.risk_ppm.into(), 1_000_000, 1);
    text.push_str(&labelled("Risk", &format!("{risk} % to fail again within 7 days")));
    if let Some(incident) = &shown.incident {
        text.push_str(&labelled("Incident", incident));
    }
    text
}

fn since(view: &View, at: i64) -> String {
    ago(view, Some(mainstay_model::Timestamp(at)))
}

/// Evidence that its agent counted since boot.
fn evidence(view: &View, name: &NodeName) -> String {
    let report = view.nodes().get(name).and_then(|seen| seen.report.as_ref());
    let all = report.map_or(&[][..], |report| report.evidence.as_slice());
    if all.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&[
        ("EVIDENCE", Align::Left),
        ("PART", Align::Left),
        ("COUNT", Align::Right),
        ("FIRST (UTC)", Align::Left),
        ("LAST (UTC)", Align::Left),
    ]);
    for one in all {
        table.row([
            format!("{} {}", source_word(one.key.source), one.key.code),
            one.key.device.as_ref().map_or_else(String::new, ToString::to_string),
            one.count.to_string(),
            clock(one.first_seen_at.0),
            clock(one.last_seen_at.0),
        ]);
    }
    format!("\n{}", table.text())
}

/// One event of its history.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    at: i64,
    what: String,
    rule: String,
}

pub(super) fn history(view: &View, name: &NodeName) -> Result<QueryOutput, Problem> {
    let mut events: Vec<Event> = Vec::new();
    if let Some(kept) = view.engine().persisted(name) {
        for one in kept.history.as_slice() {
            let word = one.word.map_or_else(String::new, |word| format!(" ({word:?})"));
            let what = format!("{} {:?}{word}", mark(one.to), one.to);
            events.push(Event { at: one.at.0, what, rule: one.rule.to_string() });
        }
        for one in kept.attempts.as_slice() {
            let on = one.device.as_ref().map_or_else(String::new, |device| format!(" on {device}"));
            let what = format!("repair step {:?} ordered{on}", one.rung);
            events.push(Event { at: one.ordered_at.0, what, rule: one.rule.to_string() });
        }
        for one in kept.proposals.as_slice() {
            let what = format!("dry run: cordon; {}", outcome_text(one.happened));
            events.push(Event { at: one.decided_at.0, what, rule: one.rule.to_string() });
            if let Some(at) = one.happened_at {
                let what = format!("{}: {}", one.action, outcome_text(one.happened));
                events.push(Event { at: at.0, what, rule: one.rule.to_string() });
            }
        }
    }
    events.sort_by_key(|event| event.at);
    let text = if events.is_empty() {
        format!("No history for {name}: no fault was ever found on it.\n")
    } else {
        let mut table = Table::new(&[
            ("WHEN (UTC)", Align::Left),
            ("AGO", Align::Right),
            ("EVENT", Align::Left),
            ("RULE", Align::Left),
        ]);
        for event in &events {
            let ago = duration(view.now().since(mainstay_model::Timestamp(event.at)).0 / 1_000);
            table.row([clock(event.at), ago, event.what.clone(), event.rule.clone()]);
        }
        table.text()
    };
    QueryOutput::new(&Items { items: events }, text)
}

const fn outcome_text(happened: ProposalOutcome) -> &'static str {
    match happened {
        ProposalOutcome::Pending => "outcome pending",
        ProposalOutcome::Recovered => "the evidence cleared",
        ProposalOutcome::RemovedByOthers => "removed by another actor",
        ProposalOutcome::NodeLost => "the node was lost",
        ProposalOutcome::Executed => "executed later",
        ProposalOutcome::Superseded => "replaced by a request or planned work",
    }
}
