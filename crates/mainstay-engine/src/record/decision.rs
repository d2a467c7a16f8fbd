//! The recorded form of a decision: a digest of all of it, and the lines that a reader needs to understand a difference.

use std::io;

use mainstay_model::{Decision, Effect, Execution, NodeName, NodeSummary, OrderId, RuleName, Stage, Step, WaitingOn};
use serde::{Deserialize, Serialize};

/// Maximum number of effects, and of report lines, in a summary. With both lists full a line stays below
/// [`super::LINE_BYTES_MAX`].
pub const LINES_MAX: usize = 4_096;

/// One decision in short. Equal decisions have equal summaries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionSummary {
    /// Hash of effects, report and record of the cell: 64 bits of FNV-1a in hexadecimal digits.
    pub digest: String,
    /// Effects of the decision, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<EffectLine>,
    /// Nodes that are out of service, wait, or have a finding.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub report: Vec<NodeSummary>,
    /// Nodes whose stored status is to be deleted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forgotten: Vec<NodeName>,
    /// Number of effects and report lines that are not listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
}

/// One effect in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectLine {
    /// The node that the effect concerns.
    pub node: NodeName,
    /// Id of the action.
    pub action: OrderId,
    /// The step in words.
    pub step: String,
    /// Whether the effect is executed, proposed or a dry run.
    pub execution: Execution,
    /// The rule that led to the effect.
    pub rule: RuleName,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl DecisionSummary {
    /// The summary of a decision. The times at which the engine wakes and the number of evaluations do not count: they
    /// change nothing in the cluster.
    #[must_use]
    pub fn of(decision: &Decision) -> Self {
        let Decision { effects, report, cell: _, forgotten, wake_at: _, evaluated: _ } = decision;
        let is_telling = |line: &&NodeSummary| {
            line.stage != Stage::InService || line.waiting_on != WaitingOn::Nothing || !line.message.as_str().is_empty()
        };
        let telling: Vec<&NodeSummary> = report.iter().filter(is_telling).collect();
        let left_out = effects.len().saturating_sub(LINES_MAX) + telling.len().saturating_sub(LINES_MAX);
        Self {
            digest: digest(decision),
            effects: effects.iter().take(LINES_MAX).map(EffectLine::of).collect(),
            report: telling.into_iter().take(LINES_MAX).cloned().collect(),
            forgotten: forgotten.clone(),
            left_out: u64::try_from(left_out).unwrap_or(u64::MAX),
        }
    }
}

impl EffectLine {
    fn of(effect: &Effect) -> Self {
        Self {
            node: effect.node.clone(),
            action: effect.id.clone(),
            step: step_words(&effect.step),
            execution: effect.execution,
            rule: effect.rule.clone(),
        }
    }
}

/// The step of an effect in words.
#[must_use]
pub fn step_words(step: &Step) -> String {
    match step {
        Step::Store(persisted) => format!("store stage {:?}", persisted.stage),
        Step::Order(new) => format!("order {}", new.order.id),
        Step::Cordon => "cordon".to_owned(),
        Step::Uncordon => "uncordon".to_owned(),
        Step::Avoid => "avoid".to_owned(),
        Step::EndAvoid => "end avoid".to_owned(),
        Step::PowerOff => "power off".to_owned(),
        Step::ReleasePods => "release pods".to_owned(),
        Step::AskCheckpoint { gang, .. } => format!("ask {gang} to save"),
        Step::Stop { gang } => format!("evict {gang}"),
    }
}

fn digest(decision: &Decision) -> String {
    let Decision { effects, report, cell, forgotten, .. } = decision;
    let mut hash = Fnv(Fnv::START);
    // Writing to a hash cannot fail, and every key is a text.
    let _ = serde_json::to_writer(&mut hash, &(effects, report, cell));
    // Most decisions forget no node. Their digest is the one of versions that forgot none.
    if !forgotten.is_empty() {
        let _ = serde_json::to_writer(&mut hash, forgotten);
    }
    format!("{:016x}", hash.0)
}

/// The same hash of a text.
pub(super) fn digest_of(text: &str) -> String {
    let mut hash = Fnv(Fnv::START);
    let _ = io::Write::write_all(&mut hash, text.as_bytes());
    format!("{:016x}", hash.0)
}

/// FNV-1a over what is written. It has no security purpose.
struct Fnv(u64);

impl Fnv {
    const START: u64 = 0xcbf2_9ce4_8422_2325;
}

impl io::Write for Fnv {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = bytes.iter().fold(self.0, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
