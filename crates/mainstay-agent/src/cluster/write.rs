//! Writes the newest report, and tries again until it is taken.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use kube::api::{Patch, PatchParams};
use kube::{Api, Client, Error};
use mainstay_api::{NodeReport, NodeReportSpec};
use mainstay_model::NodeName;
use tokio::sync::{Notify, mpsc, watch as latest};
use tokio::time::{Instant, sleep, timeout};

use super::backoff::Backoff;
use super::{ClusterEvent, Counts};

/// The one writer of a report.
const FIELD_MANAGER: &str = "mainstay-agent";

/// A server that takes longer is not waited for; the same report may be written twice, because it says the same. A busy one
/// keeps a request waiting for up to 15 s (a quarter of its request timeout): to give up before that would be to come again
/// and again and never to be heard.
const WITHIN: Duration = Duration::from_secs(30);

/// Why the API server did not accept a report, and when to retry.
struct WriteError {
    why: String,
    wait: Option<Duration>,
    /// The schema or a rule refused it, so the same would be refused again.
    invalid: bool,
}

pub(super) async fn write(
    client: Client,
    node: NodeName,
    mut reports: latest::Receiver<Option<Arc<NodeReportSpec>>>,
    reported: Arc<Notify>,
    news: mpsc::Sender<ClusterEvent>,
    (patience, counts): (Backoff, Arc<Counts>),
) {
    let api: Api<NodeReport> = Api::all(client);
    let mut failing = false;
    while reports.changed().await.is_ok() {
        loop {
            let Some(report) = reports.borrow_and_update().clone() else { break };
            let Err(untaken) = put(&api, &node, &report).await else {
                counts.wrote();
                reported.notify_one();
                if std::mem::take(&mut failing) {
                    tell(&news, ClusterEvent::Written).await;
                }
                break;
            };
            counts.failed.fetch_add(1, Ordering::Relaxed);
            if untaken.invalid
                && let Some(ahead) = ahead(&api, &node, &report, &counts).await
            {
                tell(&news, ClusterEvent::Behind(ahead)).await;
                // The next report passes it.
                break;
            }
            if !std::mem::replace(&mut failing, true) {
                tell(&news, ClusterEvent::Refused(untaken.why)).await;
            }
            sleep(patience.after_failure(untaken.wait, Instant::now())).await;
        }
    }
}

async fn tell(news: &mpsc::Sender<ClusterEvent>, what: ClusterEvent) {
    // Nobody listens once the agent ends.
    let _ = news.send(what).await;
}

async fn put(api: &Api<NodeReport>, node: &NodeName, report: &NodeReportSpec) -> Result<(), WriteError> {
    let object = NodeReport::new(node.as_str(), report.clone());
    let params = PatchParams::apply(FIELD_MANAGER).force();
    match timeout(WITHIN, api.patch(node.as_str(), &params, &Patch::Apply(&object))).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(untaken(&error)),
        Err(_) => {
            let why = format!("no response within {} s", WITHIN.as_secs());
            Err(WriteError { why, wait: None, invalid: false })
        }
    }
}

fn untaken(error: &Error) -> WriteError {
    let why = crate::text::line(&error.to_string(), 500);
    let Error::Api(status) = error else { return WriteError { why, wait: None, invalid: false } };
    let asked = status.details.as_ref().map(|details| details.retry_after_seconds).filter(|seconds| *seconds > 0);
    let wait = asked.map(|seconds| Duration::from_secs(seconds.into()));
    WriteError { why: crate::text::line(&status.message, 500), wait, invalid: status.code == 422 }
}

/// The sequence that the server holds of this boot, where it is not below ours: the state of an earlier agent was lost.
async fn ahead(api: &Api<NodeReport>, node: &NodeName, report: &NodeReportSpec, counts: &Counts) -> Option<u64> {
    counts.reads.fetch_add(1, Ordering::Relaxed);
    let held = timeout(WITHIN, api.get_opt(node.as_str())).await.ok()?.ok()??.spec;
    let same_boot = held.boot_id == report.boot_id && held.sequence >= report.sequence;
    same_boot.then(|| u64::try_from(held.sequence).ok()).flatten()
}
