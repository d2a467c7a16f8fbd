//! Jobs, queue wait, utilisation and capacity over time, read from Prometheus.

use std::collections::BTreeMap;

use mainstay_model::Timestamp;
use mainstay_prometheus::{Range, Server, thousandths};
use mainstay_text::{Align, Table, duration, thousands, wrapped};
use serde::Serialize;

use super::{NO_DATA, Routine};
use crate::commands::review::COLUMNS;
use crate::commands::why::clock;
use crate::output::Problem;
use crate::prometheus;

/// One day or one week. Null where Prometheus has no data.
#[derive(Serialize, Default, Debug, Clone, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub(super) struct HistoryRow {
    until: i64,
    succeeded: Option<u64>,
    failed_by_infrastructure: Option<u64>,
    failed_by_user: Option<u64>,
    preempted: Option<u64>,
    queue_wait_p95_seconds: Option<u64>,
    utilisation_percent: Option<u64>,
    gpus_out: Option<u64>,
}

/// Reads the history. A cell is null where a query has no point.
pub(super) async fn read(routine: Routine, server: &Server, until: Timestamp) -> Result<Vec<HistoryRow>, Problem> {
    let (step, count) = routine.steps();
    let (window, _) = routine.window();
    let to = until.0.div_euclid(1_000);
    let range = Range { from: to - i64::from(step * (count - 1)), to, step };
    let mut rows: BTreeMap<i64, HistoryRow> = (0..i64::from(count))
        .map(|place| (range.from + place * i64::from(step)) * 1_000)
        .map(|until| (until, HistoryRow { until, ..HistoryRow::default() }))
        .collect();
    let queries = [
        ("", format!("round(sum by (outcome) (increase(mainstay_jobs_total[{window}])))")),
        (
            "wait",
            format!("histogram_quantile(0.95, sum by (le) (increase(mainstay_job_wait_seconds_bucket[{window}])))"),
        ),
        ("utilisation", format!("avg(avg_over_time(mainstay:gpu_utilisation_percent[{window}]))")),
        (
            "out",
            format!(
                "sum(max by (state) (avg_over_time(mainstay_gpus{{state!~\"InService|Suspect|Bootstrapping\"}}[{window}])))"
            ),
        ),
    ];
    for (column, query) in queries {
        let answer = server.range(&query, range).await.map_err(|error| prometheus::problem(&error))?;
        for series in &answer.series {
            let column = series.metric.get("outcome").map_or(column, String::as_str);
            for (at, value) in series.points() {
                // Rounded: a rate over a window is no whole number.
                let value = thousandths(value).map(|value| (value + 500) / 1_000);
                if let Some(cell) = rows.get_mut(&at).and_then(|row| row.cell(column)) {
                    *cell = value;
                }
            }
        }
    }
    Ok(rows.into_values().collect())
}

// === impl HistoryRow ===

impl HistoryRow {
    fn cell(&mut self, column: &str) -> Option<&mut Option<u64>> {
        match column {
            "success" => Some(&mut self.succeeded),
            "infrastructure" => Some(&mut self.failed_by_infrastructure),
            "user" => Some(&mut self.failed_by_user),
            "preempted" => Some(&mut self.preempted),
            "wait" => Some(&mut self.queue_wait_p95_seconds),
            "utilisation" => Some(&mut self.utilisation_percent),
            "out" => Some(&mut self.gpus_out),
            _ => None,
        }
    }
}

/// The history as a table. Without one, where it would come from.
pub(super) fn text(routine: Routine, history: Option<&[HistoryRow]>) -> String {
    let Some(history) = history else {
        let missing = "Not read: these numbers are in Prometheus. Add --prometheus http://HOST:PORT.";
        return wrapped(missing, COLUMNS, "");
    };
    let headers = [
        (routine.window().1, Align::Left),
        ("SUCCEEDED", Align::Right),
        ("BY INFRA", Align::Right),
        ("BY USER", Align::Right),
        ("PREEMPTED", Align::Right),
        ("WAIT P95", Align::Right),
        ("GPUS BUSY", Align::Right),
        ("GPUS OUT", Align::Right),
    ];
    let mut table = Table::new(&headers);
    let number = |value: Option<u64>| value.map_or_else(|| NO_DATA.to_owned(), thousands);
    for row in history {
        table.row([
            clock(row.until),
            number(row.succeeded),
            number(row.failed_by_infrastructure),
            number(row.failed_by_user),
            number(row.preempted),
            row.queue_wait_p95_seconds.map_or_else(|| NO_DATA.to_owned(), duration),
            row.utilisation_percent.map_or_else(|| NO_DATA.to_owned(), |percent| format!("{percent} %")),
            number(row.gpus_out),
        ]);
    }
    table.text() + "BY INFRA and BY USER are failed jobs. GPUS BUSY and GPUS OUT are averages.\n"
}
