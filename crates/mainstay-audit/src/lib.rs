//! Independent checker: verifies each decision against numbered invariants, using state that it builds itself from the
//! same observations.
//!
//! ```text
//! auditor.observe(&observation);                 // the auditor's own state, never the engine's
//! let broken = auditor.audit(&decision, now);    // each Violation names the invariant and the node
//! ```
//!
//! [`Invariant`] is the list. The controller, the property tests, the simulator and a production counter use the same
//! one. A violation is a defect of the engine: the controller does not execute the effects concerned. The auditor makes
//! no decisions, has no fault catalogue and cannot be disabled.
//!
//! One observation costs a few lookups. The cost of an audit depends on the size of the decision, not of the fleet.

#![cfg_attr(not(test), warn(clippy::too_many_lines))]

mod auditor;
mod check;
mod invariant;
mod state;

#[cfg(test)]
mod tests;

pub use auditor::Auditor;
pub use check::{EFFECTS_MAX, LINES_MAX, VIEW_AGE_MAX};
pub use invariant::{Invariant, Violation};
