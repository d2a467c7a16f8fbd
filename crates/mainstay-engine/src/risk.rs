//! How likely a node is to fail again. No decision depends on it, so it is computed on demand.

use mainstay_health::{self as health, Risk, RiskInput};
use mainstay_model::Timestamp;

use crate::state::State;
use crate::state::node::Node;
use crate::view::installed_parts;

pub(crate) fn risk(state: &State, node: &Node, now: Timestamp) -> Risk {
    let parts = installed_parts(state, node);
    let past = RiskInput {
        incidents: node.status.incidents.as_slice(),
        arrivals: node.status.arrivals.as_slice(),
        parts: parts.as_deref(),
    };
    health::risk(&past, now)
}
