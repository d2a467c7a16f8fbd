//! The screen: at most 24 lines of 100 columns.

use mainstay_engine::level_name;
use mainstay_model::{Mode, Timestamp};
use mainstay_text::{Align, Table, counted, cut, duration, few, thousands};

use super::{FleetStatus, IncidentRow};
use crate::marks::mark;

const COLUMNS: usize = 100;
/// Width of the labels on the left.
const LABEL: usize = 11;
/// Names in one line; the rest is a number.
const NAMES_MAX: usize = 3;
/// Columns of a title in the list of open incidents.
const TITLE_MAX: usize = 56;

pub(super) fn text(standing: &FleetStatus) -> String {
    let notice = standing.mode_notice.as_deref().map(|notice| notice.trim_start_matches("Mode ").trim_end_matches('.'));
    let mut lines = vec![labelled("Mode", notice.unwrap_or_else(|| mode(standing)))];
    if standing.installed {
        lines.push(labelled("Leader", &standing.leader.words(Timestamp(standing.now))));
    }
    lines.push(labelled("Nodes", &nodes(standing)));
    if standing.installed {
        lines.push(labelled("Agents", &agents(standing)));
    }
    lines.push(String::new());
    lines.extend(open(standing));
    if standing.installed {
        lines.push(labelled("Trend", &trend(standing)));
    }
    lines.push(String::new());
    if standing.installed {
        lines.push(labelled("Budgets", &budgets(standing)));
        lines.push(labelled("Breakers", &breakers(standing)));
    }
    lines.push(labelled("Others", &others(standing)));
    lines.extend(unread(standing).map(|text| labelled("Not read", &text)));
    lines.extend(unfit(standing).map(|text| labelled("Invalid", &text)));
    lines.push(String::new());
    lines.extend(next(standing));
    lines.join("\n") + "\n"
}

fn labelled(label: &str, text: &str) -> String {
    cut(&format!("{label:<LABEL$}{text}"), COLUMNS)
}

fn mode(standing: &FleetStatus) -> &'static str {
    match standing.mode_in_effect {
        _ if !standing.installed => "none: Mainstay is not installed in this cluster",
        None => "unknown: no Cell exists, or no permission to read it",
        Some(Mode::Observe) => "Observe: dry run, decisions are recorded and no node or job is changed",
        Some(Mode::Propose) => "Propose: each action waits for approval",
        Some(Mode::Act) => "Act: actions are executed within the disruption budgets",
    }
}

fn nodes(standing: &FleetStatus) -> String {
    if standing.nodes == 0 {
        return "none: no node has GPUs or the label mainstay.dev/pool".to_owned();
    }
    let stages = standing.stages.iter().map(|(stage, held)| format!("{} {stage:?} {}", mark(*stage), held.nodes));
    let [all, gpus] = [standing.nodes, standing.gpus].map(|count| thousands(count.into()));
    let out = match standing.gpus_out {
        0 => "none".to_owned(),
        gpus => counted(gpus.into(), "GPU", "GPUs"),
    };
    let stages = stages.collect::<Vec<_>>().join("   ");
    format!("{all} with {gpus} GPUs, out of service: {out}   {stages}")
}

fn agents(standing: &FleetStatus) -> String {
    let agents = &standing.agents;
    let mut parts = vec![counted(agents.reporting.into(), "reports", "report")];
    if agents.without_gpus > 0 {
        parts.push(counted(agents.without_gpus.into(), "cannot read GPUs", "cannot read GPUs"));
    }
    if agents.stale > 0 {
        parts.push(counted(agents.stale.into(), "stopped reporting", "stopped reporting"));
    }
    if agents.never > 0 {
        parts.push(counted(agents.never.into(), "never reported", "never reported"));
    }
    parts.join(", ")
}

fn open(standing: &FleetStatus) -> Vec<String> {
    if standing.incidents.is_empty() {
        return vec![labelled("Incidents", "none open")];
    }
    let now = Timestamp(standing.now);
    let headers = [
        ("INCIDENT", Align::Left),
        ("GPUS", Align::Right),
        ("FOR", Align::Right),
        ("ACK", Align::Left),
        ("WAITING ON", Align::Left),
    ];
    let mut table = Table::new(&headers);
    for one in &standing.incidents {
        table.row(row(one, now));
    }
    let text = table.text();
    let count = counted(standing.incidents_open.into(), "open", "open, largest first");
    let mut lines = vec![labelled("Incidents", &count)];
    lines.extend(text.lines().map(|line| cut(&format!("{}{}", " ".repeat(LABEL), line.trim_start()), COLUMNS)));
    let more = usize::try_from(standing.incidents_open).unwrap_or(0).saturating_sub(standing.incidents.len());
    if more > 0 {
        lines.push(labelled("", &format!("and {more} more: mainstay incident list")));
    }
    lines
}

/// Whether it gets worse.
fn trend(standing: &FleetStatus) -> String {
    let [now, hour, day] = standing.trend.map(|then| {
        let incidents = counted(then.incidents_open.into(), "incident", "incidents");
        format!("{incidents}, {}", counted(then.gpus.into(), "GPU", "GPUs"))
    });
    format!("now {now}; an hour ago {hour}; a day ago {day}")
}

fn row(one: &IncidentRow, now: Timestamp) -> [String; 5] {
    let title = cut(&format!("{} {}", mark(one.stage), one.title), TITLE_MAX);
    [
        title,
        thousands(one.gpus.into()),
        duration(now.since(Timestamp(one.since)).0 / 1_000),
        if one.acknowledged_by.is_some() { "yes" } else { "no" }.to_owned(),
        one.waiting_on.word().to_owned(),
    ]
}

fn budgets(standing: &FleetStatus) -> String {
    let full: Vec<String> = standing
        .budgets_full
        .iter()
        .map(|budget| {
            let level = budget.level.map_or_else(String::new, |level| format!("{} in ", level_name(level)));
            let dry_run = if budget.dry_run > 0 { format!(", {} in dry run", budget.dry_run) } else { String::new() };
            format!("{level}pool {} ({} out{dry_run}, limit {})", budget.pool, budget.out, budget.max)
        })
        .collect();
    if full.is_empty() { "none used up".to_owned() } else { format!("used up: {}", few(&full, NAMES_MAX)) }
}

fn breakers(standing: &FleetStatus) -> String {
    let open: Vec<String> = standing
        .breakers
        .iter()
        .map(|breaker| format!("rule {} in pool {} ({} nodes wait)", breaker.rule, breaker.pool, breaker.waiting))
        .collect();
    if open.is_empty() { "all closed".to_owned() } else { format!("▲ open: {}", few(&open, NAMES_MAX)) }
}

fn others(standing: &FleetStatus) -> String {
    let mut parts = Vec::new();
    if !standing.kept_away.is_empty() {
        let names: Vec<String> = standing.kept_away.iter().map(|one| format!("{} (by {})", one.node, one.by)).collect();
        parts.push(format!("cordoned by others: {}", few(&names, NAMES_MAX)));
    }
    for (who, nodes) in &standing.remediators {
        parts.push(format!("! {who} repairs {}", counted((*nodes).into(), "node", "nodes")));
    }
    if parts.is_empty() { "no node is cordoned or repaired by another tool".to_owned() } else { parts.join("; ") }
}

fn unread(standing: &FleetStatus) -> Option<String> {
    let kinds: Vec<&str> = standing.unread.iter().map(|one| one.kind).collect();
    match standing.unread.as_slice() {
        _ if !standing.installed => kinds.contains(&"pods").then(|| "pods: no permission".to_owned()),
        [] => None,
        [only] if only.kind == "pods" => Some(format!("pods: {}, so jobs on nodes are unknown", only.why)),
        [first, ..] => Some(format!("{}: {}", kinds.join(", "), first.why)),
    }
}

fn unfit(standing: &FleetStatus) -> Option<String> {
    let kinds: Vec<String> = standing.unfit.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    (!kinds.is_empty()).then(|| format!("{} do not match their schema: mainstay doctor", kinds.join(", ")))
}

fn next(standing: &FleetStatus) -> Vec<String> {
    let Some(first) = standing.needs.first() else {
        return vec![labelled("Action", "No action needed.")];
    };
    let more = match standing.needs.len() {
        1 => String::new(),
        all => format!(" ({} more)", all - 1),
    };
    let what = cut(&first.what, COLUMNS - LABEL - more.len());
    vec![labelled("Action", &format!("{what}{more}")), labelled("", &first.command)]
}
