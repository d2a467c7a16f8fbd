//! Events that reach the world: one watch event of any watched kind, and the changes after which a leader stops.

use kube::core::PartialObjectMeta;
use mainstay_api::{Cell, CheckpointRequest, Fabric, FleetPolicy, GpuNode, Incident, NodeReport};
use mainstay_model::Epoch;

use crate::node::PartialNode;
use crate::pod::PartialPod;
use crate::resource_slice::PartialSlice;
use crate::tolerant::Tolerant;
use crate::watch::{Message, WatchEvent};

/// A resource kind that is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Cell,
    Policy,
    Fabric,
    Node,
    Pod,
    Report,
    GpuNode,
    Incident,
    Checkpoint,
}

impl Kind {
    pub(crate) const ALL: [Self; 9] = [
        Self::Cell,
        Self::Policy,
        Self::Fabric,
        Self::Node,
        Self::Pod,
        Self::Report,
        Self::GpuNode,
        Self::Incident,
        Self::Checkpoint,
    ];

    /// Kinds that are listed first, because the others depend on them. GpuNodes are among them: reports are counted on
    /// top of the stored counts.
    pub(crate) const FIRST: [Self; 4] = [Self::Cell, Self::Policy, Self::Fabric, Self::GpuNode];

    /// Resource name, also used as a label value.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Cell => "cells",
            Self::Policy => "fleetpolicies",
            Self::Fabric => "fabrics",
            Self::Node => "nodes",
            Self::Pod => "pods",
            Self::Report => "nodereports",
            Self::GpuNode => "gpunodes",
            Self::Incident => "incidents",
            Self::Checkpoint => "checkpointrequests",
        }
    }
}

/// One message of any watch.
pub(crate) type ClusterMessage = Message<ClusterEvent>;

/// One watch event, tagged with the resource kind it belongs to.
#[derive(Debug)]
pub(crate) enum ClusterEvent {
    Cell(WatchEvent<Tolerant<Cell>>),
    Policy(WatchEvent<Tolerant<FleetPolicy>>),
    Fabric(WatchEvent<Tolerant<Fabric>>),
    Node(WatchEvent<Tolerant<PartialNode>>),
    Pod(WatchEvent<Tolerant<PartialPod>>),
    Report(WatchEvent<Tolerant<NodeReport>>),
    GpuNode(WatchEvent<Tolerant<GpuNode>>),
    Incident(WatchEvent<Tolerant<Incident>>),
    Checkpoint(WatchEvent<Tolerant<CheckpointRequest>>),
    /// GPUs that a node offers by DRA. Not every API server serves this kind.
    Slice(WatchEvent<PartialSlice>),
    /// A pod without a node. It is read for metrics and the web UI only.
    PendingPod(WatchEvent<Tolerant<PartialPod>>),
    /// A pod that ended. It is read for metrics only.
    EndedPod(WatchEvent<Tolerant<PartialPod>>),
    /// An object that may own pods, of the kind at this index of those in the policies.
    Owner {
        place: usize,
        told: WatchEvent<PartialObjectMeta>,
    },
}

impl ClusterEvent {
    /// The required kind that it belongs to. None for kinds whose age makes no decision wait.
    pub(crate) const fn kind(&self) -> Option<Kind> {
        match self {
            Self::Cell(_) => Some(Kind::Cell),
            Self::Policy(_) => Some(Kind::Policy),
            Self::Fabric(_) => Some(Kind::Fabric),
            Self::Node(_) => Some(Kind::Node),
            Self::Pod(_) => Some(Kind::Pod),
            Self::Report(_) => Some(Kind::Report),
            Self::GpuNode(_) => Some(Kind::GpuNode),
            Self::Incident(_) => Some(Kind::Incident),
            Self::Checkpoint(_) => Some(Kind::Checkpoint),
            Self::Slice(_) | Self::PendingPod(_) | Self::EndedPod(_) | Self::Owner { .. } => None,
        }
    }
}

/// Change in the cluster after which a leader stops or reads everything again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EndEvent {
    /// Another leader raised the epoch.
    Deposed(Epoch),
    /// An operator changed how the cluster is read, so everything is read again.
    ReadAnew(&'static str),
    /// The Cell's epoch decreased: etcd was restored.
    Restored(Epoch),
}
