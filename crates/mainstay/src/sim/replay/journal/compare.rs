//! Differences between two series of decisions, by node: the first one with its time, and how many decisions differ.

use std::collections::{BTreeMap, BTreeSet};

use mainstay_engine::Engine;
use mainstay_engine::record::{DecisionSummary, EffectLine};
use mainstay_model::{Decision, NodeName, NodeSummary, Timestamp};

/// Nodes whose differences are kept. Those of further nodes are counted.
const NODES_MAX: usize = 1_000;

/// All differences between two series of decisions.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    /// Number of decisions that differ.
    pub(super) decisions: u64,
    /// The first difference of each node, by node. A difference outside the recorded lines belongs to no node.
    pub(super) nodes: BTreeMap<Option<NodeName>, Difference>,
    /// Differences of nodes that are not kept.
    pub(super) left_out: u64,
}

/// The first difference of a node.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Difference {
    pub(super) at: Timestamp,
    pub(super) recorded: String,
    pub(super) replayed: String,
    /// Number of decisions that differ on this node.
    pub(super) decisions: u64,
}

impl Comparison {
    /// Compares a recorded decision with its replay.
    pub(super) fn add_summaries(
        &mut self,
        at: Timestamp,
        recorded: &DecisionSummary,
        replayed: &DecisionSummary,
        is_same_version: bool,
    ) {
        let has_same_lines = || (&recorded.effects, &recorded.report) == (&replayed.effects, &replayed.report);
        if recorded.digest == replayed.digest || (!is_same_version && has_same_lines()) {
            return;
        }
        let lines = |summary: &DecisionSummary| {
            let mut lines: BTreeMap<NodeName, Vec<String>> = BTreeMap::new();
            for effect in &summary.effects {
                lines.entry(effect.node.clone()).or_default().push(effect_words(effect));
            }
            for line in &summary.report {
                lines.entry(line.node.clone()).or_default().push(summary_words(line));
            }
            lines
        };
        let (one, two) = (lines(recorded), lines(replayed));
        let nodes: BTreeSet<&NodeName> = one.keys().chain(two.keys()).collect();
        let words = |lines: &BTreeMap<NodeName, Vec<String>>, node: &NodeName| {
            lines.get(node).map_or_else(|| "no line".to_owned(), |lines| lines.join("; "))
        };
        let differing: Vec<&NodeName> = nodes.into_iter().filter(|node| one.get(*node) != two.get(*node)).collect();
        self.decisions += 1;
        if differing.is_empty() {
            let digest = |summary: &DecisionSummary| format!("digest {}", summary.digest);
            self.add(at, None, || (digest(recorded), digest(replayed)));
        }
        for node in differing {
            self.add(at, Some(node), || (words(&one, node), words(&two, node)));
        }
    }

    /// Compares the decisions of two engines that got the same facts. A node that only one of them evaluated is compared by
    /// its state.
    pub(super) fn add_engines(
        &mut self,
        at: Timestamp,
        (one, one_engine): (&Decision, &Engine),
        (two, two_engine): (&Decision, &Engine),
    ) {
        if (&one.effects, &one.report) == (&two.effects, &two.report) {
            return;
        }
        let effects = |decision: &Decision| {
            let mut by_node: BTreeMap<NodeName, Vec<String>> = BTreeMap::new();
            for effect in DecisionSummary::of(decision).effects {
                by_node.entry(effect.node.clone()).or_default().push(effect_words(&effect));
            }
            by_node
        };
        let (one_effects, two_effects) = (effects(one), effects(two));
        let reported = one.report.iter().chain(&two.report).map(|line| &line.node);
        let nodes: BTreeSet<&NodeName> = reported.chain(one_effects.keys()).chain(two_effects.keys()).collect();
        let words = |effects: Option<&Vec<String>>, state: Option<&NodeSummary>| {
            let state = state.map_or_else(|| "not registered".to_owned(), summary_words);
            effects.into_iter().flatten().cloned().chain([state]).collect::<Vec<_>>().join("; ")
        };
        let mut differs = false;
        for node in nodes {
            let states = (one_engine.report(node), two_engine.report(node));
            let effects = (one_effects.get(node), two_effects.get(node));
            if states.0 != states.1 || effects.0 != effects.1 {
                differs = true;
                self.add(at, Some(node), || (words(effects.0, states.0.as_ref()), words(effects.1, states.1.as_ref())));
            }
        }
        self.decisions += u64::from(differs);
    }

    fn add(&mut self, at: Timestamp, node: Option<&NodeName>, words: impl FnOnce() -> (String, String)) {
        if let Some(known) = self.nodes.get_mut(&node.cloned()) {
            known.decisions += 1;
        } else if self.nodes.len() < NODES_MAX {
            let (recorded, replayed) = words();
            self.nodes.insert(node.cloned(), Difference { at, recorded, replayed, decisions: 1 });
        } else {
            self.left_out += 1;
        }
    }
}

fn effect_words(effect: &EffectLine) -> String {
    format!("{} ({:?}, {}, {})", effect.step, effect.execution, effect.rule, effect.action)
}

fn summary_words(line: &NodeSummary) -> String {
    let because = if line.message.as_str().is_empty() { String::new() } else { format!(", {}", line.message) };
    format!("{:?}, waits for {}{because}", line.stage, line.waiting_on.word())
}
