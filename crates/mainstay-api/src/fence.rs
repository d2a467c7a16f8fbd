//! Names that the admission policies (`deploy/policy/`) and the controller must spell alike.

/// API group of every Mainstay kind.
pub const GROUP: &str = "mainstay.dev";
/// API version that is served today.
pub const VERSION: &str = "v1alpha1";
/// Name of the one Cell in a cluster. The admission policies use that Cell as their parameter.
pub const CELL_NAME: &str = "cell";
/// Annotation: epoch of the leader that made a write, for objects without `status.epoch`.
pub const EPOCH: &str = "mainstay.dev/epoch";
/// Annotation on a stored object: epoch of the leader that is about to delete it.
pub const DELETE_EPOCH: &str = "mainstay.dev/delete-epoch";
/// Annotation: the action this write carries out, which a person approved by that name in `Cell.spec.approvals`.
pub const APPROVAL: &str = "mainstay.dev/approval";
/// The label on nodes and Evictions that a controller's write needs: the fence of actions matches only labelled objects.
pub const FENCED: &str = "mainstay.dev/fenced";
/// Taint: our quarantine of a node. Whatever else keeps work away from it is somebody else's.
pub const TAINT: &str = "mainstay.dev/quarantined";
/// Taint: new work prefers other nodes, because this one is flagged and has to wait for its removal.
pub const AVOID_TAINT: &str = "mainstay.dev/avoid";
