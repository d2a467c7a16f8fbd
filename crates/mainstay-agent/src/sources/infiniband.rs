//! Ports of InfiniBand and RoCE adapters in sysfs: state, rate and the counters that tell of a bad link. The network
//! interfaces of the same adapters add how often the carrier came or went.
//!
//! Files are those of the kernel's `Documentation/ABI/stable/sysfs-class-infiniband`; `hw_counters` are the driver's own.
//! A counter that is not there is not read: firmware and drivers differ. Reading `counters` asks the adapter's firmware.

use std::path::{Path, PathBuf};

use mainstay_model::{Nic, PciAddress, Serial};
use mainstay_signal::{Link, Place, PortCounter, Reading};

use super::{PollResult, SourceError};
use crate::text;

/// More adapters, ports and interfaces than any node has.
const NAMES_MAX: usize = 64;

/// As many as a report takes.
const NICS_MAX: usize = 16;

/// Congestion counters of a node: the sums over its ports. None if no port counts it. They are metrics and no evidence.
///
/// Pause frames of PFC are not among them: no driver has them in sysfs, only in the statistics of `ethtool -S`. What they
/// do to a sender is in `transmit_wait`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Congestion {
    /// Congestion notification packets sent.
    pub cnp_sent: Option<u64>,
    /// Congestion notification packets obeyed.
    pub cnp_handled: Option<u64>,
    /// Packets received with the mark of a switch.
    pub ecn_marked: Option<u64>,
    /// Ticks in which a port had data and could not send.
    pub transmit_wait: Option<u64>,
}

/// Files of each counter, by driver: mlx5, bnxt_re, irdma. Names are those of the kernel's drivers/infiniband/hw.
const CNP_SENT: [&str; 3] = ["hw_counters/np_cnp_sent", "hw_counters/tx_cnp_pkts", "hw_counters/cnpSent"];
const CNP_HANDLED: [&str; 3] = ["hw_counters/rp_cnp_handled", "hw_counters/rx_cnp_pkts", "hw_counters/cnpHandled"];
const ECN_MARKED: [&str; 3] =
    ["hw_counters/np_ecn_marked_roce_packets", "hw_counters/rx_ecn_marked_pkts", "hw_counters/RxECNMrkd"];
const TRANSMIT_WAIT: [&str; 1] = ["counters/port_xmit_wait"];

/// The adapters of a node.
#[derive(Debug)]
pub struct Ports {
    sys: PathBuf,
    wanted_gbps: Option<u32>,
    /// Ports that were up in this life of the agent, or are cabled: one that never was is no fault when it is down.
    were_up: Vec<(PciAddress, u16)>,
}

// === impl Ports ===

impl Ports {
    /// The adapters below a sysfs, and the rate that their ports should have.
    #[must_use]
    pub fn new(sys: &Path, wanted_gbps: Option<u32>) -> Self {
        Self { sys: sys.to_path_buf(), wanted_gbps, were_up: Vec::new() }
    }

    /// Reads every port once.
    pub fn look(&mut self) -> PollResult {
        let mut round = PollResult::default();
        let class = self.sys.join("class/infiniband");
        let adapters = match text::names(&class, NAMES_MAX) {
            Ok(adapters) => adapters,
            // A node without such adapters is no node that cannot be seen.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => {
                round.trouble = Some(SourceError::blind(format!("{}: {error}", class.display())));
                return round;
            }
        };
        let (mut nics, mut congestion) = (Vec::new(), Congestion::default());
        for adapter in &adapters {
            let folder = class.join(adapter);
            let Some(address) = address(&folder.join("device")) else { continue };
            if let Some(nic) = nic(&folder, &address, nics.len()) {
                nics.push(nic);
            }
            for port in text::names(&folder.join("ports"), NAMES_MAX).unwrap_or_default() {
                let Ok(number) = port.parse() else { continue };
                let folder = folder.join("ports").join(&port);
                self.port(&folder, &address, number, &mut round.readings);
                congestion.add(&folder);
            }
            carriers(&folder.join("device/net"), &address, &mut round.readings);
        }
        (round.nics, round.congestion) = (Some(nics), Some(congestion));
        round
    }

    fn port(&mut self, folder: &Path, address: &PciAddress, number: u16, readings: &mut Vec<(Place, Reading)>) {
        let place = Place::Pci(address.clone());
        let Some(active) = text::read(&folder.join("state")).ok().map(|state| state.ends_with("ACTIVE")) else {
            return;
        };
        let key = (address.clone(), number);
        // A cable that is plugged in trains; a port without one is Disabled or Polling for ever.
        let cabled = text::read(&folder.join("phys_state")).is_ok_and(|state| state.ends_with("LinkUp"));
        if (active || cabled) && !self.were_up.contains(&key) && self.were_up.len() < NAMES_MAX {
            self.were_up.push(key.clone());
        }
        // Who says how fast every port is to be says that every port is to be up.
        if self.wanted_gbps.is_some() || self.were_up.contains(&key) {
            let link = if active { Link::Up } else { Link::Down };
            readings.push((place.clone(), Reading::Port(number, link)));
        }
        let rate = text::read(&folder.join("rate")).ok().as_deref().and_then(gbps);
        if let (true, Some(now_gbps), Some(wanted_gbps)) = (active, rate, self.wanted_gbps) {
            readings.push((place.clone(), Reading::PortRate { port: number, now_gbps, wanted_gbps }));
        }
        for counter in PortCounter::ALL {
            let file = counter.file();
            let count = ["counters", "hw_counters"].iter().find_map(|set| text::number(&folder.join(set).join(file)));
            if let Some(count) = count {
                readings.push((place.clone(), Reading::PortCount(number, counter, count)));
            }
        }
    }
}

// === impl Congestion ===

impl Congestion {
    fn add(&mut self, port: &Path) {
        let counters: [(&mut Option<u64>, &[&str]); 4] = [
            (&mut self.cnp_sent, &CNP_SENT),
            (&mut self.cnp_handled, &CNP_HANDLED),
            (&mut self.ecn_marked, &ECN_MARKED),
            (&mut self.transmit_wait, &TRANSMIT_WAIT),
        ];
        for (sum, files) in counters {
            if let Some(count) = files.iter().find_map(|file| text::number(&port.join(file))) {
                *sum = Some(sum.unwrap_or(0).saturating_add(count));
            }
        }
    }
}

/// Where an adapter sits: the folder that `device` leads to is called so.
fn address(device: &Path) -> Option<PciAddress> {
    let real = device.canonicalize().ok()?;
    match Place::pci_or_node(real.file_name()?.to_str()?) {
        Place::Pci(address) => Some(address),
        Place::Interface(_) | Place::NvSwitch(_) | Place::Node => None,
    }
}

/// An adapter of the inventory. Its serial is the GUID that its maker burned in: the one on the label is in the VPD, whose
/// reading asks the device for seconds and hangs on bad ones. Rails are counted in the order of names.
fn nic(folder: &Path, address: &PciAddress, rail: usize) -> Option<Nic> {
    if rail >= NICS_MAX {
        return None;
    }
    let guid = text::read(&folder.join("node_guid")).ok()?;
    let serial = Serial::parse(&text::token(&guid.replace(':', ""), Serial::BYTES_MAX)).ok()?;
    Some(Nic { rail: u16::try_from(rail).ok()?, serial, pci: address.clone() })
}

/// How often the carrier of the adapter's interfaces came or went.
fn carriers(net: &Path, address: &PciAddress, readings: &mut Vec<(Place, Reading)>) {
    for interface in text::names(net, NAMES_MAX).unwrap_or_default() {
        let folder = net.join(interface);
        let port = text::number(&folder.join("dev_port")).and_then(|port| u16::try_from(port).ok()?.checked_add(1));
        let port = port.unwrap_or(1);
        if let Some(count) = text::number(&folder.join("carrier_changes")) {
            let reading = Reading::PortCount(port, PortCounter::CarrierChanges, count);
            readings.push((Place::Pci(address.clone()), reading));
        }
    }
}

/// `400 Gb/sec (4X NDR)`, `2.5 Gb/sec (1X SDR)`.
fn gbps(rate: &str) -> Option<u32> {
    let (number, _) = rate.split_once(" Gb/sec")?;
    number.split('.').next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests;
