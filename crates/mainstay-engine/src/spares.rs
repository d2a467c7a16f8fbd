//! Spares: nodes that get jobs and have none, counted per pool. Whether there is one changes the best time to stop a gang
//! that has to leave its node.

use mainstay_model::NodeIndex;
use mainstay_remedy::weigh::Spare;

use crate::index::Index;
use crate::state::State;
use crate::state::node::Node;

/// Brings the count in line with one node.
pub(crate) fn settle(state: &mut State, index: &mut Index, id: NodeIndex) {
    let is_spare = state.node(id).can_be_spare();
    count(state, index, id, is_spare);
}

/// Counts a node as a spare of its pool, or no longer. If it is the first, or was the last, nodes that are being drained
/// are evaluated again.
pub(crate) fn count(state: &mut State, index: &mut Index, id: NodeIndex, is_spare: bool) {
    let node = &mut state.nodes[id.get()];
    if node.is_spare == is_spare {
        return;
    }
    node.is_spare = is_spare;
    let pool = node.membership.pool();
    let spares = state.counts.spares.entry(pool).or_default();
    *spares = spares.saturating_add_signed(if is_spare { 1 } else { -1 });
    if *spares == u32::from(is_spare) {
        let in_pool = |draining: &&NodeIndex| state.nodes[draining.get()].membership.pool() == pool;
        index.changed.extend(index.emptying.iter().filter(in_pool));
    }
}

/// Whether a gang on this node could continue elsewhere: it keeps its other nodes, so one spare is enough.
pub(crate) fn spare_for(state: &State, node: &Node) -> Spare {
    match state.counts.spares.get(&node.membership.pool()) {
        Some(1..) => Spare::There,
        Some(0) | None => Spare::None,
    }
}
