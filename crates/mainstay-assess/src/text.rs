//! The report on one screen: faults, exposure, lemons, latest findings and tickets. The JSON and the HTML page have the rest.

use std::path::Path;

use mainstay_model::RepairStep;
use mainstay_text::{
    Align, Table, bar, counted, duration, gpu_hours, gpu_hours_beside, percent, sparkline, thousands, wrapped,
};

use super::report::{Finding, Report, Review, SourceVolume};

const COLUMNS: usize = 100;
/// Rows of a table on the one screen.
const ROWS: usize = 5;

pub(super) fn text(report: &Report, page: Option<&Path>) -> String {
    let mut text = wrapped(&sentence(report), COLUMNS, "");
    text.push('\n');
    if report.findings.is_empty() {
        text.push_str(&wrapped(&calm(report), COLUMNS, ""));
    } else {
        kinds(report, &mut text);
        lemons(report, &mut text);
        latest(report, &mut text);
    }
    if let Some(cluster) = &report.cluster {
        text.push_str(&super::cluster::text(cluster, ROWS));
        text.push('\n');
    }
    if let Some(review) = &report.tickets {
        text.push_str(&wrapped(&tickets(review), COLUMNS, "  "));
        text.push('\n');
    }
    let unrecognised = report.unrecognised.text(ROWS);
    if !unrecognised.is_empty() {
        text.push_str(&unrecognised);
        text.push('\n');
    }
    text.push_str(&wrapped(&read(report), COLUMNS, "  "));
    if let Some(page) = page {
        text.push_str(&format!("Complete report: {}\n", page.display()));
    }
    text
}

/// The summary: removals, exposure and reaction time.
pub(super) fn sentence(report: &Report) -> String {
    let fleet = &report.fleet;
    let days = counted(report.window.days, "day", "days");
    let nodes = counted(fleet.nodes, "node", "nodes");
    let acted = acted(report);
    if acted == 0 {
        return format!("{nodes} over {days}: Mainstay would have removed no node from service.");
    }
    let of: std::collections::BTreeSet<&str> = would_act(report).map(|finding| finding.node.as_str()).collect();
    let exposed = match report.stake.gpu_seconds {
        0 => String::new(),
        seconds => format!(" Faulty nodes kept running for {} GPU-hours.", gpu_hours(seconds)),
    };
    let reacted = if report.stake.reacted == 0 {
        String::new()
    } else {
        format!(
            " Median time to a ticket or reboot: {}; 90th percentile: {}.",
            duration(report.stake.reacted_p50_seconds),
            duration(report.stake.reacted_p90_seconds)
        )
    };
    format!(
        "{nodes} over {days}: Mainstay would have removed {} from service, {}.{exposed}{reacted}",
        counted(u64::try_from(of.len()).unwrap_or(0), "node", "nodes"),
        counted(acted, "time", "times"),
    )
}

fn would_act(report: &Report) -> impl Iterator<Item = &Finding> {
    report.findings.iter().filter(|finding| finding.would_act_at.is_some())
}

fn acted(report: &Report) -> u64 {
    u64::try_from(would_act(report).count()).unwrap_or(u64::MAX)
}

fn calm(report: &Report) -> String {
    let said: u64 = report.evidence.iter().map(|line| line.count).sum();
    let found = counted(said, "piece of evidence was found", "pieces of evidence were found");
    format!("{found}. No rule calls for removing a node from service.")
}

fn kinds(report: &Report, text: &mut String) {
    let weeks: Vec<u64> = report.weeks.iter().map(|week| week.by_kind.iter().map(|(_, count)| count).sum()).collect();
    text.push_str(&format!("Findings by week from {}  {}\n", day(&report.window.from), sparkline(&weeks)));
    let mut table = Table::new(&[
        ("", Align::Left),
        ("findings", Align::Right),
        ("GPU-hours exposed", Align::Right),
        ("", Align::Left),
    ]);
    let most = report.stake.by_kind.iter().map(|line| line.gpu_seconds).max().unwrap_or(0);
    for line in &report.stake.by_kind {
        table.row([
            line.kind.word().to_owned(),
            thousands(line.findings),
            gpu_hours_beside(line.gpu_seconds, most),
            bar(line.gpu_seconds, most, 30),
        ]);
    }
    text.push_str(&table.text());
    for shared in report.shared.iter().take(ROWS) {
        let line = format!(
            "  {}: suspected cause of {} on {} since {}, one incident.",
            shared.subject,
            shared.rule,
            counted(shared.nodes, "node", "nodes"),
            minute(&shared.since)
        );
        text.push_str(&wrapped(&line, COLUMNS, "  "));
    }
    text.push('\n');
}

fn lemons(report: &Report, text: &mut String) {
    if report.lemons.is_empty() {
        text.push_str("Lemons: none. No node fails far more often than the others.\n\n");
        return;
    }
    let all = u64::try_from(report.lemons.len()).unwrap_or(0);
    let shown = if report.lemons.len() > ROWS { format!(", first {ROWS} of {all}") } else { String::new() };
    text.push_str(&format!("Lemons: nodes that fail far more often than the others{shown}\n"));
    let mut table = Table::new(&[
        ("", Align::Left),
        ("findings", Align::Right),
        ("GPU-hours", Align::Right),
        ("7-day risk", Align::Right),
        ("flagged", Align::Left),
        ("reason", Align::Left),
    ]);
    for lemon in report.lemons.iter().take(ROWS) {
        table.row([
            lemon.node.clone(),
            thousands(lemon.findings),
            gpu_hours(lemon.gpu_seconds_at_stake),
            format!("{} %", percent(lemon.risk_ppm.into(), 1_000_000, 0)),
            day(&lemon.named_at),
            lemon.because_short.clone(),
        ]);
    }
    text.push_str(&table.text());
    text.push('\n');
}

fn latest(report: &Report, text: &mut String) {
    let all = report.findings.len();
    let few = all.min(ROWS);
    text.push_str(&format!("Latest {few} of {}\n", counted(u64::try_from(all).unwrap_or(0), "finding", "findings")));
    let mut table =
        Table::new(&[("found", Align::Left), ("", Align::Left), ("", Align::Left), ("Mainstay would", Align::Left)]);
    for finding in report.findings.iter().rev().take(ROWS) {
        table.row([
            minute(&finding.found_at),
            finding.node.clone(),
            format!("{}, {}", finding.rule, finding.part.words()),
            first_step(finding),
        ]);
    }
    text.push_str(&table.text());
    text.push('\n');
}

/// The first step that Mainstay would have taken.
fn first_step(finding: &Finding) -> String {
    would(finding).split(", else ").next().unwrap_or_default().to_owned()
}

/// The plan of a finding in words.
pub(super) fn would(finding: &Finding) -> String {
    match (&finding.would_act_at, finding.held_by) {
        (Some(_), _) => {
            let rungs: Vec<&str> =
                finding.plan.iter().copied().filter(|rung| *rung != RepairStep::Capture).map(rung).collect();
            if rungs.is_empty() {
                "drain, notify an operator".to_owned()
            } else {
                format!("drain, {}", rungs.join(", else "))
            }
        }
        (None, Some(on)) => format!("be blocked on {}", on.word()),
        (None, None) => "wait".to_owned(),
    }
}

pub(super) const fn rung(rung: RepairStep) -> &'static str {
    match rung {
        RepairStep::Capture => "capture",
        RepairStep::RestartService => "restart the service",
        RepairStep::ResetGpu => "reset the GPU",
        RepairStep::Reboot => "reboot",
        RepairStep::PowerCycle => "power cycle",
        RepairStep::Replace => "replace",
    }
}

pub(super) fn tickets(review: &Review) -> String {
    let count = |length: usize| u64::try_from(length).unwrap_or(u64::MAX);
    let earlier = if review.agree == 0 && review.different_cause.is_empty() {
        String::new()
    } else {
        format!(
            " Mainstay would have detected the fault {} before the ticket (median; 90th percentile {}).",
            duration(review.earlier_p50_seconds),
            duration(review.earlier_p90_seconds)
        )
    };
    format!(
        "{}: {} a finding, {} a different cause, {} no finding. {} no ticket.{earlier}",
        counted(review.tickets, "ticket", "tickets"),
        counted(review.agree, "matches", "match"),
        counted(count(review.different_cause.len()), "names", "name"),
        counted(count(review.without_finding.len()), "has", "have"),
        counted(count(review.finding_without_ticket.len()), "finding has", "findings have"),
    )
}

fn read(report: &Report) -> String {
    let sources = report.read.iter().map(|read| {
        let estimated = match read.volume.estimated {
            0 => String::new(),
            count => format!("; {} estimated", counted(count, "time", "times")),
        };
        format!("{} in {} ({}{estimated})", counted(read.volume.entries, "entry", "entries"), pieces(read), read.kind)
    });
    let skipped = report.skipped.iter().map(|line| format!("{} ({})", line.words, thousands(line.count)));
    let skipped: Vec<String> = skipped.collect();
    let skipped = if skipped.is_empty() { "nothing".to_owned() } else { skipped.join("; ") };
    let serials = counted(report.fleet.serials_known, "GPU serial", "GPU serials");
    format!("Read: {}. {serials} known. Skipped: {skipped}.", sources.collect::<Vec<_>>().join("; "))
}

/// Files, queries or lists, by the kind of the source.
fn pieces(read: &SourceVolume) -> String {
    let (one, many) = match read.kind {
        super::prometheus::KIND => ("query", "queries"),
        super::cluster::KIND => ("list", "lists"),
        _ => ("file", "files"),
    };
    counted(read.volume.pieces, one, many)
}

pub(super) fn day(written: &str) -> String {
    written.chars().take(10).collect()
}

pub(super) fn minute(written: &str) -> String {
    written.chars().take(16).map(|c| if c == 'T' { ' ' } else { c }).collect()
}
