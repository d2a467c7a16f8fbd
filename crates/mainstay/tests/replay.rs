//! `mainstay sim replay` on the command line: a seed without violations, a seed with a disabled rule, and the command that
//! reproduces the result. `cargo xtask check` runs all of them, with the feature `developer`.

#![cfg(test)]

use std::process::{Command, Output};

/// Injected faults of every seed.
const FAULTS: u64 = 241;

fn mainstay(arguments: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mainstay")).args(arguments.split_whitespace()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// What a storm says, with its exit code; nothing is on standard error without a terminal.
fn replayed(arguments: &str) -> (Option<i32>, String) {
    let output = mainstay(&format!("sim replay {arguments}"));
    assert_eq!(text(&output.stderr), "");
    (output.status.code(), text(&output.stdout))
}

#[cfg(feature = "developer")]
fn json(told: &str) -> serde_json::Value {
    serde_json::from_str(told).unwrap()
}

#[test]
fn a_storm_in_which_nothing_breaks_is_told_in_a_sentence() {
    let (code, told) = replayed("--seed 3");
    assert_eq!(code, Some(0), "{told}");
    let sentence = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        sentence.starts_with(&format!(
            "No property violated by seed 3: {FAULTS} injected faults on 208 nodes within 12 h, "
        )),
        "{told}"
    );
    for said in [
        "decisions audited",
        "every node was back in service and no wait was left",
        "Longest wait in the recovery phase: ",
    ] {
        assert!(sentence.contains(said), "{said}: {told}");
    }
    assert!(told.lines().all(|line| line.chars().count() <= 100), "{told}");
}

#[cfg(feature = "developer")]
#[test]
fn a_storm_without_a_rule_is_cut_down_and_its_command_brings_the_same_bytes() {
    let (code, told) = replayed("--seed 17 --disable-rule budget");
    assert_eq!(code, Some(4), "{told}");
    assert!(told.starts_with("VIOLATED by seed 17 without rule budget: "), "{told}");
    let command = told.lines().last().unwrap().trim().strip_prefix("mainstay sim replay ").unwrap();
    assert!(
        command.starts_with("--seed 17 --only-faults ") && command.ends_with(" --disable-rule budget"),
        "{command}"
    );
    assert_eq!(replayed(command), (Some(4), told.clone()), "the same, to the byte");
    // The story tells of each trouble that is left, and they are few.
    let kept = command.split_whitespace().nth(3).unwrap().split(',').count();
    assert!((1..=5).contains(&kept), "{command}");
    assert_eq!(told.lines().filter(|line| line.contains("  fault ")).count(), kept, "{told}");
    assert!(told.lines().filter(|line| !line.contains("mainstay sim")).all(|line| line.chars().count() <= 100));
}

#[cfg(feature = "developer")]
#[test]
fn programs_get_the_same_story_and_the_rule_is_what_matters() {
    let (code, told) = replayed("--seed 17 --disable-rule two-signals -o json");
    let found = json(&told);
    assert_eq!((code, &found["without"], &found["seed"]), (Some(4), &"two-signals".into(), &17.into()));
    assert_eq!(found["broken"][0]["promise"], "one signal alone removes no node");
    assert_eq!(found["calmAfterSeconds"], serde_json::Value::Null);
    let kept = found["keep"].as_array().unwrap();
    assert_eq!(found["troubles"], kept.len());
    let command = found["command"].as_str().unwrap().strip_prefix("mainstay sim replay ").unwrap();
    assert_eq!(replayed(&format!("{command} -o json")), (Some(4), told));
    // With the rule on, the same troubles break nothing.
    let (code, sound) = replayed(&format!("{} -o json", command.strip_suffix(" --disable-rule two-signals").unwrap()));
    assert_eq!(
        (code, &json(&sound)["broken"], &json(&sound)["keep"]),
        (Some(0), &serde_json::json!([]), &found["keep"])
    );
}

#[cfg(feature = "developer")]
#[test]
fn a_whole_storm_is_not_cut_down() {
    let (code, told) = replayed("--seed 17 --disable-rule two-signals --whole -o json");
    let found = json(&told);
    assert_eq!((code, &found["keep"], &found["troubles"]), (Some(4), &serde_json::Value::Null, &FAULTS.into()));
    assert_eq!(found["command"], "mainstay sim replay --seed 17 --whole --disable-rule two-signals");
}

#[test]
fn what_cannot_be_replayed_is_refused() {
    let output = mainstay("sim replay --seed 3 --only-faults 5,100000");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
    assert!(text(&output.stderr).contains("detail: 2 faults requested, 1 found."), "{output:?}");
    let output = mainstay("sim replay --seed 3 --disable-rule budgets");
    assert_eq!(output.status.code(), Some(2));
    #[cfg(feature = "developer")]
    assert!(text(&output.stderr).contains("order-expiry"), "a wrong name brings the list: {output:?}");
    assert_eq!(mainstay("sim replay").status.code(), Some(2));
    assert_eq!(mainstay("sim replay --seed 3 --only-faults 1 --whole").status.code(), Some(2));
}
