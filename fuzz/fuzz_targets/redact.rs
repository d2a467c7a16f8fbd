//! Logs out of which names are taken. Nothing is written twice, and no more than there is room for.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mainstay_agent::redact::Redactor;

const ROOM: u64 = 8 * 1024;

fuzz_target!(|input: &[u8]| {
    let mut out = Vec::new();
    let mut redactor = Redactor::new(&mut out, ROOM);
    // In pieces, as a pipe gives them.
    for piece in input.chunks(13) {
        let _ = redactor.take(piece).expect("memory takes everything");
    }
    let sum = redactor.finish().expect("memory takes everything");
    assert_eq!(sum.bytes, out.len() as u64);
    assert!(sum.bytes <= ROOM);
});
