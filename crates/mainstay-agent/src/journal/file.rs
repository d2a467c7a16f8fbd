//! One journal file: finds the units that are followed, and reads their entries in order. The index of each unit is used,
//! as `journalctl --unit` does, so entries of other programs cost nothing.
//!
//! journald writes while the file is read. An object is complete before anything refers to it, so what cannot be read yet
//! is read at the next call. Every walk through the file has a limit: a damaged file may refer to itself.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use mainstay_signal::{LINE_BYTES_MAX, is_followed_service};

use super::object::{DATA, ENTRY, ENTRY_ARRAY, FIELD, id_at, id_text, u64_at};
use super::reader::{ARRAYS_MAX, ObjectReader};

/// Fields that name the unit of an entry: of its own process, and of what systemd reports about the unit.
const UNIT_FIELDS: [&str; 2] = ["_SYSTEMD_UNIT", "UNIT"];

/// Buckets of the table of fields; journald uses 333.
const BUCKETS_MAX: u64 = 4096;
/// Fields of one file; programs may invent some.
const FIELDS_MAX: usize = 8192;
/// Units of one file that are looked at: every login and every container may be one.
const UNITS_MAX: usize = 100_000;
/// Followed units of one file.
const FOLLOWED_MAX: usize = 64;
/// Fields of one entry.
const ITEMS_MAX: usize = 128;
/// Objects that are remembered as not needed; an entry has about 25, most of them shared with other entries.
const OTHERS_MAX: usize = 8192;
/// Bytes of a message that are read, with the name of its field.
const PAYLOAD_BYTES_MAX: usize = LINE_BYTES_MAX + 16;
/// The lowest priority that is read: what services print to their output has 6, and 7 is for debugging.
const PRIORITY_MAX: u8 = 6;

/// One message of a followed service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its number in the sequence of the journal.
    pub number: u64,
    /// Time in microseconds since the Unix epoch.
    pub at_micros: u64,
    /// The name under which the service logs, or its unit without `.service`.
    pub program: String,
    /// The syslog priority, 0 to 7.
    pub priority: Option<u8>,
    /// The message, cut at the length that parsers read; none where it is compressed, which journald does from 512 bytes on.
    pub message: Option<String>,
}

/// A journal file, open for reading.
#[derive(Debug)]
pub struct JournalFile {
    objects: ObjectReader,
    /// Numbers up to this one are not returned.
    after: u64,
    /// For each unit field: where it is, and the newest of its values that was looked at.
    fields: [UnitField; 2],
    units: Vec<FollowedUnit>,
    /// Objects of entries that are neither a message nor a priority nor a name.
    others: BTreeSet<u64>,
}

#[derive(Debug, Clone, Copy, Default)]
struct UnitField {
    at: u64,
    newest_value: u64,
}

/// A unit that is followed, and how far its entries were read.
#[derive(Debug)]
struct FollowedUnit {
    at: u64,
    name: String,
    /// Whether systemd must have written the entry, because a program may set the field itself.
    only_systemd: bool,
    read: u64,
    /// The array that holds the next entry, and the number of entries before it. 0 before the first array.
    array: u64,
    before: u64,
    /// The next entry: its place and its number.
    next: Option<(u64, u64)>,
}

// === impl JournalFile ===

impl JournalFile {
    /// Opens a file.
    ///
    /// # Errors
    /// Where it cannot be read, or is not a journal of a form that is known.
    pub fn open(path: &Path) -> io::Result<Self> {
        let objects = ObjectReader::open(path)?;
        let fields = [UnitField::default(); 2];
        Ok(Self { objects, after: 0, fields, units: Vec::new(), others: BTreeSet::new() })
    }

    /// Leaves out entries up to a number, and those of earlier boots.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub(super) fn after(mut self, number: u64, boot: [u8; 16]) -> io::Result<Self> {
        let earlier = self.objects.first_of(boot)?.map_or(0, |first| first.saturating_sub(1));
        self.after = number.max(earlier);
        Ok(self)
    }

    pub(super) fn sequence(&self) -> String {
        id_text(self.objects.header.sequence)
    }

    pub(super) const fn first_number(&self) -> u64 {
        self.objects.header.first_number
    }

    pub(super) const fn last_number(&self) -> u64 {
        self.objects.header.last_number
    }

    /// Whether the file may have entries of a boot: it was the last to write to it. A boot ends with its own file, except
    /// where the next one goes on with it.
    pub(super) fn has_boot(&self, boot: [u8; 16]) -> bool {
        self.objects.header.boot == boot
    }

    /// Whether this is still the file under a name.
    pub(super) fn is_at(&self, path: &Path) -> bool {
        self.objects.is_at(path)
    }

    /// Examines the next entries of a boot in the order of their numbers, at most `looks_max`. Returns those that are needed,
    /// and the number examined.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub(super) fn read(&mut self, boot: [u8; 16], looks_max: usize) -> io::Result<(Vec<Entry>, usize)> {
        self.find_units()?;
        let mut entries = Vec::new();
        for looks in 0..looks_max {
            let Some((unit, place)) = self.next_entry()? else { return Ok((entries, looks)) };
            entries.extend(self.entry(unit, place, boot)?);
        }
        Ok((entries, looks_max))
    }

    /// Looks for new units. journald puts a new value before those that a field had.
    fn find_units(&mut self) -> io::Result<()> {
        for which in 0..UNIT_FIELDS.len() {
            let Some(name) = UNIT_FIELDS.get(which) else { continue };
            let mut field = self.fields.get(which).copied().unwrap_or_default();
            if field.at == 0 {
                field.at = self.field(name)?.unwrap_or(0);
            }
            if field.at == 0 {
                continue;
            }
            let newest =
                self.objects.object(field.at, FIELD, 0)?.and_then(|object| u64_at(&object.bytes, 32)).unwrap_or(0);
            let mut at = newest;
            for _ in 0..UNITS_MAX {
                if at == 0 || at == field.newest_value {
                    break;
                }
                let Some(object) = self.objects.object(at, DATA, 128)? else { break };
                let payload = object.payload(self.objects.header.is_compact);
                let unit = payload.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"="));
                let unit = unit.and_then(|unit| std::str::from_utf8(unit).ok());
                if let Some(unit) = unit.filter(|unit| is_followed_service(unit))
                    && self.units.len() < FOLLOWED_MAX
                {
                    let name = unit.strip_suffix(".service").unwrap_or(unit).to_owned();
                    let only_systemd = which == 1;
                    self.units.push(FollowedUnit { at, name, only_systemd, read: 0, array: 0, before: 1, next: None });
                }
                at = u64_at(&object.bytes, 32).unwrap_or(0);
            }
            field.newest_value = newest;
            if let Some(slot) = self.fields.get_mut(which) {
                *slot = field;
            }
        }
        Ok(())
    }

    /// The place of a field's object. Hashes of newer files are keyed, so all buckets are searched, once.
    fn field(&self, name: &str) -> io::Result<Option<u64>> {
        let buckets = (self.objects.header.fields_bytes / 16).min(BUCKETS_MAX);
        let mut left = FIELDS_MAX;
        for bucket in 0..buckets {
            let mut at = match self.objects.bytes(self.objects.header.fields_at.saturating_add(bucket * 16), 8)? {
                Some(head) => u64_at(&head, 0).unwrap_or(0),
                None => return Ok(None),
            };
            while at != 0 && left > 0 {
                left -= 1;
                let Some(object) = self.objects.object(at, FIELD, 64)? else { break };
                let end = usize::try_from(object.size).unwrap_or(0).min(object.bytes.len());
                if object.bytes.get(40..end) == Some(name.as_bytes()) {
                    return Ok(Some(at));
                }
                at = u64_at(&object.bytes, 24).unwrap_or(0);
            }
        }
        Ok(None)
    }

    /// The unit with the oldest entry that was not read, and the place of the entry.
    fn next_entry(&mut self) -> io::Result<Option<(usize, u64)>> {
        let mut oldest: Option<(u64, usize, u64)> = None;
        for which in 0..self.units.len() {
            let Some(mut unit) = self.units.get_mut(which).map(FollowedUnit::take) else { continue };
            let next = self.peek(&mut unit);
            if let Some(slot) = self.units.get_mut(which) {
                *slot = unit;
            }
            if let Some((place, number)) = next?
                && oldest.is_none_or(|(other, _, _)| number < other)
            {
                oldest = Some((number, which, place));
            }
        }
        let Some((number, which, place)) = oldest else { return Ok(None) };
        if let Some(unit) = self.units.get_mut(which) {
            unit.read += 1;
            unit.next = None;
        }
        self.after = self.after.max(number);
        Ok(Some((which, place)))
    }

    /// The next entry of a unit behind the last number, and its number.
    fn peek(&self, unit: &mut FollowedUnit) -> io::Result<Option<(u64, u64)>> {
        if let Some(next) = unit.next.filter(|(_, number)| *number > self.after) {
            return Ok(Some(next));
        }
        unit.next = None;
        let Some(data) = self.objects.object(unit.at, DATA, 0)? else { return Ok(None) };
        let total = u64_at(&data.bytes, 56).unwrap_or(0);
        let first_array = u64_at(&data.bytes, 48).unwrap_or(0);
        if unit.read == 0 && total > 0 {
            let place = u64_at(&data.bytes, 40).unwrap_or(0);
            if let Some(number) = self.objects.number(place)?.filter(|number| *number > self.after) {
                unit.next = Some((place, number));
                return Ok(unit.next);
            }
            unit.read = 1;
        }
        if unit.array == 0 {
            unit.array = first_array;
        }
        for _ in 0..ARRAYS_MAX {
            if unit.read >= total || unit.array == 0 {
                return Ok(None);
            }
            let Some(array) = self.objects.object(unit.array, ENTRY_ARRAY, 0)? else { return Ok(None) };
            let room = array.size.saturating_sub(24) / self.objects.item_bytes();
            let held = room.min(total - unit.before);
            // The whole array was read before, as its last entry shows.
            let is_read = held == 0 || self.number_in(unit, held - 1)?.is_some_and(|number| number <= self.after);
            if !is_read && let Some(next) = self.first_unread(unit, held)? {
                unit.next = Some(next);
                return Ok(unit.next);
            }
            if held < room {
                return Ok(None);
            }
            let following = u64_at(&array.bytes, 16).unwrap_or(0);
            if following == 0 {
                return Ok(None);
            }
            (unit.array, unit.before) = (following, unit.before + room);
            unit.read = unit.read.max(unit.before);
        }
        Ok(None)
    }

    /// The first entry of an array behind the last number, by halving.
    fn first_unread(&self, unit: &mut FollowedUnit, held: u64) -> io::Result<Option<(u64, u64)>> {
        let (mut low, mut high) = (unit.read.saturating_sub(unit.before), held);
        // Entries follow one another, so the next one is usually it.
        if low < high && self.number_in(unit, low)?.is_some_and(|number| number > self.after) {
            high = low;
        }
        while low < high {
            let middle = low + (high - low) / 2;
            match self.number_in(unit, middle)? {
                Some(number) if number <= self.after => low = middle + 1,
                Some(_) => high = middle,
                None => return Ok(None),
            }
        }
        unit.read = unit.before + low;
        let Some(place) = self.objects.place_in(unit.array, low)? else { return Ok(None) };
        Ok(self.objects.number(place)?.filter(|number| *number > self.after).map(|number| (place, number)))
    }

    fn number_in(&self, unit: &FollowedUnit, item: u64) -> io::Result<Option<u64>> {
        match self.objects.place_in(unit.array, item)? {
            Some(place) => self.objects.number(place),
            None => Ok(None),
        }
    }

    /// The fields of an entry that are needed; none where it is of another boot, or of a priority that is not read.
    fn entry(&mut self, unit: usize, place: u64, boot: [u8; 16]) -> io::Result<Option<Entry>> {
        let item_bytes = if self.objects.header.is_compact { 4 } else { 16 };
        let Some(object) = self.objects.object(place, ENTRY, ITEMS_MAX * item_bytes)? else { return Ok(None) };
        let end = usize::try_from(object.size).unwrap_or(0).min(object.bytes.len());
        let head = object.bytes.get(..end).unwrap_or_default();
        let (Some(number), Some(at_micros)) = (u64_at(head, 16), u64_at(head, 24)) else { return Ok(None) };
        if id_at(head, 40) != Some(boot) {
            return Ok(None);
        }
        let Some(followed) = self.units.get(unit) else { return Ok(None) };
        let mut entry = Entry { number, at_micros, program: followed.name.clone(), priority: None, message: None };
        let mut is_systemd = !followed.only_systemd;
        for item in head.get(64..).unwrap_or_default().chunks_exact(item_bytes).take(ITEMS_MAX) {
            let Some(at) = self.objects.place(item, 0).filter(|at| !self.others.contains(at)) else { continue };
            let Some(data) = self.objects.object(at, DATA, PAYLOAD_BYTES_MAX)? else { continue };
            let payload = data.payload(self.objects.header.is_compact);
            let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
            if let Some(message) = payload.strip_prefix(b"MESSAGE=") {
                entry.message = Some(text(message)).filter(|_| !data.is_compressed());
            } else if let Some(priority) = payload.strip_prefix(b"PRIORITY=") {
                entry.priority = std::str::from_utf8(priority).ok().and_then(|priority| priority.parse().ok());
            } else if let Some(name) = payload.strip_prefix(b"SYSLOG_IDENTIFIER=") {
                entry.program = Some(text(name)).filter(|name| is_followed_service(name)).unwrap_or(entry.program);
            } else if payload == b"_PID=1" {
                is_systemd = true;
            } else if !data.is_compressed() {
                if self.others.len() >= OTHERS_MAX {
                    self.others.clear();
                }
                self.others.insert(at);
            }
        }
        Ok(Some(entry).filter(|entry| is_systemd && entry.priority.is_none_or(|priority| priority <= PRIORITY_MAX)))
    }
}

// === impl FollowedUnit ===

impl FollowedUnit {
    /// Takes the state out, to be put back: the file is read meanwhile.
    fn take(&mut self) -> Self {
        let name = std::mem::take(&mut self.name);
        Self { name, ..*self }
    }
}
