//! Memory: a pattern and then its inverse, so that every bit was both, written all over and read again.

use std::hint::black_box;
use std::io;
use std::time::{Duration, Instant};

use super::{Figures, mbps, scattered};

const MIB: u64 = 1024 * 1024;

pub(super) fn run(mib: u64, seconds: u64) -> io::Result<Figures> {
    let available = available_mib()?;
    let mib = mib.min(available / 4).max(1);
    let words = usize::try_from(mib * MIB / 8).map_err(io::Error::other)?;
    let mut memory: Vec<u64> = Vec::new();
    memory.try_reserve_exact(words).map_err(io::Error::other)?;
    memory.resize(words, 0);
    let (begun, end_after) = (Instant::now(), Duration::from_secs(seconds));
    let (mut passes, mut mismatches) = (0, 0);
    // Pattern and inverse, at least once.
    while passes < 2 || begun.elapsed() < end_after {
        let flip = if passes % 2 == 0 { 0 } else { u64::MAX };
        let seed = scattered(passes / 2);
        for (word, place) in memory.iter_mut().zip(0_u64..) {
            *word = place.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ seed ^ flip;
        }
        mismatches += wrong(black_box(&memory), seed ^ flip);
        passes += 1;
    }
    let moved = mib.saturating_mul(MIB).saturating_mul(2 * passes);
    Ok(vec![
        ("memory-mib", mib),
        ("passes", passes),
        ("memory-mbps", mbps(moved, begun.elapsed())),
        ("mismatches", mismatches),
    ])
}

/// How many words are not what was written.
fn wrong(memory: &[u64], mask: u64) -> u64 {
    memory
        .iter()
        .zip(0_u64..)
        .map(|(word, place)| u64::from(*word != place.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ mask))
        .sum()
}

/// `MemAvailable:   12345 kB`.
fn available_mib() -> io::Result<u64> {
    let text = crate::text::read(std::path::Path::new("/proc/meminfo"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.map(|kib| kib / 1024).ok_or_else(|| io::Error::other("/proc/meminfo has no MemAvailable"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flipped_bit_is_seen() {
        let mut memory: Vec<u64> = (0..1000).map(|place: u64| place.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 5).collect();
        assert_eq!(wrong(&memory, 5), 0);
        memory[777] ^= 1 << 33;
        assert_eq!(wrong(&memory, 5), 1);
    }
}
