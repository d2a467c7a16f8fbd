//! Which requests each kind of access admits, first by function, then on a real socket.

use mainstay_model::{Mode, Timestamp};
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::*;
use crate::published::{Hub, PublishedState};
use crate::snapshot::{FleetTopology, Snapshot};

fn headers(pairs: &[(header::HeaderName, &str)]) -> HeaderMap {
    pairs.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect()
}

fn status(access: &Access, method: &Method, path: &str, pairs: &[(header::HeaderName, &str)]) -> Option<u16> {
    let judged = tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(access.judge(
        method,
        path,
        &headers(pairs),
    ));
    judged.err().map(|refusal| refusal.into_response().status().as_u16())
}

/// Test validator that derives the status from the text of the token.
struct LiteralValidator;

impl TokenValidator for LiteralValidator {
    fn validate<'a>(&'a self, token: &'a str) -> BoxFuture<'a, TokenStatus> {
        let worth = match token {
            "right" => TokenStatus::Welcome,
            "poor" => TokenStatus::Forbidden("it may not list pods.".to_owned()),
            "silent" => TokenStatus::Unanswered("no answer.".to_owned()),
            _ => TokenStatus::Unknown,
        };
        Box::pin(std::future::ready(worth))
    }
}

#[test]
fn an_open_server_is_offered_on_the_loopback_only() {
    let fits = |address: &str| Access::OpenOnLoopback.fits(address.parse().unwrap()).is_ok();
    assert!(fits("127.0.0.1:7878") && fits("[::1]:0"));
    assert!(!fits("0.0.0.0:7878") && !fits("10.0.0.7:7878") && !fits("[::]:7878"));
}

#[test]
fn an_open_server_answers_to_names_of_the_machine_only() {
    let host = |host: &str| status(&Access::OpenOnLoopback, &Method::GET, "/", &[(header::HOST, host)]);
    for ours in ["localhost:7878", "127.0.0.1:7878", "[::1]:7878", "LOCALHOST", "127.8.8.8"] {
        assert_eq!(host(ours), None, "{ours}");
    }
    for strange in ["evil.example", "localhost.evil.example:7878", "127.0.0.1.evil.example", "10.0.0.1", "[::]", ""] {
        assert_eq!(host(strange), Some(421), "{strange}");
    }
    assert_eq!(status(&Access::OpenOnLoopback, &Method::GET, "/", &[]), Some(421));
}

#[test]
fn a_page_of_another_origin_changes_nothing() {
    let from = |method: Method, origin: &str| {
        let pairs = [(header::HOST, "localhost:7878"), (header::ORIGIN, origin)];
        status(&Access::OpenOnLoopback, &method, "/api/v1/stop", &pairs)
    };
    assert_eq!(from(Method::POST, "http://localhost:7878"), None);
    for strange in ["http://evil.example", "http://localhost:3000", "https://localhost:7878", "null"] {
        assert_eq!(from(Method::POST, strange), Some(403), "{strange}");
        assert_eq!(from(Method::DELETE, strange), Some(403), "{strange}");
        assert_eq!(from(Method::GET, strange), None, "it cannot read the answer");
    }
}

#[test]
fn a_cluster_asks_for_a_token_and_lets_the_page_load() {
    let access = Access::Tokens(Arc::new(LiteralValidator));
    let with = |path: &str, token: &str| status(&access, &Method::GET, path, &[(header::AUTHORIZATION, token)]);
    assert_eq!(status(&access, &Method::GET, "/api/v1/fleet", &[]), Some(401));
    assert_eq!(with("/api/v1/fleet", "Basic right"), Some(401));
    assert_eq!(with("/api/v1/fleet", "Bearer wrong"), Some(401));
    assert_eq!(with("/api/v1/fleet", &format!("Bearer {}", "x".repeat(9_000))), Some(401));
    assert_eq!(with("/api/v1/fleet", "Bearer poor"), Some(403));
    assert_eq!(with("/api/v1/fleet", "Bearer silent"), Some(503), "who is not answered for is not let in");
    assert_eq!(with("/metrics", "Bearer wrong"), Some(401));
    assert_eq!(with("/api/v1/fleet", "Bearer right"), None);
    assert_eq!(status(&access, &Method::GET, "/", &[]), None);
}

/// A fleet without nodes.
fn empty() -> PublishedState {
    let snapshot = Arc::new(Snapshot {
        name: "empty".into(),
        now: Timestamp(0),
        mode: Mode::Observe,
        mode_set: Mode::Observe,
        mode_notice: None,
        topology: Arc::new(FleetTopology::new([], 1)),
        nodes: Vec::new(),
        jobs: Vec::new(),
        job_of: Vec::new(),
        incidents: Vec::new(),
        decisions: Vec::new(),
        budgets: Vec::new(),
        breakers: Vec::new(),
        needs: Vec::new(),
        costs: None,
        gauges: None,
        script: Vec::new(),
        slos: Arc::from([]),
        capacity: Arc::default(),
        cluster: None,
    });
    PublishedState { latest: snapshot.clone(), snapshot, gauges: [].into(), series: [].into(), demo: None }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_tokens_answers_clients_with_a_valid_one() {
    let (hub, _requests) = Hub::new(empty(), Vec::new());
    let served = ServerState::new(hub, Access::Tokens(Arc::new(LiteralValidator)));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (end, ends) = watch::channel(());
    let serving = tokio::spawn(crate::serve(listener, served, ends));
    let client = reqwest::Client::new();
    let status = async |token: Option<&str>, path: &str| {
        let call = client.get(format!("http://{address}{path}"));
        let call = token.map_or_else(|| client.get(format!("http://{address}{path}")), |token| call.bearer_auth(token));
        call.send().await.unwrap().status().as_u16()
    };
    assert_eq!(status(None, "/api/v1/fleet").await, 401);
    assert_eq!(status(Some("wrong"), "/api/v1/fleet").await, 401);
    assert_eq!(status(Some("poor"), "/api/v1/fleet").await, 403);
    assert_eq!(status(Some("right"), "/api/v1/fleet").await, 200);
    assert_eq!(status(Some("poor"), "/metrics").await, 403);
    assert_eq!(status(None, "/").await, 200, "the web UI asks for the token itself");
    let stop = client.post(format!("http://{address}/api/v1/stop")).json(&serde_json::json!({}));
    assert_eq!(stop.send().await.unwrap().status().as_u16(), 401);
    end.send(()).unwrap();
    serving.await.unwrap().unwrap();
}
