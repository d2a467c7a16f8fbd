//! Lines that identify hardware instead of reporting a fault: which GPU is at which address, its serial, the driver,
//! and the start of a kernel. They are not evidence. Readers of old logs use them to assign evidence to parts.
//!
//! The driver names a GPU before its Xid (NVIDIA's fabric manager guide: `NVRM: GPU at PCI:0000:1b:00: GPU-…`, then
//! `NVRM: GPU Board Serial Number: …`). It names it again when it falls off the bus (`NVRM: GPU 0000:1b:00.0: GPU
//! serial number is …`).

use mainstay_model::{GpuUuid, PciAddress, Serial, Version};

use super::text_of;
use crate::place::pci;
use crate::scan::Cursor;

/// An identification of hardware or software in a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Identity {
    /// A GPU is at this address.
    Gpu {
        /// Address of the GPU.
        at: PciAddress,
        /// The driver's id of the GPU.
        uuid: GpuUuid,
    },
    /// Serial of the GPU that was named last.
    BoardSerial(Serial),
    /// Serial of the GPU at this address.
    GpuSerial {
        /// Address of the GPU.
        at: PciAddress,
        /// Serial of the GPU.
        serial: Serial,
    },
    /// Version of the loaded driver.
    Driver(Version),
    /// A kernel started.
    Boot,
}

/// Parses a line that identifies hardware or software. Returns `None` for any other line.
#[must_use]
pub fn identify(line: &str) -> Option<Identity> {
    of_text(&text_of(line))
}

/// Parses the text of a line, without its prefix.
pub(super) fn of_text(text: &str) -> Option<Identity> {
    if text.starts_with("Linux version ") {
        return Some(Identity::Boot);
    }
    let mut line = Cursor::new(text);
    line.eat("NVRM: ")?;
    if line.eat("GPU at ").is_some() {
        let (place, uuid) = line.rest().rsplit_once(": ")?;
        return Some(Identity::Gpu { at: pci(place)?, uuid: GpuUuid::parse(uuid.trim()).ok()? });
    }
    if let Some((place, serial)) =
        line.rest().strip_prefix("GPU ").and_then(|rest| rest.split_once(": GPU serial number is "))
    {
        let serial = Serial::parse(serial.trim().trim_end_matches('.')).ok()?;
        return Some(Identity::GpuSerial { at: pci(place)?, serial });
    }
    if line.eat("GPU Board Serial Number: ").is_some() {
        return Serial::parse(line.rest().trim()).ok().map(Identity::BoardSerial);
    }
    line.eat("loading NVIDIA UNIX ")?;
    let is_version = |word: &&str| word.contains('.') && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let version = line.rest().split_ascii_whitespace().find(is_version)?;
    Version::parse(version).ok().map(Identity::Driver)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_told_before_what_is_wrong_with_it() {
        let gpu = "[  812.1] NVRM: GPU at PCI:0000:1b:00: GPU-95c1e5f6-0d3e-4d0a-9c0b-2f8a4c1d7e55";
        let Some(Identity::Gpu { at, uuid }) = identify(gpu) else { panic!("{gpu}") };
        assert_eq!((at.as_str(), uuid.as_str()), ("0000:1b:00.0", "GPU-95c1e5f6-0d3e-4d0a-9c0b-2f8a4c1d7e55"));
        let serial = identify("kernel: NVRM: GPU Board Serial Number: 1653922001234");
        assert_eq!(serial, Some(Identity::BoardSerial(Serial::parse("1653922001234").unwrap())));
        let again = identify("NVRM: GPU 0000:5d:00.0: GPU serial number is 1653923026510.");
        let (at, serial) = (PciAddress::parse("0000:5d:00.0").unwrap(), Serial::parse("1653923026510").unwrap());
        assert_eq!(again, Some(Identity::GpuSerial { at, serial }));
        for line in [
            "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  580.95.05  Tue Sep 23 09:55:41 UTC 2025",
            "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (root@build)",
        ] {
            assert_eq!(identify(line), Some(Identity::Driver(Version::parse("580.95.05").unwrap())), "{line}");
        }
        assert_eq!(identify("[    0.000000] Linux version 6.8.0-48-generic (buildd@x) #48"), Some(Identity::Boot));
    }

    #[test]
    fn other_lines_say_nothing_of_it() {
        for line in [
            "",
            "NVRM: Xid (PCI:0000:1b:00): 79, pid=1, name=x, GPU has fallen off the bus.",
            "NVRM: GPU at PCI:zz: GPU-1",
            "NVRM: GPU Board Serial Number: ",
            "NVRM: GPU Board Serial Number: a b",
            "NVRM: loading NVIDIA UNIX",
            "Nov 15 03:00:00 host sshd[1]: Linux version 6",
        ] {
            assert_eq!(identify(line), None, "{line}");
        }
    }
}
