//! What to do about sick nodes. Pure rules over plain facts; no rule here knows a fault code or a server.
//!
//! - [`life`]: the stages of a node and the one function that moves it on.
//! - [`ladder`]: which rung of a repair comes next, and when a rung was tried often enough.
//! - [`arbiter`]: the one keeper of disruption budgets: how many nodes of a failure domain may be out at once.
//! - [`breaker`]: a rule that takes out too many too fast is stopped, tried on one node, and goes on or waits longer.
//! - [`verdict`]: what became of findings, read off what nodes keep, and counted once for each rule.
//! - [`precision`]: how often a rule was right, with its confidence interval.
//! - [`drain`]: what a gang is owed before it is stopped.
//! - [`weigh`]: when that is: now, when it has saved as asked, or at its next checkpoint, by what each would lose.
//! - [`permit`]: how far we may go: on paper, with a person's yes, or by ourselves.
//! - [`limits`]: every time limit, in one place.

pub mod arbiter;
pub mod breaker;
pub mod drain;
pub mod ladder;
pub mod life;
pub mod limits;
pub mod permit;
pub mod precision;
pub mod verdict;
pub mod weigh;
