//! What nccl-tests print, and tests of our own.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mainstay_agent::qualify::{Parser, parse};

fuzz_target!(|input: &[u8]| {
    let text = String::from_utf8_lossy(input);
    let _ = parse(&Parser::NcclTests, &text);
    assert!(parse(&Parser::Figures, &text).figures.len() <= 64);
});
