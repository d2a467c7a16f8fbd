//! Errors of the host's memory and processors: machine checks, EDAC, records of the firmware (APEI), pages that the kernel
//! stops using, and processors that are throttled. A line of registers belongs to the line before it.
//!
//! The formats come from the kernel's `arch/x86/kernel/cpu/mce`, `drivers/edac` (`edac_mc.c`, `mce_amd.c`),
//! `drivers/firmware/efi/cper.c`, `mm/memory-failure.c` and `drivers/thermal/intel/therm_throt.c`.

use mainstay_model::Source;

use crate::scan::Cursor;
use crate::{Place, Recognition, Signal};

/// Bit of a machine check's status register that is set if the hardware did not correct the error (Intel's and AMD's
/// manuals, `MCi_STATUS.UC`).
const UNCORRECTED_BIT: u32 = 61;

/// Phrases of a line that is marked as a hardware error.
const PHRASES: &[(&str, (&str, &str))] = &[
    ("Machine check events logged", ("machine-check", "")),
    ("Machine Check Exception", ("machine-check", "exception")),
    ("System Fatal error", ("machine-check", "exception")),
    ("Uncorrected, software", ("machine-check", "uncorrected")),
    ("Uncorrected error", ("machine-check", "uncorrected")),
    ("Corrected error, no action required", ("machine-check", "corrected")),
    ("Deferred error", ("machine-check", "deferred")),
    ("Hardware error from APEI", ("firmware-record", "")),
    ("event severity: fatal", ("firmware-record", "fatal")),
    ("event severity: recoverable", ("firmware-record", "recoverable")),
    ("event severity: corrected", ("firmware-record", "corrected")),
    ("single-bit ECC", ("memory-corrected", "single-bit")),
    ("multi-bit ECC", ("memory-uncorrected", "multi-bit")),
    ("DRAM ECC error", ("machine-check", "memory")),
];

pub(super) fn recognise(text: &str) -> Recognition {
    let marked = hardware_error(text);
    if marked != Recognition::Unknown {
        return marked;
    }
    let found = edac(text).or_else(|| page(text)).or_else(|| throttled(text));
    found.and_then(|(code, detail)| Signal::new(Source::Kernel, code, Place::Node, detail)).into()
}

/// Parses `mce: [Hardware Error]: …`, `{1}[Hardware Error]: …` and `[Hardware Error]: …`. What is not a fault of its own
/// is a register of the fault before it.
fn hardware_error(text: &str) -> Recognition {
    let mut line = Cursor::new(text);
    let _ = line.eat("mce: ");
    if line.eat("{").is_some() {
        line.run(|c| c.is_ascii_digit());
        let _ = line.eat("}");
    }
    if line.eat("[Hardware Error]:").is_none() {
        return Recognition::Unknown;
    }
    let said = line.rest().trim_start();
    if said.starts_with("section_type: PCIe error") || said.starts_with("section type: PCIe error") {
        return Signal::new(Source::PcieAer, "firmware-reported", Place::Node, "").into();
    }
    if said.starts_with("section_type: memory error") || said.starts_with("section type: memory error") {
        return kernel("firmware-record", "memory");
    }
    if let Some((code, detail)) = PHRASES.iter().find(|(words, _)| said.contains(words)).map(|(_, found)| *found) {
        return kernel(code, detail);
    }
    match bank_status(said) {
        Some(detail) => kernel("machine-check", detail),
        None => Recognition::Harmless,
    }
}

/// Parses `CPU 0: Machine Check: 0 Bank 4: a600000000020408`, or `CPU:0 (17:31:0) MC15_STATUS[…]: 0x…`.
fn bank_status(said: &str) -> Option<&'static str> {
    let status = if said.contains("Machine Check") {
        said.split_once(" Bank ")?.1.split_once(": ")?.1
    } else {
        said.split_once("_STATUS")?.1.split_once("]: 0x")?.1
    };
    let digits = status.len() - status.trim_start_matches(|c: char| c.is_ascii_hexdigit()).len();
    let status = u64::from_str_radix(status.get(..digits.min(16))?, 16).ok()?;
    Some(if status >> UNCORRECTED_BIT & 1 == 1 { "uncorrected" } else { "corrected" })
}

/// Parses `EDAC MC0: 4 CE error on CPU#0Channel#2_DIMM#0 (channel:2 …)` and `EDAC sbridge MC1: HANDLING MCE MEMORY
/// ERROR`. The label of the memory module is the mainboard's, so it is a detail.
fn edac(text: &str) -> Option<(&'static str, &str)> {
    let (controller, said) = text.strip_prefix("EDAC ")?.split_once(": ")?;
    let number = controller.rsplit(' ').next()?.strip_prefix("MC")?;
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    if said.starts_with("HANDLING MCE MEMORY ERROR") {
        return Some(("machine-check", "memory"));
    }
    if said.starts_with("CPU ") && said.contains("Machine Check") {
        return Some(("machine-check", "memory"));
    }
    let said = said.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
    let label = said.split_once(" on ").map_or("", |(_, label)| label.split(" (").next().unwrap_or_default());
    if said.starts_with("CE ") {
        Some(("memory-corrected", label))
    } else if said.starts_with("UE ") {
        Some(("memory-uncorrected", label))
    } else {
        None
    }
}

/// Parses lines about a page of memory: one that has an error which the hardware did not correct, or one that is no longer
/// used. One error prints several such lines, so they have a code of their own and are no count of errors.
fn page(text: &str) -> Option<(&'static str, &'static str)> {
    let mut line = Cursor::new(text);
    if line.eat("Memory failure: 0x").is_some() {
        line.hex()?;
        return line.eat(": ").map(|()| ("page-failed", ""));
    }
    if ["mce: Uncorrected hardware memory error in ", "MCE: Killing "].iter().any(|start| text.starts_with(start)) {
        return Some(("page-failed", ""));
    }
    let offlined =
        ["RAS: Soft-offlining pfn: 0x", "soft offline: 0x", "Soft offlining pfn 0x", "Soft offlining page 0x"];
    if offlined.iter().any(|start| text.starts_with(start)) {
        return Some(("page-offlined", ""));
    }
    text.starts_with("Internal error: synchronous external abort").then_some(("machine-check", "exception"))
}

/// Parses `mce: CPU1: Package temperature above threshold, cpu clock throttled (total events = 12705)`.
fn throttled(text: &str) -> Option<(&'static str, &'static str)> {
    let mut line = Cursor::new(text);
    let _ = line.eat("mce: ");
    if line.eat("CPU").is_some() {
        line.number()?;
        line.eat(": ")?;
        let is_hot = line.rest().contains("temperature above threshold, cpu clock throttled");
        return is_hot.then_some(("cpu-throttled", ""));
    }
    line.eat("thermal ")?;
    line.rest().contains(": critical temperature reached").then_some(("cpu-too-hot", ""))
}

fn kernel(code: &str, detail: &str) -> Recognition {
    Signal::new(Source::Kernel, code, Place::Node, detail).into()
}

#[cfg(test)]
pub(super) mod tests {
    use crate::Recognition;
    use crate::kernel::tests::{Line, nothing, says};

    #[rustfmt::skip] // one line a case
    pub(crate) const LINES: &[Line] = &[
        ("mce: [Hardware Error]: Machine check events logged", "Kernel machine-check node"),
        ("mce: [Hardware Error]: CPU 0: Machine Check: 0 Bank 4: a600000000020408", "Kernel machine-check node uncorrected"),
        ("mce: [Hardware Error]: CPU 0: Machine Check: 0 Bank 4: 8c00004f000800c2", "Kernel machine-check node corrected"),
        ("mce: [Hardware Error]: CPU 9: Machine Check Exception: 5 Bank 3: be00000000800400", "Kernel machine-check node exception"),
        ("[Hardware Error]: Corrected error, no action required.", "Kernel machine-check node corrected"),
        ("[Hardware Error]: Uncorrected, software containable error.", "Kernel machine-check node uncorrected"),
        ("[Hardware Error]: CPU:0 (17:31:0) MC15_STATUS[Over|CE|MiscV|-|-|-|-]: 0xdc2040000000011b", "Kernel machine-check node corrected"),
        ("{1}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 1", "Kernel firmware-record node"),
        ("{1}[Hardware Error]: event severity: recoverable", "Kernel firmware-record node recoverable"),
        ("{1}[Hardware Error]:   section_type: PCIe error", "PcieAer firmware-reported node"),
        ("{1}[Hardware Error]:   section_type: memory error", "Kernel firmware-record node memory"),
        ("{3}[Hardware Error]: error_type: 2, single-bit ECC", "Kernel memory-corrected node single-bit"),
        ("{3}[Hardware Error]: error_type: 3, multi-bit ECC", "Kernel memory-uncorrected node multi-bit"),
        ("EDAC MC0: 4 CE error on CPU#0Channel#2_DIMM#0 (channel:2 slot:0 page:0x0 offset:0x0)", "Kernel memory-corrected node CPU#0Channel#2_DIMM#0"),
        ("EDAC MC1: 1 UE memory read error on CPU_SrcID#1_Ha#0_Chan#0_DIMM#0 (channel:0 slot:0)", "Kernel memory-uncorrected node CPU_SrcID#1_Ha#0_Chan#0_DIMM#0"),
        ("EDAC sbridge MC1: HANDLING MCE MEMORY ERROR", "Kernel machine-check node memory"),
        ("EDAC sbridge MC1: CPU 1: Machine Check Event: 0 Bank 11: 8c00004f000800c2", "Kernel machine-check node memory"),
        ("Memory failure: 0x4348776: Killing cellsrv:33395 due to hardware memory corruption", "Kernel page-failed node"),
        ("mce: Uncorrected hardware memory error in user-access at 1850602400", "Kernel page-failed node"),
        ("RAS: Soft-offlining pfn: 0x104e5c", "Kernel page-offlined node"),
        ("Internal error: synchronous external abort: 96000410 [#1] SMP", "Kernel machine-check node exception"),
        ("mce: CPU1: Core temperature above threshold, cpu clock throttled (total events = 2311)", "Kernel cpu-throttled node"),
        ("CPU5: Package temperature above threshold, cpu clock throttled (total events = 2081)", "Kernel cpu-throttled node"),
        ("thermal thermal_zone0: acpitz: critical temperature reached, shutting down", "Kernel cpu-too-hot node"),
    ];

    #[test]
    fn an_error_of_the_host_is_told_by_what_the_hardware_did() {
        says(LINES);
    }

    #[test]
    fn registers_and_starts_of_drivers_are_no_faults() {
        nothing(&[
            "EDAC sbridge: CPU SrcID #0, Ha #0, Channel #1 has DIMMs, but ECC is disabled",
            "EDAC amd64: Node 0: DRAM ECC disabled.",
            "EDAC sbridge MC1: ADDR ee30a0000",
            "EDAC MC0: Giving out device to module skx_edac controller Skylake Socket#0 IMC#0",
            "RAS: Correctable Errors collector initialized.",
            "mce: CPU supports 7 MCE banks",
            "CPU1: Core temperature/speed normal",
        ]);
        for line in ["{1}[Hardware Error]:   physical_address: 0x1", "mce: [Hardware Error]: TSC 0 ADDR ee30a0000"] {
            assert_eq!(crate::kernel::recognise(line), Recognition::Harmless, "{line}");
        }
    }
}
