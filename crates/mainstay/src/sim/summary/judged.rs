//! How well and how fast the brain judged: times, classes against the truth of the model, budgets, audits.

use mainstay_sim::figure;
use mainstay_sim::{ClassOutcome, FaultClass, Outcome, Times};

use super::{Align, Table, counted, duration, indented, percent, thousands};

pub(super) fn times(outcome: &Outcome) -> String {
    let mut table = Table::new(&[
        ("from … to", Align::Left),
        ("times", Align::Right),
        ("median", Align::Right),
        ("p95", Align::Right),
        ("longest", Align::Right),
    ]);
    let rows: [(&str, &Times); 3] = [
        ("fault … suspected", &outcome.detect),
        ("suspected … quarantined", &outcome.quarantine),
        ("quarantined … in service", &outcome.back),
    ];
    for (name, times) in rows {
        let lengths = [times.p50_seconds, times.p95_seconds, times.max_seconds];
        let told = lengths.map(|seconds| if times.count == 0 { "–".to_owned() } else { duration(seconds) });
        table.row([name.to_owned(), thousands(times.count)].into_iter().chain(told));
    }
    format!("How long it took (faults that condemn a node)\n{}", table.text())
}

pub(super) fn classes(outcome: &Outcome) -> String {
    let quarantines = &outcome.quarantines;
    let mut table = Table::new(&[
        ("class of fault", Align::Left),
        ("faults", Align::Right),
        ("told", Align::Right),
        ("out", Align::Right),
        ("false", Align::Right),
        ("recall", Align::Right),
        ("ceiling", Align::Right),
        ("precision", Align::Right),
        ("ceiling", Align::Right),
    ]);
    let (condemning, others): (Vec<_>, Vec<_>) = outcome
        .classes
        .iter()
        .filter(|(_, class)| class.faults + class.false_alarms + class.falsely_taken_out > 0)
        .partition(|(class, _)| class.condemns());
    for (class, seen) in condemning.into_iter().chain(others) {
        table.row(row(*class, seen));
    }
    let told = format!(
        "{}: {} right, {} wrong.",
        counted(quarantines.total, "quarantine", "quarantines"),
        thousands(quarantines.right),
        thousands(quarantines.wrong)
    );
    let legend = "told: a sensor said so while it lasted; out: its node was taken out while it lasted; false: a node was \
                  taken out with nothing behind it. Recall is out / faults, with the ceiling told / faults. Precision \
                  is out / (out + false), with the ceiling told / (told + false alarms). ° marks what is no reason to \
                  take a node out.";
    format!("Judgement by class, recall and precision in %. {told}\n{}{}", table.text(), indented(legend))
}

fn row(class: FaultClass, seen: &ClassOutcome) -> Vec<String> {
    let counts = [seen.faults, seen.told, seen.taken_out, seen.falsely_taken_out].map(thousands);
    let shares = if class.condemns() {
        [
            (seen.taken_out, seen.faults),
            (seen.told, seen.faults),
            (seen.taken_out, seen.taken_out.saturating_add(seen.falsely_taken_out)),
            (seen.told, seen.told.saturating_add(seen.false_alarms)),
        ]
        .map(|(part, whole)| percent(part, whole, 1))
    } else {
        std::array::from_fn(|_| String::new())
    };
    let mark = if class.condemns() { "" } else { " °" };
    std::iter::once(format!("{}{mark}", class.word())).chain(counts).chain(shares).collect()
}

pub(super) fn brain(outcome: &Outcome) -> String {
    let (brain, budget) = (&outcome.brain, &outcome.budget);
    let effects: Vec<String> =
        brain.effects.iter().map(|(word, count)| format!("{word} {}", thousands(*count))).collect();
    let waits: Vec<String> = brain.waits.iter().map(|(on, count)| format!("{on:?} {}", thousands(*count))).collect();
    let list = |words: Vec<String>| if words.is_empty() { "none".to_owned() } else { words.join(", ") };
    let waited = match budget.waits {
        0 => "no node had to wait for room".to_owned(),
        waits => {
            let times = counted(waits, "time", "times");
            format!("a node had to wait for room {times}, {} in all", duration(budget.waited_seconds))
        }
    };
    let lines = [
        format!(
            "Budget: {} may be out at once; at most {} were, {} on average; {waited}.",
            counted(budget.nodes_max, "node", "nodes"),
            thousands(budget.nodes_peak),
            figure(i64::try_from(budget.nodes_mean_milli).unwrap_or(i64::MAX), 1),
        ),
        format!(
            "Decisions: {} from {} facts, all audited, {}; the leader was replaced {}.",
            thousands(brain.decisions),
            thousands(brain.observations),
            counted(brain.violations, "violation", "violations"),
            counted(brain.restarts, "time", "times"),
        ),
        format!("Effects: {}; lost or refused: {}.", list(effects), thousands(brain.effects_lost)),
        format!("Waits of nodes: {}.", list(waits)),
    ];
    format!("What the brain did\n{}", lines.map(|line| indented(&line)).concat())
}
