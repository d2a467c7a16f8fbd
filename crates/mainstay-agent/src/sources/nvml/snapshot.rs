//! Data that the NVML source sends: the GPU list, installed versions, the status of each GPU, and XID events. Nothing
//! here asks.

use std::collections::BTreeMap;

use mainstay_model::{Gpu, PciAddress};
use serde::{Deserialize, Serialize};

/// The GPUs as the driver lists them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// Those that answer.
    pub gpus: Vec<Gpu>,
    /// Those that the driver has and that do not answer any more.
    pub lost: Vec<PciAddress>,
    /// Those that the driver should list, because the bus has them and they are bound to it.
    pub bound: Vec<PciAddress>,
    /// What is installed.
    pub installed: NvmlVersions,
    /// How each runs.
    pub now: Vec<GpuStatus>,
}

/// Driver, GPU model and firmware versions that NVML reports.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NvmlVersions {
    /// The driver.
    pub driver: Option<String>,
    /// The GPU model.
    pub product: Option<String>,
    /// The GPU's firmware.
    pub firmware: Option<String>,
    /// Everything else, by name.
    pub more: BTreeMap<String, String>,
}

/// Temperature, power, clocks, links and MIG state of one GPU, for output and metrics only. No rule evaluates it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GpuStatus {
    /// Its number on the node.
    pub index: u32,
    /// The driver's id of the GPU.
    pub uuid: String,
    /// Where it sits.
    pub pci: String,
    /// How hot the chip is.
    pub celsius: Option<u32>,
    /// How far it is from slowing down.
    pub margin_celsius: Option<i32>,
    /// How hot its memory is.
    pub memory_celsius: Option<u32>,
    /// What it draws.
    pub watts: Option<u32>,
    /// The limit in force.
    pub watts_enforced: Option<u32>,
    /// The maker's limit.
    pub watts_default: Option<u32>,
    /// The clock of its multiprocessors.
    pub sm_mhz: Option<u32>,
    /// The fastest that they can.
    pub sm_mhz_max: Option<u32>,
    /// Why the clock is no faster, as NVML's bits.
    pub clock_reasons: Option<u64>,
    /// How busy it is.
    pub busy_percent: Option<u32>,
    /// Memory that processes hold.
    pub memory_used_bytes: Option<u64>,
    /// Memory in all, including what the driver reserves.
    pub memory_size_bytes: Option<u64>,
    /// Bytes sent over PCIe since the driver was loaded.
    pub pcie_transmit_bytes: Option<u64>,
    /// Bytes received over PCIe since the driver was loaded.
    pub pcie_receive_bytes: Option<u64>,
    /// PCIe packets that were sent again.
    pub pcie_replays: Option<u64>,
    /// Corrected errors of all memories since the driver was loaded.
    pub ecc_corrected: Option<u64>,
    /// Uncorrected errors of all memories since the driver was loaded.
    pub ecc_uncorrected: Option<u64>,
    /// Errors of all NVLinks since the driver was loaded, of every kind that the GPU counts.
    pub nvlink_errors: Option<u64>,
    /// Rows that were remapped in its life, for corrected and for uncorrected errors.
    pub remapped_rows: Option<u32>,
    /// NVLinks that are up.
    pub links_up: u32,
    /// NVLinks that it has.
    pub links: u32,
    /// How it is cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mig: Option<MigStatus>,
    /// Its part of an NVLink fabric, as cluster and clique.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fabric: Option<String>,
    /// What the driver wants done with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery_action: Option<u32>,
}

/// MIG mode of a GPU now and after the next reset, with its instances.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MigStatus {
    /// Whether it is.
    pub enabled: bool,
    /// Whether it will be after the next reset.
    pub pending: bool,
    /// Its instances, by their ids.
    pub instances: Vec<String>,
}

/// An XID that NVML told. The kernel's log says the same, and counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct XidEvent {
    /// Of which GPU.
    pub pci: PciAddress,
    /// Which.
    pub code: u64,
    /// The MIG instance that it names.
    pub gpu_instance: Option<u32>,
}
