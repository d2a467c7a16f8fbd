//! A comparison on a terminal: the summary sentence, every measure with its interval, and bars with whiskers.

use mainstay_model::format_milli;
use mainstay_sim::{Comparison, Estimate, Measure, MeasureComparison, Verdict};
use mainstay_text::{Align, Table, counted, thousands, wrapped};

use crate::sim::summary::COLUMNS;

/// The widest bar.
const BAR: i64 = 56;
/// How much of a side's name stands before its bars.
const NAME_CHARS: usize = 26;

pub(super) fn text(comparison: &Comparison) -> String {
    let runs = format!(
        "A is {}, B is {}. {} GPUs, {}, {}; {} on each side.",
        comparison.a,
        comparison.b,
        thousands(comparison.gpus.into()),
        counted(comparison.days.into(), "day", "days"),
        counted(comparison.jobs.into(), "job", "jobs"),
        counted(u64::try_from(comparison.seeds.len()).unwrap_or(0), "seed", "seeds"),
    );
    let note = "Means per run, and the mean difference per seed with its 95 % bootstrap interval. About 1 in 20 such \
                results is chance. This is a simulation with our own failure model and first-fit placement, not a real \
                fleet.";
    [
        wrapped(&comparison.sentence(), COLUMNS, ""),
        wrapped(&runs, COLUMNS, ""),
        table(comparison),
        bars(comparison),
        wrapped(note, COLUMNS, ""),
    ]
    .join("\n")
}

fn table(comparison: &Comparison) -> String {
    let mut table = Table::new(&[
        ("measure", Align::Left),
        ("unit", Align::Left),
        ("A", Align::Right),
        ("B", Align::Right),
        ("B - A", Align::Right),
        ("95 % interval", Align::Right),
        ("verdict", Align::Left),
    ]);
    for compared in &comparison.measures {
        let indent = if compared.measure.is_part() { "  " } else { "" };
        let name = format!("{indent}{}", compared.measure.name());
        if compared.pairs == 0 {
            let dash = || "–".to_owned();
            table.row([name, unit(compared), dash(), dash(), dash(), dash(), "not measured".to_owned()]);
            continue;
        }
        let decimals = compared.decimals();
        let Estimate { mean_milli, low_milli, high_milli } = compared.difference;
        let side = |estimate: Estimate| format_milli(estimate.mean_milli, decimals);
        let verdict = match compared.verdict {
            Verdict::ABetter => "A better",
            Verdict::BBetter => "B better",
            Verdict::NoDifferenceShown => "not significant",
        };
        table.row([
            name,
            unit(compared),
            side(compared.a),
            side(compared.b),
            signed(mean_milli, decimals),
            format!("{} to {}", signed(low_milli, decimals), signed(high_milli, decimals)),
            verdict.to_owned(),
        ]);
    }
    table.text()
}

fn unit(compared: &MeasureComparison) -> String {
    compared.unit.word().to_owned()
}

fn signed(milli: i64, decimals: u32) -> String {
    let figure = format_milli(milli, decimals);
    let nothing = figure.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    if milli > 0 && !nothing { format!("+{figure}") } else { figure }
}

/// The measures that people ask for first.
fn bars(comparison: &Comparison) -> String {
    let chosen = [Measure::WorkLost, Measure::OutOfService, Measure::Interruptions, Measure::BackP95];
    let mut text = String::from("Mean and 95 % interval of each side: █ to the lower end, then ├─┼─┤\n");
    let name = |side: &str, name: &str| {
        let short: String = name.chars().take(NAME_CHARS).collect();
        let more = if name.chars().count() > NAME_CHARS { "…" } else { "" };
        format!("{side} {short}{more}")
    };
    for compared in chosen.into_iter().filter_map(|measure| comparison.of(measure)).filter(|measure| measure.pairs > 0)
    {
        let most = compared.a.high_milli.max(compared.b.high_milli);
        let unit = if compared.unit.word().is_empty() { String::new() } else { format!(", {}", compared.unit.word()) };
        let mut table = Table::new(&[("", Align::Left), ("", Align::Left), ("", Align::Right)]);
        for (name, side) in [(name("A", &comparison.a), compared.a), (name("B", &comparison.b), compared.b)] {
            table.row([name, whiskers(side, most), format_milli(side.mean_milli, compared.decimals())]);
        }
        // The table has no headers: its first line ends the name of the measure.
        text.push_str(&format!("{}{unit}{}", compared.measure.name(), table.text()));
    }
    text
}

/// A bar from zero; where the interval is narrower than a column, its end alone.
pub(super) fn whiskers(side: Estimate, most_milli: i64) -> String {
    let place = |milli: i64| -> i64 {
        let scaled =
            (i128::from(milli.max(0)) * i128::from(BAR) + i128::from(most_milli) / 2).checked_div(most_milli.into());
        scaled.and_then(|place| i64::try_from(place).ok()).unwrap_or(0).min(BAR)
    };
    let (low, mean, high) = (place(side.low_milli), place(side.mean_milli), place(side.high_milli));
    let cell = |column: i64| match column {
        _ if high <= low + 1 => (column < mean).then_some('█'),
        _ if column < low => Some('█'),
        _ if column == mean.clamp(low + 1, high - 1) => Some('┼'),
        _ if column == low => Some('├'),
        _ if column == high => Some('┤'),
        _ => (column < high).then_some('─'),
    };
    (0..=BAR).filter_map(cell).collect()
}
