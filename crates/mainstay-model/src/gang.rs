//! Work: a gang of pods or tasks that lives and dies together, and what it promises about saving.

use serde::{Deserialize, Serialize};

use crate::{Bounded, GangName, Namespace, NodeName, Span, Timestamp};

/// A gang within its namespace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct GangId {
    /// Where it lives.
    pub namespace: Namespace,
    /// Which one.
    pub name: GangName,
}

impl std::fmt::Display for GangId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// What a gang promises about saving its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub enum Contract {
    /// Nothing: it gets its termination grace and is not waited for.
    #[default]
    None,
    /// It saves when it is told to stop, within this time.
    OnStop {
        /// How long that takes at most.
        within: Span,
    },
    /// It saves when it is asked, and says so.
    OnRequest,
}

/// What is known of the checkpoints that a gang takes by itself, as it says or as its storage shows. Whoever knows the
/// interval need not tell of every checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Checkpoints {
    /// When the last one was there.
    pub last: Option<Timestamp>,
    /// How long from one to the next.
    pub every: Option<Span>,
    /// How long a save takes.
    pub save: Option<Span>,
}

/// What is known of a running gang.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GangFacts {
    /// The nodes it runs on now.
    pub nodes: Bounded<NodeName, 16_384>,
    /// What it promises.
    pub contract: Contract,
    /// What it saves by itself.
    #[serde(default)]
    pub checkpoints: Checkpoints,
}
