//! The routine review of a week or of four weeks: jobs and utilisation over time, incidents, capacity out of service, lemons,
//! and the versions in use. Jobs and utilisation come from Prometheus, everything else from the cluster.

mod history;

use std::collections::{BTreeMap, BTreeSet};

use mainstay_engine::is_out_of_service;
use mainstay_kube::View;
use mainstay_model::{NodeName, Ready, Schedulable, Span, Stage, Timestamp};
use mainstay_prometheus::Server;
use mainstay_text::{Align, Table, gpu_hours, thousands};
use serde::Serialize;

use self::history::HistoryRow;
use crate::commands::why::clock;
use crate::output::Problem;

/// Rows of each table; the JSON has the same.
const ROWS_MAX: usize = 20;
const DAY_SECONDS: u32 = 24 * 60 * 60;
/// What a cell without data shows.
const NO_DATA: &str = "–";

/// Which routine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Routine {
    /// Seven days, by day.
    Weekly,
    /// Four weeks, by week.
    Monthly,
}

/// The whole review, as `review --weekly -o json` prints it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RoutineReport {
    #[serde(skip)]
    routine: Routine,
    since: i64,
    until: i64,
    /// Jobs, queue wait and utilisation by day or by week, oldest first. Null without Prometheus.
    history: Option<Vec<HistoryRow>>,
    incidents: Vec<IncidentRow>,
    out_of_service: Vec<OutRow>,
    lemons: Vec<LemonRow>,
    versions: Vec<VersionRow>,
}

/// Incidents of one rule.
#[derive(Serialize, Default, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
struct IncidentRow {
    rule: String,
    opened: u64,
    /// Opened in the same time before.
    opened_before: u64,
    open: u64,
    nodes: u64,
    lost_gpu_seconds: u64,
}

/// Capacity that runs no jobs now, by cause.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OutRow {
    cause: String,
    nodes: u64,
    gpus: u64,
}

/// A node that fails many times as often as others.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LemonRow {
    node: String,
    risk_ppm: u32,
    incidents: u64,
}

/// GPUs with the same model, driver and firmware.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct VersionRow {
    model: String,
    driver: String,
    /// Null where the agent does not report it.
    firmware: Option<String>,
    nodes: u64,
    gpus: u64,
}

// === impl Routine ===

impl Routine {
    /// Seconds of one row of the history, and the number of rows.
    const fn steps(self) -> (u32, u32) {
        match self {
            Self::Weekly => (DAY_SECONDS, 7),
            Self::Monthly => (7 * DAY_SECONDS, 4),
        }
    }

    /// One row of the history as PromQL writes it, and as a table heading.
    const fn window(self) -> (&'static str, &'static str) {
        match self {
            Self::Weekly => ("1d", "DAY TO"),
            Self::Monthly => ("7d", "WEEK TO"),
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::Weekly => "Weekly review",
            Self::Monthly => "Review of four weeks",
        }
    }

    fn span(self) -> Span {
        let (step, count) = self.steps();
        Span::seconds(step * count)
    }
}

// === impl RoutineReport ===

impl RoutineReport {
    pub(super) async fn read(routine: Routine, view: &View, server: Option<&Server>) -> Result<Self, Problem> {
        let (until, since) = (view.now(), view.now() - routine.span());
        Ok(Self {
            routine,
            since: since.0,
            until: until.0,
            history: match server {
                Some(server) => Some(history::read(routine, server, until).await?),
                None => None,
            },
            incidents: incidents(&stored_incidents(view), (since, routine.span())),
            out_of_service: out_of_service(view),
            lemons: lemons(view),
            versions: versions(view),
        })
    }

    pub(super) fn text(&self) -> String {
        let mut text = format!("{}, {} to {} UTC\n", self.routine.title(), clock(self.since), clock(self.until));
        let mut section = |title: &str, body: String| text.push_str(&format!("\n{title}\n{body}"));
        section("Jobs and utilisation", history::text(self.routine, self.history.as_deref()));
        section("Incidents, by rule", or_none(self.incidents.is_empty(), self.incidents_text()));
        section("Out of service now, by cause", or_none(self.out_of_service.is_empty(), self.out_text()));
        section(
            "Lemons: nodes that fail many times as often as others",
            or_none(self.lemons.is_empty(), self.lemons_text()),
        );
        section("GPU models, drivers and firmware", or_none(self.versions.is_empty(), self.versions_text()));
        text
    }

    fn incidents_text(&self) -> String {
        let headers = [
            ("RULE", Align::Left),
            ("OPENED", Align::Right),
            ("BEFORE", Align::Right),
            ("STILL OPEN", Align::Right),
            ("NODES", Align::Right),
            ("LOST GPU-HOURS", Align::Right),
        ];
        let mut table = Table::new(&headers);
        for row in &self.incidents {
            table.row([
                row.rule.clone(),
                row.opened.to_string(),
                row.opened_before.to_string(),
                row.open.to_string(),
                row.nodes.to_string(),
                gpu_hours(row.lost_gpu_seconds),
            ]);
        }
        table.text() + "BEFORE is the number in the same time before.\n"
    }

    fn out_text(&self) -> String {
        let mut table = Table::new(&[("CAUSE", Align::Left), ("NODES", Align::Right), ("GPUS", Align::Right)]);
        for row in &self.out_of_service {
            table.row([row.cause.clone(), thousands(row.nodes), thousands(row.gpus)]);
        }
        table.text()
    }

    fn lemons_text(&self) -> String {
        let mut table = Table::new(&[("NODE", Align::Left), ("RISK", Align::Right), ("INCIDENTS", Align::Right)]);
        for row in &self.lemons {
            table.row([row.node.clone(), format!("{} ppm", thousands(row.risk_ppm.into())), row.incidents.to_string()]);
        }
        table.text()
    }

    fn versions_text(&self) -> String {
        let headers = [
            ("MODEL", Align::Left),
            ("DRIVER", Align::Left),
            ("FIRMWARE", Align::Left),
            ("NODES", Align::Right),
            ("GPUS", Align::Right),
        ];
        let mut table = Table::new(&headers);
        for row in &self.versions {
            let firmware = row.firmware.clone().unwrap_or_else(|| NO_DATA.to_owned());
            table.row([row.model.clone(), row.driver.clone(), firmware, thousands(row.nodes), thousands(row.gpus)]);
        }
        table.text()
    }
}

fn or_none(is_empty: bool, text: String) -> String {
    if is_empty { "None.\n".to_owned() } else { text }
}

/// What the review needs of one stored incident.
struct StoredIncident {
    rule: String,
    opened_at: Timestamp,
    is_open: bool,
    nodes: Vec<NodeName>,
    lost_gpu_seconds: u64,
}

fn stored_incidents(view: &View) -> Vec<StoredIncident> {
    let stored = view.incidents().filter_map(|(_, incident)| incident.status.as_ref());
    let one = |status: &mainstay_api::IncidentStatus| StoredIncident {
        rule: status.rule.to_string(),
        opened_at: status.opened_at.into(),
        is_open: status.closed_at.is_none(),
        nodes: status.nodes.as_slice().to_vec(),
        lost_gpu_seconds: u64::try_from(status.lost_gpu_seconds).unwrap_or(0),
    };
    stored.map(one).collect()
}

/// Incidents that were opened since then or in the same time before, or are open. The most frequent rule is first.
fn incidents(stored: &[StoredIncident], (since, span): (Timestamp, Span)) -> Vec<IncidentRow> {
    let mut rows: BTreeMap<&str, (IncidentRow, BTreeSet<&NodeName>)> = BTreeMap::new();
    for one in stored.iter().filter(|one| one.is_open || one.opened_at >= since - span) {
        let (row, nodes) = rows.entry(&one.rule).or_default();
        if one.opened_at >= since {
            row.opened += 1;
            row.lost_gpu_seconds += one.lost_gpu_seconds;
            nodes.extend(&one.nodes);
        } else if one.opened_at >= since - span {
            row.opened_before += 1;
        }
        row.open += u64::from(one.is_open);
    }
    let with_rule = |(rule, (row, nodes)): (&str, (IncidentRow, BTreeSet<&NodeName>))| IncidentRow {
        rule: rule.to_owned(),
        nodes: u64::try_from(nodes.len()).unwrap_or(u64::MAX),
        ..row
    };
    let mut rows: Vec<IncidentRow> = rows.into_iter().map(with_rule).collect();
    rows.sort_by_key(|row| std::cmp::Reverse((row.opened, row.open)));
    rows.truncate(ROWS_MAX);
    rows
}

fn out_of_service(view: &View) -> Vec<OutRow> {
    let mut causes: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for (node, seen) in view.nodes() {
        let Some(facts) = &seen.facts else { continue };
        let persisted = view.engine().persisted(node);
        let stage = persisted.map_or(Stage::InService, |known| known.stage);
        let rule = persisted.and_then(|known| known.cause.as_ref()).map(|cause| cause.rule.to_string());
        let cause = if is_out_of_service(stage, Ready::Yes) {
            rule.unwrap_or_else(|| format!("stage {stage:?}"))
        } else if facts.ready != Ready::Yes {
            rule.unwrap_or_else(|| "not ready".to_owned())
        } else if facts.schedulable == Schedulable::NotByOthers {
            "cordoned by another actor".to_owned()
        } else {
            continue;
        };
        let (nodes, gpus) = causes.entry(cause).or_default();
        *nodes += 1;
        *gpus += u64::from(facts.gpus);
    }
    let mut rows: Vec<OutRow> =
        causes.into_iter().map(|(cause, (nodes, gpus))| OutRow { cause, nodes, gpus }).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.gpus));
    rows.truncate(ROWS_MAX);
    rows
}

fn lemons(view: &View) -> Vec<LemonRow> {
    let risky = |node: &NodeName| {
        let risk = view.engine().risk(node).filter(mainstay_engine::Risk::is_lemon)?;
        let known = view.engine().persisted(node).map_or(0, |persisted| persisted.incidents.as_slice().len());
        let incidents = u64::try_from(known).unwrap_or(u64::MAX);
        Some(LemonRow { node: node.to_string(), risk_ppm: risk.ppm.0, incidents })
    };
    let mut rows: Vec<LemonRow> = view.nodes().keys().filter_map(risky).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.risk_ppm));
    rows.truncate(ROWS_MAX);
    rows
}

fn versions(view: &View) -> Vec<VersionRow> {
    let mut rows: BTreeMap<(&str, &str, Option<&str>), (u64, u64)> = BTreeMap::new();
    for (name, report) in view.nodes().iter().filter_map(|(name, seen)| Some((name, seen.report.as_ref()?))) {
        let inventory = &report.inventory;
        let versions = (inventory.product.as_str(), inventory.driver.as_str(), view.firmware(name));
        let (nodes, gpus) = rows.entry(versions).or_default();
        *nodes += 1;
        *gpus += u64::try_from(inventory.gpus.as_slice().len()).unwrap_or(0);
    }
    let row = |((model, driver, firmware), (nodes, gpus)): ((&str, &str, Option<&str>), (u64, u64))| VersionRow {
        model: model.to_owned(),
        driver: driver.to_owned(),
        firmware: firmware.map(ToOwned::to_owned),
        nodes,
        gpus,
    };
    let mut rows: Vec<VersionRow> = rows.into_iter().map(row).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.gpus));
    rows.truncate(ROWS_MAX);
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn incidents_are_counted_by_rule_and_compared_with_the_time_before() {
        let day = |day: u32| Timestamp(i64::from(day) * 86_400_000);
        let one = |rule: &str, opened: u32, is_open: bool, node: &str| StoredIncident {
            rule: rule.to_owned(),
            opened_at: day(opened),
            is_open,
            nodes: vec![node.parse().unwrap()],
            lost_gpu_seconds: 10,
        };
        let stored = [
            one("gpu-off-the-bus", 15, false, "n1"),
            one("gpu-off-the-bus", 16, true, "n1"),
            one("gpu-off-the-bus", 8, false, "n2"),
            one("ecc", 1, true, "n3"),
            one("ecc", 2, false, "n4"),
        ];
        let rows = incidents(&stored, (day(14), Span::hours(7 * 24)));
        let row = |rule: &str, opened, opened_before, open, nodes, lost_gpu_seconds| IncidentRow {
            rule: rule.to_owned(),
            opened,
            opened_before,
            open,
            nodes,
            lost_gpu_seconds,
        };
        assert_eq!(rows, [row("gpu-off-the-bus", 2, 1, 1, 1, 20), row("ecc", 0, 0, 1, 0, 0)]);
    }
}
