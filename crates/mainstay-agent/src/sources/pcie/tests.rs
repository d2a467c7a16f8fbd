//! A bus laid out as the kernel does: devices are links into a tree of ports.

use std::fs;
use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

const PORT: &str = "devices/pci0000:15/0000:15:01.0";

fn write(folder: &Path, files: &[(&str, &str)]) {
    fs::create_dir_all(folder).unwrap();
    for (file, text) in files {
        fs::write(folder.join(file), format!("{text}\n")).unwrap();
    }
}

fn aer(total: &str, word: &str) -> String {
    format!("RxErr {total}\nBadTLP 0\nTOTAL_ERR_{word} {total}")
}

/// A GPU and an adapter below one port, and a disk that is nobody's business.
fn bus() -> TempDir {
    let sys = TempDir::new().unwrap();
    let port = sys.path().join(PORT);
    write(&port, &[("class", "0x060400"), ("vendor", "0x8086"), ("max_link_speed", "32.0 GT/s PCIe")]);
    write(&port, &[("max_link_width", "16"), ("aer_dev_correctable", &aer("3", "COR"))]);
    let gpu = port.join("0000:1b:00.0");
    write(&gpu, &[("class", "0x030200"), ("vendor", "0x10de"), ("aer_dev_correctable", &aer("450", "COR"))]);
    write(&gpu, &[("aer_dev_nonfatal", &aer("0", "NONFATAL")), ("aer_dev_fatal", &aer("1", "FATAL"))]);
    write(&gpu, &[("current_link_speed", "2.5 GT/s PCIe"), ("max_link_speed", "64.0 GT/s PCIe")]);
    write(&gpu, &[("current_link_width", "8"), ("max_link_width", "16")]);
    let nic = port.join("0000:18:00.0");
    write(&nic, &[("class", "0x020700"), ("vendor", "0x15b3"), ("current_link_speed", "16.0 GT/s PCIe")]);
    write(&nic, &[("max_link_speed", "32 GT/s"), ("current_link_width", "16"), ("max_link_width", "16")]);
    let disk = port.join("0000:19:00.0");
    write(&disk, &[("class", "0x010802"), ("vendor", "0x144d"), ("aer_dev_correctable", &aer("9", "COR"))]);
    let devices = sys.path().join("bus/pci/devices");
    fs::create_dir_all(&devices).unwrap();
    for (name, folder) in
        [("0000:15:01.0", &port), ("0000:1b:00.0", &gpu), ("0000:18:00.0", &nic), ("0000:19:00.0", &disk)]
    {
        symlink(folder, devices.join(name)).unwrap();
    }
    sys
}

fn words(round: &PollResult) -> Vec<String> {
    round.readings.iter().map(|(place, reading)| format!("{place} {reading:?}")).collect()
}

#[test]
fn counters_of_a_gpu_an_adapter_and_the_port_above_them_are_read() {
    let sys = bus();
    let round = Bus::new(sys.path()).look();
    assert_eq!(
        words(&round),
        [
            "0000:15:01.0 PcieErrors(Correctable, 3)",
            "0000:18:00.0 PcieSpeed { now: PcieLink { generation: 4, lanes: 16 }, best: PcieLink { generation: 5, lanes: 16 }, load: Busy }",
            "0000:1b:00.0 PcieErrors(Correctable, 450)",
            "0000:1b:00.0 PcieErrors(NonFatal, 0)",
            "0000:1b:00.0 PcieErrors(Fatal, 1)",
        ]
    );
    let [(address, now, best)] = round.gpu_links.as_slice() else { panic!("{:?}", round.gpu_links) };
    assert_eq!((address.as_str(), now.generation, now.lanes), ("0000:1b:00.0", 1, 8));
    assert_eq!((best.generation, best.lanes), (5, 16), "no more than the port above can");
    assert_eq!(round.trouble, None);
}

#[test]
fn a_device_that_answers_all_ones_has_no_link() {
    let sys = bus();
    let gpu = sys.path().join(PORT).join("0000:1b:00.0");
    write(&gpu, &[("current_link_speed", "Unknown"), ("current_link_width", "63")]);
    let round = Bus::new(sys.path()).look();
    assert_eq!(round.gpu_links, []);
}

#[test]
fn a_bus_that_is_not_there_is_told() {
    let round = Bus::new(Path::new("/nonexistent")).look();
    assert!(round.trouble.is_some_and(|trouble| trouble.unavailable));
}

#[test]
fn speeds_are_generations_in_both_spellings() {
    for (speed, expected) in [
        ("2.5 GT/s PCIe", Some(1)),
        ("5 GT/s", Some(2)),
        ("8.0 GT/s PCIe", Some(3)),
        ("64.0 GT/s PCIe", Some(6)),
        ("Unknown", None),
    ] {
        assert_eq!(generation(speed), expected, "{speed}");
    }
}
