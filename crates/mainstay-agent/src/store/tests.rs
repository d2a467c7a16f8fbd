//! Nothing lost, nothing twice, and what is kept is what was known.

use std::time::{Duration, Instant};

use mainstay_model::{GpuUuid, NodeUid};
use mainstay_signal::{Aer, parse};
use tempfile::TempDir;

use crate::sources::Batch;
use crate::sources::lines::Lines;
use crate::sources::nvml::{Listing, XidEvent};

use super::state_file::{LoadOutcome, StateWriter};
use super::*;

const NOW: Timestamp = Timestamp(1_794_700_800_000);

fn boot() -> BootId {
    BootId::parse("2c4f2c9e-0a55-4a8f-8a75-2f8f9e0f3a10").unwrap()
}

fn xids(codes: &[u32], counted_to: u64, lost: u64) -> SourceMessage {
    let signal = |code: &u32| (parse(&format!("NVRM: Xid (PCI:0000:1b:00): {code}, x")).unwrap(), NOW.0 - 5);
    let read = u64::try_from(codes.len()).unwrap();
    let lines = Lines { signals: codes.iter().map(signal).collect(), ..Lines::default() };
    SourceMessage::Batch(Batch { lines, counted_to: Some(counted_to), read, lost, ..Batch::default() })
}

fn aer(count: u64) -> SourceMessage {
    let place = Place::pci_or_node("0000:1b:00.0");
    let readings = vec![(place, Reading::PcieErrors(Aer::Fatal, count))];
    SourceMessage::Round(SourceName::Pcie, Box::new(PollResult { readings, ..PollResult::default() }))
}

fn words(store: &Store) -> Vec<String> {
    let evidence = store.evidence();
    let piece =
        |piece: &Evidence| format!("{:?} {} {} x{}", piece.key.source, piece.key.code, piece.key.detail, piece.count);
    evidence.as_slice().iter().map(piece).collect()
}

#[test]
fn records_are_counted_with_the_place_they_go_to() {
    let mut store = Store::new(boot());
    let changes = store.fold(xids(&[79, 79, 48], 102, 0), NOW);
    assert_eq!(changes.iter().map(|change| change.times).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(words(&store), ["Xid 48 0000:1b:00.0 x1", "Xid 79 0000:1b:00.0 x2"]);
    assert_eq!(store.log(), LogPosition { counted_to: Some(102), read: 3, lost: 0, unreadable: 0, before: 100 });
    store.fold(xids(&[79], 110, 7), NOW);
    assert_eq!(words(&store).last().map(String::as_str), Some("Kernel log-lost  x7"));
    assert_eq!(store.log().before, 100, "only the first look tells");
}

#[test]
fn what_was_kept_goes_on_where_it_was() {
    let mut store = Store::new(boot());
    store.fold(xids(&[79], 0, 0), NOW);
    store.fold(aer(3), NOW);
    let text = serde_json::to_string(&store.kept()).unwrap();
    let mut again = Store::of(serde_json::from_str(&text).unwrap(), &boot()).unwrap();
    assert_eq!(words(&again), words(&store));
    again.fold(aer(5), NOW);
    assert!(words(&again).contains(&"PcieAer aer-fatal 0000:1b:00.0 x2".to_owned()), "{:?}", words(&again));
    assert_eq!(again.xids().iter().collect::<Vec<_>>(), [("79", "0000:1b:00.0", 1)]);
}

#[test]
fn a_file_with_numbers_that_cannot_be_is_taken_up_without_harm() {
    // Found by a fuzzer: sums at the largest number, and a loan of nothing.
    let spoiled = include_str!("../../../../fuzz/corpus/state_file/spoiled.json");
    let mut store = Store::of(serde_json::from_str(spoiled).unwrap(), &boot()).unwrap();
    store.fold(xids(&[79], u64::MAX, 1), NOW);
    assert_eq!((store.log().read, store.log().lost), (u64::MAX, u64::MAX));
    assert!(words(&store).contains(&"Xid 79 0000:1b:00.0 x2".to_owned()), "{:?}", words(&store));
}

#[test]
fn another_boot_begins_anew() {
    let mut store = Store::new(boot());
    store.fold(xids(&[79], 0, 0), NOW);
    assert_eq!(Store::of(store.kept(), &BootId::parse("another").unwrap()), None);
}

#[test]
fn a_report_has_the_bounds_of_the_api_and_its_sequence_never_falls() {
    let mut store = Store::new(boot());
    store.fold(xids(&(1..100).collect::<Vec<_>>(), 99, 0), NOW);
    let uid = NodeUid::parse("uid").unwrap();
    let first = store.report(&uid, NOW);
    assert_eq!((first.evidence.as_slice().len(), first.inventory.board.as_str()), (48, "unknown"));
    let total: i64 = first.evidence.as_slice().iter().map(|piece| piece.count).sum();
    assert_eq!(total, 99, "what found no room is counted as overflow");
    let mut again = Store::of(store.kept(), &boot()).unwrap();
    assert!(again.report(&uid, NOW).sequence > first.sequence + 100);
    let text = serde_json::to_string(&first).unwrap();
    assert!(text.len() < 16 * 1024, "{}", text.len());
}

#[test]
fn the_highest_epoch_is_reported_after_a_restart_and_after_a_reboot() {
    let mut store = Store::new(boot());
    let uid = NodeUid::parse("uid").unwrap();
    assert_eq!(store.report(&uid, NOW).highest_epoch, None);
    let before = store.changes();
    store.read_epoch(7);
    assert_ne!(store.changes(), before, "it is written to disk");
    // A GpuNode from a restored etcd.
    store.read_epoch(3);
    let kept = || serde_json::from_str::<StoredState>(&serde_json::to_string(&store.kept()).unwrap()).unwrap();
    let mut again = Store::of(kept(), &boot()).unwrap();
    assert_eq!(again.report(&uid, NOW).highest_epoch, Some(7));
    let mut rebooted = Store::after(&kept(), BootId::parse("another").unwrap());
    assert_eq!(rebooted.report(&uid, NOW).highest_epoch, Some(7));
}

#[test]
fn a_new_fault_finds_room_in_a_full_list_after_a_restart_where_another_is_long_over() {
    let mut store = Store::new(boot());
    store.fold(xids(&(1..48).collect::<Vec<_>>(), 46, 0), NOW);
    assert_eq!(words(&store).len(), 47);
    let text = serde_json::to_string(&store.kept()).unwrap();
    let mut store = Store::of(serde_json::from_str(&text).unwrap(), &boot()).unwrap();
    let days = |days: i64| Timestamp(NOW.0 + days * 86_400_000);
    let later = |code, number, at: Timestamp| match xids(&[code], number, 0) {
        SourceMessage::Batch(batch) => {
            let signals = batch.lines.signals.into_iter().map(|(signal, _)| (signal, at.0)).collect();
            SourceMessage::Batch(Batch { lines: Lines { signals, ..Lines::default() }, ..batch })
        }
        other @ (SourceMessage::Round(..) | SourceMessage::Events(_) | SourceMessage::Journal(_)) => other,
    };
    // Within two days nothing goes; after them one does, and it is said.
    store.fold(later(79, 47, days(1)), days(1));
    assert!(words(&store).contains(&"Kernel overflow  x1".to_owned()), "{:?}", words(&store));
    store.fold(later(79, 48, days(3)), days(3));
    assert!(words(&store).contains(&"Xid 79 0000:1b:00.0 x1".to_owned()), "{:?}", words(&store));
    assert!(words(&store).contains(&"Kernel overflow  x2".to_owned()), "{:?}", words(&store));
    assert_eq!(words(&store).len(), 48);
}

#[test]
fn an_idle_gpu_with_a_slow_link_is_well_and_one_with_missing_lanes_is_not() {
    let address = PciAddress::parse("0000:1b:00.0").unwrap();
    let link = |generation, lanes| PcieLink { generation, lanes };
    let slow = |store: &Store, now| {
        let reading = store.gpu_link(&address, now, link(5, 16));
        reading.current().value == mainstay_signal::Value::State(Flag::Set)
    };
    let mut store = Store::new(boot());
    assert!(!slow(&store, link(1, 16)), "nobody knows whether it has work");
    assert!(slow(&store, link(5, 8)));
    store.loads.insert(address.clone(), Load::Idle);
    assert!(!slow(&store, link(1, 16)));
    store.loads.insert(address.clone(), Load::Busy);
    assert!(slow(&store, link(1, 16)));
}

#[test]
fn a_source_that_hangs_or_is_blind_is_evidence() {
    let mut store = Store::new(boot());
    assert!(store.stalled("pcie", Flag::Set, NOW).is_some());
    let blind = || {
        let trouble = Some(SourceError::blind("no"));
        SourceMessage::Round(SourceName::KernelLog, Box::new(PollResult { trouble, ..PollResult::default() }))
    };
    store.fold(blind(), NOW);
    let later = Timestamp(NOW.0 + 300_000);
    store.fold(blind(), later);
    assert_eq!(words(&store), ["Inventory source-blind kernel-log x1", "Inventory source-stalled pcie x1"]);
}

fn gpu(index: u16) -> Gpu {
    Gpu {
        index,
        serial: Serial::parse(&format!("S{index}")).unwrap(),
        uuid: GpuUuid::parse(&format!("GPU-{index}")).unwrap(),
        pci: PciAddress::parse(&format!("0000:{:02x}:00.0", 0x1b + index)).unwrap(),
    }
}

fn lists(gpus: &[Gpu], lost: &[PciAddress]) -> SourceMessage {
    let listing = Listing { gpus: gpus.to_vec(), lost: lost.to_vec(), ..Listing::default() };
    SourceMessage::Round(SourceName::Nvml, Box::new(PollResult { gpus: Some(listing), ..PollResult::default() }))
}

fn event(code: u64) -> SourceMessage {
    let xids = vec![XidEvent { pci: gpu(0).pci, code, gpu_instance: None }];
    SourceMessage::Events(Box::new(Events { xids, readings: Vec::new() }))
}

#[test]
fn a_gpu_that_is_listed_no_more_is_evidence_and_not_in_the_report() {
    let mut store = Store::new(boot());
    store.fold(lists(&[gpu(0), gpu(1)], &[]), NOW);
    assert_eq!(words(&store), Vec::<String>::new());
    for seconds in [10, 20, 30] {
        store.fold(lists(&[gpu(0)], &[]), Timestamp(NOW.0 + seconds * 1_000));
    }
    assert_eq!(words(&store), ["Inventory gpu-missing not listed x1"]);
    assert_eq!(store.evidence().as_slice()[0].key.device, Some(gpu(1).serial));
    let report = store.report(&NodeUid::parse("uid").unwrap(), NOW);
    assert_eq!(report.inventory.gpus.as_slice().len(), 1);
    store.fold(lists(&[gpu(0)], &[gpu(1).pci]), NOW);
    assert_eq!(words(&store).len(), 2, "one that is lost is told as such");
}

fn unavailable(store: &mut Store) -> Option<String> {
    let report = store.report(&NodeUid::parse("uid").unwrap(), NOW);
    report.inventory.gpus_unavailable.map(|why| why.to_string())
}

fn nvml(trouble: Option<SourceError>) -> SourceMessage {
    SourceMessage::Round(SourceName::Nvml, Box::new(PollResult { trouble, ..PollResult::default() }))
}

#[test]
fn a_report_says_why_gpus_are_unknown_until_nvml_listed_them_once() {
    let missing = || SourceError::blind("NVML library not found at /x");
    let mut store = Store::new(boot());
    assert!(unavailable(&mut store).unwrap().contains("not read yet"), "a driver that hangs is no node without GPUs");
    store.fold(nvml(Some(missing())), NOW);
    assert_eq!(unavailable(&mut store).as_deref(), Some("NVML library not found at /x"));
    store.fold(nvml(None), NOW);
    assert!(unavailable(&mut store).unwrap().contains("no NVIDIA GPU"), "this node never had one");
    store.fold(lists(&[], &[]), NOW);
    assert_eq!(unavailable(&mut store), None, "the driver lists none: that is a list");
    let mut store = Store::of(store.kept(), &boot()).unwrap();
    store.fold(nvml(Some(missing())), NOW);
    assert_eq!(unavailable(&mut store), None, "the list of this boot still holds");
}

#[test]
fn gpus_that_are_gone_from_the_bus_after_a_boot_are_missing() {
    let mut store = Store::new(boot());
    store.fold(lists(&[gpu(0), gpu(1)], &[]), NOW);
    let mut store = Store::after(&store.kept(), BootId::parse("another").unwrap());
    store.fold(nvml(None), NOW);
    assert_eq!(unavailable(&mut store), None, "they were there before, and the bus has none now");
}

#[test]
fn versions_of_other_software_are_in_the_report_under_names_that_fit() {
    let more = [("cuda", "12.8.1"), ("firmware of adapters", "28.43.1014"), ("no name: \u{e9}", "1")];
    let more = more.map(|(name, version)| (name.to_owned(), version.to_owned())).into();
    let round = PollResult { versions: Some(Versions { more, ..Versions::default() }), ..PollResult::default() };
    let mut store = Store::new(boot());
    store.fold(SourceMessage::Round(SourceName::Versions, Box::new(round)), NOW);
    let report = store.report(&NodeUid::parse("uid").unwrap(), NOW);
    let told = report.inventory.software.as_slice().iter().map(|one| format!("{} {}", one.name, one.version));
    assert_eq!(told.collect::<Vec<_>>(), ["cuda 12.8.1", "firmware-of-adapters 28.43.1014"]);
}

#[test]
fn a_gpu_that_does_not_come_back_with_the_next_boot_is_missing_until_another_sits_there() {
    let mut store = Store::new(boot());
    store.fold(lists(&[gpu(0), gpu(1)], &[]), NOW);
    let other = BootId::parse("another").unwrap();
    for _ in 0..2 {
        store = Store::after(&store.kept(), other.clone());
        for seconds in [0, 10, 20] {
            store.fold(lists(&[gpu(0)], &[]), Timestamp(NOW.0 + seconds * 1_000));
        }
        assert_eq!(words(&store), ["Inventory gpu-missing not listed x1"], "also after a second boot");
    }
    let new = Gpu { serial: Serial::parse("NEW").unwrap(), ..gpu(1) };
    let mut store = Store::after(&store.kept(), other);
    for seconds in [0, 10, 20] {
        store.fold(lists(&[gpu(0), new.clone()], &[]), Timestamp(NOW.0 + seconds * 1_000));
    }
    assert_eq!(words(&store), Vec::<String>::new());
}

#[test]
fn an_xid_that_both_tell_is_counted_once() {
    // The log is read: it alone counts.
    let mut store = Store::new(boot());
    store.fold(xids(&[79], 0, 0), NOW);
    store.fold(event(79), NOW);
    assert_eq!(words(&store), ["Xid 79 0000:1b:00.0 x1"]);

    // It is not: NVML counts, and the log does not count the same again when it is read after all, a restart later.
    let mut store = Store::new(boot());
    let blind = PollResult { trouble: Some(SourceError::blind("no")), ..PollResult::default() };
    store.fold(SourceMessage::Round(SourceName::KernelLog, Box::new(blind)), NOW);
    store.fold(event(79), NOW);
    store.fold(event(79), NOW);
    assert_eq!(words(&store), ["Xid 79 0000:1b:00.0 x2"]);
    let mut store = Store::of(store.kept(), &boot()).unwrap();
    store.fold(xids(&[79, 48, 79, 79], 3, 0), Timestamp(NOW.0 + 60_000));
    assert_eq!(words(&store), ["Xid 48 0000:1b:00.0 x1", "Xid 79 0000:1b:00.0 x3"]);
    assert_eq!(store.xids().iter().map(|(_, _, count)| count).sum::<u64>(), 4);
}

#[test]
fn what_nvml_told_too_often_is_not_taken_from_later_xids() {
    let mut store = Store::new(boot());
    // Two different ones came, and both were told as the last one.
    store.fold(event(94), Timestamp(NOW.0 - 60_000));
    store.fold(event(94), Timestamp(NOW.0 - 60_000));
    store.fold(xids(&[94, 94], 1, 0), NOW);
    assert_eq!(words(&store), ["Xid 94 0000:1b:00.0 x4"], "these are a minute later");
}

fn wait_until(what: impl Fn() -> bool) {
    let begun = Instant::now();
    while !what() {
        assert!(begun.elapsed() < Duration::from_secs(10));
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

#[test]
fn the_file_is_whole_written_seldom_and_had_by_one() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("below/state.json");
    let (mut keeper, mut store, found) = StateWriter::open(&path, &boot()).unwrap();
    assert_eq!(found, LoadOutcome::Nothing);
    assert!(StateWriter::open(&path, &boot()).is_err(), "one agent a file");
    for number in 0..50 {
        store.fold(xids(&[79], number, 0), NOW);
        keeper.keep(&store);
    }
    keeper.keep_now(&store);
    wait_until(|| keeper.settled());
    keeper.keep_now(&store);
    wait_until(|| keeper.settled());
    assert!(keeper.writes().0 <= 3, "{:?}", keeper.writes());
    drop(keeper);
    let (_, again, found) = StateWriter::open(&path, &boot()).unwrap();
    assert_eq!((found, again.log().read), (LoadOutcome::ThisBoot, 50));
}

#[test]
fn a_damaged_file_is_set_aside() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("state.json");
    std::fs::write(&path, "{\"format\":1,").unwrap();
    let (_, store, found) = StateWriter::open(&path, &boot()).unwrap();
    assert!(matches!(found, LoadOutcome::Damaged(_)));
    assert_eq!(store.log().counted_to, None);
    assert!(folder.path().join("state.damaged").exists());
}
