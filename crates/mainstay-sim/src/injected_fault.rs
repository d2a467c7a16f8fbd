//! Faults and disturbances that a run injects, listed before it begins. A run plays a list of troubles; leaving one out
//! leaves the others as they were, which is what lets a failing seed be cut down to what matters.

use mainstay_model::{Mode, PlannedWork, RequestKind, Span, Timestamp};

use crate::{FaultClass, InjectionKind, ScheduledFault};

/// One injected fault and the time at which it begins.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct InjectionEvent {
    pub(crate) at: Timestamp,
    pub(crate) trouble: InjectedFault,
}

/// A fault, an outage or an operator action that a script injects.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum InjectedFault {
    /// Something breaks.
    Fault(ScheduledFault),
    /// Nodes say lines of this class, and nothing is behind it.
    FalseAlarms { first: u32, nodes: u32, class: FaultClass, key: u64 },
    /// The leader dies and another takes over after this time.
    Restart { takeover: Span },
    /// The watch stalls: nothing arrives, and the view grows old.
    Stall { lasts: Span },
    /// A person lowers the ceiling for a while.
    Mode { mode: Mode, lasts: Span },
    /// A person approves whatever is proposed at that moment.
    Approves,
    /// A person asks something of a node, and withdraws it later.
    Asks { node: u32, kind: RequestKind, lasts: Span },
    /// Another tool cordons a node.
    Cordoned { node: u32, lasts: Span },
    /// Planned work on a node.
    Planned { node: u32, planned: PlannedWork, lasts: Span },
    /// Somebody swaps a GPU without telling anybody.
    Swapped { node: u32, gpu: u32 },
    /// A node's agent hangs.
    Silent { node: u32, lasts: Span },
    /// The backend does not hear from a node whose agent still speaks.
    Unready { node: u32, lasts: Span },
    /// The node's object is deleted and made anew under the same name.
    Recreated { node: u32 },
    /// The backend refuses or loses more of what is asked of it, in parts per million.
    Flaky { lost_ppm: u32, refused_ppm: u32, lasts: Span },
    /// Something that meets jobs, agents or repairs at a bad moment.
    Incident(Incident),
}

/// A bad moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Incident {
    /// Agents are replaced node by node; each is away for this time.
    AgentRollout { first: u32, nodes: u32, down: Span },
    /// A machine that works is cut off from the API server, with its kubelet and its agent.
    Partition { node: u32, lasts: Span },
    /// A fault begins during the next tests of a node; which node that is, is not known yet.
    FaultDuringTests { fault: ScheduledFault },
    /// A job crashes and leaves many codes on every GPU of a sound node.
    CrashedJob { node: u32, key: u64 },
    /// An operator undoes a cordon of Mainstay: on this node, or on the next one that has it.
    CordonUndone { node: u32 },
    /// Two nodes of the largest gang get the same fault.
    TwoNodesOfOneGang { fault: ScheduledFault },
    /// Two GPUs of a node log the same fault. The second one works on, as tests would find.
    TwoGpusOfOneNode { fault: ScheduledFault },
    /// A running job, by its place among them, makes no progress until an operator ends it.
    HungJob { number: u32, lasts: Span },
    /// A GPU breaks, and the part takes weeks.
    PartOnBackOrder { fault: ScheduledFault },
    /// Small jobs of other users take every free node.
    SparesTaken { lasts: Span },
    /// An operator raises the capacity floor of every pool.
    FloorRaised { lasts: Span },
}

// === impl InjectedFault ===

impl InjectedFault {
    /// The kind under which it is counted. The seeds must contain every kind.
    pub(crate) const fn kind(&self) -> InjectionKind {
        match self {
            Self::Fault(_) => InjectionKind::Fault,
            Self::FalseAlarms { .. } => InjectionKind::FalseAlarms,
            Self::Restart { .. } => InjectionKind::Restart,
            Self::Stall { .. } => InjectionKind::Stall,
            Self::Mode { mode: Mode::Observe, .. } => InjectionKind::ModeObserve,
            Self::Mode { mode: Mode::Propose | Mode::Act, .. } => InjectionKind::ModePropose,
            Self::Approves => InjectionKind::Approves,
            Self::Asks { kind: RequestKind::Hold, .. } => InjectionKind::AsksHold,
            Self::Asks { kind: RequestKind::Quarantine, .. } => InjectionKind::AsksQuarantine,
            // A node that is retired is drained first.
            Self::Asks { kind: RequestKind::Drain | RequestKind::Retire, .. } => InjectionKind::AsksDrain,
            Self::Asks { kind: RequestKind::Return, .. } => InjectionKind::AsksReturn,
            Self::Cordoned { .. } => InjectionKind::Cordoned,
            Self::Planned { planned: PlannedWork::Upgrade, .. } => InjectionKind::Upgrade,
            Self::Planned {
                planned: PlannedWork::Maintenance | PlannedWork::Bootstrap | PlannedWork::Nothing, ..
            } => InjectionKind::Maintenance,
            Self::Swapped { .. } => InjectionKind::Swapped,
            Self::Silent { .. } => InjectionKind::Silent,
            Self::Unready { .. } => InjectionKind::Unready,
            Self::Recreated { .. } => InjectionKind::Recreated,
            Self::Flaky { .. } => InjectionKind::Flaky,
            Self::Incident(incident) => incident.kind(),
        }
    }
}

// === impl Incident ===

impl Incident {
    const fn kind(&self) -> InjectionKind {
        match self {
            Self::AgentRollout { .. } => InjectionKind::AgentRollout,
            Self::Partition { .. } => InjectionKind::Partition,
            Self::FaultDuringTests { .. } => InjectionKind::FaultDuringTests,
            Self::CrashedJob { .. } => InjectionKind::CrashedJob,
            Self::CordonUndone { .. } => InjectionKind::CordonUndone,
            Self::TwoNodesOfOneGang { .. } => InjectionKind::TwoNodesOfOneGang,
            Self::TwoGpusOfOneNode { .. } => InjectionKind::TwoGpusOfOneNode,
            Self::HungJob { .. } => InjectionKind::HungJob,
            Self::PartOnBackOrder { .. } => InjectionKind::PartOnBackOrder,
            Self::SparesTaken { .. } => InjectionKind::SparesTaken,
            Self::FloorRaised { .. } => InjectionKind::FloorRaised,
        }
    }
}
