//! Attempts with a stolen node token on the one object that it may write: the report of its own node.

use axum::http::Method;
use serde_json::{Value, json};

use super::super::operation::prefix;
use super::AttackSetup;
use super::attempt::{Attempt, FORMS, TokenKind};

/// Of both stored reports.
pub(super) const SEQUENCE: i64 = 1_000;
const LARGE_BYTES: usize = 10 << 20;
/// As many names of a writer as make an object of a few kilobytes large.
const WRITERS: usize = 20;

const LIES: &str = "Write any report about its own node that the schema allows";
const REBOOTS: &str = "Claim a new boot of its own node at any time, which restarts its sequence and counts";

/// The report of the attacker's own node, and the forms in which it can be written.
struct OwnReport<'a> {
    stage: &'a AttackSetup,
    path: String,
}

impl OwnReport<'_> {
    /// The next report, changed.
    fn with(&self, change: &dyn Fn(&mut Value)) -> Value {
        let mut report = self.stage.report.clone();
        report["spec"]["sequence"] = json!(SEQUENCE + 1);
        change(&mut report);
        report
    }

    fn form(&self, form: usize, what: &str, body: &Value) -> Attempt {
        Attempt::write(what, form, &self.path, "a1", body)
    }

    fn every(&self, what: &str, forms: &[usize], body: &Value) -> Vec<Attempt> {
        forms.iter().map(|form| self.form(*form, what, body)).collect()
    }
}

pub(super) fn all(stage: &AttackSetup) -> Vec<Attempt> {
    let own = OwnReport { stage, path: prefix("nodereports") };
    let path = &own.path;
    let stored = [0, 1, 2];
    let mut all = Vec::new();
    let other_uid = own.with(&|report| report["spec"]["nodeUid"] = json!(stage.uids[1]));
    all.extend(own.every("its report under another registration", &stored, &other_uid));
    let falls = own.with(&|report| report["spec"]["sequence"] = json!(SEQUENCE - 1));
    let same = own.with(&|report| {
        report["spec"]["sequence"] = json!(SEQUENCE);
        report["spec"]["evidence"] = json!([]);
    });
    for (what, body) in [("a sequence that falls", falls), ("another content of one sequence", same)] {
        all.extend(own.every(what, &stored, &body).into_iter().map(Attempt::refused_to_all));
    }
    all.extend(metadata(&own));
    all.extend(sizes(&own));
    for (what, method, path) in [
        ("deletes its report, to begin anew", Method::DELETE, format!("{path}/a1")),
        ("deletes all reports", Method::DELETE, path.clone()),
        ("writes a status", Method::PATCH, format!("{path}/a1/status")),
        ("scales a report", Method::PATCH, format!("{path}/a1/scale")),
    ] {
        all.push(Attempt::new(what, method, path, &json!({})));
    }
    let renamed = own.with(&|report| report["metadata"]["name"] = json!("a2"));
    all.push(own.form(0, "another name in the body", &renamed).refused_to_all());
    let made_up = own.with(&|report| report["metadata"] = json!({ "generateName": "a1" }));
    all.push(own.form(3, "a name that the server makes up", &made_up));
    for who in [TokenKind::Loose, TokenKind::Gone, TokenKind::Forged] {
        let body = own.with(&|_| ());
        all.extend((0..FORMS.len()).map(|one| own.form(one, &format!("{who:?}"), &body).by(who)));
        all.push(Attempt::new(format!("{who:?} deletes"), Method::DELETE, format!("{path}/a1"), &Value::Null).by(who));
    }
    all.push(Attempt::get(format!("{path}/a1")).by(TokenKind::Gone));
    all.push(Attempt::get(format!("{path}/a1")).by(TokenKind::Forged));
    // What is left, last: it changes the report.
    let lies = own.with(&|report| report["spec"]["evidence"] = json!([]));
    all.push(as_agent("no evidence any more", path, &lies).stated(LIES));
    let reboots = own.with(&|report| {
        report["spec"]["bootId"] = json!("another");
        report["spec"]["sequence"] = json!(1);
    });
    all.push(as_agent("another boot", path, &reboots).stated(REBOOTS));
    all
}

/// The report as the agent itself writes it.
fn as_agent(what: &str, path: &str, body: &Value) -> Attempt {
    let mut body = body.clone();
    body["metadata"] = json!({ "name": "a1" });
    let path = format!("{path}/a1?fieldManager=mainstay-agent&force=true");
    Attempt::new(what, Method::PATCH, path, &body).content("application/apply-patch+yaml")
}

/// An object's metadata is more than its name: an owner that is not there has the server delete the object, after which
/// a sequence can begin anew; a finalizer keeps it for ever; labels, notes and writers' names take room.
fn metadata(own: &OwnReport<'_>) -> Vec<Attempt> {
    let owner = json!([{ "apiVersion": "v1", "kind": "Node", "name": "nobody", "uid": "nobody" }]);
    let mut all = Vec::new();
    for (what, field, value) in [
        ("an owner that is not there", "ownerReferences", owner),
        ("a finalizer", "finalizers", json!(["example.com/thief"])),
        ("labels", "labels", json!({ "mainstay.dev/pool": "another" })),
        ("annotations", "annotations", json!({ "mainstay.dev/delete-epoch": "5" })),
        ("200 kB of annotations", "annotations", json!({ "example.com/thief": "x".repeat(200_000) })),
    ] {
        let body = own.with(&|report| report["metadata"][field] = value.clone());
        all.extend(own.every(what, &[0, 1, 2], &body));
    }
    for writer in 0..WRITERS {
        let body = own.with(&|report| report["metadata"] = json!({ "name": "a1" }));
        let path = format!("{}/a1?fieldManager=thief-{writer}&force=true", own.path);
        let what = format!("a writer called thief-{writer}");
        all.push(Attempt::new(what, Method::PATCH, path, &body).content("application/apply-patch+yaml"));
    }
    all
}

fn sizes(own: &OwnReport<'_>) -> Vec<Attempt> {
    let seen = |code: String, count: i64| {
        json!({
            "source": "Xid", "code": code, "count": count,
            "firstSeenAt": "2026-11-15T03:00:00Z", "lastSeenAt": "2026-11-15T03:00:00Z",
        })
    };
    let many: Vec<Value> = (0..49).map(|code| seen(code.to_string(), 1)).collect();
    let long = json!([{ "source": "Xid", "code": "79", "detail": "x".repeat(LARGE_BYTES) }]);
    let mut all = Vec::new();
    for (what, evidence, forms) in [
        ("10 MB", long, [0, 1, 2].as_slice()),
        ("49 pieces of evidence", json!(many), &[0, 1, 2]),
        ("a code with markup", json!([seen("<b>79</b>".to_owned(), 1)]), &[1, 2]),
        ("a code of 10,000 letters", json!([seen("7".repeat(10_000), 1)]), &[1, 2]),
        ("a count below zero", json!([seen("79".to_owned(), -1)]), &[1, 2]),
        ("a source that nobody knows", json!([{ "source": "Oracle", "code": "79", "count": 1 }]), &[1, 2]),
    ] {
        let body = own.with(&|report| report["spec"]["evidence"] = evidence.clone());
        all.extend(own.every(what, forms, &body).into_iter().map(Attempt::refused_to_all));
    }
    all
}
