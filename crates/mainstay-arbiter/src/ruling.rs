//! The arbiter's ruling on one claim. Every limit on disruptions is checked here, in one order.

use mainstay_model::{Claim, ClaimSource, ClaimTarget, Freeze, Need, Permit, Policy, PoolName, Timestamp, WaitingOn};

use crate::domains::{Domains, Ledger, Membership, Room};
use crate::rate::Rates;
use crate::window;

/// The counts that limits are compared with.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Arbiter {
    /// Nodes of each failure domain, and how many are out of service.
    pub domains: Domains,
    /// Recent grants of each pool.
    pub rates: Rates,
}

/// What the arbiter knows about the target of a claim.
#[derive(Debug, Clone, Copy)]
pub struct Situation<'a> {
    /// The pool of the node.
    pub pool: &'a PoolName,
    /// The policy of the pool, if it has one.
    pub policy: Option<&'a Policy>,
    /// The failure domains of the node.
    pub membership: &'a Membership,
    /// The count that budgets are compared with.
    pub ledger: Ledger,
    /// Whether the claim takes capacity that is in service now. Without that, no limit in number applies.
    pub takes_capacity: bool,
    /// Whether mode and approvals allow the action.
    pub permit: Permit,
    /// Freezes of the Cell.
    pub freezes: &'a [Freeze],
    /// The current time.
    pub now: Timestamp,
}

/// The arbiter's answer to a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ruling {
    /// The claim is granted.
    Granted,
    /// The claim waits for this reason, until this time if time alone ends it.
    Waits(WaitingOn, Option<Timestamp>),
    /// The deadline of the claim passed before it could be granted.
    Void,
}

impl Arbiter {
    /// Rules on a claim. The order decides which reason is shown: limits in time, then limits in number, then permission.
    #[must_use]
    pub fn rule(&self, claim: &Claim, situation: &Situation<'_>) -> Ruling {
        let now = situation.now;
        if claim.deadline.is_some_and(|deadline| now > deadline) {
            return Ruling::Void;
        }
        let limits = [
            (claim.start_after > now).then_some((WaitingOn::Window, Some(claim.start_after))),
            frozen_until(claim.by, situation).map(|until| (WaitingOn::Freeze, Some(until))),
            closed_until(claim.by, situation).map(|until| (WaitingOn::Window, Some(until))),
            self.in_number(claim, situation),
        ];
        match (limits.into_iter().flatten().next(), situation.permit) {
            (Some((on, until)), _) => Ruling::Waits(on, until),
            (None, Permit::Granted) => Ruling::Granted,
            (None, Permit::NeedsApproval | Permit::OnPaper) => Ruling::Waits(situation.permit.waiting_on(), None),
        }
    }

    /// The limit in number that the claim would exceed. A node that is only avoided stays in service.
    fn in_number(&self, claim: &Claim, situation: &Situation<'_>) -> Option<(WaitingOn, Option<Timestamp>)> {
        if claim.needs == Need::Avoid || !situation.takes_capacity {
            return None;
        }
        let Situation { pool, policy, membership, ledger, now, .. } = *situation;
        // A gang that is stopped leaves its nodes in service.
        if matches!(claim.target, ClaimTarget::Node(_)) {
            match self.domains.room(policy, membership, ledger) {
                Room::Free => {}
                Room::Spent(_) | Room::NoBudget => return Some((WaitingOn::Budget, None)),
            }
            let floor = policy.and_then(|policy| policy.floor);
            if floor.is_some_and(|floor| !self.domains.keeps_floor(floor, membership, ledger)) {
                return Some((WaitingOn::CapacityFloor, None));
            }
        }
        let rate = policy.and_then(|policy| policy.rate)?;
        self.rates.waits_until(pool, rate, now).map(|until| (WaitingOn::RateLimit, Some(until)))
    }
}

fn frozen_until(by: ClaimSource, situation: &Situation<'_>) -> Option<Timestamp> {
    let applies = situation.freezes.iter().filter(|freeze| freeze.sources.contains(&by));
    applies.map(|freeze| freeze.until).max().filter(|until| *until > situation.now)
}

/// Faults and operators' requests do not wait for a window; planned disruptions do.
fn closed_until(by: ClaimSource, situation: &Situation<'_>) -> Option<Timestamp> {
    match by {
        ClaimSource::Fault | ClaimSource::Request | ClaimSource::Preemption => None,
        ClaimSource::Window | ClaimSource::Rollout => {
            window::waits_until(situation.policy?.windows.as_slice(), situation.now)
        }
    }
}

#[cfg(test)]
mod tests;
