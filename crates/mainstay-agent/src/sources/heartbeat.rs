//! Progress of a worker thread that may hang. The watchdog reads it without a lock, so a hanging thread cannot block the
//! watchdog.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Start of the current work of a thread, and the number of completed rounds.
#[derive(Debug)]
pub struct Heartbeat {
    name: &'static str,
    limit: Duration,
    epoch: Instant,
    /// Milliseconds since the epoch, plus one; zero while it rests.
    busy_since: AtomicU64,
    rounds: AtomicU64,
    ended: AtomicBool,
}

// === impl Heartbeat ===

impl Heartbeat {
    /// Starts a thread that has a pulse.
    ///
    /// # Errors
    /// Where no thread can be had.
    pub fn spawn(
        name: &'static str,
        limit: Duration,
        work: impl FnOnce(&Heartbeat) + Send + 'static,
    ) -> std::io::Result<Arc<Self>> {
        let pulse = Arc::new(Self {
            name,
            limit,
            epoch: Instant::now(),
            busy_since: AtomicU64::new(0),
            rounds: AtomicU64::new(0),
            ended: AtomicBool::new(false),
        });
        let its = ExitGuard(Arc::clone(&pulse));
        // Names of threads have 15 bytes; ours are shorter.
        std::thread::Builder::new().name(name.to_owned()).spawn(move || work(&its.0))?;
        Ok(pulse)
    }

    /// Whose it is.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Work that may hang.
    pub fn track<T>(&self, work: impl FnOnce() -> T) -> T {
        let now = u64::try_from(self.epoch.elapsed().as_millis()).unwrap_or(u64::MAX - 1);
        self.busy_since.store(now + 1, Ordering::Relaxed);
        let done = work();
        self.busy_since.store(0, Ordering::Relaxed);
        self.rounds.fetch_add(1, Ordering::Relaxed);
        done
    }

    /// Whether it hangs, or ended although nobody asked it to.
    #[must_use]
    pub fn stalled(&self) -> bool {
        if self.ended.load(Ordering::Relaxed) {
            return true;
        }
        match self.busy_since.load(Ordering::Relaxed) {
            0 => false,
            since => self.epoch.elapsed().saturating_sub(Duration::from_millis(since - 1)) > self.limit,
        }
    }

    /// How often it came back.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        self.rounds.load(Ordering::Relaxed)
    }
}

/// Records the end of a thread when dropped, also after a panic.
struct ExitGuard(Arc<Heartbeat>);

impl Drop for ExitGuard {
    fn drop(&mut self) {
        self.0.ended.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn wait_until(what: impl Fn() -> bool) {
        let begun = Instant::now();
        while !what() {
            assert!(begun.elapsed() < Duration::from_secs(10));
            std::thread::park_timeout(Duration::from_millis(5));
        }
    }

    #[test]
    fn who_does_not_come_back_hangs_and_who_does_is_well_again() {
        let (go, wait) = mpsc::channel::<()>();
        let (rest, resting) = mpsc::channel::<()>();
        let pulse = Heartbeat::spawn("test", Duration::from_millis(20), move |pulse| {
            pulse.track(|| wait.recv()).unwrap();
            resting.recv().unwrap_err();
        });
        let pulse = pulse.unwrap();
        wait_until(|| pulse.stalled());
        go.send(()).unwrap();
        wait_until(|| !pulse.stalled());
        assert_eq!(pulse.rounds(), 1);
        drop(rest);
        wait_until(|| pulse.stalled());
    }
}
