//! Charts as inline SVG, in whole numbers. Every mark has a title with its number, and every number is in a table as well.

use mainstay_text::{counted, duration, escape_html, gpu_hours, thousands};

use crate::report::{Reaction, Report};
use crate::text::{day, minute};
use crate::tickets::FaultKind;

const WIDTH: i64 = 1_032;

const KINDS: [FaultKind; 8] = [
    FaultKind::Gpu,
    FaultKind::Memory,
    FaultKind::Nvlink,
    FaultKind::Network,
    FaultKind::Pcie,
    FaultKind::Host,
    FaultKind::Software,
    FaultKind::Unknown,
];

const fn class(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::Gpu => "gpu",
        FaultKind::Memory => "memory",
        FaultKind::Nvlink => "nvlink",
        FaultKind::Network => "network",
        FaultKind::Pcie => "pcie",
        FaultKind::Host => "host",
        FaultKind::Software => "software",
        FaultKind::Unknown => "unknown",
    }
}

fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX / 1_000_000)
}

fn svg(height: i64, title: &str, inside: &str) -> String {
    let title = escape_html(title);
    format!(
        "<div class=\"scroll\"><svg class=\"chart\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{title}\">{inside}</svg></div>\n"
    )
}

fn text(x: i64, y: i64, class: &str, anchor: &str, text: &str) -> String {
    format!("<text x=\"{x}\" y=\"{y}\" class=\"{class}\" text-anchor=\"{anchor}\">{}</text>", escape_html(text))
}

fn rect(x: i64, y: i64, width: i64, height: i64, class: &str, title: &str) -> String {
    let title = escape_html(title);
    format!(
        "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" class=\"{class}\"><title>{title}</title></rect>"
    )
}

/// The next of 2, 4, 6, 8, 10, 20, 40 … that is not below a number: half of it is whole, too.
fn round_up(number: u64) -> u64 {
    let mut size = 1_u64;
    loop {
        for step in [2, 4, 6, 8] {
            if size.saturating_mul(step) >= number {
                return size.saturating_mul(step);
            }
        }
        size = size.saturating_mul(10);
    }
}

fn legend(kinds: &[(FaultKind, u64)]) -> String {
    let entry = |(kind, count): &(FaultKind, u64)| {
        format!(
            "<span><svg viewBox=\"0 0 10 10\" aria-hidden=\"true\"><rect width=\"10\" height=\"10\" class=\"{}\"/></svg>{} {}</span>",
            class(*kind),
            kind.word(),
            thousands(*count)
        )
    };
    format!("<div class=\"legend\">{}</div>\n", kinds.iter().map(entry).collect::<String>())
}

/// Findings by week, stacked by kind.
pub(super) fn weeks(report: &Report) -> String {
    const LEFT: i64 = 36;
    const TOP: i64 = 8;
    const HIGH: i64 = 180;
    let total = |kind: FaultKind| -> u64 {
        report.weeks.iter().flat_map(|week| &week.by_kind).filter(|(of, _)| *of == kind).map(|(_, count)| count).sum()
    };
    let kinds: Vec<(FaultKind, u64)> =
        KINDS.map(|kind| (kind, total(kind))).into_iter().filter(|(_, count)| *count > 0).collect();
    let sum = |week: &crate::report::Week| -> u64 { week.by_kind.iter().map(|(_, count)| count).sum() };
    let top = round_up(report.weeks.iter().map(sum).max().unwrap_or(1).max(1));
    let mut inside = String::new();
    for part in [0, 1, 2] {
        let y = TOP + HIGH - HIGH * part / 2;
        inside.push_str(&format!("<line x1=\"{LEFT}\" y1=\"{y}\" x2=\"{WIDTH}\" y2=\"{y}\" class=\"grid\"/>"));
        let value = top * u64::try_from(part).unwrap_or(0) / 2;
        inside.push_str(&text(LEFT - 8, y + 4, "quiet", "end", &thousands(value)));
    }
    let count = i64::try_from(report.weeks.len()).unwrap_or(1).max(1);
    let step = (WIDTH - LEFT) * 1_000 / count;
    let every = (count / 12).max(1);
    for (number, week) in (0_i64..).zip(&report.weeks) {
        let x = LEFT + (number * step) / 1_000;
        let wide = (step / 1_000 - 3).clamp(1, 60);
        let mut y = TOP + HIGH;
        for (kind, _) in &kinds {
            let Some((_, count)) = week.by_kind.iter().find(|(of, _)| of == kind) else { continue };
            let high = (whole(*count) * HIGH / whole(top)).max(1);
            y -= high;
            let title = format!("week of {}: {} {}", day(&week.from), thousands(*count), kind.word());
            inside.push_str(&rect(x, y, wide, high, &format!("{} edge", class(*kind)), &title));
        }
        if number % every == 0 {
            let label: String = week.from.chars().skip(5).take(5).collect();
            inside.push_str(&text(x, TOP + HIGH + 18, "quiet", "start", &label));
        }
    }
    legend(&kinds) + &svg(TOP + HIGH + 24, "Findings by week and kind", &inside)
}

/// GPU-hours exposed, by kind of fault.
pub(super) fn stake(report: &Report) -> String {
    const LEFT: i64 = 130;
    const ROW: i64 = 26;
    let most = report.stake.by_kind.iter().map(|line| line.gpu_seconds).max().unwrap_or(1).max(1);
    let room = WIDTH - LEFT - 220;
    let mut inside = String::new();
    for (number, line) in (0_i64..).zip(&report.stake.by_kind) {
        let y = number * ROW + 4;
        let share = u128::from(line.gpu_seconds) * u128::try_from(room).unwrap_or(0) / u128::from(most);
        let wide = i64::try_from(share).unwrap_or(room).max(1);
        inside.push_str(&text(LEFT - 10, y + 14, "", "end", line.kind.word()));
        let words =
            format!("{} GPU-hours in {}", gpu_hours(line.gpu_seconds), counted(line.findings, "finding", "findings"));
        inside.push_str(&rect(LEFT, y, wide, 18, class(line.kind), &words));
        inside.push_str(&text(LEFT + wide + 8, y + 14, "quiet", "start", &words));
    }
    let rows = i64::try_from(report.stake.by_kind.len()).unwrap_or(0);
    format!("<h3>GPU-hours exposed</h3>{}", svg(rows * ROW + 8, "GPU-hours exposed by kind of fault", &inside))
}

/// A row for each lemon, a dot for each finding.
pub(super) fn lemons(report: &Report, most: usize) -> String {
    const LEFT: i64 = 130;
    const RIGHT: i64 = 60;
    const ROW: i64 = 22;
    let (from, to) = (report.window.from_ms, report.window.to_ms.max(report.window.from_ms + 1));
    let room = WIDTH - LEFT - RIGHT;
    let place = |at: i64| {
        let share = i128::from(at.clamp(from, to) - from) * i128::from(room) / i128::from(to - from);
        LEFT + i64::try_from(share).unwrap_or(0)
    };
    let rows = i64::try_from(report.lemons.len().min(most)).unwrap_or(0);
    let mut inside = String::new();
    for part in 0..=4 {
        let at = from + (to - from) / 4 * part;
        let x = place(at);
        inside.push_str(&format!("<line x1=\"{x}\" y1=\"0\" x2=\"{x}\" y2=\"{}\" class=\"grid\"/>", rows * ROW));
        let label = crate::timestamp::day(mainstay_model::Timestamp(at));
        let anchor = if part == 4 { "end" } else { "start" };
        inside.push_str(&text(x, rows * ROW + 18, "quiet", anchor, &label));
    }
    for (number, lemon) in (0_i64..).zip(report.lemons.iter().take(most)) {
        let y = number * ROW + 12;
        let named = lemon.named_at.parse::<jiff::Timestamp>().map_or(to, jiff::Timestamp::as_millisecond);
        inside.push_str(&text(LEFT - 10, y + 4, "", "end", &lemon.node));
        inside.push_str(&format!(
            "<line x1=\"{}\" y1=\"{y}\" x2=\"{}\" y2=\"{y}\" class=\"named\"/>",
            place(named),
            place(to)
        ));
        for at in &lemon.found_ms {
            let title =
                format!("{}, {}", lemon.node, minute(&crate::timestamp::written(mainstay_model::Timestamp(*at))));
            inside.push_str(&format!(
                "<circle cx=\"{}\" cy=\"{y}\" r=\"5\" class=\"plain edge\"><title>{}</title></circle>",
                place(*at),
                escape_html(&title)
            ));
        }
        inside.push_str(&text(WIDTH - RIGHT + 12, y + 4, "quiet", "start", &thousands(lemon.findings)));
    }
    svg(rows * ROW + 24, "Lemons and their findings over time", &inside)
}

/// Findings by the time to the first ticket or reboot.
pub(super) fn delays(report: &Report) -> String {
    const EDGES: [(u64, &str); 6] = [
        (900, "within 15 min"),
        (3_600, "within 1 h"),
        (4 * 3_600, "within 4 h"),
        (12 * 3_600, "within 12 h"),
        (24 * 3_600, "within 1 d"),
        (u64::MAX, "later"),
    ];
    const LEFT: i64 = 130;
    const ROW: i64 = 26;
    let mut counts = [0_u64; 6];
    let mut none = 0_u64;
    for finding in &report.findings {
        let moment = |text: &Option<String>| text.as_deref().and_then(|text| text.parse::<jiff::Timestamp>().ok());
        match (moment(&finding.would_act_at), moment(&finding.reacted_at)) {
            (Some(would), Some(reacted)) => {
                let seconds = u64::try_from(reacted.as_second() - would.as_second()).unwrap_or(0);
                let bucket = EDGES.iter().position(|(edge, _)| seconds <= *edge).unwrap_or(5);
                if let Some(count) = counts.get_mut(bucket) {
                    *count += 1;
                }
            }
            (Some(_), None) if finding.reaction == Reaction::Missing => none += 1,
            (Some(_) | None, _) => {}
        }
    }
    let rows: Vec<(&str, u64, &str)> = EDGES
        .iter()
        .zip(counts)
        .map(|((_, words), count)| (*words, count, "plain"))
        .chain([("no reaction", none, "software")])
        .collect();
    let most = rows.iter().map(|(_, count, _)| *count).max().unwrap_or(1).max(1);
    let room = WIDTH - LEFT - 120;
    let mut inside = String::new();
    for (number, (words, count, class)) in (0_i64..).zip(&rows) {
        let y = number * ROW + 4;
        let wide = whole(*count) * room / whole(most);
        inside.push_str(&text(LEFT - 10, y + 14, "", "end", words));
        if *count > 0 {
            inside.push_str(&rect(
                LEFT,
                y,
                wide.max(1),
                18,
                class,
                &format!("{} {words}", counted(*count, "finding", "findings")),
            ));
        }
        inside.push_str(&text(LEFT + wide + 8, y + 14, "quiet", "start", &thousands(*count)));
    }
    let height = i64::try_from(rows.len()).unwrap_or(0) * ROW + 8;
    let median = duration(report.stake.reacted_p50_seconds);
    svg(height, &format!("Reaction time; median {median}"), &inside)
}
