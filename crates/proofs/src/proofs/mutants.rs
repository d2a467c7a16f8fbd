//! Whether tests notice a defect: cargo-mutants changes the pure crates in one place at a time and runs their tests. The
//! commit draws the places, so another commit has other ones. A change that no quick test of its own crate notices is tested
//! again with all tests of all these crates. The proof lists what is not noticed at all.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::Value;
use tempfile::TempDir;
use tokio::process::Command;
use xtask::{command, output, tools};

use crate::prove::{Context, Measurement, Proof};

pub(super) const PROOF: Proof = Proof { name: "mutants", run: |context: &Context| Box::pin(prove(context)) };

/// The crates that are changed.
const CRATES: [&str; 6] =
    ["mainstay-model", "mainstay-health", "mainstay-remedy", "mainstay-arbiter", "mainstay-engine", "mainstay-audit"];
/// What the tests need besides, and is optimised in other builds.
const ALSO_OPTIMISED: [&str; 2] = ["mainstay-account", "mainstay-signal"];
/// How many changes are drawn, about.
const DRAWN: usize = 300;

/// Cases of each property. CI generates more, so this proof notices less than CI does.
const PROPERTY_CASES: &str = "60";

/// A round of tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Round {
    /// The quick tests of the changed crate, which compiles fastest without optimisation.
    Quick,
    /// All tests of all these crates. The properties need optimisation that compiles quickly.
    All,
}

const QUICK: Duration = Duration::from_mins(5);
const RUN_LIMIT: Duration = Duration::from_hours(4);

/// How often changes were noticed.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    noticed: Vec<String>,
    not_compiled: usize,
    missed: Vec<String>,
}

async fn prove(context: &Context) -> anyhow::Result<Measurement> {
    let root = &context.workspace.root;
    let listed = command::text(mutants(root, Round::Quick).await?.arg("--list"), QUICK).await?.lines().count();
    let commit = command::text(command::program("git", root).args(["rev-parse", "HEAD"]), QUICK).await?;
    let (shard, shards) = draw(listed, commit.trim())?;
    let mut first = mutants(root, Round::Quick).await?;
    first.args(["--sharding", "round-robin", "--shard", &format!("{shard}/{shards}")]);
    let first = run(first).await?;
    let mut noticed = first.noticed.len();
    let mut missed = first.missed;
    if !missed.is_empty() {
        let again = run(only(root, &missed).await?).await?;
        let tested = missed.len();
        // Only a change that was tested again and noticed counts.
        missed.retain(|name| !again.noticed.contains(name));
        noticed += tested - missed.len();
    }
    missed.iter().for_each(|name| output::note(format_args!("no test notices: {name}")));
    let viable = noticed + missed.len();
    ensure!(viable > 0, "no change was tested");
    let detail = format!(
        "{listed} possible changes, part {shard} of {shards} drawn by the commit: {viable} compile, {} do not; tests notice {noticed}",
        first.not_compiled
    );
    Ok(Measurement { value: i64::try_from(noticed * 1_000 / viable)?, detail })
}

/// The command that tests these changes again, with all tests of all crates. cargo-mutants keeps every deletion of a field
/// whatever the patterns are, so the files are named as well.
async fn only(root: &Path, changes: &[String]) -> anyhow::Result<Command> {
    let mut command = mutants(root, Round::All).await?;
    let files: BTreeSet<&str> = changes.iter().filter_map(|name| Some(name.split_once(':')?.0)).collect();
    command.args(files.into_iter().map(|file| format!("--file={file}")));
    command.args(changes.iter().map(|name| format!("--re=^{}$", escaped(name))));
    command.args(CRATES.map(|name| format!("--test-package={name}")));
    Ok(command)
}

/// Which part of the changes this commit draws, of how many.
fn draw(listed: usize, commit: &str) -> anyhow::Result<(usize, usize)> {
    let shards = (listed / DRAWN).max(1);
    let digits = commit.get(..8).context("the commit has no hash")?;
    Ok((usize::from_str_radix(digits, 16)? % shards, shards))
}

/// The command for these crates, with the optimisation and the nextest profile of the round.
async fn mutants(root: &Path, round: Round) -> anyhow::Result<Command> {
    let (profile, level) = match round {
        Round::Quick => ("mutants", 0),
        Round::All => ("mutants-missed", 1),
    };
    let (program, path) = tools::mutants().await?;
    let mut command = command::program(program, root);
    command.arg("mutants").env("PATH", path).env("NEXTEST_PROFILE", profile).env("CARGO_INCREMENTAL", "1");
    command.env("MAINSTAY_PROPERTY_CASES", PROPERTY_CASES);
    // The copy has a target directory of its own.
    command.env_remove("CARGO_TARGET_DIR");
    command.args(CRATES.map(|name| format!("--package={name}")));
    for name in CRATES.iter().chain(&ALSO_OPTIMISED) {
        command.arg(format!("--cargo-arg=--config=profile.dev.package.{name}.opt-level={level}"));
    }
    Ok(command)
}

async fn run(mut command: Command) -> anyhow::Result<Tally> {
    let folder = TempDir::new()?;
    command.args(["--test-tool", "nextest", "--jobs", "1", "--minimum-test-timeout", "120"]);
    command.arg("--output").arg(folder.path());
    // Its exit code states only whether something was missed; the file lists it.
    command::holds(&mut command, RUN_LIMIT).await?;
    let file = folder.path().join("mutants.out/outcomes.json");
    tally(&std::fs::read_to_string(file).context("cargo-mutants wrote no outcomes; see its output above")?)
}

fn tally(outcomes: &str) -> anyhow::Result<Tally> {
    let outcomes: Value = serde_json::from_str(outcomes)?;
    let mut tally = Tally::default();
    for outcome in outcomes["outcomes"].as_array().context("no outcomes")? {
        let name = outcome["scenario"]["Mutant"]["name"].as_str();
        match outcome["summary"].as_str().context("an outcome without a summary")? {
            // A test that never ends is noticed too.
            "CaughtMutant" | "Timeout" => tally.noticed.push(name.context("a change without a name")?.to_owned()),
            "Unviable" => tally.not_compiled += 1,
            "MissedMutant" => tally.missed.push(name.context("a change without a name")?.to_owned()),
            "Success" if name.is_none() => {}
            other => anyhow::bail!("{other}: {}", name.unwrap_or("the unchanged tests")),
        }
    }
    Ok(tally)
}

/// A regular expression for exactly this text.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        // Not all punctuation: an escaped `<` is a boundary, not a character.
        if r"\.+*?()|[]{}^$".contains(character) {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commit_draws_one_of_the_parts() {
        assert_eq!(draw(3_087, "0000000b5eb8").unwrap(), (1, 10));
        assert_eq!(draw(20, "ffffffff").unwrap(), (0, 1));
        assert!(draw(20, "").is_err());
    }

    #[test]
    fn a_timeout_is_noticed_and_a_failure_of_the_unchanged_tests_is_an_error() {
        let mutant = |name: &str| serde_json::json!({ "Mutant": { "name": name } });
        let outcomes = |all: &[(Value, &str)]| {
            let all =
                all.iter().map(|(scenario, summary)| serde_json::json!({ "scenario": scenario, "summary": summary }));
            tally(&serde_json::json!({ "outcomes": all.collect::<Vec<_>>() }).to_string())
        };
        let found = outcomes(&[
            (Value::from("Baseline"), "Success"),
            (mutant("a"), "CaughtMutant"),
            (mutant("b"), "Timeout"),
            (mutant("c"), "Unviable"),
            (mutant("d"), "MissedMutant"),
        ]);
        assert_eq!(
            found.unwrap(),
            Tally { noticed: vec!["a".to_owned(), "b".to_owned()], not_compiled: 1, missed: vec!["d".to_owned()] }
        );
        assert!(outcomes(&[(Value::from("Baseline"), "Failure")]).is_err());
    }

    #[test]
    fn a_name_is_matched_as_it_is() {
        assert_eq!(escaped("a.rs:1: x -> y"), r"a\.rs:1: x -> y");
    }
}
