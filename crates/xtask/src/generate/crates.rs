//! Makes `docs/reference/crates.md`: the crates as they are, drawn from their manifests, to be held against the map
//! in ARCHITECTURE.md. Crates that are planned but not born are not drawn.

use std::fmt::Write;

use super::{Generated, NOTICE};
use crate::tidy::layers::{Kind, Layer};
use crate::workspace::{Crate, Origin, Purpose, Workspace};

const PATH: &str = "docs/reference/crates.md";

const GROUPS: &[(Kind, &str, &str)] = &[
    (Kind::Program, "programs", "what people start"),
    (Kind::Edge, "edges", "they talk to the world and hold no policy"),
    (Kind::Pure, "pure", "the brain: no I/O, no clock"),
    (Kind::Tool, "tools", "for those who build Mainstay; never shipped"),
];

/// The drawing and the table.
pub(super) fn file(workspace: &Workspace) -> Generated {
    Generated { path: PATH.to_owned(), text: page(&workspace.crates) }
}

pub(super) fn page(crates: &[Crate]) -> String {
    let mut text = format!("{NOTICE}\n\n# Crates\n\nSolid arrows are used by code, dotted ones by tests alone.\n\n");
    // Writing to a string does not fail.
    let _ = write!(text, "```mermaid\n{}```\n", drawing(crates));
    for (kind, title, sentence) in GROUPS {
        let members: Vec<&Crate> = of_kind(crates, *kind).collect();
        if members.is_empty() {
            continue;
        }
        let _ = write!(text, "\n## {title}\n\nHere {sentence}.\n\n| crate | holds |\n|---|---|\n");
        for member in members {
            let _ = writeln!(text, "| `{}` | {} |", member.name, member.description);
        }
    }
    text
}

fn drawing(crates: &[Crate]) -> String {
    let mut text = "graph TD\n".to_owned();
    for (kind, title, _) in GROUPS {
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
