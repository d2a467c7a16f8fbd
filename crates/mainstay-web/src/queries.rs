//! Calls that read: each is answered from the current snapshot alone.

use axum::Json;
use axum::extract::State;
use mainstay_api::http::{
    Capacity, Decision, Faults, Fleet, GpuRecord, Incident, IncidentDetail, IncidentState, IncidentStateFilter, Job,
    JobDetail, LIMIT_DEFAULT, LIMIT_MAX, Map, NodeDetail, NodeExplanation, NodeLine, Page, Plan, Postmortem, Series,
    Slo, StageFilter, SubjectKind,
};
use mainstay_model::WaitingOn;
use serde::Deserialize;
use serde_json::Value;

use super::ServerState;
use super::actions::is_demo;
use super::error::{ErrorResponse, PathParam, QueryParams};
use super::render::postmortem;
use super::snapshot::{NodeSnapshot, Snapshot, count};

/// A JSON body, or an error response.
type JsonResult<T> = Result<Json<T>, ErrorResponse>;

/// Page size of a list, and the item after which the page starts.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PageParams {
    limit: Option<u32>,
    after: Option<String>,
}

impl PageParams {
    fn most(&self) -> usize {
        self.limit.map_or(LIMIT_DEFAULT, |limit| usize::try_from(limit).unwrap_or(LIMIT_MAX)).clamp(1, LIMIT_MAX)
    }

    /// The requested page of items, each identified by a unique name.
    fn page<T>(&self, items: impl Iterator<Item = T>, name: impl Fn(&T) -> &str) -> Page<T> {
        let after = self.after.as_deref();
        let mut passed = after.is_none();
        let mut rest = items.filter(|item| {
            let take = passed;
            passed = passed || after == Some(name(item));
            take
        });
        let items: Vec<T> = rest.by_ref().take(self.most()).collect();
        let next = items.last().filter(|_| rest.next().is_some()).map(|last| name(last).to_owned());
        Page { items, next }
    }
}

pub(super) async fn fleet(State(served): State<ServerState>) -> Json<Fleet> {
    let shown = served.hub.current();
    Json(shown.snapshot.fleet(shown.demo.as_ref()))
}

pub(super) async fn capacity(State(served): State<ServerState>) -> Json<Capacity> {
    Json(served.hub.current().snapshot.capacity.as_ref().clone())
}

/// The time series up to the moment that the snapshot shows.
pub(super) async fn series(State(served): State<ServerState>) -> Json<Series> {
    let shown = served.hub.current();
    let past = shown.series.iter().filter(|point| point.at < shown.snapshot.now.0).copied();
    let mut items: Vec<_> = past.chain([shown.snapshot.point()]).collect();
    items.drain(..items.len().saturating_sub(LIMIT_MAX));
    Json(Series { items })
}

pub(super) async fn map(State(served): State<ServerState>) -> Json<Map> {
    Json(served.hub.current().snapshot.map())
}

/// Filter and page of the node list, from the query string.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct NodeParams {
    stage: Option<StageFilter>,
    waiting_on: Option<WaitingOn>,
    rack: Option<String>,
    limit: Option<u32>,
    after: Option<String>,
}

pub(super) async fn nodes(
    State(served): State<ServerState>,
    QueryParams(which): QueryParams<NodeParams>,
) -> Json<Page<NodeLine>> {
    let shown = served.hub.current();
    let wanted = |line: &&NodeLine| {
        which.stage.is_none_or(|stage| stage.holds(line.stage))
            && which.waiting_on.is_none_or(|wait| line.waiting_on == wait)
            && which.rack.as_ref().is_none_or(|rack| line.rack == *rack)
    };
    // Continues by position, so that a node that no longer matches does not end the list.
    let first =
        which.after.as_deref().and_then(|name| shown.snapshot.topology.place(name)).map_or(0, |place| place + 1);
    let lines = shown.snapshot.nodes.iter().skip(first).map(|node| &node.line).filter(wanted);
    let part = PageParams { limit: which.limit, after: None };
    let page = part.page(lines, |line| line.name.as_str());
    Json(Page { items: page.items.into_iter().cloned().collect(), next: page.next })
}

pub(super) async fn node(State(served): State<ServerState>, PathParam(name): PathParam) -> JsonResult<NodeDetail> {
    let snapshot = &served.hub.current().snapshot;
    Ok(Json(snapshot.detail(known_node(snapshot, &name)?)))
}

pub(super) async fn why(State(served): State<ServerState>, PathParam(name): PathParam) -> JsonResult<NodeExplanation> {
    let snapshot = &served.hub.current().snapshot;
    Ok(Json(snapshot.why(known_node(snapshot, &name)?)))
}

fn known_node<'a>(snapshot: &'a Snapshot, name: &str) -> Result<&'a NodeSnapshot, ErrorResponse> {
    snapshot.node(name).ok_or_else(|| ErrorResponse::unknown("node", name, "nodes"))
}

/// Filter and page of the GPU list, from the query string.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct GpuParams {
    node: Option<String>,
    limit: Option<u32>,
    after: Option<String>,
}

pub(super) async fn gpus(
    State(served): State<ServerState>,
    QueryParams(which): QueryParams<GpuParams>,
) -> JsonResult<Page<GpuRecord>> {
    let snapshot = &served.hub.current().snapshot;
    let nodes = match &which.node {
        Some(name) => {
            known_node(snapshot, name)?;
            snapshot.topology.place(name).and_then(|place| snapshot.nodes.get(place..=place)).unwrap_or_default()
        }
        None => &snapshot.nodes,
    };
    let gpus = nodes.iter().flat_map(|node| node.record.gpus_list.iter().map(move |gpu| (node, gpu)));
    let part = PageParams { limit: which.limit, after: which.after };
    let page = part.page(gpus, |(_, gpu)| gpu.serial.as_str());
    let is_about = |incident: &&Incident, serial: &str| {
        incident.subject.kind == SubjectKind::Part && incident.subject.name == serial
    };
    let items = page.items.into_iter().map(|(node, gpu)| GpuRecord {
        serial: gpu.serial.clone(),
        uuid: gpu.uuid.clone(),
        node: node.line.name.clone(),
        index: gpu.index,
        findings: gpu.findings.clone(),
        incidents: count(
            snapshot.incidents.iter().map(|detail| &detail.incident).filter(|one| is_about(one, &gpu.serial)).count(),
        ),
    });
    Ok(Json(Page { items: items.collect(), next: page.next }))
}

/// Filter and page of the incident list, from the query string.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct IncidentParams {
    state: IncidentStateFilter,
    limit: Option<u32>,
    after: Option<String>,
}

pub(super) async fn incidents(
    State(served): State<ServerState>,
    QueryParams(which): QueryParams<IncidentParams>,
) -> Json<Page<Incident>> {
    let shown = served.hub.current();
    let wanted = |incident: &&Incident| match which.state {
        IncidentStateFilter::Open => incident.state == IncidentState::Open,
        IncidentStateFilter::Closed => incident.state == IncidentState::Closed,
        IncidentStateFilter::All => true,
    };
    let all = shown.snapshot.incidents.iter().map(|detail| &detail.incident).filter(wanted);
    let page = PageParams { limit: which.limit, after: which.after }.page(all, |incident| incident.id.as_str());
    Json(Page { items: page.items.into_iter().cloned().collect(), next: page.next })
}

pub(super) async fn incident(
    State(served): State<ServerState>,
    PathParam(id): PathParam,
) -> JsonResult<IncidentDetail> {
    Ok(Json(known_incident(&served.hub.current().snapshot, &id)?.clone()))
}

pub(super) async fn postmortem(State(served): State<ServerState>, PathParam(id): PathParam) -> JsonResult<Postmortem> {
    let snapshot = &served.hub.current().snapshot;
    Ok(Json(Postmortem { markdown: postmortem::postmortem(known_incident(snapshot, &id)?, snapshot.now.0) }))
}

fn known_incident<'a>(snapshot: &'a Snapshot, id: &str) -> Result<&'a IncidentDetail, ErrorResponse> {
    let found = snapshot.incidents.iter().find(|detail| detail.incident.id == id);
    found.map(AsRef::as_ref).ok_or_else(|| ErrorResponse::unknown("incident", id, "incidents?state=All"))
}

pub(super) async fn jobs(
    State(served): State<ServerState>,
    QueryParams(part): QueryParams<PageParams>,
) -> Json<Page<Job>> {
    let shown = served.hub.current();
    let page = part.page(shown.snapshot.jobs.iter().map(|job| &job.job), |job| job.id.as_str());
    Json(Page { items: page.items.into_iter().cloned().collect(), next: page.next })
}

pub(super) async fn job(State(served): State<ServerState>, PathParam(id): PathParam) -> JsonResult<JobDetail> {
    let snapshot = &served.hub.current().snapshot;
    let job = snapshot.job(&id).ok_or_else(|| ErrorResponse::unknown("job", &id, "jobs"))?;
    Ok(Json(snapshot.job_detail(job)))
}

pub(super) async fn slos(
    State(served): State<ServerState>,
    QueryParams(part): QueryParams<PageParams>,
) -> Json<Page<Slo>> {
    let shown = served.hub.current();
    let page = part.page(shown.snapshot.slos.iter(), |slo| slo.name.as_str());
    Json(Page { items: page.items.into_iter().cloned().collect(), next: page.next })
}

/// Earliest time and page size of the decision list, from the query string.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct DecisionParams {
    since: Option<i64>,
    limit: Option<u32>,
}

pub(super) async fn decisions(
    State(served): State<ServerState>,
    QueryParams(which): QueryParams<DecisionParams>,
) -> Json<Page<Decision>> {
    let shown = served.hub.current();
    let since = which.since.unwrap_or(i64::MIN);
    let newest = shown.snapshot.decisions.iter().rev().take_while(|decision| decision.at >= since);
    let most = PageParams { limit: which.limit, after: None }.most();
    Json(Page { items: newest.take(most).map(|decision| decision.as_ref().clone()).collect(), next: None })
}

pub(super) async fn plan(State(served): State<ServerState>) -> Json<Plan> {
    Json(served.hub.current().snapshot.plan())
}

pub(super) async fn faults(State(served): State<ServerState>) -> JsonResult<Faults> {
    is_demo(&served)?;
    Ok(Json(Faults { items: served.hub.faults.clone() }))
}

pub(super) async fn openapi() -> Json<Value> {
    Json(mainstay_api::http::openapi())
}
