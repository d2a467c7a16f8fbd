//! `cargo xtask fuzz`: runs every target of `fuzz/` on its stored corpus for a given time. A target is built as cargo-fuzz
//! builds it, without cargo-fuzz: that takes minutes to compile and adds nothing that is needed here. New inputs stay in the
//! build folder; a contributor copies the useful ones into the corpus.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde::Serialize;
use tokio::process::Command;
use tokio::time::timeout;

use crate::command;
use crate::exit::Exit;
use crate::output::{self, Format};
use crate::workspace::Workspace;

/// Coverage needs no nightly, but cargo-fuzz does, and so the two compile the same.
const TOOLCHAIN: &str = "nightly";

/// Only code for this target is counted, not build scripts.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// What cargo-fuzz hands to the compiler with `--sanitizer none`. The agent's unsafe code is at the border to NVML, which is
/// not fuzzed, so an address sanitizer would find nothing and halve the speed.
const FLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing";

/// A cold build on two busy cores.
const BUILD_LIMIT: Duration = Duration::from_mins(30);

/// Long enough for the corpus and for what is near to it.
const CI_SECONDS: u64 = 5;

/// The longest run that may be asked for.
const SECONDS_MAX: u64 = 3_600;

/// Longest time for one input; the slowest of the corpora takes milliseconds.
const INPUT_SECONDS: u64 = 10;

/// Most memory of a target: a bounded parser needs a hundredth of it.
const MEMORY_MB: u64 = 1_024;

/// Two at a time, for two cores.
const AT_ONCE: usize = 2;

/// Time for start and exit of a target.
const AROUND: Duration = Duration::from_mins(2);

/// Targets to run, and for how long.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Seconds per target.
    #[arg(long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u64).range(1..=SECONDS_MAX))]
    seconds: u64,
    /// Targets to run [default: all].
    #[arg(long, value_delimiter = ',', value_name = "TARGET")]
    only: Vec<String>,
    /// Output format.
    #[arg(short, long, value_enum, default_value = "text")]
    output: Format,
}

/// Inputs, coverage and verdict of one fuzz target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct TargetResult {
    target: String,
    inputs: u64,
    /// Features of the code that the inputs reached.
    covered: u64,
    holds: bool,
}

/// Runs every target for a few seconds.
pub(crate) async fn run_in_ci(workspace: &Workspace) -> anyhow::Result<Exit> {
    output::note(format_args!("ci fuzz: start"));
    let start = Instant::now();
    let exit = run(workspace, &Args { seconds: CI_SECONDS, only: Vec::new(), output: Format::Text }).await?;
    output::note(format_args!("ci fuzz: ended ({})", output::seconds(start.elapsed())));
    Ok(exit)
}

/// Runs the chosen targets.
pub(crate) async fn run(workspace: &Workspace, args: &Args) -> anyhow::Result<Exit> {
    let all = targets(workspace);
    let unknown = args.only.iter().find(|name| !all.contains(name));
    ensure!(unknown.is_none(), "{} is not one of {}", unknown.map_or("", String::as_str), all.join(", "));
    let chosen: Vec<String> = all.into_iter().filter(|name| args.only.is_empty() || args.only.contains(name)).collect();
    let folder = build(workspace).await?;
    let mut all_tried = Vec::new();
    for some in chosen.chunks(AT_ONCE) {
        let tries = some
            .iter()
            .map(|name| tokio::spawn(attempt(workspace.root.clone(), folder.clone(), name.clone(), args.seconds)));
        for attempt in tries.collect::<Vec<_>>() {
            all_tried.push(attempt.await.context("a target was aborted")??);
        }
    }
    let holds = all_tried.iter().all(|tried| tried.holds);
    match args.output {
        Format::Json => output::json(&all_tried)?,
        Format::Text => {
            for TargetResult { target, inputs, covered, holds } in &all_tried {
                let word = if *holds { "holds" } else { "BREAKS" };
                output::line(format_args!("{target:<12} {inputs:>10} inputs  {covered:>6} features  {word}"))?;
            }
        }
    }
    if !holds {
        let found = folder.join("found");
        output::note(format_args!(
            "fuzz: does not hold\n  hint:   the inputs are in {}; add each to a test.",
            found.display()
        ));
    }
    Ok(if holds { Exit::Holds } else { Exit::DoesNotHold })
}

/// One file a target.
fn targets(workspace: &Workspace) -> Vec<String> {
    let name = |path: &str| Some(path.strip_prefix("fuzz/fuzz_targets/")?.strip_suffix(".rs")?.to_owned());
    workspace.files.iter().filter_map(|file| name(&file.path)).collect()
}

/// Builds every target and returns their folder.
async fn build(workspace: &Workspace) -> anyhow::Result<PathBuf> {
    let fuzz = workspace.root.join("fuzz");
    let mut present = command::program("rustup", &fuzz);
    present.args(["run", TOOLCHAIN, "rustc", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    if command::holds(&mut present, BUILD_LIMIT).await? != Exit::Holds {
        let mut install = command::program("rustup", &fuzz);
        install.args(["toolchain", "install", TOOLCHAIN, "--profile", "minimal", "--no-self-update"]);
        let installed = command::holds(&mut install, BUILD_LIMIT).await?;
        ensure!(installed == Exit::Holds, "there is no {TOOLCHAIN}; see the output of rustup above");
    }
    let folder = workspace.target_dir.join("fuzz");
    let mut cargo = command::cargo_tool(Path::new("rustup"), &fuzz);
    cargo.args(["run", TOOLCHAIN, "cargo", "build", "--quiet", "--locked", "--release", "--bins", "--target", TARGET]);
    cargo.arg("--target-dir").arg(&folder).env("RUSTFLAGS", FLAGS);
    // Set by rustup for the other toolchain.
    cargo.env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN").env_remove("RUSTC");
    let built = command::holds(&mut cargo, BUILD_LIMIT).await?;
    ensure!(built == Exit::Holds, "the targets cannot be built; see the output of cargo above");
    Ok(folder)
}

/// Runs one target on its corpus, then on mutations of it.
async fn attempt(root: PathBuf, folder: PathBuf, name: String, seconds: u64) -> anyhow::Result<TargetResult> {
    // In the build folder: a run leaves nothing in the checkout. The first folder is the one that is written to.
    let (made, found) = (folder.join("made").join(&name), folder.join("found").join(&name));
    for folder in [&made, &found] {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    let mut target: Command = command::program(folder.join(TARGET).join("release").join(&name), &root);
    target.arg(&made).arg(root.join("fuzz/corpus").join(&name));
    target.arg(format!("-max_total_time={seconds}")).arg(format!("-timeout={INPUT_SECONDS}"));
    target.arg(format!("-rss_limit_mb={MEMORY_MB}")).arg(format!("-artifact_prefix={}/", found.display()));
    target.args(["-max_len=16384", "-print_final_stats=1", "-verbosity=1"]);
    target.stdout(Stdio::null()).stderr(Stdio::piped());
    let limit = Duration::from_secs(seconds) + AROUND;
    let output = timeout(limit, target.output()).await;
    let output = output.with_context(|| format!("{name} had not ended after {} s", limit.as_secs()))?;
    let output = output.with_context(|| format!("cannot start {name}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let holds = output.status.success();
    if !holds {
        let mut last: Vec<&str> = said.lines().rev().take(40).collect();
        last.reverse();
        output::note(format_args!("fuzz {name}: last output:\n{}", last.join("\n")));
    }
    Ok(TargetResult {
        inputs: stat(&said, "stat::number_of_executed_units:"),
        covered: features(&said),
        target: name,
        holds,
    })
}

/// A line of libFuzzer's figures at the end.
fn stat(said: &str, key: &str) -> u64 {
    said.lines().find_map(|line| line.strip_prefix(key)?.trim().parse().ok()).unwrap_or(0)
}

/// `#1234 DONE cov: 812 ft: 1780 corp: 97/4210b`: the last number behind `ft:`.
fn features(said: &str) -> u64 {
    let last = said.lines().rev().find_map(|line| line.split_once(" ft: "));
    last.and_then(|(_, rest)| rest.split(' ').next()?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_off_what_the_fuzzer_says() {
        let said = "#2\tINITED cov: 5 ft: 6 corp: 1/1b\n#99\tDONE   cov: 812 ft: 1780 corp: 97/4210b lim: 4096\n\
                    stat::number_of_executed_units: 99\nstat::average_exec_per_sec:     9\n";
        assert_eq!((stat(said, "stat::number_of_executed_units:"), features(said)), (99, 1780));
        assert_eq!((stat("", "stat::x:"), features("")), (0, 0));
    }

    #[tokio::test]
    async fn every_target_has_a_corpus_and_a_line_in_the_manifest() {
        let workspace = Workspace::load().await.unwrap();
        let manifest = std::fs::read_to_string(workspace.root.join("fuzz/Cargo.toml")).unwrap();
        let all = targets(&workspace);
        assert!(all.len() >= 12, "{all:?}");
        for name in all {
            assert!(manifest.contains(&format!("name = \"{name}\"")), "{name}");
            let stored = workspace.files.iter().filter(|file| file.path.starts_with(&format!("fuzz/corpus/{name}/")));
            assert!(stored.count() > 0, "{name} has no corpus");
        }
    }
}
