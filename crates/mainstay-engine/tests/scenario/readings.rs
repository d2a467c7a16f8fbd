//! The words of readings, as scenarios have them, turned into readings of the real type; a word that is not one ends the
//! test.

use mainstay_signal::{
    Aer, AmdBlock, Flag, Link, Load, Memory, NvlinkCounter, PcieLink, PortCounter, Reading, Slowdown,
};

use crate::words::number;

pub(crate) fn reading_of(text: &str) -> Reading {
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.as_slice() {
        ["recovery", "action", action] => Reading::RecoveryAction(number(action)),
        ["remap", "pending"] => Reading::RemapPending(Flag::Set),
        ["no", "remap", "pending"] => Reading::RemapPending(Flag::Clear),
        ["remap", "failed"] => Reading::RemapFailed(Flag::Set),
        ["sram", "threshold", "exceeded"] => Reading::SramThreshold(Flag::Set),
        ["spare", "rows", "low", low, "none", none] => Reading::SpareRows { low: number(low), none: number(none) },
        ["ecc", "corrected", "sram", count] => Reading::EccCorrected(Memory::Sram, number(count)),
        ["ecc", "corrected", "dram", count] => Reading::EccCorrected(Memory::Dram, number(count)),
        ["ecc", "uncorrected", "sram", count] => Reading::EccUncorrected(Memory::Sram, number(count)),
        ["ecc", "uncorrected", "dram", count] => Reading::EccUncorrected(Memory::Dram, number(count)),
        ["thermal", "slowdown"] => Reading::Slowdown(Slowdown::Thermal, Flag::Set),
        ["no", "thermal", "slowdown"] => Reading::Slowdown(Slowdown::Thermal, Flag::Clear),
        ["power", "brake"] => Reading::Slowdown(Slowdown::PowerBrake, Flag::Set),
        ["power", "limit", enforced, "of", wanted, "watts"] => {
            Reading::PowerLimit { enforced_watts: number(enforced), wanted_watts: number(wanted) }
        }
        ["pcie", "gen", generation, "lanes", lanes, "of", best, "busy"] => Reading::PcieSpeed {
            now: PcieLink { generation: number(generation), lanes: number(lanes) },
            best: PcieLink { generation: number(generation), lanes: number(best) },
            load: Load::Busy,
        },
        ["pcie", "replays", count] => Reading::PcieReplays(number(count)),
        ["aer", "correctable", count] => Reading::PcieErrors(Aer::Correctable, number(count)),
        ["aer", "nonfatal", count] => Reading::PcieErrors(Aer::NonFatal, number(count)),
        ["aer", "fatal", count] => Reading::PcieErrors(Aer::Fatal, number(count)),
        ["link", link, "crc", count] => Reading::NvlinkCount(number(link), NvlinkCounter::Crc, number(count)),
        ["link", link, state] => Reading::Nvlink(number(link), link_of(state)),
        ["port", port, "rate", now, "of", wanted] => {
            Reading::PortRate { port: number(port), now_gbps: number(now), wanted_gbps: number(wanted) }
        }
        ["port", port, state @ ("up" | "down")] => Reading::Port(number(port), link_of(state)),
        ["port", port, counter, count] => {
            let counter = PortCounter::of_file(counter).unwrap_or_else(|| panic!("no counter {counter}"));
            Reading::PortCount(number(port), counter, number(count))
        }
        ["amd", "uncorrected", block, count] => Reading::AmdUncorrected(block_of(block), number(count)),
        ["amd", "corrected", block, count] => Reading::AmdCorrected(block_of(block), number(count)),
        ["fabric", "manager", state] => Reading::FabricManager(link_of(state)),
        _ => panic!("no reading: {text}"),
    }
}

fn block_of(word: &str) -> AmdBlock {
    AmdBlock::of_file(&format!("{word}_err_count")).unwrap_or_else(|| panic!("no block {word}"))
}

fn link_of(word: &str) -> Link {
    match word {
        "up" => Link::Up,
        "down" => Link::Down,
        other => panic!("no state {other}"),
    }
}
