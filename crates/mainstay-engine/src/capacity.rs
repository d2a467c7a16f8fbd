//! Values for metrics and for the web UI: GPUs of pools by availability, the largest gang that fits, the domains of nodes,
//! and the time of the last evidence of a node. No decision reads them.

use std::collections::BTreeMap;

use mainstay_arbiter::domains::Presence;
use mainstay_model::{DomainName, Level, NodeFacts, NodeName, PoolName, Ready, Stage, Timestamp};

use crate::state::State;
use crate::state::node::Node;

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

/// GPUs of one pool. Each GPU counts once: as allocated, free, held back or out of service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolLine {
    /// The pool.
    pub pool: PoolName,
    /// Number of its nodes.
    pub nodes: u32,
    /// Number of its GPUs.
    pub gpus: u32,
    /// GPUs that jobs use, on nodes in service.
    pub allocated: u32,
    /// GPUs that no job uses, on nodes that take jobs.
    pub free: u32,
    /// GPUs that no job uses, on nodes that are in service and take no new jobs: suspect, starting or cordoned by another
    /// actor.
    pub held_back: u32,
    /// GPUs of nodes out of service.
    pub out: u32,
    /// GPUs among those out of service that jobs still use.
    pub out_allocated: u32,
}

/// Whether a node runs no jobs: its stage keeps them off, or Kubernetes does not see it as ready.
#[must_use]
pub fn is_out_of_service(stage: Stage, ready: Ready) -> bool {
    !stage.gets_jobs() && stage != Stage::Bootstrapping || ready != Ready::Yes
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

pub(crate) fn domains(state: &State) -> Vec<DomainsLine> {
    let nodes = state.names.values().map(|index| state.node(*index));
    let line = |facts: &NodeFacts, node: &NodeName| DomainsLine {
        node: node.clone(),
        pool: facts.pool.clone(),
        domains: facts.domains.iter().map(|(level, domain)| (*level, domain.clone())).collect(),
    };
    nodes.filter_map(|node| Some(line(node.facts.as_deref()?, &node.name))).collect()
}

pub(crate) fn room(state: &State, used: &BTreeMap<NodeName, u16>) -> Vec<RoomLine> {
    let mut pools: BTreeMap<&PoolName, u32> = BTreeMap::new();
    let mut domains: BTreeMap<(&PoolName, Level, &DomainName), u32> = BTreeMap::new();
    for index in state.names.values() {
        let node = state.node(*index);
        let Some(facts) = node.facts.as_deref() else { continue };
        let free = node.gpus().saturating_sub(used.get(&node.name).copied().unwrap_or(0));
        let free = if takes_jobs(node, facts) { u32::from(free) } else { 0 };
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

pub(crate) fn pools(state: &State, used: &BTreeMap<NodeName, u16>) -> Vec<PoolLine> {
    let mut pools: BTreeMap<&PoolName, PoolLine> = BTreeMap::new();
    for index in state.names.values() {
        let node = state.node(*index);
        let Some(facts) = node.facts.as_deref() else { continue };
        let line = pools.entry(&facts.pool).or_insert_with(|| PoolLine::empty(facts.pool.clone()));
        // More pods than GPUs, as after a GPU is lost, allocate every GPU.
        let allocated = used.get(&node.name).copied().unwrap_or(0).min(node.gpus());
        let (gpus, allocated) = (u32::from(node.gpus()), u32::from(allocated));
        line.nodes += 1;
        line.gpus += gpus;
        if is_out_of_service(node.status.stage, facts.ready) {
            line.out += gpus;
            line.out_allocated += allocated;
            continue;
        }
        line.allocated += allocated;
        let rest = if takes_jobs(node, facts) { &mut line.free } else { &mut line.held_back };
        *rest += gpus - allocated;
    }
    pools.into_values().collect()
}

pub(crate) fn gpus_by_stage(state: &State) -> BTreeMap<Stage, u64> {
    let mut stages = BTreeMap::new();
    for index in state.names.values() {
        let node = state.node(*index);
        if node.facts.is_some() {
            *stages.entry(node.status.stage).or_default() += u64::from(node.gpus());
        }
    }
    stages
}

pub(crate) fn last_evidence_at(state: &State, node: &NodeName) -> Option<Timestamp> {
    let report = state.node(*state.names.get(node)?).report.as_deref()?;
    report.evidence.iter().map(|piece| piece.last_seen_at).max()
}
impl PoolLine {
    const fn empty(pool: PoolName) -> Self {
        Self { pool, nodes: 0, gpus: 0, allocated: 0, free: 0, held_back: 0, out: 0, out_allocated: 0 }
    }
}

fn takes_jobs(node: &Node, facts: &NodeFacts) -> bool {
    node.presence == Presence::In && node.status.stage == Stage::InService && facts.ready == Ready::Yes
}

#[cfg(test)]
mod tests {
    use mainstay_model::{Fact, Observation, PlannedWork, Schedulable};

    use super::*;
    use crate::Engine;

    /// A node of eight GPUs below a leaf and in a rack.
    fn node(name: &str, leaf: &str, rack: &str, ready: Ready, schedulable: Schedulable) -> Fact {
        let domains = [(Level::Leaf, leaf.parse().unwrap()), (Level::Rack, rack.parse().unwrap())].into();
        let (uid, pool) = ("u".parse().unwrap(), "p".parse().unwrap());
        let facts = NodeFacts {
            uid,
            domains,
            pool,
            gpus: 8,
            ready,
            schedulable,
            planned: PlannedWork::Nothing,
            avoided: false,
            power: mainstay_model::Power::Unknown,
        };
        Fact::Node { node: name.parse().unwrap(), facts: Box::new(facts) }
    }

    /// Five nodes: three take jobs, one is not known to be ready, one is cordoned by another actor.
    fn fleet() -> Engine {
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
        engine
    }

    fn in_use(used: &[(&str, u16)]) -> BTreeMap<NodeName, u16> {
        used.iter().map(|(node, gpus)| (node.parse().unwrap(), *gpus)).collect()
    }

    #[test]
    fn each_gpu_counts_once_as_allocated_free_held_back_or_out_of_service() {
        let engine = fleet();
        let pool = |used: &[(&str, u16)]| {
            let [line] = &engine.pools(&in_use(used))[..] else { panic!("one pool") };
            assert_eq!((line.nodes, line.gpus), (5, 40));
            assert_eq!(line.allocated + line.free + line.held_back + line.out, line.gpus);
            let room = engine.room(&in_use(used)).into_iter().find(|line| line.level.is_none()).unwrap();
            assert_eq!(line.free, room.gpus, "what is free is the largest gang of the pool");
            [line.allocated, line.free, line.held_back, line.out, line.out_allocated]
        };
        assert_eq!(pool(&[]), [0, 24, 8, 8, 0]);
        assert_eq!(pool(&[("n1", 8), ("n2", 3)]), [11, 13, 8, 8, 0]);
        // Jobs on a cordoned node and on a node that is not ready still hold their GPUs.
        assert_eq!(pool(&[("n4", 8), ("n5", 2)]), [2, 24, 6, 8, 8]);
        // More pods than GPUs, as after a GPU is lost.
        assert_eq!(pool(&[("n1", 9), ("n2", 99), ("n3", 8)]), [24, 0, 8, 8, 0]);
    }

    #[test]
    fn the_largest_gang_fits_into_the_emptiest_domain_of_nodes_that_take_jobs() {
        let engine = fleet();
        let room = |used: &[(&str, u16)]| {
            let lines = engine.room(&in_use(used)).into_iter();
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
