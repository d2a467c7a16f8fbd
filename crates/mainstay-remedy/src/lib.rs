//! What to do about sick nodes. Pure rules over plain facts; no rule here knows a fault code or a server.
//!
//! - [`life`]: the stages of a node and the one function that moves it on.
//! - [`ladder`]: which rung of a repair comes next, and when a rung was tried often enough.
//! - [`arbiter`]: the one keeper of disruption budgets: how many nodes of a failure domain may be out at once.
//! - [`drain`]: what a gang is owed before it is stopped.
//! - [`permit`]: how far we may go: on paper, with a person's yes, or by ourselves.
//! - [`limits`]: every time limit, in one place.

pub mod arbiter;
pub mod drain;
pub mod ladder;
pub mod life;
pub mod limits;
pub mod permit;
