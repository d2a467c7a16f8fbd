//! `NVRM: Xid (…): <number>, …`, the GPU driver's line about one of its GPUs. The number is the code whether anybody
//! knows it or not; what tells two lines of one number apart is read in [`detail`]. The driver's other lines repeat
//! what an Xid already said and are left alone.
//!
//! The shape is that of NVIDIA's open kernel modules (`krcReportXid`), where the parts in brackets may be absent:
//! `NVRM: Xid (PCI:%04x:%02x:%02x[ GPU-I:%02u][ GPU-CI:%02u]): %d, [pid=%s, name=%s, ]<message>`.

use mainstay_model::Source;

use crate::scan::Cursor;
use crate::signal::UNREADABLE;
use crate::{Place, Signal};

mod detail;

/// More digits than any XID or SXid has; SXids have five.
const CODE_DIGITS_MAX: usize = 5;

/// What the driver may print in its parentheses, with room to spare.
const ATTRIBUTION_BYTES_MAX: usize = 48;

pub(super) fn parse(text: &str) -> Option<Signal> {
    let mut line = Cursor::new(text);
    line.eat("NVRM: Xid (")?;
    let attribution = line.until("): ").filter(|words| is_attribution(words))?;
    let mut words = attribution.split(' ');
    let place = words.next().map_or(Place::Node, Place::pci_or_node);
    let Some(code) = code(&mut line) else {
        return Signal::new(Source::Xid, UNREADABLE, place, "");
    };
    let mut detail = detail::of(code, message(line));
    // A fault of one MIG instance is not the fault of its neighbour.
    if let Some(instance) = words.next().and_then(|word| Cursor::behind_last(word, "GPU-I:")?.number()) {
        detail = format!("{detail} gi {instance}");
    }
    Signal::new(Source::Xid, &code.to_string(), place, &detail)
}

/// The number of an Xid or SXid, if it can be one.
pub(super) fn code(line: &mut Cursor<'_>) -> Option<u32> {
    let digits = line.run(|c| c.is_ascii_digit());
    let ends = line.rest().is_empty() || line.rest().starts_with([',', ' ']);
    if digits.len() > CODE_DIGITS_MAX || !ends {
        return None;
    }
    digits.parse().ok()
}

/// Whether the driver could have written this between its parentheses. A process called `NVRM: Xid (PCI:` that crashes
/// begins a kernel line with that name, and a file it chose may close the parenthesis; but what the kernel prints
/// between the two has brackets in it.
fn is_attribution(words: &str) -> bool {
    words.len() <= ATTRIBUTION_BYTES_MAX && words.chars().all(|c| c.is_ascii_alphanumeric() || " :.-".contains(c))
}

/// What the driver says, without the process. The name is the tenant's and may hold a comma, in which case its tail
/// stays; details are therefore looked for from the end.
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
