//! What follows the head of an XID and of an SXid: registers, links, units, names that a tenant chose.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mainstay_signal::Writer;

fuzz_target!(|input: &[u8]| {
    let text = String::from_utf8_lossy(input);
    let lines = [
        format!("NVRM: Xid (PCI:0000:1b:00): {text}"),
        format!("nvidia-nvswitch3: SXid (PCI:0000:05:00.0): {text}"),
    ];
    mainstay_fuzz::count(lines.iter().map(|line| (line.as_str(), None)), Writer::Kernel);
});
