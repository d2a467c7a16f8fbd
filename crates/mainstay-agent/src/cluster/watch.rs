//! Reads this node's GpuNode: one watch, begun anew when it ends. A watch from version "0" begins with what the server has
//! at hand, so there is no list beside it.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::TryStreamExt as _;
use kube::api::{WatchEvent, WatchParams};
use kube::{Api, Client};
use mainstay_api::GpuNode;
use mainstay_model::NodeName;
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep, timeout};

use super::backoff::Backoff;
use super::{ClusterEvent, Counts, NodeStatus};

/// How long the server keeps one watch open.
const OPEN_SECONDS: u32 = 290;

/// A watch that says nothing for longer than it is kept open is dead.
const SILENT_AT_MOST: Duration = Duration::from_secs(300);

pub(super) async fn watch(
    client: Client,
    node: NodeName,
    reported: Arc<Notify>,
    news: mpsc::Sender<ClusterEvent>,
    (patience, counts): (Backoff, Arc<Counts>),
) {
    let api: Api<GpuNode> = Api::all(client);
    let params = WatchParams::default().fields(&format!("metadata.name={node}")).timeout(OPEN_SECONDS);
    let (mut known, mut highest) = (None, 0);
    // An agent that has not reported gets no orders, and a server that is short of breath is asked for one thing at a time.
    reported.notified().await;
    while !news.is_closed() {
        counts.watches.fetch_add(1, Ordering::Relaxed);
        if let Ok(Ok(stream)) = timeout(SILENT_AT_MOST, api.watch(&params, "0")).await {
            let mut stream = pin!(stream);
            while let Ok(Ok(Some(event))) = timeout(SILENT_AT_MOST, stream.try_next()).await {
                let standing = match event {
                    WatchEvent::Added(node) | WatchEvent::Modified(node) => {
                        if let Some(epoch) = epoch(&node).filter(|epoch| *epoch > highest) {
                            highest = epoch;
                            let _ = news.send(ClusterEvent::Epoch(epoch)).await;
                        }
                        standing(&node)
                    }
                    WatchEvent::Deleted(_) => None,
                    WatchEvent::Bookmark(_) => continue,
                    // Too old, or something else that a new watch mends.
                    WatchEvent::Error(_) => break,
                };
                if standing != known {
                    known = standing;
                    let _ = news.send(ClusterEvent::Stands(standing)).await;
                }
            }
        }
        sleep(patience.after_failure(None, Instant::now())).await;
    }
}

/// Epoch of the leader that wrote the node's status.
fn epoch(node: &GpuNode) -> Option<u64> {
    u64::try_from(node.status.as_ref()?.epoch).ok()
}

fn standing(node: &GpuNode) -> Option<NodeStatus> {
    let status = node.status.as_ref()?;
    Some(NodeStatus { stage: status.stage, orders: status.orders.as_slice().len() })
}
