//! What a DCGM exporter, node-problem-detector, or anybody who took their port, answers to a scrape.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mainstay_agent::fuzz_api;
use mainstay_agent::sources::SourceName;

fuzz_target!(|input: &[u8]| {
    let counters = vec!["up=endpoint-up".parse().expect("a counter")];
    let round = fuzz_api::exporter(&String::from_utf8_lossy(input), counters);
    mainstay_fuzz::count_round(SourceName::Scrape, &round);
});
