//! Adapters laid out as the kernel does.

use std::fs;
use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("{text}\n")).unwrap();
}

/// One adapter with one port.
fn adapter(state: &str, phys_state: &str) -> TempDir {
    let sys = TempDir::new().unwrap();
    let device = sys.path().join("devices/pci0000:15/0000:18:00.0");
    let class = sys.path().join("class/infiniband/mlx5_0");
    let port = class.join("ports/1");
    for (file, text) in [
        ("state", state),
        ("phys_state", phys_state),
        ("rate", "200 Gb/sec (4X HDR)"),
        ("counters/link_downed", "2"),
        ("counters/port_xmit_wait", "77"),
        ("hw_counters/rnr_nak_retry_err", "1"),
    ] {
        write(&port.join(file), text);
    }
    write(&class.join("node_guid"), "a088:c203:00aa:bb10");
    write(&device.join("net/ens1np0/carrier_changes"), "5");
    write(&device.join("net/ens1np0/dev_port"), "0");
    symlink(&device, class.join("device")).unwrap();
    sys
}

fn words(round: &PollResult) -> Vec<String> {
    round.readings.iter().map(|(place, reading)| format!("{place} {reading:?}")).collect()
}

#[test]
fn a_port_says_its_state_its_rate_and_the_counters_that_matter() {
    let sys = adapter("4: ACTIVE", "5: LinkUp");
    let round = Ports::new(sys.path(), Some(400)).look();
    assert_eq!(
        words(&round),
        [
            "0000:18:00.0 Port(1, Up)",
            "0000:18:00.0 PortRate { port: 1, now_gbps: 200, wanted_gbps: 400 }",
            "0000:18:00.0 PortCount(1, LinkDowned, 2)",
            "0000:18:00.0 PortCount(1, ReceiverNotReady, 1)",
            "0000:18:00.0 PortCount(1, CarrierChanges, 5)",
        ]
    );
    let nics = round.nics.unwrap();
    assert_eq!((nics[0].serial.as_str(), nics[0].pci.as_str()), ("a088c20300aabb10", "0000:18:00.0"));
}

#[test]
fn a_port_that_was_never_up_is_down_for_who_wants_it_up() {
    let sys = adapter("1: DOWN", "2: Polling");
    let down = |ports: &mut Ports| words(&ports.look()).contains(&"0000:18:00.0 Port(1, Down)".to_owned());
    assert!(!down(&mut Ports::new(sys.path(), None)));
    assert!(down(&mut Ports::new(sys.path(), Some(400))));
    let mut ports = Ports::new(sys.path(), None);
    let port = sys.path().join("class/infiniband/mlx5_0/ports/1/state");
    write(&port, "4: ACTIVE");
    assert!(!down(&mut ports));
    write(&port, "1: DOWN");
    assert!(down(&mut ports), "it was up a moment ago");
}

#[test]
fn congestion_is_the_sum_over_the_ports_that_count_it() {
    let sys = adapter("4: ACTIVE", "5: LinkUp");
    let class = sys.path().join("class/infiniband/mlx5_0");
    write(&class.join("ports/1/hw_counters/np_cnp_sent"), "5");
    write(&class.join("ports/2/state"), "4: ACTIVE");
    // Another driver's name, and a number that is none.
    write(&class.join("ports/2/hw_counters/tx_cnp_pkts"), "7");
    write(&class.join("ports/2/hw_counters/rx_cnp_pkts"), "many");
    let congestion = Ports::new(sys.path(), None).look().congestion;
    let expected = Congestion { cnp_sent: Some(12), transmit_wait: Some(77), ..Congestion::default() };
    assert_eq!(congestion, Some(expected));
}

#[test]
fn a_node_without_adapters_is_seen() {
    let sys = TempDir::new().unwrap();
    let round = Ports::new(sys.path(), None).look();
    assert_eq!((round.nics, round.trouble), (Some(Vec::new()), None));
}

#[test]
fn a_port_number_that_cannot_be_is_taken_for_the_first() {
    // Found by a fuzzer: the largest number there is, and one more.
    for number in ["18446744073709551615", "65535"] {
        let sys = adapter("4: ACTIVE", "5: LinkUp");
        write(&sys.path().join("devices/pci0000:15/0000:18:00.0/net/ens1np0/dev_port"), number);
        let round = Ports::new(sys.path(), None).look();
        assert!(words(&round).contains(&"0000:18:00.0 PortCount(1, CarrierChanges, 5)".to_owned()), "{number}");
    }
}
