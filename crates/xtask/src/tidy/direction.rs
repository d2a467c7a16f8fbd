//! Rules about dependencies: every crate is on the map, every dependency is allowed by the map, and pure crates use few
//! third-party crates. The map itself is in `layers.rs`.

use super::layers::{Kind, Layer, PURE_MAY_USE, UsageScope};
use crate::problem::Problem;
use crate::workspace::{Crate, Dependency, File, Origin, Presence, Purpose, Workspace};

/// All problems of dependency direction.
pub(super) fn problems(workspace: &Workspace) -> Vec<Problem> {
    let crates = workspace.crates.iter().flat_map(of_crate);
    crates.chain(workspace.files.iter().filter_map(knows_the_answers)).collect()
}

/// The simulator must not know the rules of the catalogue, in code, in tests or by reading the tables: a simulator that
/// derives its faults from the rules under test would prove nothing.
fn knows_the_answers(file: &File) -> Option<Problem> {
    const ANSWERS: [&str; 3] = ["mainstay-health", "mainstay_health", "catalogue.tsv"];
    let text = file.text.as_deref().filter(|_| file.path.starts_with("crates/mainstay-sim/"))?;
    let (line, number) = text.lines().zip(1..).find(|(line, _)| ANSWERS.iter().any(|answer| line.contains(answer)))?;
    Some(Problem {
        code: "TIDY11",
        what: format!("{}:{number} knows the catalogue", file.path),
        detail: format!("`{}`: the simulator emits raw lines, and only the engine judges them.", line.trim()),
        hint: "emit raw lines and counters (crates/mainstay-sim/tables), and let the engine judge.".to_owned(),
    })
}

fn of_crate(found: &Crate) -> Vec<Problem> {
    let Some(layer) = Layer::of(&found.name) else {
        return vec![not_on_the_map(found)];
    };
    found
        .dependencies
        .iter()
        .filter_map(|dependency| match dependency.origin {
            Origin::Ours => against_the_map(layer, dependency),
            Origin::ThirdParty => not_for_pure_crates(layer, dependency),
        })
        .collect()
}

fn not_on_the_map(found: &Crate) -> Problem {
    Problem {
        code: "TIDY01",
        what: format!("crate {} is not on the map", found.name),
        detail: format!("{} has no line in crates/xtask/src/tidy/layers.rs.", found.folder),
        hint: "add it to the map, and give the reason in a decision record.".to_owned(),
    }
}

/// An arrow between two of our crates, if the map forbids it.
pub fn against_the_map(layer: &Layer, dependency: &Dependency) -> Option<Problem> {
    let allowed = match (Layer::of(&dependency.name), dependency.purpose) {
        (None, _) => false,
        (Some(other), Purpose::Code) => layer.may_use(other),
        (Some(other), Purpose::Tests) => layer.may_test_with(other),
    };
    if allowed {
        return None;
    }
    let (verb, more) = match (dependency.purpose, layer.kind) {
        (Purpose::Code, _) => ("uses", ""),
        (Purpose::Tests, Kind::Pure) => ("tests with", "; its tests may also use pure crates"),
        (Purpose::Tests, Kind::Edge | Kind::Program | Kind::Tool) => {
            ("tests with", "; its tests may also use pure crates and tools")
        }
    };
    Some(Problem {
        code: "TIDY02",
        what: format!("{} {verb} {}, against the map", layer.name, dependency.name),
        detail: format!("{} may use {}{more}.", layer.name, layer.uses_in_words()),
        hint: "move the code to the crate that may hold it; dependencies point from edges to the pure crates."
            .to_owned(),
    })
}

fn not_for_pure_crates(layer: &Layer, dependency: &Dependency) -> Option<Problem> {
    if layer.kind != Kind::Pure || allowed_in(layer, dependency) {
        return None;
    }
    let list: Vec<String> = PURE_MAY_USE.iter().map(|one| format!("{} ({})", one.name, one.reason)).collect();
    Some(Problem {
        code: "TIDY03",
        what: format!("pure crate {} uses {}", layer.name, dependency.name),
        detail: format!("pure crates may use {}.", list.join(", ")),
        hint: "pass the result in from an edge, or add it to PURE_MAY_USE in crates/xtask/src/tidy/layers.rs \
               with a reason."
            .to_owned(),
    })
}

fn allowed_in(layer: &Layer, dependency: &Dependency) -> bool {
    let Some(allowed) = PURE_MAY_USE.iter().find(|one| one.name == dependency.name) else {
        return false;
    };
    match (dependency.purpose, allowed.place) {
        (Purpose::Tests, _) | (Purpose::Code, UsageScope::Everywhere) => true,
        (Purpose::Code, UsageScope::BehindFeature) => dependency.presence == Presence::BehindFeature,
        (Purpose::Code, UsageScope::CodeOf(crates)) => crates.contains(&layer.name),
        (Purpose::Code, UsageScope::Tests) => false,
    }
}
