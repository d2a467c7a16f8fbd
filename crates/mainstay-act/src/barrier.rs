//! The barrier of a new leader. Before it passes, no effect starts: the leader before may still have requests on the way, and the API
//! servers may not know the new epoch yet. That the view is from after the takeover is checked by the engine for each effect.

use std::fmt;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;

use crate::backend::Backend;

/// Pause between two tests of the fence.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// What a new leader still waits for before it acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BarrierStep {
    /// The fixed wait after the takeover.
    Wait,
    /// The epoch has to be read back, and a write of the previous epoch has to be refused.
    Fence,
    /// Nothing: effects may start.
    Passed,
}

impl fmt::Display for BarrierStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Wait => "a new leader waits until the requests of the former one have ended",
            Self::Fence => "the API server does not refuse writes of the former leader yet",
            Self::Passed => "the barrier has passed",
        })
    }
}

/// Passes the barrier, and reports each step. The wait is as long as a lease: every request of the former leader ends within its
/// lease, so none of them arrives later.
pub(crate) async fn pass<B: Backend>(backend: &B, wait: Duration, step: &watch::Sender<BarrierStep>) {
    sleep(wait).await;
    step.send_replace(BarrierStep::Fence);
    while backend.fence().await.is_err() {
        sleep(AGAIN_AFTER).await;
    }
    step.send_replace(BarrierStep::Passed);
}
