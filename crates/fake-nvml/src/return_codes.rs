//! Return codes of NVML functions, with their text.

use std::ffi::CStr;

use nvml_wrapper_sys::bindings as sys;

/// An `nvmlReturn_t` that is not success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Failure(pub(crate) u32);

/// Value of an NVML function, or its error code.
pub(crate) type NvmlResult<T = ()> = Result<T, Failure>;

pub(crate) const UNINITIALIZED: Failure = Failure(sys::nvmlReturn_enum_NVML_ERROR_UNINITIALIZED);
pub(crate) const INVALID_ARGUMENT: Failure = Failure(sys::nvmlReturn_enum_NVML_ERROR_INVALID_ARGUMENT);
pub(crate) const NOT_SUPPORTED: Failure = Failure(sys::nvmlReturn_enum_NVML_ERROR_NOT_SUPPORTED);
pub(crate) const NO_PERMISSION: Failure = Failure(sys::nvmlReturn_enum_NVML_ERROR_NO_PERMISSION);
pub(crate) const NOT_FOUND: Failure = Failure(sys::nvmlReturn_enum_NVML_ERROR_NOT_FOUND);
pub(crate) const INSUFFICIENT_SIZE: Failure = Failure(sys::nvmlReturn_enum_NVML_ERROR_INSUFFICIENT_SIZE);
pub(crate) const DRIVER_NOT_LOADED: Failure = Failure(sys::nvmlReturn_enum_NVML_ERROR_DRIVER_NOT_LOADED);
pub(crate) const TIMEOUT: Failure = Failure(sys::nvmlReturn_enum_NVML_ERROR_TIMEOUT);
pub(crate) const FUNCTION_NOT_FOUND: Failure = Failure(sys::nvmlReturn_enum_NVML_ERROR_FUNCTION_NOT_FOUND);
pub(crate) const GPU_IS_LOST: Failure = Failure(sys::nvmlReturn_enum_NVML_ERROR_GPU_IS_LOST);
pub(crate) const MEMORY: Failure = Failure(sys::nvmlReturn_enum_NVML_ERROR_MEMORY);
pub(crate) const VERSION_MISMATCH: Failure = Failure(sys::nvmlReturn_enum_NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
pub(crate) const UNKNOWN: Failure = Failure(sys::nvmlReturn_enum_NVML_ERROR_UNKNOWN);

/// As a C caller gets it.
pub(crate) fn code(answer: NvmlResult) -> sys::nvmlReturn_t {
    match answer {
        Ok(()) => sys::nvmlReturn_enum_NVML_SUCCESS,
        Err(Failure(code)) => code,
    }
}

/// In words, for `nvmlErrorString`.
pub(crate) const fn in_words(code: u32) -> &'static CStr {
    match code {
        0 => c"Success",
        1 => c"Uninitialized",
        2 => c"Invalid Argument",
        3 => c"Not Supported",
        4 => c"Insufficient Permissions",
        5 => c"Already Initialized",
        6 => c"Not Found",
        7 => c"Insufficient Size",
        8 => c"Insufficient External Power",
        9 => c"Driver Not Loaded",
        10 => c"Timeout",
        11 => c"Interrupt Request Issue",
        12 => c"NVML Shared Library Not Found",
        13 => c"Function Not Found",
        14 => c"Corrupted infoROM",
        15 => c"GPU is lost",
        16 => c"GPU requires reset",
        17 => c"GPU access blocked by the operating system",
        18 => c"Driver/library version mismatch",
        19 => c"In use by another client",
        20 => c"Insufficient Memory",
        21 => c"No data",
        22 => c"vGPU operation not available, ECC on",
        23 => c"Insufficient Resources",
        24 => c"Frequency not supported",
        25 => c"Argument version mismatch",
        26 => c"Deprecated",
        27 => c"Not Ready",
        28 => c"GPU not found",
        29 => c"Invalid state",
        30 => c"Reset type not supported",
        _ => c"Unknown Error",
    }
}
