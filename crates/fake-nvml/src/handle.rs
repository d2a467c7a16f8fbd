//! Handles that a caller gets for pointers. They are numbers: nothing is behind them, so none can dangle. A handle is good
//! within the life of one `nvmlInit` and refused after it, which is stricter than the driver and finds callers that keep one.

use std::ptr;

use crate::return_codes::{INVALID_ARGUMENT, NvmlResult};

/// What a handle is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A GPU, or a MIG device of it.
    Device,
    GpuInstance,
    EventSet,
}

/// What a handle says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Handle {
    pub(crate) kind: Kind,
    /// Which life of the library.
    pub(crate) life: u16,
    /// The GPU, or the event set.
    pub(crate) index: u16,
    /// The instance plus one, or nothing.
    pub(crate) part: u8,
}

/// Above every address that a process has, so that nothing else is taken for a handle.
const MAGIC: u64 = 0x7e56;

impl Handle {
    pub(crate) fn to_pointer<T>(self) -> *mut T {
        let kind: u64 = match self.kind {
            Kind::Device => 1,
            Kind::GpuInstance => 2,
            Kind::EventSet => 3,
        };
        let number =
            MAGIC << 48 | u64::from(self.life) << 32 | kind << 24 | u64::from(self.index) << 8 | u64::from(self.part);
        ptr::without_provenance_mut(usize::try_from(number).unwrap_or(0))
    }

    pub(crate) fn of<T>(pointer: *mut T, kind: Kind, life: u16) -> NvmlResult<Self> {
        let [_, _, l1, l0, _, i1, i0, part] = u64::try_from(pointer.addr()).unwrap_or(0).to_be_bytes();
        let handle = Self { kind, life: u16::from_be_bytes([l1, l0]), index: u16::from_be_bytes([i1, i0]), part };
        // Whatever else is in it must be what we would have put there.
        let is_ours = handle.to_pointer::<T>() == pointer && handle.life == life;
        is_ours.then_some(handle).ok_or(INVALID_ARGUMENT)
    }
}
