//! Staleness and the made files, on made-up workspaces.

use std::time::Duration;

use super::*;
use crate::prove::record::{self, Record};
use crate::prove::{Goal, Measurement, Proof, Schedule};
use crate::workspace::{Crate, Dependency, File, Origin, Presence, Purpose};

fn made(path: &str, text: &str) -> GeneratedFile {
    GeneratedFile { path: path.to_owned(), text: text.to_owned() }
}

fn told(files: &[(&str, &str)], made: &[GeneratedFile]) -> Vec<String> {
    let file = |(path, text): &(&str, &str)| File { path: (*path).to_owned(), text: Some((*text).to_owned()) };
    let workspace = Workspace { files: files.iter().map(file).collect(), ..Workspace::default() };
    stale(&workspace, made)
        .iter()
        .map(|problem| format!("{} {}: {}", problem.code, problem.what, problem.detail))
        .collect()
}

#[test]
fn a_fresh_file_is_not_mentioned() {
    assert!(told(&[("deploy/crds/a.yaml", "one\n")], &[made("deploy/crds/a.yaml", "one\n")]).is_empty());
}

#[test]
fn a_stale_file_is_told_with_the_first_line_that_differs() {
    let said = told(&[("docs/a.md", "one\ntwo\n")], &[made("docs/a.md", "one\nthree\n")]);
    assert_eq!(said, ["GEN01 docs/a.md is stale: line 2 is `two`, should be `three`."]);
    let said = told(&[("docs/a.md", "one\n")], &[made("docs/a.md", "one\ntwo\n")]);
    assert_eq!(said, ["GEN01 docs/a.md is stale: line 2 is nothing, should be `two`."]);
    let said = told(&[("docs/a.md", "one")], &[made("docs/a.md", "one\n")]);
    assert_eq!(said, ["GEN01 docs/a.md is stale: it differs in its line ends."]);
}

#[test]
fn a_missing_file_is_told() {
    let said = told(&[], &[made("docs/a.md", "one\n")]);
    assert!(said.iter().all(|said| said.starts_with("GEN02 docs/a.md is missing")) && said.len() == 1, "{said:?}");
}

#[test]
fn a_file_that_nothing_makes_is_stale_in_a_generated_folder_alone() {
    let said = told(&[("deploy/crds/old.yaml", ""), ("docs/old.md", "")], &[]);
    assert!(
        said.iter().all(|said| said.starts_with("GEN03 deploy/crds/old.yaml is stale")) && said.len() == 1,
        "{said:?}"
    );
}

fn recorded(name: &str, value: i64, holds: bool, commit: &str) -> String {
    format!(
        r#"{{"name":"{name}","value":{value},"unit":"seconds","goal":"<= 60","holds":{holds},"seconds":70.5,"date":"2026-01-02","commit":"{commit}","machine":{{"cpu":"CPU","cores":2,"memory_gib":24}},"rustc":"1.95.0"}}"#
    )
}

/// The rows of the table for three proofs: `a` not recorded, `b` with a goal of 60 seconds, `c` with a relaxed goal.
fn rows(lines: &[String]) -> Vec<String> {
    let proof = |name, goal| Proof {
        name,
        runs: Schedule::ByHand,
        unit: "seconds",
        goal,
        limit: Duration::from_secs(1),
        run: |_| Box::pin(async { Ok(Measurement { value: 0, detail: String::new() }) }),
    };
    let claim = "claim = \"Time to start\"\nbasis = \"emulated\"\ngoal_set = \"2026-01-01 abcdef0\"\n";
    let claims = format!("[a]\n{claim}[b]\n{claim}notes = \"One disk.\"\n[c]\n{claim}first_goal = \"<= 30\"\n");
    let claims = crate::prove::claims::parse(&claims).unwrap();
    let records: Vec<Record> = record::parse(&lines.join("\n")).unwrap();
    let proofs = [proof("b", Goal::AtMost(60)), proof("a", Goal::Exactly(0)), proof("c", Goal::AtMost(60))];
    let table = figures::table(&proofs, &claims, &records).unwrap();
    assert!(table.contains("\n## Notes\n\n- `b`: One disk.\n"), "{table}");
    table.lines().filter(|line| line.starts_with("| `")).map(str::to_owned).collect()
}

#[test]
fn the_table_shows_every_proof_recorded_or_not() {
    assert_eq!(
        rows(&[recorded("b", 61, false, "abc")]),
        [
            "| `a` | Time to start | not recorded | = 0 seconds | 2026-01-01, `abcdef0` | – | emulated | by hand: no run | – |",
            "| `b` | Time to start | 61 seconds | <= 60 seconds | 2026-01-01, `abcdef0` | **MISSED** | emulated | by hand: one run | 2026-01-02, `abc`, A |",
            "| `c` | Time to start | not recorded | <= 60 seconds (first: <= 30) | 2026-01-01, `abcdef0` | – | emulated | by hand: no run | – |",
        ]
    );
}

#[test]
fn a_goal_that_was_relaxed_counts_as_missed() {
    let row = |value| rows(&[recorded("c", value, true, "abc")]).remove(2);
    assert!(row(40).contains("| **MISSED** (holds for the relaxed goal) |"), "{}", row(40));
    assert!(row(30).contains("| holds |"), "{}", row(30));
}

#[test]
fn three_runs_have_a_median_and_a_range() {
    let row = |values: &[i64]| {
        let lines: Vec<String> = values.iter().map(|value| recorded("b", *value, true, "abc")).collect();
        rows(&lines).remove(1)
    };
    assert!(row(&[9, 7]).contains("| 7 seconds |") && row(&[9, 7]).contains("| by hand: 2 runs |"), "{}", row(&[9, 7]));
    assert!(row(&[9, 7, 20]).contains("| by hand: 3 runs, median 9, range 7–20 |"), "{}", row(&[9, 7, 20]));
    assert!(row(&[9, 7, 20, 12]).contains("4 runs, median 10, range 7–20"), "{}", row(&[9, 7, 20, 12]));
    assert!(row(&[5, 5, 5]).contains("3 runs, all 5"), "{}", row(&[5, 5, 5]));
}

#[test]
fn the_drawing_has_an_arrow_for_every_use_of_ours() {
    let uses =
        |name: &str, purpose, origin| Dependency { name: name.to_owned(), purpose, origin, presence: Presence::Always };
    let api = Crate {
        name: "mainstay-api".to_owned(),
        description: "The rim.".to_owned(),
        dependencies: vec![
            uses("mainstay-model", Purpose::Code, Origin::Ours),
            uses("testbed", Purpose::Tests, Origin::Ours),
            uses("serde", Purpose::Code, Origin::ThirdParty),
        ],
        ..Crate::default()
    };
    let model = Crate { name: "mainstay-model".to_owned(), ..Crate::default() };
    let page = crates::page(&[api, model]);
    let arrows: Vec<&str> =
        page.lines().filter(|line| line.starts_with("  mainstay") && line.contains("->")).map(str::trim).collect();
    assert_eq!(arrows, ["mainstay-api --> mainstay-model", "mainstay-api -.-> testbed"]);
    assert!(page.contains("| `mainstay-api` | edges | The rim. |"), "{page}");
    assert!(!page.contains("subgraph tools"), "a group without members is not drawn");
}
