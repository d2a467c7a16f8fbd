//! The alerts fire when they should, are about series that exist, and have a page that helps.

#![cfg(test)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use mainstay_telemetry::metrics::Definition;
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

/// One set of alerts with its tests.
struct AlertSet {
    rules: &'static str,
    tests: &'static str,
    /// An alert that fires all the time.
    heartbeat: Option<&'static str>,
}

const SETS: [AlertSet; 2] = [
    AlertSet {
        rules: "deploy/alerts/rules.yaml",
        tests: "deploy/alerts/tests.yaml",
        heartbeat: Some("MainstayDeadMan"),
    },
    AlertSet { rules: "deploy/alerts/fleet-rules.yaml", tests: "deploy/alerts/fleet-tests.yaml", heartbeat: None },
];

impl AlertSet {
    fn alerts(&self) -> Vec<Value> {
        let text: Value = serde_saphyr::from_str(&read(self.rules)).unwrap();
        let groups = text["groups"].as_array().unwrap().iter();
        let rules = groups.flat_map(|group| group["rules"].as_array().unwrap().clone());
        rules.filter(|rule| rule.get("alert").is_some()).collect()
    }
}

fn word<'a>(rule: &'a Value, path: &str) -> &'a str {
    rule.pointer(path).and_then(Value::as_str).unwrap_or_else(|| panic!("{path} is not in {rule}"))
}

fn tool(name: &str, args: &[&str]) -> String {
    let output = Command::new(name).args(args).current_dir(root()).output();
    let output = output.unwrap_or_else(|error| panic!("{name} is not installed; `.ci/run` installs it: {error}"));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    said
}

fn promtool(args: &[&str]) {
    tool("promtool", args);
}

#[test]
fn prometheus_takes_the_rules_and_they_fire_as_the_cases_say() {
    for set in &SETS {
        promtool(&["check", "rules", set.rules]);
        promtool(&["test", "rules", set.tests]);
    }
}

#[test]
fn prometheus_takes_the_recording_rules_and_they_prefer_dcgm_exporter() {
    promtool(&["check", "rules", "deploy/alerts/gpu-rules.yaml"]);
    promtool(&["test", "rules", "deploy/alerts/gpu-tests.yaml"]);
}

#[test]
fn the_rule_for_autoscalers_has_a_value_for_idle_queues_and_none_without_a_leader() {
    promtool(&["check", "rules", "deploy/examples/scaling/prometheus-rules.yaml"]);
    promtool(&["test", "rules", "deploy/examples/scaling/prometheus-tests.yaml"]);
}

#[test]
fn alertmanager_takes_the_example_and_sends_each_severity_to_its_receiver() {
    let config = "deploy/alerts/alertmanager.yaml";
    tool("amtool", &["check-config", config]);
    let file = format!("--config.file={config}");
    for (labels, receiver) in [
        (&["alertname=FleetDomainIncident", "severity=page", "owner=fleet", "leaf=l1"][..], "fleet-pager"),
        (&["alertname=FleetDomainIncident", "severity=none", "owner=fleet", "leaf=l1"], "none"),
        (&["alertname=FleetGpuHot", "severity=ticket", "owner=fleet", "node=n1"], "fleet-tickets"),
        (&["alertname=MainstayNoLeader", "severity=page"], "fleet-pager"),
        (&["alertname=MainstaySloBurnFast", "severity=page", "owner=research", "slo=jobs"], "research"),
        (&["alertname=MainstayDeadMan", "severity=none"], "heartbeat"),
    ] {
        let args: Vec<&str> = ["config", "routes", "test", &file].into_iter().chain(labels.iter().copied()).collect();
        assert_eq!(tool("amtool", &args).trim(), receiver, "{labels:?}");
    }
}

#[test]
fn every_alert_that_the_example_of_alertmanager_names_exists() {
    let example = read("deploy/alerts/alertmanager.yaml");
    let alerts: Vec<Value> = SETS.iter().flat_map(AlertSet::alerts).collect();
    let names: BTreeSet<&str> = alerts.iter().map(|rule| word(rule, "/alert")).collect();
    let quoted = example.split("alertname = \"").skip(1).filter_map(|rest| rest.split('"').next());
    for name in quoted {
        assert!(names.contains(name), "no alert {name}");
    }
}

#[test]
fn every_alert_has_a_case_that_fires_and_one_that_does_not() {
    for set in &SETS {
        let tests: Value = serde_saphyr::from_str(&read(set.tests)).unwrap();
        let tests = tests["tests"].as_array().unwrap().iter();
        let cases = tests.flat_map(|test| test["alert_rule_test"].as_array().unwrap());
        let (mut fires, mut calm) = (BTreeSet::new(), BTreeSet::new());
        for case in cases {
            let side = if case["exp_alerts"].as_array().unwrap().is_empty() { &mut calm } else { &mut fires };
            side.insert(word(case, "/alertname"));
        }
        let alerts = set.alerts();
        let names: BTreeSet<&str> = alerts.iter().map(|rule| word(rule, "/alert")).collect();
        assert_eq!(names.len(), alerts.len(), "two alerts have one name");
        assert_eq!(fires, names);
        assert_eq!(calm, names.into_iter().filter(|name| Some(*name) != set.heartbeat).collect());
    }
}

/// External metric that prometheus-adapter makes of a recording rule, in the example for autoscalers. No process exports it.
const EXTERNAL: &str = "mainstay_queue_pending_gpus";

/// Names of metrics in a text. `mainstay_model::Mode` is a Rust path and none of them.
fn metrics(text: &str) -> Vec<&str> {
    let starts = text.match_indices("mainstay_").map(|(at, _)| &text[at..]);
    let names = starts.map(|rest| {
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        rest.split_at(rest.find(|letter| !is_name(letter)).unwrap_or(rest.len()))
    });
    names.filter(|(name, rest)| !rest.starts_with("::") && *name != EXTERNAL).map(|(name, _)| name).collect()
}

fn defined(name: &str, context: &str) -> &'static Definition {
    Definition::find(name).unwrap_or_else(|| panic!("the catalogue has no metric {name}: {context}"))
}

/// All files of a folder with one of these endings, with their text.
fn files(folder: &Path, endings: &[&str]) -> Vec<(PathBuf, String)> {
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let of_path = |path: PathBuf| match path.is_dir() {
        true => files(&path, endings),
        false if endings.iter().any(|ending| path.extension().is_some_and(|is| is == *ending)) => {
            vec![(path.clone(), std::fs::read_to_string(path).unwrap())]
        }
        false => Vec::new(),
    };
    paths.flat_map(of_path).collect()
}

#[test]
fn every_metric_that_deploy_and_the_documents_name_is_in_the_catalogue() {
    // A recipe in docs/contribute adds a metric that does not exist yet.
    for folder in ["deploy", "docs/install", "docs/operate", "docs/reference"] {
        let files = files(&root().join(folder), &["yaml", "yml", "json", "tpl", "md"]);
        let mut checked = 0;
        for (path, text) in &files {
            for name in metrics(text) {
                defined(name, &path.display().to_string());
                checked += 1;
            }
        }
        assert!(checked > 0, "{folder} names no metric");
    }
    for rule in SETS[0].alerts() {
        assert!(!metrics(word(&rule, "/expr")).is_empty(), "{rule}");
    }
}

#[test]
fn every_label_that_an_alert_uses_is_one_of_its_metrics() {
    // Prometheus adds these to every series that it scrapes.
    const OF_TARGETS: [&str; 2] = ["instance", "job"];
    // Fleet alerts also use recorded series; their cases show which labels an alert has.
    for rule in SETS[0].alerts() {
        let expr = word(&rule, "/expr");
        for selector in expr.split('}').filter_map(|part| part.rsplit_once('{')) {
            let metric = defined(metrics(selector.0).last().unwrap(), expr);
            for matcher in selector.1.split(',') {
                let label = matcher.split(['=', '!']).next().unwrap_or_default().trim();
                assert!(metric.labels.contains(&label), "{} has no label {label}: {expr}", metric.name);
            }
        }
        let labels: BTreeSet<&str> =
            metrics(expr).iter().flat_map(|name| defined(name, expr).labels).copied().collect();
        let grouping = ["by (", "on (", "without ("].into_iter().flat_map(|word| expr.split(word).skip(1));
        let grouped = grouping.filter_map(|rest| rest.split(')').next()).flat_map(|list| list.split(','));
        let shown = word(&rule, "/annotations/summary").split("$labels.").skip(1);
        let shown =
            shown.filter_map(|rest| rest.split(|letter: char| !(letter.is_alphanumeric() || letter == '_')).next());
        for label in grouped.map(str::trim).chain(shown).filter(|label| !label.is_empty()) {
            assert!(labels.contains(label) || OF_TARGETS.contains(&label), "no metric has the label {label}: {expr}");
        }
    }
}

#[test]
fn every_alert_has_a_severity() {
    for set in &SETS {
        for rule in &set.alerts() {
            let severity = rule.pointer("/labels/severity").and_then(Value::as_str);
            // The expression of an incident sets the severity by its acknowledgement.
            let severity = severity.unwrap_or_else(|| {
                let expr = word(rule, "/expr");
                assert!(expr.contains("\"severity\", \"page\", \"acknowledged\", \"false\""), "{rule}");
                "page"
            });
            assert!(["page", "ticket", "none"].contains(&severity), "{rule}");
        }
    }
}
