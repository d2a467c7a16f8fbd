//! The alerts fire when they should, are about series that exist, and have a page that helps.

#![cfg(test)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

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

#[test]
fn every_series_of_an_alert_is_one_that_we_have() {
    let ours = read("crates/mainstay-kube/src/metrics.rs") + &read("crates/mainstay-agent/src/metrics.rs");
    for rule in rules() {
        let expr = word(&rule, "/expr");
        let words = expr.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'));
        let series: Vec<&str> = words.filter(|word| word.starts_with("mainstay_")).collect();
        assert!(!series.is_empty(), "{expr}");
        for name in series {
            assert!(ours.contains(&format!("\"{name}\"")), "nobody counts {name}");
        }
    }
}

#[test]
fn every_label_that_an_alert_selects_is_one_that_a_metric_has() {
    let ours = read("crates/mainstay-kube/src/metrics.rs") + &read("crates/mainstay-agent/src/metrics.rs");
    for rule in rules() {
        let expr = word(&rule, "/expr");
        let selectors = expr.split('{').skip(1).filter_map(|rest| rest.split('}').next());
        for matcher in selectors.flat_map(|selector| selector.split(',')) {
            let label = matcher.split(['=', '!']).next().unwrap_or_default().trim();
            assert!(ours.contains(&format!("(\"{label}\",")), "no metric has the label {label}: {expr}");
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
