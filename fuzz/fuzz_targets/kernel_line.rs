//! Lines of the kernel log, as they come, to evidence.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mainstay_signal::{Writer, recognise};

fuzz_target!(|input: &[u8]| {
    mainstay_fuzz::count(input.split(|byte| *byte == b'\n').filter_map(mainstay_signal::parse_bytes));
    // The same lines from a service, and copied from anywhere; here a record may have several lines.
    let text = String::from_utf8_lossy(input);
    for writer in [Writer::Program("kubelet"), Writer::Program("systemd"), Writer::Unstated] {
        mainstay_fuzz::count(recognise(&text, writer).signal().into_iter());
    }
});
