//! The event stream of changes. A client that reads too slowly misses events and receives `reload`.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{self, KeepAlive, Sse};
use futures::stream::{self, Stream};
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, timeout_at};

use super::error::ErrorResponse;
use super::server::{STREAMS_MAX, ServerState};

/// Interval of comments that keep an idle connection open through proxies.
const ALIVE_EVERY: Duration = Duration::from_secs(15);
/// Interval of access checks, because a stream lasts for hours and permissions may be revoked.
const ADMITTED_FOR: Duration = Duration::from_secs(15);

pub(super) async fn stream(
    State(served): State<ServerState>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<sse::Event, Infallible>>>, ErrorResponse> {
    let permit = served.streams.clone().try_acquire_owned().map_err(|_| {
        ErrorResponse::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "too many concurrent streams",
            format!("the limit is {STREAMS_MAX} streams."),
            "close another browser tab, or poll the API.",
        )
    })?;
    // Subscribes before it reads the snapshot, so that no event is missed.
    let events = served.hub.follow();
    let shown = served.hub.current();
    let first = sse::Event::default().event("fleet").json_data(shown.snapshot.fleet(shown.demo.as_ref()));
    let again_at = Instant::now() + ADMITTED_FOR;
    let following = stream::unfold((events, permit, again_at), move |(mut events, permit, mut again_at)| {
        let (served, headers) = (served.clone(), headers.clone());
        async move {
            loop {
                let received = timeout_at(again_at, events.recv()).await;
                if Instant::now() >= again_at {
                    if !served.access.still_admits(&headers).await {
                        return None;
                    }
                    again_at = Instant::now() + ADMITTED_FOR;
                }
                let event = match received {
                    Ok(Ok(event)) => sse::Event::default().event(event.name).data(&*event.body),
                    Ok(Err(RecvError::Lagged(_))) => sse::Event::default().event("reload").data("{}"),
                    Ok(Err(RecvError::Closed)) => return None,
                    Err(_) => continue,
                };
                return Some((Ok(event), (events, permit, again_at)));
            }
        }
    });
    let all = futures::StreamExt::chain(stream::iter(first.ok().map(Ok)), following);
    Ok(Sse::new(all).keep_alive(KeepAlive::new().interval(ALIVE_EVERY)))
}
