use std::net::SocketAddr;
use std::time::Instant;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::*;
use crate::metrics::{Exporter, catalogue};

const REQUEST: &str = "GET /metrics HTTP/1.1\r\nHost: node\r\n";

/// A process that never finishes the collection of its metrics, or that always has them.
#[derive(Clone)]
enum FakeProcess {
    Ready,
    Hangs,
}

impl Process for FakeProcess {
    async fn samples(&self) -> Option<Samples> {
        match self {
            Self::Ready => {
                let mut samples = Samples::new(Exporter::Controller);
                samples.set(catalogue::UP, [], true);
                Some(samples)
            }
            Self::Hangs => std::future::pending().await,
        }
    }

    async fn health(&self) -> Health {
        Health::Unhealthy("broken")
    }
}

async fn started(process: FakeProcess, limits: Limits) -> (SocketAddr, oneshot::Sender<()>, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel();
    let shutdown = async {
        let _ = stopped.await;
    };
    let task = tokio::spawn(serve_within(limits, listener, routes().with_state(process), shutdown));
    (address, stop, task)
}

/// Everything that the server sends until it closes the connection.
async fn response(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut text = Vec::new();
    let _ = stream.read_to_end(&mut text).await;
    String::from_utf8(text).unwrap()
}

#[tokio::test]
async fn the_client_chooses_the_format_and_each_connection_has_one_request() {
    let (address, _stop, _task) = started(FakeProcess::Ready, LIMITS).await;
    let text = response(address, &format!("{REQUEST}\r\n{REQUEST}\r\n")).await;
    assert_eq!(text.matches("\nmainstay_up 1\n").count(), 1, "{text}");
    assert!(text.contains("content-type: text/plain; version=0.0.4") && text.contains("connection: close"), "{text}");
    let open = response(address, &format!("{REQUEST}Accept: application/openmetrics-text\r\n\r\n")).await;
    assert!(open.contains("content-type: application/openmetrics-text; version=1.0.0"), "{open}");
    assert!(open.ends_with("\n# EOF\n"), "{open}");
    let health = response(address, "GET /healthz HTTP/1.0\r\n\r\n").await;
    assert!(health.starts_with("HTTP/1.0 503") && health.ends_with("broken\n"), "{health}");
}

#[tokio::test]
async fn a_request_that_is_too_large_is_rejected() {
    let (address, _stop, _task) = started(FakeProcess::Ready, LIMITS).await;
    let large = format!("{REQUEST}X: {}\r\n\r\n", "x".repeat(REQUEST_BYTES_MAX));
    let rejected = response(address, &large).await;
    assert!(!rejected.contains("mainstay_up"), "{rejected}");
}

#[tokio::test]
async fn a_slow_client_holds_its_place_for_a_limited_time_and_others_wait_for_it() {
    let limits = Limits { connections: 1, connection_timeout: Duration::from_millis(300), ..LIMITS };
    let (address, _stop, _task) = started(FakeProcess::Ready, limits).await;
    let mut slow = TcpStream::connect(address).await.unwrap();
    slow.write_all(b"GET /met").await.unwrap();
    sleep(Duration::from_millis(50)).await;
    let began = Instant::now();
    let answered = response(address, &format!("{REQUEST}\r\n")).await;
    assert!(answered.contains("\nmainstay_up 1\n"), "{answered}");
    assert!(began.elapsed() >= Duration::from_millis(150), "the second client did not wait");
    let mut rest = Vec::new();
    let _ = slow.read_to_end(&mut rest).await;
    assert_eq!(rest, b"");
}

#[tokio::test]
async fn the_listener_ends_although_a_process_does_not_answer() {
    let limits = Limits { close_timeout: Duration::from_millis(100), ..LIMITS };
    let (address, stop, task) = started(FakeProcess::Hangs, limits).await;
    let waiting = tokio::spawn(async move { response(address, &format!("{REQUEST}\r\n")).await });
    sleep(Duration::from_millis(50)).await;
    stop.send(()).unwrap();
    timeout(Duration::from_secs(2), task).await.unwrap().unwrap();
    assert!(TcpStream::connect(address).await.is_err());
    waiting.abort();
}
