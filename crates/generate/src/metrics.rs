//! Makes `docs/reference/metrics.md` from the metric catalogue.

use std::fmt::Write as _;

use mainstay_telemetry::metrics::{BOUNDS_SECONDS, Definition, Exporter, LABEL_VALUE_BYTES_MAX, Unit};

use xtask::figures::table::NOTICE;

use super::GeneratedFile;

const HEAD: &str = "\
# Metrics

Every metric that Mainstay exports. Names and labels are a public interface. `/metrics` returns OpenMetrics 1.0.0 to clients
that accept it, such as Prometheus, and the text format 0.0.4 to all others. Both have the same series.
";

pub(super) fn file() -> anyhow::Result<GeneratedFile> {
    let mut text = format!("{NOTICE}\n\n{HEAD}\n");
    writeln!(
        text,
        "Labels can have values that users and nodes choose. Each metric therefore has a largest number of series, and a label\n\
         value is cut after {LABEL_VALUE_BYTES_MAX} bytes. `mainstay_metrics_series_omitted` counts the series that were left out."
    )?;
    let bounds = BOUNDS_SECONDS.map(|bound| bound.to_string()).join(", ");
    writeln!(text, "\nThe buckets of every histogram end at {bounds} seconds.")?;
    for exporter in Exporter::ALL {
        let (name, source) = heading(exporter);
        write!(text, "\n## {name}\n\n{source}\n\n")?;
        writeln!(text, "| metric | type | unit | labels | series, at most | meaning |\n|---|---|---|---|--:|---|")?;
        for metric in Definition::exported_by(exporter) {
            row(&mut text, metric)?;
        }
    }
    Ok(GeneratedFile { path: "docs/reference/metrics.md".to_owned(), text })
}

const fn heading(exporter: Exporter) -> (&'static str, &'static str) {
    match exporter {
        Exporter::Controller => ("Controller", "Exported by `mainstay serve`."),
        Exporter::Agent => ("Agent", "Exported by `mainstay-agent run` on each node."),
        Exporter::Ui => (
            "Web UI",
            "Exported by `mainstay ui` and `mainstay demo`. Series that start with `DCGM_` have the names and labels of NVIDIA's\n\
             dcgm-exporter.",
        ),
    }
}

fn row(text: &mut String, metric: &Definition) -> std::fmt::Result {
    let labels: Vec<String> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
    let (name, kind, labels, help) = (metric.name, metric.kind.word(), labels.join(", "), metric.help);
    let unit = match metric.unit {
        Unit::One => "",
        Unit::Seconds => "s",
        Unit::Microseconds => "µs",
        Unit::Celsius => "°C",
        Unit::Watts => "W",
        Unit::Megahertz => "MHz",
        Unit::Percent => "%",
        Unit::Bytes => "B",
    };
    writeln!(
        text,
        "| `{name}` | {kind} | {unit} | {labels} | {} | {help} |",
        metric.series_max * metric.series_per_label_set()
    )
}
