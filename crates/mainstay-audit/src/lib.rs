//! The second opinion on a decision: the invariants, checked from observations it folds itself.
//!
//! ```text
//! auditor.observe(&observation);                 // its own small picture, never the engine's
//! let broken = auditor.audit(&decision, now);    // each Violation names the invariant, the node and what is wrong
//! ```
//!
//! [`Invariant`] is the list: numbered, worded and coded once, and used by the live audit, the property tests, the
//! simulator and a production counter. A violation means that we are wrong: its effects are not carried out. The
//! auditor decides nothing, knows no catalogue and has no switches.
//!
//! A fact costs a few look-ups, an audit costs in proportion to the decision and not to the fleet.

mod auditor;
mod check;
mod invariant;
mod picture;

#[cfg(test)]
mod tests;

pub use auditor::Auditor;
pub use check::{EFFECTS_MAX, LINES_MAX, VIEW_AGE_MAX};
pub use invariant::{Invariant, Violation};
