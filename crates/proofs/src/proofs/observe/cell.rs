//! What a cell of agents costs its API server: thousands of them in ten processes, through the agent's own pace, client, writer
//! and watch, each with the token of its own pod.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Pod, ServiceAccount};
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::json;
use tempfile::TempDir;
use testbed::{Cluster, Fleet, NAMESPACE, Options};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use xtask::exit::Exit;
use xtask::{command, output};

use crate::agents::Progress;
use crate::prove::{Context, Measurement};

const AGENTS: usize = 10_000;
const PROCESSES: usize = 10;
/// Name of the program in the folder of tokens.
const PROGRAM: &str = "proofs";
/// A cold build on two cores.
const BUILD_LIMIT: Duration = Duration::from_mins(15);
/// Pods and tokens that are asked for at once.
const AT_ONCE: usize = 16;
/// Longer than the proof runs.
const TOKEN_SECONDS: i64 = 7_200;
/// On two busy cores thousands of handshakes take their time.
const ALL_HEARD_WITHIN: Duration = Duration::from_mins(10);
/// A little more than every agent's sign of life takes.
const CALM: Duration = Duration::from_secs(335);
/// Step of an agent's sequence at a restart.
const AFTER_RESTART: u64 = 1_000;
const FIRST_MINUTE: Duration = Duration::from_secs(60);
/// At 100,000 nodes: 500 writes a second.
const NODES_PER_WRITE: usize = 200;

pub(super) async fn measure(context: &Context) -> Result<Measurement> {
    let program = build(context).await?;
    let cluster = testbed::own(Options { nodes_max: AGENTS, parts: Vec::new() }).await?;
    cluster.install_mainstay().await?;
    let admin = cluster.client().await?;
    let fleet = Fleet::new(AGENTS, 8, 7).named("cell");
    fleet.create(&admin, &|_| ()).await?;
    let tokens = TempDir::new()?;
    // A copy: the next build would put another in its place.
    std::fs::copy(program, tokens.path().join(PROGRAM))?;
    let begun = Instant::now();
    hand_out(&admin, &fleet, tokens.path()).await?;
    let handed_out = begun.elapsed();
    output::note(format_args!("{AGENTS} pods and tokens in {} s", handed_out.as_secs()));

    let before = api_server(&cluster);
    let cell = AgentProcesses::start(&cluster, tokens.path(), 0)?;
    let came = cell.wait_until_all_reported().await?;
    sleep(CALM / 10).await;
    let calm_from = jiff::Timestamp::now();
    sleep(CALM).await;
    let after = api_server(&cluster);
    let calm = per_second(&cluster, calm_from)?;
    let (mean, most) = (calm.values().sum::<usize>() / calm.len().max(1), calm.values().max().copied().unwrap_or(0));
    output::note(format_args!(
        "idle: {mean} writes a second, {most} at most; the server {} MB, {} MB",
        before >> 20,
        after >> 20
    ));
    drop(cell);
    sleep(Duration::from_secs(5)).await;
    let cell = AgentProcesses::start(&cluster, tokens.path(), AFTER_RESTART)?;
    sleep(FIRST_MINUTE).await;
    let doing = cell.doing();
    let came_again = cell.wait_until_all_reported().await?;
    // Some agents start after that minute; whether they are served is known once all have reported.
    let served = cell.doing();
    ensure!(mean * NODES_PER_WRITE <= AGENTS, "an idle cell has {mean} writes a second");
    let detail = format!(
        "{AGENTS} agents in {PROCESSES} processes; pods and tokens took {} s; all had reported {came} s after the start; when idle {mean} writes a second, {most} in the worst second; {AGENTS} watches; the API server held {} MB before and {} MB with them, {} kB an agent; after a restart at once {} requests in the first minute, {} of the one that asked most, {} reports not taken; all had reported after {came_again} s, with {} requests at most and {} reports not taken by then",
        handed_out.as_secs(),
        before >> 20,
        after >> 20,
        after.saturating_sub(before) / 1024 / u64::try_from(AGENTS)?,
        doing.requests,
        doing.requests_most,
        doing.failed,
        served.requests_most,
        served.failed,
    );
    Ok(Measurement { value: i64::try_from(doing.requests_most)?, detail })
}

/// This program with the agent's code as optimised as it ships: ten thousand handshakes are not to be the client's measure.
async fn build(context: &Context) -> Result<PathBuf> {
    let mut cargo = command::cargo(&context.workspace.root);
    cargo.args(["build", "--release", "--quiet", "--package", PROGRAM]);
    ensure!(command::holds(&mut cargo, BUILD_LIMIT).await? == Exit::Holds, "{PROGRAM} could not be built");
    Ok(context.workspace.target_dir.join("release").join(PROGRAM))
}

/// A pod on every node, and what the kubelet would mount into it.
async fn hand_out(admin: &Client, fleet: &Fleet, folder: &Path) -> Result<()> {
    let pods = Api::<Pod>::namespaced(admin.clone(), NAMESPACE);
    let accounts = Api::<ServiceAccount>::namespaced(admin.clone(), NAMESPACE);
    let names: Vec<String> = fleet.nodes().map(|node| node.name).collect();
    let one = async |(number, node): (usize, String)| -> Result<()> {
        let pod = json!({
            "metadata": { "name": format!("agent-{node}") },
            "spec": {
                "nodeName": node, "serviceAccountName": "mainstay-agent", "automountServiceAccountToken": false,
                "containers": [{ "name": "agent", "image": "agent" }],
            },
        });
        let pod = pods.create(&PostParams::default(), &serde_json::from_value(pod)?).await?;
        let bound = BoundObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("Pod".to_owned()),
            name: pod.metadata.name,
            uid: pod.metadata.uid,
        };
        let spec = TokenRequestSpec {
            expiration_seconds: Some(TOKEN_SECONDS),
            bound_object_ref: Some(bound),
            ..TokenRequestSpec::default()
        };
        let request = TokenRequest { spec: Some(spec), ..TokenRequest::default() };
        let answer = accounts.create_token_request("mainstay-agent", &PostParams::default(), &request).await?;
        let token = answer.status.and_then(|status| status.token).context("no token in the answer")?;
        Ok(std::fs::write(folder.join(number.to_string()), token)?)
    };
    stream::iter(names.into_iter().enumerate()).map(one).buffer_unordered(AT_ONCE).try_collect().await
}

fn api_server(cluster: &Cluster) -> u64 {
    let all = cluster.resident_bytes_by_server();
    all.into_iter().find(|(name, _)| name == "kube-apiserver").map_or(0, |(_, bytes)| bytes)
}

/// Processes that each run many agents, with their latest progress.
struct AgentProcesses {
    begun: Instant,
    _children: Vec<Child>,
    progress: Vec<watch::Receiver<Progress>>,
}

impl AgentProcesses {
    /// Starts all of them.
    fn start(cluster: &Cluster, tokens: &Path, sequence: u64) -> Result<Self> {
        let program = tokens.join(PROGRAM);
        let (mut children, mut said) = (Vec::new(), Vec::new());
        for process in 0..PROCESSES {
            let mut command = Command::new(&program);
            command.args(["agents", "--server", cluster.api_url(), "--server-ca"]).arg(cluster.authority());
            command.arg("--tokens").arg(tokens).args(["--first", &(process * AGENTS / PROCESSES).to_string()]);
            command.args(["--count", &(AGENTS / PROCESSES).to_string(), "--sequence", &sequence.to_string()]);
            command.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
            let mut child = command.spawn()?;
            let mut lines = BufReader::new(child.stdout.take().context("no stdout")?).lines();
            let (tell, told) = watch::channel(Progress::default());
            tokio::spawn(async move {
                while let Ok(Some(line)) = lines.next_line().await {
                    tell.send_replace(serde_json::from_str(&line).unwrap_or_default());
                }
            });
            children.push(child);
            said.push(told);
        }
        Ok(Self { begun: Instant::now(), _children: children, progress: said })
    }

    /// Waits until every agent's report was taken; answers how many seconds that took.
    async fn wait_until_all_reported(&self) -> Result<u64> {
        while self.doing().reported < AGENTS {
            ensure!(self.begun.elapsed() < ALL_HEARD_WITHIN, "not all agents have reported: {:?}", self.doing());
            sleep(Duration::from_millis(500)).await;
        }
        Ok(self.begun.elapsed().as_secs())
    }

    fn doing(&self) -> Progress {
        let mut all = Progress::default();
        for one in self.progress.iter().map(|said| *said.borrow()) {
            all.agents += one.agents;
            all.reported += one.reported;
            all.requests += one.requests;
            all.requests_most = all.requests_most.max(one.requests_most);
            all.written += one.written;
            all.failed += one.failed;
        }
        all
    }
}

/// Writes of agents by second, from a moment on, by the server's audit log.
fn per_second(cluster: &Cluster, from: jiff::Timestamp) -> Result<BTreeMap<i64, usize>> {
    let mut all = BTreeMap::new();
    for event in cluster.audit_events()? {
        let event = event?;
        let at: jiff::Timestamp = event["requestReceivedTimestamp"].as_str().unwrap_or_default().parse()?;
        if at >= from && event["user"]["username"] == "system:serviceaccount:mainstay-system:mainstay-agent" {
            *all.entry(at.as_second()).or_default() += 1;
        }
    }
    // Seconds without a write count as well.
    let (Some(first), Some(last)) = (all.keys().next().copied(), all.keys().last().copied()) else { return Ok(all) };
    for second in first..last {
        all.entry(second).or_default();
    }
    Ok(all)
}
