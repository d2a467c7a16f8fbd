//! The journal's export format (`journalctl -o export`, systemd's JOURNAL_EXPORT_FORMATS): fields a line each, or with a
//! length before them where they are binary, and an empty line between entries.

use std::io::{self, BufRead};

use mainstay_text::{Line, Lines};

use super::LogReader;
use super::journal::Entry;
use crate::dropped::DropReason;

/// One field; a kernel's message is far shorter, and of a core dump nothing is wanted.
const FIELD_BYTES_MAX: usize = 64 * 1024;

pub(super) fn read(reading: &mut LogReader<'_>, from: &mut impl BufRead) -> io::Result<()> {
    let mut lines = Lines::new(from, FIELD_BYTES_MAX);
    let mut entry = Entry::default();
    let mut is_any = false;
    let mut boots = super::journal::Boots::default();
    let mut value = Vec::new();
    loop {
        let name = match lines.next_line()? {
            None => break,
            Some(Line::TooLong) => {
                reading.skip(DropReason::LineTooLong, 1);
                continue;
            }
            Some(Line::Whole(b"")) => {
                if is_any {
                    std::mem::take(&mut entry).write_to(reading, &mut boots);
                }
                is_any = false;
                continue;
            }
            Some(Line::Whole(line)) => {
                is_any = true;
                if let Some(at) = line.iter().position(|byte| *byte == b'=') {
                    let (name, value) = line.split_at(at);
                    entry.field(name, value.get(1..).unwrap_or_default());
                    continue;
                }
                line.to_vec()
            }
        };
        // A binary field: its length, its bytes, and the end of the line.
        let mut length = Vec::new();
        let is_there = lines.exactly(8, &mut length)?;
        let length = <[u8; 8]>::try_from(length).map_or(0, u64::from_le_bytes);
        let mut end = Vec::new();
        if !is_there || !lines.exactly(length, &mut value)? || !lines.exactly(1, &mut end)? || end != b"\n" {
            // From here on nobody can tell where anything begins.
            reading.skip(DropReason::NotUnderstood, 1);
            break;
        }
        entry.field(&name, &value);
    }
    if is_any {
        entry.write_to(reading, &mut boots);
    }
    reading.volume.bytes = lines.bytes();
    Ok(())
}
