//! Proofs of a controller that acts: what a crash at any write leaves behind, and that nothing is done twice. Real servers with the fence,
//! nodes without machines, and the real program.

mod acting_cluster;
mod crash;
mod scenario;

use crate::prove::Proof;

pub(super) const CRASH: Proof = Proof { name: "crash-act", run: |context| Box::pin(crash::slice(context)) };
pub(super) const CRASH_FULL: Proof = Proof { name: "crash-act-full", run: |context| Box::pin(crash::full(context)) };
