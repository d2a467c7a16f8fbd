//! Nothing is lost, nothing is unbounded, and one noisy fault does not hide another.

use mainstay_model::{
    Bounded, Evidence, Gpu, GpuUuid, Inventory, Nic, PciAddress, Product, Serial, Timestamp, Version,
};
use proptest::prelude::*;

use super::{DETAILED_MAX, EVIDENCE_MAX, QUIET, Tally, TallyOutcome};
use crate::{Signal, parse};

fn inventory() -> Inventory {
    let gpu = |index: u16, pci: &str| Gpu {
        index,
        serial: Serial::parse(&format!("gpu-{index}")).unwrap(),
        uuid: GpuUuid::parse(&format!("GPU-{index}")).unwrap(),
        pci: PciAddress::parse(pci).unwrap(),
    };
    let nic = Nic { rail: 0, serial: Serial::parse("nic-0").unwrap(), pci: PciAddress::parse("0000:18:00.0").unwrap() };
    Inventory {
        board: Serial::parse("board").unwrap(),
        product: Product::parse("H100").unwrap(),
        driver: Version::parse("570.86.15").unwrap(),
        // One as the kernel spells it, one as NVML does.
        gpus: Bounded::try_from(vec![gpu(0, "0000:1b:00.0"), gpu(1, "00000000:2C:00.0")]).unwrap(),
        gpus_unavailable: None,
        nics: Bounded::try_from(vec![nic]).unwrap(),
    }
}

fn xid(pci: &str, code: u32, message: &str) -> Signal {
    parse(&format!("NVRM: Xid (PCI:{pci}): {code}, {message}")).unwrap()
}

fn words(evidence: &Evidence) -> String {
    let key = &evidence.key;
    let device = key.device.as_ref().map_or("node", Serial::as_str);
    format!("{:?} {} {device} {} x{}", key.source, key.code, key.detail, evidence.count)
}

fn all_words(tally: &Tally) -> Vec<String> {
    tally.evidence().as_slice().iter().map(words).collect()
}

#[test]
fn a_place_becomes_the_part_that_sits_there() {
    let (mut tally, inventory) = (Tally::new(), inventory());
    for line in [
        "NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.",
        "NVRM: Xid (PCI:0000:2c:00): 79, GPU has fallen off the bus.",
        "NVRM: Xid (PCI:0000:99:00): 79, GPU has fallen off the bus.",
        "mlx5_core 0000:18:00.0 ens1np0: Link down",
        "NETDEV WATCHDOG: ens1np0 (mlx5_core): transmit queue 3 timed out",
        "nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error (First)",
        "Out of memory: Killed process 1234 (python) total-vm:1kB",
    ] {
        assert_eq!(tally.note(&parse(line).unwrap(), &inventory, Timestamp(1)), TallyOutcome::New, "{line}");
    }
    assert_eq!(
        all_words(&tally),
        [
            "Xid 79 node 0000:99:00.0 x1",
            "Xid 79 gpu-0  x1",
            "Xid 79 gpu-1  x1",
            "Sxid 12028 node nvswitch3 Non-fatal link 32 x1",
            "Nic link-down nic-0  x1",
            "Nic netdev-watchdog node ens1np0 x1",
            "Kernel oom-kill node node x1",
        ]
    );
}

#[test]
fn a_repeat_is_counted_and_a_clock_that_steps_back_unsees_nothing() {
    let (mut tally, inventory) = (Tally::new(), inventory());
    let signal = xid("0000:1b:00", 31, "MMU Fault: ENGINE GRAPHICS x");
    let noted: Vec<TallyOutcome> =
        [20, 50, 10].into_iter().map(|at| tally.note(&signal, &inventory, Timestamp(at))).collect();
    assert_eq!(noted, [TallyOutcome::New, TallyOutcome::Repeat, TallyOutcome::Repeat]);
    let evidence = tally.evidence();
    let [piece] = evidence.as_slice() else { panic!("one piece: {evidence:?}") };
    assert_eq!((piece.count, piece.first_seen_at, piece.last_seen_at), (3, Timestamp(20), Timestamp(50)));
}

#[test]
fn counts_stop_at_the_largest_number() {
    let (mut tally, inventory) = (Tally::new(), inventory());
    let signal = xid("0000:1b:00", 79, "");
    tally.note(&signal, &inventory, Timestamp(1));
    tally.counted.values_mut().for_each(|count| count.count = u64::MAX);
    assert_eq!(tally.note(&signal, &inventory, Timestamp(2)), TallyOutcome::Repeat);
    assert_eq!(tally.evidence().as_slice()[0].count, u64::MAX);
}

#[test]
fn an_application_that_faults_everywhere_does_not_hide_a_gpu_off_the_bus() {
    let (mut tally, inventory) = (Tally::new(), inventory());
    for tpc in 0..1_000 {
        let signal = xid("0000:1b:00", 13, &format!("Graphics SM Warp Exception on (GPC 1, TPC {tpc}, SM 0): x"));
        tally.note(&signal, &inventory, Timestamp(tpc));
    }
    assert_eq!(tally.note(&xid("0000:2c:00", 79, ""), &inventory, Timestamp(1_000)), TallyOutcome::New);
    let words = all_words(&tally);
    assert_eq!(words.len(), DETAILED_MAX + 2);
    assert!(words.contains(&"Xid 13 gpu-0 more x968".to_owned()), "{words:?}");
    assert!(words.contains(&"Xid 79 gpu-1  x1".to_owned()), "{words:?}");
}

#[test]
fn what_finds_no_room_is_counted_as_overflow() {
    let (mut tally, inventory) = (Tally::new(), inventory());
    let noted: Vec<TallyOutcome> =
        (0..100).map(|code| tally.note(&xid("0000:1b:00", code, ""), &inventory, Timestamp(code.into()))).collect();
    let new = EVIDENCE_MAX - 1;
    assert!(noted[..new].iter().all(|noted| *noted == TallyOutcome::New));
    assert!(noted[new..].iter().all(|noted| *noted == TallyOutcome::Overflow));
    let evidence = tally.evidence();
    assert_eq!(evidence.as_slice().len(), EVIDENCE_MAX);
    let overflow = evidence.as_slice().iter().find(|piece| piece.key.code.as_str() == "overflow").unwrap();
    assert_eq!(words(overflow), "Kernel overflow node  x53");
    assert_eq!((overflow.first_seen_at, overflow.last_seen_at), (Timestamp(47), Timestamp(99)));
}

fn warp(tpc: u32) -> Signal {
    xid("0000:1b:00", 13, &format!("Graphics SM Warp Exception on (GPC 1, TPC {tpc}, SM 0): x"))
}

fn full(tally: &mut Tally, inventory: &Inventory) {
    // Code 13 is the oldest, and has two details.
    for code in (0..50).filter(|code| *code != 13) {
        tally.note(&xid("0000:1b:00", code, ""), inventory, Timestamp(1_000 + i64::from(code)));
        if code == 0 {
            tally.note(&warp(1), inventory, Timestamp(1));
            tally.note(&warp(2), inventory, Timestamp(2));
        }
    }
}

#[test]
fn where_the_list_is_full_what_was_quiet_longest_makes_room_and_is_counted_as_overflow() {
    let (mut tally, inventory) = (Tally::new(), inventory());
    full(&mut tally, &inventory);
    let before = all_words(&tally);
    assert_eq!(before.len(), EVIDENCE_MAX);
    let fallen = xid("0000:2c:00", 79, "");
    let overflow_of = |words: &[String]| words.iter().find(|words| words.contains("overflow")).cloned();
    let found_no_room = overflow_of(&before);
    assert_eq!(found_no_room.as_deref(), Some("Kernel overflow node  x4"));

    // A millisecond too early it is an overflow.
    let quiet_from = Timestamp(2) + QUIET;
    assert_eq!(tally.note(&fallen, &inventory, Timestamp(quiet_from.0 - 1)), TallyOutcome::Overflow);
    // After a restart of the agent as before it.
    let mut tally = Tally::of_evidence(&tally.evidence());
    assert_eq!(tally.note(&fallen, &inventory, quiet_from), TallyOutcome::New);
    let after = all_words(&tally);
    assert!(after.contains(&"Xid 79 gpu-1  x1".to_owned()), "{after:?}");
    assert!(!after.iter().any(|words| words.starts_with("Xid 13 ")), "with all its details: {after:?}");
    assert_eq!(overflow_of(&after).as_deref(), Some("Kernel overflow node  x6"), "4, one too early, one that went out");
    for kept in before.iter().filter(|words| !words.starts_with("Xid 13 ") && !words.contains("overflow")) {
        assert!(after.contains(kept), "{kept} went out too");
    }
}

#[test]
fn what_lasts_or_came_again_does_not_make_room() {
    let (mut tally, inventory) = (Tally::new(), inventory());
    full(&mut tally, &inventory);
    let later = Timestamp(2) + QUIET;
    tally.note(&warp(2), &inventory, later);
    assert_eq!(
        tally.note(&xid("0000:2c:00", 79, ""), &inventory, later),
        TallyOutcome::Overflow,
        "nothing else is quiet yet"
    );
    assert!(all_words(&tally).iter().filter(|words| words.starts_with("Xid 13 ")).count() == 2);
}

#[test]
fn an_unknown_place_is_never_cut_away() {
    let (mut tally, inventory) = (Tally::new(), inventory());
    let message = "NVLink: fatal error detected on link 17(0x1, 0x2, 0x3, 0x4, 0x5, 0x6, 0x7)";
    tally.note(&xid("0000:99:00", 74, message), &inventory, Timestamp(1));
    assert_eq!(
        all_words(&tally),
        ["Xid 74 node 0000:99:00.0 link 17 r0=00000001 r2=00000003 r3=00000004 + x1"],
        "a register is there whole or not at all"
    );
}

fn any_signal() -> impl Strategy<Value = Signal> {
    let places = prop::sample::select(vec!["0000:1b:00", "0000:2c:00", "0000:99:00", "0000:9a:00"]);
    (places, 70_u32..80, 0_u32..30).prop_map(|(place, code, link)| xid(place, code, &format!("on link {link}(0x1)")))
}

proptest! {
    #[test]
    fn the_sum_of_the_counts_is_the_number_of_notes_within_the_bound(
        notes in prop::collection::vec((any_signal(), 0_i64..172_800_000), 0..300),
    ) {
        let (mut tally, inventory) = (Tally::new(), inventory());
        let mut before = tally.evidence();
        for (signal, at) in &notes {
            let noted = tally.note(signal, &inventory, Timestamp(*at));
            let after = tally.evidence();
            prop_assert!(after.as_slice().len() <= EVIDENCE_MAX);
            let grown = after.as_slice().len() - before.as_slice().len();
            match noted {
                TallyOutcome::New => prop_assert_eq!(grown, 1),
                TallyOutcome::Repeat => prop_assert_eq!(grown, 0),
                TallyOutcome::Overflow => prop_assert!(grown <= 1),
            }
            for old in before.as_slice() {
                let new = after.as_slice().iter().find(|piece| piece.key == old.key);
                prop_assert!(new.is_some_and(|new| new.count >= old.count), "{old:?} went away or fell");
            }
            before = after;
        }
        let evidence = tally.evidence();
        let sum: u64 = evidence.as_slice().iter().map(|piece| piece.count).sum();
        prop_assert_eq!(sum, u64::try_from(notes.len()).unwrap());
        prop_assert!(evidence.as_slice().is_sorted_by(|a, b| a.key < b.key));
        prop_assert!(evidence.as_slice().iter().all(|piece| piece.first_seen_at <= piece.last_seen_at));
    }

    #[test]
    fn notes_of_one_tally_in_any_order_give_the_same_counts_while_there_is_room(
        signals in prop::collection::vec(any_signal(), 0..20),
    ) {
        let inventory = inventory();
        let count = |signals: &mut dyn Iterator<Item = &Signal>| {
            let mut tally = Tally::new();
            for signal in signals {
                tally.note(signal, &inventory, Timestamp(0));
            }
            tally.evidence()
        };
        prop_assert_eq!(count(&mut signals.iter()), count(&mut signals.iter().rev()));
    }
}

#[test]
fn a_tally_is_taken_up_where_it_was_written_down() {
    let (mut tally, inventory) = (Tally::new(), inventory());
    for code in 1..60 {
        tally.note(&xid("0000:1b:00", code, ""), &inventory, Timestamp(i64::from(code)));
    }
    let mut again = Tally::of_evidence(&tally.evidence());
    assert_eq!(again, tally, "the overflow included");
    again.note(&xid("0000:1b:00", 3, ""), &inventory, Timestamp(99));
    tally.note(&xid("0000:1b:00", 3, ""), &inventory, Timestamp(99));
    assert_eq!(all_words(&again), all_words(&tally));
}
