//! The Prometheus rules of an objective, as values. Recorded series are `mainstay:slo_bad:WINDOW` and
//! `mainstay:slo_total:WINDOW` with the label `slo`: counts, because a ratio hides how few events it was made of.

use mainstay_model::{Span, counted};

use crate::burn::{BurnAlert, BurnRule, burn_rules};
use crate::catalogue::quoted;
use crate::detection::RAW_MAX;
use crate::slo::{Counting, Severity, Slo, WINDOW};

/// A group of rules that are evaluated one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleGroup {
    /// Unique name of the group.
    pub name: String,
    /// Time between two evaluations.
    pub interval: Span,
    /// Rules that store a series, in the order of their use.
    pub records: Vec<RecordingRule>,
    /// Rules that alert.
    pub alerts: Vec<AlertRule>,
}

/// A rule that stores the result of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordingRule {
    /// Name of the stored series.
    pub record: String,
    /// Query in PromQL.
    pub expr: String,
    /// Label `slo` of the stored series.
    pub slo: String,
}

/// A rule that alerts while its query has a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlertRule {
    /// Name of the alert.
    pub alert: &'static str,
    /// Query in PromQL.
    pub expr: String,
    /// Time for which the query must have a result before the alert fires.
    pub hold: Span,
    /// Label `slo` of the alert.
    pub slo: String,
    /// Label `owner` of the alert.
    pub owner: String,
    /// Label `severity` of the alert.
    pub severity: Severity,
    /// One sentence about what is wrong.
    pub summary: String,
    /// Windows, thresholds and minimum of the alert.
    pub description: String,
    /// Address of the runbook.
    pub runbook_url: String,
}

/// Time between two evaluations.
const INTERVAL: Span = Span::minutes(1);
/// Window that longer ones are averages of.
const BASE: Span = Span::hours(1);
/// Window whose absence means that nothing is measured.
const FRESH: Span = Span::minutes(5);
/// Absence that opens a ticket: longer than a restart of the exporter.
const MISSING_HOLD: Span = Span::minutes(15);
/// Time for which the volume must be wrong before a ticket opens.
const VOLUME_HOLD: Span = Span::hours(6);
const DAY: Span = Span::hours(24);

/// The rules of an objective.
#[must_use]
pub fn rules(slo: &Slo) -> RuleGroup {
    let burn = burn_rules(slo);
    let mut windows: Vec<Span> =
        burn.iter().flat_map(|rule| [rule.long, rule.short]).chain([FRESH, BASE, DAY]).collect();
    // Ascending, so that a window comes after the one that it is an average of.
    windows.sort_unstable();
    windows.dedup();
    let records = windows.into_iter().chain([slo.window()]).flat_map(|window| records(slo, window)).collect();
    let alerts = BurnAlert::ALL.iter().filter_map(|alert| burn_alert(slo, *alert, &burn));
    let alerts = alerts.chain([missing(slo)]).chain(volume_changed(slo)).collect();
    RuleGroup { name: format!("mainstay-slo-{}", slo.name()), interval: INTERVAL, records, alerts }
}

/// Queries of all and of bad events within the last hour. Several replicas of one Prometheus count once.
#[must_use]
pub fn hour_queries(slo: &Slo) -> [String; 2] {
    ["total", "bad"].map(|what| format!("max({})", series(slo, what, BASE)))
}

/// Name of a recorded series, with its label.
fn series(slo: &Slo, what: &str, window: Span) -> String {
    format!("mainstay:slo_{what}:{}{{slo={}}}", window_name(window), quoted(slo.name()))
}

fn records(slo: &Slo, window: Span) -> [RecordingRule; 2] {
    let record = |what: &str, expr: String| {
        let record = format!("mainstay:slo_{what}:{}", window_name(window));
        RecordingRule { record, expr, slo: slo.name().to_owned() }
    };
    if window > RAW_MAX {
        let average = |what: &str| {
            let base = series(slo, what, BASE);
            let average = format!("avg_over_time({base}[{}])", window_name(window));
            match slo.counting() {
                Counting::Events => format!("{average} * {}", window.0 / BASE.0),
                Counting::Level { .. } => average,
            }
        };
        return [record("bad", average("bad")), record("total", average("total"))];
    }
    let queries = slo.sli().queries();
    let name = window_name(window);
    let (good, total) = (queries.good.replace(WINDOW, &name), queries.total.replace(WINDOW, &name));
    // Events without any good one are bad. Without a total both series are absent: that is neither good nor bad.
    let bad = format!("clamp_min(sum({total}) - (sum({good}) or sum({total}) * 0), 0)");
    [record("bad", bad), record("total", format!("sum({total})"))]
}

fn burn_alert(slo: &Slo, alert: BurnAlert, burn: &[BurnRule]) -> Option<AlertRule> {
    let rules: Vec<&BurnRule> = burn.iter().filter(|rule| rule.alert == alert).collect();
    if rules.is_empty() {
        return None;
    }
    let conditions: Vec<String> = rules.iter().map(|rule| condition(slo, rule)).collect();
    let windows: Vec<String> = rules.iter().map(|rule| in_words(slo, rule)).collect();
    let (name, summary) = match alert {
        BurnAlert::Fast => ("MainstaySloBurnFast", "consumes its error budget within hours"),
        BurnAlert::Sustained => {
            ("MainstaySloBurnSustained", "burns its error budget at more than twice the allowed rate")
        }
        BurnAlert::Slow => ("MainstaySloBurnSlow", "consumes a tenth of its error budget within days"),
    };
    let description = format!("Fires if {}.", windows.join(", or if "));
    let severity = alert.severity().min(slo.severity());
    Some(self::alert(slo, name, conditions.join("\nor\n"), alert.hold(), severity, (summary, description)))
}

/// A short window without events does not end the alert: no news is not a recovery.
fn condition(slo: &Slo, rule: &BurnRule) -> String {
    let threshold = decimal(rule.ratio_ppb(slo), 9);
    let ratio = |window| format!("{} / {}", series(slo, "bad", window), series(slo, "total", window));
    // Prometheus extrapolates counts to the edges of the window, so three events may appear as 2.9.
    let least = match slo.counting() {
        Counting::Events => decimal((rule.bad_min * 10).saturating_sub(5), 1),
        Counting::Level { .. } => rule.bad_min.to_string(),
    };
    format!(
        "({} > {threshold} and {} >= {least} unless {} <= {threshold})",
        ratio(rule.long),
        series(slo, "bad", rule.long),
        ratio(rule.short)
    )
}

fn in_words(slo: &Slo, rule: &BurnRule) -> String {
    let least = match slo.counting() {
        Counting::Events => counted(rule.bad_min, "bad event", "bad events"),
        Counting::Level { .. } => format!("a bad level of {}", rule.bad_min),
    };
    let (long, short) = (window_name(rule.long), window_name(rule.short));
    let burn = decimal(rule.burn_milli, 3);
    format!("the burn rate over {long} is above {burn} with at least {least}, and {short} do not show a lower one")
}

fn missing(slo: &Slo) -> AlertRule {
    let expr = format!("absent({})", series(slo, "total", FRESH));
    let description = "The query for all events has no result. Missing data counts neither as good nor as bad.";
    let says = ("has no data", description.to_owned());
    alert(slo, "MainstaySloDataMissing", expr, MISSING_HOLD, Severity::Ticket, says)
}

/// With more events than stated, the least number of bad events that may page is too low.
fn volume_changed(slo: &Slo) -> Option<AlertRule> {
    let volume = slo.volume().filter(|_| slo.counting() == Counting::Events)?;
    let expr = format!("{} > {}", series(slo, "total", DAY), volume.saturating_mul(2));
    let description =
        format!("More than twice the stated {volume} events a day. State the new volume, so that the limits fit it.");
    let says = ("has more events than stated", description);
    Some(alert(slo, "MainstaySloVolumeChanged", expr, VOLUME_HOLD, Severity::Ticket, says))
}

fn alert(
    slo: &Slo,
    alert: &'static str,
    expr: String,
    hold: Span,
    severity: Severity,
    (summary, description): (&str, String),
) -> AlertRule {
    AlertRule {
        alert,
        expr,
        hold,
        slo: slo.name().to_owned(),
        owner: slo.owner().to_owned(),
        severity,
        summary: format!("SLO {} {summary}", slo.name()),
        description,
        runbook_url: slo.runbook_url().to_owned(),
    }
}

/// A window in the spelling of PromQL.
#[must_use]
pub fn window_name(window: Span) -> String {
    let minutes = window.0 / 60_000;
    match minutes {
        _ if minutes.is_multiple_of(1_440) => format!("{}d", minutes / 1_440),
        _ if minutes.is_multiple_of(60) => format!("{}h", minutes / 60),
        _ => format!("{minutes}m"),
    }
}

/// A number with `places` decimals, without zeros at its end.
#[must_use]
pub fn decimal(value: u64, places: u32) -> String {
    let unit = 10_u64.pow(places);
    let digits = usize::try_from(places).unwrap_or_default();
    let text = format!("{}.{:0digits$}", value / unit, value % unit);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
