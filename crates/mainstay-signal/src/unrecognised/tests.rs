//! Templates of lines: what stays, what is removed, which lines count, and that any input is accepted.

use mainstay_model::{Component, Timestamp};
use proptest::prelude::*;

use super::*;

fn kernel(line: &str) -> Option<LineTemplate> {
    unrecognised(line, Writer::Kernel, None)
}

fn template(line: &str) -> String {
    kernel(line).map_or_else(|| format!("nothing for {line}"), |found| found.template.to_string())
}

#[test]
fn values_are_removed_and_the_words_of_the_driver_stay() {
    for (line, expected) in [
        ("[  123.456789] nvme nvme0: I/O 22 QID 3 timeout, aborting", "nvme nvme#: I/O # QID # timeout, aborting"),
        (
            "Nov 15 03:00:00 n1 kernel: NVRM: gpuFrobnicate_GH100: failed with status 0x0000ffff @ 0x7f2a_1000",
            "NVRM: gpuFrobnicate_GH#: failed with status # @ #",
        ),
        (
            "mlx5_core 0000:1b:00.0: widget(0x12) bad state, syndrome 0xdeadbeef",
            "mlx5_core #: widget(#) bad state, syndrome #",
        ),
        (
            "[drm:gfx_v11_0_cp_gfx_enable.isra.0 [amdgpu]] *ERROR* failed to halt cp gfx",
            "[drm:gfx_v#_#_cp_gfx_enable.isra.# [amdgpu]] *ERROR* failed to halt cp gfx",
        ),
        ("EDAC MC0: widget failed on DIMM S4EVNX0M5512", "EDAC MC#: widget failed on DIMM #"),
        (
            "amdgpu 0000:1b:00.0: amdgpu: failed for process python3 pid 4242",
            "amdgpu #: amdgpu: failed for process * pid #",
        ),
        (
            "NVRM: client 'my job' lost, file /data/ann/run.py, host n1.team.example.org",
            "NVRM: client * lost, file /*, host *",
        ),
        (
            "nvidia-uvm: mapping failed: addr=0x1 name=train state=BAD",
            "nvidia-uvm: mapping failed: addr=# name=* state=*",
        ),
        ("xfs: error fe80::1c2:ff:fe00:1 00:1b:21:aa:bb:cc 10.1.2.3 v1.2.3", "xfs: error # *"),
        ("NVRM: GPU-fe982e27-ef40-1540-70d4-6f3f5649eaf0 can't be reset", "NVRM: GPU-# can't be reset"),
        ("NVRM: assert (0x1 0xff 0x3, 0x4)", "NVRM: assert (#"),
        ("amdgpu: no-retry page fault, tag 0xff", "amdgpu: no-retry page fault, tag #"),
        ("cuda-train[4242]: segfault, gpu error", "*: segfault, gpu error"),
    ] {
        assert_eq!(template(line), expected, "{line}");
    }
}

#[test]
fn equal_faults_have_one_code_and_the_code_names_the_driver() {
    let code = |line: &str| kernel(line).unwrap().code.to_string();
    let first = code("nvme nvme0: I/O 22 QID 3 timeout, aborting");
    assert_eq!(first, code("[1.5] nvme nvme7: I/O 1022 QID 11 timeout, aborting"));
    assert_ne!(first, code("nvme nvme0: I/O 22 QID 3 timeout, reset controller"));
    assert!(first.starts_with("nvme-") && first.len() == "nvme-".len() + 8, "{first}");
}

#[test]
fn the_component_follows_the_driver_or_the_words_of_the_line() {
    for (line, expected) in [
        ("NVRM: something failed", Some(Component::Gpu)),
        ("nvidia-nvswitch3: something failed", Some(Component::Gpu)),
        ("amdgpu: something failed", Some(Component::Gpu)),
        ("mlx5_core 0000:1b:00.0: x failed", Some(Component::Nic)),
        ("ice 0000:1b:00.0: x failed", Some(Component::Nic)),
        ("pcieport 0000:1b:00.0: x failed", Some(Component::Pcie)),
        ("newdriver 0000:1b:00.0: x failed", Some(Component::Pcie)),
        ("{3}[Hardware Error]: x", Some(Component::Host)),
        ("EDAC MC0: x failed", Some(Component::Host)),
        ("EXT4-fs error (device sda1): x", Some(Component::Storage)),
        ("sd 0:0:0:0: [sda] x failed", Some(Component::Storage)),
        ("mysterious: the GPU failed", Some(Component::Gpu)),
        ("iceberg: x failed", None),
        ("systemd[1]: x failed", None),
    ] {
        assert_eq!(kernel(line).map(|found| found.component), expected, "{line}");
    }
}

#[test]
fn the_priority_decides_and_words_only_where_it_leaves_it_open() {
    let of = |text, priority| unrecognised(text, Writer::Kernel, priority).is_some();
    assert!(of("NVRM: hello", Some(3)) && of("NVRM: hello failed", Some(4)) && of("NVRM: hello failed", None));
    assert!(!of("NVRM: hello", Some(4)) && !of("NVRM: hello failed", Some(6)) && !of("NVRM: hello", None));
    for calm in [
        "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.158.01  Release Build",
        "mlx5_core 0000:dc:00.0 mlx5_5: Port: 1 Link ACTIVE",
        "amdgpu 0000:a7:00.0: amdgpu: MEM ECC is active.",
        "nvme: no PCIe AER errors",
    ] {
        assert_eq!(kernel(calm), None, "{calm}");
    }
}

#[test]
fn a_service_states_its_level_in_its_own_line() {
    let of = |unit, text| unrecognised(text, Writer::Program(unit), Some(6)).map(|found| found.template.to_string());
    assert_eq!(
        of("nvidia-fabricmanager.service", "request to query NVSwitch 3 failed").as_deref(),
        Some("request to query NVSwitch # failed")
    );
    assert_eq!(
        of("kubelet", "E1116 09:14:05.123456    4242 manager.go:99] Unhealthy device nvidia.com/gpu GPU-1"),
        Some("Unhealthy device nvidia.com/gpu GPU-#".to_owned())
    );
    assert_eq!(of("kubelet", "I1116 09:14:05.123456    4242 manager.go:99] GPU failed before"), None);
    assert_eq!(
        of("kubelet", "E1116 09:14:05.123456    4242 kubelet.go:1] pod team/x failed"),
        None,
        "not about hardware"
    );
    assert_eq!(
        of("containerd.service", "time=\"2026-11-16T09:00:00Z\" level=error msg=\"nvidia-container-cli failed: 3\"")
            .as_deref(),
        Some("nvidia-container-cli failed: #?")
    );
    assert_eq!(of("containerd.service", "time=\"x\" level=info msg=\"nvidia failed\""), None);
    assert_eq!(of("cron.service", "GPU failed"), None, "not a service that is read");
}

#[test]
fn few_templates_are_kept_and_the_rest_is_a_number() {
    let mut counts = UnrecognisedCounts::default();
    let line = |word: &str| kernel(&format!("nvme nvme0: {word} failed")).unwrap();
    let words = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
    for word in words {
        counts.note(&line(word), Timestamp(0));
    }
    assert!(!counts.note(&line("a"), Timestamp(1)));
    assert_eq!((counts.lines().as_slice().len(), counts.overflow()), (TEMPLATES_MAX, 2));
    assert_eq!(counts.lines().as_slice()[0].count, 2, "the most frequent first");
    let hour = Timestamp(3_600_000);
    assert!(counts.note(&line("new"), hour), "a template without lines for an hour makes room");
    assert_eq!((counts.lines().as_slice().len(), counts.overflow()), (TEMPLATES_MAX, 3));
    assert!(counts.forget(Timestamp(24 * 3_600_000 + 1)));
    assert_eq!(counts.lines().as_slice().len(), 1, "only the new one is younger than a day");
    let again = UnrecognisedCounts::of_lines(&counts.lines(), counts.overflow());
    assert_eq!(again, counts);
}

proptest! {
    #[test]
    fn any_line_has_a_bounded_template_or_none(line in any::<String>(), priority in 0_u8..8, is_service in any::<bool>()) {
        let writer = if is_service { Writer::Program("nvidia-dcgm") } else { Writer::Kernel };
        let _ = unrecognised(&line, writer, Some(priority));
        let _ = unrecognised(&format!("NVRM: failed {line}"), writer, None);
    }

    #[test]
    fn no_digit_of_a_value_survives(number in any::<u64>(), pci in "[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\\.[0-7]", hex in "0x[0-9a-f]{1,16}") {
        let line = format!("NVRM: failed {number} at {pci} ({hex}) code={number} id:{hex} [{number}] {number}ms");
        let found = template(&line);
        prop_assert!(!found.contains(|c: char| c.is_ascii_digit()), "{found}");
    }

    #[test]
    fn a_template_is_its_own_template(words in "[a-z ]{0,60}") {
        let once = template(&format!("NVRM: failed {words}"));
        prop_assert_eq!(template(&once), once);
    }
}
