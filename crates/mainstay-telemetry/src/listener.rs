//! HTTP listener of a process: `/metrics`, `/healthz` and what else the process serves. Connections, their time and the size
//! of a request are bounded, so that slow clients cost little. There is no authentication: serve counts only.
//!
//! One remote address can hold a few connections only, so a slow client cannot delay the kubelet's probe of `/healthz`. A
//! client with the kubelet's own address still can: a process on the same node that uses the host's network.

use std::collections::BTreeMap;
use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::routing::get;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};

use crate::metrics::{Format, Samples};

/// Limits of a listener. Two Prometheus servers, a kubelet and a few users use a fraction of them.
const LIMITS: Limits = Limits {
    connections: 128,
    connections_per_address: 8,
    connection_timeout: Duration::from_secs(5),
    close_timeout: Duration::from_millis(500),
};
/// Size of a request line with its headers. It is the least that hyper accepts.
const REQUEST_BYTES_MAX: usize = 8 * 1_024;
/// Pause after an error of `accept`, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// Number of connections, and their time.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// Open connections. Others wait in the kernel until one ends.
    connections: u32,
    /// Open connections of one remote address. Further ones are closed at once.
    connections_per_address: usize,
    /// Time for a connection with its one request and its response.
    connection_timeout: Duration,
    /// Time that responses have when the process ends.
    close_timeout: Duration,
}

/// Health of a process, as `/healthz` shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// The process does its work.
    Healthy,
    /// The process should be restarted, for this reason.
    Unhealthy(&'static str),
}

/// What a process serves: its metrics and its health.
pub trait Process: Clone + Send + Sync + 'static {
    /// Values of all metrics. None if the process is too busy to collect them.
    fn samples(&self) -> impl Future<Output = Option<Samples>> + Send;

    /// Health of the process now.
    fn health(&self) -> impl Future<Output = Health> + Send;
}

/// Returns the routes `/metrics` and `/healthz` of a process, to which it can add its own.
pub fn routes<P: Process>() -> Router<P> {
    Router::new()
        .route("/metrics", get(metrics::<P>))
        .route("/healthz", get(healthz::<P>))
        .method_not_allowed_fallback(async || (StatusCode::METHOD_NOT_ALLOWED, "only GET is supported\n"))
}

/// Serves the routes until `shutdown` is ready. Responses under way have half a second more.
pub async fn serve(listener: TcpListener, routes: Router, shutdown: impl Future<Output = ()>) {
    serve_within(LIMITS, listener, routes, shutdown).await;
}

async fn serve_within(limits: Limits, listener: TcpListener, routes: Router, shutdown: impl Future<Output = ()>) {
    let room = Arc::new(Semaphore::new(limits.connections as usize));
    let mut addresses = Addresses { limit: limits.connections_per_address, open: BTreeMap::new() };
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        let accepted = async {
            // The semaphore is never closed.
            let place = Arc::clone(&room).acquire_owned().await.ok()?;
            Some((listener.accept().await, place))
        };
        let accepted = tokio::select! {
            accepted = accepted => accepted,
            () = &mut shutdown => break,
        };
        match accepted {
            Some((Ok((stream, remote)), place)) => {
                // The stream of an address without a free place is dropped, which closes it.
                let Some(own_place) = addresses.place(remote.ip()) else { continue };
                let routes = routes.clone();
                tokio::spawn(async move {
                    // A client that is too slow, or that left, gets no more.
                    let _ = timeout(limits.connection_timeout, connection(stream, routes)).await;
                    drop((own_place, place));
                });
            }
            Some((Err(_), _)) => sleep(ACCEPT_PAUSE).await,
            None => break,
        }
    }
    drop(listener);
    let _ = timeout(limits.close_timeout, room.acquire_many(limits.connections)).await;
}

/// Open connections by remote address. Only the accept loop owns it, so it needs no lock.
struct Addresses {
    limit: usize,
    open: BTreeMap<IpAddr, Arc<Semaphore>>,
}

impl Addresses {
    /// Returns a place for one connection of the address, or none if it holds all of its places.
    fn place(&mut self, address: IpAddr) -> Option<OwnedSemaphorePermit> {
        // Addresses without an open connection are removed, so there are never more entries than open connections.
        self.open.retain(|_, places| places.available_permits() < self.limit);
        // A listener on `[::]` reports IPv4 clients as mapped addresses.
        let places = self.open.entry(address.to_canonical()).or_insert_with(|| Arc::new(Semaphore::new(self.limit)));
        Arc::clone(places).try_acquire_owned().ok()
    }
}

/// One connection has one request: the next scrape comes much later than an idle connection may stay.
async fn connection(stream: TcpStream, routes: Router) -> hyper::Result<()> {
    http1::Builder::new()
        .keep_alive(false)
        // The time limit of the connection covers the headers.
        .header_read_timeout(None)
        .max_buf_size(REQUEST_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(routes))
        .await
}

async fn metrics<P: Process>(State(process): State<P>, headers: HeaderMap) -> MetricsResponse {
    match process.samples().await {
        Some(samples) => metrics_response(&headers, samples),
        None => (StatusCode::SERVICE_UNAVAILABLE, Format::Text.header(), "too busy\n".to_owned()),
    }
}

async fn healthz<P: Process>(State(process): State<P>) -> (StatusCode, String) {
    match process.health().await {
        Health::Healthy => (StatusCode::OK, "ok\n".to_owned()),
        Health::Unhealthy(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")),
    }
}

/// Status, content type and body of a response to a scrape.
pub type MetricsResponse = (StatusCode, [(HeaderName, &'static str); 1], String);

/// Returns a response to a scrape, in the format that the request accepts.
#[must_use]
pub fn metrics_response(request: &HeaderMap, samples: Samples) -> MetricsResponse {
    let accept = request.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let format = Format::negotiate(accept);
    match samples.encode(format) {
        Ok(text) => (StatusCode::OK, format.header(), text),
        Err(_) => (StatusCode::INTERNAL_SERVER_ERROR, Format::Text.header(), "cannot write the metrics\n".to_owned()),
    }
}

impl Format {
    const fn header(self) -> [(HeaderName, &'static str); 1] {
        [(header::CONTENT_TYPE, self.content_type())]
    }
}

#[cfg(test)]
mod tests;
