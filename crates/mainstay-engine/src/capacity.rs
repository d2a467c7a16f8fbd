//! Values for metrics: the largest gang that fits, the domains of nodes, and the time of the last evidence of a node. No
//! decision reads them.

use std::collections::BTreeMap;

use mainstay_model::{DomainName, Level, NodeFacts, NodeName, PoolName, Ready, Stage, Timestamp};
use mainstay_remedy::arbiter::Presence;

use crate::Engine;

/// Free GPUs of the emptiest domain of one level, or of the whole pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoomLine {
    /// Pool of the nodes.
    pub pool: PoolName,
    /// Level of the domain; the whole pool where absent.
    pub level: Option<Level>,
    /// GPUs that no job uses, on nodes that take jobs.
    pub gpus: u32,
}

/// Pool and failure domains of one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DomainsLine {
    /// The node.
    pub node: NodeName,
    /// Pool of the node.
    pub pool: PoolName,
    /// Its domain on each level that the Fabric names.
    pub domains: BTreeMap<Level, DomainName>,
}

impl Engine {
    /// Pool and failure domains of every registered node.
    #[must_use]
    pub fn domains(&self) -> Vec<DomainsLine> {
        let nodes = self.names.values().map(|index| self.node(*index));
        let line = |facts: &NodeFacts, node: &NodeName| DomainsLine {
            node: node.clone(),
            pool: facts.pool.clone(),
            domains: facts.domains.iter().map(|(level, domain)| (*level, domain.clone())).collect(),
        };
        nodes.filter_map(|node| Some(line(node.facts.as_deref()?, &node.name))).collect()
    }

    /// Largest gang that fits now, by pool and topology level. `used` is the number of GPUs in use, by node. A gang that
    /// needs whole nodes may not fit.
    #[must_use]
    pub fn room(&self, used: &BTreeMap<NodeName, u16>) -> Vec<RoomLine> {
        let mut pools: BTreeMap<&PoolName, u32> = BTreeMap::new();
        let mut domains: BTreeMap<(&PoolName, Level, &DomainName), u32> = BTreeMap::new();
        for index in self.names.values() {
            let node = self.node(*index);
            let Some(facts) = node.facts.as_deref() else { continue };
            let takes_jobs =
                node.presence == Presence::In && node.persisted.stage == Stage::InService && facts.ready == Ready::Yes;
            let free = facts.gpus.saturating_sub(used.get(&node.name).copied().unwrap_or(0));
            let free = if takes_jobs { u32::from(free) } else { 0 };
            *pools.entry(&facts.pool).or_default() += free;
            for (level, domain) in &facts.domains {
                *domains.entry((&facts.pool, *level, domain)).or_default() += free;
            }
        }
        let mut largest: BTreeMap<(&PoolName, Option<Level>), u32> = BTreeMap::new();
        let levels = domains.into_iter().map(|((pool, level, _), gpus)| ((pool, Some(level)), gpus));
        for (key, gpus) in levels.chain(pools.into_iter().map(|(pool, gpus)| ((pool, None), gpus))) {
            let most = largest.entry(key).or_default();
            *most = gpus.max(*most);
        }
        largest.into_iter().map(|((pool, level), gpus)| RoomLine { pool: pool.clone(), level, gpus }).collect()
    }

    /// Number of GPUs of every registered node, by the stage of the node.
    #[must_use]
    pub fn gpus_by_stage(&self) -> BTreeMap<Stage, u64> {
        let mut stages = BTreeMap::new();
        for index in self.names.values() {
            let node = self.node(*index);
            if let Some(facts) = node.facts.as_deref() {
                *stages.entry(node.persisted.stage).or_default() += u64::from(facts.gpus);
            }
        }
        stages
    }

    /// Time of the last evidence in the last report of a node, by the agent's clock.
    #[must_use]
    pub fn last_evidence_at(&self, node: &NodeName) -> Option<Timestamp> {
        let heard = self.node(*self.names.get(node)?).heard.as_deref()?;
        heard.evidence.iter().map(|piece| piece.last_seen_at).max()
    }
}

#[cfg(test)]
mod tests {
    use mainstay_model::{Fact, Observation, PlannedWork, Schedulable};

    use super::*;

    /// A node of eight GPUs below a leaf and in a rack.
    fn node(name: &str, leaf: &str, rack: &str, ready: Ready, schedulable: Schedulable) -> Fact {
        let domains = [(Level::Leaf, leaf.parse().unwrap()), (Level::Rack, rack.parse().unwrap())].into();
        let (uid, pool) = ("u".parse().unwrap(), "p".parse().unwrap());
        let facts = NodeFacts { uid, domains, pool, gpus: 8, ready, schedulable, planned: PlannedWork::Nothing };
        Fact::Node { node: name.parse().unwrap(), facts: Box::new(facts) }
    }

    #[test]
    fn the_largest_gang_fits_into_the_emptiest_domain_of_nodes_that_take_jobs() {
        let mut engine = Engine::new();
        for fact in [
            node("n1", "leaf-1", "rack-1", Ready::Yes, Schedulable::Yes),
            node("n2", "leaf-1", "rack-2", Ready::Yes, Schedulable::Yes),
            node("n3", "leaf-2", "rack-2", Ready::Yes, Schedulable::Yes),
            node("n4", "leaf-2", "rack-2", Ready::Unknown, Schedulable::Yes),
            node("n5", "leaf-2", "rack-2", Ready::Yes, Schedulable::NotByOthers),
        ] {
            engine.observe(&Observation { at: Timestamp(0), fact });
        }
        let _ = engine.decide(Timestamp(1));
        let room = |used: &[(&str, u16)]| {
            let used = used.iter().map(|(node, gpus)| (node.parse().unwrap(), *gpus)).collect();
            let lines = engine.room(&used).into_iter();
            lines.map(|line| format!("{:?} {}", line.level, line.gpus)).collect::<Vec<_>>()
        };
        assert_eq!(room(&[]), ["None 24", "Some(Rack) 16", "Some(Leaf) 16"]);
        assert_eq!(room(&[("n1", 8), ("n2", 3)]), ["None 13", "Some(Rack) 13", "Some(Leaf) 8"]);
        // More pods than GPUs, as after a GPU is lost.
        assert_eq!(room(&[("n1", 9), ("n2", 99), ("n3", 8)]), ["None 0", "Some(Rack) 0", "Some(Leaf) 0"]);
        // A node that is not known to be ready is Suspect.
        assert_eq!(engine.gpus_by_stage(), [(Stage::InService, 32), (Stage::Suspect, 8)].into());
    }
}
