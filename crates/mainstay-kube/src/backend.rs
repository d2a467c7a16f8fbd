//! Kubernetes as a backend of the shared executor: fresh reads, and one request for each effect with uid, resource version, epoch,
//! approval and plan. The admission policies refuse what they do not permit. It contains no policy.

mod calls;
mod checkpoint;
mod evict;
mod fence_probe;
mod gang_pods;
mod node_patch;
mod order;

use std::sync::Arc;
use std::time::Duration;

use kube::{Api, Client};
use mainstay_act::{Backend, Failure as ReadFailure, FreshTarget, Reply, StoredIntent, TargetState};
use mainstay_api::{GpuNode, OwnerKind};
use mainstay_model::{Effect, Epoch, NodeName, Outcome, Persisted, Reason, Step};
use tokio::sync::{Mutex, watch};
use tokio::time::timeout;

use crate::error::{CALL_WITHIN, Failure, words};
use calls::Answer;
use checkpoint::NewRequest;
use evict::PodToEvict;
use node_patch::FreshNode;
use order::OrderWrite;

/// Pause after a refusal that may pass soon.
const LATER: Duration = Duration::from_secs(5);

/// How pods become gangs: by these labels, or by their topmost owner among these kinds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct GangRules {
    pub(crate) labels: Vec<String>,
    pub(crate) owners: Vec<OwnerKind>,
}

/// One cluster, with the epoch of this leadership.
pub(crate) struct ClusterBackend {
    client: Client,
    epoch: Epoch,
    gangs: watch::Receiver<Arc<GangRules>>,
    /// Held while open checkpoint requests are counted and one is created, so that two tasks do not count the same place.
    asking: Mutex<()>,
}

/// What a fresh read found, by kind of step.
pub(crate) enum Fresh {
    Node(Box<FreshNode>),
    Pods(Vec<PodToEvict>),
    Request(Box<NewRequest>),
    Order(Box<OrderWrite>),
    /// No part of this version carries out the step.
    NotAvailable(&'static str),
}

/// Result of a read of the server.
type Read<T> = Result<T, ReadFailure>;

impl ClusterBackend {
    pub(crate) fn new(client: Client, epoch: Epoch, gangs: watch::Receiver<Arc<GangRules>>) -> Self {
        Self { client, epoch, gangs, asking: Mutex::new(()) }
    }

    async fn node(&self, node: &NodeName) -> Read<Option<FreshNode>> {
        let found = read(calls::get(&self.client, ("/api/v1/nodes", node.as_str()))).await?;
        Ok(found.and_then(FreshNode::of))
    }
}

impl Backend for ClusterBackend {
    type Target = Fresh;

    async fn intent(&self, node: &NodeName) -> Read<Option<StoredIntent>> {
        let nodes: Api<GpuNode> = Api::all(self.client.clone());
        let found = read(nodes.get_opt(node.as_str())).await?;
        let Some(GpuNode { spec, status: Some(status), .. }) = found else { return Ok(None) };
        let Ok(stored) = Persisted::try_from(&status) else { return Ok(None) };
        let claim = stored.grant.map(|grant| grant.claim);
        Ok(Some(StoredIntent { stage: stored.stage, claim, request: spec.request.map(|request| request.kind) }))
    }

    async fn read(&self, effect: &Effect) -> Read<FreshTarget<Fresh>> {
        let Some(node) = self.node(&effect.node).await? else { return Ok(FreshTarget::Absent) };
        let mut state = TargetState { is_empty: None, ..node.state.clone() };
        let target = match &effect.step {
            Step::Cordon | Step::Uncordon | Step::Avoid | Step::EndAvoid if node.has(&effect.step) => None,
            Step::Cordon | Step::Uncordon | Step::Avoid | Step::EndAvoid => Some(Fresh::Node(Box::new(node))),
            Step::Stop { gang } => {
                let pods = self.pods_of(gang, &effect.node).await?;
                (!pods.is_empty()).then_some(Fresh::Pods(pods))
            }
            Step::AskCheckpoint { .. } => {
                self.new_request(effect).await?.map(|request| Fresh::Request(Box::new(request)))
            }
            Step::Order(new) => {
                let seen = self.seen_on(&effect.node).await?;
                state.is_empty = Some(!seen.runs_jobs);
                if seen.has_executor {
                    self.order_write(&effect.node, new).await?.map(|write| Fresh::Order(Box::new(write)))
                } else {
                    Some(Fresh::NotAvailable("no executor runs on the node, so it can run no repair step and no test"))
                }
            }
            Step::PowerOff | Step::ReleasePods => Some(Fresh::NotAvailable("no BMC is connected")),
            // The writer of stored statuses does this.
            Step::Store(_) => None,
        };
        Ok(target.map_or(FreshTarget::Done, |target| FreshTarget::Ready { state, target }))
    }

    async fn send(&self, effect: &Effect, target: Fresh, within: Duration) -> Reply {
        match target {
            Fresh::Node(node) => self.patch_node(effect, &node, within).await,
            Fresh::Pods(pods) => self.evict(effect, &pods, within).await,
            Fresh::Request(request) => self.ask(&request, within).await,
            Fresh::Order(write) => self.write_order(&write, within).await,
            Fresh::NotAvailable(why) => Reply::Ended(Outcome::Refused(Reason::lossy(why))),
        }
    }

    async fn fence(&self) -> Read<()> {
        self.probe_fence().await
    }
}

/// What became of one request whose answer arrived, or did not.
fn replied(answer: Answer) -> Reply {
    let Ok(answer) = answer else { return Reply::Ended(Outcome::Unknown) };
    let Err(error) = answer else { return Reply::Ended(Outcome::Applied) };
    let why = || Reason::lossy(&words(&error));
    Reply::Ended(match Failure::of(&error) {
        // The server throttles requests and has not looked at this one.
        Failure::Busy { after } => return Reply::Later { after: after.unwrap_or(LATER), why: why() },
        Failure::Conflict | Failure::Absent => Outcome::Conflict,
        // A failed test of a JSON patch.
        Failure::Refused if is_invalid(&error) => Outcome::Conflict,
        Failure::Refused | Failure::Expired => Outcome::Refused(why()),
        Failure::Broken => Outcome::Unknown,
    })
}

fn is_invalid(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 422)
}

/// A read within the time limit of one call, with the server's words if it fails.
async fn read<T>(call: impl Future<Output = kube::Result<T>>) -> Read<T> {
    match timeout(CALL_WITHIN, call).await {
        Ok(Ok(found)) => Ok(found),
        Ok(Err(error)) => Err(ReadFailure(Reason::lossy(&words(&error)))),
        Err(_) => Err(ReadFailure(Reason::lossy("no answer before the timeout"))),
    }
}
