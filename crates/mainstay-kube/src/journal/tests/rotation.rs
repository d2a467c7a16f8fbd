//! Files of the recorder that a leadership uses, across rotations: what is left replays without what is gone.

use std::path::PathBuf;

use crate::leader::RecordedEngine;

use super::*;

/// Times of the decisions of one file, in order. Every one of them replays to the recorded decision.
fn decided(path: &Path) -> Vec<i64> {
    let mut reader = JournalReader::open(path).unwrap();
    let first = reader.next_entry().unwrap();
    assert!(matches!(first, Some(Entry::Begin(_))), "{} begins with {first:?}", path.display());
    let mut times = Vec::new();
    while let Some(entry) = reader.next_entry().unwrap() {
        if let Entry::Decide { now } = entry {
            times.push(now.0);
        }
    }
    let count = times.len();
    let expected = Replayed { decisions: count, same: count, lost: 0, end: JournalEnd::Complete };
    assert_eq!(replay(path), expected, "{}", path.display());
    times
}

/// All files, the oldest first.
fn files(folder: &Path) -> Vec<PathBuf> {
    let numbered = |number: u32| folder.join(format!("journal.{number}.jsonl.zst"));
    let old = (1..FILES_MAX).rev().map(numbered).filter(|path| path.exists());
    old.chain([folder.join("journal.jsonl.zst")]).collect()
}

/// Records decisions until this many files exist. Returns the number of decisions, which are at 0, 1 and so on.
fn record(folder: &Path, files_wanted: usize) -> i64 {
    let bounds = JournalSettings { file_bytes_max: 1_000, ..hasty(folder) };
    let mut journal = Journal::start(Some(&bounds), &Metrics::new());
    let shared = Arc::clone(&journal.open.as_ref().unwrap().shared);
    let mut engine = RecordedEngine::new(&mut journal);
    let mut step = 0;
    while files(folder).len() < files_wanted {
        assert!(step < 2_000, "{:?} after {step} decisions", files(folder));
        night(step).into_iter().for_each(|observation| engine.observe(observation));
        engine.decide(Timestamp(step));
        engine.commit();
        step += 1;
        while shared.queued.load(Ordering::Acquire) > 0 {
            std::thread::park_timeout(Duration::from_millis(1));
        }
    }
    journal.close();
    step
}

#[test]
fn what_is_left_after_three_rotations_begins_with_a_snapshot_and_replays() {
    let folder = tempfile::tempdir().unwrap();
    let decisions = record(folder.path(), 5);
    let files = files(folder.path());
    let times: Vec<Vec<i64>> = files.iter().map(|path| decided(path)).collect();
    assert_eq!(times.concat(), (0..decisions).collect::<Vec<_>>(), "no decision is lost at a rotation");

    std::fs::remove_file(&files[0]).unwrap();
    let left: Vec<i64> = files[1..].iter().flat_map(|path| decided(path)).collect();
    assert_eq!(left, (times[1][0]..decisions).collect::<Vec<_>>());

    // No file needs the one before it: without one in the middle, only its decisions are missing.
    std::fs::remove_file(&files[2]).unwrap();
    let left: Vec<i64> = [1, 3, 4].iter().flat_map(|at| decided(&files[*at])).collect();
    assert_eq!(left, [&times[1][..], &times[3], &times[4]].concat());
}
