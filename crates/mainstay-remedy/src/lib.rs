//! Remediation: what to do about faulty nodes. Pure rules over plain facts; no rule here depends on a fault code or a
//! server.
//!
//! - [`life`]: the stages of a node and the only function that moves a node to its next stage.
//! - [`ladder`]: the next step of a repair plan, and the limit on attempts per step.
//! - [`breaker`]: circuit breakers: stop a rule that removes too many nodes too fast, then test it on one node.
//! - [`verdict`]: which findings were confirmed or refuted, from the histories of nodes, counted once per rule.
//! - [`precision`]: the precision of a rule with its confidence interval.
//! - [`drain`]: the next step for a gang on a node that is being drained.
//! - [`weigh`]: drain cost model: stop a gang now, after a requested checkpoint, or at its own next checkpoint.
//! - [`limits`]: all time limits of a repair.

#![cfg_attr(not(test), warn(clippy::too_many_lines))]

pub mod breaker;
pub mod drain;
pub mod ladder;
pub mod life;
pub mod limits;
pub mod precision;
pub mod verdict;
pub mod weigh;
