//! Proofs of the controller in observe: what it touches, and what a crash at any write leaves behind. Real server, nodes
//! without machines, and the real program.

mod cell;
mod controller;
mod crash;
mod emulated_nodes;
mod end_to_end;
mod foreign_writes;
mod proxy;
mod scale;
mod scenario;
mod test_cluster;

use std::time::Duration;

use crate::prove::{Goal, Proof, Schedule};

pub(super) const UNTOUCHED: Proof = Proof {
    name: "untouched",
    runs: Schedule::InCi,
    unit: "writes to what is not ours",
    goal: Goal::Exactly(0),
    limit: Duration::from_mins(12),
    run: |context| Box::pin(foreign_writes::measure(context)),
};

pub(super) const END_TO_END: Proof = Proof {
    name: "observe-end-to-end",
    runs: Schedule::ByHand,
    unit: "milliseconds",
    goal: Goal::AtMost(2_000),
    limit: Duration::from_mins(20),
    run: |context| Box::pin(end_to_end::measure(context)),
};

pub(super) const CELL: Proof = Proof {
    name: "agent-cell",
    runs: Schedule::ByHand,
    unit: "requests",
    goal: Goal::AtMost(5),
    limit: Duration::from_hours(1),
    run: |context| Box::pin(cell::measure(context)),
};

pub(super) const SCALE_10K: Proof = Proof {
    name: "scale-10k",
    runs: Schedule::ByHand,
    unit: "kB per node",
    goal: Goal::AtMost(20),
    limit: Duration::from_mins(40),
    run: |context| Box::pin(scale::measure(context, 10_000)),
};

pub(super) const SCALE_100K: Proof = Proof {
    name: "scale-100k",
    runs: Schedule::ByHand,
    unit: "kB per node",
    goal: Goal::AtMost(20),
    limit: Duration::from_hours(3),
    run: |context| Box::pin(scale::measure(context, 100_000)),
};

pub(super) const CRASH: Proof = Proof {
    name: "crash-observe",
    runs: Schedule::ByHand,
    unit: "ends that differ",
    goal: Goal::Exactly(0),
    limit: Duration::from_hours(2),
    run: |context| Box::pin(crash::measure(context)),
};
