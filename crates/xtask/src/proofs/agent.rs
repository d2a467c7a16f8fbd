//! Proofs of the node agent, on the program itself: latency, losses in a flood of lines, effect of kills, interference with
//! driver operations, and resource use. The kernel log comes from `fake-kernel`, GPUs from `fake-nvml`, sysfs is a folder; the
//! proofs need root and `/dev/fuse`. The program is a test build, except where size or resource use is measured.

mod aarch64;
mod driver_operations;
mod flood;
mod footprint;
mod gpus;
mod kills;
mod latency;
pub(super) mod program;
mod sysfs;

use std::time::Duration;

use crate::prove::{Context, Goal, Proof, Schedule};

pub(super) const LATENCY: Proof = Proof {
    name: "agent-latency",
    runs: Schedule::InCi,
    unit: "milliseconds",
    goal: Goal::AtMost(100),
    limit: Duration::from_mins(10),
    run: |context: &Context| Box::pin(latency::measure(context)),
};

pub(super) const FLOOD: Proof = Proof {
    name: "agent-flood",
    runs: Schedule::InCi,
    unit: "lines",
    goal: Goal::Exactly(0),
    limit: Duration::from_mins(10),
    run: |context: &Context| Box::pin(flood::measure(context)),
};

pub(super) const KILLS: Proof = Proof {
    name: "agent-kills",
    // It takes three minutes.
    runs: Schedule::ByHand,
    unit: "events",
    goal: Goal::Exactly(0),
    limit: Duration::from_mins(10),
    run: |context: &Context| Box::pin(kills::measure(context)),
};

pub(super) const GUEST: Proof = Proof {
    name: "agent-guest",
    runs: Schedule::ByHand,
    unit: "refusals",
    goal: Goal::Exactly(0),
    limit: Duration::from_mins(30),
    run: |context: &Context| Box::pin(driver_operations::measure(context)),
};

pub(super) const AARCH64: Proof = Proof {
    name: "agent-aarch64",
    runs: Schedule::InCi,
    unit: "KiB",
    // The client of the API server and its TLS are two thirds of it.
    goal: Goal::AtMost(16 * 1024),
    limit: Duration::from_mins(20),
    run: |context: &Context| Box::pin(aarch64::measure(context)),
};

pub(super) const FOOTPRINT: Proof = Proof {
    name: "agent-footprint",
    runs: Schedule::ByHand,
    unit: "millionths of a core",
    goal: Goal::AtMost(1_000),
    limit: Duration::from_mins(30),
    run: |context: &Context| Box::pin(footprint::measure(context)),
};
