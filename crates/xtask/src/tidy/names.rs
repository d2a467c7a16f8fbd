//! Rules about files: names without meaning, paths of one machine, and (as a warning) files that are long enough to
//! split. Other rules check their content.

use crate::problem::Problem;
use crate::workspace::{File, Workspace};

/// A module is a noun of the domain; these are where everything ends up.
const EMPTY_NAMES: &[&str] = &["util", "utils", "helper", "helpers", "common", "manager", "handler", "service"];

/// Written in pieces, so that this file does not break its own rule.
const MACHINE_PATHS: &[&str] =
    &[concat!("/", "root/"), concat!("/", "home/"), concat!("/", "work/"), concat!("../", "shared")];

const LONG_LINES: usize = 500;

/// All problems of names and machine paths.
pub(super) fn problems(workspace: &Workspace) -> Vec<Problem> {
    let names = workspace.files.iter().filter_map(|file| empty_name(&file.path));
    names.chain(workspace.files.iter().flat_map(machine_paths)).collect()
}

fn empty_name(path: &str) -> Option<Problem> {
    let stem = path.strip_suffix(".rs")?;
    let word = stem.split('/').find(|word| EMPTY_NAMES.contains(word) || *word == "mod")?;
    let (detail, hint) = if word == "mod" {
        ("ten tabs called mod.rs look the same.", "name it after its folder, next to the folder.")
    } else {
        ("the name does not describe the content, so anything ends up there.", "name it after what it holds.")
    };
    Some(Problem {
        code: "TIDY07",
        what: format!("{path} is called {word}"),
        detail: detail.to_owned(),
        hint: hint.to_owned(),
    })
}

fn machine_paths(file: &File) -> Vec<Problem> {
    let text = file.text.as_deref().unwrap_or_default();
    let lines = text.lines().zip(1..);
    lines
        .filter_map(|(line, number)| {
            let found = MACHINE_PATHS.iter().find(|path| starts_in(line, path))?;
            Some(Problem {
                code: "TIDY08",
                what: format!("{}:{number} names a path of one machine", file.path),
                detail: format!("`{found}` exists on the author's machine only."),
                hint: "make it relative to the checkout, or take it from the environment.".to_owned(),
            })
        })
        .collect()
}

/// Whether `path` begins in `line`, rather than being the middle of a longer path.
fn starts_in(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line.get(..at).and_then(|before| before.chars().next_back());
        before.is_none_or(|before| !before.is_alphanumeric() && !"/.-_~}*>".contains(before))
    })
}

/// Source files that are long enough to split; printed, never refused.
pub(super) fn long_files(workspace: &Workspace) -> Vec<Problem> {
    let sources = workspace.files.iter().filter(|file| file.path.ends_with(".rs"));
    sources
        .filter_map(|file| {
            let lines = file.text.as_deref()?.lines().count();
            (lines > LONG_LINES).then(|| Problem {
                code: "TIDY90",
                what: format!("{} has {lines} lines", file.path),
                detail: format!("past {LONG_LINES} lines a file holds more than one thing."),
                hint: "split it where the subject changes.".to_owned(),
            })
        })
        .collect()
}
