//! Leader election by Lease. The holder renews it, and gives up before another controller may take it. Expiry is
//! measured from when we saw the Lease change, never from the times in it, because clocks of two machines may differ.
//!
//! The renewal time in it only rises, whatever the clocks do. A Lease with an earlier one than before comes from a restored etcd.

mod renewals;

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease as Object, LeaseSpec};
use kube::api::{Api, ObjectMeta};
use mainstay_act::Leadership;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use tracing::error;

use crate::error::{Error, Failure, words};
use crate::jitter::jittered;
use crate::metrics::Metrics;
use crate::write::made_by_us;
use renewals::{Renewals, after};

/// Name of the Lease, as the controller's role names it.
pub(crate) const NAME: &str = "mainstay-leader";
/// Rejections of the Lease after which the controller gives up.
const REFUSED_MAX: u32 = 3;

/// Parameters of leader election.
#[derive(Debug, Clone)]
pub(crate) struct Lease {
    pub(crate) api: Api<Object>,
    /// Identity of this process, unique to it.
    pub(crate) identity: Arc<str>,
    /// Time without renewal after which another controller may take the Lease.
    pub(crate) lasts: Duration,
    pub(crate) metrics: Metrics,
    renewals: Arc<Renewals>,
}

/// End of the time for which we hold the Lease. In the past if we do not.
#[derive(Debug, Clone)]
pub(crate) struct Tenure(watch::Receiver<Instant>);

/// A Lease that this process holds and renews until the value is dropped.
#[derive(Debug)]
pub(crate) struct HeldLease {
    lease: Lease,
    tenure: Tenure,
    renewing: JoinHandle<()>,
    is_restored: bool,
}

// === impl Tenure ===

impl Tenure {
    /// Whether we certainly hold the Lease now.
    pub(crate) fn holds(&self) -> bool {
        Instant::now() < *self.0.borrow()
    }

    /// How long we certainly hold the Lease from now on, without another renewal.
    pub(crate) fn left(&self) -> Duration {
        self.0.borrow().saturating_duration_since(Instant::now())
    }

    /// Returns when the Lease is lost.
    pub(crate) async fn lost(&self) {
        loop {
            let until = *self.0.borrow();
            if Instant::now() >= until {
                return;
            }
            tokio::time::sleep_until(until).await;
        }
    }
}

impl Leadership for Tenure {
    fn remaining(&self) -> Duration {
        self.left()
    }
}

// === impl Lease ===

impl Lease {
    pub(crate) fn new(api: Api<Object>, identity: Arc<str>, lasts: Duration, metrics: Metrics) -> Self {
        Self { api, identity, lasts, metrics, renewals: Arc::default() }
    }

    /// Waits until this process holds the Lease.
    pub(crate) async fn acquire(&self) -> Result<HeldLease, Error> {
        let (mut seen, mut refused): (Option<(Option<String>, Instant)>, u32) = (None, 0);
        let look_every = self.lasts / 4;
        loop {
            let asked_at = Instant::now();
            match self.look().await {
                Ok(None) => match self.create().await {
                    Ok(object) => return Ok(self.hold(object, asked_at)),
                    // The Lease is absent, so what is not found is its namespace.
                    Err(error) if Failure::of(&error) == Failure::Absent => {
                        return Err(Error::Incomplete(format!("the namespace of the Lease: {}", words(&error))));
                    }
                    Err(error) if Failure::of(&error) == Failure::Refused => {
                        refused += 1;
                        if refused >= REFUSED_MAX {
                            return Err(Error::Refused { what: "the Lease", why: words(&error) });
                        }
                    }
                    Err(_) => {}
                },
                Ok(Some(object)) => {
                    refused = 0;
                    let version = object.metadata.resource_version.clone();
                    if seen.as_ref().is_none_or(|(known, _)| *known != version) {
                        seen = Some((version, Instant::now()));
                    }
                    let holder = object.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref()).unwrap_or("");
                    let theirs = object.spec.as_ref().and_then(|spec| spec.lease_duration_seconds).unwrap_or(0);
                    let theirs = Duration::from_secs(u64::try_from(theirs).unwrap_or(0)).max(self.lasts);
                    let is_over = seen.as_ref().is_some_and(|(_, at)| at.elapsed() >= theirs);
                    let may_take = holder.is_empty() || holder == &*self.identity || is_over;
                    if may_take && let Ok(object) = self.write(object, &self.identity).await {
                        return Ok(self.hold(object, asked_at));
                    }
                }
                Err(error) => match Failure::of(&error) {
                    Failure::Refused if refused + 1 >= REFUSED_MAX => {
                        return Err(Error::Refused { what: "the Lease", why: words(&error) });
                    }
                    Failure::Refused => refused += 1,
                    Failure::Conflict | Failure::Absent | Failure::Expired | Failure::Busy { .. } | Failure::Broken => {
                    }
                },
            }
            sleep(jittered(look_every)).await;
        }
    }

    async fn look(&self) -> kube::Result<Option<Object>> {
        let found = self.within(self.api.get_opt(NAME)).await?;
        if let Some(object) = &found
            && self.renewals.see(object, &self.identity)
        {
            self.metrics.restored();
            error!("the Lease is older than before: etcd was restored");
        }
        Ok(found)
    }

    async fn create(&self) -> kube::Result<Object> {
        let metadata = ObjectMeta { name: Some(NAME.to_owned()), ..ObjectMeta::default() };
        let object = self.signed(Object { metadata, spec: None }, &self.identity);
        self.within(self.api.create(&made_by_us(), &object)).await
    }

    /// Writes the Lease under the version that was read: of two writers, one is rejected.
    async fn write(&self, object: Object, holder: &str) -> kube::Result<Object> {
        let object = self.signed(object, holder);
        let written = self.within(self.api.replace(NAME, &made_by_us(), &object)).await?;
        self.renewals.see(&written, &self.identity);
        Ok(written)
    }

    fn signed(&self, mut object: Object, holder: &str) -> Object {
        let before = object.spec.unwrap_or_default();
        let now = after(before.renew_time.as_ref(), jiff::Timestamp::now());
        let is_new = before.holder_identity.as_deref() != Some(holder);
        let changes = before.lease_transitions.unwrap_or(0).saturating_add(i32::from(is_new));
        object.spec = Some(LeaseSpec {
            holder_identity: Some(holder.to_owned()),
            acquire_time: if is_new { Some(now.clone()) } else { before.acquire_time },
            renew_time: Some(now),
            lease_transitions: Some(changes),
            lease_duration_seconds: Some(i32::try_from(self.lasts.as_secs().max(1)).unwrap_or(i32::MAX)),
            ..before
        });
        object
    }

    async fn within<T>(&self, call: impl Future<Output = kube::Result<T>>) -> kube::Result<T> {
        let answer = match timeout(self.lasts / 3, call).await {
            Ok(answer) => answer,
            Err(_) => Err(kube::Error::Service("no answer before the timeout".into())),
        };
        // A conflict is an answer, too. An API server without its etcd answers with errors of its own.
        if !answer.as_ref().is_err_and(|error| matches!(Failure::of(error), Failure::Busy { .. } | Failure::Broken)) {
            self.metrics.api_answered();
        }
        answer
    }

    /// End of our tenure: one third of the Lease earlier than others may take it.
    fn ours_until(&self, asked_at: Instant) -> Instant {
        asked_at + self.lasts * 2 / 3
    }

    fn hold(&self, object: Object, asked_at: Instant) -> HeldLease {
        let (until, tenure) = watch::channel(self.ours_until(asked_at));
        let renewing = tokio::spawn(self.clone().renew(object, until));
        HeldLease { lease: self.clone(), tenure: Tenure(tenure), renewing, is_restored: self.renewals.take_restored() }
    }

    async fn renew(self, mut object: Object, until: watch::Sender<Instant>) {
        loop {
            sleep(jittered(self.lasts / 4)).await;
            let asked_at = Instant::now();
            if asked_at >= *until.borrow() {
                return;
            }
            match self.write(object.clone(), &self.identity).await {
                Ok(renewed) => {
                    object = renewed;
                    let _ = until.send(self.ours_until(asked_at));
                }
                Err(error) => match Failure::of(&error) {
                    // Somebody wrote it: whoever it was, we look before we go on.
                    Failure::Conflict | Failure::Absent => match self.look().await {
                        Ok(Some(seen)) if self.is_ours(&seen) && !self.renewals.is_restored() => object = seen,
                        Ok(_) => {
                            let _ = until.send(asked_at);
                            return;
                        }
                        Err(_) => {}
                    },
                    Failure::Expired | Failure::Busy { .. } | Failure::Broken | Failure::Refused => {}
                },
            }
        }
    }

    fn is_ours(&self, object: &Object) -> bool {
        object.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref()) == Some(&*self.identity)
    }
}

// === impl HeldLease ===

impl HeldLease {
    pub(crate) fn tenure(&self) -> Tenure {
        self.tenure.clone()
    }

    /// Whether etcd was restored since this process last saw the Lease.
    pub(crate) fn is_restored(&self) -> bool {
        self.is_restored
    }

    /// Releases the Lease, so that the next leader need not wait. Best effort: it would expire by itself.
    pub(crate) async fn release(self) {
        self.renewing.abort();
        // This process knows of the restore, and the next leader may not.
        if self.lease.renewals.is_restored() {
            return;
        }
        if let Ok(Some(object)) = self.lease.look().await
            && self.lease.is_ours(&object)
        {
            let _ = self.lease.write(object, "").await;
        }
    }
}

impl Drop for HeldLease {
    fn drop(&mut self) {
        self.renewing.abort();
    }
}
