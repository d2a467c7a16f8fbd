//! The reasons for which a node can wait, and every text about them. The value is a condition reason, a metric label and
//! a heading of the reference. The texts of the web UI are generated from here.

use serde::{Deserialize, Serialize};

/// What a node is waiting for before its next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum WaitingOn {
    /// No wait: no step is due.
    Nothing,
    /// An operator's approval of a proposed action.
    Approval,
    /// A circuit breaker: its rule flagged too many nodes at once.
    Breaker,
    /// A disruption budget of a failure domain or of the pool.
    Budget,
    /// The capacity floor of the pool: too few nodes would stay in service.
    CapacityFloor,
    /// A job's checkpoint, requested by Mainstay or taken by the job itself.
    Checkpoint,
    /// Pods that are still leaving the node.
    Drain,
    /// A freeze that stops this kind of disruption until it expires.
    Freeze,
    /// Leadership of the cell, which another controller holds.
    Leadership,
    /// A higher mode: the cell, the pool or the action kind does not allow the action.
    Mode,
    /// An operator: a request, a repair, or a stage past its time limit.
    Operator,
    /// The node's agent, which has an order to execute.
    Order,
    /// A qualification suite: the tests before a node returns to service.
    Qualification,
    /// The rate limit of the pool: too many nodes were removed lately.
    RateLimit,
    /// The node's report. A missing report shows neither health nor failure.
    Report,
    /// A second, independent signal: one signal alone removes no node.
    SecondSignal,
    /// A shared failure domain or driver version that explains the fault on several nodes.
    SharedCause,
    /// The watch: the controller's own last write is not visible yet.
    WatchSync,
    /// The start of a maintenance window.
    Window,
}

impl WaitingOn {
    /// Every reason, in alphabetical order after [`WaitingOn::Nothing`].
    pub const ALL: [Self; 19] = [
        Self::Nothing,
        Self::Approval,
        Self::Breaker,
        Self::Budget,
        Self::CapacityFloor,
        Self::Checkpoint,
        Self::Drain,
        Self::Freeze,
        Self::Leadership,
        Self::Mode,
        Self::Operator,
        Self::Order,
        Self::Qualification,
        Self::RateLimit,
        Self::Report,
        Self::SecondSignal,
        Self::SharedCause,
        Self::WatchSync,
        Self::Window,
    ];

    /// The value as it is written into objects, metrics and headings.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Nothing => "Nothing",
            Self::Approval => "Approval",
            Self::Breaker => "Breaker",
            Self::Budget => "Budget",
            Self::CapacityFloor => "CapacityFloor",
            Self::Checkpoint => "Checkpoint",
            Self::Drain => "Drain",
            Self::Freeze => "Freeze",
            Self::Leadership => "Leadership",
            Self::Mode => "Mode",
            Self::Operator => "Operator",
            Self::Order => "Order",
            Self::Qualification => "Qualification",
            Self::RateLimit => "RateLimit",
            Self::Report => "Report",
            Self::SecondSignal => "SecondSignal",
            Self::SharedCause => "SharedCause",
            Self::WatchSync => "WatchSync",
            Self::Window => "Window",
        }
    }

    /// The reason as it completes "waiting for …".
    #[must_use]
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Approval => "operator approval",
            Self::Breaker => "the circuit breaker",
            Self::Budget => "the disruption budget",
            Self::CapacityFloor => "the capacity floor",
            Self::Checkpoint => "a checkpoint",
            Self::Drain => "the drain",
            Self::Freeze => "the end of a freeze",
            Self::Leadership => "leadership",
            Self::Mode => "a higher mode",
            Self::Operator => "operator action",
            Self::Order => "the node's agent",
            Self::Qualification => "return-to-service tests",
            Self::RateLimit => "the rate limit",
            Self::Report => "an agent report",
            Self::SecondSignal => "a second signal",
            Self::SharedCause => "the shared cause",
            Self::WatchSync => "the watch to catch up",
            Self::Window => "a maintenance window",
        }
    }

    /// What ends the wait, as one sentence.
    #[must_use]
    pub const fn ends_when(self) -> &'static str {
        match self {
            Self::Nothing => "The node is not waiting.",
            Self::Approval => "An operator adds the action's id to the approvals of the Cell, or raises the mode.",
            Self::Breaker => "A test on one node confirms the rule, or the rule flags no node for an hour.",
            Self::Budget => "A node of the same failure domain returns to service, or an operator raises the budget.",
            Self::CapacityFloor => "A node of the pool returns to service, or an operator lowers the capacity floor.",
            Self::Checkpoint => {
                "The job acknowledges its CheckpointRequest, takes a checkpoint by itself, or its deadline passes."
            }
            Self::Drain => "The job's last pod leaves the node.",
            Self::Freeze => "The freeze expires. No version sets a freeze yet.",
            Self::Leadership => "The leader of the cell takes the next step.",
            Self::Mode => {
                "An operator raises the mode of the cell or of the pool. On a cluster, the controller also needs the permission to act."
            }
            Self::Operator => "An operator withdraws the request, repairs the node or files a new request.",
            Self::Order => "The node's agent reports the order's outcome, or the latest end of the order passes.",
            Self::Qualification => "Every test of the suite has reported, or its time limit passes.",
            Self::RateLimit => "The oldest recent removal of the pool leaves the time window of the rate limit.",
            Self::Report => "The node's agent sends a report for this registration.",
            Self::SecondSignal => "A second, independent signal confirms the fault, or the first signal clears.",
            Self::SharedCause => {
                "Fewer than a third of the nodes of the shared cause still show the fault, or an operator drains the node."
            }
            Self::WatchSync => "The watch shows the controller's own last write.",
            Self::Window => "The next maintenance window of the pool opens. No version waits for a window yet.",
        }
    }

    /// Whether only an operator can end the wait. A wait on the mode is a setting, not a task.
    #[must_use]
    pub const fn needs_operator(self) -> bool {
        match self {
            Self::Approval | Self::Operator => true,
            Self::Nothing | Self::Breaker | Self::Budget | Self::Checkpoint | Self::Drain | Self::Leadership => false,
            Self::Mode | Self::Order | Self::Qualification | Self::Report | Self::SecondSignal => false,
            Self::SharedCause | Self::WatchSync => false,
            Self::CapacityFloor | Self::Freeze | Self::RateLimit | Self::Window => false,
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
    fn two_waits_end_by_an_operator_alone() {
        let by_operator: Vec<WaitingOn> = WaitingOn::ALL.into_iter().filter(|reason| reason.needs_operator()).collect();
        assert_eq!(by_operator, [WaitingOn::Approval, WaitingOn::Operator]);
    }

    #[test]
    fn every_reason_is_listed_once_in_alphabetical_order() {
        let words: Vec<&str> = WaitingOn::ALL[1..].iter().map(|reason| reason.word()).collect();
        assert!(words.is_sorted() && WaitingOn::ALL.is_sorted(), "{words:?}");
        // The enum is dense and starts at zero, so the last discriminant shows how many there are.
        assert_eq!(WaitingOn::Window as usize + 1, WaitingOn::ALL.len());
    }

    #[test]
    fn no_two_reasons_share_a_text() {
        let mut texts: Vec<&str> = WaitingOn::ALL.iter().flat_map(|on| [on.noun(), on.ends_when()]).collect();
        texts.sort_unstable();
        texts.dedup();
        assert_eq!(texts.len(), 2 * WaitingOn::ALL.len());
    }
}
