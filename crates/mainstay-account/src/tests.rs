//! Objectives from definition to rules, with the guards that Prometheus itself does not have.

use crate::budget::{BudgetFact, BudgetState, Hour, IncidentTime, account, budget_fact};
use crate::burn::{BurnAlert, burn_rules};
use crate::catalogue::Indicator;
use crate::detection::{Concern, concerns, detection_time};
use crate::render::{prometheus_rule, rule_file};
use crate::rules::rules;
use crate::slo::{Definition, DefinitionError, Severity, Sli, Slo};
use mainstay_model::{Ppm, Span, Timestamp};
use proptest::prelude::*;

fn definition(objective: u32, events_a_day: u64) -> Definition {
    Definition {
        name: "jobs".to_owned(),
        objective: Ppm(objective),
        window_days: 30,
        sli: Sli::Catalogue { indicator: Indicator::JobSuccess, matchers: Vec::new() },
        volume: Some(events_a_day),
        owner: "fleet".to_owned(),
        severity: Severity::Page,
        runbook_url: "https://example.org/slo".to_owned(),
    }
}

fn slo(objective: u32, events_a_day: u64) -> Slo {
    Slo::new(definition(objective, events_a_day)).unwrap()
}

fn gpus() -> Slo {
    let sli = Sli::Catalogue { indicator: Indicator::GpuAvailability, matchers: Vec::new() };
    Slo::new(Definition { sli, ..definition(990_000, 1_024) }).unwrap()
}

#[test]
fn thresholds_are_those_of_the_workbook() {
    let burns: Vec<u64> = burn_rules(&slo(999_000, 1_000_000)).iter().map(|rule| rule.burn_milli).collect();
    assert_eq!(burns, [14_400, 6_000, 2_000, 3_000, 1_000]);
}

#[test]
fn four_jobs_an_hour_page_only_with_several_failures() {
    let minimums: Vec<(u64, u64)> =
        burn_rules(&slo(990_000, 96)).iter().map(|rule| (rule.long.0 / 3_600_000, rule.bad_min)).collect();
    assert_eq!(minimums, [(1, 3), (6, 4), (1, 3), (24, 5), (72, 9)]);
    for rule in burn_rules(&slo(990_000, 96)) {
        assert!(rule.short >= Span::hours(1), "a window of {:?} has fewer than four jobs", rule.short);
    }
}

#[test]
fn an_objective_without_a_volume_never_pages_and_says_so() {
    let slo = Slo::new(Definition { volume: None, ..definition(990_000, 1) }).unwrap();
    assert!(burn_rules(&slo).iter().all(|rule| rule.alert == BurnAlert::Slow));
    assert!(rules(&slo).alerts.iter().all(|alert| alert.severity == Severity::Ticket));
    assert!(concerns(&slo).contains(&Concern::NoVolume));
}

#[test]
fn an_objective_that_spends_its_budget_before_it_can_alert_is_reported() {
    // 99.9 % of 4 jobs an hour: a total outage spends the month's budget in 43 minutes.
    let [Concern::Late { alert_after: Some(after), spent_after }] = concerns(&slo(999_000, 96))[..] else {
        panic!("{:?}", concerns(&slo(999_000, 96)));
    };
    assert_eq!(spent_after, Span(2_592_000));
    assert!((Span::hours(2)..Span::hours(4)).contains(&after), "{after:?}");
    assert_eq!(concerns(&slo(990_000, 96)), []);
}

#[test]
fn a_window_that_no_outage_can_reach_is_left_out_and_reported() {
    // 14.4 times a budget of 10 % is more than every event.
    let slo = slo(900_000, 100_000);
    assert!(burn_rules(&slo).iter().all(|rule| rule.burn_milli != 14_400));
    assert_eq!(concerns(&slo), [Concern::Unreachable { long: Span::hours(1), burn_milli: 14_400 }]);
}

#[test]
fn a_worse_outage_is_detected_no_later() {
    let slo = slo(990_000, 24 * 1_200);
    let time = |bad| detection_time(&slo, Ppm(bad), Severity::Page);
    assert!(time(1_000_000).unwrap() < Span::minutes(20), "{:?}", time(1_000_000));
    assert!(time(1_000_000) <= time(500_000) && time(500_000) <= time(200_000));
    assert_eq!(time(10_000), None, "exactly the budget is no outage");
}

#[test]
fn one_node_out_of_service_does_not_page_but_a_rack_does() {
    let time = |gpus: u32| detection_time(&self::gpus(), Ppm(gpus * 1_000_000 / 1_024), Severity::Page);
    assert_eq!(time(8), None);
    assert!(time(256).unwrap() <= Span::hours(1), "{:?}", time(256));
}

#[test]
fn missing_data_opens_a_ticket_and_never_pages() {
    for slo in [slo(990_000, 96), gpus()] {
        let rules = rules(&slo);
        let missing: Vec<_> = rules.alerts.iter().filter(|alert| alert.expr.contains("absent(")).collect();
        assert_eq!(missing.len(), 1);
        assert_eq!(missing[0].severity, Severity::Ticket);
    }
}

#[test]
fn every_alert_has_an_owner_a_severity_and_a_runbook() {
    let text = rule_file(&[rules(&slo(990_000, 96))]);
    let alerts = text.matches("- alert:").count();
    assert_eq!(alerts, 5);
    for field in ["owner: \"fleet\"", "severity:", "summary:", "description:", "runbook_url:"] {
        assert_eq!(text.matches(field).count(), alerts, "{field}");
    }
    assert!(text.contains("at least 3 bad events"), "{text}");
    let object = prometheus_rule("slos", "monitoring", &[rules(&slo(990_000, 96))]);
    assert!(object.contains("kind: PrometheusRule") && object.contains("  groups:\n    - name: \"mainstay-slo-jobs\""));
}

#[test]
fn text_of_a_user_is_data_in_rules() {
    let owner = "x\" {{ $value }} \\ y".to_owned();
    let sli = Sli::Catalogue {
        indicator: Indicator::QueueWait { bound_seconds: "300".to_owned() },
        matchers: vec![("queue".to_owned(), "a\"b\\c".to_owned())],
    };
    let slo = Slo::new(Definition { owner, sli, ..definition(950_000, 96) }).unwrap();
    let text = rule_file(&[rules(&slo)]);
    assert!(text.contains(r#"owner: "x\" {{`{{`}} $value }} \\ y""#), "{text}");
    assert!(text.contains(r#"queue=\"a\\\"b\\\\c\""#), "{text}");
}

#[test]
fn a_definition_reports_all_its_problems_at_once() {
    let sli = Sli::Events { good: "up".to_owned(), total: "up[$window]".to_owned() };
    let wrong = Definition { name: "Jobs".to_owned(), window_days: 1, sli, ..definition(1_000_000, 0) };
    let errors = Slo::new(wrong).unwrap_err();
    assert!(errors.contains(&DefinitionError::Objective(1_000_000)), "{errors:?}");
    assert!(errors.contains(&DefinitionError::WindowDays(1)) && errors.contains(&DefinitionError::Volume(0)));
    assert!(errors.contains(&DefinitionError::NoWindow("good")) && errors.len() == 5, "{errors:?}");
}

/// Hours up to `last`, each with `total` events, of which the listed hours have bad ones.
fn hours(last: u32, total: u64, bad: &[(u32, u64)]) -> Vec<Hour> {
    let count = |hour: u32| bad.iter().find(|(at, _)| *at == hour).map_or(0, |(_, bad)| bad * 1_000);
    (1..=last).map(|hour| Hour { ends_at: at(hour), total_milli: total * 1_000, bad_milli: count(hour) }).collect()
}

fn at(hour: u32) -> Timestamp {
    Timestamp(0) + Span::hours(hour)
}

#[test]
fn a_budget_is_exact_and_may_be_overspent() {
    // 4 events an hour over 30 days are 2,880, of which one percent may be bad: 28.8.
    let slo = slo(990_000, 96);
    let full = account(&slo, &hours(720, 4, &[(100, 3), (700, 4)]), &[], at(720)).unwrap();
    assert_eq!((full.allowed_micro, full.bad_milli, full.hours_missing), (28_800_000, 7_000, 0));
    assert_eq!(full.left_ppm, 756_945);
    assert_eq!(
        (full.burn_down.len(), full.burn_down[3], full.burn_down[4], full.burn_down[29]),
        (30, 1_000_000, 895_834, 756_945)
    );
    let over: Vec<(u32, u64)> = (1..=20).map(|hour| (hour, 4)).collect();
    assert!(account(&slo, &hours(720, 4, &over), &[], at(720)).unwrap().left_ppm < -1_000_000);
    assert_eq!(account(&slo, &[], &[], at(1)), None);
    assert_eq!(account(&slo, &hours(20, 4, &[]), &[], at(21)), None, "the newest hour is old");
}

#[test]
fn one_bad_job_on_the_first_day_does_not_spend_the_budget_of_a_month() {
    let young = account(&slo(990_000, 96), &hours(3, 4, &[(2, 1)]), &[], at(3)).unwrap();
    assert_eq!((young.allowed_micro, young.hours_missing), (28_800_000, 717));
    assert_eq!(young.left_ppm, 965_278);
    assert_eq!(young.burn_milli, Some(0));
    let unstated = Slo::new(Definition { volume: None, ..definition(990_000, 1) }).unwrap();
    assert_eq!(account(&unstated, &hours(3, 4, &[(2, 1)]), &[], at(3)).unwrap().left_ppm, 965_278);
    let now = account(&slo(990_000, 96), &hours(3, 4, &[(3, 4)]), &[], at(3)).unwrap();
    assert_eq!(now.burn_milli, Some(100_000), "every event is bad and one percent may be");
}

#[test]
fn every_bad_event_belongs_to_incidents_or_to_none() {
    let incident = |name: &str, began: u32, ended: Option<u32>, nodes: u32| IncidentTime {
        name: name.to_owned(),
        began_at: at(began),
        ended_at: ended.map(at),
        nodes,
    };
    let bad = [(5, 1), (15, 40), (90, 9)];
    let incidents = [incident("leaf", 10, Some(30), 31), incident("node", 14, None, 9)];
    let found = account(&slo(990_000, 96), &hours(100, 40, &bad), &incidents, at(100)).unwrap().shares;
    let found: Vec<_> = found.iter().map(|one| (one.incident.as_deref(), one.bad_milli, one.share.0)).collect();
    assert_eq!(found, [(Some("leaf"), 31_000, 620_000), (Some("node"), 18_000, 360_000), (None, 1_000, 20_000)]);
    // An incident shorter than an hour still explains that hour.
    let short = IncidentTime { began_at: Timestamp(at(14).0 + 60_000), ..incident("nic", 14, Some(14), 1) };
    let short = IncidentTime { ended_at: Some(Timestamp(at(14).0 + 120_000)), ..short };
    let found = account(&slo(990_000, 96), &hours(100, 40, &[(15, 2)]), &[short], at(100)).unwrap().shares;
    assert_eq!(found.first().and_then(|one| one.incident.as_deref()), Some("nic"));
}

#[test]
fn missing_data_neither_spends_nor_restores_a_budget() {
    let slo = slo(990_000, 96);
    let of = |hours: &[Hour], now| account(&slo, hours, &[], now);
    assert_eq!(budget_fact(&slo, None, None, at(1)), None);
    let outage: Vec<(u32, u64)> = (700..=708).map(|hour| (hour, 4)).collect();
    let spent = budget_fact(&slo, None, of(&hours(720, 4, &outage), at(720)).as_ref(), at(720));
    assert_eq!(spent, Some(BudgetFact { state: BudgetState::Spent, observed_at: at(720), expires_at: at(1_440) }));
    assert_eq!(budget_fact(&slo, spent, None, at(1_439)), spent);
    assert_eq!(budget_fact(&slo, spent, None, at(1_440)), None, "an expired fact is unknown");
    assert_eq!(budget_fact(&slo, spent, of(&hours(719, 4, &[]), at(719)).as_ref(), at(720)), spent, "older data");
    let mut gap = hours(721, 4, &[]);
    gap.retain(|hour| !(at(700)..=at(709)).contains(&hour.ends_at));
    assert_eq!(budget_fact(&slo, spent, of(&gap, at(721)).as_ref(), at(721)), spent, "the bad hours are missing");
    let all = of(&hours(1_430, 4, &outage), at(1_430));
    assert_eq!(budget_fact(&slo, spent, all.as_ref(), at(1_430)).unwrap().state, BudgetState::Left);
}

proptest! {
    #[test]
    fn rules_of_any_objective_are_bounded(objective in 500_000_u32..=999_990, volume in 1_u64..=1_000_000_000_000, days in 7_u16..=90) {
        let slo = Slo::new(Definition { window_days: days, ..definition(objective, volume) }).unwrap();
        let group = rules(&slo);
        prop_assert!(group.records.len() <= 20 && group.alerts.len() <= 5);
        for rule in burn_rules(&slo) {
            prop_assert!(rule.short <= rule.long && rule.bad_min >= 2);
        }
        prop_assert!(rule_file(&[group]).len() < 16 * 1024);
    }
}
