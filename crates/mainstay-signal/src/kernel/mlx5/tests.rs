//! Lines of the mlx5 driver.

use crate::kernel::tests::{Line, nothing, says};

#[rustfmt::skip] // one line a case
pub(crate) const LINES: &[Line] = &[
    ("mlx5_core 0000:18:00.0 ens1np0: Link down", "Nic link-down 0000:18:00.0"),
    ("mlx5_core 0000:18:00.0 ens1np0: Link up", "Nic link-up 0000:18:00.0"),
    ("mlx5_core 0000:53:00.0 mlx5_3: Port: 1 Link DOWN", "Nic link-down 0000:53:00.0 port 1"),
    ("mlx5_core 0000:53:00.0 mlx5_3: Port: 1 Link ACTIVE", "Nic link-up 0000:53:00.0 port 1"),
    ("mlx5_core 0000:18:00.0: poll_health:739:(pid 0): device's health compromised - reached miss count", "Nic health-compromised 0000:18:00.0"),
    ("mlx5_core 0000:18:00.0: device's health compromised", "Nic health-compromised 0000:18:00.0"),
    ("mlx5_core 0000:18:00.0: wait_func:1150:(pid 4242): ENABLE_HCA(0x104) timeout. Will cause a leak of a command resource", "Nic command-timeout 0000:18:00.0"),
    ("mlx5_core 0000:18:00.0: cb_timeout_handler:877:(pid 91): cmd[3]: CREATE_MKEY(0x200) Async, timeout. Will cause a leak of a command resource", "Nic command-timeout 0000:18:00.0"),
    ("mlx5_core 0000:18:00.0: print_health_info:427:(pid 0): Health issue observed, unrecoverable hardware error, severity(3) ERROR:", "Nic hardware-error 0000:18:00.0"),
    ("mlx5_core 0000:18:00.0: synd 0x8: unrecoverable hardware error", "Nic hardware-error 0000:18:00.0 synd"),
    ("mlx5_core 0000:18:00.0: print_health_info:427:(pid 0): Health issue observed, High temperature, severity(2) CRITICAL:", "Nic health-issue 0000:18:00.0 High temperature"),
    ("mlx5_core 0000:18:00.0: synd 0x1: firmware internal error", "Nic health-issue 0000:18:00.0 synd firmware internal error"),
    ("mlx5_core 0000:18:00.0: poll_health:748:(pid 0): Fatal error 1 detected", "Nic fatal-error 0000:18:00.0 kind 1"),
    ("mlx5_core 0000:18:00.0: PCI slot is unavailable", "Nic pci-unavailable 0000:18:00.0"),
    ("mlx5_core 0000:18:00.0 ens1np0: NETDEV WATCHDOG: CPU: 38: transmit queue 14 timed out 5032 ms", "Nic netdev-watchdog 0000:18:00.0"),
    ("NETDEV WATCHDOG: ens1np0 (mlx5_core): transmit queue 3 timed out", "Nic netdev-watchdog ens1np0"),
    ("NETDEV WATCHDOG: ens1np0 (mlx5_core): transmit queue 3 timed out 5032 ms", "Nic netdev-watchdog ens1np0"),
    ("mlx5_core 0000:18:00.0 ens1np0: TX timeout detected", "Nic tx-timeout 0000:18:00.0"),
    ("mlx5_core 0000:18:00.0 ens1np0: TX timeout on queue: 3, SQ: 0x1a2b, CQ: 0x40, SQ Cons: 0x1, usecs since last trans: 5032000", "Nic tx-timeout 0000:18:00.0 queue"),
    ("mlx5_core 0000:18:00.0 ens1np0: RX timeout on channel: 3, ICOSQ: 0x1, RQ: 0x2, CQ: 0x3", "Nic rx-timeout 0000:18:00.0"),
    ("mlx5_core 0000:18:00.0: Port module event: module 0, Cable unplugged", "Nic cable-unplugged 0000:18:00.0 module 0"),
    ("mlx5_core 0000:18:00.0: Port module event: module 0, Cable plugged", "Nic cable-plugged 0000:18:00.0 module 0"),
    ("mlx5_core 0000:18:00.0: Port module event[error]: module 1, Cable error, High Temperature", "Nic module-high-temperature 0000:18:00.0 module 1"),
    ("mlx5_core 0000:18:00.0: Port module event[error]: module 0, Cable error, Bad or shorted cable/module", "Nic cable-error 0000:18:00.0 module 0 Bad or shorted cable/module"),
    ("mlx5_core 0000:18:00.0: temp_warn:134:(pid 0): High temperature on sensors with bit set 0 1", "Nic high-temperature 0000:18:00.0"),
    ("mlx5_core 0000:18:00.0: mlx5_pcie_event:301:(pid 12): Detected insufficient power on the PCIe slot (27W).", "Nic insufficient-power 0000:18:00.0"),
    ("mlx5_core 0000:18:00.0: Port module event[error]: module 0, Cable error, One or more network ports have been powered down due to insufficient/unadvertised power on the PCIe slot. Please refer to the card's user manual", "Nic insufficient-power 0000:18:00.0"),
];

#[test]
fn a_line_of_the_adapter_names_the_adapter_and_what_happened() {
    says(LINES);
}

#[test]
fn good_news_and_other_adapters_are_left_alone() {
    nothing(&[
        "mlx5_core 0000:18:00.0: mlx5_pcie_event:306:(pid 12): PCIe slot advertised sufficient power (75W).",
        "mlx5_core 0000:18:00.0: firmware version: 28.39.1002",
        "mlx5_core 0000:53:00.0 mlx5_3: Port: 1 Link INIT",
        "mlx5_core 0000:18:00.0: synd 0x0: unrecognized error",
        "mlx5_core 0000:18:00.0: assert_var[0] 0x00000000",
        "igb 0000:02:00.0 eno1: Link down",
        "NETDEV WATCHDOG: page allocation failure: order:0, mode:0xcc0(GFP_KERNEL), nodemask=(null)",
    ]);
}
