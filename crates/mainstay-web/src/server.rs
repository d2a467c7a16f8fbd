//! The server: routes, limits on concurrent calls and streams, response headers, and shutdown within a time limit.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderName, HeaderValue, Response, header};
use axum::routing::{MethodRouter, delete, get, post, put};
use axum::{Router, middleware};
use mainstay_api::http::{Method, Route};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tower_http::compression::CompressionLayer;

use crate::access::{self, Access};
use crate::error::ErrorResponse;
use crate::published::Hub;
use crate::{actions, assets, guard, metrics, queries, stream};

/// Largest body of a call: names and reasons, nothing larger.
pub(crate) const BODY_BYTES_MAX: usize = 16 * 1_024;
/// Concurrent calls; further ones are rejected with status 503. A browser makes a handful.
pub(crate) const CALLS_MAX: usize = 256;
/// Concurrent streams; each holds a connection for hours.
pub(crate) const STREAMS_MAX: usize = 64;
/// Time limit of a response; the largest takes milliseconds.
pub(crate) const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// Time limit of responses that are under way when the server stops.
const CLOSE_WITHIN: Duration = Duration::from_millis(500);

/// State shared by all request handlers: the hub, access control and the limits on concurrent calls.
#[derive(Clone)]
pub struct ServerState {
    pub(crate) hub: Arc<Hub>,
    pub(crate) access: Access,
    pub(crate) calls: Arc<Semaphore>,
    pub(crate) streams: Arc<Semaphore>,
}

impl ServerState {
    /// Serves what the hub publishes to the clients that have access.
    #[must_use]
    pub fn new(hub: Arc<Hub>, access: Access) -> Self {
        let (calls, streams) = (Semaphore::new(CALLS_MAX), Semaphore::new(STREAMS_MAX));
        Self { hub, access, calls: Arc::new(calls), streams: Arc::new(streams) }
    }
}

/// Answers calls until `ends` changes, and then completes responses that are under way within half a second.
///
/// # Errors
///
/// The listener failed.
pub async fn serve(listener: TcpListener, served: ServerState, mut ends: watch::Receiver<()>) -> std::io::Result<()> {
    let mut stopping = ends.clone();
    let ended = async move {
        let _ = stopping.changed().await;
    };
    let serving = axum::serve(listener, router(served)).with_graceful_shutdown(ended);
    let too_late = async move {
        let _ = ends.changed().await;
        tokio::time::sleep(CLOSE_WITHIN).await;
    };
    tokio::select! {
        result = serving => result,
        () = too_late => Ok(()),
    }
}

fn router(served: ServerState) -> Router {
    let mut router = Router::new();
    for route in Route::ALL {
        router = router.route(route.call().1, answers(route));
    }
    router
        .fallback(assets::page)
        .method_not_allowed_fallback(async || ErrorResponse::not_allowed())
        .layer(middleware::from_fn_with_state(served.clone(), access::check))
        .layer(middleware::from_fn_with_state(served.clone(), guard::guard))
        .layer(CompressionLayer::new())
        .layer(middleware::map_response(with_headers))
        .with_state(served)
}

/// The function that answers a call. Methods come from the list of routes, so that the OpenAPI document matches.
fn answers(route: Route) -> MethodRouter<ServerState> {
    macro_rules! by {
        ($answer:expr) => {
            match route.call().0 {
                Method::Get => get($answer),
                Method::Post => post($answer),
                Method::Put => put($answer),
                Method::Delete => delete($answer),
            }
        };
    }
    match route {
        Route::Fleet => by!(queries::fleet),
        Route::Capacity => by!(queries::capacity),
        Route::Series => by!(queries::series),
        Route::Map => by!(queries::map),
        Route::Nodes => by!(queries::nodes),
        Route::Node => by!(queries::node),
        Route::Why => by!(queries::why),
        Route::Gpus => by!(queries::gpus),
        Route::Incidents => by!(queries::incidents),
        Route::Incident => by!(queries::incident),
        Route::Postmortem => by!(queries::postmortem),
        Route::Jobs => by!(queries::jobs),
        Route::Job => by!(queries::job),
        Route::Slos => by!(queries::slos),
        Route::Decisions => by!(queries::decisions),
        Route::Plan => by!(queries::plan),
        Route::AskNode => by!(actions::ask_node),
        Route::WithdrawRequest => by!(actions::withdraw_request),
        Route::Acknowledge => by!(actions::acknowledge),
        Route::SetMode => by!(actions::set_mode),
        Route::Stop => by!(actions::stop),
        Route::Demo => by!(actions::demo),
        Route::DemoFaults => by!(queries::faults),
        Route::DemoInject => by!(actions::inject),
        Route::DemoScrub => by!(actions::scrub),
        Route::Stream => by!(stream::stream),
        Route::OpenApi => by!(queries::openapi),
        Route::Metrics => by!(metrics::metrics),
    }
}

/// Browsers load nothing from another origin, show no page in a frame, and cache only what allows it.
async fn with_headers<B>(mut response: Response<B>) -> Response<B> {
    const POLICY: &str = "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; \
                          form-action 'self'; frame-ancestors 'none'";
    const ALWAYS: [(HeaderName, &str); 4] = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    let headers = response.headers_mut();
    for (name, value) in ALWAYS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}
