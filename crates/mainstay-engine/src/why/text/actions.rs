//! What ends a wait sooner, and what the operator must do.

use mainstay_model::{Level, Stage, Subject};

use super::super::{After, Call, Doubt, Spent, TestProgress, Wait, Why};
use super::words::raised;

impl Why {
    /// What would end the wait sooner; none where nothing would.
    #[must_use]
    pub fn sooner(&self) -> Option<String> {
        let sooner = match &self.wait {
            Wait::Nothing if self.stage == Stage::Retired => "an operator requests its return".to_owned(),
            // The next step names what lifts the mode already.
            Wait::Nothing | Wait::Mode { .. } => return None,
            Wait::Approval { action, cap, .. } => {
                format!("an operator adds {action} to the approvals of the Cell, or {}", raised(cap))
            }
            Wait::Breaker(_) => "an operator requests a drain of the node".to_owned(),
            Wait::Budget(Spent::NoBudget) => "the FleetPolicy of the pool gets a budget".to_owned(),
            Wait::Budget(Spent::Full { held_by, .. }) => match held_by.names.as_slice() {
                [] => "an operator raises the budget".to_owned(),
                [_, ..] => "one of these nodes returns to service, or an operator raises the budget".to_owned(),
            },
            Wait::CapacityFloor { .. } => "a node returns to service, or an operator lowers the floor".to_owned(),
            Wait::Freeze => "the freeze ends".to_owned(),
            Wait::RateLimit { .. } => "an operator raises the rate limit".to_owned(),
            Wait::Window => "an operator requests a drain of the node".to_owned(),
            Wait::Checkpoint { .. } => "the job saves a checkpoint".to_owned(),
            Wait::SharedCause(Some(blamed)) => {
                format!("{} is repaired, or an operator drains the node", blamed.subject)
            }
            Wait::SharedCause(None) => "an operator drains the node".to_owned(),
            Wait::Drain { .. } => "the job ends".to_owned(),
            Wait::WatchSync(_) => "the watch catches up".to_owned(),
            Wait::Leadership => "the leader takes the next step".to_owned(),
            Wait::Order { after: After::Again, .. } | Wait::Qualification { progress: TestProgress::NotRun, .. } => {
                return None;
            }
            Wait::Order { order: Some(_), .. } => "the agent reports the outcome".to_owned(),
            Wait::Order { order: None, .. } | Wait::Report => "the agent reports".to_owned(),
            Wait::Operator(call) => match call {
                Call::Withdraw(_) | Call::Failed(_) => "an operator changes the request".to_owned(),
                Call::Replace { .. } => "an operator requests its return after the repair".to_owned(),
                Call::Finish(_) => "the planned work ends".to_owned(),
                Call::Unreachable { .. } => "the machine answers again".to_owned(),
                Call::Stuck { .. } => "an operator checks the node and files a request".to_owned(),
            },
            Wait::Qualification { .. } => "the tests end".to_owned(),
            Wait::SecondSignal(Doubt::Agent { .. }) => "Kubernetes sees the node again".to_owned(),
            Wait::SecondSignal(Doubt::Watched) => {
                "stronger evidence arrives, or an operator drains the node".to_owned()
            }
        };
        Some(sooner)
    }

    /// What the operator must do, as an instruction; none where no action is needed.
    #[must_use]
    pub fn action(&self) -> Option<String> {
        let action = match &self.wait {
            Wait::Approval { action, .. } => format!("approve {action} in spec.approvals of the Cell, or reject it"),
            Wait::Mode { .. } => "handle the node by hand, because Mainstay does not act on it in this mode".to_owned(),
            Wait::Budget(Spent::NoBudget) => "add a budget to the FleetPolicy of the pool".to_owned(),
            Wait::SharedCause(Some(blamed)) => check(&blamed.subject),
            Wait::SecondSignal(Doubt::Agent { blamed: Some(blamed), .. }) => check(&blamed.subject),
            Wait::Operator(call) => match call {
                Call::Withdraw(_) => "withdraw the request when the node may go on".to_owned(),
                Call::Replace { .. } => "replace the part, then request the node's return".to_owned(),
                Call::Finish(_) => "end the planned work".to_owned(),
                Call::Failed(_) => "check the failed tests, then withdraw the request".to_owned(),
                Call::Unreachable { gangs } if gangs.all == 0 => "bring the machine back, or replace it".to_owned(),
                Call::Unreachable { .. } => {
                    "bring the machine back, or turn it off and set the taint node.kubernetes.io/out-of-service"
                        .to_owned()
                }
                Call::Stuck { .. } => "check the node, then file a request".to_owned(),
            },
            Wait::Nothing | Wait::Breaker(_) | Wait::Budget(Spent::Full { .. }) | Wait::Checkpoint { .. } => {
                return None;
            }
            Wait::CapacityFloor { .. } | Wait::Freeze | Wait::RateLimit { .. } | Wait::Window => return None,
            Wait::SharedCause(None) | Wait::Drain { .. } | Wait::WatchSync(_) | Wait::Leadership => return None,
            Wait::Order { .. } | Wait::Qualification { .. } | Wait::Report => return None,
            Wait::SecondSignal(Doubt::Agent { blamed: None, .. } | Doubt::Watched) => return None,
        };
        Some(action)
    }
}

/// Where to look for a shared cause.
fn check(subject: &Subject) -> String {
    let what = match subject {
        Subject::Domain { level, .. } => match level {
            Level::Rack => "its power and its switches",
            Level::Pdu => "its power",
            Level::Leaf | Level::Spine => "the switch and its links",
            Level::NvlinkDomain => "its NVLink switches",
        },
        Subject::Driver(_) => "whether to roll it back",
        Subject::Node(_) | Subject::Part { .. } => "its state",
    };
    format!("check {subject}: {what}")
}
