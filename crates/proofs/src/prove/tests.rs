//! Runs and records of made-up proofs.

use std::time::Duration;

use xtask::figures::record::parse;
use xtask::figures::{Goal, TestServers};

use super::*;

const fn figure(name: &'static str, goal: Goal) -> Figure {
    let (limit, servers) = (Duration::from_millis(50), TestServers::Unused);
    Figure { name, runs: Schedule::InCi, unit: "things", goal, limit, servers }
}

const fn seven() -> Proof {
    Proof { name: "seven", run: |_| Box::pin(async { Ok(Measurement { value: 7, detail: String::new() }) }) }
}

const fn fails() -> Proof {
    Proof { name: "fails", run: |_| Box::pin(async { anyhow::bail!("no cluster") }) }
}

fn context() -> Context {
    Context { workspace: Workspace::default(), time_limits: TimeLimitPolicy::Enforced }
}

#[tokio::test]
async fn a_run_is_printed_in_six_fields() {
    let mut outcome = run_one(&context(), &figure("x", Goal::AtMost(6)), &seven()).await;
    outcome.seconds = 0.5;
    let line = serde_json::to_string(&outcome).unwrap();
    assert_eq!(line, r#"{"name":"x","value":7,"unit":"things","goal":"<= 6","holds":false,"seconds":0.5}"#);
}

#[tokio::test]
async fn a_proof_that_fails_or_hangs_does_not_hold() {
    let hangs = Proof { name: "hangs", run: |_| Box::pin(std::future::pending()) };
    for proof in [fails(), hangs] {
        let outcome = run_one(&context(), &figure("x", Goal::AtMost(6)), &proof).await;
        assert_eq!((outcome.value, outcome.holds), (None, false), "{}", proof.name);
    }
}

#[test]
fn every_figure_has_a_proof_and_every_proof_a_figure() {
    let figures: Vec<&str> = figures::ALL.iter().map(|figure| figure.name).collect();
    let proofs: Vec<&str> = proofs::ALL.iter().map(|proof| proof.name).collect();
    assert_eq!(proofs, figures);
}

fn line(name: &str, goal: &str) -> String {
    format!(
        r#"{{"name":"{name}","value":7,"unit":"things","goal":"{goal}","holds":true,"seconds":0.1,"date":"2026-01-02","commit":"abc","machine":{{"cpu":"x","cores":2,"memory_gib":24}},"rustc":"1.95.0"}}"#
    )
}

#[tokio::test]
async fn a_new_run_is_appended_and_an_unmeasured_one_is_not() {
    let known = parse(&[line("a", "<= 9"), line("b", "<= 8"), line("c", "<= 9")].join("\n")).unwrap();
    let outcomes = [
        run_one(&context(), &figure("b", Goal::AtMost(9)), &seven()).await,
        run_one(&context(), &figure("c", Goal::AtMost(9)), &fails()).await,
    ];
    let stamp = record::Stamp::for_tests("2026-02-03", "def");
    let merged = record::merge(known.clone(), &outcomes, &stamp);
    let [a, old, new, c] = merged.as_slice() else { panic!("{merged:?}") };
    assert_eq!([Some(a), Some(old), Some(c)], [known.first(), known.get(1), known.last()]);
    assert_eq!((new.goal.as_str(), new.date.as_str(), new.commit.as_str()), ("<= 9", "2026-02-03", "def"));

    let mut many = known;
    for _ in 0..30 {
        many = record::merge(many, &outcomes, &stamp);
    }
    let of_b: Vec<&str> = many.iter().filter(|run| run.name == "b").map(|run| run.commit.as_str()).collect();
    assert_eq!(of_b, ["def"; 20], "the oldest run is dropped");
}

#[test]
fn a_time_limit_is_an_error_by_hand_and_a_line_in_ci() {
    let (took, most) = (Duration::from_millis(11), Duration::from_millis(10));
    let by_hand = context();
    let in_ci = Context { time_limits: TimeLimitPolicy::Printed, ..context() };
    assert!(by_hand.within("a paint", most, most).is_ok());
    assert_eq!(by_hand.within("a paint", took, most).unwrap_err().to_string(), "a paint took 11 ms, limit 10 ms");
    assert!(in_ci.within("a paint", took, most).is_ok());
}
