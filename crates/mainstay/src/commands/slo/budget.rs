//! The error budget of an objective as text: how much is left, how fast it burns, and during which incidents it was consumed.

use mainstay_account::rules::decimal;
use mainstay_api::{Slo, SloConsumer, SloStatus};
use mainstay_engine::why::NO_ACTION;
use mainstay_model::Timestamp;
use mainstay_text::{counted, duration, percent, sparkline};

use super::super::why::labelled;

/// Consumers that are named in one line.
const CONSUMERS_MAX: usize = 4;

/// Budget left in percent, with a mark if it is spent; a question mark where nothing is known.
pub(super) fn left(status: Option<&SloStatus>) -> String {
    let Some(left) = status.and_then(|status| status.budget_left_ppm) else { return "?".to_owned() };
    let mark = if status.is_some_and(SloStatus::is_spent) { "▲ " } else { "" };
    format!("{mark}{}", ppm(left))
}

/// Lines about the budget, one for each thing that is known.
pub(super) fn lines(slo: &Slo, now: Timestamp) -> String {
    let mut text = String::new();
    if let Some(status) = &slo.status
        && let Some(left) = status.budget_left_ppm
    {
        let (bad, allowed) = (milli(status.bad_events_milli), milli(status.allowed_bad_events_milli));
        let spent = if status.is_spent() { ": the budget is spent" } else { "" };
        text.push_str(&labelled("Budget left", &format!("{}, {bad} bad of {allowed} allowed{spent}", ppm(left))));
        text.push_str(&labelled("Burn rate", &burn_rate(status)));
        let days: Vec<u64> =
            status.burn_down_ppm.as_slice().iter().map(|left| u64::try_from(*left).unwrap_or(0)).collect();
        text.push_str(&labelled("Burn-down", &format!("{} one column a day", sparkline(&days))));
        text.push_str(&labelled("Consumed", &consumed(status.consumers.as_slice())));
    }
    text.push_str(&labelled("Data", &data(slo, now)));
    text
}

fn burn_rate(status: &SloStatus) -> String {
    match status.burn_rate_milli {
        None => "no events in the last hour".to_owned(),
        Some(0) => "0 in the last hour: no bad events".to_owned(),
        Some(burn) => format!("{} in the last hour; at 1 the budget lasts one window", milli(burn)),
    }
}

fn consumed(consumers: &[SloConsumer]) -> String {
    if consumers.is_empty() {
        return "no bad events".to_owned();
    }
    let one = |consumer: &SloConsumer| {
        let share = percent(u64::try_from(consumer.share_ppm).unwrap_or(0), 1_000_000, 0);
        match &consumer.incident {
            Some(incident) => format!("{share} % during {incident}"),
            None => format!("{share} % outside known incidents"),
        }
    };
    let named: Vec<String> = consumers.iter().take(CONSUMERS_MAX).map(one).collect();
    let more = consumers.len().saturating_sub(CONSUMERS_MAX);
    let more = if more > 0 { format!("; {more} more with -o json") } else { String::new() };
    named.join("; ") + &more
}

/// Age of the data, its gaps, and why there is no newer one.
fn data(slo: &Slo, now: Timestamp) -> String {
    let mut parts = Vec::new();
    if let Some(status) = &slo.status
        && let Some(at) = status.observed_at
    {
        parts.push(format!("{} old", duration(now.since(at.into()).0 / 1_000)));
        let hours = u64::try_from(status.hours_missing).unwrap_or(0);
        if hours > 0 {
            parts.push(format!("{} of the window without data", counted(hours, "hour", "hours")));
        }
    }
    parts.extend(slo.problem().map(ToOwned::to_owned));
    parts.join("; ")
}

/// Name and state of an objective.
pub(super) fn headline(name: &str, status: Option<&SloStatus>) -> String {
    const GOOD: &str = "within its error budget";
    let state = match status {
        Some(status) if status.is_spent() => "its error budget is spent",
        Some(status) if burns(status) => "it burns its error budget too fast",
        Some(status) if status.budget_left_ppm.is_some() => GOOD,
        Some(_) | None => "its error budget is not known",
    };
    format!("{} {name}: {state}\n", if state == GOOD { '●' } else { '▲' })
}

/// Whether the budget would not last its window at the rate of the last hour.
fn burns(status: &SloStatus) -> bool {
    status.burn_rate_milli.is_some_and(|burn| burn > 1_000)
}

/// What an operator should do now.
pub(super) fn action(slo: &Slo) -> String {
    if slo.problem().is_some() {
        return "correct what Data states; \"Set one up\" in docs/operate/slo.md has the steps".to_owned();
    }
    let Some(status) = slo.status.as_ref().filter(|status| burns(status) || status.is_spent()) else {
        return NO_ACTION.to_owned();
    };
    let largest = status.consumers.as_slice().iter().find_map(|one| one.incident.as_ref());
    let incident = largest.map(|name| format!("`mainstay why incident {name}` explains the largest share. "));
    format!("{}The runbook is {}.", incident.unwrap_or_default(), slo.spec.runbook_url)
}

/// Parts per million as percent with one decimal.
fn ppm(ppm: i64) -> String {
    let tenths = ppm.unsigned_abs().saturating_add(500) / 1_000;
    format!("{}{}.{} %", if ppm < 0 && tenths > 0 { "-" } else { "" }, tenths / 10, tenths % 10)
}

fn milli(count: i64) -> String {
    decimal(u64::try_from(count).unwrap_or(0), 3)
}

#[cfg(test)]
mod tests;
