//! The order of events of one effect: read the stored grant, read the target, compare, send one request that ends before the lease.

use std::time::Duration;

use mainstay_model::{Effect, Outcome, Reason};

use crate::backend::{Backend, Failure, FreshTarget, Leadership, Reply, now};
use crate::guards;

/// Longest time of one request.
const CALL_MAX: Duration = Duration::from_secs(10);
/// Shortest time in which a request can be expected to end. With less of the lease left, none is sent.
const CALL_MIN: Duration = Duration::from_millis(200);
/// Time that must be left of the lease when a request ends.
const LEASE_MARGIN: Duration = Duration::from_millis(100);
/// Pause before a read that failed, or a renewal of the lease, is tried again.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Result of one attempt.
pub(crate) enum Attempt {
    /// The effect ended.
    Ended(Outcome),
    /// Nothing was changed, or the server refused the rest for a reason that may pass: not before this pause.
    Again(Duration, Reason),
}

/// Tries an effect once. After a lost answer the effect ends as unknown: it is never sent again without a fresh decision.
pub(crate) async fn attempt<B: Backend, L: Leadership>(backend: &B, leadership: &L, effect: &Effect) -> Attempt {
    let failed = |Failure(why)| Attempt::Again(AGAIN_AFTER, why);
    let stored = match backend.intent(&effect.node).await {
        Ok(stored) => stored,
        Err(failure) => return failed(failure),
    };
    if let Some(outcome) = guards::of_intent(effect, stored.as_ref()) {
        return Attempt::Ended(outcome);
    }
    let (state, target) = match backend.read(effect).await {
        Ok(FreshTarget::Ready { state, target }) => (state, target),
        Ok(FreshTarget::Done) => return Attempt::Ended(Outcome::Applied),
        Ok(FreshTarget::Absent) => return Attempt::Ended(Outcome::Conflict),
        Err(failure) => return failed(failure),
    };
    if let Some(outcome) = guards::of_target(effect, &state) {
        return Attempt::Ended(outcome);
    }
    let within = leadership.remaining().saturating_sub(LEASE_MARGIN).min(CALL_MAX);
    if within < CALL_MIN {
        return Attempt::Again(AGAIN_AFTER, Reason::lossy("the lease of this leader ends too soon"));
    }
    if now() >= effect.start_by {
        return Attempt::Ended(Outcome::Refused(Reason::lossy("the latest start of the action is over")));
    }
    match backend.send(effect, target, within).await {
        Reply::Ended(outcome) => Attempt::Ended(outcome),
        Reply::Later { after, why } => Attempt::Again(after, why),
    }
}
