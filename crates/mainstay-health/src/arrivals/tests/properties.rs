//! What holds for any run of reports: buckets against a brute-force count, and what may not matter.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::super::buckets::{hour_of, within};
use super::*;
use crate::fixture::{evidence, of};

const KINDS: [&str; 6] = ["Xid 31 G1", "Xid 31 G2", "Xid 48 G1", "PcieAer correctable G1", "Xid 45 -", "Sxid 20001 -"];

/// One report: how long after the last, whether the node booted or its agent forgot, and by how much each kind rose.
#[derive(Debug, Clone)]
struct Step {
    minutes: u32,
    booted: bool,
    forgot: bool,
    rose: [u16; KINDS.len()],
}

fn step() -> impl Strategy<Value = Step> {
    let minutes = prop_oneof![4 => 0..90_u32, 1 => 0..4_000_u32];
    let rose = proptest::array::uniform6(prop_oneof![2 => Just(0_u16), 1 => 1..5_u16]);
    (minutes, proptest::bool::weighted(0.1), proptest::bool::weighted(0.1), rose)
        .prop_map(|(minutes, booted, forgot, rose)| Step { minutes, booted, forgot, rose })
}

fn lines(counts: &[u64; KINDS.len()]) -> Vec<Evidence> {
    let told = KINDS.iter().zip(counts).filter(|(_, count)| **count > 0);
    told.map(|(kind, count)| evidence(&format!("{kind} {count}"))).collect()
}

proptest! {
    #[test]
    fn buckets_equal_a_count_over_the_raw_arrivals(steps in proptest::collection::vec(step(), 1..40)) {
        let mut node = Node::new();
        let (mut at, mut boot, mut counts) = (0, 0, [0_u64; KINDS.len()]);
        let mut raw: BTreeMap<&str, Vec<(Timestamp, u64)>> = BTreeMap::new();
        for step in steps {
            at += step.minutes;
            if step.booted {
                boot += 1;
                counts = [0; KINDS.len()];
            } else if step.forgot {
                counts = [0; KINDS.len()];
                node.report(minutes(at), of(&format!("b{boot}"), Vec::new()));
            }
            for ((kind, count), rose) in KINDS.iter().zip(&mut counts).zip(step.rose) {
                *count += u64::from(rose);
                raw.entry(kind).or_default().push((minutes(at), u64::from(rose)));
            }
            node.report(minutes(at), of(&format!("b{boot}"), lines(&counts)));
        }
        // Read some time after the last arrival as well.
        for now in [at, at + 59, at + 60 * 7, at + 60 * 23, at + 60 * 30].map(minutes) {
            for (kind, arrivals) in &raw {
                let key = evidence(&format!("{kind} 1")).key;
                let found = node.persisted.arrivals.as_slice().iter().find(|one| Kind::of_entry(one) == Kind::of(&key));
                for hours in 1..=HOURS {
                    let newer = |at: Timestamp| hour_of(at) + u32::from(hours) > hour_of(now);
                    let brute: u64 = arrivals.iter().filter(|(at, _)| newer(*at)).map(|(_, rose)| rose).sum();
                    prop_assert_eq!(found.map_or(0, |entry| within(entry, hours, hour_of(now))), brute);
                }
            }
        }
        for entry in node.persisted.arrivals.as_slice().iter().filter(|entry| !record::is_our_own(entry)) {
            prop_assert_ne!(entry.hours.as_slice().last(), Some(&0));
            prop_assert_ne!(entry.days.as_slice().last(), Some(&0));
            let kind = KINDS.iter().find(|kind| Kind::of(&evidence(&format!("{kind} 1")).key) == Kind::of_entry(entry));
            for (back, count) in (0..).zip(entry.days.as_slice()) {
                let day = entry.newest_hour / 24 - back;
                let arrivals = raw.get(kind.unwrap()).unwrap().iter();
                let brute: u64 = arrivals.filter(|(at, _)| hour_of(*at) / 24 == day).map(|(_, rose)| rose).sum();
                prop_assert_eq!(u64::from(*count), brute);
            }
        }
    }

    #[test]
    fn stamping_a_report_twice_equals_once(
        steps in proptest::collection::vec(step(), 1..10),
        later in 0..3_000_u32,
    ) {
        let (mut once, mut twice) = (Node::new(), Node::new());
        let (mut at, mut boot, mut counts) = (0, 0, [0_u64; KINDS.len()]);
        for step in steps {
            at += step.minutes;
            boot += u32::from(step.booted);
            if step.booted || step.forgot {
                counts = [0; KINDS.len()];
            }
            counts.iter_mut().zip(step.rose).for_each(|(count, rose)| *count += u64::from(rose));
            let report = of(&format!("b{boot}"), lines(&counts));
            once.report(minutes(at), report.clone());
            twice.report(minutes(at), report.clone());
            prop_assert!(!twice.report(minutes(at + later), report).changed());
            prop_assert_eq!(&once.persisted, &twice.persisted);
        }
    }

    #[test]
    fn independent_evidence_commutes(mine in step(), theirs in step(), at in 0..10_000_u32) {
        let half = |rose: [u16; KINDS.len()], keep: usize| {
            let mut counts = [0_u64; KINDS.len()];
            let kept = counts.iter_mut().zip(rose).enumerate().filter(|(at, _)| at % 2 == keep);
            kept.for_each(|(_, (count, rose))| *count = u64::from(rose));
            lines(&counts)
        };
        let (a, b) = (half(mine.rose, 0), half(theirs.rose, 1));
        let both: Vec<Evidence> = a.iter().chain(&b).cloned().collect();
        let backwards: Vec<Evidence> = both.iter().rev().cloned().collect();
        let run = |first: &[Evidence], then: &[Evidence]| {
            let mut node = Node::new();
            node.report(minutes(at), of("b1", first.to_vec()));
            node.report(minutes(at), of("b1", then.to_vec()));
            node.persisted
        };
        prop_assert_eq!(run(&a, &both), run(&b, &backwards));
    }
}
