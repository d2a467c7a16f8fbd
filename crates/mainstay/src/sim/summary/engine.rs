//! How well and how fast the engine decided: response times, detection by fault class, budgets and audits.

use mainstay_model::format_milli;
use mainstay_sim::{ClassOutcome, DurationSummary, FaultClass, Outcome};

use super::{Align, Table, counted, duration, indented, percent, thousands};

pub(super) fn times(outcome: &Outcome) -> String {
    let mut table = Table::new(&[
        ("interval", Align::Left),
        ("count", Align::Right),
        ("median", Align::Right),
        ("p95", Align::Right),
        ("longest", Align::Right),
    ]);
    let rows: [(&str, &DurationSummary); 3] = [
        ("fault … suspected", &outcome.detect),
        ("suspected … quarantined", &outcome.quarantine),
        ("quarantined … in service", &outcome.back),
    ];
    for (name, times) in rows {
        let lengths = [times.p50_seconds, times.p95_seconds, times.max_seconds];
        let told = lengths.map(|seconds| if times.count == 0 { "–".to_owned() } else { duration(seconds) });
        table.row([name.to_owned(), thousands(times.count)].into_iter().chain(told));
    }
    format!("Response times (faults that require removal)\n{}", table.text())
}

pub(super) fn classes(outcome: &Outcome) -> String {
    let quarantines = &outcome.quarantines;
    let mut table = Table::new(&[
        ("fault class", Align::Left),
        ("faults", Align::Right),
        ("detectable", Align::Right),
        ("removed", Align::Right),
        ("false", Align::Right),
        ("recall", Align::Right),
        ("bound", Align::Right),
        ("precision", Align::Right),
        ("bound", Align::Right),
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
        "{}: {} correct, {} wrong.",
        counted(quarantines.total, "quarantine", "quarantines"),
        thousands(quarantines.right),
        thousands(quarantines.wrong)
    );
    let legend = "detectable: a sensor reported the fault while it was active; removed: the node was removed during the \
                  fault; false: a node was removed without a fault. Recall = removed / faults; bound = detectable / \
                  faults. Precision = removed / (removed + false); bound = detectable / (detectable + false alarms). \
                  °: not a reason to remove a node.";
    format!("Detection by fault class, recall and precision in %. {told}\n{}{}", table.text(), indented(legend))
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

pub(super) fn totals(outcome: &Outcome) -> String {
    let (brain, budget) = (&outcome.engine, &outcome.budget);
    let effects: Vec<String> =
        brain.effects.iter().map(|(word, count)| format!("{word} {}", thousands(*count))).collect();
    let waits: Vec<String> = brain.waits.iter().map(|(on, count)| format!("{on:?} {}", thousands(*count))).collect();
    let list = |words: Vec<String>| if words.is_empty() { "none".to_owned() } else { words.join(", ") };
    let waited = match budget.waits {
        0 => "no node waited for the budget".to_owned(),
        waits => {
            let times = counted(waits, "time", "times");
            format!("nodes waited for the budget {times}, {} in total", duration(budget.waited_seconds))
        }
    };
    let lines = [
        format!(
            "Budget: limit {} out of service, maximum {}, average {}; {waited}.",
            counted(budget.nodes_max, "node", "nodes"),
            thousands(budget.nodes_peak),
            format_milli(i64::try_from(budget.nodes_mean_milli).unwrap_or(i64::MAX), 1),
        ),
        format!(
            "Decisions: {} from {} observations, all audited, {}; leader replaced {}.",
            thousands(brain.decisions),
            thousands(brain.observations),
            counted(brain.violations, "violation", "violations"),
            counted(brain.restarts, "time", "times"),
        ),
        format!("Actions: {}; lost or rejected: {}.", list(effects), thousands(brain.effects_lost)),
        format!("Waits by cause: {}.", list(waits)),
    ];
    format!("Engine\n{}", lines.map(|line| indented(&line)).concat())
}
