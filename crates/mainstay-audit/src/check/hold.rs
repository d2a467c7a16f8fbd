//! Invariant 9, hold-kept: an operator's hold overrides every rule. Mainstay's own status may still change.

use mainstay_model::RequestKind;

use super::{AuditContext, OrderedEffect};

/// Finds an effect on a node that an operator holds.
pub(super) fn not_left_alone(_: &AuditContext<'_>, ordered: &OrderedEffect<'_>) -> Option<String> {
    let is_held = ordered.node.and_then(|node| node.request()) == Some(RequestKind::Hold);
    (is_held && ordered.is_act()).then(|| "an operator holds the node".to_owned())
}
