//! Files as systems have them.

use std::fs;

use tempfile::TempDir;

use super::*;

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn versions_are_told_by_files() {
    let host = TempDir::new().unwrap();
    let at = host.path();
    write(
        at,
        "proc/driver/nvidia/version",
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (root@x)  Tue\nGCC version: 13.2.0\n",
    );
    write(
        at,
        "proc/driver/nvidia/gpus/0000:1b:00.0/information",
        "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 220\nVideo BIOS: \t 96.00.CF.00.01\n",
    );
    write(at, "proc/sys/kernel/osrelease", "6.8.0-85-generic\n");
    write(at, "sys/class/dmi/id/board_serial", "Not Specified\n");
    write(at, "sys/class/dmi/id/product_serial", "1571723000412\n");
    write(at, "sys/class/infiniband/mlx5_0/fw_ver", "28.43.1014\n");
    write(at, "sys/class/infiniband/mlx5_1/fw_ver", "28.43.1014\n");
    write(
        at,
        "usr/local/cuda/version.json",
        "{\n \"cuda\" : {\n \"name\" : \"CUDA SDK\",\n \"version\" : \"12.8.1\"\n }, \"x\"",
    );
    write(at, "usr/lib/x86_64-linux-gnu/libnccl.so.2.27.5", "");
    write(at, "usr/lib/x86_64-linux-gnu/libnccl.so.2", "");
    write(
        at,
        "var/lib/dpkg/status",
        "Package: bash\nVersion: 5.2\n\nPackage: containerd.io\nStatus: install ok installed\nVersion: 1.7.27-1\n\nPackage: vim\nVersion: 9\n",
    );
    let settings = Settings { sys: at.join("sys"), proc: at.join("proc"), root: at.into(), ..Settings::default() };
    let round = look(&settings);
    let versions = round.versions.unwrap();
    assert_eq!(round.trouble, None);
    assert_eq!(versions.driver.as_deref(), Some("580.95.05"));
    assert_eq!(versions.product.as_deref(), Some("NVIDIA H100 80GB HBM3"));
    assert_eq!(versions.firmware.as_deref(), Some("96.00.CF.00.01"));
    assert_eq!(versions.kernel.as_deref(), Some("6.8.0-85-generic"));
    assert_eq!(versions.board.as_deref(), Some("1571723000412"), "nobody stamped the board");
    let more: Vec<_> = versions.more.iter().map(|(name, version)| format!("{name} {version}")).collect();
    assert_eq!(more, ["containerd 1.7.27-1", "cuda 12.8.1", "firmware of adapters 28.43.1014", "nccl 2.27.5"]);
}

#[test]
fn this_machine_has_a_boot_and_a_kernel() {
    assert_eq!(boot_id(Path::new("/proc")).unwrap().len(), 36);
    assert!(look(&Settings::default()).versions.unwrap().kernel.is_some());
}
