//! Gangs: where they run, what they promise, and what they were asked.

use std::collections::BTreeMap;

use mainstay_model::{Contract, NodeName};
use mainstay_remedy::drain::Asked;

/// One gang.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Gang {
    pub(crate) nodes: Vec<NodeName>,
    pub(crate) contract: Contract,
    /// What it was asked, by the node that the question was about.
    pub(crate) asked: BTreeMap<NodeName, Asked>,
}
