//! The agent's HTTP endpoints: `/metrics`, `/report` and `/healthz`. The main loop owns the data and answers each request,
//! so a response also shows that the loop runs.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderName, StatusCode, header};
use axum::routing::get;
use mainstay_telemetry::listener::{self, Health, Process};
use mainstay_telemetry::metrics::Samples;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};

/// Requests that may wait for the main loop.
const REQUESTS_MAX: usize = 16;

/// Request of a client for data that the main loop owns.
#[derive(Debug)]
pub(crate) enum DataRequest {
    Samples(oneshot::Sender<Samples>),
    /// The last report as JSON, if there is one.
    Report(oneshot::Sender<Option<Arc<str>>>),
    Health(oneshot::Sender<()>),
}

/// Sends requests of clients to the main loop.
#[derive(Debug, Clone)]
struct Endpoints(mpsc::Sender<DataRequest>);

/// Serves the endpoints while the process runs, and returns the requests for the main loop.
pub(crate) fn start(listener: TcpListener) -> mpsc::Receiver<DataRequest> {
    let (requests, received) = mpsc::channel(REQUESTS_MAX);
    tokio::spawn(listener::serve(listener, router(Endpoints(requests)), std::future::pending()));
    received
}

fn router(endpoints: Endpoints) -> Router {
    let not_found = async || (StatusCode::NOT_FOUND, "not found; available: /metrics, /report, /healthz\n");
    listener::routes().route("/report", get(report)).fallback(not_found).with_state(endpoints)
}

async fn report(State(endpoints): State<Endpoints>) -> (StatusCode, [(HeaderName, &'static str); 1], String) {
    match endpoints.request(DataRequest::Report).await.flatten() {
        Some(report) => (StatusCode::OK, [(header::CONTENT_TYPE, "application/json")], report.as_ref().to_owned()),
        None => {
            let text = [(header::CONTENT_TYPE, "text/plain; charset=utf-8")];
            (StatusCode::SERVICE_UNAVAILABLE, text, "no report yet\n".to_owned())
        }
    }
}

// === impl Endpoints ===

impl Endpoints {
    /// None if too many requests wait already, or if the main loop ended.
    async fn request<T>(&self, request: impl FnOnce(oneshot::Sender<T>) -> DataRequest) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.0.try_send(request(reply)).ok()?;
        answer.await.ok()
    }
}

impl Process for Endpoints {
    async fn samples(&self) -> Option<Samples> {
        self.request(DataRequest::Samples).await
    }

    async fn health(&self) -> Health {
        match self.request(DataRequest::Health).await {
            Some(()) => Health::Healthy,
            None => Health::Unhealthy("the main loop does not answer"),
        }
    }
}

#[cfg(test)]
mod tests {
    use mainstay_telemetry::metrics::{Exporter, catalogue};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;

    use super::*;

    async fn ask(address: std::net::SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).await.unwrap();
        response
    }

    #[tokio::test]
    async fn a_request_is_answered_by_its_path() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut requests = start(listener);
        let loop_without_report = tokio::spawn(async move {
            while let Some(request) = requests.recv().await {
                match request {
                    DataRequest::Samples(reply) => {
                        let mut samples = Samples::new(Exporter::Agent);
                        samples.set(catalogue::AGENT_UPTIME, [], 5_u64);
                        reply.send(samples).unwrap();
                    }
                    DataRequest::Report(reply) => reply.send(None).unwrap(),
                    DataRequest::Health(reply) => reply.send(()).unwrap(),
                }
            }
        });
        let asked = async |line: &str| ask(address, &format!("{line} HTTP/1.1\r\nHost: node\r\n\r\n")).await;
        let metrics = asked("GET /metrics").await;
        assert!(
            metrics.starts_with("HTTP/1.1 200") && metrics.contains("\nmainstay_agent_uptime_seconds 5\n"),
            "{metrics}"
        );
        let head = asked("HEAD /metrics").await;
        assert!(head.starts_with("HTTP/1.1 200") && head.ends_with("\r\n\r\n"), "{head}");
        for (line, status, text) in [
            ("GET /healthz", "200", "\r\n\r\nok\n"),
            ("GET /report", "503", "no report yet\n"),
            ("GET /", "404", "available: /metrics, /report, /healthz\n"),
            ("POST /metrics", "405", "only GET is supported\n"),
        ] {
            let response = asked(line).await;
            assert!(response.starts_with(&format!("HTTP/1.1 {status}")) && response.ends_with(text), "{response}");
        }
        assert!(ask(address, "\u{0}\r\n\r\n").await.starts_with("HTTP/1.1 400"));
        loop_without_report.abort();
        let _ = loop_without_report.await;
        assert!(asked("GET /healthz").await.starts_with("HTTP/1.1 503"));
    }
}
