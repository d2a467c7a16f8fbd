//! Files of sysfs about PCI devices, AMD GPUs and ports of adapters. Firmware fills most of them.
#![no_main]

use std::cell::LazyCell;

use libfuzzer_sys::fuzz_target;
use mainstay_agent::sources::SourceName;
use mainstay_agent::sources::amdgpu::Cards;
use mainstay_agent::sources::infiniband::Ports;
use mainstay_agent::sources::pcie::Bus;
use mainstay_fuzz::Tree;

const GPU: &str = "0x030200";
const ADAPTER: &str = "0x020700";

thread_local! {
    static TREE: LazyCell<Tree> = LazyCell::new(|| Tree::new(
        &[
            ("bus/pci/devices/0000:1b:00.0/class", GPU),
            ("bus/pci/devices/0000:1b:00.0/vendor", "0x10de"),
            ("bus/pci/devices/0000:18:00.0/class", ADAPTER),
            ("bus/pci/devices/0000:18:00.0/vendor", "0x15b3"),
        ],
        &[("class/infiniband/mlx5_0/device", "bus/pci/devices/0000:18:00.0")],
        &[
            "bus/pci/devices/0000:1b:00.0/aer_dev_correctable",
            "bus/pci/devices/0000:1b:00.0/current_link_speed",
            "bus/pci/devices/0000:1b:00.0/current_link_width",
            "bus/pci/devices/0000:1b:00.0/max_link_speed",
            "bus/pci/devices/0000:1b:00.0/max_link_width",
            "class/infiniband/mlx5_0/node_guid",
            "class/infiniband/mlx5_0/ports/1/state",
            "class/infiniband/mlx5_0/ports/1/phys_state",
            "class/infiniband/mlx5_0/ports/1/rate",
            "class/infiniband/mlx5_0/ports/1/counters/link_downed",
            "class/infiniband/mlx5_0/ports/1/hw_counters/rnr_nak_retry_err",
            "bus/pci/devices/0000:18:00.0/net/eth0/dev_port",
            "bus/pci/devices/0000:18:00.0/net/eth0/carrier_changes",
            "bus/pci/drivers/amdgpu/0000:c1:00.0/ras/umc_err_count",
            "bus/pci/drivers/amdgpu/0000:c1:00.0/hwmon/hwmon0/temp1_input",
            "bus/pci/drivers/amdgpu/0000:c1:00.0/hwmon/hwmon0/temp1_crit",
            "bus/pci/drivers/amdgpu/0000:c1:00.0/hwmon/hwmon0/power1_cap",
        ],
    ));
}

fuzz_target!(|input: &[u8]| {
    TREE.with(|tree| {
        tree.fill(input);
        mainstay_fuzz::count_round(SourceName::Pcie, &Bus::new(tree.path()).look());
        mainstay_fuzz::count_round(SourceName::Amdgpu, &Cards::new(tree.path()).look());
        mainstay_fuzz::count_round(SourceName::Infiniband, &Ports::new(tree.path(), Some(400)).look());
    });
});
