//! Files of suites, which people write.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mainstay_agent::fuzz_api;
use mainstay_model::SuiteName;

fuzz_target!(|input: &[u8]| {
    let name = SuiteName::parse("host").expect("a name");
    let _ = fuzz_api::suite(&String::from_utf8_lossy(input), &name);
});
