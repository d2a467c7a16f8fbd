//! One time that rules wanted a node out: from the decision that first said so until nothing did any more.

use std::collections::BTreeMap;

use mainstay_model::{
    Finding, Persisted, ProposalOutcome, RepairStep, RuleName, Serial, Timestamp, Urgency, WaitingOn,
};

/// Findings of one episode that are kept.
const FINDINGS_MAX: usize = 64;

/// One time.
#[derive(Debug, Clone)]
pub(crate) struct Episode {
    pub(crate) node: u32,
    pub(crate) began_at: Timestamp,
    /// When the node would have been taken out; never where absent.
    pub(crate) decided_at: Option<Timestamp>,
    /// When nothing spoke against it any more; open at the end where absent.
    pub(crate) ended_at: Option<Timestamp>,
    /// What it would have been taken out for, and what would have been tried: as of the decision, or of the beginning.
    pub(crate) rule: Option<RuleName>,
    pub(crate) device: Option<Serial>,
    pub(crate) rungs: Vec<RepairStep>,
    pub(crate) urgency: Option<Urgency>,
    /// What kept the brain from deciding, where it did not.
    pub(crate) held_by: Option<WaitingOn>,
    /// Every rule that wanted it out, with its part, and since when.
    pub(crate) findings: BTreeMap<(RuleName, Option<Serial>), Timestamp>,
}

impl Episode {
    pub(super) const fn new(node: u32, began_at: Timestamp) -> Self {
        Self {
            node,
            began_at,
            decided_at: None,
            ended_at: None,
            rule: None,
            device: None,
            rungs: Vec::new(),
            urgency: None,
            held_by: None,
            findings: BTreeMap::new(),
        }
    }

    /// The brain looked at it again.
    pub(super) fn goes_on(&mut self, found: &[&Finding], persisted: &Persisted, on: WaitingOn, now: Timestamp) {
        for finding in found {
            if self.findings.len() < FINDINGS_MAX {
                self.findings.entry((finding.rule.clone(), finding.device.clone())).or_insert(now);
            }
        }
        let proposal = persisted.proposals.as_slice().last().filter(|last| last.happened == ProposalOutcome::Pending);
        // The worst may change as long as nothing is decided.
        if let Some(worst) = found.first().filter(|_| self.decided_at.is_none()) {
            self.rule = Some(worst.rule.clone());
            self.device.clone_from(&worst.device);
            self.rungs = worst.rungs.as_slice().to_vec();
            self.urgency = found.iter().map(|finding| finding.urgency).min();
        }
        self.decided_at = self.decided_at.or_else(|| proposal.map(|proposal| proposal.decided_at));
        self.held_by = if self.decided_at.is_some() { None } else { Some(on) };
    }

    pub(super) fn ends(&mut self, persisted: Option<&Persisted>, now: Timestamp) {
        let proposal = persisted.and_then(|persisted| persisted.proposals.as_slice().last());
        let closed_at =
            proposal.filter(|last| Some(last.decided_at) == self.decided_at).and_then(|last| last.happened_at);
        self.ended_at = Some(closed_at.unwrap_or(now));
    }
}
