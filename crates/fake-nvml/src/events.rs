//! Event sets: what a caller registered for, and what of it was told already. The script says what happens when.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use nvml_wrapper_sys::bindings as sys;

use crate::return_codes::{DRIVER_NOT_LOADED, GPU_IS_LOST, NOT_SUPPORTED, NvmlResult, TIMEOUT};
use crate::session::{self, Call};
use crate::snapshot::Snapshot;
use crate::state::{FaultId, Module};
use crate::watch::Watch;

/// A caller's registrations. Sizes follow from the script's own bounds.
#[derive(Debug, Default)]
pub(crate) struct EventSet {
    /// Kinds by GPU.
    registered: BTreeMap<u32, u64>,
    /// How many of a fault's events on a GPU are told, or were before anybody asked.
    told: BTreeMap<(FaultId, u32), u64>,
}

/// An event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) gpu: u32,
    pub(crate) kind: u64,
    pub(crate) data: u64,
    pub(crate) gpu_instance: Option<u32>,
}

impl EventSet {
    /// From now on; what happened before is not told.
    pub(crate) fn register(&mut self, moment: &Snapshot<'_>, gpu: u32, kinds: u64) -> NvmlResult {
        if kinds & !moment.event_kinds() != 0 {
            return Err(NOT_SUPPORTED);
        }
        let known = self.registered.entry(gpu).or_default();
        let fresh = kinds & !*known;
        *known |= kinds;
        for (fault, row, happened) in moment.rows().filter(|(fault, _, _)| fault.concerns(gpu)) {
            if row.kind & fresh != 0 {
                self.told.insert((fault.id, gpu), happened);
            }
        }
        Ok(())
    }

    /// The oldest event that is not told yet, which it now is.
    pub(crate) fn next(&mut self, moment: &Snapshot<'_>) -> Option<Event> {
        let mut oldest: Option<(u64, FaultId, u64, Event)> = None;
        for (fault, row, happened) in moment.rows() {
            for (gpu, _) in
                self.registered.iter().filter(|(gpu, kinds)| fault.concerns(**gpu) && row.kind & **kinds != 0)
            {
                let told = self.told.get(&(fault.id, *gpu)).copied().unwrap_or(0);
                if told >= happened {
                    continue;
                }
                let at = row.next_ms(fault, told).unwrap_or(fault.from_ms);
                if oldest.as_ref().is_none_or(|(oldest_at, ..)| at < *oldest_at) {
                    let event = Event { gpu: *gpu, kind: row.kind, data: row.data, gpu_instance: row.gpu_instance };
                    oldest = Some((at, fault.id, told, event));
                }
            }
        }
        let (_, id, told, mut event) = oldest?;
        self.told.insert((id, event.gpu), told + 1);
        if event.kind == u64::from(sys::nvmlEventTypeXidCriticalError) {
            event.data = last_xid(moment, event.gpu).unwrap_or(event.data);
        }
        Some(event)
    }

    /// Whether a GPU that it is about fell off the bus.
    fn has_lost(&self, moment: &Snapshot<'_>) -> bool {
        self.registered.keys().any(|gpu| moment.is_lost(*gpu))
    }
}

/// NVML keeps one XID per GPU: every XID event tells the last one.
fn last_xid(moment: &Snapshot<'_>, gpu: u32) -> Option<u64> {
    let xids = moment.rows().filter(|(fault, row, happened)| {
        fault.concerns(gpu) && row.kind == u64::from(sys::nvmlEventTypeXidCriticalError) && *happened > 0
    });
    let timed = xids.filter_map(|(fault, row, happened)| Some((row.next_ms(fault, happened - 1)?, row.data)));
    timed.max_by_key(|(at, _)| *at).map(|(_, data)| data)
}

/// `nvmlEventSetWait`: the next event, or why there is none.
pub(crate) fn wait<T>(call: &Call, set: *mut T, timeout: Duration) -> NvmlResult<Event> {
    let deadline = Instant::now() + timeout;
    let set = session::event_set(call, set)?;
    let watch = Watch::over(session::state_file()?);
    loop {
        call.still()?;
        let state = session::state()?;
        let moment = Snapshot::now(&state);
        {
            let mut set = set.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            if let Some(event) = set.next(&moment) {
                return Ok(event);
            }
            if moment.module() == Module::Unloaded {
                return Err(DRIVER_NOT_LOADED);
            }
            if set.has_lost(&moment) {
                return Err(GPU_IS_LOST);
            }
        }
        if Instant::now() >= deadline {
            return Err(TIMEOUT);
        }
        let in_script = next_change_ms(&moment).map(|at| Duration::from_millis(at - moment.now_ms));
        let until = in_script.map_or(deadline, |length| deadline.min(Instant::now() + length));
        watch.wait(Some(&call.bell), Some(until));
    }
}

/// When the script next does something by itself.
fn next_change_ms(moment: &Snapshot<'_>) -> Option<u64> {
    let begins = moment.state.faults.iter().map(|fault| fault.from_ms);
    let rows = moment.rows().filter_map(|(fault, row, happened)| row.next_ms(fault, happened));
    begins.chain(rows).filter(|at| *at > moment.now_ms).min()
}
