//! The words of `mainstay sim` as people type them, with the real binary and small fleets.

#![cfg(test)]

use std::path::Path;
use std::process::{Command, Output};

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/outcome.json");

fn mainstay(arguments: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mainstay")).args(arguments.split_whitespace()).output().unwrap()
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// What is said of a command that cannot be done: nothing on standard output, and exit code 1.
fn problem(arguments: &str) -> String {
    let output = mainstay(arguments);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// Eight runs of one seed each, from a fixed outcome: a side of a comparison that nobody has to run.
fn side(folder: &Path, name: &str, redone_percent: u64) -> String {
    let outcome: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(GOLDEN).unwrap()).unwrap();
    let lines = (1..=8_u64).map(|seed| {
        let mut outcome = outcome.clone();
        outcome["run"]["seed"] = seed.into();
        for loss in outcome["lost"].as_object_mut().unwrap().values_mut() {
            let redone = loss["redoneGpuSeconds"].as_u64().unwrap();
            loss["redoneGpuSeconds"] = (redone * (redone_percent + seed) / 100).into();
        }
        outcome.to_string() + "\n"
    });
    let path = folder.join(name);
    std::fs::write(&path, lines.collect::<String>()).unwrap();
    path.display().to_string()
}

#[test]
fn a_run_gives_the_same_bytes_again_and_nothing_on_standard_error() {
    let run = || mainstay("sim run --gpus 64 --days 2 --seed 3 --set checkpoint=at-once -o json");
    let (one, other) = (run(), run());
    assert_eq!(stdout(&one), stdout(&other));
    assert_eq!(one.stderr, b"");
    let outcome: serde_json::Value = serde_json::from_str(&stdout(&one)).unwrap();
    assert_eq!(outcome["run"]["settings"], serde_json::json!({ "checkpoint": "at-once" }));
    assert_eq!((&outcome["run"]["gpus"], &outcome["run"]["seed"]), (&64.into(), &3.into()));
}

#[test]
fn a_run_reads_as_text_and_says_what_it_is_not() {
    let text = stdout(&mainstay("sim run --gpus 64 --days 2"));
    for said in ["% of GPU time and lost ", "our own failure model", "first-fit"] {
        assert!(text.contains(said), "{said}\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn what_cannot_be_run_is_refused_with_what_detail_and_hint() {
    assert_eq!(
        problem("sim run --gpus 1001"),
        "problem: invalid fleet size: 1001 GPUs\n  \
         detail: nodes have 8 GPUs; a fleet has 8 to 1000000 GPUs.\n  \
         hint:   use --gpus 1000\n"
    );
    assert!(problem("sim run --set chekpoint=wait").contains("the nearest names are checkpoint, "));
    assert!(problem("sim compare").starts_with("problem: nothing to compare\n"));
    assert!(problem("sim compare --a-runs no-such-file --b mode=observe").contains("cannot read no-such-file"));
    assert_eq!(mainstay("sim run --rates mild").status.code(), Some(2));
    assert_eq!(mainstay("sim compare --seeds 0 --b mode=observe").status.code(), Some(2));
}

#[test]
fn files_of_two_versions_are_compared_and_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (side(folder.path(), "old.json", 100), side(folder.path(), "new.json", 80));
    let picture = folder.path().join("picture.svg");
    let files = format!("sim compare --a-runs {old} --b-runs {new}");
    let text = stdout(&mainstay(&format!("{files} --svg {}", picture.display())));
    assert!(text.starts_with("Over 8 seeds, side B is better at work lost ("), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert!(std::fs::read_to_string(picture).unwrap().starts_with("<svg "));
    let json: serde_json::Value = serde_json::from_str(&stdout(&mainstay(&format!("{files} -o json")))).unwrap();
    assert_eq!(json["measures"][0]["verdict"], "b-better");
    assert!(json["sentence"].as_str().unwrap().starts_with("Over 8 seeds, side B"));
}

#[test]
fn two_policies_are_run_on_the_same_seeds_and_compared() {
    let command = "sim compare --gpus 64 --days 1 --seeds 6 --a checkpoint=wait --b checkpoint=at-once -o json";
    let (one, other) = (stdout(&mainstay(command)), stdout(&mainstay(command)));
    assert_eq!(one, other, "two threads, one order");
    let json: serde_json::Value = serde_json::from_str(&one).unwrap();
    assert_eq!(json["seeds"], serde_json::json!([1, 2, 3, 4, 5, 6]));
    assert_eq!((&json["a"], &json["b"]), (&"checkpoint=wait".into(), &"checkpoint=at-once".into()));
}

#[test]
fn every_word_explains_itself_with_examples_and_exit_codes() {
    for word in ["sim run", "sim compare", "sim replay"] {
        let help = stdout(&mainstay(&format!("{word} --help")));
        assert!(help.contains("Examples:") && help.contains("Exit codes:"), "{help}");
    }
    assert!(stdout(&mainstay("sim --help")).contains("Examples:"));
}

#[test]
fn every_setting_is_listed_by_a_command() {
    let text = stdout(&mainstay("sim settings"));
    for line in ["checkpoint", "link-flap", "lemon_share", "per link and day", "Share of nodes that are lemons"] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 130), "{text}");
    let all: serde_json::Value = serde_json::from_str(&stdout(&mainstay("sim settings -o json"))).unwrap();
    assert_eq!(all.as_array().unwrap().len(), 63);
    assert!(problem("sim run --set lemons=x3").contains("`mainstay sim settings`"));
    let help = stdout(&mainstay("sim run --help")).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("`mainstay sim settings` lists all"), "{help}");
}
