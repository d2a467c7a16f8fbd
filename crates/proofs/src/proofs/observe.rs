//! Proofs of the controller in observe: what it touches, and what a crash at any write leaves behind. Real server, nodes
//! without machines, and the real program.

mod autoscaler;
mod cell;
pub(super) mod controller;
mod crash;
mod dashboards;
mod emulated_nodes;
mod end_to_end;
mod foreign_writes;
mod gameday;
mod journal_replay;
mod one_page;
mod scale;
mod scenario;
pub(super) mod test_cluster;

use std::time::Duration;

use crate::prove::Proof;

pub(super) const UNTOUCHED: Proof =
    Proof { name: "untouched", run: |context| Box::pin(foreign_writes::measure(context)) };

pub(super) const DASHBOARDS: Proof =
    Proof { name: "dashboards", run: |context| Box::pin(dashboards::measure(context)) };
pub(super) const GAMEDAY: Proof = Proof { name: "gameday", run: |context| Box::pin(gameday::measure(context)) };
pub(super) const JOURNAL: Proof =
    Proof { name: "journal-replay", run: |context| Box::pin(journal_replay::measure(context, Duration::from_mins(2))) };
pub(super) const JOURNAL_FULL: Proof = Proof {
    name: "journal-replay-full",
    run: |context| Box::pin(journal_replay::measure(context, Duration::from_mins(20))),
};
pub(super) const AUTOSCALER: Proof =
    Proof { name: "hpa-queue-wait", run: |context| Box::pin(autoscaler::measure(context)) };
pub(super) const ONE_PAGE: Proof = Proof { name: "one-page", run: |context| Box::pin(one_page::measure(context)) };

pub(super) const END_TO_END: Proof =
    Proof { name: "observe-end-to-end", run: |context| Box::pin(end_to_end::measure(context)) };

pub(super) const CELL: Proof = Proof { name: "agent-cell", run: |context| Box::pin(cell::measure(context)) };

pub(super) const SCALE_10K: Proof =
    Proof { name: "scale-10k", run: |context| Box::pin(scale::measure(context, 10_000)) };

pub(super) const SCALE_100K: Proof =
    Proof { name: "scale-100k", run: |context| Box::pin(scale::measure(context, 100_000)) };

pub(super) const CRASH: Proof = Proof { name: "crash-observe", run: |context| Box::pin(crash::measure(context)) };
