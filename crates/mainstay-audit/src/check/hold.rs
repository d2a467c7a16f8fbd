//! Invariant 9, hold-kept: a person's hold is stronger than every rule. Our own record may still say so.

use mainstay_model::RequestKind;

use super::{Ordered, Scene};

/// What is done to a node that a person wants left as it is.
pub(super) fn not_left_alone(_: &Scene<'_>, ordered: &Ordered<'_>) -> Option<String> {
    let is_held = ordered.node.and_then(|node| node.request()) == Some(RequestKind::Hold);
    (is_held && ordered.is_act()).then(|| "a person holds the node".to_owned())
}
