use std::collections::BTreeSet;

use super::*;
use crate::{InjectionKind, Situation};

#[test]
fn the_same_seed_is_the_same_storm() {
    assert_eq!(SeedRun::of(3).weather(), SeedRun::of(3).weather());
}

#[test]
fn every_kind_that_can_be_injected_is_in_the_scripts_of_a_few_seeds() {
    let scripts = (1..=3).flat_map(|seed| SeedRun::of(seed).script());
    let found: BTreeSet<InjectionKind> = scripts.map(|(_, planted)| planted.trouble.kind()).collect();
    assert_eq!(found, BTreeSet::from(InjectionKind::ALL));
}

#[test]
fn every_word_of_what_can_happen_is_counted_once() {
    let result = SeedRun::of(3).keeping(Some(Vec::new())).weather();
    let words: Vec<&str> = crate::occurrences().collect();
    let unlike: BTreeSet<&str> = words.iter().copied().collect();
    assert_eq!(unlike.len(), words.len());
    let unclassed = InjectionKind::ALL.map(InjectionKind::word).into_iter().chain(Situation::ALL.map(Situation::word));
    for word in unclassed {
        assert!(result.happened.contains_key(word), "{word}");
    }
    // Without injected faults nothing that the seeds demand of a script happens by itself.
    let by_itself = InjectionKind::ALL.into_iter().find(|kind| result.happened[kind.word()] > 0);
    assert_eq!(by_itself, None);
}
