//! Putting a fleet into a cluster and waiting until its nodes are Ready. Both can be repeated: nodes that exist stay.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use backon::{ExponentialBuilder, Retryable as _};
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use kube::api::{ListParams, PostParams, Request};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Fleet, FleetNode, labels};
use crate::progress::{Progress, ProgressEvent};

/// Nodes created at the same time. Enough to keep a small machine busy; with 16, KWOK fell behind its watch and was cut
/// off, which made the whole slower.
const CREATE_AT_ONCE: usize = 8;
/// Above this, nodes register with their first report, as a kubelet does whose runtime is up, and KWOK takes each over
/// by its lease. Below, they register bare and KWOK reports, which costs as much again: 10,000 nodes took 121 s on two
/// busy cores, and 52 s this way.
const REGISTERED_READY_ABOVE_NODES: usize = 10_000;
const RETRIES_MAX: usize = 4;
const ANSWERS_AT_MOST: Duration = Duration::from_secs(60);
const REPORT_EVERY: usize = 50;

/// A page of the readiness count; 5,000 rows are about two megabytes.
const PAGE_ROWS: u32 = 5_000;

/// Counting is work for the server too: it may take a twentieth of the time, not more.
const IDLE_PER_COUNT: u32 = 19;
const COUNT_EVERY_MIN: Duration = Duration::from_millis(500);

/// How many nodes are Ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Readiness {
    /// Nodes whose condition Ready is True.
    pub ready: usize,
    /// Nodes that exist.
    pub total: usize,
}

impl Fleet {
    /// Creates the node objects that do not exist yet.
    pub async fn create(&self, client: &Client, progress: Progress<'_>) -> Result<()> {
        self.register(client, self.nodes > REGISTERED_READY_ABOVE_NODES, progress).await
    }

    /// Creates them with a first report of their kubelets, for a cluster in which nobody plays kubelets.
    pub async fn create_ready(&self, client: &Client, progress: Progress<'_>) -> Result<()> {
        self.register(client, true, progress).await
    }

    async fn register(&self, client: &Client, is_ready: bool, progress: Progress<'_>) -> Result<()> {
        let register = async |node: FleetNode<'_>| {
            let mut object = node.json();
            if is_ready {
                object["status"]["conditions"] = conditions(&Timestamp::now().to_string());
            }
            create(client, &node.name, serde_json::to_vec(&object)?).await
        };
        let results = stream::iter(self.nodes()).map(register).buffer_unordered(CREATE_AT_ONCE);
        let report = async |done: usize, ()| {
            if (done + 1).is_multiple_of(REPORT_EVERY) || done + 1 == self.nodes {
                progress(ProgressEvent::Creating { done: done + 1, of: self.nodes });
            }
            Ok(done + 1)
        };
        results.try_fold(0, report).await?;
        Ok(())
    }

    /// Waits until every node of the fleet is Ready, no longer than `at_most`, and says how many are in the end.
    pub async fn wait_ready(&self, client: &Client, at_most: Duration, progress: Progress<'_>) -> Result<Readiness> {
        let give_up_at = Instant::now() + at_most;
        let mut pause = COUNT_EVERY_MIN;
        loop {
            let begun = Instant::now();
            // No node is Ready before its simulated kubelet holds a lease, and counting leases costs next to nothing.
            let leases = leases(client).await?;
            if leases >= self.nodes || begun >= give_up_at {
                let readiness = readiness(client, Some(&self.name)).await?;
                progress(ProgressEvent::Readying { done: readiness.ready, of: self.nodes });
                if readiness.ready >= self.nodes || begun >= give_up_at {
                    return Ok(readiness);
                }
                pause = (begun.elapsed() * IDLE_PER_COUNT).max(COUNT_EVERY_MIN);
            } else {
                progress(ProgressEvent::Readying { done: leases, of: self.nodes });
            }
            tokio::time::sleep(pause.min(give_up_at.saturating_duration_since(Instant::now()))).await;
        }
    }
}

/// How many nodes of the whole cluster have a lease: the first one, and what the server says is left.
async fn leases(client: &Client) -> Result<usize> {
    let request = Request::new("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases");
    let request = request.list(&ListParams::default().limit(1))?;
    let list: LeaseCount = answer(client.request(request)).await.context("cannot count the leases")?;
    Ok(list.items.len() + list.metadata.left.unwrap_or(0))
}

/// The first report of a kubelet with which nothing is wrong.
fn conditions(now: &str) -> Value {
    [
        ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
        ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ]
    .map(|(kind, status, reason, message)| {
        json!({
            "type": kind, "status": status, "reason": reason, "message": message,
            "lastHeartbeatTime": now, "lastTransitionTime": now,
        })
    })
    .into()
}

/// Creates a node from plain bytes and leaves the answer unread: a typed call would build and decode every node for
/// nothing.
async fn create(client: &Client, name: &str, object: Vec<u8>) -> Result<()> {
    let manager = PostParams { field_manager: Some("testbed".to_owned()), ..PostParams::default() };
    let attempt = || async {
        let request =
            Request::new("/api/v1/nodes").create(&manager, object.clone()).map_err(kube::Error::BuildRequest)?;
        match answer(client.request_text(request)).await {
            Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(()),
            answered => answered.map(|_| ()),
        }
    };
    // The server rejects the node as it is, and a retry does not change that.
    let is_final =
        |error: &kube::Error| matches!(error, kube::Error::Api(status) if status.is_invalid() || status.is_forbidden());
    let delays = ExponentialBuilder::new().with_min_delay(Duration::from_millis(200)).with_max_times(RETRIES_MAX);
    let created = attempt.retry(delays).when(|error| !is_final(error)).await;
    created.with_context(|| format!("cannot create node {name}, retries: {RETRIES_MAX} at most"))
}

/// Counts nodes, all or those of one fleet. The server is asked for the table that `kubectl get` shows, without the
/// objects: a fiftieth of the bytes, and nothing to decode but a word per node.
pub async fn readiness(client: &Client, fleet: Option<&str>) -> Result<Readiness> {
    let mut params = ListParams::default().limit(PAGE_ROWS);
    if let Some(name) = fleet {
        params = params.labels(&format!("{}={name}", labels::FLEET));
    }
    let mut readiness = Readiness { ready: 0, total: 0 };
    loop {
        let page = page(client, &params).await.context("cannot count the nodes")?;
        let column =
            page.columns.iter().position(|column| column.name == "Status").context("the table has no Status")?;
        readiness.total += page.rows.len();
        let status = |row: &Row| row.cells.get(column).and_then(Value::as_str).map(is_ready);
        readiness.ready += page.rows.iter().filter(|row| status(row) == Some(true)).count();
        match page.metadata.next.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => return Ok(readiness),
        }
    }
}

/// Cordoned nodes say `Ready,SchedulingDisabled`.
fn is_ready(status: &str) -> bool {
    status.split(',').any(|word| word == "Ready")
}

async fn page(client: &Client, params: &ListParams) -> Result<Table> {
    let mut request = Request::new("/api/v1/nodes").list(params)?;
    *request.uri_mut() = format!("{}&includeObject=None", request.uri()).parse()?;
    request.headers_mut().insert("accept", "application/json;as=Table;v=v1;g=meta.k8s.io".parse()?);
    Ok(answer(client.request(request)).await?)
}

/// The answer, if it comes in time. The client itself would wait for ever on a server that has stopped.
async fn answer<T>(request: impl Future<Output = kube::Result<T>>) -> kube::Result<T> {
    let late = |_| kube::Error::Service(format!("no answer within {ANSWERS_AT_MOST:?}").into());
    tokio::time::timeout(ANSWERS_AT_MOST, request).await.map_err(late)?
}

#[derive(Deserialize)]
struct LeaseCount {
    metadata: ListMeta,
    items: Vec<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct Table {
    metadata: ListMeta,
    #[serde(rename = "columnDefinitions", default)]
    columns: Vec<Column>,
    #[serde(default)]
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct ListMeta {
    #[serde(rename = "continue")]
    next: Option<String>,
    #[serde(rename = "remainingItemCount")]
    left: Option<usize>,
}

#[derive(Deserialize)]
struct Column {
    name: String,
}

#[derive(Deserialize)]
struct Row {
    cells: Vec<Value>,
}

#[cfg(test)]
mod tests {
    use super::is_ready;

    #[test]
    fn a_cordoned_node_is_ready_and_a_silent_one_is_not() {
        assert!(is_ready("Ready") && is_ready("Ready,SchedulingDisabled"));
        assert!(!is_ready("NotReady") && !is_ready("NotReady,SchedulingDisabled") && !is_ready("Unknown"));
    }
}
