//! The names that the fence (`deploy/policy/`) and the controller must spell alike.

/// The API group.
pub const GROUP: &str = "mainstay.dev";
/// The version served today.
pub const VERSION: &str = "v1alpha1";
/// The one Cell of a cluster; the fence takes it as its parameter.
pub const CELL_NAME: &str = "cell";
/// Annotation: the epoch of the leadership that made a write, where the object has no `status.epoch` to carry it.
pub const EPOCH: &str = "mainstay.dev/epoch";
/// Annotation on a stored object: the epoch of the leadership that is about to delete it.
pub const DELETE_EPOCH: &str = "mainstay.dev/delete-epoch";
/// Annotation: the action this write carries out, which a person approved by that name in `Cell.spec.approvals`.
pub const APPROVAL: &str = "mainstay.dev/approval";
/// The label on nodes and Evictions that a controller's write needs: the fence of actions matches only labelled objects.
pub const FENCED: &str = "mainstay.dev/fenced";
/// Taint: our quarantine of a node. Whatever else keeps work away from it is somebody else's.
pub const TAINT: &str = "mainstay.dev/quarantined";
