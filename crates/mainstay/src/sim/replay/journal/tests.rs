use std::io::{Cursor, Write as _};

use mainstay_engine::record;
use mainstay_model::{Bounded, Budget, CellFacts, Decision, Epoch, NodeLimit};
use serde_json::json;

use super::*;

const NODES: usize = 3;

/// Entries of a journal, made with a real engine.
struct Night {
    engine: Engine,
    entries: Vec<Entry>,
}

impl Night {
    /// Three nodes; later two of them lose a GPU, and the budget has room for one.
    fn new() -> Self {
        let mut night = Self { engine: Engine::new(), entries: vec![Entry::Begin(Box::default())] };
        let cell = CellFacts { epoch: Epoch(1), ..CellFacts::default() };
        let budgets = Bounded::within([Budget { level: None, most: NodeLimit::Nodes(1) }]);
        let policy = Policy { budgets, ..Policy::new("h100".parse().unwrap()) };
        night.observe(0, Fact::Cell(cell));
        night.observe(0, Fact::Policy(Box::new(policy)));
        for node in 0..NODES {
            night.observe(
                0,
                fact(&json!({ "Node": { "node": name(node), "facts": {
                "uid": name(node), "domains": {}, "pool": "h100", "gpus": 0, "ready": "Yes", "schedulable": "Yes",
                "planned": "Nothing",
            } } })),
            );
            night.report(0, node, 0);
        }
        night.decide(0);
        for node in 0..2 {
            let at = 60_000 * (1 + i64::try_from(node).unwrap());
            night.report(at, node, 1);
            night.decide(at);
        }
        night
    }

    fn observe(&mut self, at: i64, fact: Fact) {
        let observation = Observation { at: Timestamp(at), fact };
        self.engine.observe(&observation);
        self.entries.push(Entry::Observe(observation));
    }

    /// A report, with the number of times that a GPU fell off the bus.
    fn report(&mut self, at: i64, node: usize, times: u64) {
        let evidence = json!({
            "key": { "source": "Xid", "code": "79", "device": null, "detail": "None" },
            "count": times, "first_seen_at": at, "last_seen_at": at,
        });
        let evidence: Vec<_> = std::iter::repeat_n(evidence, usize::from(times > 0)).collect();
        let fact = fact(&json!({ "Report": { "node": name(node), "report": {
            "uid": name(node), "boot_id": "2c4f2c9e-0a55-4a8f-8a75-000000000001", "sequence": at + 1,
            "inventory": { "board": name(node), "product": "H100", "driver": "580.1", "gpus": [], "nics": [] },
            "evidence": evidence, "outcomes": [], "results": [],
        } } }));
        self.observe(at, fact);
    }

    fn decide(&mut self, at: i64) -> Decision {
        self.observe(at, Fact::Synced { as_of: Timestamp(at) });
        let decision = self.engine.decide(Timestamp(at));
        self.entries.push(Entry::Decide { now: Timestamp(at) });
        self.entries.push(Entry::Decided(Box::new(DecisionSummary::of(&decision))));
        decision
    }

    fn bytes(&self) -> Vec<u8> {
        bytes(&JournalHeader::of_this_build(), &self.entries)
    }
}

fn name(node: usize) -> String {
    format!("node-{node}")
}

fn fact(value: &serde_json::Value) -> Fact {
    serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{error}: {value}"))
}

fn bytes(header: &JournalHeader, entries: &[Entry]) -> Vec<u8> {
    let header = serde_json::to_string(header).unwrap();
    let lines = entries.iter().map(|entry| record::write(entry).unwrap());
    let text: String = std::iter::once(header).chain(lines).map(|line| line + "\n").collect();
    // With a checksum, as the controller writes them: without it, a changed byte may go unnoticed.
    let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn of(bytes: Vec<u8>, policies: Option<Policies>) -> Replayed {
    replay(JournalReader::new(Cursor::new(bytes)).unwrap(), policies).unwrap()
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_journal_replays_to_identical_decisions() {
    let replayed = of(Night::new().bytes(), None);
    assert_eq!((replayed.facts, replayed.decisions, replayed.unrepeated.decisions), (13, 3, 0));
    assert_eq!(
        words(&text::text(&replayed)),
        "Replayed 13 facts and 3 decisions over 2 min, from 1970-01-01T00:00:00Z to 1970-01-01T00:02:00Z, recorded by \
         Mainstay 0.2.0. All decisions are identical."
            .replace("0.2.0", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn a_fact_that_is_missing_makes_a_difference_that_is_printed_by_node() {
    let mut night = Night::new();
    let last = night
        .entries
        .iter()
        .rposition(|entry| matches!(entry, Entry::Observe(Observation { fact: Fact::Report { .. }, .. })));
    night.entries.remove(last.unwrap());
    let replayed = of(night.bytes(), None);
    assert_eq!(replayed.unrepeated.decisions, 1);
    let told = words(&text::text(&replayed));
    assert!(told.contains("DIFFERENT: 1 of 3 differ, on 1 node."), "{told}");
    assert!(told.contains("1970-01-01T00:02:00Z node-1 recorded store stage Suspect"), "{told}");
    assert!(told.contains("replayed store stage InService"), "{told}");
}

#[test]
fn another_policy_is_compared_with_the_recorded_one() {
    let bytes = Night::new().bytes();
    let without_budget = Policy::new("h100".parse().unwrap());
    let replayed = of(bytes.clone(), Some([(without_budget.pool.clone(), without_budget)].into()));
    let comparison = replayed.by_policy.as_ref().unwrap();
    assert_eq!((replayed.unrepeated.decisions, comparison.decisions), (0, 2), "{comparison:#?}");
    let told = words(&text::text(&replayed));
    assert!(told.contains("With the other policy, 2 of 3 differ, on 1 node."), "{told}");
    assert!(told.contains("1970-01-01T00:01:00Z node-0, and 1 later recorded"), "{told}");
    let elsewhere = Policy::new("b200".parse().unwrap());
    let replayed = of(bytes, Some([(elsewhere.pool.clone(), elsewhere)].into()));
    assert!(words(&text::text(&replayed)).contains("The other policy changes no decision."));
}

#[test]
fn a_snapshot_stands_for_everything_before_it_and_a_gap_is_reported() {
    let mut night = Night::new();
    night.entries = vec![Entry::Gap { lost: 7 }];
    night.entries.extend(record::snapshot(&night.engine));
    night.report(300_000, 2, 1);
    night.decide(300_000);
    let replayed = of(night.bytes(), None);
    assert_eq!((replayed.decisions, replayed.unrepeated.decisions), (1, 0));
    let told = words(&text::text(&replayed));
    assert!(told.contains("The journal has 1 gap with 7 lost entries. A snapshot follows each gap."), "{told}");
}

#[test]
fn another_version_is_named_and_its_digests_do_not_count() {
    let mut night = Night::new();
    for entry in &mut night.entries {
        if let Entry::Decided(decided) = entry {
            decided.digest = "0".to_owned();
        }
    }
    assert_eq!(of(night.bytes(), None).unrepeated.decisions, 3);
    let header = JournalHeader { mainstay: "0.0.1".to_owned(), ..JournalHeader::of_this_build() };
    let replayed = of(bytes(&header, &night.entries), None);
    assert_eq!(replayed.unrepeated.decisions, 0);
    assert!(words(&text::text(&replayed)).contains("a difference may come from the version"));
}

#[test]
fn the_command_has_an_exit_code_for_each_end_and_problems_have_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.jsonl.zst");
    let problem = |result: Result<CommandOutput, Problem>| result.err().unwrap();
    assert!(problem(run(&path, None, Output::Text)).detail.starts_with("cannot read the file"));
    let bomb = zstd::encode_all(&vec![b' '; 16 * 1024 * 1024][..], 3).unwrap();
    assert!(bomb.len() < 4_096, "{} bytes", bomb.len());
    std::fs::write(&path, bomb).unwrap();
    let Problem { what, detail, hint } = problem(run(&path, None, Output::Text));
    assert!(what.ends_with("journal.jsonl.zst"), "{what}");
    assert!(detail.starts_with("a frame has more than 8650753 bytes before compression"), "{detail}");
    assert!(hint.contains("do not trust"), "{hint}");
    let mut bytes = Night::new().bytes();
    std::fs::write(&path, &bytes).unwrap();
    assert_eq!(run(&path, None, Output::Json).unwrap().exit_code(), 0);
    let policy = folder.path().join("policy.yaml");
    std::fs::write(&policy, "kind: FleetPolicy\n").unwrap();
    assert!(problem(run(&path, Some(&policy), Output::Text)).what.contains("policy.yaml as a policy"));
    let budget = "apiVersion: mainstay.dev/v1alpha1\nkind: FleetPolicy\nmetadata: { name: h100 }\n";
    std::fs::write(&policy, format!("{budget}spec: {{ pool: h100, mode: Observe }}\n")).unwrap();
    assert_eq!(run(&path, Some(&policy), Output::Text).unwrap().exit_code(), 0, "differences were asked for");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    std::fs::write(&path, &bytes).unwrap();
    assert!(run(&path, None, Output::Text).is_err());
    let mut night = Night::new();
    night.entries.remove(1);
    std::fs::write(&path, night.bytes()).unwrap();
    assert_eq!(run(&path, None, Output::Text).unwrap().exit_code(), 4);
}
