//! Whatever `mainstay-signal` can say, the catalogue has a rule for: no line that is recognised, and no reading, ends as an
//! unknown code.

#![cfg(test)]

use std::collections::BTreeSet;

use mainstay_health::Catalogue;
use mainstay_model::{Source, Span, Timestamp};
use mainstay_signal::{
    Aer, FabricFault, Flag, HotComponent, Link, Load, Memory, Meter, NvlinkCounter, PcieLink, Place, PortCounter,
    Presence, Reading, Signal, Slowdown, parse,
};

/// One line for each code that a reader of the kernel log has.
const LINES: &[&str] = &[
    "pcieport 0000:15:01.0: AER: Correctable error message received from 0000:1b:00.0",
    "nvidia 0000:1b:00.0: AER: PCIe Bus Error: severity=Uncorrectable (Non-Fatal), type=Transaction Layer, (Requester ID)",
    "pcieport 0000:15:01.0: AER: Uncorrected (Fatal) error received: 0000:1b:00.0",
    "nvidia 0000:1b:00.0: AER: device recovery failed",
    "mlx5_core 0000:18:00.0 ens1np0: Link down",
    "mlx5_core 0000:18:00.0 ens1np0: Link up",
    "mlx5_core 0000:18:00.0: poll_health:739:(pid 0): device's health compromised - reached miss count",
    "mlx5_core 0000:18:00.0: wait_func:1150:(pid 4242): ENABLE_HCA(0x104) timeout. Will cause a leak of a command resource",
    "mlx5_core 0000:18:00.0: synd 0x8: unrecoverable hardware error",
    "mlx5_core 0000:18:00.0: synd 0x1: firmware internal error",
    "mlx5_core 0000:18:00.0: poll_health:748:(pid 0): Fatal error 1 detected",
    "mlx5_core 0000:18:00.0: PCI slot is unavailable",
    "NETDEV WATCHDOG: ens1np0 (mlx5_core): transmit queue 3 timed out",
    "mlx5_core 0000:18:00.0 ens1np0: TX timeout detected",
    "mlx5_core 0000:18:00.0 ens1np0: RX timeout on channel: 3, ICOSQ: 0x1, RQ: 0x2, CQ: 0x3",
    "mlx5_core 0000:18:00.0: Port module event: module 0, Cable unplugged",
    "mlx5_core 0000:18:00.0: Port module event: module 0, Cable plugged",
    "mlx5_core 0000:18:00.0: Port module event[error]: module 1, Cable error, High Temperature",
    "mlx5_core 0000:18:00.0: Port module event[error]: module 0, Cable error, Bad or shorted cable/module",
    "mlx5_core 0000:18:00.0: temp_warn:134:(pid 0): High temperature on sensors with bit set 0 1",
    "mlx5_core 0000:18:00.0: mlx5_pcie_event:301:(pid 12): Detected insufficient power on the PCIe slot (27W).",
    "watchdog: BUG: soft lockup - CPU#12 stuck for 23s! [python:1234]",
    "NMI watchdog: Watchdog detected hard LOCKUP on cpu 1",
    "INFO: task python:1234 blocked for more than 120 seconds.",
    "Out of memory: Killed process 1234 (python) total-vm:25004420kB, anon-rss:91796kB, file-rss:15612kB",
    "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom",
];

/// Every kind of reading, in a state that says something and with a total that rose.
fn readings() -> Vec<(Reading, Reading)> {
    let same = |reading| (reading, reading);
    let (half, whole) = (PcieLink { generation: 5, lanes: 8 }, PcieLink { generation: 5, lanes: 16 });
    let rises = |of: &dyn Fn(u64) -> Reading| (of(0), of(10_000_000));
    let mut all = vec![
        same(Reading::Gpu(Presence::Absent)),
        same(Reading::RecoveryAction(1)),
        same(Reading::TooHot(HotComponent::Chip, Flag::Set)),
        same(Reading::Fabric(FabricFault::Route, Flag::Set)),
        same(Reading::RemapPending(Flag::Set)),
        same(Reading::RemapFailed(Flag::Set)),
        same(Reading::SramThreshold(Flag::Set)),
        same(Reading::SpareRows { low: 1, none: 0 }),
        same(Reading::SpareRows { low: 0, none: 1 }),
        same(Reading::PowerLimit { enforced_watts: 500, wanted_watts: 700 }),
        same(Reading::PcieSpeed { now: half, best: whole, load: Load::Busy }),
        same(Reading::Nvlink(3, Link::Down)),
        same(Reading::Port(1, Link::Down)),
        same(Reading::PortRate { port: 1, now_gbps: 200, wanted_gbps: 400 }),
        same(Reading::FabricManager(Link::Down)),
        same(Reading::SourceStalled("nvml", Flag::Set)),
        same(Reading::SourceBlind("nvml", Flag::Set)),
        rises(&Reading::LogLost),
        rises(&Reading::PcieReplays),
        rises(&|count| Reading::EccUncorrected(Memory::Dram, count)),
        rises(&|count| Reading::EccCorrected(Memory::Sram, count)),
    ];
    let slow = [Slowdown::Hardware, Slowdown::Thermal, Slowdown::SoftwareThermal, Slowdown::PowerBrake];
    all.extend(slow.map(|why| same(Reading::Slowdown(why, Flag::Set))));
    all.extend(
        [Aer::Correctable, Aer::NonFatal, Aer::Fatal].map(|one| rises(&|count| Reading::PcieErrors(one, count))),
    );
    all.extend(
        [NvlinkCounter::Crc, NvlinkCounter::Recovery, NvlinkCounter::Effective]
            .map(|one| rises(&|count| Reading::NvlinkCount(3, one, count))),
    );
    all.extend(PortCounter::ALL.map(|one| rises(&|count| Reading::PortCount(1, one, count))));
    all
}

fn said(first: &Reading, then: &Reading) -> Signal {
    let (mut meter, at, place) = (Meter::new(), Timestamp(0), Place::Node);
    let early = meter.read(&place, first, at);
    let late = meter.read(&place, then, at + Span::hours(2));
    early.or(late).unwrap_or_else(|| panic!("{then:?} says nothing")).0
}

#[test]
fn nothing_that_is_recognised_is_unknown() {
    let catalogue = Catalogue::built_in();
    let known: BTreeSet<(Source, &str)> =
        catalogue.rows().filter_map(|row| Some((row.source?, row.code.as_ref()?.as_str()))).collect();
    let lines = LINES.iter().map(|line| parse(line).unwrap_or_else(|| panic!("nothing in {line}")));
    let readings = readings().into_iter().map(|(first, then)| said(&first, &then));
    let signals: Vec<Signal> = lines.chain(readings).collect();
    for signal in &signals {
        assert!(known.contains(&(signal.source, signal.code.as_str())), "{:?} {}", signal.source, signal.code);
    }
    let codes: BTreeSet<_> = signals.iter().map(|signal| (signal.source, signal.code.as_str())).collect();
    let of_the_host = |row: &(Source, &str)| !matches!(row.0, Source::Xid | Source::Sxid);
    // Counted by us: no line and no reading has it.
    let unsaid = [(Source::Kernel, "overflow")];
    for row in known.iter().filter(|row| of_the_host(row) && !unsaid.contains(row)) {
        assert!(codes.contains(row), "nobody says {row:?}");
    }
}
