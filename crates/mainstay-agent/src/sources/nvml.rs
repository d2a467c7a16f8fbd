//! NVML: a thread that opens the library, polls every GPU every ten seconds and waits for events in between. A call that
//! hangs blocks this thread only; its heartbeat shows it.
//!
//! While NVML is open, no tool can unload the driver, reset a GPU or enable MIG. So the source closes NVML and unloads the
//! library on request (`nvml_session.rs`), when another tool prepares to unload the driver (`unload_signals.rs`), when a
//! GPU needs a reset, is lost or waits for a MIG mode, and at shutdown. It opens NVML again by itself, but not while the
//! driver's module is unloaded: NVML would load it again (nvidia-modprobe(1)) during another tool's maintenance.

mod ffi;
mod gpu;
mod inventory;
mod nvml_session;
mod polling;
mod snapshot;
mod unload_signals;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mainstay_model::PciAddress;
use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper_sys::bindings as sys;
use rustix::time::ClockId;
use tokio::sync::mpsc;

pub(crate) use ffi::end_at_once;
pub use nvml_session::{Activity, NvmlSession, RELEASE_MAX};
pub use snapshot::{GpuStatus, Listing, MigStatus, NvmlVersions, XidEvent};

use super::{Heartbeat, PollResult, SourceError, SourceMessage, SourceName, pcie};
use crate::settings::{HoldMode, Settings};
use inventory::listen;
use unload_signals::{DriverFiles, DriverState};

/// How long one call, or the calls for one GPU, may take. A GPU that nobody keeps initialised takes seconds to open.
const CALL_LIMIT: Duration = Duration::from_secs(20);

/// One wait for events: an order to let go is seen within this time, because a wait cannot be ended from outside.
const WAIT: Duration = Duration::from_millis(500);

/// While NVML is closed, files are looked at this often.
const REST: Duration = Duration::from_millis(500);

/// After a sign that a GPU is about to be reset, NVML is closed for so long; then it is opened for one look, and closed again
/// while the sign stands.
const SIGN_AWAY: Duration = Duration::from_secs(10);

/// How long a sign that the driver is about to go is believed. Somebody may just have ended the persistence daemon for good.
const GOES_WITHIN: Duration = Duration::from_mins(5);

/// A driver that was just loaded is left alone for a moment: its devices are still being made.
const SETTLE: Duration = Duration::from_secs(3);

/// More GPUs than a report takes are not looked at.
const GPUS_MAX: u32 = 16;

/// Events in one message: a storm of them must not become a storm of messages.
const EVENTS_MAX: usize = 256;

/// The bus changes seldom, and reading it takes two files a device: every so many looks.
const BUS_EVERY: u32 = 30;

const XID: u64 = sys::nvmlEventTypeXidCriticalError as u64;
const RECOVERY_ACTION: u64 = sys::nvmlEventTypeGpuRecoveryAction as u64;

/// Why the NVML source closes the library.
enum CloseReason {
    /// Somebody asked for it.
    Asked,
    /// One look was all.
    Looked,
    /// The driver is about to go.
    Goes,
    /// A GPU is about to be reset, or should be.
    Reset,
    /// There are other GPUs than there were.
    Changed,
    /// It could not be.
    Failed(SourceError),
}

/// The source.
struct Source {
    library: OsString,
    every: Duration,
    hold: HoldMode,
    watts: Option<u32>,
    sys: PathBuf,
    signs: DriverFiles,
    guest: NvmlSession,
    said: mpsc::Sender<SourceMessage>,
    /// When the driver was first seen loaded, after it was not.
    loaded_at: Option<Instant>,
    was_unloaded: bool,
    /// The driver when it was last seen loaded in this life of the agent.
    last_loaded: Option<DriverState>,
    /// Until when NVML is left alone, whoever wakes the thread.
    away_until: Option<Instant>,
    /// What was there before the driver began to go, and when.
    going: Option<(DriverState, Instant)>,
    told_at: Option<(Instant, String)>,
    /// Where GPUs were when they last answered.
    addresses: BTreeMap<u32, PciAddress>,
    /// Links that were up in this life of the agent.
    links_up: BTreeSet<(PciAddress, u16)>,
    bound: Vec<PciAddress>,
    looks: u32,
}

/// Starts the source.
///
/// # Errors
/// Where no thread can be had.
pub fn start(
    settings: &Settings,
    guest: NvmlSession,
    said: mpsc::Sender<SourceMessage>,
) -> std::io::Result<Arc<Heartbeat>> {
    let mut source = Source {
        library: settings.nvml.clone(),
        every: settings.nvml_every,
        hold: settings.nvml_hold,
        watts: settings.gpu_watts,
        sys: settings.sys.clone(),
        signs: DriverFiles::new(&settings.sys, &settings.root),
        guest,
        said,
        loaded_at: None,
        was_unloaded: false,
        last_loaded: None,
        away_until: None,
        going: None,
        told_at: None,
        addresses: BTreeMap::new(),
        links_up: BTreeSet::new(),
        bound: Vec::new(),
        looks: 0,
    };
    Heartbeat::spawn(SourceName::Nvml.word(), CALL_LIMIT, move |pulse| {
        source.guest.here();
        while !source.is_over() {
            let away = source.visit(pulse);
            std::thread::park_timeout(away);
        }
    })
}

// === impl Source ===

impl Source {
    fn is_over(&self) -> bool {
        self.guest.ends() || self.said.is_closed()
    }

    /// One stay, or none. Answers how long to stay away.
    fn visit(&mut self, pulse: &Heartbeat) -> Duration {
        if let Some(left) = self.guest.released_for() {
            self.excuse(SourceError::partial("NVML is closed by `mainstay-agent release`"));
            return left.min(REST);
        }
        if let Some(left) = self.away_until.and_then(|until| until.checked_duration_since(Instant::now())) {
            return left;
        }
        let seen = self.signs.look();
        if !seen.loaded() {
            (self.was_unloaded, self.loaded_at, self.going) = (true, None, None);
            self.not_loaded();
            return REST;
        }
        let loaded_at = *self.loaded_at.get_or_insert_with(Instant::now);
        if self.was_unloaded && loaded_at.elapsed() < SETTLE {
            return REST;
        }
        if let Some((before, since)) = &self.going {
            if !seen.is_reloaded(before) && seen.is_unloading(before) && since.elapsed() < GOES_WITHIN {
                self.excuse(SourceError::partial("NVML is closed: the driver is about to be unloaded"));
                return REST;
            }
            self.going = None;
        }
        if self.last_loaded.as_ref().is_some_and(|before| self.was_unloaded || seen.is_reloaded(before)) {
            self.guest.driver_restarted();
        }
        self.last_loaded = Some(seen.clone());
        self.was_unloaded = false;
        if !self.guest.opening() {
            return Duration::ZERO;
        }
        let begun = Instant::now();
        let left = self.stay(&seen, pulse);
        self.guest.closed();
        let away = match left {
            CloseReason::Asked => Duration::ZERO,
            CloseReason::Looked => self.every.saturating_sub(begun.elapsed()),
            CloseReason::Goes => {
                self.going = Some((seen, Instant::now()));
                REST
            }
            CloseReason::Reset => SIGN_AWAY,
            CloseReason::Changed => REST,
            CloseReason::Failed(trouble) => {
                self.say(PollResult { trouble: Some(trouble), ..PollResult::default() });
                self.every
            }
        };
        self.away_until = Some(Instant::now() + away);
        away
    }

    /// A call that may hang, its time on the processor counted.
    fn call<T>(&self, pulse: &Heartbeat, doing: Activity, work: impl FnOnce() -> T) -> T {
        self.guest.does(doing);
        let begun = cpu();
        let done = pulse.track(work);
        self.guest.spent(cpu().saturating_sub(begun));
        self.guest.does(Activity::Resting);
        done
    }

    /// Opens NVML, stays as long as it may, and closes it.
    fn stay(&mut self, seen: &DriverState, pulse: &Heartbeat) -> CloseReason {
        let opened = self.call(pulse, Activity::Opening, || Nvml::builder().lib_path(&self.library).init());
        let nvml = match opened {
            Ok(nvml) => nvml,
            Err(error) => return CloseReason::Failed(self.no_nvml(&error)),
        };
        let left = self.attend(&nvml, seen, pulse);
        // What cannot be closed is closed when the process ends; there is nothing else to be done about it.
        let _ = self.call(pulse, Activity::Closing, || nvml.shutdown());
        left
    }

    /// Looks and listens.
    fn attend(&mut self, nvml: &Nvml, seen: &DriverState, pulse: &Heartbeat) -> CloseReason {
        let mut met = match self.open_gpus(nvml, pulse) {
            Ok(met) => met,
            Err(error) => return CloseReason::Failed(self.no_nvml(&error)),
        };
        // Before the first look, so that nothing happens between the two unseen.
        let set = match self.hold {
            HoldMode::Events => self.call(pulse, Activity::Meeting(0), || listen(nvml, &met)),
            HoldMode::Nothing => None,
        };
        loop {
            let begun = Instant::now();
            match self.look(&mut met, pulse) {
                Ok(ResetHint::None) => {}
                Ok(ResetHint::Reset) => return CloseReason::Reset,
                Err(left) => return left,
            }
            if self.hold == HoldMode::Nothing {
                return CloseReason::Looked;
            }
            while begun.elapsed() < self.every {
                if self.guest.close_requested() || self.is_over() {
                    return CloseReason::Asked;
                }
                if self.signs.look().is_unloading(seen) {
                    return CloseReason::Goes;
                }
                let wait = WAIT.min(self.every.saturating_sub(begun.elapsed()));
                match self.wait_for_events(nvml, set.as_ref(), &met, wait, pulse) {
                    Ok(ResetHint::None) => {}
                    Ok(ResetHint::Reset) => return CloseReason::Reset,
                    // A look tells which GPU is lost.
                    Err(NvmlError::GpuLost | NvmlError::ResetRequired) => {
                        return self.look(&mut met, pulse).err().unwrap_or(CloseReason::Reset);
                    }
                    Err(error) => return CloseReason::Failed(self.no_nvml(&error)),
                }
            }
            let count = self.call(pulse, Activity::Meeting(0), || nvml.device_count());
            if count.is_ok_and(|count| count != met.listed) {
                return CloseReason::Changed;
            }
        }
    }

    fn say(&mut self, round: PollResult) {
        let trouble = round.trouble.as_ref().map(|trouble| trouble.what.clone()).unwrap_or_default();
        self.told_at = Some((Instant::now(), trouble));
        let _ = self.said.blocking_send(SourceMessage::Round(SourceName::Nvml, Box::new(round)));
    }

    /// Says why there is nothing to say: at once, and then as often as there would be.
    fn excuse(&mut self, trouble: SourceError) {
        let told = |(at, what): &(Instant, String)| *what == trouble.what && at.elapsed() < self.every;
        if !self.told_at.as_ref().is_some_and(told) {
            self.say(PollResult { trouble: Some(trouble), ..PollResult::default() });
        }
    }

    /// A node without NVIDIA GPUs on its bus is not a node whose GPUs cannot be read.
    fn not_loaded(&mut self) {
        const NOT_LOADED: &str = "the NVIDIA driver is not loaded (no module/nvidia in sysfs)";
        let fresh = |(at, what): &(Instant, String)| at.elapsed() < self.every && [NOT_LOADED, ""].contains(&&**what);
        if self.told_at.as_ref().is_some_and(fresh) {
            return;
        }
        let trouble = (!pcie::gpus(&self.sys).is_empty()).then(|| SourceError::blind(NOT_LOADED));
        self.say(PollResult { trouble, ..PollResult::default() });
    }

    /// Why NVML could not be opened.
    fn no_nvml(&self, error: &NvmlError) -> SourceError {
        if let NvmlError::LibloadingError(error) = error {
            return SourceError::blind(format!(
                "NVML library not found at {}: {error}",
                self.library.to_string_lossy()
            ));
        }
        SourceError::blind(format!("{}: {error}", self.library.to_string_lossy()))
    }
}

/// Whether a poll or an event indicates that a GPU needs a reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResetHint {
    None,
    Reset,
}

/// The time that this thread has been on a processor.
fn cpu() -> Duration {
    let time = rustix::time::clock_gettime(ClockId::ThreadCPUTime);
    let (seconds, nanos) = (u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0));
    Duration::new(seconds, nanos)
}

#[cfg(test)]
mod tests;
