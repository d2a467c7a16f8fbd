//! Proofs of the node agent, on the program itself: latency, losses in a flood of lines, effect of kills, interference with
//! driver operations, and resource use. The kernel log comes from `fake-kernel`, GPUs from `fake-nvml`, sysfs is a folder; the
//! proofs need root and `/dev/fuse`. The program is a test build, except where size or resource use is measured.

mod aarch64;
mod driver_operations;
mod flood;
mod footprint;
pub(super) mod gpus;
mod kills;
mod latency;
pub(super) mod program;
pub(super) mod sysfs;

use crate::prove::{Context, Proof};

pub(super) const LATENCY: Proof =
    Proof { name: "agent-latency", run: |context: &Context| Box::pin(latency::measure(context, 200)) };

pub(super) const LATENCY_FULL: Proof =
    Proof { name: "agent-latency-full", run: |context: &Context| Box::pin(latency::measure(context, 2_000)) };

pub(super) const FLOOD: Proof =
    Proof { name: "agent-flood", run: |context: &Context| Box::pin(flood::measure(context)) };

pub(super) const KILLS: Proof =
    Proof { name: "agent-kills", run: |context: &Context| Box::pin(kills::measure(context)) };

pub(super) const GUEST: Proof =
    Proof { name: "agent-guest", run: |context: &Context| Box::pin(driver_operations::measure(context)) };

pub(super) const AARCH64: Proof =
    Proof { name: "agent-aarch64", run: |context: &Context| Box::pin(aarch64::measure(context)) };

pub(super) const FOOTPRINT: Proof =
    Proof { name: "agent-footprint", run: |context: &Context| Box::pin(footprint::idle(context)) };

pub(super) const UNKNOWN_LINES: Proof =
    Proof { name: "agent-unknown-lines", run: |context: &Context| Box::pin(footprint::unknown_lines(context)) };
