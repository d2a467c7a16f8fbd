//! Every processor computes the same thing: whole numbers and floats, whose bits are the same on every machine because only
//! operations are used that IEEE 754 rounds in one way. Speed is by the thread's own clock, so that others at work do not count.

use std::hint::black_box;
use std::io;
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

use super::{Figures, scattered};

/// One round takes about a millisecond.
const STEPS: u64 = 50_000;

/// What a round comes to.
const ANSWER: u64 = 0x649e_b6b2_fdc1_8f51;

/// Rounds, mismatches and busy time of one processor.
struct CoreResult {
    rounds: u64,
    mismatches: u64,
    busy: Duration,
}

pub(super) fn run(seconds: u64) -> io::Result<Figures> {
    let end_at = Instant::now() + Duration::from_secs(seconds);
    let allowed = sched_getaffinity(None)?;
    let cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect();
    let threads: Vec<_> = cpus
        .iter()
        .map(|cpu| {
            let cpu = *cpu;
            std::thread::Builder::new().spawn(move || on(cpu, end_at))
        })
        .collect::<io::Result<_>>()?;
    let mut all = Vec::with_capacity(threads.len());
    for thread in threads {
        all.push(thread.join().map_err(|_| io::Error::other("a thread ended"))??);
    }
    // Rounds in a second of processor time.
    let mut speeds: Vec<u64> = all
        .iter()
        .map(|did| {
            did.rounds.saturating_mul(1_000_000) / u64::try_from(did.busy.as_micros()).unwrap_or(u64::MAX).max(1)
        })
        .collect();
    speeds.sort_unstable();
    let (slowest, middle) =
        (speeds.first().copied().unwrap_or(0), speeds.get(speeds.len() / 2).copied().unwrap_or(0).max(1));
    Ok(vec![
        ("cpus", u64::try_from(all.len()).unwrap_or(u64::MAX)),
        ("rounds", all.iter().map(|did| did.rounds).sum()),
        ("rounds-per-cpu-second", middle),
        ("slowest-percent", slowest.saturating_mul(100) / middle),
        ("mismatches", all.iter().map(|did| did.mismatches).sum()),
    ])
}

/// On one processor, at least one round.
fn on(cpu: usize, end_at: Instant) -> io::Result<CoreResult> {
    let mut only = CpuSet::new();
    only.set(cpu);
    sched_setaffinity(None, &only)?;
    let began = busy()?;
    let mut did = CoreResult { rounds: 0, mismatches: 0, busy: Duration::ZERO };
    while did.rounds == 0 || Instant::now() < end_at {
        did.rounds += 1;
        did.mismatches += u64::from(round(black_box(STEPS)) != ANSWER);
    }
    did.busy = busy()?.saturating_sub(began);
    Ok(did)
}

fn busy() -> io::Result<Duration> {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).map_err(io::Error::other)
}

fn round(steps: u64) -> u64 {
    let (mut whole, mut float) = (0x0123_4567_89ab_cdef_u64, 1.0_f64);
    for step in 0..steps {
        whole = scattered(whole ^ step).rotate_left(7);
        // 1 to 2, so that nothing grows out of bounds.
        let factor = f64::from_bits(0x3ff0_0000_0000_0000 | (whole >> 12));
        float = (float * factor).sqrt() + 1.0 / (factor + float);
    }
    whole ^ float.to_bits()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_the_one_that_is_known_and_another_way_does_not_give_it() {
        assert_eq!(round(STEPS), ANSWER);
        assert_ne!(round(STEPS - 1), ANSWER);
    }

    #[test]
    fn every_processor_is_at_work_and_right() -> io::Result<()> {
        let figures = run(0)?;
        let told = |name| figures.iter().find(|(other, _)| *other == name).map(|(_, value)| *value);
        assert!(told("cpus") >= Some(1) && told("rounds") >= told("cpus"), "{figures:?}");
        assert_eq!(told("mismatches"), Some(0));
        Ok(())
    }
}
