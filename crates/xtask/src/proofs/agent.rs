//! Proofs of the node agent, on the program itself: how soon it knows, what it loses in a flood, what a kill costs, whom it
//! is in the way of, and what it takes. The kernel log is `fake-kernel`'s, GPUs are `fake-nvml`'s, sysfs is a folder; they need
//! root and `/dev/fuse`. The program is built as for tests, except where it says how little it takes.

mod aarch64;
mod flood;
mod footprint;
mod gpus;
mod guest;
mod kills;
mod latency;
pub(super) mod program;
mod sysfs;

use std::time::Duration;

use crate::prove::{Context, Goal, Proof, Runs};

pub(super) const LATENCY: Proof = Proof {
    name: "agent-latency",
    sentence: "An XID 79 in the kernel log is evidence within so long, at the 99th percentile of 2,000, in a calm while, while a read of sysfs hangs and while the driver hangs; by NVML's event it is within 1 s; an AER storm, a flap of a port, and a GPU that did not come back with a boot are evidence at their looks, a hang is evidence itself, and SIGTERM ends the agent within 2 s of it.",
    runs: Runs::InCi,
    unit: "milliseconds",
    goal: Goal::AtMost(100),
    limit: Duration::from_mins(10),
    run: |context: &Context| Box::pin(latency::measure(context)),
};

pub(super) const FLOOD: Proof = Proof {
    name: "agent-flood",
    sentence: "Of 1,000,000 lines written as fast as they go into a log of 1 MiB with the rules of /dev/kmsg, so many are neither read nor reported lost; the agent stays under 32 MiB and writes its store at most once a second.",
    runs: Runs::InCi,
    unit: "lines",
    goal: Goal::Exactly(0),
    limit: Duration::from_mins(10),
    run: |context: &Context| Box::pin(flood::measure(context)),
};

pub(super) const KILLS: Proof = Proof {
    name: "agent-kills",
    sentence: "After 200 kills (SIGKILL) at random moments of a storm in the log and in a counter, so many events are missing from the counts although the kernel still holds them, or counted twice; and after 50 more in a log that is overwritten all the time, so many are neither counted nor reported lost.",
    // It takes three minutes.
    runs: Runs::ByHand,
    unit: "events",
    goal: Goal::Exactly(0),
    limit: Duration::from_mins(10),
    run: |context: &Context| Box::pin(kills::measure(context)),
};

pub(super) const GUEST: Proof = Proof {
    name: "agent-guest",
    sentence: "In 200 rounds of unloading the driver, resetting a GPU and setting MIG on a fake node of 8 GPUs, 120 after an order and 80 after a sign, so many were refused because the agent held NVML; after each, every source is back within 30 s, and SIGTERM during a hang of any of 13 functions, asleep or burning a core, ends the agent within 2 s.",
    runs: Runs::ByHand,
    unit: "refusals",
    goal: Goal::Exactly(0),
    limit: Duration::from_mins(30),
    run: |context: &Context| Box::pin(guest::measure(context)),
};

pub(super) const AARCH64: Proof = Proof {
    name: "agent-aarch64",
    sentence: "The agent for aarch64 as it ships has so many KiB; under qemu-user its scan of a fake GB200 tray, with its own build of the fake NVML, says what the agent of this machine says.",
    runs: Runs::InCi,
    unit: "KiB",
    // The client of the API server and its TLS are two thirds of it.
    goal: Goal::AtMost(16 * 1024),
    limit: Duration::from_mins(20),
    run: |context: &Context| Box::pin(aarch64::measure(context)),
};

pub(super) const FOOTPRINT: Proof = Proof {
    name: "agent-footprint",
    sentence: "On a fake node of 8 GPUs and 8 adapters, with every source at its own interval, the agent as it ships takes so much of one core through 10 minutes, calls of NVML not counted, and stays under 32 MiB.",
    runs: Runs::ByHand,
    unit: "millionths of a core",
    goal: Goal::AtMost(1_000),
    limit: Duration::from_mins(30),
    run: |context: &Context| Box::pin(footprint::measure(context)),
};
