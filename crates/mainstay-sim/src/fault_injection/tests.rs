use super::*;

#[test]
fn the_same_seed_is_the_same_storm() {
    assert_eq!(SeedRun::of(3).weather(), SeedRun::of(3).weather());
}
