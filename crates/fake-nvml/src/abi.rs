//! NVML's functions as C programs find them. Each checks its arguments as the headers ask for, and leaves what to answer to
//! the rest of the crate. All unsafe code of the crate is in this module: names that the linker keeps, and memory that
//! callers hand in.

#![expect(unsafe_code, reason = "a C ABI is raw memory and unmangled names (docs/decisions/0016)")]

mod device;
mod event;
mod field;
mod health;
mod inventory;
mod link;
mod mig;
mod process;
mod system;
mod unsupported;

use std::ffi::{c_char, c_uint};
use std::mem::MaybeUninit;
use std::ptr;

use crate::return_codes::{
    FUNCTION_NOT_FOUND, GPU_IS_LOST, INSUFFICIENT_SIZE, INVALID_ARGUMENT, NOT_SUPPORTED, NvmlResult, VERSION_MISMATCH,
};
use crate::session::{self, Call};
use crate::snapshot::Snapshot;
use crate::state::{Gpu, MigInstance};

/// Every function, by the file that it is in.
pub(crate) const SYMBOLS: &[&[&str]] = &[
    device::SYMBOLS,
    event::SYMBOLS,
    field::SYMBOLS,
    health::SYMBOLS,
    inventory::SYMBOLS,
    link::SYMBOLS,
    mig::SYMBOLS,
    process::SYMBOLS,
    system::SYMBOLS,
    unsupported::SYMBOLS,
];

/// Pointer to which a C caller wants a value written: null, or memory of the right size.
type OutParam<'a, T> = Option<&'a mut MaybeUninit<T>>;

/// NVML's functions that R550 does not publish and R570 has; their exact release in between is not known to us.
const NEWER_SINCE: u32 = 565;

/// Functions with the names and the return type of NVML's, and the list of their names.
macro_rules! exports {
    ($( fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block )*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $name($($argument: $type),*) -> nvml_wrapper_sys::bindings::nvmlReturn_t {
                const SYMBOL: &str = stringify!($name);
                $crate::return_codes::code($body)
            }
        )*
        pub(super) const SYMBOLS: &[&str] = &[$(stringify!($name)),*];
    };
}
use exports;

/// A device as a call finds it.
struct Device<'a> {
    call: &'a Call,
    moment: &'a Snapshot<'a>,
    index: u32,
    gpu: Gpu,
    /// Which MIG device of it, where it is one.
    instance: Option<MigInstance>,
}

/// A call about a GPU or a MIG device.
fn with_device<T>(symbol: &str, device: *mut T, act: impl FnOnce(&Device<'_>) -> NvmlResult) -> NvmlResult {
    session::device_call(symbol, device, |call, moment, handle| {
        let index = u32::from(handle.index);
        // A GPU that was there when the handle was made is not in the list any more.
        let gpu = moment.gpu(index).ok_or(GPU_IS_LOST)?;
        let instance = match usize::from(handle.part).checked_sub(1) {
            Some(part) => Some(gpu.instances().get(part).cloned().ok_or(INVALID_ARGUMENT)?),
            None => None,
        };
        act(&Device { call, moment, index, gpu, instance })
    })
}

/// A call about a whole GPU; a MIG device does not know.
fn with_gpu<T>(symbol: &str, device: *mut T, act: impl FnOnce(&Device<'_>) -> NvmlResult) -> NvmlResult {
    with_device(symbol, device, |device| if device.instance.is_some() { Err(NOT_SUPPORTED) } else { act(device) })
}

/// A call that gets one value off a GPU.
fn get<P, T>(
    symbol: &str,
    device: *mut P,
    out: OutParam<'_, T>,
    value: impl FnOnce(&Gpu) -> NvmlResult<T>,
) -> NvmlResult {
    with_gpu(symbol, device, |device| write(out, value(&device.gpu)?))
}

/// A call that gets a text off a GPU.
fn get_text<P>(
    symbol: &str,
    device: *mut P,
    to: *mut c_char,
    room: c_uint,
    text: impl FnOnce(&Gpu) -> &str,
) -> NvmlResult {
    with_gpu(symbol, device, |device| write_text(to, room, text(&device.gpu)))
}

fn write<T>(out: OutParam<'_, T>, value: T) -> NvmlResult {
    out.ok_or(INVALID_ARGUMENT)?.write(value);
    Ok(())
}

/// Writes a text with its end, if it fits.
fn write_text(to: *mut c_char, room: c_uint, text: &str) -> NvmlResult {
    if to.is_null() {
        return Err(INVALID_ARGUMENT);
    }
    if text.len() >= usize::try_from(room).unwrap_or(0) {
        return Err(INSUFFICIENT_SIZE);
    }
    // SAFETY: the caller says that `to` has `room` bytes, and the text with its zero is no longer than that.
    unsafe {
        ptr::copy_nonoverlapping(text.as_ptr(), to.cast::<u8>(), text.len());
        to.cast::<u8>().add(text.len()).write(0);
    }
    Ok(())
}

/// A text as a field of a struct: cut to what fits, and ended.
fn chars<const N: usize>(text: &str) -> [c_char; N] {
    let mut chars = [0; N];
    for (to, from) in chars.iter_mut().take(N.saturating_sub(1)).zip(text.bytes()) {
        *to = c_char::from_ne_bytes([from]);
    }
    chars
}

/// A text that a caller hands in.
fn read_text<'a>(text: *const c_char) -> NvmlResult<&'a str> {
    if text.is_null() {
        return Err(INVALID_ARGUMENT);
    }
    // SAFETY: the caller says that it is a text with its end; it lives at least as long as the call.
    let text = unsafe { std::ffi::CStr::from_ptr(text) };
    text.to_str().map_err(|_| INVALID_ARGUMENT)
}

/// Fills an array whose length the caller says in `count`, by NVML's rule: too short an array is told the right length,
/// and no array at all is a question for it.
fn write_list<T: Copy>(count: Option<&mut c_uint>, to: *mut T, items: &[T]) -> NvmlResult {
    let count = count.ok_or(INVALID_ARGUMENT)?;
    let room = usize::try_from(*count).unwrap_or(0);
    *count = c_uint::try_from(items.len()).unwrap_or(c_uint::MAX);
    if items.is_empty() {
        return Ok(());
    }
    if to.is_null() || room < items.len() {
        return Err(INSUFFICIENT_SIZE);
    }
    // SAFETY: the caller says that `to` has room for `room` items, and there are no more than that.
    unsafe { ptr::copy_nonoverlapping(items.as_ptr(), to, items.len()) };
    Ok(())
}

/// `sizeof(T) | version << 24`, by which a caller says which layout it means.
fn version_of<T>(version: c_uint) -> c_uint {
    c_uint::try_from(size_of::<T>()).unwrap_or(0) | version << 24
}

/// Refuses a struct of another layout.
fn expect_version<T>(said: c_uint, version: c_uint) -> NvmlResult {
    if said == version_of::<T>(version) { Ok(()) } else { Err(VERSION_MISMATCH) }
}

/// Refuses a function that this driver's library does not have. A real one lacks the name itself; both bindings report
/// the two alike, as a function that is not there.
fn expect_newer(moment: &Snapshot<'_>) -> NvmlResult {
    if moment.state.driver.release().0 >= NEWER_SINCE { Ok(()) } else { Err(FUNCTION_NOT_FOUND) }
}

/// A caller's 0 or 1.
const fn flag(set: bool) -> c_uint {
    if set { 1 } else { 0 }
}
