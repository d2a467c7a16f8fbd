//! Goals, runs, claims and records of made-up proofs.

use std::time::Duration;

use super::machine::Machine;
use super::record::{parse, problems_of};
use super::*;

const fn proof(name: &'static str, goal: Goal, run: fn(&Context) -> ProofFuture<'_>) -> Proof {
    Proof { name, runs: Schedule::InCi, unit: "things", goal, limit: Duration::from_millis(50), run }
}

fn seven(_: &Context) -> ProofFuture<'_> {
    Box::pin(async { Ok(Measurement { value: 7, detail: String::new() }) })
}

fn context() -> Context {
    Context { workspace: Workspace::default(), wall_clock: TimeLimitPolicy::Enforced }
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
fn names_are_unique_and_units_are_given() {
    for (at, proof) in proofs::ALL.iter().enumerate() {
        assert!(proofs::ALL.iter().skip(at + 1).all(|other| other.name != proof.name), "{} twice", proof.name);
        assert!(!proof.unit.is_empty(), "{}", proof.name);
        assert!(proof.name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{}", proof.name);
    }
}

#[test]
fn servers_are_prepared_for_proofs_that_exist() {
    for name in servers::ON_SERVERS.iter().chain(servers::ON_OLDEST) {
        assert!(proofs::ALL.iter().any(|proof| proof.name == *name), "{name} is not a proof");
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
    assert_eq!(told(&[line("a", "<= 8"), line("a", "<= 9"), line("b", "<= 9")]), Vec::<String>::new());
    assert_eq!(told(&[line("c", "<= 9")]), ["the figure c has no proof"]);
    assert_eq!(told(&[line("a", "<= 8")]), ["the figure a was recorded for another goal"]);
    assert_eq!(told(&[line("b", "<= 9"), line("a", "<= 9")]), ["docs/reference/figures.jsonl is not sorted by name"]);
    assert_eq!(told(&["{}".to_owned()]), ["docs/reference/figures.jsonl:1 is not a record"]);
}

#[tokio::test]
async fn a_new_run_is_appended_and_an_unmeasured_one_is_not() {
    let proofs = [
        proof("b", Goal::AtMost(9), seven),
        proof("c", Goal::AtMost(9), |_| Box::pin(async { anyhow::bail!("no cluster") })),
    ];
    let known = parse(&[line("a", "<= 9"), line("b", "<= 8"), line("c", "<= 9")].join("\n")).unwrap();
    let mut outcomes = Vec::new();
    for proof in &proofs {
        outcomes.push(run_one(&context(), proof).await);
    }
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

#[tokio::test]
async fn ci_fails_on_counts_and_prints_missed_times() {
    let misses = proof("x", Goal::AtMost(6), seven);
    let late = Proof { unit: "ms", ..misses };
    let broken = Proof { run: |_| Box::pin(async { anyhow::bail!("no cluster") }), ..late };
    let holds = Proof { goal: Goal::AtMost(7), ..late };
    for (proof, expected) in
        [(&misses, Verdict::Fails), (&late, Verdict::Printed), (&broken, Verdict::Fails), (&holds, Verdict::Passes)]
    {
        let outcome = run_one(&context(), proof).await;
        assert_eq!(verdict_in_ci(proof, &outcome), expected, "{outcome:?}");
    }
}

#[test]
fn every_unit_of_time_is_a_wall_clock_unit() {
    for proof in proofs::ALL {
        let of_time = proof.unit.contains("second") || ["ms", "µs", "s", "minutes"].contains(&proof.unit);
        assert_eq!(proof.is_wall_clock(), of_time, "{} in {}", proof.name, proof.unit);
    }
}

#[test]
fn a_time_limit_is_an_error_by_hand_and_a_line_in_ci() {
    let (took, most) = (Duration::from_millis(11), Duration::from_millis(10));
    let by_hand = context();
    let in_ci = Context { wall_clock: TimeLimitPolicy::Printed, ..context() };
    assert!(by_hand.within("a paint", most, most).is_ok());
    assert_eq!(by_hand.within("a paint", took, most).unwrap_err().to_string(), "a paint took 11 ms, limit 10 ms");
    assert!(in_ci.within("a paint", took, most).is_ok());
}

const CLAIM: &str = "basis = \"real\"\ngoal_set = \"2026-01-02 abcdef0\"\nclaim = ";

#[test]
fn every_proof_has_a_claim_and_every_claim_a_proof() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/claims.toml")).unwrap();
    assert_eq!(claims::problems_of(&text, proofs::ALL), []);
}

#[test]
fn a_claims_file_that_does_not_match_is_a_problem() {
    let proofs = [proof("a", Goal::AtMost(9), seven)];
    let told = |text: &str| -> Vec<String> {
        claims::problems_of(text, &proofs).into_iter().map(|problem| problem.what).collect()
    };
    assert_eq!(told(&format!("[a]\n{CLAIM}\"Things, count\"")), Vec::<String>::new());
    assert_eq!(told(""), ["the proof a has no claim"]);
    let two = format!("[a]\n{CLAIM}\"Things, count\"\n[b]\n{CLAIM}\"Things, count\"");
    assert_eq!(told(&two), ["the claim b has no proof"]);
    let long = format!("[a]\n{CLAIM}\"{}\"", "word ".repeat(26));
    assert_eq!(told(&long), ["the claim of a is too long"]);
    let undated = format!("[a]\n{CLAIM}\"Things\"").replace("2026-01-02 abcdef0", "last year");
    assert_eq!(told(&undated), ["the claim of a does not state when its goal was set"]);
    let same = format!("[a]\n{CLAIM}\"Things\"\nfirst_goal = \"<= 9\"");
    assert_eq!(told(&same), ["the first goal of a was not relaxed"]);
    assert_eq!(told("[a]\nclaim = 1"), ["crates/xtask/claims.toml cannot be read"]);
}

#[test]
fn a_relaxed_goal_counts_as_missed() {
    let text = format!("[a]\n{CLAIM}\"Things\"\nfirst_goal = \"<= 5\"");
    let claims = claims::parse(&text).unwrap();
    let claim = claims.of("a").unwrap();
    assert!(claim.counts(true, 5) && !claim.counts(true, 6) && !claim.counts(false, 5));
    for wrong in ["<= many", "< 5", "5"] {
        assert!(claims::parse(&text.replace("<= 5", wrong)).is_err(), "{wrong}");
    }
}

#[test]
fn the_machine_is_described_without_its_name() {
    let here = Machine::here();
    assert!(!here.cpu.is_empty() && here.cores > 0);
    if cfg!(target_os = "linux") {
        assert!(here.memory_gib > 0);
    }
}
