//! `cargo xtask check` and `fix`: the steps that every change must pass, in one fixed order, cheapest first. Each step calls
//! the tool that does the check.

#[cfg(test)]
mod tests;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde::Serialize;
use tokio::process::Command;

use crate::commit::GIT_LIMIT;
use crate::exit::Exit;
use crate::output::{self, Format};
use crate::tidy::layers::{Kind, Layer};
use crate::tools::{DENY, NEXTEST};
use crate::workspace::Workspace;
use crate::{command, delegate, tidy, web_ui};

/// No step takes longer on two cores, a cold build included.
const STEP_LIMIT: Duration = Duration::from_secs(45 * 60);

/// A part of `check`, in the order in which they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Step {
    /// Formatting
    Fmt,
    /// Dependency direction, names, manifests, links, claims, plain English
    Tidy,
    /// Generated files are up to date
    Gen,
    /// The web UI: types, tests and build
    Page,
    /// Lints: edges and pure crates, each with their own bans
    Clippy,
    /// Licences, banned crates and sources
    Deny,
    /// The web UI in a real browser
    Browser,
    /// All tests
    Test,
}

impl Step {
    pub(crate) const ALL: &[Step] =
        &[Step::Fmt, Step::Tidy, Step::Gen, Step::Page, Step::Clippy, Step::Deny, Step::Browser, Step::Test];

    fn name(self) -> &'static str {
        match self {
            Step::Fmt => "fmt",
            Step::Tidy => "tidy",
            Step::Gen => "gen",
            Step::Page => "page",
            Step::Clippy => "clippy",
            Step::Deny => "deny",
            Step::Browser => "browser",
            Step::Test => "test",
        }
    }

    /// How to fix what the step refused.
    fn hint(self) -> &'static str {
        match self {
            Step::Fmt => "run `cargo xtask fix`.",
            Step::Tidy => "each problem above has a hint.",
            Step::Gen => "run `cargo xtask gen`, or `cargo xtask fix`.",
            Step::Page => "run `npm run check` and `npm test` in ui.",
            Step::Clippy => "run `cargo xtask fix`; clippy explains above what it cannot fix.",
            Step::Deny => "deny.toml has the reason for each refused crate or licence.",
            Step::Browser => {
                "run it again with `cargo xtask check --only browser`; ui/README.md explains how to watch."
            }
            Step::Test => "run one test again with `cargo nextest run -E 'test(NAME)'`.",
        }
    }
}

/// Steps to run, and the output format.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Steps to run, in the usual order [default: all].
    #[arg(long, value_enum, value_delimiter = ',', value_name = "STEP")]
    only: Vec<Step>,
    /// Format of the summary on stdout.
    #[arg(short, long, value_enum, default_value = "text")]
    output: Format,
}

/// The summary, as data.
#[derive(Debug, Serialize)]
struct Summary {
    holds: bool,
    steps: Vec<StepResult>,
}

/// Result and duration of one step.
#[derive(Debug, Serialize)]
struct StepResult {
    step: Step,
    holds: bool,
    seconds: f64,
}

/// Runs the steps up to the first that does not hold.
pub(crate) async fn run(workspace: &Workspace, args: &Args) -> anyhow::Result<Exit> {
    let chosen = Step::ALL.iter().filter(|step| args.only.is_empty() || args.only.contains(step));
    let mut summary = Summary { holds: true, steps: Vec::new() };
    for step in chosen {
        let start = Instant::now();
        let exit = run_step(*step, workspace).await?;
        let holds = exit == Exit::Holds;
        let seconds = (start.elapsed().as_secs_f64() * 10.0).round() / 10.0;
        summary.steps.push(StepResult { step: *step, holds, seconds });
        summary.holds &= holds;
        if !holds {
            break;
        }
    }
    match args.output {
        Format::Json => output::json(&summary)?,
        Format::Text => output::line(in_words(&summary))?,
    }
    Ok(if summary.holds { Exit::Holds } else { Exit::DoesNotHold })
}

fn in_words(summary: &Summary) -> String {
    match summary.steps.last() {
        Some(last) if !last.holds => {
            format!("check: {} does not hold\n  hint:   {}", last.step.name(), last.step.hint())
        }
        Some(_) | None => {
            let names: Vec<&str> = summary.steps.iter().map(|ran| ran.step.name()).collect();
            format!("check holds: {}", names.join(", "))
        }
    }
}

/// Runs one step and prints how long it took.
pub(crate) async fn run_step(step: Step, workspace: &Workspace) -> anyhow::Result<Exit> {
    output::note(format_args!("check {}: start", step.name()));
    let start = Instant::now();
    let exit = match step {
        Step::Fmt => {
            command::holds(command::cargo(&workspace.root).args(["fmt", "--all", "--check", "--", "-l"]), STEP_LIMIT)
                .await
        }
        Step::Tidy => tidy::run(workspace, Format::Text),
        Step::Gen => delegate::run("generate", &["--check"]).await,
        Step::Page => web_ui::check(workspace).await,
        Step::Clippy => in_turn(lints(workspace, Lint::Check)).await,
        Step::Deny => deny(workspace).await,
        Step::Browser => web_ui::browser(workspace).await,
        Step::Test => tests(workspace).await,
    }?;
    let holds = match exit {
        Exit::Holds => "holds",
        Exit::DoesNotHold | Exit::Usage | Exit::CouldNotRun => "does not hold",
    };
    output::note(format_args!("check {}: {holds} ({})", step.name(), output::seconds(start.elapsed())));
    Ok(exit)
}

/// Applies automatic fixes: formatting, lints with a known answer, generated files, comment limits.
pub(crate) async fn fix(workspace: &Workspace) -> anyhow::Result<Exit> {
    let mut commands = lints(workspace, Lint::Fix);
    let mut fmt = command::cargo(&workspace.root);
    fmt.args(["fmt", "--all"]);
    // Last, because a fixed lint may want another line break.
    commands.push(fmt);
    let lints = in_turn(commands).await?;
    let generated = delegate::run("generate", &[] as &[&str]).await?;
    tidy::fix(&Workspace::load().await?)?;
    Ok(if lints == Exit::Holds { generated } else { lints })
}

/// Whether lints are only printed, or fixed too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lint {
    Check,
    Fix,
}

/// Two runs of clippy, because clippy takes one list of bans per run: edges and tools with the root's, pure crates
/// with their own. Each has its own target directory, or each would throw away what the other found.
fn lints(workspace: &Workspace, lint: Lint) -> Vec<Command> {
    let is_pure = |name: &str| Layer::of(name).is_some_and(|layer| layer.kind == Kind::Pure);
    let (pure, edges): (Vec<&str>, Vec<&str>) =
        workspace.crates.iter().map(|one| one.name.as_str()).partition(|name| is_pure(name));
    let root = &workspace.root;
    // The pure crates first: few dependencies, so a clock in the engine is found within seconds.
    [(pure, root.join("tools/clippy/pure"), "pure"), (edges, root.clone(), "edges")]
        .into_iter()
        .filter(|(crates, _, _)| !crates.is_empty())
        .map(|(crates, bans, name)| clippy(workspace, &crates, &bans, name, lint))
        .collect()
}

fn clippy(workspace: &Workspace, crates: &[&str], bans: &Path, name: &str, lint: Lint) -> Command {
    let mut cargo = command::cargo(&workspace.root);
    cargo.args(["clippy", "--no-deps", "--all-targets", "--all-features"]);
    cargo.args(crates.iter().flat_map(|name| ["--package", name]));
    if name == "pure" {
        cargo.arg("--target-dir").arg(workspace.target_dir.join(name));
    }
    if lint == Lint::Fix {
        cargo.args(["--fix", "--allow-dirty", "--allow-staged"]);
    }
    cargo.args(["--", "-D", "warnings"]).env("CLIPPY_CONF_DIR", bans);
    cargo
}

/// Advisories are omitted: they need a database from the network, and the task runner works without one.
async fn deny(workspace: &Workspace) -> anyhow::Result<Exit> {
    let program = DENY.ensure().await?;
    let mut deny = command::cargo_tool(&program, &workspace.root);
    deny.args(["--all-features", "--log-level", "error", "check"]);
    // An exemption goes when it is no longer needed.
    deny.args(["-D", "unmatched-skip", "-D", "unnecessary-skip", "-D", "unused-wrapper"]);
    deny.args(["bans", "licenses", "sources"]);
    command::holds(&mut deny, STEP_LIMIT).await
}

/// The feature without which some tests of `mainstay` are not compiled.
pub(crate) const DEVELOPER: &str = "mainstay/developer";

async fn tests(workspace: &Workspace) -> anyhow::Result<Exit> {
    let program = NEXTEST.ensure().await?;
    let mut commands = Vec::new();
    if workspace.files.iter().any(|file| file.path.ends_with(".rs") && has_doc_test(file.text.as_deref())) {
        let mut doc = command::cargo(&workspace.root);
        doc.args(["test", "--doc", "--workspace", "--quiet"]);
        commands.push(doc);
    }
    let mut nextest = command::cargo_tool(&program, &workspace.root);
    nextest.args(["nextest", "run", "--workspace", "--features", DEVELOPER]);
    nextest.env("PROPTEST_RNG_SEED", property_seed(workspace).await?.to_string());
    // Last, so that its summary closes the output.
    commands.push(nextest);
    in_turn(commands).await
}

/// The seed of the property tests. The committed sources decide it, so that the same sources pass or fail everywhere, and
/// changed ones meet other cases. `cargo nextest run` alone draws a seed at random.
async fn property_seed(workspace: &Workspace) -> anyhow::Result<u64> {
    let mut git = command::program("git", &workspace.root);
    let tree = command::text(git.args(["rev-parse", "--short=15", "HEAD:crates"]), GIT_LIMIT).await?;
    u64::from_str_radix(tree.trim(), 16).context("git gave no hash of the sources")
}

/// Whether a source file shows code that rustdoc would run; nextest does not, and an empty run of rustdoc over all
/// crates takes as long as many tests.
fn has_doc_test(text: Option<&str>) -> bool {
    let comments = text.unwrap_or_default().lines().filter_map(|line| {
        let line = line.trim_start();
        line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).map(str::trim)
    });
    let mut inside = false;
    for fence in comments.filter_map(|line| line.strip_prefix("```")) {
        if !inside && !fence.contains("text") && !fence.contains("ignore") {
            return true;
        }
        inside = !inside;
    }
    false
}

/// Runs commands one after the other, up to the first that fails.
async fn in_turn(commands: Vec<Command>) -> anyhow::Result<Exit> {
    for mut command in commands {
        let exit = command::holds(&mut command, STEP_LIMIT).await?;
        if exit != Exit::Holds {
            return Ok(exit);
        }
    }
    Ok(Exit::Holds)
}
