//! Calls that change something. Each is validated here, passed to the owner of the fleet, and answered with the time at
//! which it was accepted.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use mainstay_api::http::{Accepted, Acknowledge, DemoChange, Inject, ModeChange, NodeRequest, SPEED_MAX, Scrub, Stop};
use mainstay_model::{Mode, Timestamp};

use super::Served;
use super::board::{Deed, Wish};
use super::refusal::{Named, Refusal, Taken};

type Answer = Result<(StatusCode, Json<Accepted>), Refusal>;

pub(super) async fn ask_node(served: State<Served>, Named(node): Named, Taken(body): Taken<NodeRequest>) -> Answer {
    let NodeRequest { kind, by, reason } = body;
    wish(&served, Wish::Do(Deed::Ask { node, kind: kind.into(), by, reason })).await
}

pub(super) async fn withdraw_request(served: State<Served>, Named(node): Named) -> Answer {
    wish(&served, Wish::Do(Deed::Withdraw { node })).await
}

pub(super) async fn acknowledge(served: State<Served>, Named(id): Named, Taken(body): Taken<Acknowledge>) -> Answer {
    wish(&served, Wish::Do(Deed::Acknowledge { id, by: body.by })).await
}

pub(super) async fn set_mode(served: State<Served>, Taken(body): Taken<ModeChange>) -> Answer {
    wish(&served, Wish::Do(Deed::Mode(body.mode))).await
}

pub(super) async fn stop(served: State<Served>, Taken(Stop { .. }): Taken<Stop>) -> Answer {
    wish(&served, Wish::Do(Deed::Mode(Mode::Observe))).await
}

pub(super) async fn demo(served: State<Served>, Taken(body): Taken<DemoChange>) -> Answer {
    is_demo(&served)?;
    if body.speed.is_some_and(|speed| !(1..=SPEED_MAX).contains(&speed)) {
        return Err(Refusal::new(
            StatusCode::BAD_REQUEST,
            "invalid speed",
            format!("allowed: 1 to {SPEED_MAX} virtual seconds per second."),
            "to stop the clock, pause the demo.",
        ));
    }
    let pause_at = body.pause_at.map(Timestamp);
    wish(&served, Wish::Time { paused: body.paused, speed: body.speed, pause_at }).await
}

pub(super) async fn inject(served: State<Served>, Taken(body): Taken<Inject>) -> Answer {
    is_demo(&served)?;
    wish(&served, Wish::Do(Deed::Inject { fault: body.fault, node: body.node })).await
}

pub(super) async fn scrub(served: State<Served>, Taken(body): Taken<Scrub>) -> Answer {
    is_demo(&served)?;
    wish(&served, Wish::Scrub { at: body.at.map(Timestamp) }).await
}

async fn wish(served: &Served, wish: Wish) -> Answer {
    let at = served.board.wish(wish).await?;
    Ok((StatusCode::ACCEPTED, Json(Accepted { at: at.0 })))
}

pub(super) fn is_demo(served: &Served) -> Result<(), Refusal> {
    match served.board.shown().demo {
        Some(_) => Ok(()),
        None => Err(Refusal::new(
            StatusCode::NOT_FOUND,
            "not a demo",
            "this server shows a real cluster; clock and fault injection exist in a demo only.",
            "start a demo with `mainstay demo`.",
        )),
    }
}
