//! State of operators' objects: whether a FleetPolicy or a Fabric is in effect, and why not. It is written to the
//! object's own conditions.

use std::collections::BTreeMap;

use kube::ResourceExt as _;
use mainstay_api::{Condition, ConditionStatus, Conditions, Fabric, FleetPolicy, GangRecognition, OwnerKind, Topology};
use mainstay_model::{Fact, Literal, Policy, PoolName, Reason, RuleName, Timestamp};

use super::{EndEvent, Kind, World};
use crate::tolerant::Tolerant;
use crate::watch::WatchEvent;

/// Type of the condition on a FleetPolicy or Fabric.
const ACCEPTED: Literal<RuleName> = RuleName::literal("Accepted");
const IN_FORCE: Literal<RuleName> = RuleName::literal("InForce");
const SHADOWED: Literal<RuleName> = RuleName::literal("Shadowed");
const UNFIT: Literal<RuleName> = RuleName::literal("Unfit");

/// Kind of object with which operators configure Mainstay: FleetPolicy or Fabric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ConfigKind {
    Policy,
    Fabric,
}

/// Whether one FleetPolicy or Fabric is in effect, and the conditions stored on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfigStatus {
    pub(crate) generation: i64,
    /// Why it is not in effect: a reason and a message.
    pub(crate) refused: Option<(Literal<RuleName>, String)>,
    /// Conditions that are stored on it.
    pub(crate) stored_conditions: Conditions,
    /// Stored number of nodes that a fabric places.
    pub(crate) placed_told: Option<i32>,
}

/// States of all FleetPolicies and Fabrics, by kind and name.
pub(crate) type ConfigStatuses = BTreeMap<(ConfigKind, String), ConfigStatus>;

impl ConfigStatus {
    /// The stored condition Accepted.
    pub(crate) fn accepted(told: &Conditions) -> Option<Condition> {
        told.0.iter().find(|one| one.type_ == ACCEPTED).cloned()
    }

    /// The condition to write. None if it is stored already.
    pub(crate) fn pending_condition(&self, now: Timestamp) -> Option<Condition> {
        let (status, reason, message) = match &self.refused {
            None => (ConditionStatus::True, IN_FORCE, "This object is in effect."),
            Some((reason, message)) => (ConditionStatus::False, *reason, message.as_str()),
        };
        let message = Reason::lossy(message);
        let told = Self::accepted(&self.stored_conditions);
        let is_told = told.as_ref().is_some_and(|told| {
            told.status == status
                && told.reason == reason
                && told.message == message
                && told.observed_generation == self.generation
        });
        let since = told.filter(|told| told.status == status).map_or(now.into(), |told| told.last_transition_time);
        (!is_told).then_some(Condition {
            type_: ACCEPTED.get(),
            status,
            reason: reason.get(),
            message,
            observed_generation: self.generation,
            last_transition_time: since,
        })
    }
}

/// A FleetPolicy that passed conversion, with its gang recognition.
pub(super) struct ValidPolicy {
    pub(super) policy: Policy,
    pub(super) gang: GangSelector,
}

/// Pod label and owner kinds that identify the gangs of a pool.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct GangSelector {
    pub(super) label: Option<String>,
    pub(super) owners: Vec<OwnerKind>,
}

impl World {
    /// Handles a FleetPolicy. Of two policies for one pool, the first by name applies. Without a policy nothing is
    /// allowed in a pool.
    pub(super) fn policy(&mut self, told: WatchEvent<Tolerant<FleetPolicy>>, now: Timestamp) -> Result<(), EndEvent> {
        let (name, read) = match told {
            WatchEvent::Is(policy) => (policy.name_any(), Some(policy.object)),
            WatchEvent::Gone(key) => (key.name.into(), None),
            WatchEvent::Listed => {
                self.list(Kind::Policy);
                return Ok(());
            }
            WatchEvent::Bookmark => return Ok(()),
        };
        let before = self.policies.remove(&name);
        let mut touched: Vec<PoolName> = before.iter().map(|seen| seen.policy.pool.clone()).collect();
        let gang_before = before.map(|seen| seen.gang).unwrap_or_default();
        let mut gang_after = GangSelector::default();
        self.judged.remove(&(ConfigKind::Policy, name.clone()));
        match read {
            Some(Ok(object)) => {
                let fit = Policy::try_from(&object.spec);
                let judged = ConfigStatus {
                    generation: object.metadata.generation.unwrap_or(0),
                    refused: fit.as_ref().err().map(unfit),
                    stored_conditions: object.status.map(|status| status.conditions).unwrap_or_default(),
                    placed_told: None,
                };
                self.judged.insert((ConfigKind::Policy, name.clone()), judged);
                match fit {
                    Ok(policy) => {
                        touched.push(policy.pool.clone());
                        gang_after = object.spec.gang.map(GangSelector::from).unwrap_or_default();
                        self.policies.insert(name, ValidPolicy { policy, gang: gang_after.clone() });
                    }
                    Err(_) => self.is_unfit(Kind::Policy),
                }
            }
            // What is none of its kind has no status that we could read back.
            Some(Err(_)) => self.is_unfit(Kind::Policy),
            None => {}
        }
        self.has_judged_anew = true;
        touched.dedup();
        for pool in touched {
            let policy = self.policy_in_effect(&pool).unwrap_or_else(|| Policy::new(pool));
            self.tell(now, Fact::Policy(Box::new(policy)));
        }
        if self.has_read && gang_after != gang_before {
            return Err(EndEvent::ReadAnew("spec.gang of a FleetPolicy changed"));
        }
        Ok(())
    }

    /// The policy that applies to a pool. The others get the condition Shadowed.
    fn policy_in_effect(&mut self, pool: &PoolName) -> Option<Policy> {
        let mut all = self.policies.iter().filter(|(_, seen)| seen.policy.pool == *pool);
        let (first, standing) = all.next().map(|(name, seen)| (name.clone(), seen.policy.clone()))?;
        let others: Vec<String> = all.map(|(name, _)| name.clone()).collect();
        for (name, refused) in std::iter::once((first.clone(), None)).chain(others.into_iter().map(|name| {
            let why = format!("Not in effect: FleetPolicy {first} already applies to pool {pool}.");
            (name, Some((SHADOWED, why)))
        })) {
            if let Some(judged) = self.judged.get_mut(&(ConfigKind::Policy, name)) {
                judged.refused = refused;
            }
        }
        Some(standing)
    }

    pub(super) fn fabric(&mut self, told: WatchEvent<Tolerant<Fabric>>) -> Result<(), EndEvent> {
        let (name, read) = match told {
            WatchEvent::Is(fabric) => (fabric.name_any(), Some(fabric.object)),
            WatchEvent::Gone(key) => (key.name.into(), None),
            WatchEvent::Listed => {
                self.list(Kind::Fabric);
                return Ok(());
            }
            WatchEvent::Bookmark => return Ok(()),
        };
        let before = self.fabrics.remove(&name);
        let mut after = None;
        self.judged.remove(&(ConfigKind::Fabric, name.clone()));
        match read {
            Some(Ok(object)) => {
                let fit = Topology::try_from(&object.spec);
                let judged = ConfigStatus {
                    generation: object.metadata.generation.unwrap_or(0),
                    refused: fit.as_ref().err().map(unfit),
                    placed_told: object.status.as_ref().map(|status| status.nodes_placed),
                    stored_conditions: object.status.map(|status| status.conditions).unwrap_or_default(),
                };
                self.judged.insert((ConfigKind::Fabric, name.clone()), judged);
                if fit.is_err() {
                    self.is_unfit(Kind::Fabric);
                }
                after = fit.ok();
            }
            Some(Err(_)) => self.is_unfit(Kind::Fabric),
            None => {}
        }
        self.has_judged_anew = true;
        let is_same = before == after;
        if let Some(after) = after {
            self.fabrics.insert(name, after);
        }
        if self.has_read && !is_same { Err(EndEvent::ReadAnew("a Fabric changed")) } else { Ok(()) }
    }
}

impl From<GangRecognition> for GangSelector {
    fn from(gang: GangRecognition) -> Self {
        Self { label: gang.pod_label, owners: gang.owners.as_slice().to_vec() }
    }
}

fn unfit(unfit: &mainstay_api::ConversionError) -> (Literal<RuleName>, String) {
    (UNFIT, format!("Not in effect: {unfit}."))
}
