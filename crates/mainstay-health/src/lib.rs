//! Fault detection: turns evidence into findings with the fault catalogue, and estimates how likely a node fails again.
//!
//! There are three steps. [`stamp`] adds a report's cumulative counts to buckets by time of arrival. The buckets, the
//! details of the latest report and the expected hardware form a [`FindingInput`]. The [`Catalogue`] turns it into
//! [`Findings`], worst first. The catalogue is data: `catalogue.tsv` and the tables in `catalogue/`. Search there for
//! the rule of a code. [`VendorTables`] contains what the vendor publishes.
//!
//! `mainstay-remedy` decides what is done about a finding, and when. Nothing here reads a clock or keeps state, and
//! each call concerns one node. The exception is [`Attribution`], which knows the faults of all nodes.

#![cfg_attr(not(test), warn(clippy::too_many_lines))]

mod arrivals;
mod attribution;
mod catalogue;
mod findings;
#[cfg(test)]
mod fixture;
mod risk;
mod rule_evidence;

pub use arrivals::{Boot, COUNT_STEP_MAX, StampResult, begin_tests, forget_hours, roll, since_tests, stamp};
pub use attribution::{Attribution, FaultStatus, NodeFault, NodeGroup, SharedCause};
pub use catalogue::{
    Bucket, Catalogue, DecodePattern, DetailCondition, EvidenceCondition, Exception, Generation, Generations, Layout,
    Nvlink5, Problem, Registers, Row, RuleKind, RuleText, Rules, Sxid, SxidClass, Threshold, VendorTables, Xid,
    rule_names, rule_text,
};
pub use findings::{FindingInput, Findings, findings};
pub use risk::{Contribution, Factor, LEMON, Risk, RiskInput, risk};
pub use rule_evidence::{RuleEvidence, rule_evidence};
