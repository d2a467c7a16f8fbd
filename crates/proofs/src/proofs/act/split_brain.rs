//! Two controllers, and the leader is paused again and again: its process stops, or its network holds all its requests and delivers them
//! late. The standby takes over. From the moment its barrier has passed, the API server must not carry out one more action of the former
//! leader, whenever that continues.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use futures::future::try_join_all;
use rustix::process::Signal;
use tempfile::TempDir;
use testbed::fault_proxy::{FaultProxy, SentWrite};
use testbed::{TestNode, eventually};
use tokio::sync::Mutex;
use tokio::time::sleep;
use xtask::output;

use super::acting_cluster::{ActingCluster, Run};
use super::bench::Program;
use super::scenario::Step;
use super::stale::is_action;
use crate::proofs::observe::controller::Controller;
use crate::prove::{Context, Measurement};

/// Clusters that run at the same time. A run mostly waits.
const CLUSTERS: u64 = 3;
/// Nodes of a cluster, all of which may be out of service. A run uses two of them.
const NODES: usize = 40;
/// Runs of a full proof.
const RUNS: u64 = 1_000;
/// The leader is paused within this time after an operator asks for a drain.
const PAUSED_WITHIN_MS: u64 = 1_500;
/// The former leader continues within this time after the takeover, or after the barrier.
const RESUMED_WITHIN_MS: u64 = 1_200;
/// Time in which a former leader would act after it continues.
const WATCHED: Duration = Duration::from_millis(1_200);
/// Largest number of runs in which the former leader took the Lease back, because a busy machine held up the standby. They show nothing and
/// are repeated.
const REPEATED_MAX: u64 = RUNS / 10;
/// A pause of the network is ended by the proof.
const PAUSE_MAX: Duration = Duration::from_mins(2);

/// How the leader is paused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pause {
    /// Its process stops, as in a frozen machine.
    Process,
    /// Its requests and all answers wait in the network.
    Network,
}

/// One of the two controllers.
struct Contender {
    controller: Controller,
    proxy: FaultProxy,
    kubeconfig: PathBuf,
    folder: TempDir,
}

#[derive(Debug, Default)]
struct Tally {
    runs: u64,
    repeated: u64,
    /// Actions of former leaders that the server carried out after the barrier.
    late: i64,
    /// Actions of former leaders that the server refused.
    refused: usize,
    actions: usize,
}

pub(super) async fn measure(context: &Context) -> Result<Measurement> {
    let program = Program::copy(context).await?;
    let (next, tally) = (Mutex::new(0), Mutex::new(Tally::default()));
    let work = async |number: u64| -> Result<()> {
        let mut rivals = Rivals::start(&format!("brain{number}"), program.path()).await?;
        loop {
            let seed = {
                let mut next = next.lock().await;
                *next += 1;
                *next
            };
            if seed > RUNS {
                return rivals.end().await;
            }
            let one = loop {
                if let Some(one) = rivals.run(seed).await.with_context(|| format!("seed {seed}"))? {
                    break one;
                }
                let mut tally = tally.lock().await;
                tally.repeated += 1;
                ensure!(tally.repeated <= REPEATED_MAX, "the former leader leads again in {} runs", tally.repeated);
            };
            let mut tally = tally.lock().await;
            tally.runs += 1;
            tally.late += one.late;
            tally.refused += one.refused;
            tally.actions += one.actions;
            if tally.runs % 50 == 0 {
                output::note(format_args!("split-brain: {tally:?}"));
            }
        }
    };
    try_join_all((0..CLUSTERS).map(work)).await?;
    let Tally { runs, repeated, late, refused, actions } = tally.into_inner();
    ensure!(refused > 0, "no former leader tried to act in {runs} runs, so nothing was shown");
    let detail = format!(
        "{runs} runs with a paused leader, {actions} actions: {late} of a former leader after the barrier; {refused} writes of former leaders were refused; {repeated} runs repeated, because the former leader took the Lease back"
    );
    Ok(Measurement { value: late, detail })
}

/// A cluster with two controllers.
struct Rivals {
    cluster: ActingCluster,
    program: PathBuf,
    leader: Contender,
    standby: Contender,
    /// The next node without a fault.
    fresh: usize,
}

impl Contender {
    async fn start(cluster: &ActingCluster, program: &Path) -> Result<Self> {
        let proxy = FaultProxy::start(&cluster.controller().await?).await?;
        let folder = TempDir::new()?;
        let kubeconfig = folder.path().join("proxy.kubeconfig");
        std::fs::write(&kubeconfig, proxy.kubeconfig())?;
        let controller = Controller::start(program, &kubeconfig, folder.path()).await?;
        Ok(Self { controller, proxy, kubeconfig, folder })
    }

    async fn start_again(&mut self, program: &Path) -> Result<()> {
        self.controller = Controller::start(program, &self.kubeconfig, self.folder.path()).await?;
        Ok(())
    }

    fn pause(&self, pause: Pause) -> Result<()> {
        match pause {
            Pause::Process => self.controller.signal(Signal::STOP),
            Pause::Network => {
                self.proxy.pause_for(PAUSE_MAX);
                Ok(())
            }
        }
    }

    fn resume(&self, pause: Pause) -> Result<()> {
        match pause {
            Pause::Process => self.controller.signal(Signal::CONT),
            Pause::Network => {
                self.proxy.resume();
                Ok(())
            }
        }
    }

    /// Places of the actions that the server carried out, in the proxy's record.
    fn carried_out(&self) -> BTreeSet<usize> {
        let written = self.proxy.written();
        let carried = written.iter().enumerate().filter(|(_, write)| is_action(write) && write.is_carried_out());
        carried.map(|(place, _)| place).collect()
    }

    fn refused(&self) -> usize {
        let is_refused = |write: &SentWrite| write.status.is_some_and(|status| (400..500).contains(&status));
        self.proxy.written().iter().filter(|write| is_refused(write)).count()
    }
}

impl Rivals {
    async fn start(name: &str, program: PathBuf) -> Result<Self> {
        let cluster = ActingCluster::start_with_budget(name, NODES, NODES).await?;
        let leader = Contender::start(&cluster, &program).await?;
        leader.controller.wait_until_it_may_act(1).await?;
        let standby = Contender::start(&cluster, &program).await?;
        Ok(Self { cluster, program, leader, standby, fresh: 0 })
    }

    /// One run. None if the former leader led again before the end, which a busy machine can cause: its actions are those of a leader.
    async fn run(&mut self, seed: u64) -> Result<Option<Tally>> {
        let mut random = fastrand::Rng::with_seed(seed);
        let pause = if random.bool() { Pause::Process } else { Pause::Network };
        self.prepare().await?;
        let (former, before) = (self.leader.controller.barriers_passed(), self.standby.controller.barriers_passed());
        self.ask().await?;
        sleep(Duration::from_millis(random.u64(..PAUSED_WITHIN_MS))).await;
        self.leader.pause(pause)?;
        let last = self.ask().await?;

        let wait = Duration::from_millis(random.u64(..RESUMED_WITHIN_MS));
        let is_early = random.bool();
        if is_early {
            self.standby.controller.wait_for_lease().await?;
            sleep(wait).await;
            self.leader.resume(pause)?;
        }
        if !self.is_taken_over(former, before).await? {
            self.leader.resume(pause)?;
            return Ok(None);
        }
        let at_barrier = self.leader.carried_out();
        if !is_early {
            sleep(wait).await;
            self.leader.resume(pause)?;
        }
        let name = last.name.clone();
        eventually("the new leader's taint", async || self.cluster.is_quarantined(&name).await).await?;
        sleep(WATCHED).await;
        if self.leader.controller.barriers_passed() > former {
            return Ok(None);
        }
        let late = self.leader.carried_out().difference(&at_barrier).count();
        if late > 0 {
            output::note(format_args!("seed {seed}, {pause:?}: {:?}", self.leader.proxy.written()));
        }
        let actions = self.standby.carried_out().len();
        ensure!(actions > 0, "the new leader did not act");
        let refused = self.leader.refused();
        self.swap().await?;
        Ok(Some(Tally { runs: 1, repeated: 0, late: i64::try_from(late)?, refused, actions }))
    }

    /// Waits until the standby may act. False if the former leader may act again instead.
    async fn is_taken_over(&self, former: u64, before: u64) -> Result<bool> {
        tokio::select! {
            passed = self.standby.controller.wait_until_it_may_act(before + 1) => passed.map(|()| true),
            Ok(()) = self.leader.controller.wait_until_it_may_act(former + 1) => Ok(false),
        }
    }

    /// A controller whose Lease expired on a busy machine may have become the standby.
    async fn name_leader(&mut self) -> Result<()> {
        let leads =
            async |one: &Contender| anyhow::Ok(one.controller.metric("mainstay_leading").await?.unwrap_or(0) > 0);
        let is_swapped = async || {
            let (leader, standby) = (leads(&self.leader).await?, leads(&self.standby).await?);
            anyhow::Ok((leader != standby).then_some(standby))
        };
        if eventually("one leader", is_swapped).await? {
            std::mem::swap(&mut self.leader, &mut self.standby);
        }
        Ok(())
    }

    /// Clears the records, and cleans the cluster once all its nodes are out of service.
    async fn prepare(&mut self) -> Result<()> {
        self.leader.proxy.clear();
        self.standby.proxy.clear();
        if self.fresh + 2 > NODES {
            // A controller that runs would restore what is removed here.
            self.leader.controller.signal(Signal::KILL)?;
            self.standby.controller.signal(Signal::KILL)?;
            self.cluster.clean().await?;
            self.leader.start_again(&self.program).await?;
            self.leader.controller.wait_until_it_may_act(1).await?;
            self.standby.start_again(&self.program).await?;
            self.fresh = 0;
        }
        self.name_leader().await
    }

    /// An operator asks for a drain of the next node, which runs a job. A fault on each node would open a circuit breaker.
    async fn ask(&mut self) -> Result<TestNode> {
        let node = self.fresh;
        self.fresh += 1;
        let (bed, job) = (&self.cluster.bed, format!("job-{node}"));
        bed.run_pod(&job, &bed.nodes[node], &[("job", &job)]).await?;
        self.cluster.execute(Step::Ask(node, "Drain"), &mut Run::default()).await?;
        Ok(bed.nodes[node].clone())
    }

    /// The standby leads now. A former leader that ended is started again.
    async fn swap(&mut self) -> Result<()> {
        std::mem::swap(&mut self.leader, &mut self.standby);
        if !self.standby.controller.is_running()? {
            self.standby.start_again(&self.program).await?;
        }
        Ok(())
    }

    async fn end(self) -> Result<()> {
        self.leader.controller.kill().await?;
        self.standby.controller.kill().await
    }
}
