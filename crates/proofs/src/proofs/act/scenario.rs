//! What happens in a run: twelve scenarios written by hand, and more that are drawn by seed from the same steps.

use testbed::AgentReport;

/// Nodes of a cluster.
pub(super) const NODES: usize = 4;
/// Nodes that may be out of service in a scenario written by hand.
const BUDGET: usize = 2;

/// One thing that happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// A pod of a job on a node: name, node, job, and whether the job saves when it is asked.
    Pod(&'static str, usize, &'static str, Saves),
    /// A report of a node's agent with XIDs.
    Report(usize, &'static [(&'static str, u64)]),
    /// An operator files a request for a node.
    Ask(usize, &'static str),
    /// An operator withdraws it.
    Withdraw(usize),
    /// An operator cordons a node.
    Cordon(usize),
    /// Another tool marks a node as its own.
    Mark(usize),
    /// A tenant's PodDisruptionBudget: this many pods of the job have to be available.
    Protect(&'static str, u32),
    /// A pod is deleted, and one of the same name and job is created on another node.
    Move(&'static str, usize, &'static str),
    /// A node is deleted, and one of the same name registers.
    Register(usize),
    /// The mode of the Cell.
    Mode(&'static str),
    /// Jobs answer their checkpoint requests.
    Answer,
    /// An executor on the node runs every order.
    Execute(usize),
    /// What came of it is there before the next.
    Settle,
}

/// Whether a job answers a checkpoint request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Saves {
    Never,
    OnRequest,
}

/// What happens, by name.
#[derive(Debug, Clone)]
pub(super) struct Scenario {
    pub(super) name: String,
    /// Nodes that may be out of service.
    pub(super) budget: usize,
    pub(super) steps: Vec<Step>,
}

use Saves::{Never, OnRequest};
use Step::{Answer, Ask, Cordon, Execute, Mark, Pod, Report, Settle, Withdraw};

pub(super) const OFF: &[(&str, u64)] = &[("79", 1)];
pub(super) const CONTAINED: &[(&str, u64)] = &[("94", 1)];
const UNCONTAINED: &[(&str, u64)] = &[("95", 1)];

#[rustfmt::skip] // one line a scenario, to be read as a table
const BY_HAND: [(&str, &[Step]); 12] = [
    ("an empty node", &[Report(0, OFF)]),
    ("a node with a job", &[Pod("a-0", 0, "a", Never), Report(0, OFF)]),
    ("a node with two jobs", &[Pod("a-0", 0, "a", Never), Pod("b-0", 0, "b", Never), Report(0, UNCONTAINED)]),
    ("a job on two nodes", &[Pod("a-0", 0, "a", Never), Pod("a-1", 1, "a", Never), Report(0, OFF)]),
    ("a job that saves", &[Pod("a-0", 0, "a", OnRequest), Report(0, CONTAINED), Settle, Answer]),
    ("two nodes of a job that saves", &[Pod("a-0", 0, "a", OnRequest), Pod("a-1", 1, "a", OnRequest), Report(0, CONTAINED), Settle, Report(1, CONTAINED), Settle, Answer]),
    ("three nodes and a budget of two", &[Report(0, OFF), Report(1, OFF), Settle, Report(2, OFF)]),
    ("an operator's drain", &[Pod("a-0", 0, "a", Never), Ask(0, "Drain")]),
    ("an operator's quarantine, withdrawn", &[Ask(0, "Quarantine"), Settle, Withdraw(0)]),
    ("a hold during the treatment", &[Pod("a-0", 0, "a", OnRequest), Report(0, CONTAINED), Settle, Ask(0, "Hold")]),
    ("a cordoned node", &[Pod("a-0", 0, "a", Never), Cordon(0), Report(0, OFF)]),
    ("a repair with tests and return", &[Execute(0), Report(0, OFF), Settle, Execute(0), Settle]),
];

/// Steps that a drawn scenario is made of.
#[rustfmt::skip]
const DRAWN_FROM: [Step; 12] = [
    Pod("c-0", 0, "c", Never), Pod("c-1", 1, "c", Never), Pod("d-1", 1, "d", OnRequest), Pod("d-2", 2, "d", OnRequest),
    Report(0, OFF), Report(1, CONTAINED), Report(2, UNCONTAINED), Ask(1, "Drain"), Ask(2, "Hold"), Cordon(2), Mark(3),
    Report(3, OFF),
];

/// The scenarios that are written by hand.
pub(super) fn by_hand() -> Vec<Scenario> {
    let scenario =
        |(name, steps): &(&str, &[Step])| Scenario { name: (*name).to_owned(), budget: BUDGET, steps: steps.to_vec() };
    BY_HAND.iter().map(scenario).collect()
}

/// A scenario drawn by seed: four to seven different steps, with pauses.
pub(super) fn drawn(seed: u64) -> Scenario {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut left = DRAWN_FROM.to_vec();
    let mut steps = Vec::new();
    for _ in 0..random.usize(4..=7) {
        let step = left.swap_remove(random.usize(..left.len()));
        // What an operator or another tool does at the moment of a fault may win or lose; a failure decides which.
        let is_of_others = matches!(step, Ask(..) | Cordon(_) | Mark(_));
        steps.extend(is_of_others.then_some(Settle));
        steps.push(step);
        steps.extend((is_of_others || random.usize(..3) == 0).then_some(Settle));
    }
    // Pods come before the faults of their nodes: a new pod would not get to a node with our taint.
    steps.sort_by_key(|step| !matches!(step, Pod(..)));
    steps.push(Settle);
    steps.dedup();
    steps.push(Answer);
    // Faults that are reported one after the other get their places in that order. After a failure the next leader sees all of them at
    // once, and the most urgent one comes first. So there is a place for each.
    Scenario { name: format!("seed {seed}"), budget: NODES, steps }
}

/// The report of an agent with these XIDs.
pub(super) fn report<'a>(sequence: u64, xids: &'a [(&'a str, u64)]) -> AgentReport<'a> {
    AgentReport::new(sequence, xids)
}
