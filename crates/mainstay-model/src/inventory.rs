//! Hardware inventory of a node. Faults belong to parts by serial, so that a new GPU does not inherit the history of
//! the old one.

use serde::{Deserialize, Serialize};

use crate::bounded::text;
use crate::{Bounded, GpuUuid, Product, Version};

text!(
    /// Serial number of a part, as its maker assigned it.
    Serial, Token, 40
);
text!(
    /// A PCI address as the kernel prints it, `0000:1b:00.0`.
    PciAddress, Token, 16
);

text!(
    /// Why an agent cannot list the GPUs of its node, for an operator.
    GpusUnavailable, Line, 160
);

/// A kind of part that has a serial number and a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Part {
    /// One GPU module.
    Gpu,
    /// The baseboard that carries the GPUs, or the machine itself.
    Board,
    /// One network adapter.
    Nic,
}

/// One GPU as the driver lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gpu {
    /// Index of the GPU on the node.
    pub index: u16,
    /// Serial number of the GPU.
    pub serial: Serial,
    /// The driver's id of the GPU.
    pub uuid: GpuUuid,
    /// PCI address of the GPU.
    pub pci: PciAddress,
}

/// One network adapter of the compute fabric.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nic {
    /// The rail that the adapter serves.
    pub rail: u16,
    /// Serial number of the adapter.
    pub serial: Serial,
    /// PCI address of the adapter.
    pub pci: PciAddress,
}

/// All parts of a node that can fail individually.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inventory {
    /// Serial number of the baseboard.
    pub board: Serial,
    /// GPU model; a node has only one.
    pub product: Product,
    /// Driver version in use.
    pub driver: Version,
    /// The GPUs the driver lists now. Sixteen is the most any node of this field carries.
    pub gpus: Bounded<Gpu, 16>,
    /// Why the list of GPUs is unknown. While it is set, an empty list does not mean that GPUs are missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpus_unavailable: Option<GpusUnavailable>,
    /// The adapters of the compute fabric.
    pub nics: Bounded<Nic, 16>,
}
