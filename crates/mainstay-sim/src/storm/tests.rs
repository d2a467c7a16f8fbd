use super::*;

#[test]
fn the_same_seed_is_the_same_storm() {
    assert_eq!(Storm::of(3).weather(), Storm::of(3).weather());
}
