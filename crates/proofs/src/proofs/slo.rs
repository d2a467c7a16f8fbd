//! Proofs of the alerts of SLOs: events of a virtual fleet are loaded into a real Prometheus, its own tool records the
//! rules, and the alerts are evaluated minute by minute. The events come from a plain generator, because the simulator's
//! failure model has no outages of queues or services.

mod events;
mod outage;
mod replay;
mod sloth;

use std::time::Duration;

use anyhow::{Context as _, ensure};
use mainstay_account::catalogue::Indicator;
use mainstay_account::detection::detection_time;
use mainstay_account::slo::{Definition, Severity, Sli, Slo};
use mainstay_model::Ppm;

use self::events::{Recorder, Traffic};
use self::outage::OUTAGES;
use self::replay::{Replay, START};
use crate::prove::{Context, Measurement, Proof};

pub(super) const FALSE_PAGES: Proof = Proof {
    name: "slo-false-pages",
    run: |context| {
        Box::pin(async move {
            let began_at = std::time::Instant::now();
            let measured = false_pages(30, Comparison::None).await?;
            context.within("a month", began_at.elapsed(), CI_LIMIT)?;
            Ok(measured)
        })
    },
};

pub(super) const FALSE_PAGES_YEAR: Proof =
    Proof { name: "slo-false-pages-year", run: |_: &Context| Box::pin(false_pages(365, Comparison::Sloth)) };

pub(super) const FIRES: Proof = Proof { name: "slo-fires", run: |context| Box::pin(fires(context)) };

const CI_LIMIT: Duration = Duration::from_secs(20);
const SEED: u64 = 19;
const DAY_MINUTES: u32 = 1_440;
const JOBS_A_DAY: u32 = 96;
/// Minutes before an outage: longer than the longest window that pages.
const CALM_MINUTES: u32 = 8 * 60;

/// Whether the rules of Sloth are replayed too.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Comparison {
    None,
    Sloth,
}

fn slo(name: &str, indicator: Indicator, objective: u32, volume: u32, scenario: &str) -> anyhow::Result<Slo> {
    let definition = Definition {
        name: name.to_owned(),
        objective: Ppm(objective),
        window_days: 30,
        sli: Sli::Catalogue { indicator, matchers: vec![("scenario".to_owned(), scenario.to_owned())] },
        volume: Some(volume.into()),
        owner: "fleet".to_owned(),
        severity: Severity::Page,
        runbook_url: "https://example.org/runbook".to_owned(),
    };
    Slo::new(definition).map_err(|errors| anyhow::anyhow!("{name}: {errors:?}"))
}

/// Jobs and queue waits of a healthy fleet: 0.4 % of the jobs fail for infrastructure causes, which is 80 % of the budget of the
/// strictest objective, and 2.5 % wait too long, half of their budget.
async fn false_pages(days: u32, comparison: Comparison) -> anyhow::Result<Measurement> {
    let waits = || Indicator::QueueWait { bound_seconds: events::BOUND.to_owned() };
    let slos = [
        slo("jobs-99", Indicator::JobSuccess, 990_000, JOBS_A_DAY, "jobs")?,
        slo("jobs-995", Indicator::JobSuccess, 995_000, JOBS_A_DAY, "jobs")?,
        slo("waits-95", waits(), 950_000, JOBS_A_DAY, "waits")?,
    ];
    let minutes = days * DAY_MINUTES;
    let mut random = fastrand::Rng::with_seed(SEED);
    let mut recorder = Recorder::new()?;
    for (scenario, indicator, bad_ppm) in [("jobs", Indicator::JobSuccess, 4_000), ("waits", waits(), 25_000)] {
        let traffic = Traffic { indicator, events_a_day: JOBS_A_DAY };
        recorder.write(scenario, &traffic, minutes, &mut random, |_| events::Minute::steady(bad_ppm))?;
    }
    let ours = replay::page_rules(&slos);
    let theirs = match comparison {
        Comparison::None => Vec::new(),
        Comparison::Sloth => sloth::page_rules(recorder.folder()).await?,
    };
    let all: Vec<replay::PageRules> = ours.into_iter().chain(theirs).collect();
    let replay = Replay::new(recorder, &all, minutes).await?;
    let mut counts = Vec::new();
    for rules in &all {
        let pages: usize = replay.pages(rules).await?.len();
        counts.push((rules.name.clone(), rules.origin, pages));
    }
    let total = |origin: &str| counts.iter().filter(|one| one.1 == origin).map(|one| one.2).sum::<usize>();
    let words: Vec<String> = counts.iter().map(|(name, origin, pages)| format!("{name} ({origin}) {pages}")).collect();
    let pages = total(replay::OURS);
    Ok(Measurement {
        value: i64::try_from(pages * 30_000 / usize::try_from(days)?)?,
        detail: format!(
            "{days} days, seed {SEED}: {pages} pages of Mainstay, {} of Sloth{}; {}",
            total(replay::SLOTH),
            if comparison == Comparison::None { " (not replayed)" } else { "" },
            words.join(", ")
        ),
    })
}

async fn fires(context: &Context) -> anyhow::Result<Measurement> {
    let began_at = std::time::Instant::now();
    ensure!(OUTAGES.len() == 20, "{} kinds of outages", OUTAGES.len());
    let mut random = fastrand::Rng::with_seed(SEED);
    let mut recorder = Recorder::new()?;
    let (mut slos, mut limits) = (Vec::new(), Vec::new());
    for outage in OUTAGES {
        let slo = slo(outage.name, outage.indicator(), outage.objective, outage.events_a_day, outage.name)?;
        let limit = detection_time(&slo, Ppm(outage.bad_ppm), Severity::Page);
        let limit = limit.with_context(|| format!("{}: no page is sure, so nothing can be proved", outage.name))?;
        limits.push(u32::try_from(limit.0.div_ceil(60_000))? + outage.counted_from);
        slos.push(slo);
    }
    let minutes = CALM_MINUTES + limits.iter().max().copied().unwrap_or(0) + 60;
    for outage in OUTAGES {
        let traffic = Traffic { indicator: outage.indicator(), events_a_day: outage.events_a_day };
        let calm = (1_000_000 - outage.objective) / 4;
        recorder.write(outage.name, &traffic, minutes, &mut random, |minute| outage.minute(minute, calm))?;
    }
    let all = replay::page_rules(&slos);
    let replay = Replay::new(recorder, &all, minutes).await?;
    let (mut missed, mut words) = (0, Vec::new());
    for ((outage, rules), limit) in OUTAGES.iter().zip(&all).zip(&limits) {
        let began = START + i64::from(CALM_MINUTES) * 60;
        let page = replay.pages(rules).await?.into_iter().min().map(|at| (at - began) / 60);
        let is_in_time = page.is_some_and(|after| (0..=i64::from(*limit)).contains(&after));
        missed += i64::from(!is_in_time);
        let page = page.map_or("no page".to_owned(), |after| format!("{after} min"));
        words.push(format!("{} {page} of {limit}{}", outage.name, if is_in_time { "" } else { " MISSED" }));
    }
    context.within("20 outages", began_at.elapsed(), CI_LIMIT)?;
    Ok(Measurement { value: missed, detail: format!("seed {SEED}: {}", words.join("; ")) })
}
