//! Spares: nodes that take work and have none, counted per pool as work and nodes come and go. What is best for a gang
//! that has to leave its node depends on whether there is one.

use mainstay_remedy::weigh::Spare;

use mainstay_model::NodeIndex;

use crate::Engine;
use crate::node::Node;

impl Engine {
    /// Brings the count in line with one node.
    pub(crate) fn settle_spare(&mut self, index: NodeIndex) {
        self.spare(index, self.node(index).takes_more());
    }

    /// Counts a node as a spare of its pool, or no longer. Where the first came or the last went, whoever is being emptied
    /// is looked at again.
    pub(crate) fn spare(&mut self, index: NodeIndex, is_spare: bool) {
        let node = &mut self.nodes[index.get()];
        if node.is_spare == is_spare {
            return;
        }
        node.is_spare = is_spare;
        let pool = node.membership.pool();
        let count = self.spares.entry(pool).or_default();
        *count = count.saturating_add_signed(if is_spare { 1 } else { -1 });
        if *count == u32::from(is_spare) {
            let of_pool = |emptied: &&NodeIndex| self.nodes[emptied.get()].membership.pool() == pool;
            self.dirty.extend(self.emptying.iter().filter(of_pool));
        }
    }

    /// Whether a gang on this node could go on elsewhere: with what it keeps, one more node is enough.
    pub(crate) fn spare_for(&self, node: &Node) -> Spare {
        match self.spares.get(&node.membership.pool()) {
            Some(1..) => Spare::There,
            Some(0) | None => Spare::None,
        }
    }

    /// Keeps who is being emptied.
    pub(crate) fn settle_emptying(&mut self, index: NodeIndex) {
        if self.node(index).is_emptying() {
            self.emptying.insert(index);
        } else {
            self.emptying.remove(&index);
        }
    }
}
