//! Lines of NVIDIA's driver without an XID: initialisation, firmware, assertions, version mismatch, the display part, and
//! a GPU that is lost. A line that only repeats an XID has a code of its own, so that the XID is counted once.
//!
//! The wording is that of NVIDIA's open kernel modules (`kernel-open/nvidia`, `src/nvidia`). Most lines begin with the
//! function that printed them, `NVRM: kgspBootstrap_TU102: …`, and the function names its unit.

use mainstay_model::Source;

use super::words::{is_trouble, phrase};
use crate::scan::Cursor;
use crate::{Place, Signal};

/// Phrases of lines about one GPU or the whole driver, the most specific first.
const PHRASES: &[(&str, &str)] = &[
    ("fallen off the bus", "gpu-lost"),
    ("GPU is lost", "gpu-lost"),
    ("API mismatch: the client", "driver-mismatch"),
    ("GPU is probably locked", "gpu-locked"),
    ("Cannot initialize GSP firmware", "firmware-boot-failed"),
    ("cannot initialize GSP-RM", "firmware-boot-failed"),
    ("RmInitAdapter", "gpu-init-failed"),
    ("rm_init_adapter", "gpu-init-failed"),
    ("osInitNvMapping", "gpu-init-failed"),
    ("The NVIDIA probe routine failed", "gpu-init-failed"),
    ("The NVIDIA probe routine was not called", "gpu-init-failed"),
    ("None of the NVIDIA", "gpu-init-failed"),
    ("No NVIDIA devices probed", "gpu-init-failed"),
    ("No NVIDIA graphics adapter found", "gpu-init-failed"),
    ("assigned to your NVIDIA device is invalid", "gpu-init-failed"),
    ("module->open() failed", "gpu-init-failed"),
    ("is not supported by the", "gpu-unsupported"),
    ("requires use of the NVIDIA open kernel modules", "gpu-unsupported"),
    ("RPC history", "gsp-history"),
    ("RPC event history", "gsp-history"),
    ("A GPU crash dump has been created", "crash-dump"),
];

/// Units by the beginning of the function that printed a line; the rest is the driver in general.
const UNITS: &[(&str, &str)] = &[
    ("nvAssert", "driver-assertion"),
    ("nvCheck", "driver-assertion"),
    ("nvDbg", "driver-assertion"),
    ("kgsp", "firmware-boot-failed"),
    ("gsp", "firmware-boot-failed"),
    ("kfsp", "firmware-boot-failed"),
    ("kflcn", "firmware-boot-failed"),
    ("gpuWaitForGfwBoot", "firmware-boot-failed"),
    ("s_executeBooter", "firmware-boot-failed"),
    ("knvlink", "nvlink-driver-error"),
    ("nvlink", "nvlink-driver-error"),
    ("kfabric", "nvlink-driver-error"),
    ("gpuFabric", "nvlink-driver-error"),
];

/// Maximum length of a function's name.
const FUNCTION_BYTES_MAX: usize = 64;

pub(super) fn parse(text: &str) -> Option<Signal> {
    resource_manager(text).or_else(|| module(text)).or_else(|| drm(text))
}

/// Parses lines of the resource manager, `NVRM: …`; older open drivers print no colon before the function.
fn resource_manager(text: &str) -> Option<Signal> {
    let said = text.strip_prefix("NVRM")?;
    let said = said.strip_prefix(':').unwrap_or(said).strip_prefix(' ')?;
    if said.starts_with("Xid (") {
        return None;
    }
    if is_history(said) {
        return driver("gsp-history", Place::Node, "");
    }
    let (place, said) = gpu(said.trim_start());
    let function = function(said);
    if let Some((name, message)) = function
        && let Some((_, code)) = UNITS.iter().find(|(unit, _)| name.trim_start_matches('_').starts_with(unit))
    {
        let is_fault = *code == "driver-assertion" || is_trouble(message);
        return if is_fault { driver(code, place, name) } else { None };
    }
    if let Some(code) = phrase(said, PHRASES) {
        let place = if code == "driver-mismatch" { Place::Node } else { place };
        return driver(code, place, "");
    }
    let is_fault = is_trouble(said) || said.contains("NV_ERR_") || said.contains("!!!!!");
    if is_fault { driver("driver-error", place, function.map_or("", |(name, _)| name)) } else { None }
}

/// Parses `GPU 0000:f9:00.0: text`, `GPU0 text` and `The NVIDIA GPU 0000:f9:00.0 text`: the GPU and the rest.
fn gpu(said: &str) -> (Place, &str) {
    let named = ["The NVIDIA GPU ", "GPU at ", "GPU "].iter().find_map(|start| said.strip_prefix(start));
    if let Some((address, rest)) = named.and_then(|named| named.split_once(' ')) {
        let place = Place::pci_or_node(address.trim_end_matches(':'));
        return if place == Place::Node { (place, said) } else { (place, rest) };
    }
    let mut line = Cursor::new(said);
    let numbered = line.eat("GPU").and_then(|()| line.number()).and_then(|_| line.eat(" "));
    (Place::Node, if numbered.is_some() { line.rest() } else { said })
}

/// Parses `kgspBootstrap_TU102: text`: the function and its message.
fn function(said: &str) -> Option<(&str, &str)> {
    let (name, message) = said.split_once(": ")?;
    let is_name = name.len() <= FUNCTION_BYTES_MAX
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && name.bytes().any(|byte| byte.is_ascii_lowercase());
    is_name.then_some((name, message))
}

/// Parses a row of the history of calls to the GPU's system processor: `-1    76   GSP_RM_CONTROL  4126 0x…`.
fn is_history(said: &str) -> bool {
    let mut words = said.split_ascii_whitespace();
    let mut number = || words.next().is_some_and(|word| word.parse::<i32>().is_ok());
    let numbered = number() && number();
    let name = words.next().unwrap_or_default();
    numbered && name.contains('_') && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
}

/// Parses lines of the other modules: `nvidia-modeset: ERROR: GPU:0: …`, `nvidia-uvm: …`, `nvidia-nvlink: …`.
fn module(text: &str) -> Option<Signal> {
    let (module, said) = text.strip_prefix("nvidia-")?.split_once(": ")?;
    if module == "modeset" {
        let is_fault = ["ERROR: ", "WARNING: "].iter().any(|level| said.starts_with(level));
        return if is_fault { driver("display-error", Place::Node, "") } else { None };
    }
    if !is_trouble(said) || said.starts_with("SXid (") {
        return None;
    }
    match module {
        "uvm" => driver("driver-error", Place::Node, "nvidia-uvm"),
        "nvlink" => driver("nvlink-driver-error", Place::Node, "nvidia-nvlink"),
        _ => {
            let number = Cursor::behind_last(module, "nvswitch")?.number()?;
            driver("nvswitch-driver-error", Place::NvSwitch(number), "")
        }
    }
}

/// Parses `[drm:nv_drm_load [nvidia_drm]] *ERROR* …` and `[drm] [nvidia-drm] [GPU ID 0x…] Failed …`.
fn drm(text: &str) -> Option<Signal> {
    let said = text.strip_prefix("[drm")?;
    let is_fault = said.contains("[nvidia_drm]] *ERROR*") || said.starts_with("] [nvidia-drm]") && is_trouble(said);
    if is_fault { driver("driver-error", Place::Node, "nvidia-drm") } else { None }
}

fn driver(code: &str, place: Place, detail: &str) -> Option<Signal> {
    Signal::new(Source::Driver, code, place, detail)
}

#[cfg(test)]
pub(super) mod tests {
    use crate::kernel::tests::{Line, nothing, says};

    #[rustfmt::skip] // one line a case
    pub(crate) const LINES: &[Line] = &[
        ("NVRM: GPU 0000:f9:00.0: GPU has fallen off the bus.", "Driver gpu-lost 0000:f9:00.0"),
        ("NVRM: GPU at 0000:01:00.0 has fallen off the bus.", "Driver gpu-lost 0000:01:00.0"),
        ("NVRM: fallen off the bus and is not responding to commands.", "Driver gpu-lost node"),
        ("NVRM: The NVIDIA GPU 0000:aa:00.0#012NVRM: (PCI ID: 10de:26b5) installed in this system has#012NVRM: fallen off the bus and is not responding to commands.", "Driver gpu-lost 0000:aa:00.0"),
        ("NVRM: The NVIDIA probe routine failed for 1 device(s).", "Driver gpu-init-failed node"),
        ("NVRM: GPU 0000:6f:00.0: RmInitAdapter failed! (0x24:0x72:1568)", "Driver gpu-init-failed 0000:6f:00.0"),
        ("NVRM: GPU 0000:6f:00.0: rm_init_adapter failed, device minor number 5", "Driver gpu-init-failed 0000:6f:00.0"),
        ("NVRM: RmInitAdapter: Cannot initialize GSP firmware RM", "Driver firmware-boot-failed node"),
        ("NVRM: nvidia_frontend_open: minor 0, module->open() failed, error -5", "Driver gpu-init-failed node"),
        ("NVRM: gpuWaitForGfwBootComplete_TU102: failed to wait for GFW_BOOT: (progress 0x3)", "Driver firmware-boot-failed node gpuWaitForGfwBootComplete_TU102"),
        ("NVRM kgspInitRm_IMPL: missing NVDEC0 engine, cannot initialize GSP-RM", "Driver firmware-boot-failed node kgspInitRm_IMPL"),
        ("NVRM: kfspPollForResponse_IMPL: FSP command timed out", "Driver firmware-boot-failed node kfspPollForResponse_IMPL"),
        ("NVRM: API mismatch: the client 'kwin_wayland' (pid 3920304)\nNVRM: has the version 595.84, but this kernel module has\nNVRM: the version 595.80.", "Driver driver-mismatch node"),
        ("NVRM: krcWatchdog_IMPL: RC watchdog: GPU is probably locked!  Notify Timeout Seconds: 7", "Driver gpu-locked node"),
        ("NVRM: GPU0 nvAssertFailedNoLog: Assertion failed: (status == NV_OK) @ mem.c:178", "Driver driver-assertion node nvAssertFailedNoLog"),
        ("NVRM: knvlinkDiscoverPostRxDetLinks_GH100: Getting peer0's postRxDetLinkMask failed!", "Driver nvlink-driver-error node knvlinkDiscoverPostRxDetLinks_GH100"),
        ("NVRM: dmaAllocMapping_GM107: can't alloc VA space for mapping.", "Driver driver-error node dmaAllocMapping_GM107"),
        ("NVRM: ... Out of memory [NV_ERR_NO_MEMORY] ... mapping_reuse.c:273", "Driver driver-error node"),
        ("NVRM: GPU6 RPC event history (CPU <- GSP):", "Driver gsp-history node"),
        ("NVRM:     -1    76   GSP_RM_CONTROL              4126 0x94b8bfef90c9f4b4", "Driver gsp-history node"),
        ("NVRM: A GPU crash dump has been created. If possible, please run", "Driver crash-dump node"),
        ("NVRM: The NVIDIA GPU 0000:01:00.0 (PCI ID: 10de:1b80)\nNVRM: installed in this system is not supported by the\nNVRM: NVIDIA 610.43 driver release.", "Driver gpu-unsupported 0000:01:00.0"),
        ("nvidia-modeset: ERROR: GPU:0: Error while waiting for GPU progress: 0xec3f5e4b:0 2:0:200:192", "Driver display-error node"),
        ("nvidia-uvm: Failed to register the fault buffer", "Driver driver-error node nvidia-uvm"),
        ("nvidia-nvlink: Link training failed on link 3", "Driver nvlink-driver-error node nvidia-nvlink"),
        ("nvidia-nvswitch2: Failed to initialize the device", "Driver nvswitch-driver-error nvswitch2"),
        ("[drm:nv_drm_load [nvidia_drm]] *ERROR* [nvidia-drm] [GPU ID 0x6ba85aa5] Failed to allocate NvKmsKapiDevice", "Driver driver-error node nvidia-drm"),
    ];

    #[test]
    fn a_line_of_the_driver_is_told_by_its_unit() {
        says(LINES);
    }

    #[test]
    fn lines_of_a_normal_start_are_left_alone() {
        nothing(&[
            "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.158.01  Release Build",
            "NVRM: GPU at 0000:53:00.0 has software scheduler ENABLED with policy BEST_EFFORT.",
            "NVRM: tlsIsrInit: TLS: Unnecessary tlsIsrInit() call at FFFFFFFFA09AE359. Will stop reporting.",
            "NVRM: testIfDsmSubFunctionEnabled: GPS ACPI DSM called before _acpiDsmSupportedFuncCacheInit subfunction = 11.",
            "NVRM: kfspSendBootCommands_GH100: version=0x1, size=0x35c, gspFmcSysmemOffset=0xbae8e938c",
            "NVRM: Persistence mode is deprecated and will be removed in a future release.",
            "NVRM cpuidInfoAMD: Unrecognized AMD processor in cpuidInfoAMD",
            "nvidia-nvlink: Nvlink Core is being initialized, major device number 239",
            "nvidia-uvm: Loaded the UVM driver, major device number 489.",
            "nvidia-modeset: Loading NVIDIA Kernel Mode Setting Driver for UNIX platforms  570.158.01",
            "[drm] [nvidia-drm] [GPU ID 0x69eca2f3] Loading driver",
        ]);
    }
}
