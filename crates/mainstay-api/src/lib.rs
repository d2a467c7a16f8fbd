//! The public API: the custom resources of `mainstay.dev/v1alpha1`, their bounds and their validation rules.
//!
//! One file per kind. A kind's struct is its wire format. Bounds come from the types of `mainstay-model`; what a schema
//! cannot express is a CEL rule at the root of the object. [`rules`] is the style guide of the API as code: every generated
//! schema is checked against it. [`http`] is the HTTP API. Objects are converted to the model and back, or rejected with a
//! named error ([`ConversionError`]). This crate calls no server and decides nothing.

mod cell;
mod checkpoint_request;
mod condition;
mod convert;
mod fabric;
mod fence;
mod fleet_policy;
mod gpu_node;
pub mod http;
mod incident;
mod moment;
mod node_report;
mod qualification;
pub mod rules;
mod slo;

pub use cell::{Approval, Breaker, Cell, CellSpec, CellStatus, RuleCounters};
pub use checkpoint_request::{CheckpointRequest, CheckpointRequestSpec, CheckpointRequestStatus};
pub use condition::{Condition, ConditionStatus, Conditions};
pub use convert::{ConversionError, DisplayFields, Topology};
pub use fabric::{Fabric, FabricLevel, FabricSpec, FabricStatus};
pub use fence::{
    APPROVAL, AVOID_TAINT, CELL_NAME, DELETE_EPOCH, DO_NOT_DISRUPT, EPOCH, FENCED, GROUP, NODE, PLAN,
    SCALE_DOWN_DISABLED, TAINT, VERSION,
};
pub use fleet_policy::{
    Budget, CapacityFloor, CatalogueOverride, CircuitBreaker, Deadlines, FleetPolicy, FleetPolicySpec,
    FleetPolicyStatus, GangRecognition, Hazard, Hazards, MaintenanceWindow, OwnerKind, Promotion, RateLimit,
    RepairPlan, Weekday,
};
pub use gpu_node::{
    Arrivals, Attempt, Cause, GpuNode, GpuNodeSpec, GpuNodeStatus, Grant, Order, PastIncident, Proposal, Request,
    Transition,
};
pub use incident::{
    Acknowledgement, DomainSubject, Incident, IncidentAction, IncidentEvidence, IncidentSpec, IncidentStatus,
    PartSubject, Subject, SubjectType,
};
pub use moment::Moment;
pub use node_report::{
    Evidence, Gpu, Inventory, JobAcknowledgement, Nic, NodeReport, NodeReportSpec, Outcome, Software, TestResult,
    UnrecognisedLine,
};
pub use qualification::{Qualification, QualificationSpec, QualificationStatus};
pub use slo::{
    Slo, SloBudgetFact, SloBudgetState, SloConsumer, SloIndicator, SloIndicatorType, SloMatcher, SloQuery, SloSeverity,
    SloSpec, SloStatus,
};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt as _;

/// Every custom resource definition, in documentation order.
#[must_use]
pub fn crds() -> Vec<CustomResourceDefinition> {
    vec![
        Cell::crd(),
        NodeReport::crd(),
        GpuNode::crd(),
        Incident::crd(),
        FleetPolicy::crd(),
        Fabric::crd(),
        Qualification::crd(),
        CheckpointRequest::crd(),
        Slo::crd(),
    ]
}
