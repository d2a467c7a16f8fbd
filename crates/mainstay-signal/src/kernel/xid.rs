//! Xid lines of the GPU driver: `NVRM: Xid (…): <number>, …`. The number is the code, known or not. [`detail`] parses
//! what distinguishes two lines with the same number. Other lines of the driver repeat an Xid and are ignored.
//!
//! The format comes from NVIDIA's open kernel modules (`krcReportXid`); the parts in brackets are optional: `NVRM: Xid
//! (PCI:%04x:%02x:%02x[ GPU-I:%02u][ GPU-CI:%02u]): %d, [pid=%s, name=%s, ]<message>`.

use mainstay_model::Source;

use crate::scan::Cursor;
use crate::signal::UNREADABLE;
use crate::{Place, Signal};

mod detail;

/// Maximum number of digits, more than any XID or SXid has; SXids have five.
const CODE_DIGITS_MAX: usize = 5;

/// Maximum length of the text in the driver's parentheses, with a margin.
const ATTRIBUTION_BYTES_MAX: usize = 48;

pub(super) fn parse(text: &str) -> Option<Signal> {
    let mut line = Cursor::new(text);
    // A log shipper may have taken the driver's name for that of a program.
    let _ = line.eat("NVRM: ");
    line.eat("Xid (")?;
    let attribution = line.until("): ").filter(|words| is_attribution(words))?;
    let mut words = attribution.split(' ');
    let place = words.next().map_or(Place::Node, Place::pci_or_node);
    let Some(code) = code(&mut line) else {
        return Signal::new(Source::Xid, UNREADABLE, place, "");
    };
    let mut detail = detail::of(code, message(line));
    // A fault of one MIG instance is not a fault of its neighbour.
    if let Some(instance) = words.next().and_then(|word| Cursor::behind_last(word, "GPU-I:")?.number()) {
        detail = format!("{detail} gi {instance}");
    }
    Signal::new(Source::Xid, &code.to_string(), place, &detail)
}

/// Parses the number of an Xid or SXid.
pub(super) fn code(line: &mut Cursor<'_>) -> Option<u32> {
    let digits = line.run(|c| c.is_ascii_digit());
    let ends = line.rest().is_empty() || line.rest().starts_with([',', ' ']);
    if digits.len() > CODE_DIGITS_MAX || !ends {
        return None;
    }
    digits.parse().ok()
}

/// Returns whether the driver could have written this text between its parentheses. A process named `NVRM: Xid (PCI:`
/// that crashes begins a kernel line with that name, and a file it chose may close the parenthesis. But the kernel's
/// text between the two contains brackets.
fn is_attribution(words: &str) -> bool {
    words.len() <= ATTRIBUTION_BYTES_MAX && words.chars().all(|c| c.is_ascii_alphanumeric() || " :.-".contains(c))
}

/// Returns the driver's message without the process. A tenant chooses the process name, which may contain a comma; its
/// tail then stays. Details are therefore searched from the end.
fn message(mut line: Cursor<'_>) -> &str {
    line.run(|c| c == ',' || c == ' ');
    for field in ["pid=", "name="] {
        if line.rest().starts_with(field) {
            let _ = line.until(", ");
        }
    }
    line.rest()
}

#[cfg(test)]
pub(super) mod tests;
