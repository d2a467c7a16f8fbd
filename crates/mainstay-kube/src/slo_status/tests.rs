use mainstay_api::{SloBudgetState, SloSpec};
use serde_json::json;

use super::*;

fn slo() -> Slo {
    let spec: SloSpec = serde_json::from_value(json!({
        "objectivePpm": 990_000, "windowDays": 30, "indicator": { "type": "JobSuccess" }, "expectedVolume": 96,
        "owner": "fleet", "severity": "Page", "runbookUrl": "https://example.org",
    }))
    .unwrap();
    Slo::new("jobs", spec)
}

fn read(slo: &Slo, bad: u64, now: Timestamp) -> SloStatus {
    let objective = Objective::try_from(slo).unwrap();
    let hours = [Hour { ends_at: now, total_milli: 40_000, bad_milli: bad * 1_000 }];
    let account = account(&objective, &hours, &[], now).unwrap();
    status(slo, Some(&objective), &Measurement::Read(Box::new(account)), now)
}

#[test]
fn numbers_and_the_fact_stay_while_prometheus_is_away() {
    let (mut slo, now) = (slo(), Timestamp(1_000 * 3_600_000));
    let spent = read(&slo, 40, now);
    assert_eq!(spent.error_budget.as_ref().unwrap().state, SloBudgetState::Spent);
    assert!(spent.budget_left_ppm.unwrap() < 0);
    slo.status = Some(spent.clone());
    let objective = Objective::try_from(&slo).unwrap();
    let later = now + Span::hours(5);
    let away = status(&slo, Some(&objective), &Measurement::NoServer, later);
    assert_eq!((&away.error_budget, away.budget_left_ppm), (&spent.error_budget, spent.budget_left_ppm));
    assert_eq!(away.observed_at, spent.observed_at, "the data is as old as it was");
    assert_eq!(away.conditions.0[0].status, ConditionStatus::False);
    assert_eq!(Timestamp::from(away.conditions.0[0].last_transition_time), later);
    let expired = status(&slo, Some(&objective), &Measurement::NoServer, now + Span::hours(721));
    assert_eq!(expired.error_budget, None);
}

#[test]
fn an_unchanged_budget_is_written_every_five_minutes_only() {
    let (mut slo, now) = (slo(), Timestamp(1_000 * 3_600_000));
    let first = read(&slo, 0, now);
    assert!(is_due(None, &first));
    slo.status = Some(SloStatus { epoch: 7, ..first });
    let stored = slo.status.as_ref();
    assert!(!is_due(stored, &read(&slo, 0, now + Span::minutes(1))));
    assert!(is_due(stored, &read(&slo, 0, now + Span::minutes(5))));
    assert!(is_due(stored, &read(&slo, 1, now + Span::minutes(1))));
}
