//! What is thought to be wrong, and with what. Which evidence leads to which finding is `mainstay-health`'s to say.

use serde::{Deserialize, Serialize};

use crate::{DomainName, Level, NodeName, Part, RuleName, Serial, Timestamp, Urgency, Version};

/// What a finding or an incident blames.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Subject {
    /// One part, wherever it is plugged in.
    Part {
        /// What it is.
        part: Part,
        /// Which one.
        serial: Serial,
    },
    /// One machine as a whole.
    Node(NodeName),
    /// A shared failure domain: one leaf instead of its eighteen sick nodes.
    Domain {
        /// Of which kind.
        level: Level,
        /// Which one.
        name: DomainName,
    },
    /// A driver version, wherever it runs.
    Driver(Version),
}

/// One thing thought to be wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What it is about.
    pub subject: Subject,
    /// The rule that says so.
    pub rule: RuleName,
    /// How long running work may be waited for because of it.
    pub urgency: Urgency,
    /// Since when, by time of arrival.
    pub since: Timestamp,
}
