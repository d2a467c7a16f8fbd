//! What a GPU node can say for itself.
//!
//! Sources read the kernel log, counters and exporters, each on a thread of its own. What they say is folded into one
//! [`Store`](store::Store) of counted evidence, which survives a restart and can be written as a `NodeReport`. On an order
//! it gathers a [`bundle`] for a vendor, or runs a suite of tests ([`qualify`]). Nothing here judges a node or acts on it.
//! Programs of others are run in one place ([`subprocess`]). Privileges, mounts and what each source cannot see without them are
//! in `docs/install/agent.md`.

pub mod agent;
pub mod bundle;
pub mod cli;
pub mod fuzz_api;
pub mod journal;
pub mod kmsg;
pub mod output;
pub mod qualify;
pub mod redact;
pub mod reporter;
pub mod rlimits;
pub mod settings;
pub mod shutdown;
pub mod sources;
pub mod span;
pub mod store;
pub mod subprocess;
pub mod tools;

#[cfg_attr(not(feature = "cluster"), expect(dead_code, reason = "without an API client nothing joins a cluster"))]
mod cluster;
mod control;
mod listen;
mod metrics;
mod report_rate;
mod run;
mod scan;
mod scratch;
mod text;
mod watch;

use mainstay_model::Timestamp;

/// The agent's clock, which orders events within a boot.
fn now() -> Timestamp {
    Timestamp(jiff::Timestamp::now().as_millisecond())
}
