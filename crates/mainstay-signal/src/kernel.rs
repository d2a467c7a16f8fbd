//! Kernel log lines: removes the prefix of a line and passes the text to the parser that recognises its beginning. The
//! parsers see only the text that the kernel or a driver printed.

use std::borrow::Cow;

use crate::{Recognition, Signal, scan};

mod aer;
mod amdgpu;
mod crash;
mod device;
mod ethernet;
mod identity;
mod lockup;
mod memory;
mod mlx5;
mod nvidia;
mod oom;
mod other_gpu;
mod pcie;
mod prefix;
mod storage;
mod sxid;
pub(crate) mod words;
mod xid;

use device::DeviceLine;
pub use identity::{Identity, identify};
use prefix::without_prefix;

/// Maximum length of a line's text that is parsed. The kernel itself ends a line at 1,024 bytes (`printk`'s
/// `LOG_LINE_MAX`).
pub const LINE_BYTES_MAX: usize = 1024;

/// Maximum length of a text in which a wrapped kernel line is searched.
const WRAPPED_BYTES_MAX: usize = 4096;

/// Maximum length of the prefix: `/dev/kmsg` fields, a journal's time and host, a time in brackets.
pub const PREFIX_BYTES_MAX: usize = 128;

/// Parses one line of the kernel and returns its signal. Returns `None` if the line reports no fault.
#[must_use]
pub fn parse(line: &str) -> Option<Signal> {
    recognise(line).signal()
}

/// Parses one line from raw bytes, because the kernel guarantees no encoding.
#[must_use]
pub fn parse_bytes(line: &[u8]) -> Option<Signal> {
    let bytes_max = PREFIX_BYTES_MAX + LINE_BYTES_MAX;
    parse(&String::from_utf8_lossy(line.get(..bytes_max).unwrap_or(line)))
}

/// Drivers of network adapters, as their lines begin.
const NIC_DRIVERS: &[&str] = &[
    "mlx5_core",
    "mlx5_ib",
    "mlx4_core",
    "mlx4_en",
    "bnxt_en",
    "bnxt_re",
    "ice",
    "irdma",
    "i40e",
    "iavf",
    "igb",
    "igc",
    "ixgbe",
    "ixgbevf",
    "e1000e",
    "ena",
    "efa",
    "tg3",
    "r8169",
    "r8125",
    "ionic",
    "qede",
    "qed",
    "cxgb4",
    "sfc",
    "hns3",
    "be2net",
    "enic",
    "atlantic",
    "mana",
    "gve",
    "virtio_net",
];

/// Drivers of GPUs that Mainstay has rules for, and of the other functions of their cards.
const GPU_DRIVERS: &[&str] = &["nvidia", "nvidia-gpu", "amdgpu"];

/// Beginnings of a kernel line within another text, such as the output of a script.
const WRAPPED: [&str; 3] = [" kernel: ", "NVRM: Xid (PCI:", "SXid (PCI:"];

/// Returns what a line of the kernel means.
pub(crate) fn recognise(line: &str) -> Recognition {
    let text = text_of(line);
    let text = text.as_ref();
    if words::begins_with_process(text) {
        return Recognition::Unknown;
    }
    let memory = memory::recognise(text);
    if memory != Recognition::Unknown {
        return memory;
    }
    if let Some(signal) = bare_signal(text) {
        return Recognition::Fault(signal);
    }
    let device = DeviceLine::read(text);
    if let Some(signal) = device.as_ref().and_then(device_signal) {
        return Recognition::Fault(signal);
    }
    let is_register = device.is_some_and(|line| aer::is_register(&line)) || sxid::is_register(text);
    if is_register || identity::of_text(text).is_some() { Recognition::Harmless } else { Recognition::Unknown }
}

/// Returns what a kernel line means that a script, a ticket or a JSON document wraps.
pub(crate) fn recognise_wrapped(line: &str) -> Recognition {
    let line = scan::cut(line, WRAPPED_BYTES_MAX);
    for start in WRAPPED {
        let Some((_, inner)) = line.split_once(start) else { continue };
        let inner = if start.starts_with(' ') { inner.to_owned() } else { format!("{start}{inner}") };
        let known = recognise(&inner);
        if known != Recognition::Unknown {
            return known;
        }
    }
    Recognition::Unknown
}

/// Parses a line that does not begin with a driver and a PCI address.
fn bare_signal(text: &str) -> Option<Signal> {
    xid::parse(text)
        .or_else(|| nvidia::parse(text))
        .or_else(|| sxid::parse(text))
        .or_else(|| amdgpu::parse(text))
        .or_else(|| lockup::parse(text))
        .or_else(|| oom::parse(text))
        .or_else(|| crash::parse(text))
        .or_else(|| storage::parse(text))
        .or_else(|| mlx5::parse_bare(text))
        .or_else(|| ethernet::parse_bare(text))
        .or_else(|| pcie::parse_bare(text))
        .or_else(|| other_gpu::parse_bare(text))
}

/// Parses a line about one device.
fn device_signal(line: &DeviceLine<'_>) -> Option<Signal> {
    aer::parse(line)
        .or_else(|| mlx5::parse(line))
        .or_else(|| pcie::parse(line))
        .or_else(|| ethernet::parse(line))
        .or_else(|| other_gpu::parse(line))
}

/// Returns the text of a record: the part that the kernel or a driver printed, without line breaks.
pub(crate) fn text_of(line: &str) -> Cow<'_, str> {
    let line = scan::cut(line, PREFIX_BYTES_MAX + LINE_BYTES_MAX);
    let text = without_prefix(line);
    match prefix::folded(text) {
        Cow::Borrowed(text) => Cow::Borrowed(scan::cut(text, LINE_BYTES_MAX)),
        Cow::Owned(text) => Cow::Owned(scan::cut(&text, LINE_BYTES_MAX).to_owned()),
    }
}

#[cfg(test)]
mod tests;
