//! The screen: at most 24 lines of 100 columns, whatever happens.

use mainstay_model::{Mode, Timestamp};

use super::{Open, Standing};
use crate::draw::marks::mark;
use crate::draw::{Align, Table, counted, cut, duration, few, thousands};

const COLUMNS: usize = 100;
/// Room for the words on the left.
const LABEL: usize = 11;
/// Names in one line; the others are counted.
const NAMES_MAX: usize = 3;
/// A subject and its rule in the list of what is open.
const BLAMED_MAX: usize = 44;

pub(super) fn text(standing: &Standing) -> String {
    let notice = standing.mode_notice.as_deref().map(|notice| notice.trim_start_matches("Mode "));
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
    lines.push(String::new());
    if standing.installed {
        lines.push(labelled("Budgets", &budgets(standing)));
        lines.push(labelled("Breakers", &breakers(standing)));
    }
    lines.push(labelled("Others", &others(standing)));
    lines.extend(unread(standing).map(|said| labelled("Unread", &said)));
    lines.extend(unfit(standing).map(|said| labelled("Unfit", &said)));
    lines.push(String::new());
    lines.extend(next(standing));
    lines.join("\n") + "\n"
}

fn labelled(label: &str, said: &str) -> String {
    cut(&format!("{label:<LABEL$}{said}"), COLUMNS)
}

fn mode(standing: &Standing) -> &'static str {
    match standing.mode_in_effect {
        _ if !standing.installed => "none: Mainstay is not installed in this cluster",
        None => "unknown: there is no Cell, or it may not be read",
        Some(Mode::Observe) => "Observe: nothing is touched, what would be done is written down",
        Some(Mode::Propose) => "Propose: acts wait for a person's yes",
        Some(Mode::Act) => "Act: within the budgets",
    }
}

fn nodes(standing: &Standing) -> String {
    if standing.nodes == 0 {
        return "none with GPUs, and none with the label mainstay.dev/pool".to_owned();
    }
    let stages = standing.stages.iter().map(|(stage, held)| format!("{} {stage:?} {}", mark(*stage), held.nodes));
    let [all, gpus] = [standing.nodes, standing.gpus].map(|count| thousands(count.into()));
    format!("{all} with {gpus} GPUs:  {}", stages.collect::<Vec<_>>().join("   "))
}

fn agents(standing: &Standing) -> String {
    let agents = &standing.agents;
    let mut said = vec![counted(agents.reporting.into(), "reports", "report")];
    if agents.silent > 0 {
        said.push(counted(agents.silent.into(), "is silent", "are silent"));
    }
    if agents.never > 0 {
        said.push(counted(agents.never.into(), "never reported", "never reported"));
    }
    said.join(", ")
}

fn open(standing: &Standing) -> Vec<String> {
    if standing.incidents.is_empty() {
        return vec![labelled("Open", "nothing is wrong that a rule knows of")];
    }
    let now = Timestamp(standing.now);
    let headers = [
        ("BLAMED", Align::Left),
        ("NODES", Align::Right),
        ("GPUS", Align::Right),
        ("FOR", Align::Right),
        ("WAITS ON", Align::Left),
        ("SEEN BY", Align::Left),
    ];
    let mut table = Table::new(&headers);
    for one in &standing.incidents {
        table.row(row(one, now));
    }
    let text = table.text();
    let count = counted(standing.incidents_open.into(), "incident", "incidents, the worst first");
    let mut lines = vec![labelled("Open", &count)];
    lines.extend(text.lines().map(|line| cut(&format!("{}{}", " ".repeat(LABEL), line.trim_start()), COLUMNS)));
    let more = usize::try_from(standing.incidents_open).unwrap_or(0).saturating_sub(standing.incidents.len());
    if more > 0 {
        lines.push(labelled("", &format!("and {more} more: mainstay incident list")));
    }
    lines
}

fn row(one: &Open, now: Timestamp) -> [String; 6] {
    let blamed = cut(&format!("{} {}: {}", mark(one.stage), one.blamed, one.rule), BLAMED_MAX);
    [
        blamed,
        thousands(one.nodes.into()),
        thousands(one.gpus.into()),
        duration(now.since(Timestamp(one.since)).0 / 1_000),
        one.waiting_on.word().to_owned(),
        one.acknowledged_by.clone().unwrap_or_else(|| "nobody".to_owned()),
    ]
}

fn budgets(standing: &Standing) -> String {
    let full: Vec<String> = standing
        .budgets_full
        .iter()
        .map(|budget| {
            let level = budget.level.map_or_else(String::new, |level| format!("a {level:?} of "));
            format!("{level}{} ({} of {} out)", budget.pool, budget.out, budget.most)
        })
        .collect();
    if full.is_empty() { "none is full".to_owned() } else { format!("full: {}", few(&full, NAMES_MAX)) }
}

fn breakers(standing: &Standing) -> String {
    let open: Vec<String> = standing
        .breakers
        .iter()
        .map(|breaker| format!("{} in {} ({} wait)", breaker.rule, breaker.pool, breaker.waiting))
        .collect();
    if open.is_empty() { "none is open".to_owned() } else { format!("▲ open: {}", few(&open, NAMES_MAX)) }
}

fn others(standing: &Standing) -> String {
    let mut said = Vec::new();
    if !standing.kept_away.is_empty() {
        let names: Vec<String> = standing.kept_away.iter().map(|one| format!("{} (by {})", one.node, one.by)).collect();
        said.push(format!("work is kept away from {}", few(&names, NAMES_MAX)));
    }
    for (who, nodes) in &standing.remediators {
        said.push(format!("! {who} repairs {}", counted((*nodes).into(), "node", "nodes")));
    }
    if said.is_empty() { "nobody else keeps work away, or repairs".to_owned() } else { said.join("; ") }
}

fn unread(standing: &Standing) -> Option<String> {
    let kinds: Vec<&str> = standing.unread.iter().map(|one| one.kind).collect();
    match standing.unread.as_slice() {
        _ if !standing.installed => kinds.contains(&"pods").then(|| "pods, by this account".to_owned()),
        [] => None,
        [only] if only.kind == "pods" => Some(format!("pods: {}, so what runs on nodes is unknown", only.why)),
        [first, ..] => Some(format!("{}: {}", kinds.join(", "), first.why)),
    }
}

fn unfit(standing: &Standing) -> Option<String> {
    let kinds: Vec<String> = standing.unfit.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    (!kinds.is_empty()).then(|| format!("{} could not be understood: mainstay doctor", kinds.join(", ")))
}

fn next(standing: &Standing) -> Vec<String> {
    let Some(first) = standing.needs.first() else {
        return vec![labelled("Next", "nothing needs a person")];
    };
    let more = match standing.needs.len() {
        1 => String::new(),
        all => format!(" ({} more)", all - 1),
    };
    let what = cut(&first.what, COLUMNS - LABEL - more.len());
    vec![labelled("Next", &format!("{what}{more}")), labelled("", &first.command)]
}
