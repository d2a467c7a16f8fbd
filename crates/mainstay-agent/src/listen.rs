//! Who asks for `/metrics` and `/report`: one plain request a connection, answered from texts that were made beforehand, so
//! that a slow asker holds nobody up.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Two Prometheus servers and a few people.
const ASKERS_MAX: usize = 16;

/// A request and its headers.
const REQUEST_BYTES_MAX: usize = 8 * 1024;

/// For the request and the answer together.
const LIMIT: Duration = Duration::from_secs(5);

/// Serves `/metrics`, `/report` and `/healthz` to a bounded number of clients.
#[derive(Debug)]
pub(crate) struct HttpServer {
    room: Arc<Semaphore>,
}

/// Prepared bodies of the responses to `/metrics` and `/report`.
#[derive(Debug, Clone)]
pub(crate) struct ResponseBodies {
    pub(crate) metrics: String,
    pub(crate) report: Option<Arc<str>>,
}

// === impl HttpServer ===

impl HttpServer {
    pub(crate) fn new() -> Self {
        Self { room: Arc::new(Semaphore::new(ASKERS_MAX)) }
    }

    /// Answers one, unless too many are asking already.
    pub(crate) fn answer(&self, stream: TcpStream, pages: impl FnOnce() -> ResponseBodies) {
        let Ok(place) = Arc::clone(&self.room).try_acquire_owned() else { return };
        let pages = pages();
        tokio::spawn(async move {
            // Who takes too long, or goes away, gets nothing more.
            let _ = timeout(LIMIT, serve(stream, pages)).await;
            drop(place);
        });
    }
}

async fn serve(mut stream: TcpStream, pages: ResponseBodies) -> std::io::Result<()> {
    let mut request = Vec::with_capacity(1024);
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        if request.len() >= REQUEST_BYTES_MAX || stream.read_buf(&mut request).await? == 0 {
            break;
        }
    }
    stream.write_all(&answer(&request, &pages)).await?;
    stream.shutdown().await
}

pub(crate) fn answer(request: &[u8], pages: &ResponseBodies) -> Vec<u8> {
    let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let mut words = line.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let text = "text/plain; version=0.0.4; charset=utf-8";
    let (status, kind, body) = match (method, path.split('?').next().unwrap_or_default()) {
        ("GET" | "HEAD", "/metrics") => ("200 OK", text, pages.metrics.as_str()),
        ("GET" | "HEAD", "/healthz") => ("200 OK", text, "ok\n"),
        ("GET" | "HEAD", "/report") => match &pages.report {
            Some(report) => ("200 OK", "application/json", &**report),
            None => ("503 Service Unavailable", text, "no report yet\n"),
        },
        ("GET" | "HEAD", _) => ("404 Not Found", text, "not found; available: /metrics, /report, /healthz\n"),
        _ => ("405 Method Not Allowed", text, "only GET is supported\n"),
    };
    let bytes = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {bytes}\r\nConnection: close\r\n\r\n");
    let body = if method == "HEAD" { "" } else { body };
    [head.as_bytes(), body.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(request: &str) -> String {
        let pages = ResponseBodies { metrics: "up 1\n".to_owned(), report: None };
        String::from_utf8(answer(request.as_bytes(), &pages)).unwrap()
    }

    #[test]
    fn a_request_is_answered_by_its_path() {
        assert!(ask("GET /metrics HTTP/1.1\r\n\r\n").ends_with("Content-Length: 5\r\nConnection: close\r\n\r\nup 1\n"));
        assert!(ask("HEAD /metrics HTTP/1.1\r\n\r\n").ends_with("\r\n\r\n"));
        assert!(ask("GET /report HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 503"));
        assert!(ask("GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
        assert!(ask("POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405"));
        assert!(ask("\u{0}").starts_with("HTTP/1.1 405"));
    }
}
