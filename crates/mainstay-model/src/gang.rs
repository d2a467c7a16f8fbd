//! Gangs: groups of pods or tasks that start and stop together, and their checkpoint contract.

use serde::{Deserialize, Serialize};

use crate::{Bounded, GangName, Namespace, NodeName, Span, Timestamp};

/// Identifies a gang by namespace and name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct GangId {
    /// Namespace of the gang.
    pub namespace: Namespace,
    /// Name of the gang within its namespace.
    pub name: GangName,
}

impl std::fmt::Display for GangId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// Checkpoint contract: how a gang saves its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub enum Contract {
    /// No contract: the gang gets its termination grace period and no extra time.
    #[default]
    None,
    /// The gang saves when it receives a stop signal, within this time.
    OnStop {
        /// Maximum duration of the save.
        within: Span,
    },
    /// The gang saves on request and acknowledges it.
    OnRequest,
}

/// The gang's own checkpoints, as the gang or its storage reports them. If the interval is known, not every checkpoint
/// has to be reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Checkpoints {
    /// Time of the last checkpoint.
    pub last: Option<Timestamp>,
    /// Interval between two checkpoints.
    pub every: Option<Span>,
    /// Duration of one checkpoint.
    pub save: Option<Span>,
}

/// Known facts about a running gang.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GangFacts {
    /// Nodes that the gang runs on now.
    pub nodes: Bounded<NodeName, 16_384>,
    /// Checkpoint contract of the gang.
    pub contract: Contract,
    /// The gang's own checkpoints.
    #[serde(default)]
    pub checkpoints: Checkpoints,
    /// When the gang last made progress since its pods started, if it reports that. All its ranks must run for that, so
    /// it shows that its nodes are alive on a path that does not use the API server.
    #[serde(default)]
    pub progressed_at: Option<Timestamp>,
}
