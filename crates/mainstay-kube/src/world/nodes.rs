//! Facts from Node objects. A node whose object cannot be read keeps its last facts and counts as not known to be ready: it
//! must not disappear, because budgets and capacity would then be computed without it.

use std::collections::{BTreeMap, BTreeSet};

use kube::{Resource as _, ResourceExt as _};
use mainstay_model::{Bounded, Fact, NodeFacts, NodeName, NodeUid, PoolName, Ready, Timestamp};
use tracing::warn;

use super::{Kind, World};
use crate::node::{self, ManagedNode, PartialNode, ReadResult};
use crate::tolerant::Tolerant;
use crate::watch::{Key, WatchEvent};

/// Last facts of every managed node, and the nodes whose object cannot be read now.
#[derive(Debug, Default)]
pub(super) struct NodeReadings {
    last: BTreeMap<NodeName, Box<NodeFacts>>,
    unreadable: BTreeSet<NodeName>,
}

impl NodeReadings {
    pub(super) const fn unreadable(&self) -> &BTreeSet<NodeName> {
        &self.unreadable
    }

    pub(super) fn pool(&self, node: &NodeName) -> Option<&PoolName> {
        self.last.get(node).map(|facts| &facts.pool)
    }

    fn forget(&mut self, node: &NodeName) {
        self.last.remove(node);
        self.unreadable.remove(node);
    }
}

impl World {
    /// UID of a managed node's registration.
    pub(super) fn uid_of(&self, node: &NodeName) -> Option<&NodeUid> {
        self.readings.last.get(node).map(|facts| &facts.uid)
    }

    pub(super) fn node(&mut self, told: WatchEvent<Tolerant<PartialNode>>, now: Timestamp) {
        let seen = match told {
            WatchEvent::Is(seen) => seen,
            WatchEvent::Gone(key) => {
                if let Ok(node) = NodeName::parse(&key.name) {
                    self.slices.node_gone(&node);
                }
                return self.node_gone(&key, now);
            }
            WatchEvent::Listed => return self.list(Kind::Node),
            WatchEvent::Bookmark => return,
        };
        let key = Key { namespace: None, name: seen.name_any().into() };
        let uid = seen.meta().uid.clone();
        match seen.object {
            Ok(object) => match node::read(&object, &self.fabrics, self.slices.gpus(&key.name), self.capability) {
                ReadResult::Ours(read) => self.managed_node(*read, now),
                // One that was ours, and lost its pool and its GPUs for good.
                ReadResult::NotOurs => self.node_gone(&key, now),
                ReadResult::Unfit(why) => self.unreadable_node(&key, uid.as_deref(), &why, now),
            },
            Err(invalid) => self.unreadable_node(&key, uid.as_deref(), &invalid.why, now),
        }
    }

    fn managed_node(&mut self, read: ManagedNode, now: Timestamp) {
        let ManagedNode { name, facts, others } = read;
        self.orphans.remove(&name);
        self.readings.unreadable.remove(&name);
        let complaints = others.complaints.clone();
        let before = self.nodes.insert(name.clone(), others);
        self.readings.last.insert(name.clone(), Box::new(facts.clone()));
        self.tell(now, Fact::Node { node: name.clone(), facts: Box::new(facts) });
        let known = before.map(|before| before.complaints).unwrap_or_default();
        if known != complaints {
            self.tell(now, Fact::Complaints { node: name, complaints });
        }
    }

    /// A node whose object cannot be read. With the UID of its last facts it keeps them, except that it is not known to be
    /// ready. A node that was never readable has no facts: it is counted and named only.
    fn unreadable_node(&mut self, key: &Key, uid: Option<&str>, why: &str, now: Timestamp) {
        self.is_unfit(Kind::Node);
        let Ok(node) = NodeName::parse(&key.name) else { return };
        let last = self.readings.last.get(&node).cloned();
        let is_other = |facts: &NodeFacts| uid.is_some_and(|uid| uid != facts.uid.as_str());
        match last {
            Some(facts) if is_other(&facts) => self.node_gone(key, now),
            Some(facts) => {
                let facts = Box::new(NodeFacts { ready: Ready::Unknown, ..*facts });
                self.tell(now, Fact::Node { node: node.clone(), facts });
            }
            None => {}
        }
        if self.readings.unreadable.insert(node.clone()) {
            let has_facts = self.readings.last.contains_key(&node);
            warn!(node = node.as_str(), why, has_facts, "a Node cannot be read");
        }
    }

    fn node_gone(&mut self, key: &Key, now: Timestamp) {
        let Ok(node) = NodeName::parse(&key.name) else { return };
        self.readings.forget(&node);
        if let Some(before) = self.nodes.remove(&node) {
            self.orphans.insert(node.clone());
            self.versions.remove(&node);
            if !before.complaints.as_slice().is_empty() {
                self.tell(now, Fact::Complaints { node: node.clone(), complaints: Bounded::new() });
            }
            self.tell(now, Fact::NodeGone { node });
        }
    }
}
