//! The report of a drill: one line for each check, as Markdown and as JSON.

use mainstay_health::rule_text;
use mainstay_model::Span;
use mainstay_text::{capital, duration};
use serde::Serialize;

use super::drill::Drill;
use crate::runbook;

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) enum CheckResult {
    Passed,
    Failed,
    /// It could not be tried.
    NotChecked,
}

/// One check of a drill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DrillCheck {
    what: String,
    result: CheckResult,
    measured: String,
}

/// The report of one drill.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DrillReport {
    drill: &'static str,
    /// What happened, in one sentence.
    what: &'static str,
    /// Where: a virtual fleet or a cluster.
    place: String,
    began_at: String,
    /// What the drill did, step by step.
    steps: Vec<String>,
    checks: Vec<DrillCheck>,
    /// What an operator has to do afterwards.
    left: Vec<String>,
}

impl DrillReport {
    pub(super) fn new(drill: Drill, place: String, began_at: String) -> Self {
        let (name, what) = (drill.name(), drill.what());
        Self { drill: name, what, place, began_at, steps: Vec::new(), checks: Vec::new(), left: Vec::new() }
    }

    pub(super) fn step(&mut self, did: impl Into<String>) {
        self.steps.push(did.into());
    }

    pub(super) fn check(&mut self, what: impl Into<String>, has_passed: bool, measured: impl Into<String>) {
        let result = if has_passed { CheckResult::Passed } else { CheckResult::Failed };
        self.checks.push(DrillCheck { what: what.into(), result, measured: measured.into() });
    }

    pub(super) fn not_checked(&mut self, what: impl Into<String>, why: impl Into<String>) {
        let result = CheckResult::NotChecked;
        self.checks.push(DrillCheck { what: what.into(), result, measured: why.into() });
    }

    pub(super) fn leaves(&mut self, what: impl Into<String>) {
        self.left.push(what.into());
    }

    /// Checks a time against its limit.
    pub(super) fn within(&mut self, what: &str, limit: Span, measured: Option<Span>) {
        let seconds = |span: Span| duration(span.0 / 1_000);
        let what = format!("{what} within {}", seconds(limit));
        match measured {
            Some(measured) => self.check(what, measured <= limit, format!("after {}", seconds(measured))),
            None => self.check(what, false, "not within the limit"),
        }
    }

    /// Checks that the rule of an incident leads to a runbook.
    pub(super) fn rule_has_runbook(&mut self, rule: &str) {
        let page = rule_text(rule).map(|text| text.runbook).filter(|name| runbook::exists(name));
        let measured = page.map_or_else(|| "none".to_owned(), |page| format!("`mainstay runbook {page}`"));
        self.check(format!("a runbook for rule `{rule}`"), page.is_some(), measured);
    }

    /// Checks that an alert leads to a runbook.
    pub(super) fn alert_has_runbook(&mut self, alert: &str) {
        let exists = runbook::exists(alert);
        let measured = if exists { format!("`mainstay runbook {alert}`") } else { "none".to_owned() };
        self.check(format!("a runbook for alert `{alert}`"), exists, measured);
    }

    /// Whether no check failed.
    pub(super) fn has_passed(&self) -> bool {
        self.checks.iter().all(|check| check.result != CheckResult::Failed)
    }

    pub(super) fn markdown(&self) -> String {
        let mut text = format!("# Game day: {}\n\n{}: {}.\n", self.drill, capital(&self.place), self.what);
        text.push_str(&format!("Began at {}.\n\n## What was done\n\n", self.began_at));
        for (place, step) in self.steps.iter().enumerate() {
            text.push_str(&format!("{}. {step}\n", place + 1));
        }
        text.push_str("\n## Checks\n\n| check | result | measured |\n|---|---|---|\n");
        for check in &self.checks {
            let result = match check.result {
                CheckResult::Passed => "passed",
                CheckResult::Failed => "**failed**",
                CheckResult::NotChecked => "not checked",
            };
            text.push_str(&format!("| {} | {result} | {} |\n", check.what, check.measured));
        }
        if !self.left.is_empty() {
            text.push_str("\n## Left to do\n\n");
            for left in &self.left {
                text.push_str(&format!("- {left}\n"));
            }
        }
        let count = |result: CheckResult| self.checks.iter().filter(|check| check.result == result).count();
        text.push_str(&format!(
            "\n{} passed, {} failed, {} not checked.\n",
            count(CheckResult::Passed),
            count(CheckResult::Failed),
            count(CheckResult::NotChecked)
        ));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_fails_by_one_check_and_says_what_was_not_checked() {
        let mut report = DrillReport::new(Drill::LeafDown, "a virtual fleet".to_owned(), "now".to_owned());
        report.within("an incident", Span::minutes(2), Some(Span::seconds(30)));
        report.not_checked("alert `FleetDomainIncident`", "no Prometheus");
        assert!(report.has_passed());
        report.within("an incident", Span::minutes(2), Some(Span::minutes(3)));
        assert!(!report.has_passed());
        let text = report.markdown();
        assert!(text.contains("| an incident within 2 min | passed | after 30 s |"), "{text}");
        assert!(text.ends_with("1 passed, 1 failed, 1 not checked.\n"), "{text}");
    }

    #[test]
    fn every_alert_of_a_drill_has_a_runbook() {
        for alert in Drill::ALL.into_iter().filter_map(Drill::alert) {
            assert!(runbook::exists(alert), "{alert}");
        }
    }
}
