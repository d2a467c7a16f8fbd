//! Functions that a data centre GPU on bare metal answers with "not supported", and those that change a GPU, which the fake
//! refuses: its state file is the hand that changes it. A caller of theirs must find the name and get an answer.

use nvml_wrapper_sys::bindings::nvmlReturn_t;

use crate::return_codes::{NO_PERMISSION, NOT_SUPPORTED, code};
use crate::session;

/// Functions whose arguments do not matter. On x86-64 and aarch64 a C function may be called with more arguments than it
/// takes.
macro_rules! refused {
    ($($answer:ident: $($name:ident)*;)*) => {
        $($(
            #[unsafe(no_mangle)]
            extern "C" fn $name() -> nvmlReturn_t {
                code(session::call(stringify!($name), |_, _| Err($answer)))
            }
        )*)*
        pub(super) const SYMBOLS: &[&str] = &[$($(stringify!($name)),*),*];
    };
}

refused! {
    NOT_SUPPORTED:
        nvmlDeviceGetApplicationsClock
        nvmlDeviceGetAutoBoostedClocksEnabled
        nvmlDeviceGetBridgeChipInfo
        nvmlDeviceGetDefaultApplicationsClock
        nvmlDeviceGetDetailedEccErrors
        nvmlDeviceGetDriverModel
        nvmlDeviceGetDriverModel_v2
        nvmlDeviceGetEncoderCapacity
        nvmlDeviceGetEncoderSessions
        nvmlDeviceGetEncoderStats
        nvmlDeviceGetFanSpeed
        nvmlDeviceGetFanSpeedRPM
        nvmlDeviceGetFanSpeed_v2
        nvmlDeviceGetGpuOperationMode
        nvmlDeviceGetMPSComputeRunningProcesses
        nvmlDeviceGetNumFans
        nvmlDeviceGetRetiredPages
        nvmlDeviceGetRetiredPagesPendingStatus
        nvmlDeviceGetRetiredPages_v2
        nvmlDeviceGetTargetFanSpeed
        nvmlDeviceGetVirtualizationMode;
    NO_PERMISSION:
        nvmlDeviceClearEccErrorCounts
        nvmlDeviceCreateGpuInstance
        nvmlDeviceModifyDrainState
        nvmlDeviceRemoveGpu_v2
        nvmlDeviceResetNvLinkErrorCounters
        nvmlDeviceSetComputeMode
        nvmlDeviceSetEccMode
        nvmlDeviceSetGpuLockedClocks
        nvmlDeviceSetPersistenceMode
        nvmlDeviceSetPowerManagementLimit
        nvmlGpuInstanceDestroy;
}
