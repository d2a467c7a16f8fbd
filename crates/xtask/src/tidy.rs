//! `cargo xtask tidy`: the rules that no compiler checks, all problems at once. Each rule is a function from the
//! workspace as read to problems, so that each can be shown to fail on a small made-up workspace.

mod direction;
pub(crate) mod layers;
mod links;
mod manifests;
mod names;
#[cfg(test)]
mod tests;

pub(crate) use direction::against_the_map;

use serde::Serialize;

use crate::exit::Exit;
use crate::output::{self, Format};
use crate::problem::Problem;
use crate::prove;
use crate::workspace::Workspace;

/// What tidy found.
#[derive(Debug, Serialize)]
struct Findings {
    holds: bool,
    problems: Vec<Problem>,
    /// Told, but not refused.
    warnings: Vec<Problem>,
}

/// Applies every rule.
fn findings(workspace: &Workspace) -> Findings {
    let mut problems = direction::problems(workspace);
    problems.extend(manifests::problems(workspace));
    problems.extend(names::problems(workspace));
    problems.extend(links::problems(workspace));
    problems.extend(prove::record::problems(workspace));
    problems.sort();
    Findings { holds: problems.is_empty(), problems, warnings: names::long_files(workspace) }
}

/// Tells the findings: as data where asked, else for a reader.
pub(crate) fn run(workspace: &Workspace, format: Format) -> anyhow::Result<Exit> {
    let findings = findings(workspace);
    match format {
        Format::Json => output::json(&findings)?,
        Format::Text => tell(workspace, &findings),
    }
    Ok(if findings.holds { Exit::Holds } else { Exit::DoesNotHold })
}

fn tell(workspace: &Workspace, findings: &Findings) {
    for warning in &findings.warnings {
        output::note(format_args!("warning {}: {}; {}", warning.code, warning.what, warning.hint));
    }
    for problem in &findings.problems {
        output::note(problem);
    }
    let (crates, files) = (workspace.crates.len(), workspace.files.len());
    output::note(format_args!("tidy: {} problems in {crates} crates and {files} files", findings.problems.len()));
}
