//! Messages of services: the first line names the service, the others are its messages.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mainstay_signal::Writer;

fuzz_target!(|input: &[u8]| {
    let text = String::from_utf8_lossy(input);
    let (program, messages) = text.split_once('\n').unwrap_or((&text, ""));
    mainstay_fuzz::count(messages.split('\n').map(|line| (line, Some(6))), Writer::Program(program));
});
