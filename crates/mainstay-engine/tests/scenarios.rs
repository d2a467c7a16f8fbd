//! Every scenario of `scenarios/` says what an SRE would say, names its rule, and gives the output written below it; with
//! its rule switched off it gives another one. `UPDATE=1` writes the outputs anew.

#![cfg(test)]
#![expect(
    clippy::disallowed_methods,
    reason = "stories are files, and UPDATE is how they are written anew; the brain itself reads neither"
)]

#[path = "scenario/answers.rs"]
mod answers;
#[path = "scenario/readings.rs"]
mod readings;
#[path = "scenario/run.rs"]
mod run;
#[path = "scenario/text.rs"]
mod text;
#[path = "scenario/words.rs"]
mod words;
#[path = "scenario/world.rs"]
#[expect(dead_code, reason = "scenarios do not record; the properties do")]
mod world;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use mainstay_engine::{Engine, Guard, Guards};
use mainstay_health::Catalogue;

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "txt"));
    files.sort();
    files
}

fn engine_without(rule: &str) -> Engine {
    match Guard::ALL.iter().find(|guard| guard.name() == rule) {
        Some(guard) => Engine::guarded(Guards::without(*guard)),
        None => Engine::with(Catalogue::built_in().without(rule), Guards::all_on()),
    }
}

#[test]
fn every_scenario_gives_what_is_written_below_it() {
    let update = std::env::var_os("UPDATE").is_some();
    for file in files() {
        let is = std::fs::read_to_string(&file).unwrap();
        let scenario = text::parse(&is).unwrap_or_else(|problem| panic!("{}: {problem}", file.display()));
        let outputs = run::run(&scenario, Engine::new());
        assert!(!outputs.concat().contains("VIOLATION"), "{}: the auditor objects: {outputs:#?}", file.display());
        let should_be = text::with_output(&is, &outputs);
        if update {
            std::fs::write(&file, should_be).unwrap();
        } else {
            assert_eq!(is, should_be, "{}: UPDATE=1 writes it anew", file.display());
        }
    }
}

#[test]
fn every_scenario_names_a_rule_without_which_it_would_end_differently() {
    let rules: Vec<String> = Catalogue::built_in().rows().map(|row| row.rule.as_str().to_owned()).collect();
    for file in files() {
        let scenario = text::parse(&std::fs::read_to_string(&file).unwrap()).unwrap();
        let rule = scenario.rule.as_str();
        let is_switch = Guard::ALL.iter().any(|guard| guard.name() == rule);
        assert!(is_switch || rules.iter().any(|known| known == rule), "{}: no rule {rule}", file.display());
        let with = run::run(&scenario, Engine::new());
        let without = run::run(&scenario, engine_without(rule));
        assert_ne!(with, without, "{}: nothing changes without {rule}", file.display());
    }
}

#[test]
fn every_rule_of_the_brain_has_a_scenario() {
    let named: Vec<String> =
        files().iter().map(|file| text::parse(&std::fs::read_to_string(file).unwrap()).unwrap().rule).collect();
    assert!(named.len() >= 30, "{} scenarios", named.len());
    for guard in Guard::ALL {
        assert!(named.iter().any(|rule| rule == guard.name()), "no scenario is about {}", guard.name());
    }
}

/// The second opinion does not depend on the first: without a guard, the auditor objects where its scenario is played.
#[test]
fn without_a_guard_the_auditor_objects() {
    for guard in [Guard::Budget, Guard::Freshness, Guard::Fence, Guard::CheckpointWait, Guard::Mode, Guard::IntentFirst]
    {
        let objections = files()
            .iter()
            .map(|file| text::parse(&std::fs::read_to_string(file).unwrap()).unwrap())
            .filter(|scenario| scenario.rule == guard.name())
            .filter(|scenario| run::run(scenario, engine_without(guard.name())).concat().contains("VIOLATION"))
            .count();
        assert!(objections > 0, "the auditor says nothing without {}", guard.name());
    }
}

/// A mass fault is one finding about what its nodes share, and never a second one beside it; unrelated faults have none.
#[test]
fn a_mass_fault_is_one_finding_and_unrelated_faults_share_none() {
    for (story, subject) in [
        ("a-whole-leaf-is-down", Some("Leaf leaf1")),
        ("a-pdu-is-down", Some("Pdu p7")),
        ("an-nvl72-rack-is-one-unit", Some("NvlinkDomain nvl1")),
        ("a-driver-version-gone-wrong", Some("driver 590.48.01")),
        ("eighteen-unrelated-faults", None),
    ] {
        let file = files().into_iter().find(|file| file.file_stem().is_some_and(|stem| stem == story)).unwrap();
        let scenario = text::parse(&std::fs::read_to_string(file).unwrap()).unwrap();
        let output = run::run(&scenario, Engine::new()).concat();
        let blamed = output.lines().filter_map(|line| line.strip_prefix("cause     ")?.split("  ").next());
        assert_eq!(blamed.collect::<BTreeSet<_>>(), subject.into_iter().collect(), "{story}");
        let taken_out = output.lines().filter(|line| line.starts_with("cordon ")).count();
        assert!(subject.is_none() || taken_out <= 4, "{story}: {taken_out} are taken out one by one");
        assert!(subject.is_some() || taken_out == 18, "{story}: {taken_out} are taken out");
    }
}
