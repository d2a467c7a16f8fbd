//! What a backend does for the executor: consistent reads, one request, and the test of the fence.

use std::time::Duration;

use mainstay_model::{ClaimId, Effect, NodeName, NodeUid, Outcome, Reason, RequestKind, Schedulable, Stage, Timestamp};

/// Access to one cluster. It contains no policy: every method reads, or sends one request.
pub trait Backend: Send + Sync + 'static {
    /// What a fresh read found, with everything that the request needs, such as a resource version.
    type Target: Send;

    /// Reads the stored status of a node. The read is consistent: it sees every write that ended before.
    fn intent(&self, node: &NodeName) -> impl Future<Output = Result<Option<StoredIntent>, Failure>> + Send;

    /// Reads the target of an effect. The read is consistent.
    fn read(&self, effect: &Effect) -> impl Future<Output = Result<FreshTarget<Self::Target>, Failure>> + Send;

    /// Sends the request of an effect. The server and the client give up after `within`.
    fn send(&self, effect: &Effect, target: Self::Target, within: Duration) -> impl Future<Output = Reply> + Send;

    /// Reads the epoch back, and tries a write of the previous epoch as a dry run. Succeeds if the epoch is still this leader's, and
    /// if that write is refused.
    fn fence(&self) -> impl Future<Output = Result<(), Failure>> + Send;
}

/// The leadership of this process.
pub trait Leadership: Send + Sync + 'static {
    /// How long this process certainly leads from now on without another renewal. Zero if it does not lead.
    fn remaining(&self) -> Duration;
}

/// The stored status of a node and the operator's request about it, as far as an effect depends on them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredIntent {
    /// Stored stage.
    pub stage: Stage,
    /// Claim of the stored grant.
    pub claim: Option<ClaimId>,
    /// The operator's request.
    pub request: Option<RequestKind>,
}

/// What a fresh read of a target found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FreshTarget<T> {
    /// The target does not exist.
    Absent,
    /// The target has the state that the effect leads to.
    Done,
    /// The target can be changed.
    Ready {
        /// What the guards compare with the effect.
        state: TargetState,
        /// What the request needs.
        target: T,
    },
}

/// The state of a target, as far as an effect depends on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetState {
    /// Registration of the node.
    pub uid: NodeUid,
    /// Whether the node gets new jobs.
    pub schedulable: Schedulable,
    /// Whether the node runs no job. `None` if the backend did not look, because the step does not depend on it.
    pub is_empty: Option<bool>,
    /// Another tool that treats the node now.
    pub treated_by: Option<Box<str>>,
}

/// Result of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// The effect ended with this outcome.
    Ended(Outcome),
    /// The request was refused for a reason that may pass soon, for example a disruption budget of a tenant. The executor reads
    /// everything again before it sends another request.
    Later {
        /// Time until the next attempt.
        after: Duration,
        /// Why it was refused.
        why: Reason,
    },
}

/// A read that failed, in the server's words. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure(pub Reason);

/// The current time, by the clock that the engine's deadlines use.
pub(crate) fn now() -> Timestamp {
    Timestamp(jiff::Timestamp::now().as_millisecond())
}
