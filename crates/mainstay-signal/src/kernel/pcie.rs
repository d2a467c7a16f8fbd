//! The PCI bus besides its error messages: links that were disabled to contain an error, slots that lost their device,
//! devices that do not respond, address translation faults, and drivers that could not start.
//!
//! The formats come from the kernel's `drivers/pci` (`pcie/dpc.c`, `pcie/edr.c`, `hotplug/pciehp_ctrl.c`, `pci.c`,
//! `setup-bus.c`), `drivers/iommu` (`intel/dmar.c`, `amd/iommu.c`, `arm/arm-smmu-v3`), `drivers/base/dd.c` and
//! `arch/powerpc/kernel/eeh.c`.

use mainstay_model::Source;

use super::device::DeviceLine;
use super::words::phrase;
use super::{GPU_DRIVERS, NIC_DRIVERS};
use crate::place::pci;
use crate::scan::Cursor;
use crate::{Place, Signal};

const PHRASES: &[(&str, &str)] = &[
    ("can't recover (no error_detected callback)", "unrecoverable"),
    ("device has no AER-aware driver", "unrecoverable"),
    ("AER: can't find device of ID", "unrecoverable"),
    ("AER: subordinate device reset failed", "unrecoverable"),
    ("DPC: containment event", "contained"),
    ("DPC: ERR_FATAL detected", "contained"),
    ("DPC: ERR_NONFATAL detected", "contained"),
    ("DPC: unmasked uncorrectable error detected", "contained"),
    ("DPC: RP PIO", "contained"),
    ("EDR: EDR event received", "contained"),
    ("DPC: Data Link Layer Link Active not set", "link-lost"),
    ("Link Down", "link-lost"),
    ("Card not present", "link-lost"),
    ("Surprise Removal", "link-lost"),
    ("retraining failed", "link-lost"),
    ("retraining non-functional downstream link", "link-lost"),
    ("Link Training Error", "link-lost"),
    ("Refused to change power state", "inaccessible"),
    ("Unable to change power state from D3cold", "inaccessible"),
    ("can't change power state from D3cold", "inaccessible"),
    ("device inaccessible", "inaccessible"),
    ("config space inaccessible", "inaccessible"),
    ("; giving up", "inaccessible"),
    ("AMD-Vi: Event logged [IO_PAGE_FAULT", "iommu-fault"),
    ("Unhandled context fault", "iommu-fault"),
    ("failed to assign", "no-address-space"),
    ("no space for", "no-address-space"),
    ("can't assign; no space", "no-address-space"),
    ("available PCIe bandwidth, limited by", "link-limited"),
    ("PCI-Express bandwidth available for this", "link-limited"),
];

/// Reasons of a containment; the other wordings have none.
const REASONS: &[(&str, &str)] = &[
    ("ERR_FATAL", "fatal"),
    ("ERR_NONFATAL", "nonfatal"),
    ("unmasked uncorrectable", "uncorrectable"),
    ("RP PIO", "port"),
    ("EDR:", "firmware"),
];

/// Parses a line that begins with a device.
pub(super) fn parse(line: &DeviceLine<'_>) -> Option<Signal> {
    if line.text.starts_with("probe with driver ") {
        let (driver, error) = line.text.strip_prefix("probe with driver ")?.split_once(" failed with error ")?;
        return is_error(error).then(|| probe(driver, line.place.clone())).flatten();
    }
    let code = phrase(line.text, PHRASES)?;
    // `Link Down/Up ignored (recovered by DPC)`
    if code == "link-lost" && line.text.contains(" ignored") {
        return None;
    }
    if code == "link-lost"
        && !["pciehp", "DPC", "pci"].iter().any(|part| line.text.contains(part))
        && !["pcieport", "pci", "pciehp"].contains(&line.driver)
    {
        return None;
    }
    if code == "inaccessible" && GPU_DRIVERS.contains(&line.driver) {
        return Signal::new(Source::Driver, "gpu-inaccessible", line.place.clone(), "");
    }
    let detail = if code == "contained" { phrase(line.text, REASONS).unwrap_or_default() } else { "" };
    Signal::new(Source::PcieAer, code, line.place.clone(), detail)
}

/// Parses a line that does not begin with a device.
pub(super) fn parse_bare(text: &str) -> Option<Signal> {
    probe_failed(text).or_else(|| iommu(text)).or_else(|| eeh(text))
}

/// Parses `mlx5_core: probe of 0000:8f:00.0 failed with error -16`, the format before Linux 6.8.
fn probe_failed(text: &str) -> Option<Signal> {
    let (driver, rest) = text.split_once(": probe of ")?;
    let (device, error) = rest.split_once(" failed with error ")?;
    if driver.contains(' ') || !is_error(error) {
        return None;
    }
    probe(driver, pci(device).map(Place::Pci)?)
}

fn is_error(text: &str) -> bool {
    text.strip_prefix('-').is_some_and(|error| error.trim_end().bytes().all(|byte| byte.is_ascii_digit()))
}

/// A driver could not start a device: whose fault it is depends on the device.
fn probe(driver: &str, place: Place) -> Option<Signal> {
    if NIC_DRIVERS.contains(&driver) {
        return Signal::new(Source::Nic, "init-failed", place, "");
    }
    if GPU_DRIVERS.contains(&driver) {
        return Signal::new(Source::Driver, "gpu-init-failed", place, "");
    }
    Signal::new(Source::PcieAer, "probe-failed", place, "")
}

/// Parses `DMAR: [DMA Read NO_PASID] Request device [03:00.0] fault addr …` and `AMD-Vi: Event logged [IO_PAGE_FAULT
/// device=0000:03:00.0 …`. The line `DMAR: DRHD: handling fault status` belongs to it.
fn iommu(text: &str) -> Option<Signal> {
    let place = |address: &str| {
        let whole = if address.matches(':').count() == 1 { format!("0000:{address}") } else { address.to_owned() };
        Place::pci_or_node(&whole)
    };
    if let Some(said) = text.strip_prefix("DMAR: [").or_else(|| text.strip_prefix("DMAR:[")) {
        let (_, device) = said.split_once("Request device [")?;
        return Signal::new(Source::PcieAer, "iommu-fault", place(device.split(']').next()?), "");
    }
    if let Some(said) = text.strip_prefix("AMD-Vi: Event logged [") {
        let device = said.split_once("device=").and_then(|(_, device)| device.split(' ').next()).unwrap_or_default();
        return Signal::new(Source::PcieAer, "iommu-fault", place(device), "");
    }
    let is_smmu =
        text.starts_with("arm-smmu") && (text.contains("event 0x10 received") || text.contains("context fault"));
    if is_smmu { Signal::new(Source::PcieAer, "iommu-fault", Place::Node, "") } else { None }
}

/// Parses POWER's error handling: `EEH: Frozen PHB#30-PE#0 detected`.
fn eeh(text: &str) -> Option<Signal> {
    let mut line = Cursor::new(text);
    line.eat("EEH: ")?;
    let is_fault = ["Frozen P", "Fenced P", "Permanent failure", "Unable to recover"]
        .iter()
        .any(|start| line.eat(start).is_some());
    if is_fault { Signal::new(Source::PcieAer, "contained", Place::Node, "eeh") } else { None }
}

#[cfg(test)]
pub(super) mod tests {
    use crate::kernel::tests::{Line, nothing, says};

    #[rustfmt::skip] // one line a case
    pub(crate) const LINES: &[Line] = &[
        ("nvidia 0000:27:00.0: AER: can't recover (no error_detected callback)", "PcieAer unrecoverable 0000:27:00.0"),
        ("nvidia 0000:f2:00.0: device has no AER-aware driver", "PcieAer unrecoverable 0000:f2:00.0"),
        ("pcieport 0004:a1:00.0: DPC: containment event, status:0x1f01 source:0x0000", "PcieAer contained 0004:a1:00.0"),
        ("pcieport 0000:94:03.0: DPC: ERR_FATAL detected", "PcieAer contained 0000:94:03.0 fatal"),
        ("pcieport 0000:94:03.0: EDR: EDR event received", "PcieAer contained 0000:94:03.0 firmware"),
        ("pcieport 0000:94:03.0: pciehp: Slot(3): Link Down", "PcieAer link-lost 0000:94:03.0"),
        ("nvme 0000:90:00.0: Unable to change power state from D3cold to D0, device inaccessible", "PcieAer inaccessible 0000:90:00.0"),
        ("nvidia-gpu 0000:63:00.3: Refused to change power state, currently in D3", "Driver gpu-inaccessible 0000:63:00.3"),
        ("pci 0000:85:00.0: BAR 7: no space for [mem size 0x70367c7e 64bit pref]", "PcieAer no-address-space 0000:85:00.0"),
        ("mlx5_core 0000:18:00.0: 63.008 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x8 link at 0000:17:00.0", "PcieAer link-limited 0000:18:00.0"),
        ("i40e 0000:82:00.0: PCI-Express bandwidth available for this device may be insufficient for optimal performance.", "PcieAer link-limited 0000:82:00.0"),
        ("pciehp 0000:03:05.0:pcie24: slot(6): Link Down event", "PcieAer link-lost 0000:03:05.0"),
        ("DMAR: [DMA Read NO_PASID] Request device [03:00.0] fault addr 0x100000 [fault reason 0x71] SM: Present bit", "PcieAer iommu-fault 0000:03:00.0"),
        ("ath10k_pci 0000:c9:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x000d address=0x837bb486 flags=0x0070]", "PcieAer iommu-fault 0000:c9:00.0"),
        ("AMD-Vi: Event logged [IO_PAGE_FAULT device=c9:00.0 domain=0x000d address=0x837bb486 flags=0x0070]", "PcieAer iommu-fault 0000:c9:00.0"),
        ("mlx5_core: probe of 0000:8f:00.0 failed with error -16", "Nic init-failed 0000:8f:00.0"),
        ("nvidia 0000:8f:00.0: probe with driver nvidia failed with error -1", "Driver gpu-init-failed 0000:8f:00.0"),
        ("nvme: probe of 0000:90:00.0 failed with error -5", "PcieAer probe-failed 0000:90:00.0"),
        ("EEH: Frozen PHB#30-PE#0 detected", "PcieAer contained node eeh"),
    ];

    #[test]
    fn a_device_that_is_cut_off_is_told() {
        says(LINES);
    }

    #[test]
    fn lines_of_a_normal_start_are_left_alone() {
        nothing(&[
            "pcieport 0000:15:01.0: DPC: enabled with IRQ 42",
            "pcieport 0000:15:01.0: DPC: error containment capabilities: Int Msg #0, RPExt+ PoisonedTLP+ SwTrigger+",
            "pcieport 0000:15:01.0: pciehp: Slot(3): Card present",
            "nvme 0000:90:00.0: ready 0ms after DPC",
            "pcieport 0000:b1:10.0: pciehp: Slot(272): Link Down/Up ignored (recovered by DPC)",
            "amdgpu 0000:13:00.0: BAR 2: releasing [mem 0xc85ebc3f2b2-0x85f3c0ed012 64bit pref]",
            "r8169 0000:f5:00.0: invalid VPD tag 0xff (size 0) at offset 0; assume missing optional EEPROM",
            "DMAR: DRHD: handling fault status reg 3",
        ]);
    }
}
