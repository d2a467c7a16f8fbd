//! `/metrics` for Prometheus and `/healthz` for the kubelet. Both contain counts only, so they need no authentication.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::routing::get;
use mainstay_kube::Gauges;
use mainstay_telemetry::metrics::Format;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

/// Two Prometheus servers, a kubelet and a few users.
const ASKERS_MAX: usize = 16;
/// Answers that are under way when the controller ends have so long.
const CLOSE_WITHIN: Duration = Duration::from_millis(500);

/// Metrics and the request limit that both HTTP handlers share.
#[derive(Clone)]
struct AppState {
    gauges: Gauges,
    room: Arc<Semaphore>,
}

/// Answers until it is told to end.
pub(super) async fn serve(listener: TcpListener, gauges: Gauges, ends: watch::Receiver<bool>) -> std::io::Result<()> {
    let asked = AppState { gauges, room: Arc::new(Semaphore::new(ASKERS_MAX)) };
    let pages = Router::new().route("/metrics", get(metrics)).route("/healthz", get(healthz)).with_state(asked);
    let ended = |mut ends: watch::Receiver<bool>| async move {
        let _ = ends.wait_for(|ends| *ends).await;
    };
    let serving = axum::serve(listener, pages).with_graceful_shutdown(ended(ends.clone()));
    let too_late = async move {
        ended(ends).await;
        tokio::time::sleep(CLOSE_WITHIN).await;
    };
    tokio::select! {
        result = serving => result,
        () = too_late => Ok(()),
    }
}

async fn metrics(
    State(asked): State<AppState>,
    headers: HeaderMap,
) -> (StatusCode, [(HeaderName, &'static str); 1], String) {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let format = Format::negotiate(accept);
    let kind = [(header::CONTENT_TYPE, format.content_type())];
    match asked.room.try_acquire() {
        Ok(_place) => (StatusCode::OK, kind, asked.gauges.samples().encode(format).unwrap_or_default()),
        Err(_) => (StatusCode::SERVICE_UNAVAILABLE, kind, format!("too many requests; the limit is {ASKERS_MAX}\n")),
    }
}

async fn healthz(State(asked): State<AppState>) -> (StatusCode, &'static str) {
    if asked.gauges.is_stuck() {
        (StatusCode::SERVICE_UNAVAILABLE, "stuck: leader without decisions\n")
    } else {
        (StatusCode::OK, "ok\n")
    }
}
