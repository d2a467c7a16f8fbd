//! Lines of AMD's driver: errors found by RAS, rings that time out, resets, page faults, and its firmware (SMU, PSP, MES).
//! Which GPU a line is about is known only if the line names its PCI address.
//!
//! The wording is that of the kernel's `drivers/gpu/drm/amd` (`amdgpu_ras.c`, `amdgpu_aca.c`, `amdgpu_job.c`,
//! `amdgpu_device.c`, `gmc_v*.c`, `mes_v*.c`, `kfd_device_queue_manager.c`, `pm/swsmu`), and the meaning of RAS that of
//! the kernel's `Documentation/gpu/amdgpu/ras.rst`. No AMD hardware was available: the lines were never seen live.

use mainstay_model::Source;

use super::words::{is_trouble, phrase};
use crate::place::pci;
use crate::scan::Cursor;
use crate::{Place, Signal};

/// Phrases of a message, the most specific first. A name of a process may follow in some of them, so the phrases that
/// lead to more than a count come from lines without one.
const PHRASES: &[(&str, &str)] = &[
    ("page fault (src_id", "amd-page-fault"),
    ("in page starting at address", "amd-page-fault"),
    ("PROTECTION_FAULT_STATUS", "amd-page-fault"),
    ("Faulty UTCL2 client", "amd-page-fault"),
    ("device lost from bus", "amd-lost"),
    ("reset succeeded", "amd-reset"),
    (") succeeded!", "amd-reset"),
    ("but recovered through reset", "amd-reset"),
    ("needs recovery", "amd-reset-failed"),
    ("GPU Recovery Failed", "amd-reset-failed"),
    ("GPU reset end with ret", "amd-reset-failed"),
    ("ASIC reset failed", "amd-reset-failed"),
    ("reset failed", "amd-reset-failed"),
    ("GPU reset begin", "amd-reset"),
    ("MODE1 reset", "amd-reset"),
    ("MODE2 reset", "amd-reset"),
    ("BACO reset", "amd-reset"),
    (" ring reset", "amd-reset"),
    ("Fence fallback timer expired", "amd-fence-late"),
    ("MES failed to", "amd-queue-stuck"),
    (") failed to respond to msg", "amd-queue-stuck"),
    ("queue from MES", "amd-queue-stuck"),
    ("queue to MES", "amd-queue-stuck"),
    ("MES might be in unrecoverable state", "amd-queue-stuck"),
    ("MES ring buffer is full", "amd-queue-stuck"),
    ("Failed to evict queue", "amd-queue-stuck"),
    ("failed to unmap legacy queue", "amd-queue-stuck"),
    ("qcm fence wait loop timeout", "amd-queue-stuck"),
    ("Unmapping queues failed", "amd-queue-stuck"),
    ("might be in an unrecoverable state", "amd-queue-stuck"),
    ("preemption time out", "amd-queue-stuck"),
    ("Queue preemption failed", "amd-queue-stuck"),
    ("DQM create queue", "amd-queue-stuck"),
    ("HIQ MQD", "amd-queue-stuck"),
    ("over temperature range", "amd-too-hot"),
    ("CTF", "amd-too-hot"),
    ("Fatal error during GPU init", "amd-init-failed"),
    ("_init of IP block", "amd-init-failed"),
    (" test failed", "amd-init-failed"),
    ("KCQ enable failed", "amd-init-failed"),
    ("KIQ enable failed", "amd-init-failed"),
    ("amdgpu_device_ip_init failed", "amd-init-failed"),
    ("Unable to locate a BIOS ROM", "amd-init-failed"),
    ("failed to halt cp", "amd-init-failed"),
    ("I'm not done with your", "amd-smu-failed"),
    ("SMU: response:", "amd-smu-failed"),
    ("SMU is in hanged state", "amd-smu-failed"),
    ("SMU metrics table", "amd-smu-failed"),
    ("Failed to get current clock", "amd-smu-failed"),
    ("Failed to setup smc hw", "amd-smu-failed"),
    ("SMU may be not in the right state", "amd-smu-failed"),
    ("bad page", "amd-bad-pages"),
    ("bad status detected by RAS", "amd-bad-pages"),
    ("RAS records", "amd-bad-pages"),
];

/// Messages of the compute driver (`amdkfd`) that name neither driver nor device.
const BARE: &[&str] = &[
    "qcm fence wait loop timeout expired",
    "Unmapping queues failed.",
    "The cp might be in an unrecoverable state due to an unsuccessful queues preemption",
];

/// A register that cannot be read is all ones. A sum of such 16-bit counters is a multiple of this and not a count.
const ALL_ONES: u32 = 0xffff;

pub(super) fn parse(text: &str) -> Option<Signal> {
    let (place, said) = message(text)?;
    if said.contains("hardware error") || said.contains("[Hardware Error]") {
        let (code, detail) = ras(said)?;
        return Signal::new(Source::Driver, code, place, &detail);
    }
    // These lines name a process, whose name a tenant chose.
    if ["Process ", "process ", "for process ", "in process "].iter().any(|start| said.starts_with(start)) {
        return None;
    }
    if let Some(ring) = ring_timeout(said) {
        return Signal::new(Source::Driver, "amd-ring-timeout", place, ring);
    }
    if let Some(code) = phrase(said, PHRASES) {
        return Signal::new(Source::Driver, code, place, "");
    }
    if !is_trouble(said) {
        return None;
    }
    let lower = said.to_ascii_lowercase();
    let code = if lower.contains("psp") || lower.contains("ucode") || lower.contains("firmware") {
        "amd-firmware-failed"
    } else if lower.contains("smu") {
        "amd-smu-failed"
    } else if lower.contains("xgmi") {
        "amd-xgmi-error"
    } else {
        "amd-driver-error"
    };
    Signal::new(Source::Driver, code, place, "")
}

/// Parses the beginning of a line: `amdgpu 0000:f2:00.0: amdgpu: text`, `amdgpu: text`, `kfd kfd: amdgpu: text`,
/// `[drm:function [amdgpu]] *ERROR* text`, or one of the bare messages.
fn message(text: &str) -> Option<(Place, &str)> {
    if let Some(rest) = text.strip_prefix("amdgpu ") {
        let (address, said) = rest.split_once(": ")?;
        let place = Place::Pci(pci(address.split(' ').next()?)?);
        let said = said.trim_start();
        return Some((place, without_drm(said.strip_prefix("amdgpu:").unwrap_or(said).trim_start())));
    }
    if let Some(said) = text.strip_prefix("amdgpu: ") {
        return Some((Place::Node, without_drm(said.trim_start())));
    }
    if let Some(said) = text.strip_prefix("kfd kfd: ").or_else(|| text.strip_prefix("amdkfd: ")) {
        return Some((Place::Node, said.strip_prefix("amdgpu: ").unwrap_or(said)));
    }
    if text.starts_with("[drm:") {
        let (function, said) = text.split_once("]] *ERROR* ")?;
        return function.ends_with("[amdgpu").then_some((Place::Node, said));
    }
    let is_bare = BARE.contains(&text.trim_end()) || text.starts_with("Pasid ") && text.contains(" DQM create queue ");
    is_bare.then_some((Place::Node, text))
}

/// Removes `[drm:function [amdgpu]] *ERROR* ` or `[drm] ` within a line.
fn without_drm(said: &str) -> &str {
    if !said.starts_with("[drm") {
        return said;
    }
    let after = said.split_once("*ERROR* ").or_else(|| said.split_once("] "));
    after.map_or(said, |(_, said)| said)
}

/// Parses `ring sdma0 timeout, signaled seq=309, emitted seq=313`, and returns the ring.
fn ring_timeout(said: &str) -> Option<&str> {
    let mut line = Cursor::new(said);
    line.eat("ring ")?;
    let ring = line.run(|c| c.is_ascii_alphanumeric() || "_.".contains(c));
    line.eat(" timeout").map(|()| ring)
}

/// Parses errors that RAS found: `{3}socket: 0, die: 0, 2 new uncorrectable hardware errors detected in umc block` and
/// `{1}uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!`.
fn ras(said: &str) -> Option<(&'static str, String)> {
    if said.contains("Accelerator Check Architecture events logged") {
        return Some(("amd-ras-record", String::new()));
    }
    let (before, after) = said.split_once("correctable hardware error")?;
    let (code, before) = match before.strip_suffix("un") {
        Some(before) => ("amd-ras-uncorrected", before),
        None => ("amd-ras-corrected", before),
    };
    let before = before.trim_end();
    let before = before.strip_suffix(" new").unwrap_or(before);
    let count = before.rsplit([' ', '}']).next().and_then(|word| word.parse::<u32>().ok());
    match count {
        Some(0) => return None,
        Some(count) if count % ALL_ONES == 0 => return Some(("amd-ras-implausible", String::new())),
        Some(_) | None => {}
    }
    let block = after.split_once(" in ").and_then(|(_, block)| block.split(' ').next()).unwrap_or_default();
    Some((code, block.to_owned()))
}

#[cfg(test)]
pub(super) mod tests {
    use crate::kernel::tests::{Line, nothing, says};

    #[rustfmt::skip] // one line a case
    pub(crate) const LINES: &[Line] = &[
        ("amdgpu 0000:f2:00.0: amdgpu: ring comp_1.1.0 timeout, signaled seq=7, emitted seq=9", "Driver amd-ring-timeout 0000:f2:00.0 comp_1.1.0"),
        ("amdgpu 0000:c0:00.0: ring sdma0 timeout, signaled seq=309, emitted seq=313", "Driver amd-ring-timeout 0000:c0:00.0 sdma0"),
        ("[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx timeout, signaled seq=12, emitted seq=14", "Driver amd-ring-timeout node gfx"),
        ("amdgpu 0000:f2:00.0: amdgpu: Ring comp_1.1.0 reset succeeded", "Driver amd-reset 0000:f2:00.0"),
        ("amdgpu 0000:f2:00.0: [drm] device wedged, but recovered through reset", "Driver amd-reset 0000:f2:00.0"),
        ("amdgpu 0000:90:00.0: amdgpu: GPU reset begin!", "Driver amd-reset 0000:90:00.0"),
        ("amdgpu 0000:b0:00.0: amdgpu: GPU reset(5) succeeded!", "Driver amd-reset 0000:b0:00.0"),
        ("amdgpu 0000:90:00.0: amdgpu: GPU reset end with ret = -62", "Driver amd-reset-failed 0000:90:00.0"),
        ("amdgpu 0000:90:00.0: amdgpu: MES failed to respond to msg=REMOVE_QUEUE", "Driver amd-queue-stuck 0000:90:00.0"),
        ("amdgpu 0000:f4:00.0: amdgpu: SMU: I'm not done with your previous command: SMN_C2PMSG_66:0x14e8534d", "Driver amd-smu-failed 0000:f4:00.0"),
        ("amdgpu 0000:0a:00.0: [drm:amdgpu_ring_test_helper [amdgpu]] *ERROR* ring mes_kiq_3.1.0 test failed (-110)", "Driver amd-init-failed 0000:0a:00.0"),
        ("amdgpu 0000:0a:00.0: amdgpu: Fatal error during GPU init", "Driver amd-init-failed 0000:0a:00.0"),
        ("[drm:psp_hw_start [amdgpu]] *ERROR* PSP create ring failed!", "Driver amd-firmware-failed node"),
        ("[drm:amdgpu_fill_buffer [amdgpu]] *ERROR* Unable to clear memory with ring turned off.", "Driver amd-driver-error node"),
        ("amdgpu 0000:1c:00.0: {1}uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!", "Driver amd-ras-uncorrected 0000:1c:00.0"),
        ("amdgpu 0000:1c:00.0: amdgpu: {3}socket: 0, die: 0, 2 new uncorrectable hardware errors detected in umc block", "Driver amd-ras-uncorrected 0000:1c:00.0 umc"),
        ("amdgpu 0000:35:00.0: 12 correctable hardware errors detected in umc block", "Driver amd-ras-corrected 0000:35:00.0 umc"),
        ("amdgpu 0000:35:00.0: 1048560 uncorrectable hardware errors detected in umc block", "Driver amd-ras-implausible 0000:35:00.0"),
        ("amdgpu 0000:aa:00.0: {1}[Hardware Error]: Accelerator Check Architecture events logged", "Driver amd-ras-record 0000:aa:00.0"),
        ("amdgpu 0000:c0:00.0: amdgpu: [mmhub0] no-retry page fault (src_id:0 ring:24 vmid:8 pasid:32768, for process ipython3 pid 2002014 thread ipython3 pid 2002014)", "Driver amd-page-fault 0000:c0:00.0"),
        ("amdgpu 0000:12:00.0: amdgpu: GCVM_L2_PROTECTION_FAULT_STATUS:0x270c4e50", "Driver amd-page-fault 0000:12:00.0"),
        ("amdgpu: Fence fallback timer expired on ring sdma0", "Driver amd-fence-late node"),
        ("qcm fence wait loop timeout expired", "Driver amd-queue-stuck node"),
        ("Pasid 32780 DQM create queue 0 failed. ret -62", "Driver amd-queue-stuck node"),
        ("amdgpu 0000:90:00.0: amdgpu: device lost from bus!", "Driver amd-lost 0000:90:00.0"),
        ("amdgpu 0000:90:00.0: amdgpu: ERROR: GPU over temperature range(SW CTF) detected!", "Driver amd-too-hot 0000:90:00.0"),
        ("amdgpu 0000:90:00.0: amdgpu: Saved bad pages 20 reaches threshold value 20", "Driver amd-bad-pages 0000:90:00.0"),
        ("amdgpu 0000:90:00.0: amdgpu: XGMI: failed to get hive", "Driver amd-xgmi-error 0000:90:00.0"),
    ];

    #[test]
    fn a_line_of_the_driver_is_told_by_what_failed() {
        says(LINES);
    }

    #[test]
    fn lines_of_a_normal_start_and_of_processes_are_left_alone() {
        nothing(&[
            "amdgpu 0000:a7:00.0: amdgpu: MEM ECC is active.",
            "amdgpu 0000:13:00.0: amdgpu: SMU driver if version not matched",
            "amdgpu 0000:13:00.0: amdgpu: SMU is resumed successfully!",
            "amdgpu 0000:b0:00.0: amdgpu: recover vram bo from shadow done",
            "amdgpu 0000:a1:00.0: amdgpu: Will use PSP to load VCN firmware",
            "amdgpu 0000:f2:00.0: amdgpu:  Process GPU reset failed pid 446020 thread gst-plugin:cs0 pid 916637",
            "amdgpu 0000:35:00.0: 0 correctable hardware errors detected in umc block",
            "amdgpu 0000:aa:00.0: {1}[Hardware Error]: aca entry[00].STATUS=0x8d211e0cd6d636af",
            "[drm:psp_hw_start [radeon]] *ERROR* PSP create ring failed!",
        ]);
    }
}
