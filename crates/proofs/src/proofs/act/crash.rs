//! Every scenario runs once without a failure, to count the writes and keep the final state. Then it runs with a failure at each write: the
//! controller is killed before it, killed after it, or loses the answer. Each run must end with the same objects, and no action may be
//! carried out twice. Drawn scenarios fail at two writes.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use futures::future::try_join_all;
use serde_json::Value;
use testbed::fault_proxy::{Call, Fault, Rule, Turn};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};
use xtask::output;

use super::acting_cluster::Run;
use super::bench::{self, Bench, LOOK_EVERY, Program};
use super::scenario::{self, NODES, Scenario, Step};
use crate::proofs::repeatable::{difference, plain};
use crate::prove::{Context, Measurement};

/// Clusters that run scenarios at the same time. A run mostly waits.
const CLUSTERS: usize = 3;
/// Idle time after which no more writes follow: the executor looks ten times a second, an incident is shown after 0.7 s.
const QUIET: Duration = Duration::from_millis(2_500);
/// Idle time of a repetition: a busy machine may pause longer than [`QUIET`].
const QUIET_LONG: Duration = Duration::from_secs(8);
/// Drawn scenarios of a full run.
const DRAWN: u64 = 28;
/// Failures of a drawn scenario, and of the one scenario in CI.
const FEW: usize = 2;

/// What fails in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Failure {
    None,
    KilledBefore(u64),
    KilledAfter(u64),
    LostAnswer(u64),
}

impl Failure {
    const fn kills(self) -> bool {
        matches!(self, Self::KilledBefore(_) | Self::KilledAfter(_))
    }

    fn rule(self) -> Option<Rule> {
        let (fault, number) = match self {
            Self::None => return None,
            Self::KilledBefore(number) => (Fault::HoldBefore, number),
            Self::KilledAfter(number) => (Fault::HoldAfter, number),
            Self::LostAnswer(number) => (Fault::LoseAnswer, number),
        };
        Some(Rule::new(fault, Turn::Nth(number), Call::is_write))
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
struct End {
    state: Vec<Value>,
    /// How often each action was carried out.
    actions: BTreeMap<String, u32>,
    writes: u64,
}

/// One cluster and the program.
struct Trials {
    bench: Bench,
    program: PathBuf,
}

/// Counts over all runs.
#[derive(Debug, Default)]
struct Tally {
    runs: u64,
    repeated: u64,
    differ: i64,
    twice: i64,
}

/// All failures of all scenarios.
pub(super) async fn full(context: &Context) -> Result<Measurement> {
    let drawn = (0..DRAWN).map(scenario::drawn);
    measure(context, scenario::by_hand().into_iter().chain(drawn).collect(), None).await
}

/// Two failures of one scenario, drawn by commit.
pub(super) async fn slice(context: &Context) -> Result<Measurement> {
    let seed = bench::seed_of_commit(context).await?;
    let mut random = fastrand::Rng::with_seed(seed);
    let mut scenarios = scenario::by_hand();
    random.shuffle(&mut scenarios);
    scenarios.truncate(1);
    measure(context, scenarios, Some(seed)).await
}

async fn measure(context: &Context, scenarios: Vec<Scenario>, slice: Option<u64>) -> Result<Measurement> {
    let program = Program::copy(context).await?;
    let count = scenarios.len();
    let clusters = if slice.is_some() { 1 } else { CLUSTERS };
    let (queue, tally) = (Mutex::new(scenarios), Mutex::new(Tally::default()));
    let work = async |number: usize| -> Result<()> {
        let trials = Trials { bench: Bench::start(&format!("crash{number}"), NODES).await?, program: program.path() };
        loop {
            let Some(scenario) = queue.lock().await.pop() else { return Ok(()) };
            trials.all(&scenario, slice, &tally).await.with_context(|| scenario.name.clone())?;
        }
    };
    try_join_all((0..clusters).map(work)).await?;
    let Tally { runs, repeated, differ, twice } = tally.into_inner();
    ensure!(runs > 0, "nothing was run");
    let detail = format!(
        "{runs} runs of {count} scenarios with a kill before or after a write, or a lost answer: {differ} ends differ, {twice} actions were carried out twice; {repeated} runs repeated with more time"
    );
    Ok(Measurement { value: differ + twice, detail })
}

impl Trials {
    /// Runs a scenario with every failure, or with those that the slice chooses.
    async fn all(&self, scenario: &Scenario, slice: Option<u64>, tally: &Mutex<Tally>) -> Result<()> {
        let expected = self.run(scenario, Failure::None, QUIET_LONG).await?;
        ensure!(expected.writes > 0, "nothing is written");
        let kinds = |number| [Failure::KilledBefore(number), Failure::KilledAfter(number), Failure::LostAnswer(number)];
        let mut failures: Vec<Failure> = (1..=expected.writes).flat_map(kinds).collect();
        let drawn = scenario.name.strip_prefix("seed ").and_then(|seed| seed.parse().ok());
        if let Some(seed) = slice.or(drawn) {
            fastrand::Rng::with_seed(seed).shuffle(&mut failures);
            failures.truncate(FEW);
        }
        for failure in failures {
            let context = || format!("{failure:?}");
            let mut found = self.run(scenario, failure, QUIET).await.with_context(context)?;
            let mut again = 0;
            if found.state != expected.state {
                again = 1;
                found = self.run(scenario, failure, QUIET_LONG).await.with_context(context)?;
            }
            let differs = found.state != expected.state;
            let twice = found
                .actions
                .iter()
                .filter(|(action, count)| **count > expected.actions.get(*action).copied().unwrap_or(1))
                .count();
            if differs {
                output::note(format_args!(
                    "{}, {failure:?}: {}",
                    scenario.name,
                    difference(&expected.state, &found.state)
                ));
            }
            if twice > 0 {
                output::note(format_args!(
                    "{}, {failure:?}: {:?}, expected {:?}",
                    scenario.name, found.actions, expected.actions
                ));
            }
            let mut tally = tally.lock().await;
            tally.runs += 1;
            tally.repeated += again;
            tally.differ += i64::from(differs);
            tally.twice += i64::try_from(twice)?;
        }
        let all = tally.lock().await;
        output::note(format_args!("{}: {} writes; so far {all:?}", scenario.name, expected.writes));
        Ok(())
    }

    async fn run(&self, scenario: &Scenario, failure: Failure, quiet: Duration) -> Result<End> {
        let Bench { cluster, proxy, .. } = &self.bench;
        cluster.clean().await?;
        cluster.set_budget(scenario.budget).await?;
        proxy.clear();
        let mut served = self.bench.lead(&self.program).await?;
        // The takeover writes as well; what is counted begins after it.
        proxy.clear();
        failure.rule().into_iter().for_each(|rule| proxy.add(rule));
        let mut kills_left = u32::from(failure.kills());
        let mut run = Run::default();
        for step in scenario.steps.iter().chain([&Step::Settle]) {
            cluster.execute(*step, &mut run).await?;
            if matches!(step, Step::Settle) {
                if kills_left > 0 && self.is_held_within(quiet, &mut run).await? {
                    kills_left = 0;
                    served.kill().await?;
                    proxy.clear_rules();
                    served = self.bench.lead(&self.program).await?;
                }
                self.bench.settle(quiet, &mut run).await?;
            }
        }
        let (written, writes) = (proxy.written(), proxy.writes());
        served.kill().await?;
        let mut actions = BTreeMap::new();
        for write in written.iter().filter(|write| write.is_carried_out()) {
            if let Some(action) = action(&write.call, &write.json()) {
                *actions.entry(action).or_default() += 1;
            }
        }
        Ok(End { state: cluster.state().await?.into_iter().map(plain).collect(), actions, writes })
    }

    async fn is_held_within(&self, quiet: Duration, run: &mut Run) -> Result<bool> {
        let until = Instant::now() + quiet;
        while Instant::now() < until {
            if timeout(LOOK_EVERY, self.bench.proxy.wait_until_held()).await.is_ok() {
                return Ok(true);
            }
            self.bench.cluster.run_orders(run).await?;
        }
        Ok(false)
    }
}

/// The action that a write carries out; none for a write to our own status and for an Event.
fn action(call: &Call, body: &Value) -> Option<String> {
    match call.place.as_str() {
        "nodes" => {
            let operations = body.as_array()?;
            let taints =
                operations.iter().find(|one| one["path"] == "/spec/taints").map(|one| one["value"].to_string());
            Some(format!("taints of {}: {}", call.name, taints.unwrap_or_default()))
        }
        "pods/eviction" => {
            let uid = &body["deleteOptions"]["preconditions"]["uid"];
            Some(format!("eviction of {} {}", call.name, if uid.is_null() { "" } else { "by uid" }))
        }
        "checkpointrequests" => Some(format!("request to {}", body["spec"]["gang"])),
        _ => None,
    }
}
