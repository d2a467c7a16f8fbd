//! Generates `docs/reference/crates.md`: the crates and their dependencies, drawn from their manifests, to compare with the
//! map in ARCHITECTURE.md. Planned crates without code are not drawn.

use std::fmt::Write;

use xtask::figures::table::NOTICE;
use xtask::tidy::layers::{Kind, Layer};
use xtask::workspace::{Crate, Origin, Purpose, Workspace};

use super::GeneratedFile;

const PATH: &str = "docs/reference/crates.md";

const GROUPS: &[(Kind, &str)] =
    &[(Kind::Program, "programs"), (Kind::Edge, "edges"), (Kind::Pure, "pure"), (Kind::Tool, "tools")];

const INTRODUCTION: &str = "\
# Crates

Drawn from the manifests. A solid arrow is a dependency of code, a dotted arrow a dependency of tests only.

- *Pure* crates are the decision engine and the simulator: no I/O and no clock.
- *Edges* talk to other systems and hold no policy.
- *Programs* are the binaries that users start.
- *Tools* are for development and never shipped.
";

/// The drawing and the table.
pub(super) fn file(workspace: &Workspace) -> GeneratedFile {
    GeneratedFile { path: PATH.to_owned(), text: page(&workspace.crates) }
}

pub(super) fn page(crates: &[Crate]) -> String {
    let mut text = format!("{NOTICE}\n\n{INTRODUCTION}\n```mermaid\n{}```\n\n", drawing(crates));
    text.push_str("| crate | kind | content |\n|---|---|---|\n");
    for (kind, title) in GROUPS {
        for member in of_kind(crates, *kind) {
            // Writing to a string does not fail.
            let _ = writeln!(text, "| `{}` | {title} | {} |", member.name, member.description);
        }
    }
    text
}

fn drawing(crates: &[Crate]) -> String {
    let mut text = "graph TD\n".to_owned();
    for (kind, title) in GROUPS {
        let members: Vec<&Crate> = of_kind(crates, *kind).collect();
        if members.is_empty() {
            continue;
        }
        let _ = writeln!(text, "  subgraph {title}");
        for member in members {
            let _ = writeln!(text, "    {}", member.name);
        }
        text.push_str("  end\n");
    }
    for (found, dependency) in crates.iter().flat_map(|one| one.dependencies.iter().map(move |to| (one, to))) {
        let arrow = match (dependency.origin, dependency.purpose) {
            (Origin::ThirdParty, _) => continue,
            // A crate whose tests need a feature of itself depends on itself.
            (Origin::Ours, _) if dependency.name == found.name => continue,
            (Origin::Ours, Purpose::Code) => "-->",
            (Origin::Ours, Purpose::Tests) => "-.->",
        };
        let _ = writeln!(text, "  {} {arrow} {}", found.name, dependency.name);
    }
    text
}

fn of_kind(crates: &[Crate], kind: Kind) -> impl Iterator<Item = &Crate> {
    crates.iter().filter(move |one| Layer::of(&one.name).is_some_and(|layer| layer.kind == kind))
}
