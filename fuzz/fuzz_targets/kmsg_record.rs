//! Records as `/dev/kmsg` gives them, several to an input.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mainstay_agent::kmsg::Record;

fuzz_target!(|input: &[u8]| {
    let records = input.split(|byte| *byte == 0).filter_map(Record::parse);
    mainstay_fuzz::count(records.filter_map(|record| record.signal()));
});
