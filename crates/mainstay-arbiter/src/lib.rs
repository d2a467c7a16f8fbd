//! The arbiter decides which disruptions may happen now. Pure rules over plain facts: it knows no fault code and no server.
//!
//! - [`domains`]: how many nodes of each failure domain are out of service, and whether one more may be removed.
//! - [`permit`]: whether the mode and the approvals allow an action.

pub mod domains;
pub mod permit;
