//! `cargo xtask tidy`: the rules that no compiler checks, all problems at once. Each rule is a function from the workspace
//! to problems, so a test can show that it fails on a small made-up workspace.

mod direction;
pub mod layers;
mod links;
mod manifests;
mod names;
pub(crate) mod plain_english;
#[cfg(test)]
mod tests;

pub use direction::against_the_map;

use serde::Serialize;

use crate::exit::Exit;
use crate::figures::{claims, record};
use crate::output::{self, Format};
use crate::problem::Problem;
use crate::workspace::Workspace;

/// Problems and warnings of all rules.
#[derive(Debug, Serialize)]
struct Findings {
    holds: bool,
    problems: Vec<Problem>,
    /// Printed, but not refused.
    warnings: Vec<Problem>,
}

/// Applies every rule but plain English, whose report has a summary of its own.
fn findings(workspace: &Workspace) -> Findings {
    let mut problems = direction::problems(workspace);
    problems.extend(manifests::problems(workspace));
    problems.extend(names::problems(workspace));
    problems.extend(links::problems(workspace));
    problems.extend(record::problems(workspace));
    problems.extend(claims::problems(workspace));
    problems.sort();
    Findings { holds: problems.is_empty(), problems, warnings: names::long_files(workspace) }
}

/// Prints the findings: as data with `-o json`, else for a reader.
pub(crate) fn run(workspace: &Workspace, format: Format) -> anyhow::Result<Exit> {
    let mut findings = findings(workspace);
    let plain = plain_english::report(workspace);
    findings.holds &= plain.problems.is_empty();
    match format {
        Format::Json => {
            findings.problems.extend(plain.problems);
            output::json(&findings)?;
        }
        Format::Text => print(workspace, &findings, &plain),
    }
    Ok(if findings.holds { Exit::Holds } else { Exit::DoesNotHold })
}

/// Lowers the limits of banned words in comments to today's counts.
pub(crate) fn fix(workspace: &Workspace) -> anyhow::Result<Exit> {
    plain_english::lower_limits(workspace)?;
    Ok(Exit::Holds)
}

fn print(workspace: &Workspace, findings: &Findings, plain: &plain_english::Report) {
    for warning in &findings.warnings {
        output::note(format_args!("warning {}: {}; {}", warning.code, warning.what, warning.hint));
    }
    for problem in &findings.problems {
        output::note(problem);
    }
    // One line each: there can be hundreds.
    for Problem { code, what, detail, hint } in &plain.problems {
        match *code {
            "PLAIN01" => output::note(format_args!("{code} {what}; {hint}")),
            _ => output::note(format_args!("{code} {what}; {detail} {hint}")),
        }
    }
    plain.print_summary();
    let (crates, files) = (workspace.crates.len(), workspace.files.len());
    let problems = findings.problems.len() + plain.problems.len();
    output::note(format_args!("tidy: {problems} problems in {crates} crates and {files} files"));
}
