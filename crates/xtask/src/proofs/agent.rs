//! Proofs of the node agent, on the program itself: how soon it knows, what it loses in a flood, and what a kill costs. The
//! kernel log is `fake-kernel`'s, sysfs a folder; they need root and `/dev/fuse`. The program is built as for tests.

mod flood;
mod kills;
mod latency;
mod program;
mod sysfs;

use std::time::Duration;

use crate::prove::{Context, Goal, Proof, Runs};

pub(super) const LATENCY: Proof = Proof {
    name: "agent-latency",
    sentence: "An XID 79 in the kernel log is evidence within so long, at the 99th percentile of 1,500, in a calm while and while another source hangs; an AER storm and a flap of a port are evidence at the next look, the hang is evidence itself, and SIGTERM ends the agent within 2 s of it.",
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
