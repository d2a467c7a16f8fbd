//! The place of a signal, as the line names it. The inventory maps it to a part.

use std::fmt;

use mainstay_model::PciAddress;
use serde::{Deserialize, Serialize};

use crate::scan::{Cursor, clean};

/// The place of an event, as the line names it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Place {
    /// A device on the PCI bus, always with its function, as the kernel writes it.
    Pci(PciAddress),
    /// A network interface, if the line names no device.
    Interface(InterfaceName),
    /// An NVSwitch, by its number on the node.
    NvSwitch(u32),
    /// The whole node, or a place that could not be parsed.
    Node,
}

// === impl Place ===

impl Place {
    /// Parses a PCI address in any of its forms; returns the node if there is none.
    #[must_use]
    pub fn pci_or_node(text: &str) -> Self {
        pci(text).map_or(Self::Node, Self::Pci)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pci(address) => address.fmt(f),
            Self::Interface(name) => f.write_str(name.as_str()),
            Self::NvSwitch(number) => write!(f, "nvswitch{number}"),
            Self::Node => f.write_str("node"),
        }
    }
}

/// The name of a network interface.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String")]
pub struct InterfaceName(Box<str>);

// === impl InterfaceName ===

impl InterfaceName {
    /// Maximum length in bytes: the kernel's `IFNAMSIZ` without the terminating zero.
    pub const BYTES_MAX: usize = 15;

    pub(crate) fn new(text: &str) -> Self {
        Self(clean(text, Self::BYTES_MAX).into())
    }

    /// Returns the name as a string slice.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for InterfaceName {
    fn from(text: String) -> Self {
        Self::new(&text)
    }
}

/// Normalises a PCI address. The GPU driver omits the function (`PCI:0000:1b:00`), NVML writes eight digits of domain
/// and capitals (`00000000:1B:00.0`). The result has the kernel's form, `0000:1b:00.0`.
pub(crate) fn pci(text: &str) -> Option<PciAddress> {
    let text = text.strip_prefix("PCI:").unwrap_or(text);
    // Eight, two, two and one digits are the maximum: longer numbers would not fit the model's address.
    let (text, function) = text.split_once('.').unwrap_or((text, "0"));
    let mut fields = text.split(':');
    let [domain, bus, device] = [(8, u32::MAX), (2, 0xff), (2, 0x1f)].map(|(digits_max, max)| {
        let field = fields.next().filter(|field| field.len() <= digits_max)?;
        whole_hex(field).filter(|value| *value <= max)
    });
    let (domain, bus, device, function) = (domain?, bus?, device?, whole_hex(function).filter(|f| *f <= 7)?);
    if fields.next().is_some() {
        return None;
    }
    PciAddress::parse(&format!("{domain:04x}:{bus:02x}:{device:02x}.{function}")).ok()
}

fn whole_hex(text: &str) -> Option<u32> {
    let mut cursor = Cursor::new(text);
    let value = cursor.hex()?;
    (cursor.rest().is_empty() && !text.contains('x')).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_one_spelling() {
        for (text, expected) in [
            ("0000:1b:00", "0000:1b:00.0"),
            ("PCI:0000:1b:00", "0000:1b:00.0"),
            ("PCI:0000:1b:00.0", "0000:1b:00.0"),
            ("0000:1b:00.1", "0000:1b:00.1"),
            ("00000000:1B:00.0", "0000:1b:00.0"),
            ("0009:01:00", "0009:01:00.0"),
            ("10000:e1:1f.7", "10000:e1:1f.7"),
            ("ffffffff:ff:1f.7", "ffffffff:ff:1f.7"),
        ] {
            assert_eq!(pci(text).map(|a| a.to_string()).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in [
            "",
            "1b:00",
            "0000:1b:00.8",
            "0000:1b:20",
            "0000:1bb:00",
            "0000:1b:00:00",
            "0x00:1b:00",
            "0000:1b:00.",
            "PCI:PCI:0000:1b:00",
            "000000000:1b:00",
            "0000:1b:00.0.0",
            "0000: 1b:00",
        ] {
            assert_eq!(pci(text), None, "{text}");
        }
    }

    #[test]
    fn a_place_that_cannot_be_read_is_the_node() {
        assert_eq!(Place::pci_or_node("zzzz:1b:00"), Place::Node);
        assert_eq!(InterfaceName::new("ens1np0\u{7}").as_str(), "ens1np0?");
    }
}
