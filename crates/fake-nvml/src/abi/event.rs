//! Event sets as C programs use them.

use std::ffi::{c_uint, c_ulonglong};
use std::sync::PoisonError;
use std::time::Duration;

use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlEventData_t, nvmlEventSet_t};

use super::inventory::device_handle;
use super::{OutParam, exports, with_gpu, write};
use crate::return_codes::{INVALID_ARGUMENT, NvmlResult};
use crate::{events, session};

exports! {
    fn nvmlEventSetCreate(set: OutParam<'_, nvmlEventSet_t>) {
        session::call(SYMBOL, |call, _| {
            let set = set.ok_or(INVALID_ARGUMENT)?;
            set.write(session::new_event_set(call)?.to_pointer());
            Ok(())
        })
    }

    fn nvmlEventSetFree(set: nvmlEventSet_t) { session::local_call(SYMBOL, |call| session::free_event_set(call, set)) }

    fn nvmlDeviceGetSupportedEventTypes(device: nvmlDevice_t, kinds: OutParam<'_, c_ulonglong>) {
        with_gpu(SYMBOL, device, |device| write(kinds, device.moment.event_kinds()))
    }

    fn nvmlDeviceRegisterEvents(device: nvmlDevice_t, kinds: c_ulonglong, set: nvmlEventSet_t) {
        with_gpu(SYMBOL, device, |device| {
            let set = session::event_set(device.call, set)?;
            let mut set = set.lock().unwrap_or_else(PoisonError::into_inner);
            set.register(device.moment, device.index, kinds)
        })
    }

    fn nvmlEventSetWait(set: nvmlEventSet_t, data: OutParam<'_, nvmlEventData_t>, timeout_ms: c_uint) {
        wait(SYMBOL, set, data, timeout_ms)
    }

    fn nvmlEventSetWait_v2(set: nvmlEventSet_t, data: OutParam<'_, nvmlEventData_t>, timeout_ms: c_uint) {
        wait(SYMBOL, set, data, timeout_ms)
    }
}

/// NVML's word for no MIG instance.
const NO_INSTANCE: c_uint = c_uint::MAX;

fn wait(symbol: &str, set: nvmlEventSet_t, data: OutParam<'_, nvmlEventData_t>, timeout_ms: c_uint) -> NvmlResult {
    session::call(symbol, |call, _| {
        let data = data.ok_or(INVALID_ARGUMENT)?;
        let event = events::wait(call, set, Duration::from_millis(timeout_ms.into()))?;
        data.write(nvmlEventData_t {
            device: device_handle(call, event.gpu, 0).to_pointer(),
            eventType: event.kind,
            eventData: event.data,
            gpuInstanceId: event.gpu_instance.unwrap_or(NO_INSTANCE),
            computeInstanceId: NO_INSTANCE,
        });
        Ok(())
    })
}
