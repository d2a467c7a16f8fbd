//! SXid lines of the NVSwitch driver: `nvidia-nvswitch3: SXid (PCI:…): 12028, Non-fatal, Link 32 …` (NVIDIA's Fabric
//! Manager guide, and the driver's `NVSWITCH_PRINT_SXID`). NVL72 racks have no such driver on the host.

use mainstay_model::Source;

use super::xid;
use crate::scan::Cursor;
use crate::signal::UNREADABLE;
use crate::{Place, Signal};

/// Beginnings of the lines that follow an error.
const CONTINUED: [&str; 2] = ["Severity ", "Data {"];

/// Returns whether a line continues an error with its registers.
pub(super) fn is_register(text: &str) -> bool {
    text.starts_with("nvidia-nvswitch") && text.contains(": SXid (") && CONTINUED.iter().any(|more| text.contains(more))
}

pub(super) fn parse(text: &str) -> Option<Signal> {
    let mut line = Cursor::new(text);
    line.eat("nvidia-nvswitch")?;
    let number = line.number();
    line.eat(": SXid (")?;
    let address = line.until("): ")?;
    let place = number.map_or_else(|| Place::pci_or_node(address), Place::NvSwitch);
    let Some(code) = xid::code(&mut line) else {
        return Signal::new(Source::Sxid, UNREADABLE, place, "");
    };
    let _ = line.eat(", ");
    // Two more lines follow each error, with the engine and its registers. They are ignored, because they would triple
    // the count.
    if CONTINUED.iter().any(|more| line.rest().starts_with(more)) {
        return None;
    }
    Signal::new(Source::Sxid, &code.to_string(), place, &detail(line.rest()))
}

/// Parses whether the driver logs the error as fatal, and its link.
fn detail(message: &str) -> String {
    let severity = ["Fatal", "Non-fatal"].into_iter().find(|word| message.starts_with(word));
    let link = Cursor::behind_last(message, "Link ").and_then(|mut at| at.number());
    match (severity, link) {
        (Some(severity), Some(link)) => format!("{severity} link {link}"),
        (Some(severity), None) => severity.to_owned(),
        (None, Some(link)) => format!("link {link}"),
        (None, None) => String::new(),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use crate::kernel::tests::{Line, nothing, says};

    #[rustfmt::skip] // one line a case
    pub(crate) const LINES: &[Line] = &[
        ("nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error (First)", "Sxid 12028 nvswitch3 Non-fatal link 32"),
        ("nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 20034, Fatal, Link 30 LTSSM Fault Up", "Sxid 20034 nvswitch0 Fatal link 30"),
        ("nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 20009, Non-fatal, Link 04 RX Short Error Rate", "Sxid 20009 nvswitch1 Non-fatal link 4"),
        ("nvidia-nvswitch2: SXid (PCI:0000:07:00.0): 10003, Fatal, Host_unhandled_interrupt", "Sxid 10003 nvswitch2 Fatal"),
        ("nvidia-nvswitch2: SXid (PCI:0000:07:00.0): 99999, Something nobody has seen", "Sxid 99999 nvswitch2"),
        ("nvidia-nvswitch2: SXid (PCI:0000:07:00.0): 123456, Fatal, Link 1 x", "Sxid unreadable nvswitch2"),
        ("nvidia-nvswitch2: SXid (PCI:0000:07:00.0): garbled, Fatal", "Sxid unreadable nvswitch2"),
        ("nvidia-nvswitch: SXid (PCI:0000:07:00.0): 22003, Fatal, Minion Halt", "Sxid 22003 0000:07:00.0 Fatal"),
    ];

    #[test]
    fn a_line_of_an_nvswitch_names_the_switch_the_code_and_the_link() {
        says(LINES);
    }

    #[test]
    fn the_lines_that_continue_an_error_are_not_another_error() {
        nothing(&[
            "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 22013, Severity 0 Engine instance 61 Sub-engine instance 00",
            "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 22013, Data {0x00610002, 0x10100030, 0x00000000}",
            "nvidia-nvswitch3: open (major=510)",
            "nvidia-nvswitch3: using MSI",
        ]);
    }
}
