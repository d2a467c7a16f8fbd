//! What a GPU node can say for itself.
//!
//! Sources read the kernel log, counters and exporters, each on a thread of its own. What they say is folded into one
//! [`Store`](store::Store) of counted evidence, which survives a restart and can be written as a `NodeReport`. Nothing
//! here judges or acts. Privileges, mounts and what each source cannot see without them are in `docs/AGENT.md`.

pub mod kmsg;
