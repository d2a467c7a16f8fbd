//! Runs user actions on a cluster with the caller's permissions. The API server decides; its
//! refusal is shown unchanged. Where actions are not enabled, the error names the equivalent command.

use std::sync::Arc;

use axum::http::StatusCode;
use mainstay_api::http::AllowedAction;
use mainstay_kube::{Client, Error, user_actions};
use mainstay_model::{NodeName, Timestamp};
use mainstay_web::error::ErrorResponse;
use mainstay_web::published::{ChangeRequest, FleetAction, Hub, PendingRequest};
use tokio::sync::{mpsc, watch};

/// Executes change requests one at a time until shutdown.
pub(super) async fn run(
    (client, acts): (Client, Vec<AllowedAction>),
    board: Arc<Hub>,
    mut asked: mpsc::Receiver<PendingRequest>,
    mut ends: watch::Receiver<()>,
) {
    loop {
        let next = tokio::select! {
            _ = ends.changed() => return,
            next = asked.recv() => next,
        };
        let Some(PendingRequest { change, answer }) = next else { return };
        let done = match change {
            ChangeRequest::Do(deed) => does(&client, &acts, &board, deed).await,
            ChangeRequest::Time { .. } | ChangeRequest::Scrub { .. } => Err(ErrorResponse::not_a_demo()),
        };
        // The client may have disconnected.
        let _ = answer.send(done.map(|()| Timestamp(jiff::Timestamp::now().as_millisecond())));
    }
}

async fn does(client: &Client, acts: &[AllowedAction], board: &Hub, deed: FleetAction) -> Result<(), ErrorResponse> {
    let (act, command) = match &deed {
        FleetAction::Acknowledge { id, .. } => (AllowedAction::Acknowledge, format!("mainstay incident ack {id}")),
        FleetAction::Ask { node, .. } => (AllowedAction::Request, format!("kubectl edit gpunode {node}")),
        FleetAction::Withdraw { node } => (AllowedAction::Request, format!("kubectl edit gpunode {node}")),
        FleetAction::Mode(_) => (AllowedAction::SetMode, "kubectl edit cell cell".to_owned()),
        FleetAction::Inject { .. } => return Err(ErrorResponse::not_a_demo()),
    };
    let snapshot = &board.current().snapshot;
    let node = |name: &str| {
        let known = snapshot.node(name).and_then(|_| NodeName::parse(name).ok());
        known.ok_or_else(|| ErrorResponse::unknown("node", name, "nodes"))
    };
    if !acts.contains(&act) {
        return Err(acts_not(&command));
    }
    let done = match deed {
        FleetAction::Acknowledge { id, .. } => user_actions::acknowledge(client, &id).await.map(drop),
        FleetAction::Ask { node: name, kind, reason, .. } => {
            user_actions::file_request(client, &node(&name)?, kind, reason).await.map(drop)
        }
        FleetAction::Withdraw { node: name } => user_actions::withdraw(client, &node(&name)?).await,
        FleetAction::Mode(mode) => user_actions::set_mode(client, mode).await,
        FleetAction::Inject { .. } => return Err(ErrorResponse::not_a_demo()),
    };
    done.map_err(|trouble| refused(&trouble))
}

fn acts_not(command: &str) -> ErrorResponse {
    ErrorResponse::new(
        StatusCode::FORBIDDEN,
        "actions are not enabled in this web UI",
        "it was started without --allow-actions, it is shared, or you lack the permission.",
        format!("use the command line: `{command}`."),
    )
}

fn refused(trouble: &Error) -> ErrorResponse {
    let detail = format!("{trouble}.");
    match trouble {
        Error::Refused { .. } => ErrorResponse::new(
            StatusCode::FORBIDDEN,
            "the API server rejected the action",
            detail,
            "the role mainstay-operator has the permission; `kubectl auth whoami` shows your account.",
        ),
        Error::Server(_)
        | Error::Kubeconfig(_)
        | Error::Credentials(_)
        | Error::Incomplete(_)
        | Error::Failed { .. }
        | Error::Fence(_)
        | Error::Cell(_)
        | Error::Journal(_) => ErrorResponse::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "unexpected response from the API server",
            detail,
            "try again in a moment; check the web UI first, the change may have been made.",
        ),
    }
}
