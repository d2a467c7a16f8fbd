//! Opening, closing, versions and names of processes.

use std::ffi::{c_char, c_int, c_uint};

use nvml_wrapper_sys::bindings::{nvmlReturn_t, nvmlSystemDriverBranchInfo_v1_t};

use super::{OutParam, expect_newer, expect_version, exports, write, write_text};
use crate::return_codes::{self, INVALID_ARGUMENT, NOT_FOUND};
use crate::session;

exports! {
    fn nvmlInit() { session::init(SYMBOL) }

    fn nvmlInit_v2() { session::init(SYMBOL) }

    fn nvmlInitWithFlags(_flags: c_uint) { session::init(SYMBOL) }

    fn nvmlShutdown() { session::shutdown(SYMBOL) }

    fn nvmlSystemGetDriverVersion(version: *mut c_char, length: c_uint) {
        session::call(SYMBOL, |_, moment| write_text(version, length, &moment.state.driver.version))
    }

    fn nvmlSystemGetNVMLVersion(version: *mut c_char, length: c_uint) {
        session::call(SYMBOL, |_, moment| write_text(version, length, &moment.state.driver.nvml_version))
    }

    fn nvmlSystemGetCudaDriverVersion(version: OutParam<'_, c_int>) {
        session::call(SYMBOL, |_, moment| write(version, moment.state.driver.cuda_version))
    }

    fn nvmlSystemGetCudaDriverVersion_v2(version: OutParam<'_, c_int>) {
        session::call(SYMBOL, |_, moment| write(version, moment.state.driver.cuda_version))
    }

    fn nvmlSystemGetDriverBranch(info: Option<&mut nvmlSystemDriverBranchInfo_v1_t>, length: c_uint) {
        session::call(SYMBOL, |_, moment| {
            expect_newer(moment)?;
            let info = info.ok_or(INVALID_ARGUMENT)?;
            expect_version::<nvmlSystemDriverBranchInfo_v1_t>(info.version, 1)?;
            let room = length.min(c_uint::try_from(info.branch.len()).unwrap_or(0));
            write_text(info.branch.as_mut_ptr(), room, &moment.state.driver.branch)
        })
    }

    fn nvmlSystemGetProcessName(pid: c_uint, name: *mut c_char, length: c_uint) {
        session::call(SYMBOL, |_, moment| {
            let mut processes = moment.state.gpus.iter().flat_map(|gpu| &gpu.processes);
            let found = processes.find(|process| process.pid == pid).ok_or(NOT_FOUND)?;
            write_text(name, length, &found.name)
        })
    }
}

#[unsafe(no_mangle)]
extern "C" fn nvmlErrorString(code: nvmlReturn_t) -> *const c_char {
    return_codes::in_words(code).as_ptr()
}
