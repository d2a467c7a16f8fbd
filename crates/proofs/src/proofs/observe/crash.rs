//! Every scenario runs once without a kill, to count the writes and store the final state; once with one call in four
//! failing; then once before and once after each write, with a kill and a successor. Each run must end with the same
//! objects, apart from identities and times.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;
use testbed::NAMESPACE;
use testbed::fault_proxy::{Call, Fault, FaultProxy, Reply, Rule, Turn};
use tokio::time::{Instant, sleep, timeout};
use xtask::{dist, output};

use super::controller::Controller;
use super::scenario::{self, Scenario, Step};
use super::test_cluster::TestCluster;
use crate::proofs::repeatable::{difference, plain};
use crate::prove::{Context, Measurement};

const NODES: usize = 4;
/// Idle time after which no more writes follow: an incident is shown after 0.7 s, the controller waits at most 1 s.
const QUIET: Duration = Duration::from_millis(2_500);
/// Idle time of the run that the others are compared with, and of a repetition: a busy machine may pause longer than
/// [`QUIET`], and a step of the scenario would come too early.
const QUIET_LONG: Duration = Duration::from_secs(10);
const SETTLES_WITHIN: Duration = Duration::from_mins(2);
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How a scenario is run: undisturbed, with failing calls, or killed at the write of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RunVariant {
    Smooth,
    Rough,
    KilledBefore(u64),
    KilledAfter(u64),
}

impl RunVariant {
    const fn is_killed(self) -> bool {
        matches!(self, Self::KilledBefore(_) | Self::KilledAfter(_))
    }

    /// One call in four fails in a rough run, in turn as a server does that is broken, has moved on, or is busy. The Lease is
    /// spared: losing it is another proof.
    fn rules(self) -> Vec<Rule> {
        let fails = |nth: u64, reply: Reply| {
            Rule::new(Fault::Answer(reply), Turn::Cycle { nth, of: 12 }, |call: &Call| !call.is_lease())
        };
        match self {
            Self::Smooth => Vec::new(),
            Self::Rough => {
                vec![fails(4, Reply::InternalError), fails(8, Reply::MovedOn), fails(12, Reply::TooManyRequests(1))]
            }
            Self::KilledBefore(number) => vec![Rule::new(Fault::HoldBefore, Turn::Nth(number), Call::is_write)],
            Self::KilledAfter(number) => vec![Rule::new(Fault::HoldAfter, Turn::Nth(number), Call::is_write)],
        }
    }
}

struct Trial<'a> {
    bed: &'a TestCluster,
    proxy: &'a FaultProxy,
    program: &'a Path,
    kubeconfig: PathBuf,
    folder: &'a Path,
}

pub(super) async fn measure(context: &Context) -> Result<Measurement> {
    let folder = TempDir::new()?;
    // A copy: it is started again for most of an hour, and the next build would put another in its place.
    let program = folder.path().join("mainstay");
    std::fs::copy(dist::binary(&context.workspace).await?, &program)?;
    let bed = TestCluster::start(NODES).await?;
    let proxy = FaultProxy::start(&bed.cluster.kubeconfig_of(NAMESPACE, "mainstay-controller").await?).await?;
    let kubeconfig = folder.path().join("proxy.kubeconfig");
    std::fs::write(&kubeconfig, proxy.kubeconfig())?;
    let trial = Trial { bed: &bed, proxy: &proxy, program: &program, kubeconfig, folder: folder.path() };
    let (mut kills, mut repeated, mut differ) = (0_u64, 0_u64, 0_i64);
    for scenario in &scenario::ALL {
        let (expected, writes) =
            trial.run(scenario, RunVariant::Smooth, QUIET_LONG).await.with_context(|| scenario.name)?;
        ensure!(writes > 0, "{}: nothing is written", scenario.name);
        let kills_of = |number| [RunVariant::KilledBefore(number), RunVariant::KilledAfter(number)];
        for way in [RunVariant::Rough].into_iter().chain((1..=writes).flat_map(kills_of)) {
            let context = || format!("{}, {way:?}", scenario.name);
            let (mut found, _) = trial.run(scenario, way, QUIET).await.with_context(context)?;
            kills += u64::from(way.is_killed());
            if found != expected {
                // The same write is the same place in the code, so a defect shows again.
                repeated += 1;
                (found, _) = trial.run(scenario, way, QUIET_LONG).await.with_context(context)?;
            }
            if found != expected {
                differ += 1;
                output::note(format_args!("{}, {way:?}: {}", scenario.name, difference(&expected, &found)));
            }
        }
        output::note(format_args!("{}: {writes} writes, {kills} kills so far, {differ} ends differ", scenario.name));
    }
    let detail = format!(
        "{kills} kills before and after every write of {} scenarios, and each once with one call in four failing; {repeated} runs repeated with more time",
        scenario::ALL.len()
    );
    Ok(Measurement { value: differ, detail })
}

impl Trial<'_> {
    /// Lets a scenario happen in this way. Answers how it ends, and how many writes there were.
    async fn run(&self, scenario: &Scenario, way: RunVariant, quiet: Duration) -> Result<(Vec<Value>, u64)> {
        self.bed.delete_objects().await?;
        // The takeover writes as well; what is counted begins after it.
        self.proxy.clear();
        let mut served = Controller::start(self.program, &self.kubeconfig, self.folder).await?;
        served.wait_until_leading().await?;
        self.proxy.clear();
        way.rules().into_iter().for_each(|rule| self.proxy.add(rule));
        let mut is_killed = !way.is_killed();
        for step in scenario.steps.iter().chain([&Step::Settle]) {
            self.bed.execute(*step).await?;
            if matches!(step, Step::Settle) {
                if !is_killed && timeout(quiet, self.proxy.wait_until_held()).await.is_ok() {
                    served.kill().await?;
                    is_killed = true;
                    self.proxy.clear();
                    served = Controller::start(self.program, &self.kubeconfig, self.folder).await?;
                    served.wait_until_leading().await?;
                }
                self.settle(quiet).await?;
            }
        }
        let writes = self.proxy.writes();
        served.kill().await?;
        Ok((self.bed.records().await?.into_iter().map(plain).collect(), writes))
    }

    /// Waits until nothing is written any more.
    async fn settle(&self, quiet: Duration) -> Result<()> {
        let until = Instant::now() + SETTLES_WITHIN;
        let (mut writes, mut since) = (self.proxy.writes(), Instant::now());
        while since.elapsed() < quiet {
            ensure!(Instant::now() < until, "it does not settle: {writes} writes");
            sleep(LOOK_EVERY).await;
            if self.proxy.writes() != writes {
                (writes, since) = (self.proxy.writes(), Instant::now());
            }
        }
        Ok(())
    }
}
