//! One outcome on a terminal: what it comes to in a sentence, then where the time went, then how well the brain judged.
//! It fits 100 columns and needs no colour.

mod engine;
#[cfg(test)]
mod tests;

use mainstay_model::Stage;
use mainstay_sim::{Cause, Loss, Outcome};
use mainstay_text::{
    Align, Table, bar, counted, duration, gpu_hours, gpu_hours_beside, percent, sparkline, thousands, wrapped,
};

/// The width of what is printed.
pub(super) const COLUMNS: usize = 100;
/// The most rows of reasons.
const REASONS_MAX: usize = 12;
/// The longest sparkline.
const SPARKS_MAX: usize = 60;

/// The summary of one run.
pub(super) fn text(outcome: &Outcome) -> String {
    let sections = [
        head(outcome),
        lost(outcome),
        out(outcome),
        over_time(outcome),
        engine::times(outcome),
        engine::classes(outcome),
        engine::totals(outcome),
        limits(),
    ];
    sections.join("\n")
}

fn head(outcome: &Outcome) -> String {
    let (run, work) = (&outcome.run, &outcome.work);
    let mut text = wrapped(&verdict(outcome), COLUMNS, "");
    let settings: Vec<String> = run.settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let set = if settings.is_empty() { "defaults".to_owned() } else { settings.join(", ") };
    let interruptions: u64 = work.interruptions.values().sum();
    let drained = match work.drains {
        0 => String::new(),
        drains => {
            format!(", {} of them by drains ({} GPU-hours)", thousands(drains), gpu_hours(work.drained_gpu_seconds))
        }
    };
    let line = |name: &str, told: &str| format!("  {name:<6}{}", wrapped(told, COLUMNS - 8, "        "));
    text.push('\n');
    text.push_str(&line(
        "run",
        &format!(
            "{} GPUs in {}, {}, seed {}, {} rates, {}",
            thousands(run.gpus.into()),
            counted(run.nodes.into(), "node", "nodes"),
            counted(run.days.into(), "day", "days"),
            run.seed,
            run.rates,
            counted(run.jobs.into(), "job", "jobs"),
        ),
    ));
    text.push_str(&line("set", &set));
    text.push_str(&line(
        "jobs",
        &format!(
            "{} finished, {} running and {} waiting at the end; interrupted {}{drained}; checkpoints requested {}, \
             saved in time {}",
            thousands(work.finished),
            thousands(work.running),
            thousands(work.waiting),
            counted(interruptions, "time", "times"),
            counted(work.saves_asked, "time", "times"),
            thousands(work.saves_answered),
        ),
    ));
    text
}

/// The first line. A broken invariant comes before everything else.
fn verdict(outcome: &Outcome) -> String {
    let work = &outcome.work;
    let lost: u64 = outcome.lost.values().map(Loss::total).sum();
    let (brain, quarantines) = (&outcome.engine, &outcome.quarantines);
    let went = format!(
        "Jobs held {} % of GPU time and lost {} % of that, {} GPU-hours of work",
        percent(work.held_gpu_seconds, work.gpu_seconds, 1),
        percent(lost, work.held_gpu_seconds, 2),
        gpu_hours(lost),
    );
    let judged = match quarantines.total {
        0 => "no rule removed a node".to_owned(),
        total => {
            format!("{} of {} were correct", thousands(quarantines.right), counted(total, "quarantine", "quarantines"))
        }
    };
    if brain.violations > 0 {
        let found = counted(brain.violations, "violation", "violations");
        return format!(
            "UNSAFE: the auditor found {found} in {} decisions. {went}; {judged}.",
            thousands(brain.decisions)
        );
    }
    format!("{went}; {judged}; the auditor found no violation in {} decisions.", thousands(brain.decisions))
}

fn lost(outcome: &Outcome) -> String {
    let mut rows: Vec<_> = outcome.lost.iter().filter(|(_, loss)| loss.total() > 0).collect();
    if rows.is_empty() {
        return "Work lost: none.\n".into();
    }
    rows.sort_by_key(|(cause, loss)| (std::cmp::Reverse(loss.total()), **cause));
    let most = rows.first().map_or(0, |(_, loss)| loss.total());
    let mut table = Table::new(&[
        ("cause", Align::Left),
        ("all", Align::Right),
        ("redone", Align::Right),
        ("hung", Align::Right),
        ("restart", Align::Right),
        ("saving", Align::Right),
        ("slowed", Align::Right),
        ("", Align::Left),
    ]);
    let cells = |name: &str, loss: &Loss| {
        let parts = [
            loss.total(),
            loss.redone_gpu_seconds,
            loss.hung_gpu_seconds,
            loss.restarting_gpu_seconds,
            loss.saving_gpu_seconds,
            loss.slowed_gpu_seconds,
        ];
        std::iter::once(name.to_owned()).chain(parts.map(|part| gpu_hours_beside(part, most))).collect::<Vec<_>>()
    };
    let mut all = Loss::default();
    for (cause, loss) in rows {
        all.redone_gpu_seconds += loss.redone_gpu_seconds;
        all.hung_gpu_seconds += loss.hung_gpu_seconds;
        all.restarting_gpu_seconds += loss.restarting_gpu_seconds;
        all.saving_gpu_seconds += loss.saving_gpu_seconds;
        all.slowed_gpu_seconds += loss.slowed_gpu_seconds;
        table.row(cells(name_of(*cause), loss).into_iter().chain([bar(loss.total(), most, 18)]));
    }
    table.row(cells("all", &all));
    format!("Work lost, in GPU-hours, by cause\n{}", table.text())
}

fn out(outcome: &Outcome) -> String {
    let run = &outcome.run;
    let all: u64 = outcome.out_gpu_seconds.values().sum();
    let mut rows: Vec<_> = outcome.out_gpu_seconds.iter().filter(|(_, seconds)| **seconds > 0).collect();
    if rows.is_empty() {
        return "Out of service: no node.\n".into();
    }
    rows.sort_by_key(|(reason, seconds)| (std::cmp::Reverse(**seconds), *reason));
    let most = rows.first().map_or(0, |(_, seconds)| **seconds);
    let mut table = Table::new(&[
        ("reason", Align::Left),
        ("GPU-hours", Align::Right),
        ("nodes", Align::Right),
        ("% of out", Align::Right),
        ("", Align::Left),
    ]);
    let node_seconds = u64::from(run.gpus.checked_div(run.nodes).unwrap_or(0)) * u64::from(run.days) * 86_400;
    // Thousandths of a node that was out all the time, with two digits.
    let nodes = |seconds: u64| share(seconds, node_seconds.saturating_mul(100), 2);
    let mut row = |reason: String, seconds: u64| {
        let cells = [reason, gpu_hours_beside(seconds, most), nodes(seconds), share(seconds, all, 1)];
        table.row(cells.into_iter().chain([bar(seconds, most, 40)]));
    };
    // A long tail of little is one row; a single one keeps its name.
    let named = if rows.len() > REASONS_MAX { REASONS_MAX - 1 } else { rows.len() };
    let (first, tail) = rows.split_at(named);
    for (reason, seconds) in first {
        row((*reason).clone(), **seconds);
    }
    if !tail.is_empty() {
        row(format!("{} more reasons", tail.len()), tail.iter().map(|(_, seconds)| **seconds).sum());
    }
    table.row(["all".to_owned(), gpu_hours_beside(all, most), nodes(all), share(all, all, 1)]);
    let stages: Vec<String> = outcome
        .out_by_stage_gpu_seconds
        .iter()
        .filter(|(_, seconds)| **seconds > 0)
        .map(|(stage, seconds)| format!("{} {}", stage_in_words(*stage), gpu_hours_beside(*seconds, most)))
        .collect();
    let stages = match stages.is_empty() {
        true => String::new(),
        false => indented(&format!("By stage, in GPU-hours: {}.", stages.join(", "))),
    };
    format!("Out of service, by reason (nodes: average at any time)\n{}{stages}", table.text())
}

/// The name of a cause in the table.
const fn name_of(cause: Cause) -> &'static str {
    match cause {
        Cause::People => "operators",
        Cause::Fault(_) | Cause::FalseAlarm => cause.word(),
    }
}

/// A share in which something is never nothing.
fn share(part: u64, whole: u64, decimals: u32) -> String {
    match percent(part, whole, decimals) {
        nothing if part > 0 && nothing.chars().all(|character| matches!(character, '0' | '.')) => {
            format!("<{}1", nothing.strip_suffix('0').unwrap_or_default())
        }
        share => share,
    }
}

/// A node may be in service for us and take no work all the same.
fn stage_in_words(stage: Stage) -> String {
    match stage {
        Stage::InService => "InService but cordoned by others or not ready".to_owned(),
        Stage::Bootstrapping
        | Stage::Suspect
        | Stage::Quarantined
        | Stage::Draining
        | Stage::Repairing
        | Stage::Qualifying
        | Stage::Maintenance
        | Stage::Upgrading
        | Stage::Held
        | Stage::Retired => format!("{stage:?}"),
    }
}

/// Days side by side, or several in one column where there are too many for a line.
fn over_time(outcome: &Outcome) -> String {
    let series = &outcome.series;
    let steps = series.nodes_out.len().max(series.lost_gpu_seconds.len());
    if steps == 0 || series.step_seconds == 0 {
        return "Over time: no data.\n".into();
    }
    let a_day = usize::try_from(86_400 / series.step_seconds).unwrap_or(1).max(1);
    let days = steps.div_ceil(a_day);
    let column = a_day * days.div_ceil(SPARKS_MAX);
    let out: Vec<u64> =
        series.nodes_out.chunks(column).map(|chunk| chunk.iter().copied().max().unwrap_or(0).into()).collect();
    let lost: Vec<u64> = series.lost_gpu_seconds.chunks(column).map(|chunk| chunk.iter().sum()).collect();
    let most = |values: &[u64]| values.iter().copied().max().unwrap_or(0);
    let seconds = u64::try_from(column).unwrap_or(1).saturating_mul(series.step_seconds);
    let mut table = Table::new(&[("", Align::Left), ("", Align::Left), ("most", Align::Right)]);
    table.row(["nodes out".to_owned(), sparkline(&out), thousands(most(&out))]);
    table.row(["GPU-hours lost".to_owned(), sparkline(&lost), gpu_hours(most(&lost))]);
    let looks = duration(series.step_seconds);
    format!("Over time, {} per column; nodes out of service sampled every {looks}\n{}", duration(seconds), table.text())
}

fn indented(text: &str) -> String {
    format!("  {}", wrapped(text, COLUMNS - 2, "  "))
}

/// What these figures are not.
fn limits() -> String {
    let text = "Simulation only. Faults, sensors and repairs follow our own failure model (published rates and stated \
                assumptions). Correct and wrong are relative to that model, not to a real fleet. The simulator places \
                jobs first-fit, without a scheduler.";
    wrapped(text, COLUMNS, "")
}
