//! PCI Express advanced error reporting: `pcieport 0000:00:01.1: AER: Corrected error received: 0000:1b:00.0` and
//! `nvidia 0000:1b:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)`. Lines that only add
//! registers are ignored.
//!
//! The formats come from the kernel's `drivers/pci/pcie/aer.c` and `err.c`. They changed with the versions:
//! `Uncorrected` became `Uncorrectable`, `received:` became `message received from`, and all lines got the prefix `AER:
//! `.

use mainstay_model::Source;

use super::device::DeviceLine;
use crate::Signal;
use crate::scan::Cursor;
use crate::signal::UNREADABLE;

pub(super) fn parse(line: &DeviceLine<'_>) -> Option<Signal> {
    let said = line.text.strip_prefix("AER: ");
    // Without the prefix, the other two are common phrases that any driver may print.
    let (code, detail) =
        bus_error(said.unwrap_or(line.text)).or_else(|| received(said?)).or_else(|| recovery(said?))?;
    Signal::new(Source::PcieAer, code, line.place.clone(), &detail)
}

/// Returns whether a line adds registers to the error before it: `device [10de:2330] error status/mask=…`, `[ 0] RxErr`,
/// `TLP Header: …`.
pub(super) fn is_register(line: &DeviceLine<'_>) -> bool {
    let said = line.text.strip_prefix("AER:").unwrap_or(line.text).trim_start();
    let is_bit = || {
        let bit = said.strip_prefix('[').and_then(|said| said.split_once(']')).map(|(bit, _)| bit.trim_start());
        bit.is_some_and(|bit| bit.len() <= 2 && bit.bytes().all(|byte| byte.is_ascii_digit()))
    };
    said.starts_with("device [") || said.starts_with("TLP Header: ") || said.starts_with("aer_") || is_bit()
}

/// Parses the line of the device that detected the error, with the layer and its role.
fn bus_error(text: &str) -> Option<(&'static str, String)> {
    let mut line = Cursor::new(text);
    line.eat("PCIe Bus Error: severity=")?;
    let code = severity(line.until(",").unwrap_or(line.rest()));
    let mut detail = String::new();
    if line.eat(" type=").is_some() {
        detail.push_str(line.until(",").unwrap_or(line.rest()));
        // The role is `(Receiver ID)`; on older kernels `id=00e5(Receiver ID)`.
        if let Some(role) = line.until("(").and_then(|_| line.until(")")) {
            detail = format!("{detail}, {role}");
        }
    }
    Some((code, detail))
}

/// Parses the line of a root port that received an error message. The device usually logs its own line, so the two have
/// different codes: one error is counted once at the port and once at the device.
fn received(text: &str) -> Option<(&'static str, String)> {
    let (multiple, text) = text.strip_prefix("Multiple ").map_or(("", text), |text| (", multiple", text));
    let (words, _) = text.split_once(" error received").or_else(|| text.split_once(" error message received"))?;
    Some((severity(words), format!("received{multiple}")))
}

/// Parses the result of the kernel's own recovery. A success is not a fault, and the error itself is already counted.
fn recovery(text: &str) -> Option<(&'static str, String)> {
    text.starts_with("device recovery failed").then(|| ("recovery-failed", String::new()))
}

fn severity(words: &str) -> &'static str {
    match words {
        "Corrected" | "Correctable" => "correctable",
        "Uncorrected (Non-Fatal)" | "Uncorrectable (Non-Fatal)" => "nonfatal",
        "Uncorrected (Fatal)" | "Uncorrectable (Fatal)" => "fatal",
        _ => UNREADABLE,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use crate::kernel::tests::{Line, nothing, says};

    #[rustfmt::skip] // one line a case
    pub(crate) const LINES: &[Line] = &[
        ("pcieport 0000:00:01.1: AER: Corrected error received", "PcieAer correctable 0000:00:01.1 received"),
        ("pcieport 0000:00:01.1: AER: Corrected error received: 0000:1b:00.0", "PcieAer correctable 0000:00:01.1 received"),
        ("pcieport 0000:00:01.1: AER: Corrected error received: id=00e5", "PcieAer correctable 0000:00:01.1 received"),
        ("pcieport 0000:15:01.0: AER: Correctable error message received from 0000:1b:00.0", "PcieAer correctable 0000:15:01.0 received"),
        ("pcieport 0000:15:01.0: AER: Multiple Corrected error received: 0000:1b:00.0", "PcieAer correctable 0000:15:01.0 received, multiple"),
        ("pcieport 0000:15:01.0: AER: Multiple Uncorrectable (Non-Fatal) error message received from 0000:73:00.1", "PcieAer nonfatal 0000:15:01.0 received, multiple"),
        ("pcieport 0000:15:01.0: AER: Uncorrected (Fatal) error received: 0000:1b:00.0", "PcieAer fatal 0000:15:01.0 received"),
        ("nvidia 0000:1b:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)", "PcieAer correctable 0000:1b:00.0 Physical Layer, Receiver ID"),
        ("nvidia 0000:1b:00.0: AER: PCIe Bus Error: severity=Correctable, type=Data Link Layer, (Transmitter ID)", "PcieAer correctable 0000:1b:00.0 Data Link Layer, Transmitter ID"),
        ("pcieport 0000:00:1c.5: PCIe Bus Error: severity=Corrected, type=Physical Layer, id=00e5(Receiver ID)", "PcieAer correctable 0000:00:1c.5 Physical Layer, Receiver ID"),
        ("nvidia 0000:1b:00.0: AER: PCIe Bus Error: severity=Uncorrectable (Non-Fatal), type=Transaction Layer, (Requester ID)", "PcieAer nonfatal 0000:1b:00.0 Transaction Layer, Requester ID"),
        ("mlx5_core 0000:18:00.1: AER: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Inaccessible, (Unregistered Agent ID)", "PcieAer fatal 0000:18:00.1 Inaccessible, Unregistered Agent ID"),
        ("nvidia 0000:1b:00.0: AER: PCIe Bus Error: severity=Corrected", "PcieAer correctable 0000:1b:00.0"),
        ("nvidia 0000:1b:00.0: AER: PCIe Bus Error: severity=Dubious, type=Physical Layer, (Receiver ID)", "PcieAer unreadable 0000:1b:00.0 Physical Layer, Receiver ID"),
        ("nvidia 0000:1b:00.0: AER: device recovery failed", "PcieAer recovery-failed 0000:1b:00.0"),
    ];

    #[test]
    fn an_error_is_told_by_its_severity_at_the_port_and_at_the_device() {
        says(LINES);
    }

    #[test]
    fn lines_that_add_registers_or_good_news_are_left_alone() {
        nothing(&[
            "nvidia 0000:1b:00.0:   device [10de:2330] error status/mask=00000001/0000a000",
            "nvidia 0000:1b:00.0: AER:    [ 0] RxErr                  (First)",
            "nvidia 0000:1b:00.0: AER:   TLP Header: 04000001 0000200f 1b000000 00000000",
            "nvidia 0000:1b:00.0: AER: aer_status: 0x00000001, aer_mask: 0x0000a000",
            "pcieport 0000:15:01.0: AER: device recovery successful",
            "pcieport 0000:15:01.0: AER: enabled with IRQ 42",
            "pcieport 0000:15:01.0: Corrected error received: 0000:1b:00.0",
        ]);
    }
}
