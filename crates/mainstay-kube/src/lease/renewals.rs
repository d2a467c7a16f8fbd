//! The highest renewal time of the Lease that this process has seen.

#![expect(clippy::disallowed_types, reason = "held for a few comparisons, and nothing here waits")]

use std::sync::{Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;

/// Precision of the times in a Lease.
const TICK: SignedDuration = SignedDuration::from_micros(1);

/// What was seen of the Lease.
#[derive(Debug, Default)]
pub(super) struct Renewals(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    uid: Option<String>,
    renewed: Option<Timestamp>,
    is_restored: bool,
}

/// The time of a renewal: now, or just after the one before if a clock is behind.
pub(super) fn after(before: Option<&MicroTime>, now: Timestamp) -> MicroTime {
    let next = before.and_then(|before| before.0.checked_add(TICK).ok());
    MicroTime(next.map_or(now, |next| next.max(now)))
}

impl Renewals {
    /// Notes the Lease as the API server has it. Returns whether this shows for the first time that etcd was restored.
    pub(super) fn see(&self, lease: &Lease, own_identity: &str) -> bool {
        let spec = lease.spec.as_ref();
        let Some(renewed) = spec.and_then(|spec| spec.renew_time.as_ref()).map(|time| time.0) else { return false };
        let holder = spec.and_then(|spec| spec.holder_identity.as_deref()).unwrap_or_default();
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A Lease that was deleted and created again begins with another time.
        if seen.uid != lease.metadata.uid {
            *seen = Seen { uid: lease.metadata.uid.clone(), renewed: Some(renewed), is_restored: seen.is_restored };
            return false;
        }
        let is_older = seen.renewed.is_some_and(|known| renewed < known);
        let is_new = is_older && !seen.is_restored;
        if is_older {
            seen.is_restored = true;
        } else {
            seen.renewed = Some(renewed);
            // Another process leads on. Its own memory and the agents know of the restore.
            seen.is_restored &= holder.is_empty() || holder == own_identity;
        }
        is_new
    }

    pub(super) fn is_restored(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_restored
    }

    /// Whether etcd was restored since the last call.
    pub(super) fn take_restored(&self) -> bool {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner).is_restored)
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::coordination::v1::LeaseSpec;
    use kube::api::ObjectMeta;

    use super::*;

    fn lease(uid: &str, holder: &str, second: i64) -> Lease {
        let renew_time = Some(MicroTime(Timestamp::from_second(second).unwrap()));
        Lease {
            metadata: ObjectMeta { uid: Some(uid.to_owned()), ..ObjectMeta::default() },
            spec: Some(LeaseSpec { holder_identity: Some(holder.to_owned()), renew_time, ..LeaseSpec::default() }),
        }
    }

    #[test]
    fn a_renewal_is_later_than_the_one_before_with_any_clock() {
        let at = |second| Timestamp::from_second(second).unwrap();
        assert_eq!(after(None, at(5)).0, at(5));
        assert_eq!(after(Some(&MicroTime(at(4))), at(5)).0, at(5));
        assert_eq!(after(Some(&MicroTime(at(9))), at(5)).0, at(9) + TICK);
    }

    #[test]
    fn an_older_lease_shows_a_restore_once() {
        let renewals = Renewals::default();
        assert!(!renewals.see(&lease("a", "us", 10), "us"));
        assert!(!renewals.see(&lease("a", "us", 10), "us"), "the same renewal");
        assert!(renewals.see(&lease("a", "us", 7), "us"));
        assert!(!renewals.see(&lease("a", "us", 7), "us"), "it is counted once");
        assert!(!renewals.see(&lease("a", "us", 12), "us"));
        assert!(renewals.take_restored(), "our own renewal does not end it");
        assert!(!renewals.take_restored());
    }

    #[test]
    fn a_lease_that_was_created_again_is_no_restore_and_another_leader_ends_what_we_know() {
        let renewals = Renewals::default();
        renewals.see(&lease("a", "them", 10), "us");
        assert!(!renewals.see(&lease("b", "them", 3), "us"));
        assert!(renewals.see(&lease("b", "them", 2), "us"));
        renewals.see(&lease("b", "", 12), "us");
        assert!(renewals.is_restored(), "a released Lease has no leader");
        renewals.see(&lease("b", "them", 13), "us");
        assert!(!renewals.take_restored());
    }
}
