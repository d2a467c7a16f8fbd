//! Rules about manifests: a folder has the name of its crate, members inherit what the root decides, and every
//! dependency in the root has a comment with its reason. Other files check which dependencies are allowed.

use toml::{Table, Value};

use crate::problem::Problem;
use crate::workspace::{Crate, Workspace};

const INHERITED: &[&str] = &["version", "edition", "rust-version", "license", "publish"];

/// All problems of manifests.
pub(super) fn problems(workspace: &Workspace) -> Vec<Problem> {
    let mut problems: Vec<Problem> = workspace.crates.iter().flat_map(of_crate).collect();
    problems.extend(unexplained(&workspace.manifest));
    problems
}

fn of_crate(found: &Crate) -> Vec<Problem> {
    let mut problems = Vec::new();
    if found.folder != format!("crates/{}", found.name) {
        problems.push(Problem {
            code: "TIDY04",
            what: format!("crate {} lives in {}", found.name, found.folder),
            detail: "a folder has the name of its crate, so that `ls crates` is the map.".to_owned(),
            hint: format!("move it to crates/{}.", found.name),
        });
    }
    // Cargo has parsed this manifest before us.
    let manifest: Table = toml::from_str(&found.manifest).unwrap_or_default();
    let mut own = Vec::new();
    if !inherits(manifest.get("lints")) {
        own.push("[lints]".to_owned());
    }
    let package = manifest.get("package").and_then(Value::as_table);
    for field in INHERITED {
        if !inherits(package.and_then(|package| package.get(*field))) {
            own.push(format!("package.{field}"));
        }
    }
    let targets = manifest.get("target").and_then(Value::as_table);
    let mut places = vec![&manifest];
    places.extend(targets.into_iter().flat_map(|targets| targets.values().filter_map(Value::as_table)));
    for (place, kind) in places.iter().flat_map(|place| DEPENDENCIES.iter().map(move |kind| (place, kind))) {
        let listed = place.get(*kind).and_then(Value::as_table);
        for (name, said) in listed.into_iter().flatten() {
            if !inherits(Some(said)) {
                own.push(format!("{kind}.{name}"));
            }
        }
    }
    problems.extend(own.into_iter().map(|what| Problem {
        code: "TIDY05",
        what: format!("{} of {} is not inherited from the workspace", what, found.name),
        detail: "lints, versions and package fields are decided once, in the root Cargo.toml.".to_owned(),
        hint: format!("write `workspace = true` in {}/Cargo.toml.", found.folder),
    }));
    problems
}

const DEPENDENCIES: &[&str] = &["dependencies", "dev-dependencies", "build-dependencies"];

fn inherits(said: Option<&Value>) -> bool {
    said.and_then(|said| said.get("workspace")).and_then(Value::as_bool) == Some(true)
}

/// Third-party dependencies of the root without a comment above them. Read from the text, because a parser drops
/// comments.
fn unexplained(manifest: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut section = "";
    let mut above = "";
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
        } else if section == "[workspace.dependencies]"
            && let Some((name, said)) = line.split_once('=')
            && !line.starts_with('#')
            && !said.contains("path =")
            && !above.starts_with('#')
        {
            problems.push(Problem {
                code: "TIDY06",
                what: format!("dependency {} has no reason", name.trim()),
                detail: "every line of [workspace.dependencies] needs a comment above it with its purpose.".to_owned(),
                hint: "write the reason above it in the root Cargo.toml, or drop it.".to_owned(),
            });
        }
        above = line;
    }
    problems
}
