//! The error budget of an objective: how much is left, during which incidents it was consumed, and the fact that it is
//! spent. Missing data neither sets nor clears that fact.

use mainstay_model::{Ppm, Span, Timestamp};

use crate::slo::{Counting, Slo};

/// Most incidents that are named; the others count as unattributed.
pub const SHARES_MAX: usize = 16;

/// Newest hour must have ended within this time, or the data counts as missing.
const FRESH: Span = Span::minutes(10);
/// Lowest share that is reported. Beyond it, how much more was consumed does not matter.
const LEFT_PPM_MIN: i64 = -1_000_000_000;
const HOUR: Span = Span::hours(1);
const DAY_HOURS: u64 = 24;
/// Hours that may be missing, of 100, for data that counts as complete.
const MISSING_PERCENT_MAX: u64 = 1;

/// Events of one hour, in thousandths, because Prometheus extrapolates counts. Of a level, its average within the hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hour {
    /// End of the hour.
    pub ends_at: Timestamp,
    /// All events.
    pub total_milli: u64,
    /// Bad events.
    pub bad_milli: u64,
}

/// An incident that may have consumed budget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncidentTime {
    /// Name of the Incident object.
    pub name: String,
    /// Beginning of the incident.
    pub began_at: Timestamp,
    /// End of the incident; none while it is open.
    pub ended_at: Option<Timestamp>,
    /// Affected nodes, by which incidents of the same hour are weighed.
    pub nodes: u32,
}

/// The error budget over the window that ends with the newest hour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// End of the newest hour.
    pub observed_at: Timestamp,
    /// All events in the window, in thousandths.
    pub total_milli: u64,
    /// Bad events in the window, in thousandths.
    pub bad_milli: u64,
    /// Bad events that the objective allows in a whole window, in millionths.
    pub allowed_micro: u64,
    /// Share of the budget that is left, in ppm; negative if more than the budget was consumed.
    pub left_ppm: i64,
    /// Burn rate of the newest hour, in thousandths; none without events in it.
    pub burn_milli: Option<u64>,
    /// Hours of the window without data.
    pub hours_missing: u64,
    /// Budget left at the end of each day of the window, in ppm, oldest first.
    pub burn_down: Vec<i64>,
    /// When the budget was consumed: largest share first, what no incident explains last.
    pub shares: Vec<Share>,
}

/// Part of the bad events that happened during one incident.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// Name of the incident; none for bad events outside all named incidents.
    pub incident: Option<String>,
    /// Number of bad events, in thousandths.
    pub bad_milli: u64,
    /// Share of all bad events.
    pub share: Ppm,
}

/// Computes the error budget. None if the newest hour is old or missing, or without any event. Hours without data count
/// neither as good nor as bad: the budget is that of a whole window at the stated volume, or at the average one.
#[must_use]
pub fn account(slo: &Slo, hours: &[Hour], incidents: &[IncidentTime], now: Timestamp) -> Option<Account> {
    let mut hours: Vec<Hour> = hours.iter().copied().filter(|hour| hour.ends_at <= now).collect();
    hours.sort_by_key(|hour| hour.ends_at);
    hours.dedup_by_key(|hour| hour.ends_at);
    let observed_at = hours.last()?.ends_at;
    if now.since(observed_at) > FRESH {
        return None;
    }
    let began_at = Timestamp(observed_at.0.saturating_sub(i64::try_from(slo.window().0).unwrap_or(i64::MAX)));
    hours.retain(|hour| hour.ends_at > began_at);
    let sum = |of: fn(&Hour) -> u64| hours.iter().map(of).fold(0_u64, u64::saturating_add);
    let (total_milli, bad_milli) = (sum(|hour| hour.total_milli), sum(|hour| hour.bad_milli));
    let measured = u64::try_from(hours.len()).unwrap_or(u64::MAX);
    let hours_missing = (slo.window().0 / HOUR.0).saturating_sub(measured);
    let expected = u128::from(total_milli) + missing_milli(slo, hours_missing, total_milli, measured);
    let allowed_micro = u64::try_from(expected * u128::from(slo.budget().0) / 1_000).unwrap_or(u64::MAX);
    if allowed_micro == 0 {
        return None;
    }
    let left = |bad_milli: u64| {
        let consumed = u128::from(bad_milli) * 1_000_000_000 / u128::from(allowed_micro);
        1_000_000_i64.saturating_sub(i64::try_from(consumed).unwrap_or(i64::MAX)).max(LEFT_PPM_MIN)
    };
    let newest = hours.last().filter(|hour| hour.total_milli > 0);
    let burn_milli = newest.map(|hour| {
        let burn =
            u128::from(hour.bad_milli) * 1_000_000_000 / (u128::from(hour.total_milli) * u128::from(slo.budget().0));
        u64::try_from(burn).unwrap_or(u64::MAX)
    });
    let days = slo.window().0 / (HOUR.0 * DAY_HOURS);
    let day_ends = (1..=days).map(|day| began_at + Span(day * DAY_HOURS * HOUR.0));
    let burn_down = day_ends.map(|end| {
        let until = hours.iter().take_while(|hour| hour.ends_at <= end);
        left(until.map(|hour| hour.bad_milli).fold(0, u64::saturating_add))
    });
    Some(Account {
        observed_at,
        total_milli,
        bad_milli,
        allowed_micro,
        left_ppm: left(bad_milli),
        burn_milli,
        hours_missing,
        burn_down: burn_down.collect(),
        shares: shares(&hours, incidents),
    })
}

/// Events to expect in the hours without data, in thousandths.
fn missing_milli(slo: &Slo, hours_missing: u64, total_milli: u64, measured: u64) -> u128 {
    let missing = u128::from(hours_missing);
    match (slo.volume(), slo.counting()) {
        (Some(volume), Counting::Events) => missing * u128::from(volume) * 1_000 / u128::from(DAY_HOURS),
        (Some(level), Counting::Level { .. }) => missing * u128::from(level) * 1_000,
        (None, Counting::Events | Counting::Level { .. }) => {
            missing * u128::from(total_milli) / u128::from(measured.max(1))
        }
    }
}

/// Divides the bad events of each hour among the incidents that were open in it, by their number of nodes, so that the shares
/// add up. An old incident of one node thus takes little from a leaf outage.
fn shares(hours: &[Hour], incidents: &[IncidentTime]) -> Vec<Share> {
    let mut counts = vec![0_u64; incidents.len()];
    let (mut total, mut unattributed) = (0_u64, 0_u64);
    for Hour { ends_at, bad_milli, .. } in hours.iter().filter(|hour| hour.bad_milli > 0) {
        total = total.saturating_add(*bad_milli);
        let is_open = |one: &IncidentTime| {
            one.began_at <= *ends_at && one.ended_at.is_none_or(|ended_at| ended_at + HOUR > *ends_at)
        };
        let weight = |one: &IncidentTime| u128::from(one.nodes.max(1));
        let all: u128 = incidents.iter().filter(|one| is_open(one)).map(weight).sum();
        let mut rest = *bad_milli;
        for (one, count) in incidents.iter().zip(&mut counts).filter(|(one, _)| is_open(one)) {
            let part = u64::try_from(u128::from(*bad_milli) * weight(one) / all).unwrap_or(rest).min(rest);
            *count = count.saturating_add(part);
            rest -= part;
        }
        unattributed = unattributed.saturating_add(rest);
    }
    let share = |bad_milli: u64| {
        let ppm = u128::from(bad_milli) * 1_000_000 / u128::from(total.max(1));
        Ppm(u32::try_from(ppm).unwrap_or(Ppm::ONE.0))
    };
    let mut named: Vec<(u64, &str)> =
        incidents.iter().zip(counts).filter(|(_, bad)| *bad > 0).map(|(one, bad)| (bad, one.name.as_str())).collect();
    named.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    let rest: u64 = named.iter().skip(SHARES_MAX).map(|(bad, _)| bad).sum();
    unattributed = unattributed.saturating_add(rest);
    named.truncate(SHARES_MAX);
    let mut shares: Vec<Share> = named
        .into_iter()
        .map(|(bad_milli, name)| Share { incident: Some(name.to_owned()), bad_milli, share: share(bad_milli) })
        .collect();
    // Below one event only the rests of divisions are left.
    if unattributed >= 1_000 || (unattributed > 0 && shares.is_empty()) {
        shares.push(Share { incident: None, bad_milli: unattributed, share: share(unattributed) });
    }
    shares
}

/// Whether the error budget is spent, as last observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetFact {
    /// What the data showed.
    pub state: BudgetState,
    /// Time of that data.
    pub observed_at: Timestamp,
    /// Time at which the fact ends if no data renews it: every event that it was computed from has left the window.
    pub expires_at: Timestamp,
}

/// State of an error budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetState {
    /// Nothing of the budget is left.
    Spent,
    /// Some of the budget is left.
    Left,
}

/// The fact after an attempt to read the budget. Without data the previous fact stays until it expires; then nothing is
/// known, which is neither spent nor left. Data that is older than the fact changes nothing, and data with missing hours
/// cannot end a spent budget: the bad events may be in those hours.
#[must_use]
pub fn budget_fact(
    slo: &Slo,
    previous: Option<BudgetFact>,
    account: Option<&Account>,
    now: Timestamp,
) -> Option<BudgetFact> {
    let previous = previous.filter(|fact| now < fact.expires_at);
    let Some(account) = account else { return previous };
    if previous.is_some_and(|fact| fact.observed_at > account.observed_at) {
        return previous;
    }
    let state = if account.left_ppm <= 0 { BudgetState::Spent } else { BudgetState::Left };
    let has_gaps = account.hours_missing * 100 > slo.window().0 / HOUR.0 * MISSING_PERCENT_MAX;
    if let Some(fact) = previous
        && (fact.state, state, has_gaps) == (BudgetState::Spent, BudgetState::Left, true)
    {
        return previous;
    }
    Some(BudgetFact { state, observed_at: account.observed_at, expires_at: account.observed_at + slo.window() })
}
