//! Objects of a journal file, as systemd's JOURNAL_FILE_FORMAT documents them: little-endian numbers at fixed places. Every
//! place is checked against the length of what was read, because a file may be damaged or being written.

/// Bytes of the header that are used; newer versions have more.
pub(super) const HEADER_BYTES: usize = 208;

/// Bytes of an object before its payload, for the longest kind.
pub(super) const OBJECT_BYTES: usize = 72;

/// The kinds of objects that are read.
pub(super) const DATA: u8 = 1;
pub(super) const FIELD: u8 = 2;
pub(super) const ENTRY: u8 = 3;
pub(super) const ENTRY_ARRAY: u8 = 6;

/// Flags of objects whose payload is compressed (XZ, LZ4, ZSTD).
pub(super) const COMPRESSED: u8 = 1 | 2 | 4;

/// Flags of files that can be read: compressed objects, keyed hashes, and the compact form.
const KNOWN_FLAGS: u32 = 1 | 2 | 4 | 8 | COMPACT;
const COMPACT: u32 = 16;

/// The header of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) is_compact: bool,
    /// The last boot that wrote to the file.
    pub(super) boot: [u8; 16],
    pub(super) sequence: [u8; 16],
    pub(super) fields_at: u64,
    pub(super) fields_bytes: u64,
    /// The array of all entries, and how many there are.
    pub(super) entries_at: u64,
    pub(super) entries: u64,
    pub(super) first_number: u64,
    pub(super) last_number: u64,
}

// === impl Header ===

impl Header {
    /// Parses a header; none where it is not that of a journal, or has a form that is not known.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let flags = u32_at(bytes, 12)?;
        let is_journal = bytes.starts_with(b"LPKSHHRH") && flags & !KNOWN_FLAGS == 0;
        is_journal.then_some(())?;
        Some(Self {
            is_compact: flags & COMPACT != 0,
            boot: id_at(bytes, 56)?,
            sequence: id_at(bytes, 72)?,
            fields_at: u64_at(bytes, 120)?,
            fields_bytes: u64_at(bytes, 128)?,
            entries: u64_at(bytes, 152)?,
            last_number: u64_at(bytes, 160)?,
            first_number: u64_at(bytes, 168)?,
            entries_at: u64_at(bytes, 176)?,
        })
    }
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(8)?)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

pub(super) fn id_at(bytes: &[u8], at: usize) -> Option<[u8; 16]> {
    bytes.get(at..at.checked_add(16)?)?.try_into().ok()
}

/// Parses an id of 32 hexadecimal digits, with or without dashes.
pub(super) fn id(text: &str) -> Option<[u8; 16]> {
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b'-').collect();
    let mut id = [0; 16];
    if digits.len() != 2 * id.len() {
        return None;
    }
    for (byte, pair) in id.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(id)
}

/// Writes an id as 32 hexadecimal digits.
pub(super) fn id_text(id: [u8; 16]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}
