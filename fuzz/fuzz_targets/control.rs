//! Lines on the agent's socket, and `Accept` headers of its HTTP endpoints.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mainstay_agent::fuzz_api;

fuzz_target!(|input: &[u8]| {
    let text = String::from_utf8_lossy(input);
    let _ = fuzz_api::control_request(&text);
    assert!(fuzz_api::length(&text).is_none_or(|seconds| (1..=3_600).contains(&seconds)));
    assert!(fuzz_api::metrics_content_type(&text).ends_with("; charset=utf-8"));
});
