//! A journal of facts that a user sent: as the bytes of a file, and as lines below a valid header. A mutation of a file rarely
//! passes the checksum of its frame, so the lines are compressed here.
#![no_main]

use std::io::Cursor;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use mainstay_engine::Engine;
use mainstay_engine::record::Player;

// Only the writer uses the rest of these files.
#[allow(dead_code)]
#[path = "../../crates/mainstay-kube/src/journal/frames.rs"]
mod frames;
#[path = "../../crates/mainstay-kube/src/journal/header.rs"]
mod header;
#[allow(dead_code)]
#[path = "../../crates/mainstay-kube/src/journal/reader.rs"]
mod reader;

/// The frame of a valid header. It has a digest of the fault catalogue, which takes long.
static HEAD: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let line = serde_json::to_vec(&header::Header::of_this_build()).expect("a header can be written");
    frames::encode(&line).expect("a line can be compressed")
});

/// An engine without facts.
static FRESH: LazyLock<Engine> = LazyLock::new(Engine::new);

/// Reads all entries and gives them to an engine, as `mainstay sim replay --journal` does.
fn replay(file: Vec<u8>) {
    let Ok(mut reader) = reader::JournalReader::new(Cursor::new(file)) else { return };
    assert_eq!(reader.header().journal, header::JOURNAL_FORMAT);
    let mut player = Player::new(FRESH.clone());
    while let Ok(Some(entry)) = reader.next_entry() {
        let _ = player.play(&entry);
    }
    let _ = reader.end();
}

fuzz_target!(|input: &[u8]| {
    replay(input.to_vec());
    let lines = frames::encode(input).expect("lines can be compressed");
    replay([&HEAD[..], &lines].concat());
});
