//! Goals, runs and records of made-up proofs.

use std::time::Duration;

use super::machine::Machine;
use super::record::{parse, problems_of};
use super::*;

const fn proof(name: &'static str, goal: Goal, run: fn(&Context) -> Running<'_>) -> Proof {
    let sentence = "Something holds.";
    Proof { name, sentence, runs: Runs::InCi, unit: "things", goal, limit: Duration::from_millis(50), run }
}

fn seven(_: &Context) -> Running<'_> {
    Box::pin(async { Ok(Measured { value: 7, detail: String::new() }) })
}

fn context() -> Context {
    Context { workspace: Workspace::default() }
}

#[test]
fn a_goal_holds_at_its_bound_and_not_past_it() {
    assert!(Goal::AtMost(7).holds(7) && !Goal::AtMost(7).holds(8));
    assert!(Goal::AtLeast(7).holds(7) && !Goal::AtLeast(7).holds(6));
    assert!(Goal::Exactly(7).holds(7) && !Goal::Exactly(7).holds(6) && !Goal::Exactly(7).holds(8));
}

#[tokio::test]
async fn a_run_is_told_in_six_fields() {
    let mut outcome = run_one(&context(), &proof("x", Goal::AtMost(6), seven)).await;
    outcome.seconds = 0.5;
    let line = serde_json::to_string(&outcome).unwrap();
    assert_eq!(line, r#"{"name":"x","value":7,"unit":"things","goal":"<= 6","holds":false,"seconds":0.5}"#);
}

#[tokio::test]
async fn a_proof_that_fails_or_hangs_does_not_hold() {
    let fails = proof("fails", Goal::AtMost(6), |_| Box::pin(async { anyhow::bail!("no cluster") }));
    let hangs = proof("hangs", Goal::AtMost(6), |_| Box::pin(std::future::pending()));
    for proof in [fails, hangs] {
        let outcome = run_one(&context(), &proof).await;
        assert_eq!((outcome.value, outcome.holds), (None, false), "{}", proof.name);
    }
}

#[test]
fn names_are_unique_and_sentences_are_sentences() {
    for (at, proof) in proofs::ALL.iter().enumerate() {
        assert!(proofs::ALL.iter().skip(at + 1).all(|other| other.name != proof.name), "{} twice", proof.name);
        assert!(proof.sentence.ends_with('.') && !proof.unit.is_empty(), "{}", proof.name);
        assert!(proof.name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{}", proof.name);
    }
}

fn line(name: &str, goal: &str) -> String {
    format!(
        r#"{{"name":"{name}","value":7,"unit":"things","goal":"{goal}","holds":true,"seconds":0.1,"date":"2026-01-02","commit":"abc","machine":{{"cpu":"x","cores":2,"memory_gib":24}},"rustc":"1.95.0"}}"#
    )
}

#[test]
fn records_need_a_proof_with_the_same_goal_and_their_order() {
    let proofs = [proof("a", Goal::AtMost(9), seven), proof("b", Goal::AtMost(9), seven)];
    let told = |lines: &[String]| -> Vec<String> {
        problems_of(&lines.join("\n"), &proofs).into_iter().map(|problem| problem.what).collect()
    };
    assert_eq!(told(&[line("a", "<= 9"), line("b", "<= 9")]), Vec::<String>::new());
    assert_eq!(told(&[line("c", "<= 9")]), ["the figure c has no proof"]);
    assert_eq!(told(&[line("a", "<= 8")]), ["the figure a was recorded for another goal"]);
    assert_eq!(
        told(&[line("b", "<= 9"), line("a", "<= 9")]),
        ["docs/reference/figures.jsonl is not sorted by name, one line each"]
    );
    assert_eq!(told(&["{}".to_owned()]), ["docs/reference/figures.jsonl:1 is not a record"]);
}

#[tokio::test]
async fn a_new_run_replaces_the_old_record_and_an_unmeasured_one_does_not() {
    let proofs = [
        proof("b", Goal::AtMost(9), seven),
        proof("c", Goal::AtMost(9), |_| Box::pin(async { anyhow::bail!("no cluster") })),
    ];
    let known = parse(&[line("a", "<= 9"), line("b", "<= 8"), line("c", "<= 9")].join("\n")).unwrap();
    let mut outcomes = Vec::new();
    for proof in &proofs {
        outcomes.push(run_one(&context(), proof).await);
    }
    let merged = record::merge(known.clone(), &outcomes, &record::Stamp::for_tests("2026-02-03", "def"));
    let [a, b, c] = merged.as_slice() else { panic!("{merged:?}") };
    assert_eq!([Some(a), Some(c)], [known.first(), known.last()]);
    assert_eq!((b.goal.as_str(), b.date.as_str(), b.commit.as_str()), ("<= 9", "2026-02-03", "def"));
}

#[test]
fn the_machine_is_described_without_its_name() {
    let here = Machine::here();
    assert!(!here.cpu.is_empty() && here.cores > 0);
    if cfg!(target_os = "linux") {
        assert!(here.memory_gib > 0);
    }
}
