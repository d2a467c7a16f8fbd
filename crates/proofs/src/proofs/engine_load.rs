//! Speed and memory of the decision engine: 100,000 nodes and a million evidence changes, and one node that reports all the
//! time. The engine alone, on one core: the cost of adapters is not included.

mod fleet;

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use fleet::{Fleet, NODES};
use mainstay_engine::Engine;
use mainstay_model::Timestamp;
use tokio::sync::OnceCell;

use crate::prove::{Context, Measurement, Proof};

pub(super) const SPEED: Proof = Proof {
    name: "storm",
    run: |_: &Context| {
        Box::pin(async {
            Ok(Measurement { value: load_result().await?.per_second, detail: load_result().await?.detail.clone() })
        })
    },
};

pub(super) const MEMORY: Proof = Proof {
    name: "storm-memory",
    run: |_: &Context| {
        Box::pin(async {
            Ok(Measurement { value: load_result().await?.megabytes, detail: load_result().await?.detail.clone() })
        })
    },
};

pub(super) const NOISY: Proof =
    Proof { name: "noisy-node", run: |_: &Context| Box::pin(async { noisy(TRANSITIONS / 10) }) };

pub(super) const NOISY_FULL: Proof =
    Proof { name: "noisy-node-full", run: |_: &Context| Box::pin(async { noisy(TRANSITIONS) }) };

const TRANSITIONS: u64 = 1_000_000;
const PER_DECISION: u64 = 500;

/// Speed and memory of the engine under load.
struct LoadResult {
    per_second: i64,
    megabytes: i64,
    detail: String,
}

static STORM: OnceCell<LoadResult> = OnceCell::const_new();

async fn load_result() -> anyhow::Result<&'static LoadResult> {
    STORM.get_or_try_init(async || run_load()).await
}

fn run_load() -> anyhow::Result<LoadResult> {
    let before = resident_megabytes()?;
    let mut fleet = Fleet::new();
    let mut engine = Engine::new();
    fleet.introduce(&mut engine);
    let mut spent = Duration::ZERO;
    let mut now = Timestamp(0);
    let (mut stages_changed, mut objections) = (0_u64, 0_usize);
    for round in 0..TRANSITIONS / PER_DECISION {
        // Half a second per round: the run covers a quarter of an hour.
        now = Timestamp(i64::try_from(round)? * 500);
        let observations: Vec<_> =
            (0..PER_DECISION).map(|number| fleet.transition(round * PER_DECISION + number, now)).collect();
        let answers = std::mem::take(&mut fleet.answers);
        let started = Instant::now();
        for observation in answers.iter().chain(&observations) {
            engine.observe(observation);
        }
        engine.observe(&fleet.synced(now));
        let decision = engine.decide(now);
        objections += engine.audit(&decision, now).len();
        spent += started.elapsed();
        stages_changed += fleet.follow(&decision, now);
    }
    let megabytes = resident_megabytes()? - before;
    ensure!(objections == 0, "the auditor objected {objections} times");
    ensure!(stages_changed * 100 >= TRANSITIONS, "only {stages_changed} changes of stage");
    let counted = fleet.counted(&engine);
    ensure!(counted == TRANSITIONS, "{counted} of {TRANSITIONS} transitions were counted");
    let micros = i64::try_from(spent.as_micros())?.max(1);
    let detail = format!(
        "{NODES} nodes, {TRANSITIONS} transitions, {stages_changed} changes of stage, {} looks at a node, {:.1} s, {megabytes} MB; as of {} s",
        engine.evaluated(),
        spent.as_secs_f64(),
        now.0 / 1_000,
    );
    Ok(LoadResult { per_second: i64::try_from(TRANSITIONS)? * 1_000_000 / micros, megabytes, detail })
}

fn noisy(transitions: u64) -> anyhow::Result<Measurement> {
    let mut fleet = Fleet::new();
    let mut engine = Engine::new();
    fleet.introduce(&mut engine);
    let noisy = fleet.name(NODES / 2);
    let before: Vec<_> = engine.standing().filter(|line| line.node != noisy).collect();
    let mut others = 0_usize;
    for round in 0..transitions / PER_DECISION {
        let now = Timestamp(i64::try_from(round)? * 500);
        for observation in fleet.answers.drain(..) {
            engine.observe(&observation);
        }
        for _ in 0..PER_DECISION {
            let observation = fleet.noise(NODES / 2, now);
            engine.observe(&observation);
        }
        engine.observe(&fleet.synced(now));
        let decision = engine.decide(now);
        others += decision.report.iter().filter(|line| line.node != noisy).count();
        others += decision.effects.iter().filter(|effect| effect.node != noisy).count();
        fleet.follow(&decision, now);
    }
    let after: Vec<_> = engine.standing().filter(|line| line.node != noisy).collect();
    ensure!(before == after, "other nodes are in another state");
    let counted = engine.persisted(&noisy).map(fleet::counted_of).context("the noisy node is unknown")?;
    ensure!(counted == transitions, "{counted} of {transitions} transitions were counted");
    let detail =
        format!("{NODES} nodes, {transitions} transitions of {noisy}, {} looks at a node in all", engine.evaluated());
    Ok(Measurement { value: i64::try_from(others)?, detail })
}

fn resident_megabytes() -> anyhow::Result<i64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").trim().parse::<i64>()? / 1_000)
}
