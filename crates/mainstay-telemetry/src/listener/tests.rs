use std::net::SocketAddr;
use std::time::Instant;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpSocket;
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
    response_on(TcpStream::connect(address).await.unwrap(), request).await
}

async fn response_on(mut stream: TcpStream, request: &str) -> String {
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
async fn one_address_cannot_delay_the_health_check_of_another() {
    let (address, _stop, _task) = started(FakeProcess::Ready, LIMITS).await;
    let mut held = Vec::new();
    for _ in 0..LIMITS.connections_per_address {
        let mut slow = TcpStream::connect(address).await.unwrap();
        slow.write_all(b"GET /met").await.unwrap();
        held.push(slow);
    }
    // Far less than the time that the held connections have.
    let at_once = LIMITS.connection_timeout / 2;
    // More than all connections together: without a limit for one address, the next client would wait.
    for _ in 0..LIMITS.connections {
        let mut excess = TcpStream::connect(address).await.unwrap();
        let closed = timeout(at_once, excess.read(&mut [0])).await.expect("a connection over the limit stays open");
        assert_eq!(closed.unwrap(), 0);
    }
    let other = TcpSocket::new_v4().unwrap();
    other.bind("127.0.0.2:0".parse().unwrap()).unwrap();
    let other = other.connect(address).await.unwrap();
    let health = timeout(at_once, response_on(other, "GET /healthz HTTP/1.0\r\n\r\n")).await;
    assert!(health.expect("the other address waits").ends_with("broken\n"));
    drop(held);
}

#[tokio::test]
async fn an_address_is_served_again_once_its_slow_connections_ended() {
    let limits = Limits { connections_per_address: 1, connection_timeout: Duration::from_millis(300), ..LIMITS };
    let (address, _stop, _task) = started(FakeProcess::Ready, limits).await;
    let mut slow = TcpStream::connect(address).await.unwrap();
    slow.write_all(b"GET /met").await.unwrap();
    let mut excess = TcpStream::connect(address).await.unwrap();
    assert_eq!(excess.read(&mut [0]).await.unwrap(), 0, "a second connection of the address is open");
    // The server closes the slow connection after its time.
    let _ = slow.read_to_end(&mut Vec::new()).await;
    assert!(response(address, &format!("{REQUEST}\r\n")).await.contains("\nmainstay_up 1\n"));
}

#[test]
fn addresses_without_open_connections_are_forgotten() {
    let mut addresses = Addresses { limit: 2, open: BTreeMap::new() };
    for last in 0..=u8::MAX {
        drop(addresses.place(IpAddr::from([127, 0, 0, last])).unwrap());
    }
    let v4 = IpAddr::from([127, 0, 0, 1]);
    let held = [addresses.place(v4), addresses.place("::ffff:127.0.0.1".parse().unwrap())];
    assert!(held.iter().all(Option::is_some));
    assert!(addresses.place(v4).is_none(), "the mapped address is the same client");
    assert_eq!(addresses.open.len(), 1);
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
