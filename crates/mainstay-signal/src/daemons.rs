//! Log lines of services that report GPU faults: Fabric Manager, the persistence daemon, DCGM, the kubelet, container
//! runtimes and systemd. Only lines that name a fault are signals; a problem of a service with its own clients is not.
//!
//! A service may quote what a tenant chose, such as the name of a pod. Its lines therefore lead to no more than an
//! operator's look: the rules of the catalogue for this source remove no node.

use mainstay_model::Source;

use crate::kernel::words::{is_trouble, phrase};
use crate::{Place, Recognition, Signal, scan};

/// Maximum length of a line that is searched.
const LINE_BYTES_MAX: usize = 2048;

/// Programs that log for Fabric Manager, by the beginning of their name: its start script has one of its own.
const FABRIC_MANAGERS: [&str; 4] = ["nv-fabricmanager", "nvidia-fabricmanager", "fabricmanager", "nvlsm"];

/// Programs that log errors of memory and processors which the hardware recorded.
const ERROR_RECORDERS: [&str; 2] = ["rasdaemon", "mcelog"];

/// Other programs whose lines are read, by the beginning of their name.
const PROGRAMS: [&str; 21] = [
    "nvidia-persistenced",
    "nv-hostengine",
    "nvidia-dcgm",
    "dcgm",
    "kubelet",
    "containerd",
    "dockerd",
    "docker",
    "crio",
    "k3s",
    "runc",
    "nvidia-container",
    "nvidia-ctk",
    "nvidia-device-plugin",
    "nvidia-smi",
    "nvidia-imex",
    "modprobe",
    "systemd-modules-load",
    "slurmd",
    "gdm-x-session",
    "Xorg",
];

/// Beginnings of units whose failure is a fault of the node.
const UNITS: [&str; 9] = ["nvidia-", "dcgm", "kubelet", "containerd", "docker", "openibd", "rdma", "slurmd", "crio"];

/// Phrases in lower case, the most specific first.
const PHRASES: &[(&str, &str)] = &[
    ("driver/library version mismatch", "driver-mismatch"),
    ("gpu is lost", "gpu-lost"),
    ("fallen off the bus", "gpu-lost"),
    ("unable to determine the device handle for gpu", "gpu-unreachable"),
    ("couldn't communicate with the nvidia driver", "driver-unavailable"),
    ("failed to initialize the nvidia gpu", "gpu-unreachable"),
    ("unable to load the kernel module 'nvidia", "driver-unavailable"),
    ("failed to load module nvidia", "driver-unavailable"),
    ("failed to load nvidia kernel module", "driver-unavailable"),
    ("nvidia-container-cli: ", "container-setup-failed"),
    ("failed to initialize nvml", "nvml-unavailable"),
    ("could not load nvml", "nvml-unavailable"),
    ("failed to query nvidia devices", "persistence-failed"),
    ("in health system", "dcgm-health"),
];

/// Returns what a line of a program means. A program that is not in the lists is never read.
pub(crate) fn recognise(program: &str, line: &str) -> Recognition {
    let program = program.rsplit('/').next().unwrap_or(program);
    let line = scan::cut(line, LINE_BYTES_MAX);
    if FABRIC_MANAGERS.iter().any(|known| program.starts_with(known)) {
        return if is_trouble(line) { service("fabric-manager-failed", "") } else { Recognition::Unknown };
    }
    if program == "systemd" {
        return unit(line);
    }
    if ERROR_RECORDERS.contains(&program) {
        return recorded(line);
    }
    if !PROGRAMS.iter().any(|known| program.starts_with(known)) {
        return Recognition::Unknown;
    }
    let known = named(line);
    if known == Recognition::Unknown && program == "nvidia-persistenced" && is_trouble(line) {
        return service("persistence-failed", "");
    }
    known
}

/// Returns what a line means whose writer is not stated.
pub(crate) fn recognise_unstated(line: &str) -> Recognition {
    let line = scan::cut(line, LINE_BYTES_MAX);
    let known = [named, unit].iter().map(|read| read(line)).find(|known| *known != Recognition::Unknown);
    if let Some(known) = known {
        return known;
    }
    let lower = line.to_ascii_lowercase();
    let is_fabric = ["fabric manager", "fabricmanager", "nvswitch"].iter().any(|name| lower.contains(name));
    if is_fabric && is_trouble(line) { service("fabric-manager-failed", "") } else { Recognition::Unknown }
}

/// Finds a fault that the line names.
fn named(line: &str) -> Recognition {
    let lower = line.to_ascii_lowercase();
    if let Some(number) = xid(&lower) {
        return service("xid-reported", &number.to_string());
    }
    if lower.contains("could not insert") && lower.contains("nvidia") {
        return service("driver-unavailable", "");
    }
    match phrase(&lower, PHRASES) {
        Some("dcgm-health") if !is_trouble(&lower) && !lower.contains("warning") => Recognition::Unknown,
        Some(code) => service(code, ""),
        None => Recognition::Unknown,
    }
}

/// Parses an XID that another tool reports: `XID 79(GPU has fallen off the bus) detected on PCI:0000:97:00`, `Xid=79 on
/// Device=GPU-…`, `Detected XID 145 for GPU 0`. An Ethernet driver prints `XID 641` for the model of its chip.
fn xid(lower: &str) -> Option<u32> {
    let is_gpu = ["gpu", "pci:", "nvidia", "dcgm"].iter().any(|word| lower.contains(word));
    let number = |(at, mark): (usize, &str)| {
        let is_word = lower.get(..at)?.chars().next_back().is_none_or(|c| !c.is_ascii_alphanumeric() && c != '_');
        let after = lower.get(at + mark.len()..)?.trim_start_matches([' ', '=', ':', '#']);
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        let ends = after.get(digits..)?.chars().next().is_none_or(|c| !c.is_ascii_alphanumeric());
        let number = after.get(..digits)?.parse().ok()?;
        (is_word && ends && (1..=999).contains(&number)).then_some(number)
    };
    if is_gpu { lower.match_indices("xid").find_map(number) } else { None }
}

/// Parses systemd's lines about a unit: `nvidia-fabricmanager.service: Control process exited, code=exited,
/// status=1/FAILURE`, `nvidia-dcgm.service: Failed with result 'exit-code'.`, `Failed to start NVIDIA fabric manager`.
fn unit(line: &str) -> Recognition {
    if let Some(name) = line.strip_prefix("Failed to start ") {
        let name = name.to_ascii_lowercase();
        let is_unit =
            ["nvidia", "fabric manager", "dcgm", "kubelet", "containerd"].iter().any(|part| name.contains(part));
        return if is_unit { service("unit-failed", "") } else { Recognition::Unknown };
    }
    let Some((unit, said)) = line.split_once(".service: ") else { return Recognition::Unknown };
    let is_unit = UNITS.iter().any(|start| unit.starts_with(start)) && !unit.contains(' ');
    let failed = ["Failed with result", "status=1", "status=2", "code=dumped", "code=killed", "Start request repeated"];
    if is_unit && failed.iter().any(|words| said.contains(words)) {
        return service("unit-failed", unit);
    }
    Recognition::Unknown
}

/// Parses an event that rasdaemon or mcelog recorded: `mce_record: … Corrected error, no action required., mci=CECC, mca=
/// DRAM ECC error.`, `mc_event: … 1 Corrected error: memory read error on …`, `Hardware event. This is not a software
/// error.`. One error has several lines, so they count as reports and not as errors.
fn recorded(line: &str) -> Recognition {
    let is_memory = line.contains("mc_event: ") || line.contains("DRAM ECC error");
    let is_error = ["mce_record: ", "Corrected error", "Uncorrected error", "Hardware event. This is not a software"];
    match is_memory {
        true => service("memory-error-recorded", ""),
        false if is_error.iter().any(|words| line.contains(words)) => service("machine-check-recorded", ""),
        false => Recognition::Unknown,
    }
}

fn service(code: &str, detail: &str) -> Recognition {
    Signal::new(Source::Service, code, Place::Node, detail).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Writer;

    fn code(program: &str, line: &str) -> Option<String> {
        let writer = if program.is_empty() { Writer::Unstated } else { Writer::Program(program) };
        let signal = crate::recognise(line, writer).signal()?;
        assert_eq!(signal.source, Source::Service);
        Some(format!("{} {}", signal.code, signal.detail).trim_end().to_owned())
    }

    #[test]
    fn a_fault_that_a_service_names_is_told() {
        for (program, line, expected) in [
            (
                "nv-fabricmanager",
                "request to query NVSwitch device information from NVSwitch driver failed with error:WARNING Nothing to do [NV_WARN_NOTHING_TO_DO]",
                "fabric-manager-failed",
            ),
            (
                "",
                "fabric manager config file item: FABRIC_NODE_CONFIG_FILE has an invalid value",
                "fabric-manager-failed",
            ),
            (
                "systemd",
                "nvidia-fabricmanager.service: Control process exited, code=exited, status=1/FAILURE",
                "unit-failed nvidia-fabricmanager",
            ),
            ("systemd", "Failed to start NVIDIA fabric manager service.", "unit-failed"),
            (
                "kubelet",
                "rpc error: Unable to retrieve list of available devices: error creating nvml.Device 3: nvml: GPU is lost, which is unexpected",
                "gpu-lost",
            ),
            ("", "Failed to initialize NVML: Driver/library version mismatch", "driver-mismatch"),
            (
                "dockerd",
                "stderr: nvidia-container-cli: initialization error: nvml error: driver/library version mismatch: unknown",
                "driver-mismatch",
            ),
            ("containerd", "stderr: nvidia-container-cli: device error: 3: unknown device", "container-setup-failed"),
            ("", "Unable to determine the device handle for GPU0000:07:00.0: Unknown Error", "gpu-unreachable"),
            (
                "nv-hostengine",
                "ERROR [1:2] [[Health]] Detected a WARNING in health system Thermal: 'Detected clocks event'",
                "dcgm-health",
            ),
            ("", "XID 79(GPU has fallen off the bus) detected on PCI:0000:97:00", "xid-reported 79"),
            ("nvidia-device-plugin", "XidCriticalError: Xid=48 on Device=GPU-6f1", "xid-reported 48"),
            (
                "nv-fabricmanager",
                "fabric manager NVIDIA GPU driver interface version 595.71.05 don't match with driver version 590.48.01.",
                "fabric-manager-failed",
            ),
            ("nvidia-fabricmanager-start.sh", "nv-fabricmanager failed! Exit code: 1", "fabric-manager-failed"),
            ("", "Failed to start NVIDIA Persistence Daemon.", "unit-failed"),
            (
                "rasdaemon",
                "<...>-31207 [001] 0.007845: mce_record: bank=18, status= 9c2040000000011b, Corrected error, mca= DRAM ECC error.",
                "memory-error-recorded",
            ),
            ("rasdaemon", "mc_event: 2 Corrected errors: memory read error on DIMM_A1", "memory-error-recorded"),
            ("mcelog", "Hardware event. This is not a software error.", "machine-check-recorded"),
            ("modprobe", "modprobe: ERROR: could not insert 'nvidia_modeset': No such device", "driver-unavailable"),
            (
                "nvidia-persistenced",
                "Failed to query NVIDIA devices. Please ensure that the NVIDIA device files exist.",
                "persistence-failed",
            ),
            (
                "/usr/libexec/gdm-x-session",
                "(EE) NVIDIA(GPU-0): Failed to initialize the NVIDIA GPU at PCI:82:0:0.",
                "gpu-unreachable",
            ),
        ] {
            assert_eq!(code(program, line).as_deref(), Some(expected), "{program}: {line}");
        }
    }

    #[test]
    fn other_programs_and_normal_lines_are_left_alone() {
        for (program, line) in [
            ("python", "Failed to initialize NVML: Driver/library version mismatch"),
            ("python", "NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus."),
            ("kubelet", "NVRM: Xid (PCI:0000:1b:00): unreadable"),
            ("nvidia-persistenced", "Received signal 15"),
            ("rasdaemon", "ras:mc_event event enabled"),
            ("mcelog", "Running trigger `sync-error-trigger'"),
            ("nv-fabricmanager", "Successfully configured all the available NVSwitches"),
            ("systemd", "cron.service: Failed with result 'exit-code'."),
            ("systemd", "Failed to start Daily apt activities."),
            ("systemd", "nvidia-fabricmanager.service: Deactivated successfully."),
            ("", "eth0: RTL8125B, 02:c4:e5:b1:f5:e3, XID 641, IRQ 158"),
        ] {
            assert_eq!(code(program, line), None, "{program}: {line}");
        }
    }

    #[test]
    fn a_wrapped_line_is_read_only_where_no_writer_is_stated() {
        let line =
            "failed: [a055] (item=[Sun Oct 01 13:39:45 2024] NVRM: Xid (PCI:0000:64:00): 140, pid='<unknown>', x)";
        let signal = crate::recognise(line, Writer::Unstated).signal().unwrap();
        assert_eq!((signal.source, signal.code.as_str()), (Source::Xid, "140"));
        assert_eq!(crate::recognise(line, Writer::Kernel), Recognition::Unknown);
        assert_eq!(crate::recognise(line, Writer::Program("kubelet")), Recognition::Unknown);
    }
}
