//! Every call there is, once: the server routes by this list and the document is made of it, so that neither knows a call
//! that the other does not.

use mainstay_model::WaitingOn;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::act::{Accepted, Acknowledge, DemoChange, Faults, Inject, ModeChange, NodeRequest, Scrub, Stop};
use super::{
    Decision, Fleet, GpuRecord, Incident, IncidentDetail, IncidentsIn, Job, JobDetail, Map, NodeDetail, NodeLine, Page,
    Plan, Series, StagesIn, Why,
};

/// The verbs in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    /// Reads.
    Get,
    /// Asks for something.
    Post,
    /// Sets something.
    Put,
    /// Withdraws something.
    Delete,
}

/// How a type describes itself.
pub type Described = fn(&mut SchemaGenerator) -> Schema;

/// A word in a query, what it says, and what it may be.
#[derive(Debug, Clone, Copy)]
pub struct Word(pub &'static str, pub &'static str, pub Described);

/// What a call takes beside its path.
#[derive(Debug, Clone, Copy)]
pub enum Takes {
    /// Nothing.
    Nothing,
    /// These words in the query.
    Query(&'static [Word]),
    /// A body.
    Body(Described),
}

/// What a call answers.
#[derive(Debug, Clone, Copy)]
pub enum Gives {
    /// A body, with status 200.
    Body(Described),
    /// That it was taken, with status 202.
    Accepted,
    /// Events without end.
    Events,
    /// Lines of metrics.
    Metrics,
    /// This document.
    Document,
}

/// A call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Route {
    /// The fleet at a glance.
    Fleet,
    /// The fleet over time.
    Series,
    /// The fleet map.
    Map,
    /// Nodes.
    Nodes,
    /// One node.
    Node,
    /// Why a node stands where it does.
    Why,
    /// GPUs.
    Gpus,
    /// Incidents.
    Incidents,
    /// One incident.
    Incident,
    /// Jobs.
    Jobs,
    /// One job.
    Job,
    /// What was decided.
    Decisions,
    /// What would be done now.
    Plan,
    /// Ask something of a node.
    AskNode,
    /// Withdraw it.
    WithdrawRequest,
    /// Say that an incident is known.
    Acknowledge,
    /// Say how far Mainstay may go.
    SetMode,
    /// Stop every act.
    Stop,
    /// Pause a demo or change its speed.
    Demo,
    /// What can be planted in a demo.
    DemoFaults,
    /// Plant it.
    DemoInject,
    /// Show a past moment of a demo.
    DemoScrub,
    /// Follow what changes.
    Stream,
    /// This document.
    OpenApi,
    /// Metrics.
    Metrics,
}

const LIMIT: Word = Word("limit", "Items at most: 100 where absent, never more than 500.", limit);
const AFTER: Word = Word("after", "Goes on after this: `next` of the answer before.", of::<String>);

impl Route {
    /// All of them, as they are documented.
    pub const ALL: [Self; 25] = [
        Self::Fleet,
        Self::Series,
        Self::Map,
        Self::Nodes,
        Self::Node,
        Self::Why,
        Self::Gpus,
        Self::Incidents,
        Self::Incident,
        Self::Jobs,
        Self::Job,
        Self::Decisions,
        Self::Plan,
        Self::AskNode,
        Self::WithdrawRequest,
        Self::Acknowledge,
        Self::SetMode,
        Self::Stop,
        Self::Demo,
        Self::DemoFaults,
        Self::DemoInject,
        Self::DemoScrub,
        Self::Stream,
        Self::OpenApi,
        Self::Metrics,
    ];

    /// Its verb and its path; what stands in braces is a part of the path.
    #[must_use]
    pub const fn call(self) -> (Method, &'static str) {
        match self {
            Self::Fleet => (Method::Get, "/api/v1/fleet"),
            Self::Series => (Method::Get, "/api/v1/series"),
            Self::Map => (Method::Get, "/api/v1/map"),
            Self::Nodes => (Method::Get, "/api/v1/nodes"),
            Self::Node => (Method::Get, "/api/v1/nodes/{name}"),
            Self::Why => (Method::Get, "/api/v1/why/{node}"),
            Self::Gpus => (Method::Get, "/api/v1/gpus"),
            Self::Incidents => (Method::Get, "/api/v1/incidents"),
            Self::Incident => (Method::Get, "/api/v1/incidents/{id}"),
            Self::Jobs => (Method::Get, "/api/v1/jobs"),
            Self::Job => (Method::Get, "/api/v1/jobs/{id}"),
            Self::Decisions => (Method::Get, "/api/v1/decisions"),
            Self::Plan => (Method::Get, "/api/v1/plan"),
            Self::AskNode => (Method::Post, "/api/v1/nodes/{name}/request"),
            Self::WithdrawRequest => (Method::Delete, "/api/v1/nodes/{name}/request"),
            Self::Acknowledge => (Method::Post, "/api/v1/incidents/{id}/acknowledge"),
            Self::SetMode => (Method::Put, "/api/v1/mode"),
            Self::Stop => (Method::Post, "/api/v1/stop"),
            Self::Demo => (Method::Post, "/api/v1/demo"),
            Self::DemoFaults => (Method::Get, "/api/v1/demo/faults"),
            Self::DemoInject => (Method::Post, "/api/v1/demo/inject"),
            Self::DemoScrub => (Method::Post, "/api/v1/demo/scrub"),
            Self::Stream => (Method::Get, "/api/v1/stream"),
            Self::OpenApi => (Method::Get, "/openapi.json"),
            Self::Metrics => (Method::Get, "/metrics"),
        }
    }

    /// What it is for, in a sentence.
    #[must_use]
    pub const fn summary(self) -> &'static str {
        match self {
            Self::Fleet => "How the fleet stands.",
            Self::Series => "The fleet over the time that is kept, a point a minute.",
            Self::Map => "The fleet map: a tree of names and a column per property.",
            Self::Nodes => "Nodes, in the order of the hall.",
            Self::Node => "Everything that is known of a node.",
            Self::Why => "Why a node stands where it does.",
            Self::Gpus => "GPUs by serial, in the order of the hall.",
            Self::Incidents => "Incidents, the newest first.",
            Self::Incident => "Everything about an incident.",
            Self::Jobs => "Jobs.",
            Self::Job => "Everything about a job.",
            Self::Decisions => "What was decided, the newest first.",
            Self::Plan => "What would be done now.",
            Self::AskNode => "Asks something of a node; it stands until it is withdrawn.",
            Self::WithdrawRequest => "Withdraws what was asked of a node.",
            Self::Acknowledge => "Says that somebody knows of an incident.",
            Self::SetMode => "Says how far Mainstay may go.",
            Self::Stop => "Stops every act at once: the mode becomes Observe.",
            Self::Demo => "Pauses a demo, lets it go on, or changes its speed.",
            Self::DemoFaults => "What can be planted in a demo.",
            Self::DemoInject => "Plants a fault in a demo.",
            Self::DemoScrub => "Shows a past moment of a demo; nothing can be changed meanwhile.",
            Self::Stream => {
                "Follows what changes. Events: fleet (as GET fleet), nodes (changed lines, at most 200), incidents \
                 (changed ones), map (MapChanges), story (a StoryStep), reload (read everything anew)."
            }
            Self::OpenApi => "This document.",
            Self::Metrics => "Metrics for Prometheus.",
        }
    }

    /// What it takes.
    #[must_use]
    pub const fn takes(self) -> Takes {
        match self {
            Self::Nodes => Takes::Query(&[
                Word("stage", "Only those in this stage; NotInService for all but one.", of::<StagesIn>),
                Word("waitingOn", "Only those that wait on this.", of::<WaitingOn>),
                Word("rack", "Only those in this rack.", of::<String>),
                LIMIT,
                AFTER,
            ]),
            Self::Gpus => Takes::Query(&[Word("node", "Only those of this node.", of::<String>), LIMIT, AFTER]),
            Self::Incidents => Takes::Query(&[Word("state", "Open where absent.", of::<IncidentsIn>), LIMIT, AFTER]),
            Self::Jobs => Takes::Query(&[LIMIT, AFTER]),
            Self::Decisions => {
                Takes::Query(&[Word("since", "Only those at or after this moment, in milliseconds.", of::<i64>), LIMIT])
            }
            Self::AskNode => Takes::Body(of::<NodeRequest>),
            Self::Acknowledge => Takes::Body(of::<Acknowledge>),
            Self::SetMode => Takes::Body(of::<ModeChange>),
            Self::Stop => Takes::Body(of::<Stop>),
            Self::Demo => Takes::Body(of::<DemoChange>),
            Self::DemoInject => Takes::Body(of::<Inject>),
            Self::DemoScrub => Takes::Body(of::<Scrub>),
            Self::Fleet | Self::Series | Self::Map | Self::Node | Self::Why => Takes::Nothing,
            Self::Incident | Self::Job | Self::Plan => Takes::Nothing,
            Self::WithdrawRequest | Self::DemoFaults | Self::Stream | Self::OpenApi | Self::Metrics => Takes::Nothing,
        }
    }

    /// What it answers.
    #[must_use]
    pub const fn gives(self) -> Gives {
        match self {
            Self::Fleet => Gives::Body(of::<Fleet>),
            Self::Series => Gives::Body(of::<Series>),
            Self::Map => Gives::Body(of::<Map>),
            Self::Nodes => Gives::Body(of::<Page<NodeLine>>),
            Self::Node => Gives::Body(of::<NodeDetail>),
            Self::Why => Gives::Body(of::<Why>),
            Self::Gpus => Gives::Body(of::<Page<GpuRecord>>),
            Self::Incidents => Gives::Body(of::<Page<Incident>>),
            Self::Incident => Gives::Body(of::<IncidentDetail>),
            Self::Jobs => Gives::Body(of::<Page<Job>>),
            Self::Job => Gives::Body(of::<JobDetail>),
            Self::Decisions => Gives::Body(of::<Page<Decision>>),
            Self::Plan => Gives::Body(of::<Plan>),
            Self::DemoFaults => Gives::Body(of::<Faults>),
            Self::AskNode | Self::WithdrawRequest | Self::Acknowledge | Self::SetMode | Self::Stop => Gives::Accepted,
            Self::Demo | Self::DemoInject | Self::DemoScrub => Gives::Accepted,
            Self::Stream => Gives::Events,
            Self::OpenApi => Gives::Document,
            Self::Metrics => Gives::Metrics,
        }
    }
}

fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

fn limit(_: &mut SchemaGenerator) -> Schema {
    schemars::json_schema!({ "type": "integer", "minimum": 0, "maximum": u32::MAX })
}

pub(super) fn accepted(generator: &mut SchemaGenerator) -> Schema {
    of::<Accepted>(generator)
}
