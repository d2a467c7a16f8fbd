//! What `dcgmi diag -j` prints. Where it is no document, nothing passes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mainstay_agent::qualify::{Parser, parse};

fuzz_target!(|input: &[u8]| {
    let must_pass = vec![vec!["memory".to_owned()], vec!["pcie".to_owned()]];
    let text = String::from_utf8_lossy(input);
    let parsed = parse(&Parser::DcgmDiag { must_pass }, &text);
    let passes = parsed.failure.is_none() && parsed.lacks.is_none();
    assert!(!passes || text.contains('{'), "a pass out of nothing");
});
