use serde_json::json;

use super::*;

fn slo() -> Slo {
    let spec = serde_json::from_value(json!({
        "objectivePpm": 990_000, "windowDays": 30, "indicator": { "type": "JobSuccess" }, "expectedVolume": 96,
        "owner": "fleet", "severity": "Page", "runbookUrl": "https://example.org",
    }));
    Slo::new("jobs", spec.unwrap())
}

fn status() -> SloStatus {
    serde_json::from_value(json!({
        "epoch": 1, "observedAt": "2026-11-16T03:00:00Z", "budgetLeftPpm": -76_400, "burnRateMilli": 6_300,
        "totalEventsMilli": 2_880_000, "badEventsMilli": 31_000, "allowedBadEventsMilli": 28_800, "hoursMissing": 3,
        "burnDownPpm": [1_000_000, 500_000, -76_400],
        "consumers": [
            { "incident": "leaf-3", "badEventsMilli": 30_000, "sharePpm": 967_741 },
            { "badEventsMilli": 1_000, "sharePpm": 32_258 },
        ],
        "errorBudget": {
            "state": "Spent", "observedAt": "2026-11-16T03:00:00Z", "expiresAt": "2026-12-16T03:00:00Z",
        },
    }))
    .unwrap()
}

#[test]
fn a_spent_budget_names_its_consumer_and_what_to_do() {
    let status = status();
    let now = Timestamp(status.observed_at.unwrap().0.as_millisecond() + 120_000);
    assert_eq!(left(Some(&status)), "▲ -7.6 %");
    assert_eq!(headline("jobs", Some(&status)), "▲ jobs: its error budget is spent\n");
    let slo = Slo { status: Some(status), ..slo() };
    let text = lines(&slo, now);
    for words in [
        "-7.6 %, 31 bad of 28.8 allowed: the budget is spent",
        "6.3 in the last hour",
        "97 % during leaf-3; 3 % outside known incidents",
        "2 min old; 3 hours of the window without data",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(action(&slo).starts_with("`mainstay why incident leaf-3`"));
}

#[test]
fn what_is_not_known_is_not_shown_as_good() {
    assert_eq!(left(None), "?");
    assert!(headline("jobs", Some(&SloStatus::default())).contains("not known"));
    assert!(action(&slo()).contains("docs/operate/slo.md"));
}
