//! The arbiter decides which disruptions may happen now. Pure rules over plain facts: it knows no fault code and no server.
//!
//! - [`ruling`]: the answer to one claim: every limit, in one order. Start here.
//! - [`domains`]: how many nodes of each failure domain are out of service, and whether one more may be removed.
//! - [`rate`]: how many grants a pool got lately.
//! - [`window`]: when planned disruptions may start.
//! - [`permit`]: whether the mode and the approvals allow an action.

#![cfg_attr(not(test), warn(clippy::too_many_lines))]

pub mod domains;
pub mod permit;
pub mod rate;
pub mod ruling;
pub mod window;
