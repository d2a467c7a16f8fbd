//! What people do from the page of a cluster, done as the caller. The API server decides; what it refuses is said in its
//! words. Where the page acts for nobody, the command that does it is named.

use std::sync::Arc;

use axum::http::StatusCode;
use mainstay_api::http::Act;
use mainstay_kube::{Client, Trouble, people};
use mainstay_model::{NodeName, Timestamp};
use tokio::sync::{mpsc, watch};

use crate::http::board::{Asked, Board, Deed, Wish};
use crate::http::refusal::Refusal;

/// Takes wishes, one after the other, until it is told to end.
pub(super) async fn take(
    (client, acts): (Client, Vec<Act>),
    board: Arc<Board>,
    mut asked: mpsc::Receiver<Asked>,
    mut ends: watch::Receiver<()>,
) {
    loop {
        let next = tokio::select! {
            _ = ends.changed() => return,
            next = asked.recv() => next,
        };
        let Some(Asked { wish, answer }) = next else { return };
        let done = match wish {
            Wish::Do(deed) => does(&client, &acts, &board, deed).await,
            Wish::Time { .. } | Wish::Scrub { .. } => Err(real()),
        };
        // Whoever asked may have gone.
        let _ = answer.send(done.map(|()| Timestamp(jiff::Timestamp::now().as_millisecond())));
    }
}

async fn does(client: &Client, acts: &[Act], board: &Board, deed: Deed) -> Result<(), Refusal> {
    let (act, command) = match &deed {
        Deed::Acknowledge { id, .. } => (Act::Acknowledge, format!("mainstay incident ack {id}")),
        Deed::Ask { node, .. } => (Act::Request, format!("kubectl edit gpunode {node}")),
        Deed::Withdraw { node } => (Act::Request, format!("kubectl edit gpunode {node}")),
        Deed::Mode(_) => (Act::SetMode, "kubectl edit cell cell".to_owned()),
        Deed::Inject { .. } => return Err(real()),
    };
    let picture = &board.shown().picture;
    let node = |name: &str| {
        let known = picture.node(name).and_then(|_| NodeName::parse(name).ok());
        known.ok_or_else(|| Refusal::unknown("node", name, "nodes"))
    };
    if !acts.contains(&act) {
        return Err(acts_not(&command));
    }
    let done = match deed {
        Deed::Acknowledge { id, .. } => people::acknowledge(client, &id).await.map(drop),
        Deed::Ask { node: name, kind, reason, .. } => people::ask(client, &node(&name)?, kind, reason).await.map(drop),
        Deed::Withdraw { node: name } => people::withdraw(client, &node(&name)?).await,
        Deed::Mode(mode) => people::set_mode(client, mode).await,
        Deed::Inject { .. } => return Err(real()),
    };
    done.map_err(|trouble| refused(&trouble))
}

fn acts_not(command: &str) -> Refusal {
    Refusal::new(
        StatusCode::FORBIDDEN,
        "actions are not enabled in this web UI",
        "it was started without --allow-actions, it is shared, or you lack the permission.",
        format!("use the command line: `{command}`."),
    )
}

fn refused(trouble: &Trouble) -> Refusal {
    let detail = format!("{trouble}.");
    match trouble {
        Trouble::Refused { .. } => Refusal::new(
            StatusCode::FORBIDDEN,
            "the API server rejected the action",
            detail,
            "the role mainstay-operator has the permission; `kubectl auth whoami` shows your account.",
        ),
        Trouble::Server(_)
        | Trouble::Kubeconfig(_)
        | Trouble::Credentials(_)
        | Trouble::Incomplete(_)
        | Trouble::Failed { .. }
        | Trouble::Fence(_)
        | Trouble::Cell(_)
        | Trouble::Journal(_) => Refusal::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "unexpected response from the API server",
            detail,
            "try again in a moment; check the web UI first, the change may have been made.",
        ),
    }
}

fn real() -> Refusal {
    Refusal::new(
        StatusCode::NOT_FOUND,
        "not a demo",
        "this server shows a real cluster; faults can be injected in a demo only.",
        "start a demo with `mainstay demo`.",
    )
}
