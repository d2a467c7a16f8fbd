//! The disk: a file in the current folder, written, synced, dropped from the kernel's memory as far as it obeys, and read
//! again. The file has no name after it was opened, so it goes away with the process.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::time::{Duration, Instant};

use rustix::fs::Advice;

use super::{Figures, mbps, scattered};

/// Written at once.
const BLOCK_BYTES: usize = 1024 * 1024;

pub(super) fn run(mib: u64) -> io::Result<Figures> {
    let path = "disk.part";
    let mut file = File::options().read(true).write(true).create_new(true).open(path)?;
    std::fs::remove_file(path)?;
    let (mut block, mut read) = (vec![0; BLOCK_BYTES], vec![0; BLOCK_BYTES]);
    let (mut wrote, mut mismatches) = (Duration::ZERO, 0);
    for number in 0..mib {
        fill(&mut block, number);
        wrote += timed(|| file.write_all(&block))?;
    }
    wrote += timed(|| file.sync_all())?;
    rustix::fs::fadvise(&file, 0, None, Advice::DontNeed)?;
    file.rewind()?;
    let mut took = Duration::ZERO;
    for number in 0..mib {
        took += timed(|| file.read_exact(&mut read))?;
        fill(&mut block, number);
        mismatches += u64::from(block != read);
    }
    let bytes = mib.saturating_mul(1024 * 1024);
    Ok(vec![
        ("write-mbps", mbps(bytes, wrote)),
        ("read-mbps", mbps(bytes, took)),
        ("blocks", mib),
        ("mismatches", mismatches),
    ])
}

/// How long it took.
fn timed(work: impl FnOnce() -> io::Result<()>) -> io::Result<Duration> {
    let begun = Instant::now();
    work().map(|()| begun.elapsed())
}

/// No two blocks are the same, and none can be packed.
fn fill(block: &mut [u8], number: u64) {
    for (word, place) in block.chunks_exact_mut(8).zip(0_u64..) {
        word.copy_from_slice(&scattered(number << 32 | place).to_le_bytes());
    }
}
