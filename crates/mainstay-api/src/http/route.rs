//! Every call of the API, listed once. The server routes by this list and the OpenAPI document is made from it.

use mainstay_model::WaitingOn;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::actions::{
    AcceptedResponse, AcknowledgeRequest, DemoChange, Faults, InjectRequest, ModeChange, NodeRequest, SeekRequest,
    StopRequest,
};
use super::{
    Capacity, Decision, Fleet, GpuRecord, Incident, IncidentDetail, IncidentStateFilter, Job, JobDetail, Map,
    NodeDetail, NodeExplanation, NodeLine, Page, Plan, Postmortem, Series, Slo, StageFilter,
};

/// HTTP methods in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    /// Reads data and changes nothing.
    Get,
    /// Requests a change or an action.
    Post,
    /// Sets a value.
    Put,
    /// Withdraws an earlier request.
    Delete,
}

/// Function that returns the JSON schema of a type.
pub type SchemaFn = fn(&mut SchemaGenerator) -> Schema;

/// Name, description and schema of one query parameter.
#[derive(Debug, Clone, Copy)]
pub struct QueryParameter(pub &'static str, pub &'static str, pub SchemaFn);

/// Input of a call besides its path: query parameters or a JSON body.
#[derive(Debug, Clone, Copy)]
pub enum RequestFormat {
    /// The call takes no input.
    Nothing,
    /// The call takes these query parameters.
    Query(&'static [QueryParameter]),
    /// The call takes a JSON body.
    Body(SchemaFn),
}

/// Output of a call: its content type and status.
#[derive(Debug, Clone, Copy)]
pub enum ResponseFormat {
    /// A JSON body with status 200.
    Body(SchemaFn),
    /// Status 202: the call was accepted.
    Accepted,
    /// An endless stream of server-sent events.
    Events,
    /// Metrics in the Prometheus text format.
    Metrics,
    /// The OpenAPI document of this API.
    Document,
}

/// One call of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Route {
    /// Reads the state of the fleet.
    Fleet,
    /// Reads allocation, queue and inventory of GPUs.
    Capacity,
    /// Reads the fleet over time.
    Series,
    /// Reads the fleet map.
    Map,
    /// Lists nodes by filter and page.
    Nodes,
    /// Reads all data about a node.
    Node,
    /// Explains the current state of a node.
    Why,
    /// Lists GPUs by filter and page.
    Gpus,
    /// Lists incidents, newest first.
    Incidents,
    /// Reads all data about an incident.
    Incident,
    /// Writes the post-mortem of an incident.
    Postmortem,
    /// Lists jobs by page.
    Jobs,
    /// Reads all data about a job.
    Job,
    /// Lists objectives with their error budgets.
    Slos,
    /// Lists decisions of the engine.
    Decisions,
    /// Lists what the engine would do now.
    Plan,
    /// Files a request for a node.
    AskNode,
    /// Withdraws the request for a node.
    WithdrawRequest,
    /// Acknowledges an incident as the caller.
    Acknowledge,
    /// Sets the mode of the fleet.
    SetMode,
    /// Sets the mode to Observe: the kill switch.
    Stop,
    /// Pauses a demo or changes its speed.
    Demo,
    /// Lists the faults a demo can inject.
    DemoFaults,
    /// Injects a fault into a demo.
    DemoInject,
    /// Shows a past state of a demo.
    DemoScrub,
    /// Streams changes of the fleet.
    Stream,
    /// Returns the OpenAPI document.
    OpenApi,
    /// Returns metrics for Prometheus.
    Metrics,
}

const LIMIT: QueryParameter =
    QueryParameter("limit", "Largest number of items in the answer. Default 100, at most 500.", limit);
const AFTER: QueryParameter =
    QueryParameter("after", "Continues a list: the value of `next` in the previous answer.", of::<String>);

impl Route {
    /// All calls, in the order in which they are documented.
    pub const ALL: [Self; 28] = [
        Self::Fleet,
        Self::Capacity,
        Self::Series,
        Self::Map,
        Self::Nodes,
        Self::Node,
        Self::Why,
        Self::Gpus,
        Self::Incidents,
        Self::Incident,
        Self::Postmortem,
        Self::Jobs,
        Self::Job,
        Self::Slos,
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

    /// Method and path of the call. Names in braces are path parameters.
    #[must_use]
    pub const fn call(self) -> (Method, &'static str) {
        match self {
            Self::Fleet => (Method::Get, "/api/v1/fleet"),
            Self::Capacity => (Method::Get, "/api/v1/capacity"),
            Self::Series => (Method::Get, "/api/v1/series"),
            Self::Map => (Method::Get, "/api/v1/map"),
            Self::Nodes => (Method::Get, "/api/v1/nodes"),
            Self::Node => (Method::Get, "/api/v1/nodes/{name}"),
            Self::Why => (Method::Get, "/api/v1/why/{node}"),
            Self::Gpus => (Method::Get, "/api/v1/gpus"),
            Self::Incidents => (Method::Get, "/api/v1/incidents"),
            Self::Incident => (Method::Get, "/api/v1/incidents/{id}"),
            Self::Postmortem => (Method::Get, "/api/v1/incidents/{id}/postmortem"),
            Self::Jobs => (Method::Get, "/api/v1/jobs"),
            Self::Job => (Method::Get, "/api/v1/jobs/{id}"),
            Self::Slos => (Method::Get, "/api/v1/slos"),
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

    /// Description of the call in one sentence.
    #[must_use]
    pub const fn summary(self) -> &'static str {
        match self {
            Self::Fleet => "State of the fleet.",
            Self::Capacity => {
                "GPUs allocated, free and out of service by pool, what waits for GPUs, installed versions."
            }
            Self::Series => "The fleet over time, one point per minute.",
            Self::Map => "The fleet map: the topology tree and one column per property.",
            Self::Nodes => "Nodes, in topology order.",
            Self::Node => "All data about one node.",
            Self::Why => "Why a node is in its current state.",
            Self::Gpus => "GPUs with their serial numbers, in topology order.",
            Self::Incidents => "Incidents, newest first.",
            Self::Incident => "All data about one incident.",
            Self::Postmortem => "Post-mortem of one incident as Markdown.",
            Self::Jobs => "Jobs that run or wait.",
            Self::Job => "All data about one job.",
            Self::Slos => "Service level objectives with their error budgets, by name.",
            Self::Decisions => "Decisions of the engine, newest first.",
            Self::Plan => "What the engine would do now for each faulty node.",
            Self::AskNode => "Files a request for a node. It stays open until it is withdrawn.",
            Self::WithdrawRequest => "Withdraws the open request for a node.",
            Self::Acknowledge => "Acknowledges an incident.",
            Self::SetMode => {
                "Sets the mode. On a cluster, a controller without the permission to act observes in every mode."
            }
            Self::Stop => "Kill switch: sets the mode to Observe, so no new action starts.",
            Self::Demo => "Pauses or resumes a demo, or changes its speed.",
            Self::DemoFaults => "Faults that can be injected into a demo.",
            Self::DemoInject => "Injects a fault into a demo.",
            Self::DemoScrub => "Shows a past state of a demo. The demo cannot be changed meanwhile.",
            Self::Stream => {
                "Streams changes. Events: fleet (as GET fleet), nodes (changed nodes, at most 200), incidents (changed \
                 incidents), map (MapChanges), script (a ScriptStep), reload (read everything again)."
            }
            Self::OpenApi => "The OpenAPI document of this API.",
            Self::Metrics => "Metrics in the Prometheus text format.",
        }
    }

    /// Input of the call besides its path.
    #[must_use]
    pub const fn request_format(self) -> RequestFormat {
        match self {
            Self::Nodes => RequestFormat::Query(&[
                QueryParameter(
                    "stage",
                    "Only nodes in this stage. NotInService: every stage except InService.",
                    of::<StageFilter>,
                ),
                QueryParameter("waitingOn", "Only nodes that wait for this.", of::<WaitingOn>),
                QueryParameter("rack", "Only nodes in this rack.", of::<String>),
                LIMIT,
                AFTER,
            ]),
            Self::Gpus => {
                RequestFormat::Query(&[QueryParameter("node", "Only GPUs of this node.", of::<String>), LIMIT, AFTER])
            }
            Self::Incidents => RequestFormat::Query(&[
                QueryParameter("state", "State of the incidents to list. Default Open.", of::<IncidentStateFilter>),
                LIMIT,
                AFTER,
            ]),
            Self::Jobs | Self::Slos => RequestFormat::Query(&[LIMIT, AFTER]),
            Self::Decisions => RequestFormat::Query(&[
                QueryParameter(
                    "since",
                    "Only decisions at or after this time, in milliseconds since the Unix epoch.",
                    of::<i64>,
                ),
                LIMIT,
            ]),
            Self::AskNode => RequestFormat::Body(of::<NodeRequest>),
            Self::Acknowledge => RequestFormat::Body(of::<AcknowledgeRequest>),
            Self::SetMode => RequestFormat::Body(of::<ModeChange>),
            Self::Stop => RequestFormat::Body(of::<StopRequest>),
            Self::Demo => RequestFormat::Body(of::<DemoChange>),
            Self::DemoInject => RequestFormat::Body(of::<InjectRequest>),
            Self::DemoScrub => RequestFormat::Body(of::<SeekRequest>),
            Self::Fleet | Self::Capacity | Self::Series | Self::Map | Self::Node | Self::Why => RequestFormat::Nothing,
            Self::Incident | Self::Postmortem | Self::Job | Self::Plan => RequestFormat::Nothing,
            Self::WithdrawRequest | Self::DemoFaults | Self::Stream | Self::OpenApi | Self::Metrics => {
                RequestFormat::Nothing
            }
        }
    }

    /// Output of the call.
    #[must_use]
    pub const fn response_format(self) -> ResponseFormat {
        match self {
            Self::Fleet => ResponseFormat::Body(of::<Fleet>),
            Self::Capacity => ResponseFormat::Body(of::<Capacity>),
            Self::Series => ResponseFormat::Body(of::<Series>),
            Self::Map => ResponseFormat::Body(of::<Map>),
            Self::Nodes => ResponseFormat::Body(of::<Page<NodeLine>>),
            Self::Node => ResponseFormat::Body(of::<NodeDetail>),
            Self::Why => ResponseFormat::Body(of::<NodeExplanation>),
            Self::Gpus => ResponseFormat::Body(of::<Page<GpuRecord>>),
            Self::Incidents => ResponseFormat::Body(of::<Page<Incident>>),
            Self::Incident => ResponseFormat::Body(of::<IncidentDetail>),
            Self::Postmortem => ResponseFormat::Body(of::<Postmortem>),
            Self::Jobs => ResponseFormat::Body(of::<Page<Job>>),
            Self::Job => ResponseFormat::Body(of::<JobDetail>),
            Self::Slos => ResponseFormat::Body(of::<Page<Slo>>),
            Self::Decisions => ResponseFormat::Body(of::<Page<Decision>>),
            Self::Plan => ResponseFormat::Body(of::<Plan>),
            Self::DemoFaults => ResponseFormat::Body(of::<Faults>),
            Self::AskNode | Self::WithdrawRequest | Self::Acknowledge | Self::SetMode | Self::Stop => {
                ResponseFormat::Accepted
            }
            Self::Demo | Self::DemoInject | Self::DemoScrub => ResponseFormat::Accepted,
            Self::Stream => ResponseFormat::Events,
            Self::OpenApi => ResponseFormat::Document,
            Self::Metrics => ResponseFormat::Metrics,
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
    of::<AcceptedResponse>(generator)
}
