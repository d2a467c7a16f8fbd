//! Multi-window, multi-burn-rate alerting: the windows and thresholds of an objective. They are those of chapter 5
//! "Alerting on SLOs" of The Site Reliability Workbook (<https://sre.google/workbook/alerting-on-slos/>, table 5-8), and one
//! more: a burn rate above 2 for 15 minutes. Each has the least number of bad events that may alert.

use mainstay_model::Span;

use crate::poisson::{MicroEvents, Poisson};
use crate::slo::{Counting, Severity, Slo};

/// One condition of an alert: too much of the budget is consumed within the long window, and the short window does not show
/// that it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BurnRule {
    /// Alert that the condition belongs to.
    pub alert: BurnAlert,
    /// Window that must consume the budget.
    pub long: Span,
    /// Window that must not show the end.
    pub short: Span,
    /// Thousandths of the burn rate above which the condition holds. At 1,000 the budget lasts exactly as long as the
    /// objective's window.
    pub burn_milli: u64,
    /// Least number of bad events in the long window, or least bad level.
    pub bad_min: u64,
}

/// The three alerts about a burning budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BurnAlert {
    /// Much of the budget is consumed within hours.
    Fast,
    /// The burn rate is above 2 for 15 minutes.
    Sustained,
    /// A tenth of the budget is consumed within days.
    Slow,
}

/// A row of the table: budget consumed within the long window, or a fixed burn rate.
struct Row {
    alert: BurnAlert,
    long: Span,
    short: Span,
    threshold: Threshold,
}

enum Threshold {
    BudgetPercent(u64),
    BurnMilli(u64),
}

#[rustfmt::skip] // one line a window, to be read as a table
const ROWS: [Row; 5] = [
    row(BurnAlert::Fast,      Span::hours(1),  Span::minutes(5),  Threshold::BudgetPercent(2)),
    row(BurnAlert::Fast,      Span::hours(6),  Span::minutes(30), Threshold::BudgetPercent(5)),
    row(BurnAlert::Sustained, Span::hours(1),  Span::minutes(15), Threshold::BurnMilli(2_000)),
    row(BurnAlert::Slow,      Span::hours(24), Span::hours(2),    Threshold::BudgetPercent(10)),
    row(BurnAlert::Slow,      Span::hours(72), Span::hours(6),    Threshold::BudgetPercent(10)),
];

const fn row(alert: BurnAlert, long: Span, short: Span, threshold: Threshold) -> Row {
    Row { alert, long, short, threshold }
}

/// Windows that a short window is widened to.
const LADDER: [Span; 7] = [
    Span::minutes(5),
    Span::minutes(15),
    Span::minutes(30),
    Span::hours(1),
    Span::hours(2),
    Span::hours(6),
    Span::hours(24),
];

/// Expected events in a short window. With fewer, one good job between two bad ones would end and repeat the page.
const SHORT_EVENTS_MIN: u64 = 4;

/// Below this burn rate the budget lasts, so nothing alerts.
const BURN_MILLI_MIN: u64 = 1_000;

/// False alerts in 30 days, in millionths, of one condition while the service consumes exactly its budget by independent
/// failures: 0.2 pages over three conditions, and one ticket over two.
const FALSE_PAGES: MicroEvents = MicroEvents(200_000 / 3);
const FALSE_TICKETS: MicroEvents = MicroEvents(1_000_000 / 2);
const MONTH: Span = Span::hours(720);
const DAY: Span = Span::hours(24);

/// Without an expected volume, one bad event must not open a ticket.
const BAD_MIN_UNKNOWN: u64 = 2;

/// The conditions of an objective that can hold at all. An objective that counts events and states no volume has no
/// conditions that page.
#[must_use]
pub fn burn_rules(slo: &Slo) -> Vec<BurnRule> {
    let is_unguarded = slo.counting() == Counting::Events && slo.volume().is_none();
    let rules = ROWS.iter().map(|row| rule(slo, row));
    rules.filter(|rule| rule.is_reachable(slo) && !(is_unguarded && rule.alert.severity() == Severity::Page)).collect()
}

/// The conditions that cannot hold even if every event is bad.
#[must_use]
pub fn unreachable_rules(slo: &Slo) -> Vec<BurnRule> {
    ROWS.iter().map(|row| rule(slo, row)).filter(|rule| !rule.is_reachable(slo)).collect()
}

fn rule(slo: &Slo, row: &Row) -> BurnRule {
    let burn_milli = match row.threshold {
        Threshold::BudgetPercent(percent) => (percent * 10 * slo.window().0 / row.long.0).max(BURN_MILLI_MIN),
        Threshold::BurnMilli(burn_milli) => burn_milli,
    };
    let (short, bad_min) = match slo.counting() {
        Counting::Level { bad_min } => (row.short, bad_min),
        Counting::Events => match slo.volume() {
            None => (row.short, BAD_MIN_UNKNOWN),
            Some(volume) => (short_window(row, volume), bad_min(slo, row, volume)),
        },
    };
    BurnRule { alert: row.alert, long: row.long, short, burn_milli, bad_min }
}

fn short_window(row: &Row, volume: u64) -> Span {
    let is_enough = |window: &Span| events_in(volume, *window).0 >= SHORT_EVENTS_MIN * 1_000_000;
    let wide = LADDER.into_iter().find(|window| *window >= row.short && is_enough(window));
    wide.unwrap_or(row.long).min(row.long)
}

fn bad_min(slo: &Slo, row: &Row, volume: u64) -> u64 {
    let bad = slo.budget().of(events_in(volume, row.long).0);
    let allowed = match row.alert.severity() {
        Severity::Page => FALSE_PAGES,
        Severity::Ticket => FALSE_TICKETS,
    };
    Poisson::new(MicroEvents(bad)).rarely_reached(MONTH.0 / row.long.0, allowed)
}

/// Expected events within a window.
pub(crate) fn events_in(volume_a_day: u64, window: Span) -> MicroEvents {
    let micro = u128::from(volume_a_day) * u128::from(window.0) * 1_000_000 / u128::from(DAY.0);
    MicroEvents(u64::try_from(micro).unwrap_or(u64::MAX))
}

// === impl BurnRule ===

impl BurnRule {
    /// Share of bad events above which the condition holds, in parts per billion.
    #[must_use]
    pub fn ratio_ppb(&self, slo: &Slo) -> u64 {
        self.burn_milli * u64::from(slo.budget().0)
    }

    fn is_reachable(&self, slo: &Slo) -> bool {
        self.ratio_ppb(slo) < 1_000_000_000
    }
}

// === impl BurnAlert ===

impl BurnAlert {
    /// All alerts, most urgent first.
    pub const ALL: [Self; 3] = [Self::Fast, Self::Sustained, Self::Slow];

    /// Severity of the alert, unless the objective allows tickets only.
    #[must_use]
    pub fn severity(self) -> Severity {
        match self {
            Self::Fast | Self::Sustained => Severity::Page,
            Self::Slow => Severity::Ticket,
        }
    }

    /// Time for which the condition must hold before the alert fires.
    #[must_use]
    pub fn hold(self) -> Span {
        match self {
            Self::Fast | Self::Slow => Span::ZERO,
            Self::Sustained => Span::minutes(15),
        }
    }
}
