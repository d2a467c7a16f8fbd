//! Records as `/dev/kmsg` gives them, several to an input.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mainstay_agent::kmsg::Record;
use mainstay_signal::Writer;

fuzz_target!(|input: &[u8]| {
    let records: Vec<Record> = input.split(|byte| *byte == 0).filter_map(Record::parse).collect();
    let lines = records.iter().filter_map(|record| Some((record.line()?, Some(record.level))));
    mainstay_fuzz::count(lines, Writer::Kernel);
});
