//! Agents and executors that outlive a restore of etcd: they remember the highest epoch, the orders that they ran and the errors since boot,
//! and report all of it again when the API server is back.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use serde_json::json;
use testbed::test_cluster::resource_path;
use testbed::{AgentReport, Answers, PlayedExecutor, TestCluster, eventually};

/// Sequence number of the last report before the first answer of a played executor.
const EXECUTOR_SEQUENCE: u64 = 1_000;

/// The agent of each node, and the executors of some.
pub(super) struct Agents<'a> {
    bed: &'a TestCluster,
    agents: Vec<Agent>,
    executors: BTreeMap<usize, Executor>,
}

/// What an agent remembers.
#[derive(Debug, Clone, Default)]
struct Agent {
    sequence: u64,
    epoch: i64,
    xid: Option<&'static str>,
}

struct Executor {
    played: PlayedExecutor,
    /// Reports with answers so far.
    answers: u64,
}

impl<'a> Agents<'a> {
    /// Starts executors on these nodes, and an agent on every node.
    pub(super) async fn start(bed: &'a TestCluster, nodes: &[usize]) -> Result<Self> {
        let mut executors = BTreeMap::new();
        for node in nodes {
            let played = PlayedExecutor::start(bed, &bed.nodes[*node]).await?;
            executors.insert(*node, Executor { played, answers: 0 });
        }
        let mut this = Self { bed, agents: vec![Agent::default(); bed.nodes.len()], executors };
        this.report_all().await?;
        Ok(this)
    }

    /// The agent of a node sees a fault and reports it.
    pub(super) async fn fault(&mut self, node: usize, xid: &'static str) -> Result<()> {
        self.agents.get_mut(node).context("no such node")?.xid = Some(xid);
        self.report(node).await
    }

    /// The agents read the epochs in their GpuNodes. Those without an executor report them.
    pub(super) async fn read_epochs(&mut self) -> Result<()> {
        for object in self.bed.list(&resource_path("gpunodes")).await? {
            let read =
                self.bed.nodes.iter().zip(&mut self.agents).find(|(node, _)| object["metadata"]["name"] == *node.name);
            if let (Some((_, agent)), Some(epoch)) = (read, object["status"]["epoch"].as_i64()) {
                agent.epoch = agent.epoch.max(epoch);
            }
        }
        for node in (0..self.agents.len()).filter(|node| !self.executors.contains_key(node)).collect::<Vec<_>>() {
            self.report(node).await?;
        }
        Ok(())
    }

    /// Every agent reports what it remembers.
    pub(super) async fn report_all(&mut self) -> Result<()> {
        for node in 0..self.agents.len() {
            self.report(node).await?;
        }
        Ok(())
    }

    /// Executors run the orders that they have not run.
    pub(super) async fn run_orders(&mut self) -> Result<()> {
        for (node, executor) in &mut self.executors {
            let new = executor.played.answer(self.bed, &self.bed.nodes[*node]).await?;
            executor.answers += u64::from(new > 0);
        }
        Ok(())
    }

    /// What the executor of a node ran: steps and suites in their order.
    pub(super) fn ran(&self, node: usize) -> Vec<String> {
        let ran = self.executors.get(&node).into_iter().flat_map(|executor| &executor.played.ran);
        ran.map(|(_, what)| what.clone()).collect()
    }

    /// Reports what an agent remembers. For some seconds after a start, the API server does not serve the Cell that the fence needs, and
    /// refuses reports; agents try again.
    async fn report(&mut self, node: usize) -> Result<()> {
        let (bed, of_node) = (self.bed, &self.bed.nodes[node]);
        let agent = self.agents.get_mut(node).context("no such node")?;
        agent.sequence += 2;
        let (mut done, mut passed, mut boot) = (Vec::new(), Vec::new(), 1);
        let executor = self.executors.get(&node).filter(|executor| executor.answers > 0);
        for (nonce, what) in executor.into_iter().flat_map(|executor| &executor.played.ran) {
            match what.as_str() {
                "Reboot" | "PowerCycle" => (boot, done, passed) = (boot + 1, Vec::new(), Vec::new()),
                "standard" => passed.push(nonce.clone()),
                _ => done.push(nonce.clone()),
            }
        }
        // Two writes follow, and the next answer of the executor has to have a higher number.
        let sequence = executor.map_or(agent.sequence, |executor| EXECUTOR_SEQUENCE + executor.answers - 1);
        let xids: Vec<(&str, u64)> = agent.xid.into_iter().filter(|_| boot == 1).map(|xid| (xid, 1)).collect();
        let report = AgentReport::new(sequence, &xids).with_answers(Answers { boot, done: &done, passed: &passed });
        eventually("an accepted report", async || bed.report(of_node, &report).await.is_ok()).await?;
        if agent.epoch > 0 {
            let epoch = json!({ "spec": { "sequence": sequence + 1, "highestEpoch": agent.epoch } });
            let reports = resource_path("nodereports");
            eventually("an accepted epoch", async || bed.merge(&reports, &of_node.name, &epoch).await.is_ok()).await?;
        }
        Ok(())
    }
}
