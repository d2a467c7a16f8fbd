//! Proofs that no simulated fault injection violates a safety or liveness check, and that the checks detect each disabled
//! safety rule. A failing seed is printed with the command that replays it.

use anyhow::ensure;
use mainstay_engine::Guard;
use mainstay_model::WaitingOn;
use mainstay_sim::{STORM_NODES, SeedRun, occurrences};
use std::collections::BTreeMap;

use super::parallel::parallel_map;
use crate::prove::{Context, Measurement, Proof};

const IN_CI: u64 = 50;
const BY_HAND: u64 = 1_000;

/// Minimum size of a seed, to count.
const DECISIONS_MIN: u64 = 1_000;
const NODES_MIN: u32 = 200;

/// Minimum count of every event over a thousand seeds.
const OFTEN: u64 = 1_000;
const DECISIONS_IN_ALL: u64 = 1_000_000;

/// Seeds per disabled rule; one of them must fail.
const TEETH_SEEDS: u64 = 40;

pub(super) const SEEDS: Proof = Proof { name: "seeds", run: |_: &Context| Box::pin(async { run_seeds(IN_CI) }) };

pub(super) const THOUSAND: Proof =
    Proof { name: "seeds-1000", run: |_: &Context| Box::pin(async { run_seeds(BY_HAND) }) };

pub(super) const TEETH: Proof = Proof { name: "teeth", run: |_: &Context| Box::pin(async { teeth() }) };

fn run_seeds(seeds: u64) -> anyhow::Result<Measurement> {
    let weathered = parallel_map(seeds, |number| SeedRun::of(number + 1).weather());
    ensure!(STORM_NODES >= NODES_MIN, "a seed of {STORM_NODES} nodes is too small");
    let mut happened: BTreeMap<&str, u64> = BTreeMap::new();
    let mut longest: BTreeMap<WaitingOn, u64> = BTreeMap::new();
    let mut broken = Vec::new();
    for one in &weathered {
        // One that broke something ended there.
        let enough = one.decisions >= DECISIONS_MIN || !one.broken.is_empty();
        ensure!(enough, "seed {} had only {} decisions", one.seed, one.decisions);
        for (what, times) in &one.happened {
            *happened.entry(what).or_default() += times;
        }
        for (on, seconds) in &one.longest_wait_seconds {
            let known = longest.entry(*on).or_default();
            *known = (*known).max(*seconds);
        }
        if let Some(first) = one.broken.first() {
            broken.push(format!("{}: {} (mainstay sim replay --seed {})", first.promise, first.what, one.seed));
        }
    }
    let decisions: u64 = weathered.iter().map(|one| one.decisions).sum();
    let least = occurrences().map(|kind| (happened.get(kind).copied().unwrap_or(0), kind)).min();
    let (times, kind) = least.unwrap_or_default();
    if seeds >= BY_HAND {
        ensure!(times >= OFTEN, "{kind} happened only {times} times");
        ensure!(decisions >= DECISIONS_IN_ALL, "only {decisions} decisions");
    }
    ensure!(times >= seeds, "{kind} happened only {times} times in {seeds} seeds");
    let calm = weathered.iter().filter_map(|one| one.calm_after_seconds).max().unwrap_or_default();
    let waits: Vec<String> =
        longest.iter().map(|(on, seconds)| format!("{} {} min", on.word(), seconds / 60)).collect();
    let detail = format!(
        "{seeds} seeds, {decisions} decisions audited, {kind} least often ({times}), recovered after {} h at most, longest waits in the recovery phase: {}; {}",
        calm.div_ceil(3_600),
        waits.join(", "),
        if broken.is_empty() { "nothing broken".to_owned() } else { broken.join("; ") }
    );
    Ok(Measurement { value: i64::try_from(broken.len())?, detail })
}

fn teeth() -> anyhow::Result<Measurement> {
    let not_guards = [
        Guard::Escalation,
        Guard::SharedDomain,
        Guard::SharedDriver,
        Guard::Incidents,
        Guard::DrainCost,
        Guard::DryRunBreaker,
        // No simulated node stays away for a day.
        Guard::GoneHistory,
    ];
    let is_guard = |guard: &Guard| !not_guards.contains(guard);
    let guards: Vec<Guard> = Guard::ALL.into_iter().filter(is_guard).collect();
    let found: Vec<(Guard, Option<(u64, String)>)> = parallel_map(u64::try_from(guards.len())?, |number| {
        let guard = guards[usize::try_from(number).unwrap_or(0)];
        let missed = (1..=TEETH_SEEDS).find_map(|seed| {
            let broken = SeedRun::of(seed).without(guard).weather().broken.into_iter().next()?;
            Some((seed, broken.promise))
        });
        (guard, missed)
    });
    let unmissed = found.iter().filter(|(_, missed)| missed.is_none()).count();
    let told: Vec<String> = found
        .iter()
        .map(|(guard, missed)| match missed {
            Some((seed, promise)) => format!("{} by seed {seed} ({promise})", guard.name()),
            None => format!("{} by NONE", guard.name()),
        })
        .collect();
    Ok(Measurement { value: i64::try_from(unmissed)?, detail: told.join(", ") })
}
