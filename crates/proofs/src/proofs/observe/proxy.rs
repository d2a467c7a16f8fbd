//! A proxy between the controller and the API server that counts writes and pauses at one of them: before it is forwarded,
//! or after it was done and before the response is returned. Then the controller is killed. It can also be rough: one call in
//! four is answered as a server does that is busy, broken, or has moved on.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use kube::Client;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// No object of the controller's is larger.
const BODY_BYTES_MAX: usize = 4 << 20;

/// The write at which the proxy pauses and the controller is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KillPoint {
    /// Before its write of this number reaches the server.
    Before(u64),
    /// After the server did it, and before the controller hears of it.
    After(u64),
}

/// Writes counted so far, and how the proxy treats the next request.
#[derive(Debug, Clone, Copy, Default)]
struct ProxyState {
    writes: u64,
    at: Option<KillPoint>,
    /// Nothing passes any more.
    paused: bool,
    /// Calls since the way became rough; none where it is smooth.
    failing_calls: Option<usize>,
}

/// One call in this number fails in a rough run.
const ROUGH_EVERY: usize = 4;

/// A proxy that runs.
pub(super) struct Proxy {
    pub(super) address: SocketAddr,
    count: Arc<watch::Sender<ProxyState>>,
    task: JoinHandle<std::io::Result<()>>,
}

/// The client that forwards requests, and the shared state of the proxy.
#[derive(Clone)]
struct Forwarder {
    client: Client,
    count: Arc<watch::Sender<ProxyState>>,
}

impl Proxy {
    /// All requests are forwarded as this client.
    pub(super) async fn start(client: Client) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let count = Arc::new(watch::Sender::new(ProxyState::default()));
        let way = Forwarder { client, count: Arc::clone(&count) };
        let router = Router::new().fallback(pass).with_state(way);
        let task = tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(Self { address, count, task })
    }

    /// Restarts the count, and pauses at this write.
    pub(super) fn begin(&self, at: Option<KillPoint>) {
        self.count.send_replace(ProxyState { at, ..ProxyState::default() });
    }

    /// Counts from one again, and lets one call in four fail.
    pub(super) fn begin_rough(&self) {
        self.count.send_replace(ProxyState { failing_calls: Some(0), ..ProxyState::default() });
    }

    /// How many writes there were.
    pub(super) fn writes(&self) -> u64 {
        self.count.borrow().writes
    }

    /// Returns when the proxy pauses.
    pub(super) async fn wait_until_paused(&self) -> Result<()> {
        self.count.subscribe().wait_for(|count| count.paused).await.context("the proxy ended")?;
        Ok(())
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn pass(State(way): State<Forwarder>, request: Request) -> Response {
    let number = if is_write(&request) {
        let mut number = 0;
        way.count.send_modify(|count| {
            count.writes += 1;
            number = count.writes;
        });
        number
    } else {
        0
    };
    let at = way.count.borrow().at;
    if way.count.borrow().paused || at == Some(KillPoint::Before(number)) {
        return pause(&way).await;
    }
    if let Some(failure) = fails(&way, &request) {
        return failure;
    }
    let answer = forward(&way, request).await;
    if way.count.borrow().paused || at == Some(KillPoint::After(number)) {
        return pause(&way).await;
    }
    answer.unwrap_or_else(|error| (StatusCode::BAD_GATEWAY, error.to_string()).into_response())
}

/// Responses of a server that is busy, broken, or has moved on. The Lease is spared: losing it is another proof.
fn fails(way: &Forwarder, request: &Request) -> Option<Response> {
    if request.uri().path().contains("/leases") {
        return None;
    }
    let mut number = None;
    way.count.send_modify(|count| {
        if let Some(calls) = &mut count.failing_calls {
            *calls += 1;
            number = Some(*calls);
        }
    });
    let turn = number.filter(|number| number.is_multiple_of(ROUGH_EVERY))? / ROUGH_EVERY;
    let continues =
        request.uri().query().is_some_and(|query| query.contains("resourceVersion=") && query.contains("watch"));
    let (status, reason) = match (turn % 3, request.method() == Method::GET) {
        (0, _) => (StatusCode::TOO_MANY_REQUESTS, "TooManyRequests"),
        (1, _) => (StatusCode::INTERNAL_SERVER_ERROR, "InternalError"),
        (_, false) => (StatusCode::CONFLICT, "Conflict"),
        (_, true) if continues => (StatusCode::GONE, "Expired"),
        (_, true) => (StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable"),
    };
    let body = serde_json::json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": "a rough way",
        "code": status.as_u16(), "details": { "retryAfterSeconds": u8::from(status == StatusCode::TOO_MANY_REQUESTS) },
    });
    Some((status, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response())
}

/// No event is forwarded until the next start.
async fn pause(way: &Forwarder) -> Response {
    way.count.send_modify(|count| count.paused = true);
    std::future::pending().await
}

/// Records of the controller; the Lease and dry runs change nothing of them.
fn is_write(request: &Request) -> bool {
    let is_dry = request.uri().query().is_some_and(|query| query.contains("dryRun"));
    request.method() != Method::GET && !request.uri().path().contains("/leases") && !is_dry
}

async fn forward(way: &Forwarder, request: Request) -> Result<Response> {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, BODY_BYTES_MAX).await?;
    let path = parts.uri.path_and_query().context("no path")?.as_str();
    let mut onward = axum::http::Request::builder().method(parts.method).uri(path);
    for name in [header::ACCEPT, header::CONTENT_TYPE] {
        if let Some(value) = parts.headers.get(&name) {
            onward = onward.header(name, value);
        }
    }
    let answer = way.client.send(onward.body(kube::client::Body::from(body.to_vec()))?).await?;
    let (mut parts, body) = answer.into_parts();
    parts.headers.remove(header::TRANSFER_ENCODING);
    Ok(Response::from_parts(parts, Body::new(body)))
}
