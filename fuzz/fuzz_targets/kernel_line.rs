//! Lines of the kernel log, as they come, to evidence.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    mainstay_fuzz::count(input.split(|byte| *byte == b'\n').filter_map(mainstay_signal::parse_bytes));
});
