//! Files that tell versions and serials, of procfs, of firmware and of packages.
#![no_main]

use std::cell::LazyCell;

use libfuzzer_sys::fuzz_target;
use mainstay_agent::settings::Settings;
use mainstay_agent::sources::{SourceName, versions};
use mainstay_fuzz::Tree;

thread_local! {
    static TREE: LazyCell<Tree> = LazyCell::new(|| Tree::new(
        &[("usr/lib/x86_64-linux-gnu/libnccl.so.2.27.5", "")],
        &[],
        &[
            "proc/driver/nvidia/version",
            "proc/driver/nvidia/gpus/0000:1b:00.0/information",
            "proc/sys/kernel/osrelease",
            "sys/class/dmi/id/board_serial",
            "sys/class/dmi/id/product_serial",
            "sys/class/infiniband/mlx5_0/fw_ver",
            "usr/local/cuda/version.json",
            "var/lib/dpkg/status",
        ],
    ));
}

fuzz_target!(|input: &[u8]| {
    TREE.with(|tree| {
        tree.fill(input);
        let [sys, proc, root] = ["sys", "proc", ""].map(|folder| tree.path().join(folder));
        let round = versions::look(&Settings { sys, proc, root, ..Settings::default() });
        mainstay_fuzz::count_round(SourceName::Versions, &round);
    });
});
