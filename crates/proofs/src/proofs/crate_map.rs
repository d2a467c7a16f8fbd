//! Proof that the dependencies between crates follow the map. It looks at every arrow between our crates, those of
//! tests included, and counts the ones that point the wrong way or close a circle.

use std::collections::{BTreeMap, BTreeSet};

use xtask::tidy::against_the_map;
use xtask::tidy::layers::Layer;
use xtask::workspace::{Crate, Origin, Purpose};

use crate::prove::{Context, Measurement, Proof};

pub(super) const PROOF: Proof = Proof { name: "crate-map", run: |context| Box::pin(async { measure(context) }) };

fn measure(context: &Context) -> anyhow::Result<Measurement> {
    let crates = &context.workspace.crates;
    let mut arrows = 0_usize;
    let mut against = 0_usize;
    for found in crates {
        for dependency in found.dependencies.iter().filter(|dependency| dependency.origin == Origin::Ours) {
            arrows += 1;
            let forbidden = Layer::of(&found.name).is_none_or(|layer| against_the_map(layer, dependency).is_some());
            against += usize::from(forbidden);
        }
    }
    let circular = in_circles(crates);
    let detail = format!(
        "{} crates, {arrows} arrows between them, {against} against the map, {} in a circle",
        crates.len(),
        circular.len(),
    );
    Ok(Measurement { value: i64::try_from(against + circular.len())?, detail })
}

/// Crates from which a walk along the arrows of their code comes back to them. Cargo refuses most of these itself;
/// that it does is not left to trust. Arrows of tests may point back (an edge is tested with a tool that another
/// edge is tested with), so they are not walked.
fn in_circles(crates: &[Crate]) -> BTreeSet<&str> {
    let mut uses: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for found in crates {
        let ours = found.dependencies.iter().filter(|one| one.origin == Origin::Ours && one.purpose == Purpose::Code);
        uses.insert(&found.name, ours.map(|one| one.name.as_str()).collect());
    }
    uses.keys().copied().filter(|start| reaches(&uses, start)).collect()
}

fn reaches(uses: &BTreeMap<&str, Vec<&str>>, start: &str) -> bool {
    let mut seen = BTreeSet::new();
    let mut open = uses.get(start).cloned().unwrap_or_default();
    while let Some(next) = open.pop() {
        if next == start {
            return true;
        }
        if seen.insert(next) {
            open.extend(uses.get(next).into_iter().flatten());
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use xtask::workspace::{Dependency, Presence, Workspace};

    use super::*;
    use crate::prove::TimeLimitPolicy;

    fn chain(arrows: &[(&str, &str, Purpose)]) -> Vec<Crate> {
        let uses = |(from, to, purpose): &(&str, &str, Purpose)| Crate {
            name: (*from).to_owned(),
            dependencies: vec![Dependency {
                name: (*to).to_owned(),
                purpose: *purpose,
                origin: Origin::Ours,
                presence: Presence::Always,
            }],
            ..Crate::default()
        };
        arrows.iter().map(uses).collect()
    }

    #[test]
    fn a_circle_is_found_wherever_it_starts() {
        let crates = chain(&[("a", "b", Purpose::Code), ("b", "c", Purpose::Code), ("c", "b", Purpose::Code)]);
        assert_eq!(in_circles(&crates), BTreeSet::from(["b", "c"]));
    }

    #[test]
    fn an_arrow_of_tests_closes_no_circle() {
        let crates = chain(&[("a", "b", Purpose::Code), ("b", "a", Purpose::Tests)]);
        assert!(in_circles(&crates).is_empty());
    }

    #[test]
    fn an_arrow_against_the_map_is_counted() {
        let crates = chain(&[
            ("mainstay-model", "mainstay-api", Purpose::Tests),
            ("mainstay-api", "mainstay-model", Purpose::Code),
        ]);
        let workspace = Workspace { crates, ..Workspace::default() };
        assert_eq!(measure(&Context { workspace, time_limits: TimeLimitPolicy::Enforced }).unwrap().value, 1);
    }
}
