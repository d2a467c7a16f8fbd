//! Limits of every call: number of concurrent calls and time. A stream is answered at once and has its own limit.

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use super::error::ErrorResponse;
use super::server::{ANSWER_WITHIN, CALLS_MAX, ServerState};

pub(super) async fn guard(State(served): State<ServerState>, request: Request, next: Next) -> Response {
    let Ok(_turn) = served.calls.try_acquire() else {
        let detail = format!("the server is handling {CALLS_MAX} calls.");
        return ErrorResponse::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "too many concurrent calls",
            detail,
            "try again in a moment.",
        )
        .into_response();
    };
    match tokio::time::timeout(ANSWER_WITHIN, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            let detail = format!("no response within {} s.", ANSWER_WITHIN.as_secs());
            ErrorResponse::new(StatusCode::GATEWAY_TIMEOUT, "the request timed out", detail, "try again in a moment.")
                .into_response()
        }
    }
}
