//! The order of events of one effect: read the stored grant, read the target, compare, send one request that ends before the lease.

use std::time::Duration;

use mainstay_model::{Effect, Outcome, Reason};
use tokio::time::sleep;

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
enum Attempt {
    Ended(Outcome),
    Again(Duration, Reason),
}

/// Carries out an effect before its latest start, and returns what became of it. A request is sent again only after the server
/// refused it, never after its answer was lost.
pub(crate) async fn carry_out<B: Backend, L: Leadership>(backend: &B, leadership: &L, effect: &Effect) -> Outcome {
    loop {
        let (pause, why) = match attempt(backend, leadership, effect).await {
            Attempt::Ended(outcome) => return outcome,
            Attempt::Again(pause, why) => (pause, why),
        };
        let again_at = now().0.saturating_add(i64::try_from(pause.as_millis()).unwrap_or(i64::MAX));
        if again_at >= effect.start_by.0 {
            return Outcome::Refused(why);
        }
        sleep(pause).await;
    }
}

async fn attempt<B: Backend, L: Leadership>(backend: &B, leadership: &L, effect: &Effect) -> Attempt {
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
