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
/// Annotation: id of the action that this write carries out. In mode Propose, `Cell.spec.approvals` must list it.
pub const APPROVAL: &str = "mainstay.dev/approval";
/// Annotation: id of the claim that the action belongs to. In mode Propose it must equal the approval's `plan`.
pub const PLAN: &str = "mainstay.dev/plan";
/// Annotation on Evictions: name of the node that the pod runs on. In mode Propose it must equal the approval's `node`.
pub const NODE: &str = "mainstay.dev/node";
/// The label on nodes and Evictions that a controller's write needs: the fence of actions matches only labelled objects.
pub const FENCED: &str = "mainstay.dev/fenced";
/// Annotation of the cluster autoscaler. With the value `true`, the node is not removed; ours during a treatment.
pub const SCALE_DOWN_DISABLED: &str = "cluster-autoscaler.kubernetes.io/scale-down-disabled";
/// Annotation of Karpenter. With the value `true`, the node is not disrupted; ours during a treatment.
pub const DO_NOT_DISRUPT: &str = "karpenter.sh/do-not-disrupt";
/// Taint: our quarantine of a node. Whatever else keeps work away from it is somebody else's.
pub const TAINT: &str = "mainstay.dev/quarantined";
/// Taint: new work prefers other nodes, because this one is flagged and has to wait for its removal.
pub const AVOID_TAINT: &str = "mainstay.dev/avoid";
