use serde_json::{Value, json};

use super::truth::check;

const AT: &str = "2026-05-01T10:00:00Z";

/// A node that is a lemon, with a fault that the log shows, and a ticket that was turned wrong.
fn case() -> (Value, Value, Value) {
    let said = json!([{ "source": "Xid", "code": "79", "count": 3 }, { "source": "Nvml", "code": "ecc-uncorrected", "count": 1 }]);
    let finding = |from: &str, to: &str| json!({ "node": "n1", "foundAt": from, "endedAt": to });
    let report = json!({
        "fleet": { "nodes": 1 }, "window": { "days": 30 },
        "parts": [{ "node": "n1", "slot": "s", "serial": "G1", "said": said }],
        "findings": [finding(AT, "2026-05-02T10:00:00Z"), finding("2026-05-05T10:00:00Z", "2026-05-06T10:00:00Z"),
            finding("2026-05-09T10:00:00Z", "2026-05-10T10:00:00Z")],
        "lemons": [{ "node": "n1" }],
        "tickets": { "tickets": 2, "differentCause": [{ "id": "T1" }], "withoutFinding": [{ "id": "N1" }] },
    });
    let fault = |at: &str| json!({ "node": "n1", "class": "gpu-hard-fault", "condemns": true, "printedAt": at });
    let truth = json!({
        "evidence": [{ "node": "n1", "slot": "s", "serial": "G1", "code": "79", "count": 3 }],
        "faults": [fault(AT), fault("2026-05-05T10:00:00Z"), fault("2026-05-09T10:00:00Z")],
        "alarms": [], "lemons": ["n1"], "shownTickets": ["T1"],
        "planted": { "wrongCause": ["T1"], "aboutNothing": ["N1"] },
    });
    (report, truth, json!([{ "node": "n1", "slot": "s", "uncorrected": 1 }]))
}

#[test]
fn a_report_that_matches_the_truth_holds() {
    let (report, truth, metrics) = case();
    assert!(check(&report, &truth, &metrics).is_ok_and(|said| said.starts_with("3 lines of evidence and 1 errors")));
}

#[test]
fn a_report_that_differs_in_anything_does_not() {
    type Change = fn(&mut Value, &mut Value, &mut Value);
    let changes: [(&str, Change); 9] = [
        ("printed", |report, _, _| report["parts"][0]["said"][0]["count"] = 2.into()),
        ("printed", |report, _, _| report["parts"][0]["serial"] = "G2".into()),
        ("counters", |_, _, metrics| metrics[0]["uncorrected"] = 2.into()),
        ("no finding", |report, _, _| report["findings"][2]["foundAt"] = "2026-05-09T12:00:00Z".into()),
        ("nothing is behind", |_, truth, _| truth["faults"][2]["printedAt"] = Value::Null),
        ("does not name", |report, _, _| report["lemons"] = json!([])),
        ("wrongCause", |report, _, _| report["tickets"]["differentCause"] = json!([])),
        ("aboutNothing", |report, _, _| report["tickets"]["withoutFinding"] = json!([])),
        ("and no finding", |report, _, _| {
            report["tickets"]["withoutFinding"] = json!([{ "id": "N1" }, { "id": "T1" }]);
        }),
    ];
    for (said, change) in changes {
        let (mut report, mut truth, mut metrics) = case();
        change(&mut report, &mut truth, &mut metrics);
        let error = check(&report, &truth, &metrics).map_err(|error| error.to_string());
        assert!(error.as_ref().is_err_and(|error| error.contains(said)), "{said}: {error:?}");
    }
}
