//! Evidence in, findings out: the fault catalogue, rates, what a code means in a pool, how likely a node fails again.
//!
//! Three steps. A report's cumulative counts are stamped into buckets by time of arrival ([`stamp`]); the buckets, the
//! latest report's details and what the backend expects of the node make a [`Sight`]; the [`Catalogue`] turns it into
//! [`Findings`], worst first. The catalogue is data, `catalogue.tsv` and the tables of `catalogue/` beside the sources:
//! where a code's rule is, is one search there. What the vendor itself publishes is [`Published`].
//!
//! What is done about a finding, and when, is `mainstay-remedy`'s to say. Nothing here reads a clock, keeps state of its
//! own or knows of any node but the one it is handed, except [`Blame`], which knows what all of them show.

mod arrivals;
mod blame;
mod catalogue;
mod findings;
#[cfg(test)]
mod fixture;
mod risk;
mod seen;

pub use arrivals::{Boot, COUNT_STEP_MAX, Stamped, forget_hours, roll, stamp};
pub use blame::{Blame, Blamed, Place, Show, Shown};
pub use catalogue::{
    Bucket, Catalogue, Decode, Exception, Generation, Generations, Layout, Nvlink5, Problem, Published, Registers, Row,
    RuleKind, RuleText, Sxid, SxidClass, Threshold, When, With, Xid, rule_text,
};
pub use findings::{Findings, Sight, findings};
pub use risk::{Contribution, Factor, LEMON, Past, Risk, risk};
pub use seen::{Seen, seen};
