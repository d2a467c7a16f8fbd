mod rotation;

use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::Path;

use mainstay_engine::Engine;
use mainstay_engine::record::{self, DecisionSummary, Player};
use mainstay_model::{
    CellFacts, Epoch, Fact, NodeFacts, Observation, PlannedWork, Policy, Power, Ready, Schedulable, Timestamp,
};

use super::*;

/// An engine whose every input goes to the journal, as in a leadership.
struct Recording {
    engine: Engine,
    journal: Journal,
    metrics: Metrics,
}

impl Recording {
    fn start(settings: &JournalSettings) -> Self {
        let metrics = Metrics::new();
        let mut journal = Journal::start(Some(settings), &metrics);
        journal.begin();
        Self { engine: Engine::new(), journal, metrics }
    }

    fn observe(&mut self, at: i64, fact: Fact) {
        let observation = Observation { at: Timestamp(at), fact };
        self.engine.observe(&observation);
        self.journal.add(|| Entry::Observe(observation));
    }

    fn decide(&mut self, at: i64) {
        let decision = self.engine.decide(Timestamp(at));
        self.journal.add(|| Entry::Decide { now: Timestamp(at) });
        self.journal.add_decision(&decision);
        self.journal.commit();
        self.journal.snapshot_if_due(|| record::snapshot(&self.engine));
    }

    fn night(&mut self, steps: std::ops::Range<i64>) {
        for step in steps {
            night(step).into_iter().for_each(|Observation { at, fact }| self.observe(at.0, fact));
            self.decide(step);
        }
    }

    /// Waits until the thread has taken everything: the tests are faster than any cluster.
    fn settle(&self) {
        let shared = &self.journal.open.as_ref().unwrap().shared;
        while shared.queued.load(Ordering::Acquire) > 0 {
            std::thread::park_timeout(Duration::from_millis(1));
        }
    }
}

/// What is observed before the decision of a step.
fn night(step: i64) -> Vec<Observation> {
    let beginning = [
        Fact::Cell(CellFacts { epoch: Epoch(1), ..CellFacts::default() }),
        Fact::Policy(Box::new(Policy::new("h100".parse().unwrap()))),
    ];
    let facts = NodeFacts {
        uid: format!("uid-{step}").parse().unwrap(),
        domains: BTreeMap::new(),
        pool: "h100".parse().unwrap(),
        gpus: 8,
        ready: if step % 3 == 0 { Ready::No } else { Ready::Yes },
        schedulable: Schedulable::Yes,
        planned: PlannedWork::Nothing,
        avoided: false,
        power: Power::Unknown,
    };
    let node = format!("node-{}", step % 7).parse().unwrap();
    let facts = [Fact::Node { node, facts: Box::new(facts) }, Fact::Synced { as_of: Timestamp(step) }];
    let beginning = beginning.into_iter().filter(|_| step == 0);
    beginning.chain(facts).map(|fact| Observation { at: Timestamp(step), fact }).collect()
}

/// What a file has, and how many of its decisions a replay repeats.
#[derive(Debug, PartialEq, Eq)]
struct Replayed {
    decisions: usize,
    same: usize,
    lost: u64,
    end: JournalEnd,
}

fn replayed<R: std::io::BufRead>(mut reader: JournalReader<R>) -> Result<Replayed, JournalError> {
    let mut player = Player::new(Engine::new());
    let (mut decisions, mut same, mut lost, mut last) = (0, 0, 0, None);
    while let Some(entry) = reader.next_entry()? {
        if let Some(decision) = player.play(&entry) {
            last = Some(DecisionSummary::of(&decision));
        }
        match &entry {
            Entry::Decided(recorded) => {
                decisions += 1;
                same += usize::from(last.as_ref() == Some(recorded));
            }
            Entry::Gap { lost: here } => lost += here,
            Entry::Observe(_) | Entry::Decide { .. } | Entry::Begin(_) | Entry::Restore(_) | Entry::Restored => {}
        }
    }
    Ok(Replayed { decisions, same, lost, end: reader.end() })
}

fn replay(path: &Path) -> Replayed {
    replayed(JournalReader::open(path).unwrap()).unwrap()
}

fn settings(folder: &Path) -> JournalSettings {
    JournalSettings::new(folder.to_owned())
}

/// Entries are written at once, each batch as a frame.
fn hasty(folder: &Path) -> JournalSettings {
    JournalSettings { write_within: Duration::ZERO, ..settings(folder) }
}

#[test]
fn a_journal_is_continued_after_a_restart_and_replays_to_the_same_decisions() {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let mut recording = Recording::start(&settings(folder.path()));
        recording.night(0..40);
        recording.journal.close();
    }
    let path = folder.path().join("journal.jsonl.zst");
    assert_eq!(replay(&path), Replayed { decisions: 80, same: 80, lost: 0, end: JournalEnd::Complete });
    assert_eq!(*JournalReader::open(&path).unwrap().header(), Header::of_this_build());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn every_rotated_file_replays_by_itself_and_the_oldest_goes() {
    let folder = tempfile::tempdir().unwrap();
    let bounds = JournalSettings { file_bytes_max: 1_000, files_max: 3, ..hasty(folder.path()) };
    let mut recording = Recording::start(&bounds);
    for step in 0..300 {
        recording.night(step..step + 1);
        recording.settle();
    }
    recording.journal.close();
    let mut names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path()).collect();
    names.sort();
    assert_eq!(names.len(), 3, "{names:?}");
    for path in names {
        let Replayed { decisions, same, lost, end } = replay(&path);
        // The current file may have been begun after the last decision.
        let is_current = path.ends_with("journal.jsonl.zst");
        assert!((decisions > 0 || is_current) && decisions < 300, "{decisions} in {}", path.display());
        assert_eq!((same, lost, end), (decisions, 0, JournalEnd::Complete), "{}", path.display());
    }
}

#[test]
fn a_disk_that_fails_costs_entries_but_no_decision_and_the_gap_is_marked() {
    let folder = tempfile::tempdir().unwrap();
    // A file where the directory should be.
    let blocked = folder.path().join("journal");
    std::fs::write(&blocked, "").unwrap();
    let mut recording = Recording::start(&hasty(&blocked));
    recording.night(0..20);
    recording.settle();
    let lost = recording.metrics.journal_entries_lost();
    assert_eq!(lost, 2 + 20 * 4, "every entry after the beginning");
    std::fs::remove_file(&blocked).unwrap();
    // What the thread requests after a pause.
    recording.journal.open.as_ref().unwrap().shared.wants_snapshot.store(true, Ordering::Release);
    recording.night(20..60);
    recording.journal.close();
    let Replayed { decisions, same, lost: marked, end } = replay(&blocked.join("journal.jsonl.zst"));
    assert_eq!((decisions, same, end), (39, 39, JournalEnd::Complete));
    assert_eq!(marked, lost + 4, "the decision before the snapshot is lost too");
}

#[test]
fn a_full_queue_loses_entries_until_a_snapshot_and_blocks_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut recording = Recording::start(&hasty(folder.path()));
    recording.night(0..10);
    recording.settle();
    let shared = Arc::clone(&recording.journal.open.as_ref().unwrap().shared);
    shared.queued.fetch_add(ENTRIES_MAX, Ordering::AcqRel);
    recording.night(10..30);
    shared.queued.fetch_sub(ENTRIES_MAX, Ordering::AcqRel);
    recording.night(30..50);
    recording.journal.close();
    let Replayed { decisions, same, lost, end } = replay(&folder.path().join("journal.jsonl.zst"));
    assert_eq!((decisions, same, lost, end), (10 + 19, 10 + 19, 21 * 4, JournalEnd::Complete));
}

#[test]
fn a_file_that_a_crash_cut_replays_up_to_there_and_is_repaired() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.jsonl.zst");
    let mut recording = Recording::start(&hasty(folder.path()));
    for step in 0..20 {
        recording.night(step..step + 1);
        recording.settle();
        std::thread::park_timeout(Duration::from_millis(1));
    }
    recording.journal.close();
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() - 5]).unwrap();
    let Replayed { decisions, same, lost: _, end } = replay(&path);
    assert!((1..20).contains(&decisions), "{decisions}");
    assert_eq!((same, end), (decisions, JournalEnd::Cut));
    let mut recording = Recording::start(&hasty(folder.path()));
    recording.night(0..5);
    recording.journal.close();
    let after = replay(&path);
    let expected = Replayed { decisions: decisions + 5, same: decisions + 5, lost: 0, end: JournalEnd::Complete };
    assert_eq!(after, expected);
}

#[test]
fn a_file_of_another_version_is_put_aside() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.jsonl.zst");
    let other = Header { mainstay: "0.0.1".to_owned(), ..Header::of_this_build() };
    std::fs::write(&path, frames::encode(&serde_json::to_vec(&other).unwrap()).unwrap()).unwrap();
    let mut recording = Recording::start(&settings(folder.path()));
    recording.night(0..5);
    recording.journal.close();
    assert_eq!(replay(&path).decisions, 5);
    let aside = JournalReader::open(&folder.path().join("journal.1.jsonl.zst")).unwrap();
    assert_eq!(*aside.header(), other);
}

#[test]
fn cut_and_garbled_bytes_end_in_an_error_or_in_fewer_decisions_never_in_a_wrong_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut recording = Recording::start(&hasty(folder.path()));
    for step in 0..12 {
        recording.night(step..step + 1);
        recording.settle();
    }
    recording.journal.close();
    let whole = std::fs::read(folder.path().join("journal.jsonl.zst")).unwrap();
    let read = |bytes: &[u8]| JournalReader::new(Cursor::new(bytes.to_vec())).and_then(replayed);
    for length in 0..whole.len() {
        if let Ok(replayed) = read(&whole[..length]) {
            assert_eq!(replayed.decisions, replayed.same, "cut at {length}");
        }
    }
    let mut random = fastrand::Rng::with_seed(22);
    let mut refused = 0;
    for _ in 0..1_000 {
        let mut garbled = whole.clone();
        for _ in 0..random.usize(1..4) {
            let at = random.usize(..garbled.len());
            garbled[at] = random.u8(..);
        }
        match read(&garbled) {
            Ok(replayed) => assert_eq!(replayed.decisions, replayed.same),
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 850, "{refused} of 1,000 were noticed");
}

/// What docs/operate/journal.md states about the size of a file.
#[test]
fn a_snapshot_has_few_bytes_for_each_node() {
    const NODES: u32 = 1_000;
    let folder = tempfile::tempdir().unwrap();
    let mut recording = Recording::start(&settings(folder.path()));
    for node in 0..NODES {
        let name = format!("gpu-node-{node:05}");
        let part = |kind: &str, index: u32| format!("{kind}{}", 1_652_800_000_u64 + u64::from(node * 97 + index * 13));
        let gpus: Vec<_> = (0..8_u32)
            .map(|index| {
                let uuid = format!("GPU-{:08x}-{:04x}-4a8f-8a75-{:012x}", node * 7_919, index, u64::from(node) << 20);
                serde_json::json!({ "index": index, "serial": part("", index), "uuid": uuid, "pci": format!("0000:{:02x}:00.0", index + 16) })
            })
            .collect();
        let nics: Vec<_> = (0..8_u32)
            .map(|rail| serde_json::json!({ "rail": rail, "serial": part("MT", rail), "pci": format!("0000:{:02x}:00.0", rail + 64) }))
            .collect();
        for fact in [
            serde_json::json!({ "Node": { "node": name, "facts": {
                "uid": format!("2c4f2c9e-0a55-4a8f-8a75-{node:012x}"),
                "domains": { "Rack": format!("rack-{}", node / 4), "Leaf": format!("leaf-{}", node / 32) },
                "pool": "h100", "gpus": 8, "ready": "Yes", "schedulable": "Yes", "planned": "Nothing",
            } } }),
            serde_json::json!({ "Report": { "node": name, "report": {
                "uid": format!("2c4f2c9e-0a55-4a8f-8a75-{node:012x}"),
                "boot_id": format!("{:08x}-0a55-4a8f-8a75-{node:012x}", node * 104_729), "sequence": 7,
                "inventory": { "board": part("B", 0), "product": "NVIDIA H100 80GB HBM3", "driver": "580.95.05", "gpus": gpus, "nics": nics },
                "evidence": [], "outcomes": [], "results": [],
            } } }),
        ] {
            recording.observe(0, serde_json::from_value(fact).unwrap());
        }
    }
    recording.decide(0);
    let lines: String =
        record::snapshot(&recording.engine).iter().map(|entry| record::write(entry).unwrap() + "\n").collect();
    let frames: usize =
        lines.as_bytes().chunks(frames::FRAME_BYTES).map(|part| frames::encode(part).unwrap().len()).sum();
    let per_node = (lines.len() / NODES as usize, frames / NODES as usize);
    println!("{per_node:?} bytes per node, before and after compression");
    assert!(per_node.1 < 500, "{per_node:?}");
    recording.journal.close();
}

#[test]
fn lines_of_other_formats_and_frames_that_explode_are_refused() {
    let read = |frames: &[&[u8]]| {
        let bytes: Vec<u8> = frames.iter().flat_map(|lines| frames::encode(lines).unwrap()).collect();
        JournalReader::new(Cursor::new(bytes)).and_then(replayed).unwrap_err().to_string()
    };
    let header = serde_json::to_vec(&Header::of_this_build()).unwrap();
    assert!(read(&[b"{\"journal\":2}"]).contains("journal format 2 is not known"));
    assert!(read(&[b"facts"]).starts_with("not a journal"));
    assert!(read(&[&header, b"{}"]).starts_with("line 2 is not an entry"));
    assert!(read(&[&header, b"{\"format\":9,\"entry\":1}"]).contains("format 9 is not known"));
    let bomb = vec![b' '; 64 * 1024 * 1024];
    assert!(read(&[&header, &bomb]).contains("a frame has more than"));
    let text = JournalReader::new(Cursor::new(b"plain text".to_vec())).unwrap_err().to_string();
    assert!(text.starts_with("not a journal"), "{text}");
}

#[test]
fn a_small_file_that_expands_hugely_ends_at_the_limit_of_all_lines() {
    const LINES_MAX: u64 = 64 * 1024 * 1024;
    let header = serde_json::to_vec(&Header::of_this_build()).unwrap();
    let mut padded = record::write(&Entry::Restored).unwrap().into_bytes();
    padded.resize(record::LINE_BYTES_MAX, b' ');
    let (head, frame) = (frames::encode(&header).unwrap(), frames::encode(&padded).unwrap());
    let bytes = [head, frame.repeat(1_000)].concat();
    assert!(bytes.len() < 1024 * 1024, "{} bytes for 8 GB", bytes.len());
    let mut reader = JournalReader::within(Cursor::new(bytes), LINES_MAX).unwrap();
    let mut entries = 0;
    let error = loop {
        match reader.next_entry() {
            Ok(entry) => entries += usize::from(entry == Some(Entry::Restored)),
            Err(error) => break error,
        }
    };
    assert_eq!(entries, 7, "seven frames and the header fit");
    assert_eq!(error.to_string(), "the lines of the file have more than 67108864 bytes before compression");
}
