//! Tests that every invariant catches its violation and accepts the nearest legal decision, and that the list is
//! complete.

mod property;
mod rows;
mod world;

use std::collections::BTreeSet;

use crate::Invariant;

/// Expected messages of the auditor for every row.
const SAID: &str = include_str!("tests/said.txt");

#[test]
fn every_violation_is_caught_as_what_it_is_and_its_legal_neighbour_passes() {
    let mut said = String::new();
    for row in rows::all() {
        let mut legal = (row.base)();
        (row.legal)(&mut legal);
        assert_eq!(legal.broken(), [], "legal neighbour of: {}", row.description);

        let mut caught = (row.base)();
        (row.caught)(&mut caught);
        let broken = caught.broken();
        assert!(!broken.is_empty(), "not caught: {}", row.description);
        let other: Vec<_> = broken.iter().filter(|violation| violation.invariant != row.invariant).collect();
        assert!(other.is_empty(), "caught as something else: {}: {other:?}", row.description);
        let lines: String = broken.iter().map(|violation| format!("  {violation}\n")).collect();
        said.push_str(&format!("{}\n{lines}", row.description));
    }
    assert_eq!(said, SAID, "tests/said.txt should read:\n{said}");
}

#[test]
fn no_invariant_is_without_a_violation_and_a_legal_neighbour() {
    let shown: BTreeSet<Invariant> = rows::all().into_iter().map(|row| row.invariant).collect();
    assert_eq!(shown, BTreeSet::from(Invariant::ALL));
}

#[test]
fn every_invariant_is_listed_once_under_its_number() {
    for (invariant, number) in Invariant::ALL.into_iter().zip(1..) {
        assert_eq!(invariant.number(), number);
    }
    // The enum is dense and starts at zero, so the last discriminant gives their number.
    assert_eq!(Invariant::GoneBeforeForgotten as usize + 1, Invariant::ALL.len());
}

#[test]
fn names_are_labels_and_words_are_sentences() {
    let names: BTreeSet<&str> = Invariant::ALL.into_iter().map(Invariant::name).collect();
    assert_eq!(names.len(), Invariant::ALL.len());
    for invariant in Invariant::ALL {
        assert!(invariant.name().bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'), "{}", invariant.name());
        assert!(invariant.words().ends_with('.') && !invariant.words().contains("  "), "{}", invariant.words());
    }
}

#[test]
fn an_auditor_that_has_seen_nothing_lets_nothing_pass() {
    let decision = rows::quarantined().decision();
    let broken = crate::Auditor::new().audit(&decision, world::NOW);
    assert_eq!(broken.len(), 1);
    assert_eq!(
        broken[0].to_string(),
        "invariant 2 (caused-and-fenced) on n1: the effect has epoch 3, but the Cell has epoch 0"
    );
}
