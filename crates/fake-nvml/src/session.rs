//! State of the library within one process: its users, the state it last read, and the checks before every call. No
//! lock is held while a call hangs or waits, so a hanging call does not block other callers.

#![expect(clippy::disallowed_types, reason = "callers are threads of C programs; there is no executor to hold up")]

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::hint::spin_loop;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::events::EventSet;
use crate::files::{self, Access, STATE_NAME, STATE_VARIABLE, Stamp};
use crate::handle::{Handle, Kind};
use crate::holders::{Holder, HolderFile};
use crate::return_codes::{
    DRIVER_NOT_LOADED, Failure, GPU_IS_LOST, INVALID_ARGUMENT, MEMORY, NvmlResult, UNINITIALIZED, UNKNOWN,
};
use crate::snapshot::Snapshot;
use crate::state::{HangMode, Module, State};
use crate::watch::{WakeSignal, Watch};

/// A process needs one.
const EVENT_SETS_MAX: usize = 64;
/// How long a call that burns a core does so between two looks at the script.
const SPIN: Duration = Duration::from_millis(1);

/// Who has the library open in this process.
#[derive(Debug)]
struct Session {
    inits: u64,
    /// Rises with every last `nvmlShutdown`.
    life: u16,
    gpus: BTreeSet<u32>,
    event_sets: BTreeMap<u16, Arc<Mutex<EventSet>>>,
    next_set: u16,
    /// Calls that have not returned. The driver is held until the last of them has, as an `ioctl` keeps its file open.
    calls: u64,
    mark: Option<HolderFile>,
    /// Wakes those who wait for events when the library is shut down.
    bell: Arc<WakeSignal>,
}

static SESSION: LazyLock<Mutex<Session>> = LazyLock::new(|| {
    Mutex::new(Session {
        inits: 0,
        life: 1,
        gpus: BTreeSet::new(),
        event_sets: BTreeMap::new(),
        next_set: 1,
        calls: 0,
        mark: None,
        bell: Arc::new(WakeSignal::new()),
    })
});

static READ: Mutex<Option<(Stamp, Arc<State>)>> = Mutex::new(None);

fn session() -> MutexGuard<'static, Session> {
    SESSION.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where the state file is, decided once: the variable, else beside the library.
pub(crate) fn state_file() -> NvmlResult<&'static Path> {
    static FILE: OnceLock<Option<PathBuf>> = OnceLock::new();
    let find = || env::var_os(STATE_VARIABLE).map(PathBuf::from).or_else(beside_library);
    FILE.get_or_init(find).as_deref().ok_or(UNKNOWN)
}

/// The kernel's own list says which file this code was loaded from.
fn beside_library() -> Option<PathBuf> {
    let here = (beside_library as fn() -> Option<PathBuf>) as usize;
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let line = maps.lines().find(|line| {
        let ends = line.split_once(' ').and_then(|(range, _)| range.split_once('-'));
        let ends = ends
            .and_then(|(from, to)| Some(usize::from_str_radix(from, 16).ok()?..usize::from_str_radix(to, 16).ok()?));
        ends.is_some_and(|range| range.contains(&here))
    })?;
    let library = line.get(line.find('/')?..)?;
    Some(Path::new(library).with_file_name(STATE_NAME))
}

/// The state as the file says now; read again only when the file is another.
pub(crate) fn state() -> NvmlResult<Arc<State>> {
    let path = state_file()?;
    let stamp = Stamp::of(path).map_err(|_| UNKNOWN)?;
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((known, state)) = &*read
        && *known == stamp
    {
        return Ok(Arc::clone(state));
    }
    match files::read(path) {
        Ok(state) => {
            let state = Arc::new(state);
            *read = Some((stamp, Arc::clone(&state)));
            Ok(state)
        }
        Err(problem) => {
            // The one place where a person who writes the file by hand can learn what is wrong with it.
            let _ = fs::write(files::beside(path, "problem"), format!("{problem}\n"));
            Err(UNKNOWN)
        }
    }
}

/// A call under way.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) life: u16,
    pub(crate) bell: Arc<WakeSignal>,
}

impl Call {
    fn begin() -> NvmlResult<Self> {
        let mut session = session();
        if session.inits == 0 {
            return Err(UNINITIALIZED);
        }
        session.calls += 1;
        Ok(Self { life: session.life, bell: Arc::clone(&session.bell) })
    }

    /// Whether the library was shut down meanwhile.
    pub(crate) fn still(&self) -> NvmlResult {
        let session = session();
        if session.life == self.life && session.inits > 0 { Ok(()) } else { Err(UNINITIALIZED) }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let mut session = session();
        session.calls -= 1;
        if session.inits == 0 && session.calls == 0 {
            session.mark = None;
        }
    }
}

/// What the script does to a call before it begins: hang, fail.
fn suffer(symbol: &str, gpu: Option<u32>) -> NvmlResult<Arc<State>> {
    let mut watch = None;
    loop {
        let state = state()?;
        let moment = Snapshot::now(&state);
        let Some((manner, until_ms)) = moment.hangs(symbol, gpu) else {
            let error = moment.error(symbol, gpu);
            return error.map_or(Ok(state), |code| Err(Failure(code)));
        };
        match manner {
            HangMode::Sleep => {
                // A watch begins before the state is read again, so that no change falls between.
                if let Some(watch) = &watch {
                    let length = until_ms.map(|until| Duration::from_millis(until.saturating_sub(moment.now_ms)));
                    Watch::wait(watch, None, length.map(|length| Instant::now() + length));
                } else {
                    watch = Some(Watch::over(state_file()?));
                }
            }
            HangMode::Spin => {
                let until = Instant::now() + SPIN;
                while Instant::now() < until {
                    spin_loop();
                }
            }
        }
    }
}

/// A call that is about no GPU.
pub(crate) fn call(symbol: &str, act: impl FnOnce(&Call, &Snapshot<'_>) -> NvmlResult) -> NvmlResult {
    let call = Call::begin()?;
    let state = suffer(symbol, None)?;
    call.still()?;
    let moment = Snapshot::now(&state);
    if moment.module() == Module::Unloaded {
        return Err(DRIVER_NOT_LOADED);
    }
    act(&call, &moment)
}

/// A call that asks nothing of the driver, such as one that gives something back: it works without one too.
pub(crate) fn local_call(symbol: &str, act: impl FnOnce(&Call) -> NvmlResult) -> NvmlResult {
    let call = Call::begin()?;
    suffer(symbol, None)?;
    call.still()?;
    act(&call)
}

/// A call about a device.
pub(crate) fn device_call<T>(
    symbol: &str,
    device: *mut T,
    act: impl FnOnce(&Call, &Snapshot<'_>, Handle) -> NvmlResult,
) -> NvmlResult {
    let call = Call::begin()?;
    let handle = Handle::of(device, Kind::Device, call.life)?;
    let gpu = u32::from(handle.index);
    let state = suffer(symbol, Some(gpu))?;
    call.still()?;
    let moment = Snapshot::now(&state);
    if moment.module() == Module::Unloaded {
        return Err(DRIVER_NOT_LOADED);
    }
    if moment.is_lost(gpu) {
        return Err(GPU_IS_LOST);
    }
    act(&call, &moment, handle)
}

/// `nvmlInit`: once more.
pub(crate) fn init(symbol: &str) -> NvmlResult {
    suffer(symbol, None)?;
    // Whoever takes the driver away has this lock alone: either they find our mark, or we find the driver gone.
    let _lock = files::lock(state_file()?, Access::Shared).map_err(|_| UNKNOWN)?;
    let state = state()?;
    if Snapshot::now(&state).module() == Module::Unloaded {
        return Err(DRIVER_NOT_LOADED);
    }
    let mut session = session();
    session.inits += 1;
    session.tell().inspect_err(|_| session.inits -= 1)
}

/// `nvmlShutdown`: once less. The last one lets go.
pub(crate) fn shutdown(symbol: &str) -> NvmlResult {
    // It asks nothing of the driver, so that a script may stop it but a missing driver does not.
    let call = Call::begin()?;
    suffer(symbol, None)?;
    let mut session = session();
    if session.inits == 0 {
        return Err(UNINITIALIZED);
    }
    session.inits -= 1;
    if session.inits == 0 {
        session.life = session.life.wrapping_add(1);
        session.gpus.clear();
        session.event_sets.clear();
        session.bell.ring();
        session.bell = Arc::new(WakeSignal::new());
        // A library that is unloaded takes what it allocated out of nobody's memory.
        *READ.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
    // While another call hangs, the mark stays, with nothing open.
    let told = session.tell();
    drop(session);
    drop(call);
    told
}

/// Opens a GPU: from here on this process is in the way of a reset.
pub(crate) fn open(call: &Call, gpu: u32) -> NvmlResult {
    if session().gpus.contains(&gpu) {
        return Ok(());
    }
    let _lock = files::lock(state_file()?, Access::Shared).map_err(|_| UNKNOWN)?;
    if Snapshot::now(&*state()?).module() == Module::Unloaded {
        return Err(DRIVER_NOT_LOADED);
    }
    call.still()?;
    let mut session = session();
    session.gpus.insert(gpu);
    session.tell()
}

/// A new event set.
pub(crate) fn new_event_set(call: &Call) -> NvmlResult<Handle> {
    let mut session = session();
    if session.event_sets.len() >= EVENT_SETS_MAX {
        return Err(MEMORY);
    }
    let index = session.next_set;
    session.next_set = index.wrapping_add(1);
    session.event_sets.insert(index, Arc::default());
    session.tell()?;
    Ok(Handle { kind: Kind::EventSet, life: call.life, index, part: 0 })
}

/// An event set, to be locked by who uses it.
pub(crate) fn event_set<T>(call: &Call, set: *mut T) -> NvmlResult<Arc<Mutex<EventSet>>> {
    let handle = Handle::of(set, Kind::EventSet, call.life)?;
    session().event_sets.get(&handle.index).cloned().ok_or(INVALID_ARGUMENT)
}

/// The end of an event set.
pub(crate) fn free_event_set<T>(call: &Call, set: *mut T) -> NvmlResult {
    let handle = Handle::of(set, Kind::EventSet, call.life)?;
    let mut session = session();
    session.event_sets.remove(&handle.index).ok_or(INVALID_ARGUMENT)?;
    session.tell()
}

impl Session {
    /// Writes into the mark what this process holds; makes it, where there is none yet.
    fn tell(&mut self) -> NvmlResult {
        let holder = Holder {
            pid: process::id(),
            inits: self.inits,
            gpus: self.gpus.iter().copied().collect(),
            event_sets: u64::try_from(self.event_sets.len()).unwrap_or(u64::MAX),
        };
        let told = match &mut self.mark {
            Some(mark) => mark.update(&holder),
            None => {
                HolderFile::make(state_file()?, &raw const SESSION as usize, &holder).map(|mark| self.mark = Some(mark))
            }
        };
        told.map_err(|_| UNKNOWN)
    }
}
