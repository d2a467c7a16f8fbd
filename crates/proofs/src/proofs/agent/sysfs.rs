//! A sysfs with one GPU and one adapter below one port, as the kernel lays it out.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

pub(in crate::proofs) struct Sysfs(TempDir);

impl Sysfs {
    /// The GPU's count of fatal errors is in `fatal`, where given: a file of another test fixture.
    pub(in crate::proofs) fn new(fatal: Option<&Path>) -> anyhow::Result<Self> {
        let sysfs = Self(TempDir::new()?);
        let port = sysfs.path().join("devices/pci0000:15/0000:15:01.0");
        let (gpu, nic) = (port.join("0000:1b:00.0"), port.join("0000:18:00.0"));
        for (folder, class, vendor) in
            [(&port, "0x060400", "0x8086"), (&gpu, "0x030200", "0x10de"), (&nic, "0x020700", "0x15b3")]
        {
            fs::create_dir_all(folder)?;
            fs::write(folder.join("class"), class)?;
            fs::write(folder.join("vendor"), vendor)?;
        }
        let class = sysfs.path().join("class/infiniband/mlx5_0");
        fs::create_dir_all(class.join("ports/1/counters"))?;
        fs::write(class.join("node_guid"), "a088:c203:00aa:bb10\n")?;
        fs::write(class.join("ports/1/state"), "4: ACTIVE\n")?;
        symlink(&nic, class.join("device"))?;
        let devices = sysfs.path().join("bus/pci/devices");
        fs::create_dir_all(&devices)?;
        for (name, folder) in [("0000:15:01.0", &port), ("0000:1b:00.0", &gpu), ("0000:18:00.0", &nic)] {
            symlink(folder, devices.join(name))?;
        }
        sysfs.correctable(0)?;
        sysfs.link_downed(0)?;
        match fatal {
            Some(file) => symlink(file, gpu.join("aer_dev_fatal"))?,
            None => sysfs.fatal(0)?,
        }
        Ok(sysfs)
    }

    /// A node with eight GPUs and eight adapters, as large as they are.
    pub(in crate::proofs) fn full() -> anyhow::Result<Self> {
        const COUNTERS: [&str; 8] = [
            "symbol_error",
            "link_error_recovery",
            "link_downed",
            "port_rcv_errors",
            "port_xmit_discards",
            "local_link_integrity_errors",
            "excessive_buffer_overrun_errors",
            "port_xmit_wait",
        ];
        let sysfs = Self::new(None)?;
        let devices = sysfs.path().join("bus/pci/devices");
        for number in 1..8 {
            let port = sysfs.path().join(format!("devices/pci0000:{number}0/0000:{number}0:01.0"));
            for (class, vendor, slot) in [("0x030200", "0x10de", "c"), ("0x020700", "0x15b3", "d")] {
                let address = format!("0000:{number}{slot}:00.0");
                let device = port.join(&address);
                fs::create_dir_all(&device)?;
                for (name, text) in [
                    ("class", class),
                    ("vendor", vendor),
                    ("aer_dev_correctable", "RxErr 0\nTOTAL_ERR_COR 0\n"),
                    ("aer_dev_nonfatal", "DLP 0\nTOTAL_ERR_NONFATAL 0\n"),
                    ("aer_dev_fatal", "DLP 0\nTOTAL_ERR_FATAL 0\n"),
                    ("current_link_speed", "32.0 GT/s PCIe\n"),
                    ("max_link_speed", "32.0 GT/s PCIe\n"),
                    ("current_link_width", "16\n"),
                    ("max_link_width", "16\n"),
                ] {
                    fs::write(device.join(name), text)?;
                }
                symlink(&device, devices.join(&address))?;
                if slot == "d" {
                    let class = sysfs.path().join(format!("class/infiniband/mlx5_{number}"));
                    fs::create_dir_all(class.join("ports/1/counters"))?;
                    fs::write(class.join("node_guid"), format!("a088:c203:00aa:bb1{number}\n"))?;
                    fs::write(class.join("ports/1/state"), "4: ACTIVE\n")?;
                    fs::write(class.join("ports/1/rate"), "400 Gb/sec (4X NDR)\n")?;
                    for counter in COUNTERS {
                        fs::write(class.join("ports/1/counters").join(counter), "0\n")?;
                    }
                    symlink(&device, class.join("device"))?;
                }
            }
            fs::write(port.join("class"), "0x060400")?;
            fs::write(port.join("vendor"), "0x8086")?;
            symlink(&port, devices.join(format!("0000:{number}0:01.0")))?;
        }
        Ok(sysfs)
    }

    pub(in crate::proofs) fn path(&self) -> &Path {
        self.0.path()
    }

    fn gpu(&self) -> PathBuf {
        self.path().join("devices/pci0000:15/0000:15:01.0/0000:1b:00.0")
    }

    pub(in crate::proofs) fn correctable(&self, total: u64) -> anyhow::Result<()> {
        replace(&self.gpu().join("aer_dev_correctable"), &format!("RxErr {total}\nTOTAL_ERR_COR {total}\n"))
    }

    pub(in crate::proofs) fn fatal(&self, total: u64) -> anyhow::Result<()> {
        replace(&self.gpu().join("aer_dev_fatal"), &fatal(total))
    }

    pub(in crate::proofs) fn link_downed(&self, total: u64) -> anyhow::Result<()> {
        replace(&self.path().join("class/infiniband/mlx5_0/ports/1/counters/link_downed"), &format!("{total}\n"))
    }
}

/// The text of a count of fatal errors.
pub(in crate::proofs) fn fatal(total: u64) -> String {
    format!("DLP {total}\nTOTAL_ERR_FATAL {total}\n")
}

/// A file of sysfs is never seen half written.
fn replace(path: &Path, text: &str) -> anyhow::Result<()> {
    let beside = path.with_extension("new");
    fs::write(&beside, text)?;
    Ok(fs::rename(beside, path)?)
}
