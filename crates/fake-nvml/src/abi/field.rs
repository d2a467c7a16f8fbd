//! Field values as C programs ask for them: an array that is filled in place, each with an answer of its own.

use std::ffi::c_int;
use std::slice;

use nvml_wrapper_sys::bindings as sys;
use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlFieldValue_t};

use super::{exports, with_gpu};
use crate::fields::{self, Value};
use crate::return_codes::{Failure, INVALID_ARGUMENT};

/// NVML has fewer fields than this, and 18 links each at most.
const FIELDS_MAX: usize = 4096;

exports! {
    fn nvmlDeviceGetFieldValues(device: nvmlDevice_t, count: c_int, values: *mut nvmlFieldValue_t) {
        with_gpu(SYMBOL, device, |device| {
            let count = usize::try_from(count).ok().filter(|count| (1..=FIELDS_MAX).contains(count));
            let count = count.ok_or(INVALID_ARGUMENT)?;
            if values.is_null() {
                return Err(INVALID_ARGUMENT);
            }
            // SAFETY: the caller says that `values` has `count` structs, of which field and scope are filled in; the rest
            // is plain numbers, of which any bits are some.
            let values = unsafe { slice::from_raw_parts_mut(values, count) };
            let at_us = device.moment.state.started_at_ms.saturating_add(device.moment.now_ms).saturating_mul(1000);
            for value in values {
                let found = fields::value(device.moment, &device.gpu, value.fieldId, value.scopeId);
                value.timestamp = i64::try_from(at_us).unwrap_or(i64::MAX);
                value.latencyUsec = 0;
                value.value = sys::nvmlValue_t { ullVal: 0 };
                match found {
                    Ok(found) => {
                        value.nvmlReturn = sys::nvmlReturn_enum_NVML_SUCCESS;
                        (value.valueType, value.value) = told(found);
                    }
                    Err(Failure(code)) => {
                        value.nvmlReturn = code;
                        value.valueType = sys::nvmlValueType_enum_NVML_VALUE_TYPE_UNSIGNED_INT;
                    }
                }
            }
            Ok(())
        })
    }
}

const fn told(value: Value) -> (sys::nvmlValueType_t, sys::nvmlValue_t) {
    match value {
        Value::Unsigned(value) => {
            (sys::nvmlValueType_enum_NVML_VALUE_TYPE_UNSIGNED_INT, sys::nvmlValue_t { uiVal: value })
        }
        Value::Signed(value) => (sys::nvmlValueType_enum_NVML_VALUE_TYPE_SIGNED_INT, sys::nvmlValue_t { siVal: value }),
        Value::Long(value) => {
            (sys::nvmlValueType_enum_NVML_VALUE_TYPE_UNSIGNED_LONG_LONG, sys::nvmlValue_t { ullVal: value })
        }
    }
}
