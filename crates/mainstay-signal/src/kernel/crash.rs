//! The kernel's own failures: a bug, an oops, a panic, and the module of a GPU driver in which a trace ends.
//!
//! The formats come from `arch/x86/mm/fault.c`, `arch/x86/kernel/dumpstack.c`, `arch/arm64/mm/fault.c`, `lib/bug.c` and
//! `kernel/panic.c`.

use mainstay_model::Source;

use crate::{Place, Signal};

const OOPSES: [&str; 10] = [
    "BUG: unable to handle ",
    "BUG: kernel NULL pointer dereference, address: ",
    "Unable to handle kernel ",
    "general protection fault, probably for ",
    "general protection fault: ",
    "kernel BUG at ",
    "Oops: ",
    "Internal error: Oops",
    "invalid opcode: 0000 [#",
    "stack segment: 0000 [#",
];

/// Beginnings of the line that names where the processor was.
const POSITIONS: [&str; 4] = ["RIP: 0010:", "RIP: ", "IP: [<", "pc : "];

/// Modules of GPU drivers.
const MODULES: [&str; 7] = ["nvidia", "nvidia_uvm", "nvidia_modeset", "nvidia_drm", "amdgpu", "amdkfd", "nouveau"];

pub(super) fn parse(text: &str) -> Option<Signal> {
    if text.starts_with("Kernel panic - not syncing") {
        return Signal::new(Source::Kernel, "panic", Place::Node, "");
    }
    if OOPSES.iter().any(|start| text.starts_with(start)) {
        return Signal::new(Source::Kernel, "oops", Place::Node, "");
    }
    POSITIONS.iter().find(|start| text.starts_with(*start))?;
    let (_, module) = text.trim_end().strip_suffix(']')?.rsplit_once(" [")?;
    if MODULES.contains(&module) { Signal::new(Source::Driver, "trace", Place::Node, module) } else { None }
}

#[cfg(test)]
pub(super) mod tests {
    use crate::kernel::tests::{Line, nothing, says};

    #[rustfmt::skip] // one line a case
    pub(crate) const LINES: &[Line] = &[
        ("BUG: unable to handle kernel NULL pointer dereference at 00000000000000b1", "Kernel oops node"),
        ("BUG: kernel NULL pointer dereference, address: 0000000000000040", "Kernel oops node"),
        ("Unable to handle kernel paging request at virtual address ffffc0000a720000", "Kernel oops node"),
        ("Internal error: Oops: 0000000096000061 [#1] PREEMPT SMP", "Kernel oops node"),
        ("Kernel panic - not syncing: softlockup: hung tasks", "Kernel panic node"),
        ("RIP: 0010:_nv031695rm+0x79/0x940 [nvidia]", "Driver trace node nvidia"),
        ("RIP: uvm_hmm_unregister_gpu+0x51/0x3a0 [nvidia_uvm]", "Driver trace node nvidia_uvm"),
        ("IP: [<ffffffffc01cc246>] amdgpu_bo_list_set+0x196/0x3d0 [amdgpu]", "Driver trace node amdgpu"),
    ];

    #[test]
    fn a_failure_of_the_kernel_is_told() {
        says(LINES);
    }

    #[test]
    fn other_traces_are_left_alone() {
        nothing(&["RIP: 0010:do_syscall_64+0x5c/0x90", "RIP: 0033:0x7f2a3c91e88d", "IP: [<ffffffff>] f+0x1/0x2 [xfs]"]);
    }
}
