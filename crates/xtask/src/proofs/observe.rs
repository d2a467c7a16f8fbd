//! Proofs of the controller in observe: what it touches, and what a crash at any write leaves behind. Real server, nodes
//! without machines, and the real program.

mod bed;
mod crash;
mod program;
mod proxy;
mod scenario;
mod untouched;

use std::time::Duration;

use crate::prove::{Goal, Proof, Runs};

pub(super) const UNTOUCHED: Proof = Proof {
    name: "untouched",
    sentence: "Through faults, a leaf that fails, a false alarm, cordons of people and a killed leader, the controller writes to nothing that is not its own, by the server's audit log.",
    runs: Runs::InCi,
    unit: "writes to what is not ours",
    goal: Goal::Exactly(0),
    limit: Duration::from_mins(12),
    run: |context| Box::pin(untouched::measure(context)),
};

pub(super) const CRASH: Proof = Proof {
    name: "crash-observe",
    sentence: "Killed before or after any of its writes, in 12 scenarios, the controller's successor ends with the same objects; so does one whose calls fail one time in four.",
    runs: Runs::ByHand,
    unit: "ends that differ",
    goal: Goal::Exactly(0),
    limit: Duration::from_hours(2),
    run: |context| Box::pin(crash::measure(context)),
};
