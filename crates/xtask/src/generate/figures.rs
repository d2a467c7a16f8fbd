//! Writes `docs/reference/figures.md`: every proof with its claim, its newest recorded value, and the spread of its
//! recorded runs. It runs no proof.

use std::fmt::Write;

use super::{GeneratedFile, NOTICE};
use crate::proofs;
use crate::prove::Proof;
use crate::prove::claims::{Claim, Claims, FirstGoal};
use crate::prove::record::{self, Record};
use crate::workspace::Workspace;

const PATH: &str = "docs/reference/figures.md";

/// Fewer runs have no median worth printing.
const SPREAD_MIN: usize = 3;

const INTRODUCTION: &str = "\
# Figures

Every number that Mainstay publishes is a proof: a benchmark or check that you can run again with
`cargo xtask prove NAME`. The table shows the newest recorded run of each proof.

- **Goal set**: date and commit of today's goal. A goal that was relaxed after a measurement counts as missed, and its first value is
  shown.
- **Measured on**:
  - *real*: the shipped programs and real servers (API server, etcd, browser), no emulated node or device;
  - *emulated*: real programs with KWOK nodes, fake NVML or generated kernel-log lines;
  - *simulated*: the simulator, against Mainstay's own failure model, not a real fleet;
  - *static*: a count over files of this repository.
- **Runs**: the spread over all recorded runs, also of older commits. CI runs the proofs marked *CI* with every change. It fails on
  counts and ratios; it only prints missed time goals, because CI machines are shared. A time goal is enforced in the recorded run.
- No GPU, network adapter or kubelet was part of any measurement.

| proof | claim | value | goal | goal set | result | measured on | runs | recorded |
|---|---|---|---|---|---|---|---|---|
";

/// The table of figures.
pub(super) fn file(workspace: &Workspace) -> anyhow::Result<GeneratedFile> {
    let records = record::parse(workspace.text(record::PATH).unwrap_or_default())?;
    let text = table(proofs::ALL, &Claims::read(workspace)?, &records)?;
    Ok(GeneratedFile { path: PATH.to_owned(), text })
}

pub(super) fn table(proofs: &[Proof], claims: &Claims, records: &[Record]) -> anyhow::Result<String> {
    let mut text = format!("{NOTICE}\n\n{INTRODUCTION}");
    let mut proofs: Vec<&Proof> = proofs.iter().collect();
    proofs.sort_by_key(|proof| proof.name);
    let mut machines: Vec<String> = Vec::new();
    let mut notes = String::new();
    for proof in proofs {
        let claim = claims.of(proof.name)?;
        let runs: Vec<&Record> =
            records.iter().filter(|record| record.name == proof.name && record.unit == proof.unit).collect();
        // Writing to a string does not fail.
        let _ = writeln!(text, "{}", row(proof, claim, &runs, &mut machines));
        if let Some(note) = &claim.notes {
            let _ = writeln!(notes, "- `{}`: {note}", proof.name);
        }
    }
    if !notes.is_empty() {
        let _ = write!(text, "\n## Notes\n\n{notes}");
    }
    if !machines.is_empty() {
        text.push_str("\n## Machines\n\n");
        for (machine, letter) in machines.iter().zip('A'..) {
            let _ = writeln!(text, "- {letter}: {machine}");
        }
    }
    Ok(text)
}

fn row(proof: &Proof, claim: &Claim, runs: &[&Record], machines: &mut Vec<String>) -> String {
    let Proof { name, runs: place, unit, goal, limit: _, run: _ } = proof;
    let Claim { claim: text, notes: _, basis, goal_set, first_goal } = claim;
    let goal = match first_goal {
        None => format!("{goal} {unit}"),
        Some(FirstGoal(first)) => format!("{goal} {unit} (first: {first})"),
    };
    let set = goal_set.split_once(' ').map_or(String::new(), |(date, commit)| format!("{date}, `{commit}`"));
    let Some(newest) = runs.last() else {
        return format!("| `{name}` | {text} | not recorded | {goal} | {set} | – | {basis} | {place}: no run | – |");
    };
    let Record { value, date, commit, machine, rustc, .. } = newest;
    let result = match (newest.holds, claim.counts(newest.holds, *value)) {
        (_, true) => "holds",
        (true, false) => "**MISSED** (holds for the relaxed goal)",
        (false, false) => "**MISSED**",
    };
    let machine = format!("{}, {} cores, {} GiB, rustc {rustc}", machine.cpu, machine.cores, machine.memory_gib);
    let place_of_machine = machines.iter().position(|known| *known == machine).unwrap_or_else(|| {
        machines.push(machine);
        machines.len() - 1
    });
    let letter = ('A'..).nth(place_of_machine).unwrap_or('?');
    format!(
        "| `{name}` | {text} | {value} {unit} | {goal} | {set} | {result} | {basis} | {place}: {} | {date}, `{commit}`, {letter} |",
        spread(runs)
    )
}

/// Number of runs, median and range; the number alone where there are too few for a median.
fn spread(runs: &[&Record]) -> String {
    let mut values: Vec<i64> = runs.iter().map(|run| run.value).collect();
    values.sort_unstable();
    match (values.as_slice(), values.len()) {
        (_, 1) => "one run".to_owned(),
        ([least, .., most], n) if n >= SPREAD_MIN && least == most => format!("{n} runs, all {least}"),
        ([least, .., most], n) if n >= SPREAD_MIN => {
            format!("{n} runs, median {}, range {least}–{most}", median(&values))
        }
        (_, n) => format!("{n} runs"),
    }
}

/// The middle value; of an even number the mean of the two, rounded down.
fn median(sorted: &[i64]) -> i64 {
    let at = |index: usize| sorted.get(index).copied().unwrap_or_default();
    let upper = sorted.len() / 2;
    if sorted.len() % 2 == 1 { at(upper) } else { (at(upper.saturating_sub(1)) + at(upper)).div_euclid(2) }
}
