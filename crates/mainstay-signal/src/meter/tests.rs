//! When a reading is worth a signal.

use mainstay_model::{Code, Detail, Span};
use proptest::prelude::*;

use super::*;
use crate::reading::{
    Aer, FabricFault, HotComponent, Link, Load, Memory, NvlinkCounter, PcieLink, PortCounter, Presence, Slowdown,
};

const BEGIN: Timestamp = Timestamp(1_794_700_800_000);

fn gpu() -> Place {
    Place::pci_or_node("0000:13:00.0")
}

/// Processes readings, each with its second since the beginning, and returns the signals.
fn says(readings: &[(u32, Reading)]) -> Vec<String> {
    let mut meter = Meter::new();
    let told = readings.iter().filter_map(|(seconds, reading)| {
        let (signal, times) = meter.read(&gpu(), reading, BEGIN + Span::seconds(*seconds))?;
        let said = format!("{seconds} {:?} {} {} x{times}", signal.source, signal.code, signal.detail);
        Some(said.replace("  ", " "))
    });
    told.collect()
}

#[test]
fn a_total_says_by_how_much_it_rose() {
    let read = |seconds, count| (seconds, Reading::PcieErrors(Aer::Correctable, count));
    assert_eq!(says(&[read(0, 7_000), read(60, 7_000), read(120, 7_450)]), ["120 PcieAer aer-correctable x450"]);
    assert_eq!(
        says(&[read(0, 7_000), read(60, 30)]),
        ["60 PcieAer aer-correctable x30"],
        "the driver was loaded again"
    );
}

#[test]
fn a_trickle_is_told_when_it_is_worth_a_word() {
    let read = |seconds, count| (seconds, Reading::PcieErrors(Aer::Correctable, count));
    let trickle: Vec<(u32, Reading)> = (0..12).map(|at| read(at * 60, u64::from(at))).collect();
    assert_eq!(says(&trickle), ["600 PcieAer aer-correctable x10"]);
}

#[test]
fn totals_of_two_links_are_two_totals() {
    let read = |seconds, link, count| (seconds, Reading::NvlinkCount(link, NvlinkCounter::Crc, count));
    assert_eq!(says(&[read(0, 1, 5), read(1, 2, 9_000), read(2, 1, 1_005)]), ["2 Nvml nvlink-crc link 1 x1000"]);
}

#[test]
fn a_flag_speaks_at_once_and_then_by_the_hour() {
    let read = |seconds, flag| (seconds, Reading::RemapPending(flag));
    assert_eq!(
        says(&[read(0, Flag::Set), read(60, Flag::Set), read(3_600, Flag::Set), read(3_660, Flag::Set)]),
        ["0 Nvml remap-pending x1", "3600 Nvml remap-pending x1"]
    );
    assert_eq!(says(&[read(0, Flag::Clear), read(60, Flag::Clear)]), Vec::<String>::new());
}

#[test]
fn a_slowdown_is_counted_by_the_minute_it_lasts() {
    let readings: Vec<(u32, Reading)> =
        (0..60).map(|at| (at * 30, Reading::Slowdown(Slowdown::Thermal, Flag::Set))).collect();
    assert_eq!(says(&readings).len(), 30, "half an hour, read twice a minute");
}

#[test]
fn a_port_that_comes_back_within_minutes_was_never_down() {
    let read = |seconds, link| (seconds, Reading::Port(1, link));
    assert_eq!(says(&[read(0, Link::Down), read(200, Link::Up), read(260, Link::Down)]), Vec::<String>::new());
    assert_eq!(says(&[read(0, Link::Down), read(240, Link::Down)]), ["240 Nic port-down port 1 x1"]);
}

#[test]
fn a_verdict_that_changes_speaks_at_once() {
    let read = |seconds, action| (seconds, Reading::RecoveryAction(action));
    assert_eq!(
        says(&[read(0, 0), read(60, 1), read(120, 1), read(180, 2)]),
        ["60 Nvml recovery-action to 0x1 x1", "180 Nvml recovery-action to 0x2 x1"]
    );
}

#[test]
fn spare_rows_are_told_by_the_worst_bank() {
    let read = |seconds, low, none| (seconds, Reading::SpareRows { low, none });
    assert_eq!(
        says(&[read(0, 0, 0), read(60, 1, 0), read(120, 0, 1)]),
        ["60 Nvml spare-rows-low x1", "120 Nvml spare-rows-gone x1"]
    );
}

#[test]
fn a_gpu_that_is_not_listed_for_three_looks_is_missing_and_one_that_is_lost_is_missing_at_once() {
    let read = |seconds, presence| (seconds, Reading::Gpu(presence));
    assert_eq!(says(&[read(0, Presence::Absent), read(10, Presence::Listed)]), Vec::<String>::new());
    assert_eq!(
        says(&[read(0, Presence::Absent), read(10, Presence::Absent), read(20, Presence::Absent)]),
        ["20 Inventory gpu-missing not listed x1"]
    );
    assert_eq!(says(&[read(0, Presence::Lost)]), ["0 Inventory gpu-missing does not answer x1"]);
}

#[test]
fn an_idle_gpu_may_run_its_link_slowly() {
    let (now, best) = (PcieLink { generation: 5, lanes: 8 }, PcieLink { generation: 5, lanes: 16 });
    let read = |seconds, load| (seconds, Reading::PcieSpeed { now, best, load });
    assert_eq!(says(&[read(0, Load::Idle), read(300, Load::Idle)]), Vec::<String>::new());
    assert_eq!(
        says(&[read(0, Load::Busy), read(300, Load::Busy)]),
        ["300 Nvml pcie-downtrained gen 5 x8 of gen 5 x16 x1"]
    );
}

#[test]
fn what_is_as_wanted_says_nothing() {
    let calm = [
        Reading::PowerLimit { enforced_watts: 700, wanted_watts: 700 },
        Reading::PortRate { port: 1, now_gbps: 400, wanted_gbps: 400 },
        Reading::FabricManager(Link::Up),
        Reading::Nvlink(3, Link::Up),
        Reading::SramThreshold(Flag::Clear),
        Reading::RemapFailed(Flag::Clear),
        Reading::RecoveryAction(0),
        Reading::Gpu(Presence::Listed),
        Reading::TooHot(HotComponent::Chip, Flag::Clear),
        Reading::Fabric(FabricFault::Route, Flag::Clear),
    ];
    for reading in calm {
        assert_eq!(says(&[(0, reading), (7_200, reading)]), Vec::<String>::new(), "{reading:?}");
    }
    let sick = [
        Reading::PowerLimit { enforced_watts: 500, wanted_watts: 700 },
        Reading::PortRate { port: 1, now_gbps: 200, wanted_gbps: 400 },
        Reading::FabricManager(Link::Down),
        Reading::Nvlink(3, Link::Down),
        Reading::SramThreshold(Flag::Set),
        Reading::RemapFailed(Flag::Set),
        Reading::RecoveryAction(3),
        Reading::Gpu(Presence::Absent),
        Reading::TooHot(HotComponent::Memory, Flag::Set),
        Reading::Fabric(FabricFault::Route, Flag::Set),
    ];
    for reading in sick {
        assert!(!says(&[(0, reading), (300, reading)]).is_empty(), "{reading:?}");
    }
}

#[test]
fn a_meter_is_bounded() {
    let mut meter = Meter::new();
    for port in 0..u16::MAX {
        meter.read(&gpu(), &Reading::PortCount(port, PortCounter::LinkDowned, 1), BEGIN);
    }
    assert_eq!(meter.followed.len(), FOLLOWED_MAX);
    let again = Reading::PortCount(0, PortCounter::LinkDowned, 3);
    assert_eq!(meter.read(&gpu(), &again, BEGIN).map(|(_, times)| times), Some(2));
}

proptest! {
    #[test]
    fn no_total_says_more_than_it_counted(counts in proptest::collection::vec(0..1_000_u64, 1..20)) {
        let mut rising: Vec<u64> = counts;
        rising.sort_unstable();
        let mut meter = Meter::new();
        let said: u64 = rising
            .iter()
            .filter_map(|count| meter.read(&gpu(), &Reading::EccUncorrected(Memory::Dram, *count), BEGIN))
            .map(|(_, times)| times)
            .sum();
        prop_assert_eq!(said, rising.last().copied().unwrap_or(0) - rising.first().copied().unwrap_or(0));
    }
}

#[test]
fn every_word_fits_the_model() {
    for fault in FabricFault::ALL {
        let worded = Reading::Fabric(fault, Flag::Set).evidence();
        assert!(Code::parse(worded.code).is_ok() && Detail::parse(&worded.detail).is_ok(), "{fault:?}");
    }
    for counter in PortCounter::ALL {
        let worded = Reading::PortCount(u16::MAX, counter, 1).evidence();
        assert!(Code::parse(worded.code).is_ok() && Detail::parse(&worded.detail).is_ok(), "{counter:?}");
    }
}

#[test]
fn a_meter_goes_on_where_it_was_written_down() {
    let total = |count| Reading::PcieErrors(Aer::Correctable, count);
    let mut meter = Meter::new();
    meter.read(&gpu(), &total(7_000), BEGIN);
    meter.read(&gpu(), &Reading::RemapPending(Flag::Set), BEGIN);
    let text = serde_json::to_string(&meter).unwrap();
    let mut again: Meter = serde_json::from_str(&text).unwrap();
    assert_eq!(again, meter);
    let at = BEGIN + Span::minutes(5);
    assert_eq!(again.read(&gpu(), &total(7_450), at).map(|(_, times)| times), Some(450));
    assert_eq!(again.read(&gpu(), &Reading::RemapPending(Flag::Set), at), None, "told already");
}

#[test]
fn what_stays_as_it_is_is_no_change() {
    let mut meter = Meter::new();
    for minutes in 0..10 {
        let at = BEGIN + Span::minutes(minutes);
        meter.read(&gpu(), &Reading::EccUncorrected(Memory::Dram, 7), at);
        meter.read(&gpu(), &Reading::RemapPending(Flag::Clear), at);
        meter.read(&gpu(), &Reading::RemapFailed(Flag::Set), at);
    }
    assert_eq!(meter.changes(), 3);
    meter.read(&gpu(), &Reading::EccUncorrected(Memory::Dram, 8), BEGIN + Span::minutes(10));
    assert_eq!(meter.changes(), 4);
}

#[test]
fn the_counter_of_another_program_is_told_by_its_code() {
    let mut meter = Meter::new();
    let code = Code::parse("OOMKilling").unwrap();
    assert_eq!(meter.read_external(&code, 4, BEGIN), None);
    let (signal, times) = meter.read_external(&code, 6, BEGIN).unwrap();
    assert_eq!((signal.source, signal.code.as_str(), times), (Source::External, "OOMKilling", 2));
}

#[test]
fn the_agents_own_troubles_are_readings() {
    let stalled = |seconds, flag| (seconds, Reading::SourceStalled("pcie", flag));
    assert_eq!(
        says(&[stalled(0, Flag::Clear), stalled(5, Flag::Set)]),
        ["5 Inventory source-stalled pcie x1"],
        "at once"
    );
    let lost = |seconds, count| (seconds, Reading::LogLost(count));
    assert_eq!(says(&[lost(0, 0), lost(1, 7)]), ["1 Kernel log-lost x7"]);
}
