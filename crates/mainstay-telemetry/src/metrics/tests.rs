use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::{Command, Stdio};

use super::*;

/// Names that the linter of `promtool` would choose differently. They are kept, because dashboards use them.
const KEPT_NAMES: [&str; 5] = [
    "DCGM_FI_DEV_GPU_TEMP",
    "DCGM_FI_DEV_GPU_UTIL",
    "DCGM_FI_DEV_POWER_USAGE",
    "DCGM_FI_DEV_XID_ERRORS",
    "mainstay_agent_nvml_cpu_microseconds_total",
];

/// One series of every metric that a process exports.
fn one_of_each(exporter: Exporter) -> Samples {
    let mut samples = Samples::new(exporter);
    for metric in Definition::exported_by(exporter).filter(|metric| metric.name != "mainstay_metrics_series_omitted") {
        let value = match metric.kind {
            Kind::Counter | Kind::Gauge => Value::Unsigned(7),
            Kind::Histogram => Value::Distribution(Distribution::default()),
        };
        samples.add(metric, &vec!["value"; metric.labels.len()], value);
    }
    samples
}

/// Names of the metrics in a response.
fn metrics(text: &str) -> BTreeSet<&str> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let series = lines.filter_map(|line| line.split([' ', '{']).next());
    series.map(|name| Definition::find(name).unwrap_or_else(|| panic!("{name} is not defined")).name).collect()
}

#[test]
fn both_formats_have_the_names_of_the_catalogue() {
    for exporter in Exporter::ALL {
        let names: BTreeSet<&str> = Definition::exported_by(exporter).map(|metric| metric.name).collect();
        for format in [Format::Text, Format::OpenMetrics] {
            assert_eq!(metrics(&one_of_each(exporter).encode(format).unwrap()), names, "{format:?}");
        }
    }
}

#[test]
fn names_are_unique_and_counters_end_in_total() {
    let names: BTreeSet<&str> = catalogue::ALL.iter().map(|metric| metric.name).collect();
    assert_eq!(names.len(), catalogue::ALL.len());
    for metric in catalogue::ALL {
        assert_eq!(metric.kind == Kind::Counter, metric.name.ends_with("_total"), "{}", metric.name);
        assert!(metric.help.ends_with('.') && metric.series_max > 0, "{}", metric.name);
        assert!(metric.name.contains(metric.unit.word()), "{}", metric.name);
        assert_eq!(Definition::find(metric.name), Some(*metric));
    }
}

#[test]
fn promtool_reads_every_response_and_knows_no_better_name_than_the_kept_ones() {
    let mut complaints = BTreeSet::new();
    for exporter in Exporter::ALL {
        let text = one_of_each(exporter).encode(Format::Text).unwrap();
        let mut command = Command::new("promtool");
        command.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut promtool = command.spawn().expect("promtool comes with Debian's prometheus");
        promtool.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let output = promtool.wait_with_output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
        // 3 is the exit code for names that the linter would choose differently; 1 is a format error.
        assert!(matches!(output.status.code(), Some(0 | 3)), "{said}");
        complaints.extend(said.lines().filter_map(|line| Some(line.split_once(' ')?.0.to_owned())));
    }
    assert_eq!(complaints, KEPT_NAMES.map(str::to_owned).into());
}

#[test]
fn the_text_format_is_that_of_prometheus() {
    let mut samples = Samples::new(Exporter::Controller);
    samples.count(catalogue::WRITES, ["GpuNode", "done"], 3);
    samples.set(catalogue::WATCH_AGE, ["nodes"], 5_u64);
    assert_eq!(
        samples.encode(Format::Text).unwrap(),
        "# HELP mainstay_metrics_series_omitted Series left out of this response, because a metric reached its limit.\n\
         # TYPE mainstay_metrics_series_omitted gauge\n\
         mainstay_metrics_series_omitted 0\n\
         # HELP mainstay_watch_age_seconds Time since the last event of a watch, in seconds, by resource kind.\n\
         # TYPE mainstay_watch_age_seconds gauge\n\
         mainstay_watch_age_seconds{kind=\"nodes\"} 5\n\
         # HELP mainstay_writes_total Writes to the API server, by object and result.\n\
         # TYPE mainstay_writes_total counter\n\
         mainstay_writes_total{what=\"GpuNode\",result=\"done\"} 3\n"
    );
}

#[test]
fn openmetrics_has_units_the_family_names_of_counters_and_an_end() {
    let mut samples = Samples::new(Exporter::Agent);
    samples.count(catalogue::AGENT_NVML_CPU, [], 3);
    samples.set(catalogue::AGENT_GPU_MARGIN, ["0", "GPU-1"], -2_i64);
    assert_eq!(
        samples.encode(Format::OpenMetrics).unwrap(),
        "# HELP mainstay_agent_gpu_margin_celsius Margin to the GPU slowdown temperature, in degrees Celsius.\n\
         # TYPE mainstay_agent_gpu_margin_celsius gauge\n\
         # UNIT mainstay_agent_gpu_margin_celsius celsius\n\
         mainstay_agent_gpu_margin_celsius{gpu=\"0\",uuid=\"GPU-1\"} -2\n\
         # HELP mainstay_agent_nvml_cpu_microseconds Processor time spent in NVML calls, in microseconds.\n\
         # TYPE mainstay_agent_nvml_cpu_microseconds counter\n\
         # UNIT mainstay_agent_nvml_cpu_microseconds microseconds\n\
         mainstay_agent_nvml_cpu_microseconds_total 3\n\
         # HELP mainstay_metrics_series_omitted Series left out of this response, because a metric reached its limit.\n\
         # TYPE mainstay_metrics_series_omitted gauge\n\
         mainstay_metrics_series_omitted 0\n\
         # EOF\n"
    );
}

#[test]
fn a_histogram_has_cumulative_buckets_a_sum_and_a_count_in_both_formats() {
    let mut waits = Distribution::default();
    for seconds in [0, 1, 2, 5, 5_000_000] {
        waits.observe(seconds);
    }
    for format in [Format::Text, Format::OpenMetrics] {
        let mut samples = Samples::new(Exporter::Controller);
        samples.observe(catalogue::JOB_WAIT, ["research"], waits);
        let text = samples.encode(format).unwrap();
        for line in [
            "mainstay_job_wait_seconds_bucket{le=\"1.0\",queue=\"research\"} 2\n",
            "mainstay_job_wait_seconds_bucket{le=\"5.0\",queue=\"research\"} 4\n",
            "mainstay_job_wait_seconds_bucket{le=\"2592000.0\",queue=\"research\"} 4\n",
            "mainstay_job_wait_seconds_bucket{le=\"+Inf\",queue=\"research\"} 5\n",
            "mainstay_job_wait_seconds_sum{queue=\"research\"} 5000008.0\n",
            "mainstay_job_wait_seconds_count{queue=\"research\"} 5\n",
        ] {
            assert!(text.contains(line), "no {line} in {text}");
        }
        let series = text.lines().filter(|line| line.starts_with("mainstay_job_wait_seconds")).count();
        assert_eq!(series, Definition::find("mainstay_job_wait_seconds").unwrap().series_per_label_set());
    }
}

#[test]
fn a_gpu_has_at_most_twenty_series_from_its_agent() {
    let of_gpu = Definition::exported_by(Exporter::Agent).filter(|metric| metric.labels.starts_with(&["gpu"]));
    let series: usize = of_gpu.map(Definition::series_per_label_set).sum();
    assert!((15..=20).contains(&series), "{series} series per GPU");
}

#[test]
fn label_values_are_escaped_and_cut_and_series_are_counted_beyond_their_limit() {
    let mut samples = Samples::new(Exporter::Controller);
    samples.set(catalogue::NODES_TAINTED, ["a\"b\\c\nd"], 1_u64);
    let long = "ü".repeat(LABEL_VALUE_BYTES_MAX);
    samples.set(catalogue::NODES_TAINTED, [&*long], 2_u64);
    samples.set(catalogue::NODES_TAINTED, [&*(long.clone() + "longer")], 3_u64);
    for key in 0..40 {
        samples.set(catalogue::NODES_TAINTED, [&*format!("example.com/{key}")], 1_u64);
    }
    assert_eq!(samples.omitted(), 1 + 40 + 2 - 32);
    let text = samples.encode(Format::Text).unwrap();
    assert!(text.contains("{key=\"a\\\"b\\\\c\\nd\"} 1\n"), "{text}");
    assert!(text.contains(&format!("{{key=\"{}\"}} 2\n", "ü".repeat(LABEL_VALUE_BYTES_MAX / 2))), "{text}");
    assert!(text.contains("\nmainstay_metrics_series_omitted 11\n"), "{text}");
}

#[test]
fn prometheus_gets_openmetrics_and_other_clients_get_text() {
    let prometheus = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,\
                      application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;q=0.4,\
                      text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
    assert_eq!(Format::negotiate(prometheus), Format::OpenMetrics);
    assert_eq!(Format::negotiate("application/openmetrics-text"), Format::OpenMetrics);
    for accept in [
        "",
        "*/*",
        "text/plain",
        "text/html, */*;q=0.1",
        "application/openmetrics-text;version=0.0.1",
        "application/openmetrics-text;version=1.0.0;q=0.2, text/plain;q=0.5",
        "application/openmetrics-text;version=1.0.0;q=0",
        "application/openmetrics-text;q=7",
        ";;,=,q=",
    ] {
        assert_eq!(Format::negotiate(accept), Format::Text, "{accept}");
    }
}
