//! Started by `cargo xtask gen`: files that are made from code and records, and the check that none of them is stale. Each
//! generator returns whole files and writes nothing; only this file touches the checkout.

mod crates;
mod crds;
mod dashboards;
mod faults;
mod gpu_rules;
mod metrics;
mod openapi;
mod reference;
#[cfg(test)]
mod tests;
mod waiting;

use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use xtask::exit::{self, Exit};
use xtask::figures::table;
use xtask::output;
use xtask::problem::Problem;
use xtask::workspace::Workspace;

/// Folders in which every file is generated, so that a file without a generator is stale as well.
const OWNED: &[&str] = &["deploy/crds/", crds::CHART, dashboards::FOLDER];

/// Write the generated files.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask gen", after_help = exit::CODES)]
struct Cli {
    /// List stale files without writing them.
    #[arg(long)]
    check: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    exit::code(run(&Cli::parse()).await)
}

async fn run(cli: &Cli) -> anyhow::Result<Exit> {
    let workspace = Workspace::load().await?;
    if cli.check { check(&workspace) } else { write(&workspace) }
}

/// Path and text of a file that a generator makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GeneratedFile {
    /// Relative to the root, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// What all generators together make of the workspace.
fn all(workspace: &Workspace) -> anyhow::Result<Vec<GeneratedFile>> {
    let figures = GeneratedFile { path: table::PATH.to_owned(), text: table::text(workspace)? };
    let mut made = vec![crates::file(workspace), faults::file()?, figures, openapi::file()?, waiting::file()?];
    made.extend([metrics::file()?, gpu_rules::page()?, gpu_rules::rules()?]);
    made.extend(crds::files()?);
    made.extend(dashboards::files()?);
    made.extend(reference::files()?);
    Ok(made)
}

/// Brings every generated file up to date; writes nothing while the API breaks its own rules.
fn write(workspace: &Workspace) -> anyhow::Result<Exit> {
    if print(&crds::problems()) == Exit::DoesNotHold {
        return Ok(Exit::DoesNotHold);
    }
    let made = all(workspace)?;
    for file in made.iter().filter(|file| workspace.text(&file.path) != Some(&file.text)) {
        let path = workspace.root.join(&file.path);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        }
        std::fs::write(&path, &file.text).with_context(|| format!("cannot write {}", file.path))?;
        output::note(format_args!("gen: wrote {}", file.path));
    }
    for path in orphans(workspace, &made) {
        std::fs::remove_file(workspace.root.join(path)).with_context(|| format!("cannot remove {path}"))?;
        output::note(format_args!("gen: removed {path}"));
    }
    output::note(format_args!("gen: {} files are up to date", made.len()));
    Ok(Exit::Holds)
}

/// Prints every generated file that is stale or missing.
fn check(workspace: &Workspace) -> anyhow::Result<Exit> {
    let mut problems = crds::problems();
    problems.extend(stale(workspace, &all(workspace)?));
    Ok(print(&problems))
}

fn print(problems: &[Problem]) -> Exit {
    for problem in problems {
        output::note(problem);
    }
    if problems.is_empty() { Exit::Holds } else { Exit::DoesNotHold }
}

fn stale(workspace: &Workspace, made: &[GeneratedFile]) -> Vec<Problem> {
    let hint = "run `cargo xtask gen` and commit what it writes.".to_owned();
    let mut problems = Vec::new();
    for file in made {
        match workspace.text(&file.path) {
            Some(text) if text == file.text => {}
            Some(text) => problems.push(Problem {
                code: "GEN01",
                what: format!("{} is stale", file.path),
                detail: first_difference(text, &file.text),
                hint: hint.clone(),
            }),
            None => problems.push(Problem {
                code: "GEN02",
                what: format!("{} is missing", file.path),
                detail: "it is generated and committed, so that readers need no build.".to_owned(),
                hint: hint.clone(),
            }),
        }
    }
    problems.extend(orphans(workspace, made).map(|path| Problem {
        code: "GEN03",
        what: format!("{path} is stale"),
        detail: "every file of that folder is generated, and no generator makes this one.".to_owned(),
        hint: hint.clone(),
    }));
    problems
}

fn orphans<'a>(workspace: &'a Workspace, made: &'a [GeneratedFile]) -> impl Iterator<Item = &'a str> {
    let paths = workspace.files.iter().map(|file| file.path.as_str());
    paths
        .filter(|path| OWNED.iter().any(|folder| path.starts_with(folder)))
        .filter(|path| made.iter().all(|file| file.path != *path))
}

fn first_difference(is: &str, should_be: &str) -> String {
    let mut number = 1;
    let (mut left, mut right) = (is.lines(), should_be.lines());
    loop {
        match (left.next(), right.next()) {
            (Some(is), Some(should_be)) if is == should_be => number += 1,
            (None, None) => return "it differs in its line ends.".to_owned(),
            (is, should_be) => {
                let show = |line: Option<&str>| line.map_or("nothing".to_owned(), |line| format!("`{}`", short(line)));
                return format!("line {number} is {}, should be {}.", show(is), show(should_be));
            }
        }
    }
}

/// Enough of a line to find it.
fn short(line: &str) -> String {
    const LONGEST: usize = 60;
    let line = line.trim();
    if line.chars().count() <= LONGEST {
        return line.to_owned();
    }
    line.chars().take(LONGEST).chain(['…']).collect()
}
