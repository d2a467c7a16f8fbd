//! Properties of every node: the order of evidence does not matter, time changes nothing before the stated time, and no
//! evidence is lost.

use mainstay_model::Span;
use proptest::prelude::*;

use super::*;
use crate::fixture::{evidence, of};

/// Any evidence of a few parts and codes, known and unknown, harmless and not.
fn any_evidence() -> impl Strategy<Value = Evidence> {
    let code = proptest::sample::select(vec![
        "13", "31", "39", "45", "48", "63", "64", "74", "79", "144", "154", "172", "999",
    ]);
    let detail = proptest::sample::select(vec![
        "",
        "to 0x0",
        "to 0x2",
        "to 0x6",
        "link 1 r0=1",
        "link 1 r0=10",
        "link 1 r0=2",
        "link 2 r0=100",
        "link 2 r0=xyz",
        "gpc 1 tpc 3",
        "gpc 2 tpc 0",
        "SAW_MVB Fatal link 1 i=00000001 s=00000006",
    ]);
    let count = prop_oneof![5 => 0..6_u64, 1 => Just(COUNT_STEP_MAX + 1)];
    (code, 0..3_u8, count, 0..9_u8, detail).prop_map(|(code, gpu, count, second, detail)| {
        evidence(&format!("Xid {code} G{gpu} {count}@{second} {detail}"))
    })
}

fn some_evidence() -> impl Strategy<Value = Vec<Evidence>> {
    proptest::collection::vec(any_evidence(), 0..24)
}

fn judged(first: Vec<Evidence>, then: Vec<Evidence>, later: u32) -> Node {
    let mut node = Node::new();
    node.report(BEGIN, of("b1", first));
    node.report(minutes(later), of("b1", then));
    // Every other node is a Blackwell, where other codes apply.
    if later.is_multiple_of(2) {
        node.is_a("NVIDIA GB200", "580.95.05");
    }
    node
}

proptest! {
    #[test]
    fn findings_do_not_depend_on_the_order_of_evidence(
        (evidence, shuffled) in some_evidence().prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle())),
        later in 0..2_000_u32,
    ) {
        let straight = judged(evidence.clone(), evidence, later);
        let mixed = judged(shuffled.clone(), shuffled, later);
        prop_assert_eq!(&straight.persisted, &mixed.persisted);
        prop_assert_eq!(straight.findings(minutes(later)), mixed.findings(minutes(later)));
    }

    #[test]
    fn time_changes_nothing_before_it_said_it_would(
        first in some_evidence(),
        then in some_evidence(),
        later in 0..1_500_u32,
        wait in 0..3_000_u32,
    ) {
        let node = judged(first, then, later);
        let now = minutes(later + wait);
        let found = node.findings(now);
        match found.changes_at {
            Some(at) => {
                prop_assert!(at > now);
                prop_assert_eq!(&node.findings(at - Span(1)), &found);
            }
            None => prop_assert_eq!(&node.findings(now + Span::hours(1_000)), &found),
        }
    }

    #[test]
    fn no_evidence_is_passed_over_in_silence(evidence in some_evidence(), another in any_evidence()) {
        let evidence: Vec<Evidence> = evidence.into_iter().chain([another]).collect();
        let node = judged(Vec::new(), evidence.clone(), 7);
        let found = node.findings(minutes(7));
        for one in evidence.iter().filter(|one| one.count > 0) {
            let told = found.list.as_slice().iter().any(|finding| finding.device == one.key.device);
            prop_assert!(told || found.dropped > 0, "{one:?} in {found:?}");
        }
    }

    #[test]
    fn findings_come_worst_first_and_once(evidence in some_evidence()) {
        let found = judged(Vec::new(), evidence, 7).findings(minutes(7));
        let list = found.list.as_slice();
        prop_assert!(list.is_sorted_by_key(|one| (Reverse(one.response), one.rank)));
        for (at, one) in list.iter().enumerate() {
            let again = list.iter().skip(at + 1).any(|other| other.rule == one.rule && other.device == one.device);
            prop_assert!(!again, "{} twice", one.rule);
        }
    }
}
