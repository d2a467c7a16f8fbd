//! Lines of the kernel log, as they come, to evidence and templates.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mainstay_signal::Writer;

fuzz_target!(|input: &[u8]| {
    let text = String::from_utf8_lossy(input);
    mainstay_fuzz::count(text.split('\n').map(|line| (line, None)), Writer::Kernel);
    // The same lines from a service, and copied from anywhere; here a record may have several lines.
    for writer in [Writer::Program("kubelet"), Writer::Program("systemd"), Writer::Unstated] {
        mainstay_fuzz::count([(&*text, None)].into_iter(), writer);
    }
});
