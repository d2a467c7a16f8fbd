//! Makes the Grafana dashboards in `deploy/dashboards`. The panels are data in `panels.rs`; this file checks them against
//! the metric catalogue and writes Grafana's JSON.

mod panels;

use std::collections::BTreeSet;

use anyhow::ensure;
use mainstay_telemetry::metrics::{catalogue, dcgm};
use serde_json::{Value, json};

use super::GeneratedFile;
use panels::{DASHBOARDS, Dashboard, Draw, Panel};

/// Folder of the dashboards; the chart ships its files.
pub(super) const FOLDER: &str = "deploy/dashboards/";
/// Columns of Grafana's grid.
const COLUMNS: u32 = 24;
/// The version of the dashboard format that these fields belong to.
const SCHEMA: u32 = 39;

/// Series that Prometheus itself writes.
const OF_PROMETHEUS: [&str; 2] = ["up", "ALERTS"];
/// Endings of the series of a histogram.
const OF_HISTOGRAM: [&str; 3] = ["_bucket", "_sum", "_count"];

/// All dashboards.
pub(super) fn files() -> anyhow::Result<Vec<GeneratedFile>> {
    DASHBOARDS.iter().map(file).collect()
}

fn file(dashboard: &Dashboard) -> anyhow::Result<GeneratedFile> {
    for panel in dashboard.panels {
        check(panel).map_err(|error| error.context(format!("panel {} of {}", panel.title, dashboard.name)))?;
    }
    let text = serde_json::to_string_pretty(&document(dashboard))? + "\n";
    Ok(GeneratedFile { path: format!("{FOLDER}{}.json", dashboard.name), text })
}

/// A panel is about series that exist, and every line of it has a name.
fn check(panel: &Panel) -> anyhow::Result<()> {
    ensure!(!panel.queries.is_empty(), "it has no query");
    ensure!(panel.description.ends_with('.'), "its description is no sentence");
    for (query, legend) in panel.queries {
        ensure!(!legend.is_empty(), "a query has no legend: {query}");
        let unknown: Vec<&str> = names(query).into_iter().filter(|name| !is_known(name)).collect();
        ensure!(unknown.is_empty(), "no metric of these names: {}", unknown.join(", "));
    }
    Ok(())
}

/// Names of series in a query: words of our prefix, or of Prometheus itself.
pub(super) fn names(query: &str) -> BTreeSet<&str> {
    let words = query.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':'));
    words
        .filter(|word| word.starts_with("mainstay") || OF_PROMETHEUS.contains(word))
        .filter(|word| *word != "mainstay")
        .collect()
}

fn is_known(name: &str) -> bool {
    let base = OF_HISTOGRAM.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name);
    let is_exported = |wanted: &str| catalogue::ALL.iter().any(|metric| metric.name == wanted);
    let is_recorded = dcgm::ALL.iter().any(|mapping| mapping.record == name);
    is_exported(name)
        || is_exported(base)
        || is_recorded
        || OF_PROMETHEUS.contains(&name)
        || name.starts_with("mainstay:slo_")
}

fn document(dashboard: &Dashboard) -> Value {
    let (mut x, mut y, mut row_height) = (0, 0, 0);
    let mut panels = Vec::new();
    for (panel, id) in dashboard.panels.iter().zip(1..) {
        let (width, height) = panel.draw.size();
        if x + width > COLUMNS {
            (x, y, row_height) = (0, y + row_height, 0);
        }
        panels.push(one(panel, id, &json!({ "x": x, "y": y, "w": width, "h": height })));
        (x, row_height) = (x + width, row_height.max(height));
    }
    let mut variables = vec![json!({
        "name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus", "refresh": 1, "hide": 0,
    })];
    variables.extend(dashboard.variables.iter().map(|variable| {
        let query = format!("label_values({}, {})", variable.series, variable.label);
        json!({
            "name": variable.label, "label": variable.title, "type": "query", "datasource": source(), "definition": query,
            "query": { "query": query, "refId": "variable" }, "refresh": 2, "sort": 1, "includeAll": true, "multi": true,
            "allValue": ".*", "current": { "text": "All", "value": "$__all" },
        })
    }));
    json!({
        "uid": format!("mainstay-{}", dashboard.name),
        "title": format!("Mainstay: {}", dashboard.title),
        "description": dashboard.description,
        "tags": ["mainstay"],
        "schemaVersion": SCHEMA,
        "version": 1,
        "editable": true,
        "graphTooltip": 1,
        "refresh": "1m",
        "time": { "from": dashboard.from, "to": "now" },
        "timezone": "utc",
        "templating": { "list": variables },
        "annotations": { "list": [] },
        "links": [],
        "panels": panels,
    })
}

fn source() -> Value {
    json!({ "type": "prometheus", "uid": "${datasource}" })
}

fn one(panel: &Panel, id: u32, place: &Value) -> Value {
    let is_instant = panel.draw != Draw::Lines && panel.draw != Draw::Stacked;
    let targets: Vec<Value> = panel
        .queries
        .iter()
        .zip('A'..)
        .map(|((query, legend), letter)| {
            json!({
                "refId": letter.to_string(), "datasource": source(), "expr": query, "legendFormat": legend,
                "instant": is_instant, "range": !is_instant, "format": if panel.draw == Draw::Table { "table" } else { "time_series" },
            })
        })
        .collect();
    let mut defaults = json!({ "unit": panel.unit, "noValue": "no data" });
    if panel.draw == Draw::Stacked {
        defaults["custom"] = json!({ "stacking": { "mode": "normal" }, "fillOpacity": 30 });
    }
    json!({
        "id": id,
        "type": panel.draw.kind(),
        "title": panel.title,
        "description": panel.description,
        "datasource": source(),
        "gridPos": place,
        "fieldConfig": { "defaults": defaults, "overrides": [] },
        "options": panel.draw.options(),
        "targets": targets,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_about_a_series_that_nothing_exports_is_refused() {
        let panel = |query| Panel {
            title: "t",
            description: "A sentence.",
            draw: Draw::Lines,
            unit: "short",
            queries: Vec::leak(vec![(query, "l")]),
        };
        assert!(check(&panel("sum by (state) (mainstay_gpus)")).is_ok());
        assert!(check(&panel("mainstay_job_wait_seconds_bucket")).is_ok());
        assert!(check(&panel("sum(mainstay_gpus_total)")).is_err());
    }

    #[test]
    fn no_panel_leaves_the_grid_and_every_query_has_a_letter() {
        for dashboard in DASHBOARDS {
            let document = document(dashboard);
            for panel in document["panels"].as_array().into_iter().flatten() {
                let end = panel["gridPos"]["x"].as_u64().zip(panel["gridPos"]["w"].as_u64()).map(|(x, w)| x + w);
                assert!(end.is_some_and(|end| end <= COLUMNS.into()), "{panel}");
            }
        }
    }
}
