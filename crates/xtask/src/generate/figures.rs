//! Makes `docs/reference/figures.md`: every proof with its latest recorded figure. It runs nothing.

use std::fmt::Write;

use super::{Generated, NOTICE};
use crate::proofs;
use crate::prove::Proof;
use crate::prove::record::{self, Record};
use crate::workspace::Workspace;

const PATH: &str = "docs/reference/figures.md";

const INTRODUCTION: &str = "\
# Figures

Every number that Mainstay claims is a proof that anyone can run again: `cargo xtask prove NAME`. Below is the latest
recorded run of each (`cargo xtask prove NAME --record`), with the machine and the commit it was measured on.

| proof | claim | figure | goal | holds | runs | date | machine | commit |
|---|---|---|---|---|---|---|---|---|
";

/// The table of figures.
pub(super) fn file(workspace: &Workspace) -> anyhow::Result<Generated> {
    let records = record::parse(workspace.text(record::PATH).unwrap_or_default())?;
    Ok(Generated { path: PATH.to_owned(), text: table(proofs::ALL, &records) })
}

pub(super) fn table(proofs: &[Proof], records: &[Record]) -> String {
    let mut text = format!("{NOTICE}\n\n{INTRODUCTION}");
    let mut proofs: Vec<&Proof> = proofs.iter().collect();
    proofs.sort_by_key(|proof| proof.name);
    for proof in proofs {
        let found = records.iter().find(|record| record.name == proof.name);
        // Writing to a string does not fail.
        let _ = writeln!(text, "{}", row(proof, found));
    }
    text
}

fn row(proof: &Proof, found: Option<&Record>) -> String {
    let Proof { name, sentence, runs, unit, goal, limit: _, run: _ } = proof;
    let Some(found) = found else {
        return format!("| `{name}` | {sentence} | not recorded yet | {goal} {unit} | – | {runs} | – | – | – |");
    };
    let Record { value, date, commit, machine, rustc, seconds, .. } = found;
    let holds = if found.holds { "yes" } else { "**no**" };
    let machine = format!("{}, {} cores, {} GiB, rustc {rustc}", machine.cpu, machine.cores, machine.memory_gib);
    format!(
        "| `{name}` | {sentence} | {value} {unit} (in {seconds} s) | {goal} {unit} | {holds} | {runs} | {date} | {machine} | `{commit}` |"
    )
}
