//! Proofs of a controller that acts: what a crash at any write leaves behind, and that nothing is done twice. Real servers with the fence,
//! nodes without machines, and the real program.

mod acting_cluster;
mod bench;
mod crash;
mod overload;
mod real_nodes;
mod restore;
mod retry_elsewhere;
mod scenario;
mod shared_budget;
mod split_brain;
mod stale;

use crate::prove::Proof;

pub(super) const CRASH: Proof = Proof { name: "crash-act", run: |context| Box::pin(crash::slice(context)) };
pub(super) const CRASH_FULL: Proof = Proof { name: "crash-act-full", run: |context| Box::pin(crash::full(context)) };
pub(super) const OVERLOAD: Proof = Proof { name: "overload", run: |context| Box::pin(overload::short(context)) };
pub(super) const OVERLOAD_FULL: Proof =
    Proof { name: "overload-full", run: |context| Box::pin(overload::long(context)) };
pub(super) const REAL_NODES: Proof =
    Proof { name: "real-nodes", run: |context| Box::pin(real_nodes::measure(context)) };
pub(super) const STALE: Proof = Proof { name: "stale-act", run: |context| Box::pin(stale::slice(context)) };
pub(super) const STALE_FULL: Proof = Proof { name: "stale-act-full", run: |context| Box::pin(stale::full(context)) };
pub(super) const SHARED: Proof =
    Proof { name: "shared-budget", run: |context| Box::pin(shared_budget::slice(context)) };
pub(super) const SHARED_FULL: Proof =
    Proof { name: "shared-budget-full", run: |context| Box::pin(shared_budget::full(context)) };
pub(super) const SPLIT_BRAIN: Proof =
    Proof { name: "split-brain", run: |context| Box::pin(split_brain::measure(context)) };
pub(super) const RESTORE: Proof = Proof { name: "restore", run: |context| Box::pin(restore::one(context)) };
pub(super) const RESTORE_FULL: Proof = Proof { name: "restore-full", run: |context| Box::pin(restore::every(context)) };
pub(super) const RETRY: Proof =
    Proof { name: "retry-elsewhere", run: |context| Box::pin(retry_elsewhere::measure(context)) };
