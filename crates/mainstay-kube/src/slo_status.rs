//! Error budgets in the status of Slo objects, read from Prometheus. It is not part of the control path: it uses neither
//! the engine nor its facts, and if it fails, only these statuses become old.

use std::collections::BTreeMap;
use std::time::Duration;

use kube::{Api, Client, ResourceExt as _};
use mainstay_account::budget::{Account, BudgetFact, Hour, IncidentTime, account, budget_fact};
use mainstay_account::render::GROUPS_MAX;
use mainstay_account::rules::hour_queries;
use mainstay_account::slo::Slo as Objective;
use mainstay_api::{Condition, ConditionStatus, Conditions, Incident, Slo, SloStatus};
use mainstay_model::{Literal, Reason, RuleName, Span, Timestamp};
use mainstay_prometheus::{Error, Limits, Range, Server, thousandths};
use tokio::time::{MissedTickBehavior, interval};
use tracing::warn;

use crate::error::Failure;
use crate::tolerant::Tolerant;
use crate::watch;
use crate::write::{FailureLog, Write, Writer};

/// Limits of one query. An answer has at most 2,160 points.
pub const PROMETHEUS_LIMITS: Limits = Limits { answer_within: Duration::from_secs(30), answer_bytes_max: 1024 * 1024 };

/// A status whose numbers did not change is written again after this time, so that its age shows that it is current.
const WRITE_AT_LEAST: Span = Span::minutes(5);
/// Pages of incidents that are read. Bad events during further incidents count as unattributed.
const INCIDENT_PAGES_MAX: usize = 10;
const HOUR_SECONDS: u32 = 3_600;

// The condition of a Slo, and its reasons.
const MEASURED: Literal<RuleName> = RuleName::literal("Measured");
const DATA_READ: Literal<RuleName> = RuleName::literal("DataRead");
const NO_SERVER: Literal<RuleName> = RuleName::literal("NoServer");
const NO_ANSWER: Literal<RuleName> = RuleName::literal("NoAnswer");
const NO_DATA: Literal<RuleName> = RuleName::literal("NoData");
const INVALID: Literal<RuleName> = RuleName::literal("Invalid");

/// Result of an attempt to read a budget.
#[derive(Debug)]
enum Measurement {
    Read(Box<Account>),
    NoData,
    NoServer,
    NoAnswer(Error),
    Invalid(String),
}

/// Reads the budgets until the future is dropped.
pub(crate) async fn keep(client: Client, pen: Writer, server: Option<Server>, every: Duration) {
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut reported, mut failures) = (None, FailureLog::default());
    loop {
        ticks.tick().await;
        let failure = refresh(&client, &pen, server.as_ref(), &mut failures).await.err();
        if let Some(failure) = failure.as_ref().filter(|failure| reported.as_ref() != Some(*failure)) {
            warn!(why = failure.word(), "cannot read the objectives or their incidents");
        }
        reported = failure;
    }
}

async fn refresh(
    client: &Client,
    pen: &Writer,
    server: Option<&Server>,
    failures: &mut FailureLog,
) -> Result<(), Failure> {
    let slos = list::<Slo>(client, 1).await?;
    if slos.is_empty() {
        return Ok(());
    }
    let incidents = list::<Incident>(client, INCIDENT_PAGES_MAX).await?;
    let incidents: Vec<IncidentTime> = incidents.iter().filter_map(incident_time).collect();
    for slo in slos.iter().take(GROUPS_MAX) {
        let now = Timestamp(jiff::Timestamp::now().as_millisecond());
        let objective = Objective::try_from(slo);
        let measurement = match (&objective, server) {
            (Err(error), _) => Measurement::Invalid(error.to_string()),
            (Ok(_), None) => Measurement::NoServer,
            (Ok(objective), Some(server)) => measure(objective, server, &incidents, now).await,
        };
        let fresh = status(slo, objective.as_ref().ok(), &measurement, now);
        if is_due(slo.status.as_ref(), &fresh) {
            let write = Write::Slo { name: slo.name_any(), status: Box::new(fresh) };
            failures.report(&write.target(), &pen.write(&write).await);
        }
    }
    Ok(())
}

/// Objects of a kind that match their schema, from at most `pages_max` pages.
async fn list<K>(client: &Client, pages_max: usize) -> Result<Vec<K>, Failure>
where
    K: kube::Resource<DynamicType = (), Scope = kube::core::ClusterResourceScope>,
    K: Clone + std::fmt::Debug + serde::de::DeserializeOwned,
{
    let api: Api<Tolerant<K>> = Api::all(client.clone());
    let (mut objects, mut next) = (Vec::new(), None);
    for _ in 0..pages_max {
        let page = watch::page(&api, None, next).await?;
        objects.extend(page.items.into_iter().filter_map(|one| one.object.ok()));
        next = page.metadata.continue_.filter(|token| !token.is_empty());
        if next.is_none() {
            break;
        }
    }
    Ok(objects)
}

fn incident_time(incident: &Incident) -> Option<IncidentTime> {
    let status = incident.status.as_ref()?;
    Some(IncidentTime {
        name: incident.name_any(),
        began_at: status.opened_at.into(),
        ended_at: status.closed_at.map(Timestamp::from),
        nodes: u32::try_from(status.nodes.as_slice().len()).unwrap_or(u32::MAX),
    })
}

async fn measure(slo: &Objective, server: &Server, incidents: &[IncidentTime], now: Timestamp) -> Measurement {
    let to = now.0.div_euclid(1_000);
    let window = i64::try_from(slo.window().0 / 1_000).unwrap_or(i64::MAX);
    let range = Range { from: to.saturating_sub(window) + i64::from(HOUR_SECONDS), to, step: HOUR_SECONDS };
    let mut counts: [BTreeMap<i64, u64>; 2] = Default::default();
    for (query, counts) in hour_queries(slo).iter().zip(&mut counts) {
        match server.range(query, range).await {
            Err(error) => return Measurement::NoAnswer(error),
            Ok(answer) => counts.extend(
                answer
                    .series
                    .iter()
                    .take(1)
                    .flat_map(|series| series.points().filter_map(|(at, value)| Some((at, thousandths(value)?)))),
            ),
        }
    }
    let [total, bad] = counts;
    // An hour with one of the two only is an hour without data.
    let hour = |(at, total_milli): (&i64, &u64)| {
        Some(Hour { ends_at: Timestamp(*at), total_milli: *total_milli, bad_milli: *bad.get(at)? })
    };
    let hours: Vec<Hour> = total.iter().filter_map(hour).collect();
    account(slo, &hours, incidents, now).map_or(Measurement::NoData, |account| Measurement::Read(Box::new(account)))
}

/// The status after a measurement. Without data the stored numbers stay, with the time of their data.
fn status(slo: &Slo, objective: Option<&Objective>, measurement: &Measurement, now: Timestamp) -> SloStatus {
    let stored = slo.status.clone().unwrap_or_default();
    let account = match measurement {
        Measurement::Read(account) => Some(&**account),
        Measurement::NoData | Measurement::NoServer | Measurement::NoAnswer(_) | Measurement::Invalid(_) => None,
    };
    let previous = stored.error_budget.as_ref().map(BudgetFact::from);
    let fact = match objective {
        Some(objective) => budget_fact(objective, previous, account, now),
        None => previous.filter(|fact| now < fact.expires_at),
    };
    let condition = condition(slo, measurement, now);
    let status = match account {
        Some(account) => stored.with_account(account),
        None => stored,
    };
    SloStatus { error_budget: fact.map(Into::into), conditions: Conditions(vec![condition]), ..status }
}

fn condition(slo: &Slo, measurement: &Measurement, now: Timestamp) -> Condition {
    let (status, reason, message) = match measurement {
        Measurement::Read(_) => {
            (ConditionStatus::True, DATA_READ, "The budget was computed from the data of Prometheus.".to_owned())
        }
        Measurement::NoData => {
            let message = "Prometheus has no data of the last hour: it lacks the rules that `mainstay slo rules` prints, or the indicator \
                           has had no event yet.";
            (ConditionStatus::False, NO_DATA, message.to_owned())
        }
        Measurement::NoServer => {
            let message = "The controller has no Prometheus to read from. Set its option --prometheus.";
            (ConditionStatus::False, NO_SERVER, message.to_owned())
        }
        Measurement::NoAnswer(error) => (ConditionStatus::False, NO_ANSWER, format!("{error}.")),
        Measurement::Invalid(error) => (ConditionStatus::False, INVALID, format!("{error}.")),
    };
    let stored = slo.status.iter().flat_map(|status| &status.conditions.0).find(|one| one.type_ == MEASURED);
    let since = stored.filter(|one| one.status == status).map_or(now.into(), |one| one.last_transition_time);
    Condition {
        type_: MEASURED.get(),
        status,
        reason: reason.get(),
        message: Reason::lossy(&message),
        observed_generation: slo.metadata.generation.unwrap_or(0),
        last_transition_time: since,
    }
}

/// Whether a status has to be written: something but its times changed, or the stored times are old.
fn is_due(stored: Option<&SloStatus>, fresh: &SloStatus) -> bool {
    let Some(stored) = stored else { return true };
    let age = |at: &SloStatus| at.observed_at.map(Timestamp::from);
    let is_old = match (age(stored), age(fresh)) {
        (Some(stored), Some(fresh)) => fresh.since(stored) >= WRITE_AT_LEAST,
        (stored, fresh) => stored != fresh,
    };
    let state = |status: &SloStatus| status.error_budget.as_ref().map(|fact| fact.state);
    let timeless = |status: &SloStatus| SloStatus { observed_at: None, error_budget: None, epoch: 0, ..status.clone() };
    is_old || state(stored) != state(fresh) || timeless(stored) != timeless(fresh)
}

#[cfg(test)]
mod tests;
