//! Reads objects of one journal file at their places. A place behind the end, or an object of another kind, is none.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;

use super::object::{COMPRESSED, ENTRY, ENTRY_ARRAY, HEADER_BYTES, Header, OBJECT_BYTES, id_at, u32_at, u64_at};

/// Arrays of entries, of one unit or of a file; each is larger than the one before it.
pub(super) const ARRAYS_MAX: usize = 4096;

/// The objects of a file.
#[derive(Debug)]
pub(super) struct ObjectReader {
    file: File,
    pub(super) header: Header,
    inode: u64,
}

/// The beginning of an object.
pub(super) struct Object {
    pub(super) bytes: Vec<u8>,
    pub(super) size: u64,
}

// === impl ObjectReader ===

impl ObjectReader {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let inode = file.metadata()?.ino();
        let mut header = [0; HEADER_BYTES];
        file.read_exact_at(&mut header, 0)?;
        let header = Header::parse(&header)
            .ok_or_else(|| io::Error::other(format!("{} is not a journal that can be read", path.display())))?;
        Ok(Self { file, header, inode })
    }

    /// Whether this is still the file under a name.
    pub(super) fn is_at(&self, path: &Path) -> bool {
        path.metadata().is_ok_and(|found| found.ino() == self.inode)
    }

    /// The number of the first entry of a boot, which is the last one in the file: by halving, as its entries follow those
    /// of earlier boots.
    pub(super) fn first_of(&self, boot: [u8; 16]) -> io::Result<Option<u64>> {
        let (mut array, mut before) = (self.header.entries_at, 0);
        for _ in 0..ARRAYS_MAX {
            let Some(object) = self.object(array, ENTRY_ARRAY, 0)? else { return Ok(None) };
            let room = object.size.saturating_sub(24) / self.item_bytes();
            let held = room.min(self.header.entries.saturating_sub(before));
            let (mut low, mut high) = (0, held);
            while low < high {
                let middle = low + (high - low) / 2;
                match self.place_in(array, middle)? {
                    Some(place) if self.boot(place)? == Some(boot) => high = middle,
                    Some(_) => low = middle + 1,
                    None => return Ok(None),
                }
            }
            if low < held {
                return match self.place_in(array, low)? {
                    Some(place) => self.number(place),
                    None => Ok(None),
                };
            }
            (array, before) = (u64_at(&object.bytes, 16).unwrap_or(0), before.saturating_add(room));
        }
        Ok(None)
    }

    pub(super) fn boot(&self, place: u64) -> io::Result<Option<[u8; 16]>> {
        Ok(self.object(place, ENTRY, 0)?.and_then(|object| id_at(&object.bytes, 40)))
    }

    pub(super) fn place_in(&self, array: u64, item: u64) -> io::Result<Option<u64>> {
        let at = array.saturating_add(24).saturating_add(item.saturating_mul(self.item_bytes()));
        let place = self.bytes(at, if self.header.is_compact { 4 } else { 8 })?;
        Ok(place.and_then(|bytes| self.place(&bytes, 0)))
    }

    /// The number of the entry at a place.
    pub(super) fn number(&self, place: u64) -> io::Result<Option<u64>> {
        Ok(self.object(place, ENTRY, 0)?.and_then(|object| u64_at(&object.bytes, 16)))
    }

    pub(super) const fn item_bytes(&self) -> u64 {
        if self.header.is_compact { 4 } else { 8 }
    }

    pub(super) fn place(&self, bytes: &[u8], at: usize) -> Option<u64> {
        let place = if self.header.is_compact { u32_at(bytes, at).map(u64::from) } else { u64_at(bytes, at) };
        place.filter(|place| *place != 0)
    }

    /// Returns the header of an object of a kind and `payload` bytes after it, or none if the object is of another kind.
    pub(super) fn object(&self, at: u64, kind: u8, payload: usize) -> io::Result<Option<Object>> {
        if at == 0 || !at.is_multiple_of(8) {
            return Ok(None);
        }
        let Some(bytes) = self.bytes(at, OBJECT_BYTES + payload)? else { return Ok(None) };
        let size = u64_at(&bytes, 8).unwrap_or(0);
        Ok((bytes.first() == Some(&kind)).then_some(Object { bytes, size }))
    }

    /// Bytes at a place, fewer at the end of the file; none behind it.
    pub(super) fn bytes(&self, at: u64, length: usize) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = vec![0; length];
        let mut filled = 0;
        while filled < length {
            let Some(rest) = bytes.get_mut(filled..) else { break };
            match self.file.read_at(rest, at.saturating_add(u64::try_from(filled).unwrap_or(u64::MAX))) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        bytes.truncate(filled);
        Ok((filled > 0).then_some(bytes))
    }
}

// === impl Object ===

impl Object {
    /// The payload of a data object, as far as it was read.
    pub(super) fn payload(&self, is_compact: bool) -> &[u8] {
        let start = if is_compact { 72 } else { 64 };
        let end = usize::try_from(self.size).unwrap_or(usize::MAX).min(self.bytes.len());
        self.bytes.get(start..end).unwrap_or_default()
    }

    pub(super) fn is_compressed(&self) -> bool {
        self.bytes.get(1).is_some_and(|flags| flags & COMPRESSED != 0)
    }
}
