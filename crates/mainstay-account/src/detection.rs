//! The time until an outage alerts, computed from the objective and its expected volume, and what makes an objective
//! impossible to alert on in time.

use mainstay_model::{Ppm, Span};

use crate::burn::{BurnRule, burn_rules, events_in, unreachable_rules};
use crate::poisson::{MicroEvents, Poisson};
use crate::slo::{Counting, Severity, Slo};

/// Share of outages that alert within the computed time.
const SURE: Ppm = Ppm(999_000);
const UNSURE: Ppm = Ppm(Ppm::ONE.0 - SURE.0);

/// Scrape interval and evaluation interval, one minute each.
const LATENCY: Span = Span::minutes(2);

/// Windows above this are averages of the one-hour window, which lags by an hour.
pub(crate) const RAW_MAX: Span = Span::hours(6);
const LAG: Span = Span::hours(1);

/// Counts above this vary by less than two percent, so they are treated as exact.
const EXACT_FROM: u64 = 50_000;

const MINUTE: Span = Span::minutes(1);

/// What an operator must know before relying on the alerts of an objective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Concern {
    /// The volume is not stated, so no minimum of bad events can be computed and nothing pages.
    NoVolume,
    /// A window cannot alert, because its burn rate exceeds that of a total outage.
    Unreachable {
        /// Window that was left out.
        long: Span,
        /// Its burn rate, in thousandths.
        burn_milli: u64,
    },
    /// A total outage spends the error budget before it alerts.
    Late {
        /// Time until the alert; none if no alert is sure to fire.
        alert_after: Option<Span>,
        /// Time until the whole budget is spent.
        spent_after: Span,
    },
}

/// Longest time until an outage raises an alert of at least this severity, in 999 of 1,000 outages. `bad` is the share of
/// events that are bad during the outage. None if no alert is sure to fire.
#[must_use]
pub fn detection_time(slo: &Slo, bad: Ppm, severity: Severity) -> Option<Span> {
    let rules = burn_rules(slo);
    let urgent = rules.iter().filter(|rule| rule.alert.severity().min(slo.severity()) >= severity);
    urgent.filter_map(|rule| fires_after(slo, rule, bad)).min()
}

/// Everything that limits the alerts of an objective.
#[must_use]
pub fn concerns(slo: &Slo) -> Vec<Concern> {
    let mut concerns = Vec::new();
    if slo.counting() == Counting::Events && slo.volume().is_none() {
        concerns.push(Concern::NoVolume);
    }
    for BurnRule { long, burn_milli, .. } in unreachable_rules(slo) {
        concerns.push(Concern::Unreachable { long, burn_milli });
    }
    let spent_after = Span(slo.budget().of(slo.window().0));
    let alert_after = detection_time(slo, Ppm::ONE, slo.severity());
    if alert_after.is_none_or(|after| after > spent_after) {
        concerns.push(Concern::Late { alert_after, spent_after });
    }
    concerns
}

fn fires_after(slo: &Slo, rule: &BurnRule, bad: Ppm) -> Option<Span> {
    if u64::from(bad.0) * 1_000 <= rule.ratio_ppb(slo) {
        return None;
    }
    let reached = match slo.counting() {
        Counting::Events => events_reach(slo, rule, bad)?,
        Counting::Level { bad_min } => level_reaches(slo, rule, bad, bad_min),
    };
    let lag = if rule.long > RAW_MAX { LAG } else { Span::ZERO };
    (reached <= rule.long).then_some(Span(reached.0 + rule.alert.hold().0 + LATENCY.0 + lag.0))
}

/// The average of a level rises evenly while the outage fills the window.
fn level_reaches(slo: &Slo, rule: &BurnRule, bad: Ppm, bad_min: u64) -> Span {
    let by_ratio = u128::from(rule.long.0) * u128::from(rule.ratio_ppb(slo)) / (u128::from(bad.0.max(1)) * 1_000);
    let units = slo.volume().map_or(u64::MAX, |volume| bad.of(volume));
    let by_level = u128::from(rule.long.0) * u128::from(bad_min) / u128::from(units.max(1));
    Span(u64::try_from(by_ratio.max(by_level)).unwrap_or(u64::MAX))
}

/// First minute of the outage at which the long window is sure to show it.
fn events_reach(slo: &Slo, rule: &BurnRule, bad: Ppm) -> Option<Span> {
    let volume = slo.volume()?;
    let minutes = rule.long.0 / MINUTE.0;
    // More bad and fewer good events are in the window with every minute, so the first such minute can be bisected.
    let is_sure = |minute: u64| {
        let bad_events = bad.of(events_in(volume, Span(minute * MINUTE.0)).0);
        let good_events = events_in(volume, rule.long).0.saturating_sub(bad_events);
        shows(slo, rule, MicroEvents(bad_events), MicroEvents(good_events), rule.bad_min)
    };
    if !is_sure(minutes) {
        return None;
    }
    let (mut low, mut high) = (0, minutes);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if is_sure(middle) { high = middle } else { low = middle }
    }
    let reached = Span(high * MINUTE.0);
    (reached <= rule.short || stays_bad(slo, rule, bad, volume)).then_some(reached)
}

/// Whether the share of bad events is sure to exceed the threshold, with unusually few bad and unusually many good ones.
fn shows(slo: &Slo, rule: &BurnRule, bad: MicroEvents, good: MicroEvents, bad_min: u64) -> bool {
    let exact = |mean: MicroEvents| mean.0 / 1_000_000 > EXACT_FROM;
    let most = if exact(good) { good.0 / 1_000_000 / 50 * 51 } else { Poisson::new(good).upper(UNSURE) };
    let ratio = rule.ratio_ppb(slo);
    let needed = u128::from(most) * u128::from(ratio) / u128::from(1_000_000_000 - ratio) + 1;
    let needed = u64::try_from(needed).unwrap_or(u64::MAX).max(bad_min);
    if exact(bad) { bad.0 / 1_000_000 / 50 * 49 >= needed } else { Poisson::new(bad).at_least(needed) >= SURE }
}

/// Whether the short window is sure to show the outage all the time. A window without any event does not end an alert, so a
/// total outage always shows.
fn stays_bad(slo: &Slo, rule: &BurnRule, bad: Ppm, volume: u64) -> bool {
    let events = events_in(volume, rule.short).0;
    let bad_events = bad.of(events);
    // Without a hold, one moment in which both windows show the outage is enough.
    let is_clear = rule.alert.hold() == Span::ZERO && u64::from(bad.0) * 1_000 >= 2 * rule.ratio_ppb(slo);
    bad == Ppm::ONE || is_clear || shows(slo, rule, MicroEvents(bad_events), MicroEvents(events - bad_events), 1)
}
