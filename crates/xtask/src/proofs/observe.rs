//! Proofs of the controller in observe: what it touches, and what a crash at any write leaves behind. Real server, nodes
//! without machines, and the real program.

mod agents;
mod bed;
mod cell;
mod crash;
mod end_to_end;
mod program;
mod proxy;
mod scale;
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

pub(super) const END_TO_END: Proof = Proof {
    name: "observe-end-to-end",
    sentence: "On 200 nodes, half of them with the agent's program and a kernel log of their own, a line of the log is an Incident that names who is to blame within so long, at the 99th percentile of 200; it is in the node's report within 1 s; a leaf is one incident, a false alarm opens a breaker, and nothing that is not ours is written.",
    runs: Runs::ByHand,
    unit: "milliseconds",
    goal: Goal::AtMost(2_000),
    limit: Duration::from_mins(20),
    run: |context| Box::pin(end_to_end::measure(context)),
};

pub(super) const CELL: Proof = Proof {
    name: "agent-cell",
    sentence: "When the agents of a cell of 10,000 nodes restart at once, none asks the API server more often than so in the first minute; with all of them there, a calm cell stays within 500 writes a second per 100,000 nodes, and each agent has one watch.",
    runs: Runs::ByHand,
    unit: "requests",
    goal: Goal::AtMost(5),
    limit: Duration::from_hours(1),
    run: |context| Box::pin(cell::measure(context)),
};

pub(super) const SCALE_10K: Proof = Proof {
    name: "scale-10k",
    sentence: "With 10,000 nodes that have reported, the controller holds so much memory for each, beyond what it holds for none; how soon it decides after a start, how many calls it makes when nothing happens, and how soon a report is an incident while one node in a hundred reports, is told with it.",
    runs: Runs::ByHand,
    unit: "kB per node",
    goal: Goal::AtMost(20),
    limit: Duration::from_mins(40),
    run: |context| Box::pin(scale::measure(context, 10_000)),
};

pub(super) const SCALE_100K: Proof = Proof {
    name: "scale-100k",
    sentence: "The same with 100,000 nodes.",
    runs: Runs::ByHand,
    unit: "kB per node",
    goal: Goal::AtMost(20),
    limit: Duration::from_hours(3),
    run: |context| Box::pin(scale::measure(context, 100_000)),
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
