//! What a gang is owed before it is stopped: a question and time to answer, by its contract and by how urgent it is.

use mainstay_model::{Contract, Timestamp, Urgency};

use crate::limits;

/// A question that was put to a gang.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    /// Until when the answer is waited for.
    pub answer_by: Timestamp,
    /// Whether it has answered.
    pub answer: Answer,
}

/// Whether a gang has answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Not yet.
    Pending,
    /// It has saved.
    Saved,
}

/// What comes next for one gang on a node that is being drained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Ask it to save.
    Ask {
        /// Until when it is waited for.
        answer_by: Timestamp,
    },
    /// Wait for its answer.
    AwaitAnswer {
        /// Until when at most.
        until: Timestamp,
    },
    /// Stop it.
    Stop,
}

/// The next step. A gang that promised nothing, or that saves when it is stopped, is not asked: its termination grace is
/// what it gets. Where every second may corrupt results, or the work is dead already, nobody is asked.
#[must_use]
pub fn next(contract: Contract, urgency: Urgency, asked: Option<Asked>, now: Timestamp) -> Step {
    match (urgency, contract) {
        (Urgency::Now, _) | (_, Contract::None | Contract::OnStop { .. }) => Step::Stop,
        (Urgency::Minutes | Urgency::NextCheckpoint, Contract::OnRequest) => match asked {
            None => Step::Ask { answer_by: now + limits::answer_within(urgency) },
            Some(Asked { answer: Answer::Saved, .. }) => Step::Stop,
            Some(Asked { answer_by, answer: Answer::Pending }) if now >= answer_by => Step::Stop,
            // It was asked when there was more time than there is now.
            Some(Asked { answer_by, answer: Answer::Pending }) if answer_by > now + limits::answer_within(urgency) => {
                Step::Ask { answer_by: now + limits::answer_within(urgency) }
            }
            Some(Asked { answer_by, answer: Answer::Pending }) => Step::AwaitAnswer { until: answer_by },
        },
    }
}

#[cfg(test)]
mod tests {
    use mainstay_model::Span;

    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000);

    #[test]
    fn only_a_gang_that_answers_is_asked_and_only_while_there_is_time() {
        let ask = |contract, urgency, asked| next(contract, urgency, asked, NOW);
        assert_eq!(ask(Contract::OnRequest, Urgency::Now, None), Step::Stop);
        assert_eq!(ask(Contract::None, Urgency::NextCheckpoint, None), Step::Stop);
        assert_eq!(ask(Contract::OnStop { within: Span::seconds(30) }, Urgency::Minutes, None), Step::Stop);
        let by = NOW + Span::minutes(10);
        assert_eq!(ask(Contract::OnRequest, Urgency::Minutes, None), Step::Ask { answer_by: by });
        let pending = Asked { answer_by: by, answer: Answer::Pending };
        assert_eq!(ask(Contract::OnRequest, Urgency::Minutes, Some(pending)), Step::AwaitAnswer { until: by });
        let saved = Asked { answer: Answer::Saved, ..pending };
        assert_eq!(ask(Contract::OnRequest, Urgency::Minutes, Some(saved)), Step::Stop);
        let long = Asked { answer_by: NOW + Span::hours(1), ..pending };
        assert_eq!(ask(Contract::OnRequest, Urgency::Minutes, Some(long)), Step::Ask { answer_by: by });
        let late = Asked { answer_by: NOW, ..pending };
        assert_eq!(ask(Contract::OnRequest, Urgency::Minutes, Some(late)), Step::Stop);
    }
}
