//! Lines that begin with a device, as the kernel's `dev_printk` and `netdev_printk` write them: `driver 0000:18:00.0:
//! text` and `driver 0000:18:00.0 ens1np0: text`. Other parsers interpret the text.

use crate::Place;
use crate::place::pci;

/// Length of the shortest address that the kernel prints: `0000:18:00.0`.
const ADDRESS_BYTES_MIN: usize = 12;

/// A line about one device.
#[derive(Debug, Clone)]
pub(super) struct DeviceLine<'a> {
    /// Driver bound to the device, or the bus if there is none.
    pub(super) driver: &'a str,
    /// The device that the line is about.
    pub(super) place: Place,
    /// The text of the line.
    pub(super) text: &'a str,
}

// === impl DeviceLine ===

impl<'a> DeviceLine<'a> {
    pub(super) fn read(line: &'a str) -> Option<Self> {
        let (head, text) = line.split_once(": ")?;
        let mut words = head.split(' ');
        let (driver, address) = (words.next()?, words.next()?);
        // Before Linux 5, a service of a port had a name of its own: `0000:03:05.0:pcie24`.
        let address = address.split_once(":pcie").map_or(address, |(address, _)| address);
        // An address alone is not enough here: without a function it may be a time of day.
        // And with fewer digits than the kernel prints, a process could have the whole beginning as its name.
        let is_whole = address.contains('.') && address.len() >= ADDRESS_BYTES_MIN;
        let place = is_whole.then(|| pci(address)).flatten().map(Place::Pci)?;
        // The name of the interface or InfiniBand device adds nothing to its PCI function; "(unregistering)" may
        // follow.
        let _interface = words.next();
        let state = words.next().unwrap_or("()");
        let is_device = !driver.is_empty() && state.starts_with('(') && words.next().is_none();
        is_device.then_some(Self { driver, place, text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_line_has_a_driver_an_address_and_perhaps_an_interface() {
        for (line, expected) in [
            ("pcieport 0000:00:01.1: AER: x", Some(("pcieport", "0000:00:01.1", "AER: x"))),
            ("mlx5_core 0000:18:00.0 ens1np0: Link up", Some(("mlx5_core", "0000:18:00.0", "Link up"))),
            ("mlx5_core 0000:18:00.0 e0 (unregistering): x: y", Some(("mlx5_core", "0000:18:00.0", "x: y"))),
            ("pciehp 0000:03:05.0:pcie24: Slot(6): x", Some(("pciehp", "0000:03:05.0", "Slot(6): x"))),
            ("mlx5_core 0000:18:00.0 e0 and more: x", None),
            ("mlx5_core 0000:18:00.0 e0 (unregistering) more: x", None),
            ("mlx5_core 0000:18:00: x", None),
            ("systemd 1: x", None),
            ("ice 0:1:0.0: x", None),
            (" 0000:18:00.0: x", None),
            ("nvidia 0000:18:00.0", None),
        ] {
            let read = DeviceLine::read(line);
            let read = read.map(|line| (line.driver, line.place.to_string(), line.text));
            assert_eq!(read, expected.map(|(driver, at, text)| (driver, at.to_owned(), text)), "{line}");
        }
    }
}
