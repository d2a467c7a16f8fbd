//! The next step for a gang on a node that is being drained: from the drain cost model and from the checkpoint request.

use mainstay_model::{Contract, Span, Timestamp, Urgency};

use crate::weigh::Plan;

/// A checkpoint request to a gang.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    /// The drain that the request belongs to, as the time at which the node entered Draining.
    pub drain: Timestamp,
    /// Deadline for the answer.
    pub answer_by: Timestamp,
    /// Whether the gang has answered.
    pub answer: Answer,
}

/// Whether a gang has answered a checkpoint request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The gang has not answered yet.
    Pending,
    /// The gang has saved.
    Saved,
}

/// The next step for one gang on a node that is being drained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GangStep {
    /// Request a checkpoint from the gang.
    Ask {
        /// Deadline for the answer.
        answer_by: Timestamp,
    },
    /// Wait for the gang's answer.
    AwaitAnswer {
        /// Latest end of the wait.
        until: Timestamp,
    },
    /// Wait for the gang's own next checkpoint.
    AwaitCheckpoint {
        /// Time at which that checkpoint is complete.
        until: Timestamp,
    },
    /// Stop the gang on this node.
    Stop,
}

/// Returns the next step. If every second may corrupt results, or the work is already lost, no checkpoint is requested.
/// After a request the deadline is fixed; before it, the current result of the cost model applies.
#[must_use]
pub fn next(
    contract: Contract,
    urgency: Urgency,
    asked: Option<Asked>,
    plan: impl FnOnce() -> Plan,
    answer_within: Span,
    now: Timestamp,
) -> GangStep {
    match (urgency, asked) {
        (Urgency::Now, _) => GangStep::Stop,
        (Urgency::Minutes | Urgency::NextCheckpoint, None) => planned(contract, plan(), now),
        (Urgency::Minutes | Urgency::NextCheckpoint, Some(Asked { answer_by, answer, .. })) => match answer {
            Answer::Saved => GangStep::Stop,
            Answer::Pending if now >= answer_by => GangStep::Stop,
            // The request was made when there was more time than there is now.
            Answer::Pending if answer_by > now + answer_within => planned(contract, plan(), now),
            Answer::Pending => GangStep::AwaitAnswer { until: answer_by },
        },
    }
}

fn planned(contract: Contract, plan: Plan, now: Timestamp) -> GangStep {
    match (plan, contract) {
        (Plan::AtCheckpoint { until }, _) => GangStep::AwaitCheckpoint { until },
        (Plan::AskAndWait { until }, _) => GangStep::Ask { answer_by: until },
        // The contract includes a checkpoint request before the end, however short the time.
        (Plan::Now, Contract::OnRequest) => GangStep::Ask { answer_by: now },
        (Plan::Now, Contract::None | Contract::OnStop { .. }) => GangStep::Stop,
    }
}

#[cfg(test)]
mod tests {
    use mainstay_model::Deadlines;

    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000);
    const BY: Timestamp = Timestamp(NOW.0 + 600_000);
    const ASK: Plan = Plan::AskAndWait { until: BY };

    fn step(contract: Contract, urgency: Urgency, asked: Option<Asked>, plan: Plan) -> GangStep {
        next(contract, urgency, asked, || plan, Deadlines::default().answer(urgency), NOW)
    }

    #[test]
    fn a_gang_that_was_asked_has_the_time_it_was_told_and_no_more() {
        let on_request = |urgency, asked| step(Contract::OnRequest, urgency, asked, ASK);
        assert_eq!(on_request(Urgency::Now, None), GangStep::Stop);
        assert_eq!(on_request(Urgency::Minutes, None), GangStep::Ask { answer_by: BY });
        let pending = Asked { drain: NOW, answer_by: BY, answer: Answer::Pending };
        assert_eq!(on_request(Urgency::Minutes, Some(pending)), GangStep::AwaitAnswer { until: BY });
        let saved = Asked { answer: Answer::Saved, ..pending };
        assert_eq!(on_request(Urgency::Minutes, Some(saved)), GangStep::Stop);
        let long = Asked { answer_by: NOW + Span::hours(1), ..pending };
        assert_eq!(on_request(Urgency::Minutes, Some(long)), GangStep::Ask { answer_by: BY });
        let late = Asked { answer_by: NOW, ..pending };
        assert_eq!(on_request(Urgency::Minutes, Some(late)), GangStep::Stop);
    }

    #[test]
    fn what_was_weighed_is_done() {
        let within = Span::seconds(30);
        for contract in [Contract::None, Contract::OnStop { within }] {
            assert_eq!(step(contract, Urgency::NextCheckpoint, None, Plan::Now), GangStep::Stop);
        }
        for contract in [Contract::None, Contract::OnStop { within }, Contract::OnRequest] {
            let plan = Plan::AtCheckpoint { until: BY };
            assert_eq!(step(contract, Urgency::Minutes, None, plan), GangStep::AwaitCheckpoint { until: BY });
            assert_eq!(step(contract, Urgency::Now, None, plan), GangStep::Stop);
        }
        let word = step(Contract::OnRequest, Urgency::Minutes, None, Plan::Now);
        assert_eq!(word, GangStep::Ask { answer_by: NOW });
    }
}
