//! PCI devices in sysfs: error counters of the kernel (`aer_dev_*`), and links against what both ends can. Looked at are
//! GPUs, NVSwitches and network adapters, and the bridges above them, because a bad cable or riser is counted at the port.
//!
//! Files and formats are those of the kernel's `Documentation/ABI/testing/sysfs-bus-pci` and
//! `sysfs-bus-pci-devices-aer_stats`. The counters are the kernel's memory; the link's state is read off the device.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use mainstay_model::PciAddress;
use mainstay_signal::{Aer, Load, PcieLink, Place, Reading};

use super::{PollResult, SourceError};
use crate::text;

/// More devices than any node has.
const DEVICES_MAX: usize = 1024;

/// Devices come and go seldom (a GPU off the bus stays listed until it is removed): the list is made every so many looks.
const LIST_EVERY: u32 = 10;

const NVIDIA: u64 = 0x10de;

/// The devices that are looked at.
#[derive(Debug)]
pub struct Bus {
    folder: PathBuf,
    devices: Vec<Device>,
    looks: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Device {
    address: PciAddress,
    folder: PathBuf,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Gpu,
    Switch,
    Adapter,
    Bridge,
}

// === impl Bus ===

impl Bus {
    /// The bus below a sysfs.
    #[must_use]
    pub fn new(sys: &Path) -> Self {
        Self { folder: sys.join("bus/pci/devices"), devices: Vec::new(), looks: 0 }
    }

    /// Reads every device once.
    pub fn look(&mut self) -> PollResult {
        let mut round = PollResult::default();
        if self.looks.is_multiple_of(LIST_EVERY) {
            match list(&self.folder) {
                Ok(devices) => self.devices = devices,
                Err(error) => round.trouble = Some(SourceError::blind(format!("{}: {error}", self.folder.display()))),
            }
        }
        self.looks = self.looks.wrapping_add(1);
        for device in &self.devices {
            let place = Place::Pci(device.address.clone());
            for (file, severity) in [
                ("aer_dev_correctable", Aer::Correctable),
                ("aer_dev_nonfatal", Aer::NonFatal),
                ("aer_dev_fatal", Aer::Fatal),
            ] {
                if let Some(count) = text::read(&device.folder.join(file)).ok().as_deref().and_then(aer_total) {
                    round.readings.push((place.clone(), Reading::PcieErrors(severity, count)));
                }
            }
            let Some((now, best)) = link(&device.folder) else { continue };
            match device.kind {
                Kind::Gpu => round.gpu_links.push((device.address.clone(), now, best)),
                // These do not slow their links down when idle.
                Kind::Switch | Kind::Adapter => {
                    round.readings.push((place, Reading::PcieSpeed { now, best, load: Load::Busy }));
                }
                // Its link to the device below is the device's; the one above is the next bridge's.
                Kind::Bridge => {}
            }
        }
        round
    }
}

/// The GPUs of NVIDIA on the bus, whoever has them.
pub(crate) fn gpus(sys: &Path) -> Vec<PciAddress> {
    found_gpus(sys).into_iter().map(|(address, _)| address).collect()
}

/// Those that NVIDIA's driver has; one that is handed to a virtual machine is not its business.
pub(crate) fn bound_gpus(sys: &Path) -> Vec<PciAddress> {
    let bound = |folder: &PathBuf| {
        let driver = std::fs::read_link(folder.join("driver")).ok();
        driver.is_some_and(|driver| driver.file_name().is_some_and(|name| name == "nvidia"))
    };
    found_gpus(sys).into_iter().filter(|(_, folder)| bound(folder)).map(|(address, _)| address).collect()
}

fn found_gpus(sys: &Path) -> Vec<(PciAddress, PathBuf)> {
    let folder = sys.join("bus/pci/devices");
    let devices = text::names(&folder, DEVICES_MAX).unwrap_or_default().into_iter().map(|name| folder.join(name));
    let gpus = devices.filter(|device| kind(device) == Some(Kind::Gpu));
    gpus.filter_map(|device| Some((address(&device)?, device))).collect()
}

/// Devices of interest and the bridges above them.
fn list(folder: &Path) -> std::io::Result<Vec<Device>> {
    let mut devices = BTreeSet::new();
    for name in text::names(folder, DEVICES_MAX)? {
        let Ok(real) = folder.join(&name).canonicalize() else { continue };
        let Some(kind) = kind(&real) else { continue };
        let bridges = real.ancestors().skip(1).map_while(|above| Some((address(above)?, above.to_path_buf())));
        devices.extend(bridges.map(|(address, folder)| Device { address, folder, kind: Kind::Bridge }));
        if let Some(address) = address(&real) {
            devices.insert(Device { address, folder: real, kind });
        }
    }
    Ok(devices.into_iter().collect())
}

fn address(folder: &Path) -> Option<PciAddress> {
    match Place::pci_or_node(folder.file_name()?.to_str()?) {
        Place::Pci(address) => Some(address),
        Place::Interface(_) | Place::NvSwitch(_) | Place::Node => None,
    }
}

/// By class (PCI code and ID assignment specification): display and accelerator of NVIDIA, its bridges of kind "other"
/// (NVSwitch), network and InfiniBand.
fn kind(folder: &Path) -> Option<Kind> {
    let hex = |file: &str| u64::from_str_radix(text::read(&folder.join(file)).ok()?.trim_start_matches("0x"), 16).ok();
    let (class, vendor) = (hex("class")? >> 8, hex("vendor")?);
    match (class, vendor) {
        (0x0300 | 0x0302 | 0x1200, NVIDIA) => Some(Kind::Gpu),
        (0x0680, NVIDIA) => Some(Kind::Switch),
        (0x0200 | 0x0207, _) => Some(Kind::Adapter),
        _ => None,
    }
}

/// The last line is `TOTAL_ERR_COR 5`, `TOTAL_ERR_NONFATAL 0` or `TOTAL_ERR_FATAL 0`.
fn aer_total(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with("TOTAL_ERR_"))?;
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// How a link runs, and how it could: at most what the device and the port above it both can. Nothing where the device
/// does not answer, because all ones read as an unknown speed.
fn link(folder: &Path) -> Option<(PcieLink, PcieLink)> {
    let of = |folder: &Path, which: &str| {
        let generation = generation(&text::read(&folder.join(format!("{which}_link_speed"))).ok()?)?;
        let lanes = u8::try_from(text::number(&folder.join(format!("{which}_link_width")))?).ok()?;
        (1..=32).contains(&lanes).then_some(PcieLink { generation, lanes })
    };
    let (now, best) = (of(folder, "current")?, of(folder, "max")?);
    let above = folder.parent().and_then(|above| of(above, "max")).unwrap_or(best);
    let best = PcieLink { generation: best.generation.min(above.generation), lanes: best.lanes.min(above.lanes) };
    Some((now, best))
}

/// `16.0 GT/s PCIe`, or `16 GT/s` on older kernels.
fn generation(speed: &str) -> Option<u8> {
    let (rate, _) = speed.split_once(" GT/s")?;
    match rate.trim_end_matches(".0") {
        "2.5" => Some(1),
        "5" => Some(2),
        "8" => Some(3),
        "16" => Some(4),
        "32" => Some(5),
        "64" => Some(6),
        "128" => Some(7),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
