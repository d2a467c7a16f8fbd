//! Tracks whether this process has NVML open, and for how long a caller asked for it to be closed. The source's thread,
//! the daemon and the shutdown code share these atomics without a lock, so a hanging NVML call blocks only its own
//! thread.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// The longest that an order to let go lasts: who needs longer switches the source off or asks again.
pub const RELEASE_MAX: Duration = Duration::from_hours(1);

/// Whether NVML is open anywhere in this process; the end of the process looks at it.
static OPEN: AtomicBool = AtomicBool::new(false);

/// The NVML call in progress, to show where the thread hangs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// Nothing of NVML.
    Resting,
    /// `nvmlInit`, the library's loading included.
    Opening,
    /// What identifies a GPU.
    Meeting(u32),
    /// One GPU's states and counters.
    Reading(u32),
    /// Waiting for an event.
    Waiting,
    /// `nvmlShutdown`, and the library's unloading.
    Closing,
}

/// Shared state of the NVML thread and the callers that ask it to close the library.
#[derive(Debug, Clone)]
pub struct NvmlSession(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    epoch: Instant,
    /// Milliseconds of the epoch until which NVML is to stay closed by order.
    released_until: AtomicU64,
    ends: AtomicBool,
    open: AtomicBool,
    doing: AtomicU8,
    gpu: AtomicU32,
    opened: AtomicU64,
    driver_restarts: AtomicU64,
    cpu_nanos: AtomicU64,
    thread: OnceLock<Thread>,
}

// === impl Activity ===

impl Activity {
    const fn code(self) -> (u8, u32) {
        match self {
            Self::Resting => (0, 0),
            Self::Opening => (1, 0),
            Self::Meeting(gpu) => (2, gpu),
            Self::Reading(gpu) => (3, gpu),
            Self::Waiting => (4, 0),
            Self::Closing => (5, 0),
        }
    }

    /// In words.
    #[must_use]
    pub fn words(self) -> String {
        match self {
            Self::Resting => "idle".to_owned(),
            Self::Opening => "nvmlInit".to_owned(),
            Self::Meeting(gpu) => format!("identity of GPU {gpu}"),
            Self::Reading(gpu) => format!("states and counters of GPU {gpu}"),
            Self::Waiting => "nvmlEventSetWait".to_owned(),
            Self::Closing => "nvmlShutdown".to_owned(),
        }
    }
}

// === impl NvmlSession ===

impl Default for NvmlSession {
    fn default() -> Self {
        Self::new()
    }
}

impl NvmlSession {
    /// Creates a session with NVML closed and no release requested.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(Shared {
            epoch: Instant::now(),
            released_until: AtomicU64::new(0),
            ends: AtomicBool::new(false),
            open: AtomicBool::new(false),
            doing: AtomicU8::new(0),
            gpu: AtomicU32::new(0),
            opened: AtomicU64::new(0),
            driver_restarts: AtomicU64::new(0),
            cpu_nanos: AtomicU64::new(0),
            thread: OnceLock::new(),
        }))
    }

    /// Whether NVML is open somewhere in this process.
    #[must_use]
    pub fn open_anywhere() -> bool {
        OPEN.load(Ordering::SeqCst)
    }

    // === for who asks ===

    /// NVML is to be closed, and to stay closed for so long.
    pub fn release(&self, length: Duration) {
        let until = self.now() + millis(length.min(RELEASE_MAX)).max(1);
        self.0.released_until.store(until, Ordering::SeqCst);
        self.wake();
    }

    /// An order to let go is over.
    pub fn hold(&self) {
        self.0.released_until.store(0, Ordering::SeqCst);
        self.wake();
    }

    /// NVML is to be closed for good: the process ends.
    pub fn end(&self) {
        self.0.ends.store(true, Ordering::SeqCst);
        self.wake();
    }

    /// Whether NVML is closed: nothing of ours is in the way of anybody.
    #[must_use]
    pub fn is_free(&self) -> bool {
        !self.0.open.load(Ordering::SeqCst)
    }

    /// What the thread does.
    #[must_use]
    pub fn doing(&self) -> Activity {
        let gpu = self.0.gpu.load(Ordering::Relaxed);
        match self.0.doing.load(Ordering::Relaxed) {
            1 => Activity::Opening,
            2 => Activity::Meeting(gpu),
            3 => Activity::Reading(gpu),
            4 => Activity::Waiting,
            5 => Activity::Closing,
            _ => Activity::Resting,
        }
    }

    /// How long the order to let go lasts still.
    #[must_use]
    pub fn released_for(&self) -> Option<Duration> {
        let left = self.0.released_until.load(Ordering::SeqCst).saturating_sub(self.now());
        (left > 0).then(|| Duration::from_millis(left))
    }

    /// How often NVML was opened.
    #[must_use]
    pub fn opened(&self) -> u64 {
        self.0.opened.load(Ordering::Relaxed)
    }

    /// How often the driver was loaded again since the agent started.
    #[must_use]
    pub fn driver_restarts(&self) -> u64 {
        self.0.driver_restarts.load(Ordering::Relaxed)
    }

    /// How much time of a processor was spent within NVML, by the thread's own clock.
    #[must_use]
    pub fn cpu(&self) -> Duration {
        Duration::from_nanos(self.0.cpu_nanos.load(Ordering::Relaxed))
    }

    fn wake(&self) {
        if let Some(thread) = self.0.thread.get() {
            thread.unpark();
        }
    }

    // === for the source ===

    /// The calling thread is the one to be woken.
    pub(super) fn here(&self) {
        let _ = self.0.thread.set(std::thread::current());
    }

    /// Whether NVML must not be open.
    pub(super) fn close_requested(&self) -> bool {
        self.ends() || self.released_for().is_some()
    }

    pub(super) fn ends(&self) -> bool {
        self.0.ends.load(Ordering::SeqCst)
    }

    /// NVML is about to be opened; refused while somebody asked for the contrary. Who asks either is seen here, or sees
    /// here that it is open and waits.
    pub(super) fn opening(&self) -> bool {
        self.set_open(true);
        if self.close_requested() {
            self.set_open(false);
            return false;
        }
        self.0.opened.fetch_add(1, Ordering::Relaxed);
        true
    }

    /// The driver was loaded again.
    pub(super) fn driver_restarted(&self) {
        self.0.driver_restarts.fetch_add(1, Ordering::Relaxed);
    }

    /// NVML is closed.
    pub(super) fn closed(&self) {
        self.set_open(false);
    }

    fn set_open(&self, open: bool) {
        OPEN.store(open, Ordering::SeqCst);
        self.0.open.store(open, Ordering::SeqCst);
    }

    pub(super) fn does(&self, doing: Activity) {
        let (code, gpu) = doing.code();
        self.0.gpu.store(gpu, Ordering::Relaxed);
        self.0.doing.store(code, Ordering::Relaxed);
    }

    pub(super) fn spent(&self, cpu: Duration) {
        self.0.cpu_nanos.fetch_add(u64::try_from(cpu.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    fn now(&self) -> u64 {
        millis(self.0.epoch.elapsed())
    }
}

fn millis(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_keeps_nvml_closed_for_its_time_and_no_longer_than_an_hour() {
        let guest = NvmlSession::new();
        assert!(guest.opening());
        assert!(!guest.is_free());
        guest.closed();
        guest.release(Duration::from_hours(100));
        assert!(guest.released_for().is_some_and(|left| left <= RELEASE_MAX));
        assert!(!guest.opening());
        assert!(guest.is_free());
        guest.hold();
        assert!(guest.opening());
        guest.release(Duration::ZERO);
        std::thread::park_timeout(Duration::from_millis(20));
        assert!(!guest.close_requested());
        guest.end();
        assert!(guest.close_requested());
    }
}
