//! Replays rules over recorded events: records the series that the paging alerts read, then evaluates those alerts each
//! minute and applies their `for`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::Range;

use mainstay_account::rules::{RuleGroup, rules};
use mainstay_account::slo::{Severity, Slo};
use tempfile::TempDir;

use super::events::Recorder;
use testbed::Prometheus;

/// First second of the events, 2026-01-01 in UTC.
pub(super) const START: i64 = 1_767_225_600;

pub(super) const OURS: &str = "Mainstay";
pub(super) const SLOTH: &str = "Sloth";

/// The rules that can page for one objective.
pub(super) struct PageRules {
    pub(super) name: String,
    pub(super) origin: &'static str,
    pub(super) records: Vec<Record>,
    pub(super) alerts: Vec<Alert>,
}

pub(super) struct Record {
    pub(super) name: String,
    pub(super) expr: String,
    pub(super) labels: Vec<(String, String)>,
}

pub(super) struct Alert {
    pub(super) expr: String,
    pub(super) hold_seconds: i64,
}

/// The rules of Mainstay that can page.
pub(super) fn page_rules(slos: &[Slo]) -> Vec<PageRules> {
    let groups = slos.iter().map(|slo| (slo.name(), rules(slo)));
    groups.map(|(name, group)| of_group(name, &group)).collect()
}

fn of_group(name: &str, group: &RuleGroup) -> PageRules {
    let paging = group.alerts.iter().filter(|alert| alert.severity == Severity::Page);
    let alerts: Vec<Alert> = paging
        .map(|alert| Alert {
            expr: alert.expr.clone(),
            hold_seconds: i64::try_from(alert.hold.0 / 1_000).unwrap_or(i64::MAX),
        })
        .collect();
    let records = group.records.iter().map(|one| Record {
        name: one.record.clone(),
        expr: one.expr.clone(),
        labels: vec![("slo".to_owned(), one.slo.clone())],
    });
    PageRules { name: name.to_owned(), origin: OURS, records: read_by(&alerts, records), alerts }
}

/// The records that the alerts read. No other is needed to know when they fire.
pub(super) fn read_by(alerts: &[Alert], records: impl Iterator<Item = Record>) -> Vec<Record> {
    let is_read = |one: &Record| alerts.iter().any(|alert| alert.expr.contains(&format!("{}{{", one.name)));
    records.filter(is_read).collect()
}

/// A server with the events and the recorded series.
pub(super) struct Replay {
    server: Prometheus,
    folder: TempDir,
    seconds: Range<i64>,
}

impl Replay {
    pub(super) async fn new(recorder: Recorder, all: &[PageRules], minutes: u32) -> anyhow::Result<Self> {
        let (folder, metrics) = recorder.finish()?;
        let seconds = START..START + i64::from(minutes) * 60;
        let file = folder.path().join("records.json");
        std::fs::write(&file, rule_file(all)?)?;
        let server = Prometheus::start(folder.path(), &metrics).await?;
        let server = server.record(folder.path(), &file, &seconds).await?;
        Ok(Self { server, folder, seconds })
    }

    /// Times in Unix seconds at which a page begins.
    pub(super) async fn pages(&self, rules: &PageRules) -> anyhow::Result<Vec<i64>> {
        let mut pages = Vec::new();
        for alert in &rules.alerts {
            let active = self.server.minutes_with_result(self.folder.path(), &alert.expr, &self.seconds).await?;
            pages.extend(firings(&active, alert.hold_seconds));
        }
        Ok(pages)
    }
}

/// Begins of firing: the first evaluation at which the query had a result for `hold_seconds`.
fn firings(active: &BTreeSet<i64>, hold_seconds: i64) -> Vec<i64> {
    let mut firings = Vec::new();
    let (mut since, mut last) = (i64::MIN, i64::MIN);
    let mut is_firing = false;
    for at in active {
        if last.saturating_add(60) != *at {
            (since, is_firing) = (*at, false);
        }
        last = *at;
        if !is_firing && *at - since >= hold_seconds {
            firings.push(*at);
            is_firing = true;
        }
    }
    firings
}

/// A rule file; JSON is YAML.
fn rule_file(all: &[PageRules]) -> anyhow::Result<String> {
    let mut text = "groups:\n".to_owned();
    for (number, rules) in all.iter().enumerate() {
        writeln!(text, "- name: group-{number}\n  rules:")?;
        for record in &rules.records {
            let labels: serde_json::Map<_, _> =
                record.labels.iter().map(|(label, value)| (label.clone(), value.clone().into())).collect();
            let rule = serde_json::json!({"record": record.name, "expr": record.expr, "labels": labels});
            writeln!(text, "  - {rule}")?;
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alert_fires_after_its_hold_and_again_after_an_interruption() {
        let active: BTreeSet<i64> = [0, 60, 120, 240, 300, 480].into();
        assert_eq!(firings(&active, 0), [0, 240, 480]);
        assert_eq!(firings(&active, 60), [60, 300]);
        assert!(firings(&active, 180).is_empty());
    }
}
