//! Rules that Sloth generates for the objectives of the false-page proof.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use serde::Deserialize;
use xtask::command;

use super::replay::{Alert, PageRules, Record, SLOTH, read_by};

const LIMIT: Duration = Duration::from_secs(60);

#[derive(Deserialize)]
struct RuleFile {
    groups: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    rules: Vec<Rule>,
}

#[derive(Deserialize)]
struct Rule {
    record: Option<String>,
    alert: Option<String>,
    expr: String,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

/// The same queries as those of our indicators, as the share of bad events that Sloth asks for.
const SPEC: &str = r#"version: prometheus/v1
service: fleet
slos:
SLOS"#;

/// Name, objective, and the queries for bad and all events.
const SLOS: [(&str, &str, &str, &str); 3] = [
    ("jobs-99", "99", JOBS_BAD, JOBS_ALL),
    ("jobs-995", "99.5", JOBS_BAD, JOBS_ALL),
    ("waits-95", "95", WAITS_BAD, WAITS_ALL),
];
const JOBS_BAD: &str = r#"sum(rate(mainstay_jobs_total{outcome="infrastructure",scenario="jobs"}[{{.window}}]))"#;
const JOBS_ALL: &str =
    r#"sum(rate(mainstay_jobs_total{outcome=~"success|infrastructure",scenario="jobs"}[{{.window}}]))"#;
const WAITS_BAD: &str = r#"sum(rate(mainstay_job_wait_seconds_count{scenario="waits"}[{{.window}}])) - sum(rate(mainstay_job_wait_seconds_bucket{le="300.0",scenario="waits"}[{{.window}}]))"#;
const WAITS_ALL: &str = r#"sum(rate(mainstay_job_wait_seconds_count{scenario="waits"}[{{.window}}]))"#;

pub(super) async fn page_rules(folder: &Path) -> anyhow::Result<Vec<PageRules>> {
    let program = testbed::sloth().await?;
    let (input, output) = (folder.join("sloth.yaml"), folder.join("sloth-rules.yaml"));
    let slos: Vec<String> = SLOS
        .iter()
        .map(|(name, objective, bad, all)| {
            format!(
                "- name: {name}\n  objective: {objective}\n  sli: {{events: {{error_query: '{bad}', total_query: '{all}'}}}}\n  \
                 alerting: {{name: Burn, page_alert: {{labels: {{severity: page}}}}, ticket_alert: {{disable: true}}}}\n"
            )
        })
        .collect();
    std::fs::write(&input, SPEC.replace("SLOS", &slos.concat()))?;
    let mut sloth = command::program(program, folder);
    sloth.arg("generate").arg("-i").arg(&input).arg("-o").arg(&output);
    command::text(&mut sloth, LIMIT).await.context("sloth generated no rules")?;
    let file: RuleFile = serde_saphyr::from_str(&std::fs::read_to_string(&output)?)?;
    let all: Vec<Rule> = file.groups.into_iter().flat_map(|group| group.rules).collect();
    Ok(SLOS.iter().map(|(name, ..)| of_slo(name, &all)).collect())
}

fn of_slo(name: &str, all: &[Rule]) -> PageRules {
    let is_its_own = |rule: &&Rule| rule.labels.get("sloth_slo").is_some_and(|slo| slo == name);
    // Alerts name their objective in the query.
    let alerts = all.iter().filter(|rule| rule.alert.is_some() && rule.expr.contains(&format!("sloth_slo=\"{name}\"")));
    let alerts: Vec<Alert> = alerts.map(|rule| Alert { expr: rule.expr.clone(), hold_seconds: 0 }).collect();
    let records = all.iter().filter(is_its_own).filter_map(|rule| {
        let labels = rule.labels.iter().map(|(label, value)| (label.clone(), value.clone())).collect();
        Some(Record { name: rule.record.clone()?, expr: rule.expr.clone(), labels })
    });
    PageRules { name: name.to_owned(), origin: SLOTH, records: read_by(&alerts, records), alerts }
}
