//! The report on one screen: what happened, what it was worth, which nodes, and what the tickets say. Everything else is in
//! the JSON and on the page.

use std::path::Path;

use mainstay_model::Rung;

use super::report::{Finding, Report, Review};
use crate::draw::{
    Align, Table, bar, counted, duration, gpu_hours, gpu_hours_beside, percent, sparkline, thousands, wrapped,
};

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
    text.push_str(&wrapped(&read(report), COLUMNS, "  "));
    if let Some(page) = page {
        text.push_str(&format!("The whole report is in {}.\n", page.display()));
    }
    text
}

/// What happened, in a sentence or two.
pub(super) fn sentence(report: &Report) -> String {
    let fleet = &report.fleet;
    let days = counted(report.window.days, "day", "days");
    let nodes = counted(fleet.nodes, "node", "nodes");
    let acted = acted(report);
    if acted == 0 {
        return format!("{nodes} over {days}: Mainstay would have taken no node out.");
    }
    let of: std::collections::BTreeSet<&str> = would_act(report).map(|finding| finding.node.as_str()).collect();
    let stake = gpu_hours(report.stake.gpu_seconds);
    let reacted = if report.stake.reacted == 0 {
        String::new()
    } else {
        format!(
            " Where people reacted it took them {} (median), and one time in ten longer than {}.",
            duration(report.stake.reacted_p50_seconds),
            duration(report.stake.reacted_p90_seconds)
        )
    };
    format!(
        "{nodes} over {days}: Mainstay would have taken {} out, {} in all. They stayed in service for {stake} GPU-hours \
         after that.{reacted}",
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
    format!("{} of evidence were heard, and no rule wanted a node out for any of it.", counted(said, "piece", "pieces"))
}

fn kinds(report: &Report, text: &mut String) {
    let weeks: Vec<u64> = report.weeks.iter().map(|week| week.by_kind.iter().map(|(_, count)| count).sum()).collect();
    text.push_str(&format!("What was wrong, by week from {}  {}\n", day(&report.window.from), sparkline(&weeks)));
    let mut table = Table::new(&[
        ("", Align::Left),
        ("findings", Align::Right),
        ("GPU-hours at stake", Align::Right),
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
            "  {} is to blame for {} on {} since {}: one incident.",
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
        text.push_str("Lemons: no node fails so much more often than the others.\n\n");
        return;
    }
    let all = u64::try_from(report.lemons.len()).unwrap_or(0);
    let shown = if report.lemons.len() > ROWS { format!(", the first {ROWS} of {all}") } else { String::new() };
    text.push_str(&format!("Lemons: nodes that fail many times as often as others{shown}\n"));
    let mut table = Table::new(&[
        ("", Align::Left),
        ("findings", Align::Right),
        ("GPU-hours", Align::Right),
        ("risk in 7 d", Align::Right),
        ("named", Align::Left),
        ("because", Align::Left),
    ]);
    for lemon in report.lemons.iter().take(ROWS) {
        table.row([
            lemon.node.clone(),
            thousands(lemon.findings),
            gpu_hours(lemon.gpu_seconds_at_stake),
            format!("{} %", percent(lemon.risk_ppm.into(), 1_000_000, 0)),
            day(&lemon.named_at),
            // The page says it in full.
            lemon.because.replace("part-days of link or bus trouble", "link days"),
        ]);
    }
    text.push_str(&table.text());
    text.push('\n');
}

fn latest(report: &Report, text: &mut String) {
    let all = report.findings.len();
    let few = all.min(ROWS);
    text.push_str(&format!(
        "The latest {few} of {}\n",
        counted(u64::try_from(all).unwrap_or(0), "finding", "findings")
    ));
    let mut table = Table::new(&[("found", Align::Left), ("", Align::Left), ("", Align::Left), ("would", Align::Left)]);
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

/// What would have been done first.
fn first_step(finding: &Finding) -> String {
    would(finding).split(", else ").next().unwrap_or_default().to_owned()
}

/// What would have been done, in words.
pub(super) fn would(finding: &Finding) -> String {
    match (&finding.would_act_at, finding.held_by) {
        (Some(_), _) => {
            let rungs: Vec<&str> =
                finding.plan.iter().copied().filter(|rung| *rung != Rung::Capture).map(rung).collect();
            if rungs.is_empty() {
                "drain, tell a person".to_owned()
            } else {
                format!("drain, {}", rungs.join(", else "))
            }
        }
        (None, Some(on)) => format!("wait on {}", on.word().to_lowercase()),
        (None, None) => "wait".to_owned(),
    }
}

pub(super) const fn rung(rung: Rung) -> &'static str {
    match rung {
        Rung::Capture => "capture",
        Rung::RestartService => "restart the service",
        Rung::ResetGpu => "reset the GPU",
        Rung::Reboot => "reboot",
        Rung::PowerCycle => "power cycle",
        Rung::Replace => "replace",
    }
}

pub(super) fn tickets(review: &Review) -> String {
    let count = |length: usize| u64::try_from(length).unwrap_or(u64::MAX);
    let earlier = if review.agree == 0 && review.different_cause.is_empty() {
        String::new()
    } else {
        format!(
            " Mainstay would have known {} earlier (median), {} or more one time in ten.",
            duration(review.earlier_p50_seconds),
            duration(review.earlier_p90_seconds)
        )
    };
    format!(
        "{}: {} with a finding that says the same; {} another cause; {} without any finding. {} no ticket.{earlier}",
        counted(review.tickets, "ticket", "tickets"),
        thousands(review.agree),
        counted(count(review.different_cause.len()), "names", "name"),
        thousands(count(review.without_finding.len())),
        counted(count(review.finding_without_ticket.len()), "finding has", "findings have"),
    )
}

fn read(report: &Report) -> String {
    let sources = report.read.iter().map(|read| {
        format!(
            "{} in {} ({})",
            thousands(read.volume.entries),
            counted(read.volume.pieces, "piece", "pieces"),
            read.kind
        )
    });
    let skipped = report.skipped.iter().map(|line| format!("{} {}", thousands(line.count), line.words));
    let skipped: Vec<String> = skipped.collect();
    let skipped = if skipped.is_empty() { "nothing".to_owned() } else { skipped.join("; ") };
    let serials = counted(report.fleet.serials_known, "GPU is", "GPUs are");
    format!("Read: {}. {serials} known by serial. Passed over: {skipped}.", sources.collect::<Vec<_>>().join("; "))
}

pub(super) fn day(written: &str) -> String {
    written.chars().take(10).collect()
}

pub(super) fn minute(written: &str) -> String {
    written.chars().take(16).map(|c| if c == 'T' { ' ' } else { c }).collect()
}
