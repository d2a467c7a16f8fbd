//! Runs independent work on two threads and returns the results in order.

use std::sync::atomic::{AtomicU64, Ordering};

/// Work that runs at the same time.
const THREADS: usize = 2;

/// `work` of each of `0..count`.
pub(super) fn parallel_map<T: Send>(count: u64, work: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let next = AtomicU64::new(0);
    let mut done: Vec<(u64, T)> = std::thread::scope(|scope| {
        let take = || {
            let mut mine = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return mine;
                }
                mine.push((number, work(number)));
            }
        };
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(take)).collect();
        // A thread that panicked has failed an assertion, so the proof fails too.
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().flat_map(join).collect()
    });
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_is_done_once_and_in_order() {
        let squares = parallel_map(1_000, |number| number * number);
        assert!(squares.into_iter().eq((0..1_000).map(|number| number * number)));
    }
}
