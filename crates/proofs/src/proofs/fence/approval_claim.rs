//! What a write claims about an operator's approval, and the approvals of the Cell that it is compared with.

use serde_json::{Value, json};

use super::operation::LABELLED_NODE;

/// The time that the leader wrote to the Cell, when an expired approval ended, and when the others end.
pub(super) const AS_OF: &str = "2026-11-15T03:00:00Z";
pub(super) const EXPIRES_AT: &str = "2026-11-15T04:00:00Z";

/// What a write claims about an operator's approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ApprovalClaim {
    /// An action that is approved with this verb, for this node and this plan.
    Approved,
    /// An action that no approval names.
    Unknown,
    /// It names no action.
    Nothing,
    /// An action that is approved for another node.
    OtherNode,
    /// An action that is approved with another verb.
    OtherVerb,
    /// An approved action, as part of another plan.
    OtherPlan,
    /// An approved action, without a plan.
    NoPlan,
    /// An action whose approval has just expired.
    Expired,
}

impl ApprovalClaim {
    /// Tried in every mode and with every epoch.
    pub(super) const ALL: [Self; 3] = [Self::Approved, Self::Unknown, Self::Nothing];
    /// Tried in mode Propose with the current epoch: approvals that differ in one part.
    pub(super) const ALMOST: [Self; 5] =
        [Self::OtherNode, Self::OtherVerb, Self::OtherPlan, Self::NoPlan, Self::Expired];

    /// The action that the write names, where it needs this verb on this node.
    pub(super) fn action(self, verb: &str, node: &str) -> Option<String> {
        match self {
            Self::Approved | Self::OtherPlan | Self::NoPlan => Some(format!("{verb}-{node}")),
            Self::Unknown => Some("reboot-n1-9".to_owned()),
            Self::Nothing => None,
            Self::OtherNode | Self::OtherVerb | Self::Expired => Some(format!("{verb}-{node}-{self:?}")),
        }
    }

    /// The claim that the write belongs to.
    pub(super) fn plan(self, node: &str) -> Option<String> {
        match self {
            Self::Approved | Self::Unknown | Self::OtherNode | Self::OtherVerb | Self::Expired => Some(plan_of(node)),
            Self::OtherPlan => Some("request-n1-2".to_owned()),
            Self::Nothing | Self::NoPlan => None,
        }
    }
}

fn plan_of(node: &str) -> String {
    format!("fault-{node}-1")
}

/// Verbs and nodes of all actions that the matrix tries.
const TARGETS: [(&str, &str); 6] = [
    ("Cordon", "n1"),
    ("Cordon", LABELLED_NODE),
    ("Return", LABELLED_NODE),
    ("Drain", "n1"),
    ("Drain", "r12n04"),
    ("Reboot", "absent"),
];

/// The approvals of the Cell: for every action a valid one, and three that must not be accepted for it.
pub(super) fn approvals() -> Value {
    let approval = |action: String, verb: &str, node: &str, of: &str, expires_at: &str| {
        json!({
            "action": action, "verb": verb, "node": node, "plan": plan_of(of), "expiresAt": expires_at, "by": "ana",
        })
    };
    let all = TARGETS.iter().flat_map(|(verb, node)| {
        let named = |claim: ApprovalClaim| claim.action(verb, node).unwrap_or_default();
        [
            approval(named(ApprovalClaim::Approved), verb, node, node, EXPIRES_AT),
            approval(named(ApprovalClaim::OtherNode), verb, "elsewhere", node, EXPIRES_AT),
            approval(named(ApprovalClaim::OtherVerb), "PowerCycle", node, node, EXPIRES_AT),
            approval(named(ApprovalClaim::Expired), verb, node, node, AS_OF),
        ]
    });
    Value::Array(all.collect())
}
