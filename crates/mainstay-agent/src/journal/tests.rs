//! Journal files that systemd itself wrote: `systemd-journal-remote` 252 made them from entries in export format, once in the
//! compact form with keyed hashes, once in the older form. Both have 12 entries of an earlier boot, 60 of login sessions, 20 of
//! the kubelet and 10 about GPU services.

use std::fs;
use std::io::Read as _;

use flate2::read::GzDecoder;
use tempfile::TempDir;

use super::*;

const BOOT: &str = "2c4f2c9e-0a55-4a8f-8a75-2f8f9e0f3a10";
const COMPACT: &[u8] = include_bytes!("tests/compact.journal.gz");
const PLAIN: &[u8] = include_bytes!("tests/plain.journal.gz");
const SECOND: &[u8] = include_bytes!("tests/second.journal.gz");

/// A host with a journal.
struct Host(TempDir);

impl Host {
    fn new(active: &[u8]) -> Self {
        let host = Self(TempDir::new().unwrap());
        fs::create_dir_all(host.folder()).unwrap();
        fs::write(host.folder().join(ACTIVE), unpacked(active)).unwrap();
        host
    }

    fn folder(&self) -> PathBuf {
        self.0.path().join("var/log/journal/0123")
    }

    fn open(&self, start: &JournalStart) -> Journal {
        Journal::open(self.0.path(), BOOT, start).unwrap()
    }
}

fn unpacked(bytes: &[u8]) -> Vec<u8> {
    let mut unpacked = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut unpacked).unwrap();
    unpacked
}

fn all(journal: &mut Journal) -> Vec<Entry> {
    let mut entries = Vec::new();
    for _ in 0..200 {
        let found = journal.read(7).unwrap();
        if found.is_empty() {
            break;
        }
        entries.extend(found);
    }
    entries
}

fn text(entries: &[Entry]) -> Vec<String> {
    let line = |entry: &Entry| {
        let message = entry.message.as_deref().unwrap_or("-");
        format!("{} {} {}", entry.program, entry.priority.unwrap_or(9), message.get(..24).unwrap_or(message))
    };
    entries.iter().map(line).collect()
}

#[test]
fn entries_of_followed_services_come_in_order_in_both_forms_of_the_file() {
    for file in [COMPACT, PLAIN] {
        let entries = all(&mut Host::new(file).open(&JournalStart::ThisBoot));
        assert!(entries.windows(2).all(|pair| pair[0].number < pair[1].number), "in order, and none twice");
        let text = text(&entries);
        assert_eq!(text.len(), 29, "{text:#?}");
        assert_eq!(text[0], "kubelet 6 E1116 09:14:05.123456   ");
        assert_eq!(text[1], "nv-fabricmanager 3 request to query NVSwitc");
        assert_eq!(
            text[26..],
            ["systemd 4 nvidia-fabricmanager.ser", "nvidia-persistenced 3 -", "nvidia-dcgm 4 no identifier failed",]
        );
        let is_calm =
            |line: &String| !line.contains("tenant") && !line.contains("forged") && !line.contains("debugging");
        assert!(text.iter().all(is_calm), "{text:#?}");
        assert_eq!(entries[1].at_micros / 1_000_000, 1_794_700_000);
    }
}

#[test]
fn a_restarted_reader_goes_on_where_it_was() {
    let host = Host::new(COMPACT);
    let mut journal = host.open(&JournalStart::ThisBoot);
    let first = journal.read(10).unwrap();
    let start = JournalStart::After(journal.position().cloned().unwrap());
    let rest = all(&mut host.open(&start));
    assert_eq!(first.len() + rest.len(), 29);
    assert!(first.last().unwrap().number < rest[0].number);
    assert_eq!(all(&mut host.open(&JournalStart::Now)), []);
}

#[test]
fn a_file_that_journald_replaces_is_read_to_its_end_and_then_the_next_one() {
    let host = Host::new(PLAIN);
    let mut journal = host.open(&JournalStart::ThisBoot);
    let first = journal.read(10).unwrap();
    fs::rename(host.folder().join(ACTIVE), host.folder().join("system@1.journal")).unwrap();
    fs::write(host.folder().join(ACTIVE), unpacked(SECOND)).unwrap();
    let rest = text(&all(&mut journal));
    assert_eq!(first.len() + rest.len(), 30);
    assert_eq!(rest.last().unwrap(), "nv-hostengine 3 second file failed");
    let again = text(&all(&mut host.open(&JournalStart::ThisBoot)));
    assert_eq!(again.len(), 30, "both files have entries of this boot");
}

#[test]
fn an_entry_of_another_boot_is_left_out() {
    let host = Host::new(COMPACT);
    let other = "11111111-1111-1111-1111-111111111112";
    assert_eq!(all(&mut Journal::open(host.0.path(), other, &JournalStart::ThisBoot).unwrap()), []);
}

#[test]
fn a_damaged_file_ends_early_and_never_hangs() {
    let whole = unpacked(COMPACT);
    let host = Host::new(COMPACT);
    for seed in 0..300_usize {
        let mut bytes = whole.clone();
        // Places in the first part of the file, where all objects are.
        for step in 0..40 {
            let at = 96 + (seed * 7_919 + step * 104_729) % 60_000;
            if let Some(byte) = bytes.get_mut(at) {
                *byte = byte.wrapping_add(u8::try_from(seed % 255).unwrap() | 1);
            }
        }
        bytes.truncate(whole.len() - seed * 1_000);
        fs::write(host.folder().join(ACTIVE), &bytes).unwrap();
        if let Ok(mut journal) = Journal::open(host.0.path(), BOOT, &JournalStart::ThisBoot) {
            for _ in 0..3 {
                let _ = journal.read(100);
            }
        }
    }
}

#[test]
fn what_is_no_journal_is_refused_with_a_reason() {
    let host = Host::new(COMPACT);
    fs::write(host.folder().join(ACTIVE), "plain text that is longer than the header of a journal".repeat(9)).unwrap();
    let mut journal = host.open(&JournalStart::ThisBoot);
    assert!(journal.read(1).unwrap_err().to_string().contains("not a journal"));
    let nothing = TempDir::new().unwrap();
    let refused = Journal::open(nothing.path(), BOOT, &JournalStart::ThisBoot).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::NotFound);
}
