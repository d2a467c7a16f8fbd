//! The HTTP server: what a picture of the fleet shows, a stream of what changes, and the web page. Reads come from one
//! immutable picture; whatever changes something is handed to the one who owns the fleet. It decides nothing.

pub(crate) mod access;
mod acts;
pub(crate) mod board;
mod guard;
mod metrics;
mod page;
pub(crate) mod picture;
mod reads;
pub(crate) mod refusal;
mod stream;

use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderName, HeaderValue, Response, header};
use axum::routing::{MethodRouter, delete, get, post, put};
use axum::{Router, middleware};
use mainstay_api::http::{Method, Route};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tower_http::compression::CompressionLayer;

use access::Access;
use board::Board;
pub(crate) use page::{WebUi, web_ui};
use refusal::Refusal;

/// A body of a call: names and reasons, nothing larger.
const BODY_BYTES_MAX: usize = 16 * 1_024;
/// Calls at one time; the next are told to come again. A page makes a handful.
const CALLS_MAX: usize = 256;
/// Streams at one time: each holds a connection for hours.
const STREAMS_MAX: usize = 64;
/// No answer takes longer; the largest takes milliseconds.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// Answers that are under way when the server ends have so long.
const CLOSE_WITHIN: Duration = Duration::from_millis(500);

/// What every call may need.
#[derive(Clone)]
pub(crate) struct Served {
    pub(crate) board: Arc<Board>,
    access: Access,
    calls: Arc<Semaphore>,
    streams: Arc<Semaphore>,
}

impl Served {
    pub(crate) fn new(board: Arc<Board>, access: Access) -> Self {
        let (calls, streams) = (Semaphore::new(CALLS_MAX), Semaphore::new(STREAMS_MAX));
        Self { board, access, calls: Arc::new(calls), streams: Arc::new(streams) }
    }
}

/// Answers calls until it is told to end.
pub(crate) async fn serve(listener: TcpListener, served: Served, mut ends: watch::Receiver<()>) -> std::io::Result<()> {
    let mut told = ends.clone();
    let ended = async move {
        let _ = told.changed().await;
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

fn router(served: Served) -> Router {
    let mut router = Router::new();
    for route in Route::ALL {
        router = router.route(route.call().1, answers(route));
    }
    router
        .fallback(page::page)
        .method_not_allowed_fallback(async || Refusal::not_allowed())
        .layer(middleware::from_fn_with_state(served.clone(), access::check))
        .layer(middleware::from_fn_with_state(served.clone(), guard::guard))
        .layer(CompressionLayer::new())
        .layer(middleware::map_response(with_headers))
        .with_state(served)
}

/// Who answers a call. Verbs come from the list, so that the document says nothing else than what is served.
fn answers(route: Route) -> MethodRouter<Served> {
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
        Route::Fleet => by!(reads::fleet),
        Route::Series => by!(reads::series),
        Route::Map => by!(reads::map),
        Route::Nodes => by!(reads::nodes),
        Route::Node => by!(reads::node),
        Route::Why => by!(reads::why),
        Route::Gpus => by!(reads::gpus),
        Route::Incidents => by!(reads::incidents),
        Route::Incident => by!(reads::incident),
        Route::Jobs => by!(reads::jobs),
        Route::Job => by!(reads::job),
        Route::Decisions => by!(reads::decisions),
        Route::Plan => by!(reads::plan),
        Route::AskNode => by!(acts::ask_node),
        Route::WithdrawRequest => by!(acts::withdraw_request),
        Route::Acknowledge => by!(acts::acknowledge),
        Route::SetMode => by!(acts::set_mode),
        Route::Stop => by!(acts::stop),
        Route::Demo => by!(acts::demo),
        Route::DemoFaults => by!(reads::faults),
        Route::DemoInject => by!(acts::inject),
        Route::DemoScrub => by!(acts::scrub),
        Route::Stream => by!(stream::stream),
        Route::OpenApi => by!(reads::openapi),
        Route::Metrics => by!(metrics::metrics),
    }
}

/// Nothing from elsewhere is loaded, nobody frames us, and what we say is kept by no cache unless it says so itself.
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
