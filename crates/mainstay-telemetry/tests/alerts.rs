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

fn rules() -> Vec<Value> {
    let text: Value = serde_saphyr::from_str(&read("deploy/alerts/rules.yaml")).unwrap();
    let groups = text["groups"].as_array().unwrap().iter();
    groups.flat_map(|group| group["rules"].as_array().unwrap().clone()).collect()
}

fn word<'a>(rule: &'a Value, path: &str) -> &'a str {
    rule.pointer(path).and_then(Value::as_str).unwrap_or_else(|| panic!("{path} is not in {rule}"))
}

fn promtool(args: &[&str]) {
    let output = Command::new("promtool").args(args).current_dir(root()).output();
    let output = output.expect("promtool comes with Debian's prometheus; `.ci/run` installs it");
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

#[test]
fn prometheus_takes_the_rules_and_they_fire_as_the_cases_say() {
    promtool(&["check", "rules", "deploy/alerts/rules.yaml"]);
    promtool(&["test", "rules", "deploy/alerts/tests.yaml"]);
}

#[test]
fn every_alert_has_a_case_that_fires_and_one_that_does_not() {
    let tests: Value = serde_saphyr::from_str(&read("deploy/alerts/tests.yaml")).unwrap();
    let cases = tests["tests"].as_array().unwrap().iter().flat_map(|test| test["alert_rule_test"].as_array().unwrap());
    let (mut fires, mut calm) = (BTreeSet::new(), BTreeSet::new());
    for case in cases {
        let side = if case["exp_alerts"].as_array().unwrap().is_empty() { &mut calm } else { &mut fires };
        side.insert(word(case, "/alertname"));
    }
    let rules = rules();
    let names: BTreeSet<&str> = rules.iter().map(|rule| word(rule, "/alert")).collect();
    assert_eq!(names.len(), rules.len(), "two alerts have one name");
    assert_eq!(fires, names);
    // The sign of life fires always.
    assert_eq!(calm, names.into_iter().filter(|name| *name != "MainstayDeadMan").collect());
}

/// Names of metrics in a text. `mainstay_model::Mode` is a Rust path and none of them.
fn metrics(text: &str) -> Vec<&str> {
    let starts = text.match_indices("mainstay_").map(|(at, _)| &text[at..]);
    let names = starts.map(|rest| {
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        rest.split_at(rest.find(|letter| !is_name(letter)).unwrap_or(rest.len()))
    });
    names.filter(|(_, rest)| !rest.starts_with("::")).map(|(name, _)| name).collect()
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
    for rule in rules() {
        assert!(!metrics(word(&rule, "/expr")).is_empty(), "{rule}");
    }
}

#[test]
fn every_label_that_an_alert_uses_is_one_of_its_metrics() {
    // Prometheus adds these to every series that it scrapes.
    const OF_TARGETS: [&str; 2] = ["instance", "job"];
    for rule in rules() {
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
fn every_alert_has_its_page_in_the_runbook_and_no_page_is_left_over() {
    let runbook = read("docs/operate/runbook.md");
    let pages: Vec<&str> = runbook.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    let rules = rules();
    assert_eq!(pages, rules.iter().map(|rule| word(rule, "/alert")).collect::<Vec<_>>());
    for rule in &rules {
        let link = format!("docs/operate/runbook.md#{}", word(rule, "/alert").to_lowercase());
        assert_eq!(word(rule, "/annotations/runbook"), link);
        assert!(["page", "ticket", "none"].contains(&word(rule, "/labels/severity")), "{rule}");
    }
}
