use super::*;

#[test]
fn every_wait_but_none_has_a_bound() {
    for on in WaitingOn::ALL {
        assert_eq!(wait_within(on).is_none(), on == WaitingOn::Nothing, "{}", on.word());
    }
}
