//! The one list of things a subject can wait on: at once a condition reason, a metric label and a documented heading.

use serde::{Deserialize, Serialize};

/// Why nothing more is being done about a subject right now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum WaitingOn {
    /// Nothing needs doing.
    Nothing,
    /// A person's yes to a proposed action.
    Approval,
    /// A breaker: the rule behind it took out too many nodes at once.
    Breaker,
    /// A disruption budget of a failure domain or of the fleet.
    Budget,
    /// A gang's save: as it was asked, or a checkpoint that it takes by itself.
    Checkpoint,
    /// A shared domain, or a driver version, that explains what is wrong with the node and its neighbours.
    Domain,
    /// Work that is still leaving the node.
    Drain,
    /// A view of the cluster that is newer than our own last write.
    FreshView,
    /// Leadership of the cell: another controller holds it.
    Leadership,
    /// A higher mode: the cell, the pool or the action kind is capped below this act.
    Mode,
    /// The node's agent, to carry out an order.
    Order,
    /// A person: a hold, a ticket, or a stage past its limit.
    Person,
    /// A qualification suite.
    Qualification,
    /// The node's report: silence is neither health nor failure.
    Report,
    /// A second witness: one alone does not condemn a node that still works for another.
    Witness,
}

impl WaitingOn {
    /// Every reason, in alphabetical order after [`WaitingOn::Nothing`].
    pub const ALL: [Self; 15] = [
        Self::Nothing,
        Self::Approval,
        Self::Breaker,
        Self::Budget,
        Self::Checkpoint,
        Self::Domain,
        Self::Drain,
        Self::FreshView,
        Self::Leadership,
        Self::Mode,
        Self::Order,
        Self::Person,
        Self::Qualification,
        Self::Report,
        Self::Witness,
    ];

    /// The word, the same in conditions, metrics and headings.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Nothing => "Nothing",
            Self::Approval => "Approval",
            Self::Breaker => "Breaker",
            Self::Budget => "Budget",
            Self::Checkpoint => "Checkpoint",
            Self::Domain => "Domain",
            Self::Drain => "Drain",
            Self::FreshView => "FreshView",
            Self::Leadership => "Leadership",
            Self::Mode => "Mode",
            Self::Order => "Order",
            Self::Person => "Person",
            Self::Qualification => "Qualification",
            Self::Report => "Report",
            Self::Witness => "Witness",
        }
    }

    /// What would end the wait, in a sentence.
    #[must_use]
    pub const fn ends_when(self) -> &'static str {
        match self {
            Self::Nothing => "Nothing is being waited on.",
            Self::Approval => "A person adds the action's id to the approvals of the Cell, or raises the mode.",
            Self::Breaker => {
                "A test on one node shows that the rule is right, or the rule condemns no more for an hour."
            }
            Self::Budget => "Another node of the same failure domain returns to service, or the budget is raised.",
            Self::Checkpoint => {
                "The gang acknowledges its CheckpointRequest or its deadline passes, or a checkpoint that it takes by itself is there."
            }
            Self::Domain => {
                "Fewer than a third of the blamed domain's nodes still show the fault, or a person drains the node."
            }
            Self::Drain => "The last pod of the gang has left the node.",
            Self::FreshView => "The watch catches up with our own last write.",
            Self::Leadership => "This controller becomes the leader of the cell.",
            Self::Mode => "A person raises the mode of the cell or of the pool.",
            Self::Order => "The node's agent reports the order's outcome, or the order expires.",
            Self::Person => "A person withdraws the hold, closes the ticket or files a request.",
            Self::Qualification => "Every test of the suite has reported, or its time limit passes.",
            Self::Report => "The node's agent writes a report again.",
            Self::Witness => "A second, independent source says the same, or the first one takes it back.",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_is_what_is_written_into_objects() {
        for reason in WaitingOn::ALL {
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.word());
        }
    }

    #[test]
    fn every_reason_is_listed_once() {
        let mut listed = WaitingOn::ALL.to_vec();
        listed.sort();
        listed.dedup();
        assert_eq!(listed.len(), WaitingOn::ALL.len());
        // The enum is dense and starts at zero, so the last discriminant tells how many there are.
        assert_eq!(WaitingOn::Witness as usize + 1, WaitingOn::ALL.len());
    }
}
