//! Calls that change something. Each is validated here, passed to the owner of the fleet, and answered with the time at
//! which it was accepted.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use mainstay_api::http::{
    AcceptedResponse, AcknowledgeRequest, DemoChange, InjectRequest, ModeChange, NodeRequest, SPEED_MAX, SeekRequest,
    StopRequest,
};
use mainstay_model::{Mode, Timestamp};

use super::ServerState;
use super::error::{ErrorResponse, JsonBody, PathParam};
use super::published::{ChangeRequest, FleetAction};

/// Status 202 with the time of acceptance, or an error response.
type AcceptedResult = Result<(StatusCode, Json<AcceptedResponse>), ErrorResponse>;

pub(super) async fn ask_node(
    served: State<ServerState>,
    PathParam(node): PathParam,
    JsonBody(body): JsonBody<NodeRequest>,
) -> AcceptedResult {
    let NodeRequest { kind, by, reason } = body;
    submit(&served, ChangeRequest::Do(FleetAction::Ask { node, kind: kind.into(), by, reason })).await
}

pub(super) async fn withdraw_request(served: State<ServerState>, PathParam(node): PathParam) -> AcceptedResult {
    submit(&served, ChangeRequest::Do(FleetAction::Withdraw { node })).await
}

pub(super) async fn acknowledge(
    served: State<ServerState>,
    PathParam(id): PathParam,
    JsonBody(body): JsonBody<AcknowledgeRequest>,
) -> AcceptedResult {
    submit(&served, ChangeRequest::Do(FleetAction::Acknowledge { id, by: body.by })).await
}

pub(super) async fn set_mode(served: State<ServerState>, JsonBody(body): JsonBody<ModeChange>) -> AcceptedResult {
    submit(&served, ChangeRequest::Do(FleetAction::Mode(body.mode))).await
}

pub(super) async fn stop(
    served: State<ServerState>,
    JsonBody(StopRequest { .. }): JsonBody<StopRequest>,
) -> AcceptedResult {
    submit(&served, ChangeRequest::Do(FleetAction::Mode(Mode::Observe))).await
}

pub(super) async fn demo(served: State<ServerState>, JsonBody(body): JsonBody<DemoChange>) -> AcceptedResult {
    is_demo(&served)?;
    if body.speed.is_some_and(|speed| !(1..=SPEED_MAX).contains(&speed)) {
        return Err(ErrorResponse::new(
            StatusCode::BAD_REQUEST,
            "invalid speed",
            format!("allowed: 1 to {SPEED_MAX} virtual seconds per second."),
            "to stop the clock, pause the demo.",
        ));
    }
    let pause_at = body.pause_at.map(Timestamp);
    submit(&served, ChangeRequest::Time { paused: body.paused, speed: body.speed, pause_at }).await
}

pub(super) async fn inject(served: State<ServerState>, JsonBody(body): JsonBody<InjectRequest>) -> AcceptedResult {
    is_demo(&served)?;
    submit(&served, ChangeRequest::Do(FleetAction::Inject { fault: body.fault, node: body.node })).await
}

pub(super) async fn scrub(served: State<ServerState>, JsonBody(body): JsonBody<SeekRequest>) -> AcceptedResult {
    is_demo(&served)?;
    submit(&served, ChangeRequest::Scrub { at: body.at.map(Timestamp) }).await
}

async fn submit(served: &ServerState, change: ChangeRequest) -> AcceptedResult {
    let at = served.hub.submit(change).await?;
    Ok((StatusCode::ACCEPTED, Json(AcceptedResponse { at: at.0 })))
}

pub(super) fn is_demo(served: &ServerState) -> Result<(), ErrorResponse> {
    if served.hub.current().demo.is_some() { Ok(()) } else { Err(ErrorResponse::not_a_demo()) }
}
