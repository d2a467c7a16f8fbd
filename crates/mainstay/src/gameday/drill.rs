//! The drills: what happens in each, and what must follow.

use mainstay_model::Span;

/// A fault that happens on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Drill {
    /// The driver fails on nodes with the same version.
    DriverRestart,
    /// A GPU is too hot.
    Thermal,
    /// An operator empties a node that runs a job.
    NodeEviction,
    /// A leaf switch fails.
    LeafDown,
    /// Nodes report errors that are not their faults.
    FalseAlarms,
}

/// The incident that a drill must open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    /// One whose cause is the driver version.
    Driver,
    /// One about a single node or its part.
    Node,
    /// One whose cause is the leaf.
    Leaf,
    /// None at all.
    Nothing,
}

impl Drill {
    pub(super) const ALL: [Self; 5] =
        [Self::DriverRestart, Self::Thermal, Self::NodeEviction, Self::LeafDown, Self::FalseAlarms];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::DriverRestart => "driver-restart",
            Self::Thermal => "thermal",
            Self::NodeEviction => "node-eviction",
            Self::LeafDown => "leaf-down",
            Self::FalseAlarms => "false-alarms",
        }
    }

    pub(super) fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|drill| drill.name() == name)
    }

    pub(super) const fn what(self) -> &'static str {
        match self {
            Self::DriverRestart => "the GPU driver fails and has to be loaded again",
            Self::Thermal => "a GPU reduces its clock because of heat",
            Self::NodeEviction => "an operator empties a node that runs a job",
            Self::LeafDown => "every node of one leaf switch has link errors",
            Self::FalseAlarms => "nodes report errors that are not faults of the node",
        }
    }

    pub(super) const fn expected(self) -> Expected {
        match self {
            Self::DriverRestart => Expected::Driver,
            Self::Thermal => Expected::Node,
            Self::LeafDown => Expected::Leaf,
            Self::NodeEviction | Self::FalseAlarms => Expected::Nothing,
        }
    }

    /// The alert that must fire.
    pub(super) const fn alert(self) -> Option<&'static str> {
        match self.expected() {
            Expected::Driver => Some("FleetDriverIncident"),
            Expected::Node => Some("FleetNodeIncident"),
            Expected::Leaf => Some("FleetDomainIncident"),
            Expected::Nothing => None,
        }
    }

    /// Limit for the incident. Where none may open, the time in which one would have opened.
    pub(super) const fn incident_within(self) -> Span {
        match self.expected() {
            Expected::Driver | Expected::Node | Expected::Leaf => Span::minutes(2),
            Expected::Nothing => Span::minutes(1),
        }
    }

    /// Limit for the alert, after the incident. The alert of a node waits five minutes by itself.
    pub(super) const fn alert_within(self) -> Span {
        match self.expected() {
            Expected::Node => Span::minutes(8),
            Expected::Driver | Expected::Leaf | Expected::Nothing => Span::minutes(2),
        }
    }

    /// Whether the virtual fleet can do it. Its nodes have no thermal sensors.
    pub(super) const fn runs_in_demo(self) -> bool {
        match self {
            Self::DriverRestart | Self::NodeEviction | Self::LeafDown | Self::FalseAlarms => true,
            Self::Thermal => false,
        }
    }
}
