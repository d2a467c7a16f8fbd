//! Reads the metric, the replicas and the nodes once a second, as the API server reports them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Result;
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{ListParams, Request};
use kube::{Api, Client};
use serde_json::Value;
use testbed::eventually_within;
use tokio::sync::watch as latest;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::node_pool::NodePool;

const EVERY: Duration = Duration::from_secs(1);
const NAME: &str = "warm-gpus";
const METRIC: &str = "/apis/external.metrics.k8s.io/v1beta1/namespaces/warm-gpus/mainstay_queue_pending_gpus";
const SELECTOR: &str = "queue=research";

/// What the API server reports at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sample {
    pub(super) at: Duration,
    /// Value of the external metric, if the adapter has one.
    pub(super) pending: Option<i64>,
    /// Replicas that the autoscaler set.
    pub(super) replicas: i64,
    /// Replicas that run.
    pub(super) running: i64,
    /// Nodes that take pods.
    pub(super) nodes: usize,
}

/// All samples, and the events of the run.
#[derive(Debug, Clone, Default)]
pub(super) struct Run {
    pub(super) samples: Vec<Sample>,
    pub(super) events: Vec<(Duration, &'static str)>,
}

/// A task that samples until this is dropped.
pub(super) struct Sampler {
    begun: Instant,
    run: Arc<latest::Sender<Run>>,
    task: JoinHandle<()>,
}

impl Run {
    /// Seconds from an event to the first sample of which this is true.
    pub(super) fn seconds_from(&self, event: &str, is: impl Fn(&Sample) -> bool) -> Option<u64> {
        let (start, _) = self.events.iter().find(|(_, name)| *name == event)?;
        let found = self.samples.iter().find(|one| one.at >= *start && is(one))?;
        Some((found.at - *start).as_secs())
    }
}

impl Sampler {
    pub(super) fn start(client: Client, pool: &NodePool) -> Self {
        let (begun, run, nodes) = (Instant::now(), Arc::<latest::Sender<Run>>::default(), pool.nodes());
        let into = Arc::clone(&run);
        let task = tokio::spawn(async move {
            loop {
                // A failed call is repeated a second later.
                if let Ok(sample) = sample(&client, begun, &nodes).await {
                    into.send_modify(|run| run.samples.push(sample));
                }
                sleep(EVERY).await;
            }
        });
        Self { begun, run, task }
    }

    /// Notes an event of the run.
    pub(super) fn mark(&self, event: &'static str) {
        let at = self.begun.elapsed();
        self.run.send_modify(|run| run.events.push((at, event)));
    }

    pub(super) fn last(&self) -> Option<Sample> {
        self.run.borrow().samples.last().copied()
    }

    pub(super) async fn wait_until(&self, what: &str, limit: Duration, is: impl Fn(&Sample) -> bool) -> Result<()> {
        eventually_within(limit, what, async || self.last().is_some_and(|now| is(&now))).await
    }

    /// All samples so far.
    pub(super) fn run(&self) -> Run {
        self.run.borrow().clone()
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn sample(client: &Client, begun: Instant, nodes: &AtomicUsize) -> Result<Sample> {
    let request = Request::new(METRIC).list(&ListParams::default().labels(SELECTOR))?;
    // Without data the adapter returns an empty list, or no such metric.
    let answer = client.request::<Value>(request).await.unwrap_or_default();
    let deployment = Api::<Deployment>::namespaced(client.clone(), NAME).get(NAME).await?;
    let wanted = deployment.spec.replicas.unwrap_or(0);
    let running = deployment.status.and_then(|status| status.ready_replicas).unwrap_or(0);
    Ok(Sample {
        at: begun.elapsed(),
        // Whole GPUs are whole numbers of the API, too.
        pending: answer["items"][0]["value"].as_str().and_then(|value| value.parse().ok()),
        replicas: wanted.into(),
        running: running.into(),
        nodes: nodes.load(Ordering::Relaxed),
    })
}
