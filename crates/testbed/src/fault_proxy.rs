//! A proxy in front of the API server that does what goes wrong on a network and in a server: it holds or drops a call before
//! or after the server carries it out, answers in the server's place, drops, repeats or delays watch events, and shows an old
//! state as a lagging cache does. A test chooses the calls; everything else passes unchanged.
//!
//! It listens on plain HTTP on loopback and forwards with the identity of one kubeconfig, so it is for one program under test. It
//! keeps a record of what that program wrote. Watches must be JSON, as kube-rs asks for; `exec` and the like do not pass.

#![expect(
    clippy::disallowed_types,
    reason = "held for a few lines that add a rule or count a call, and nothing there waits"
)]

mod call;
mod events;
mod fault;
mod gate;
mod lag;
mod record;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use axum::body::{Body, Bytes};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, Request, Response, StatusCode, header};
use axum::response::IntoResponse as _;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::sleep;

pub use call::{Call, CallFilter, Verb};
pub use events::{EventFault, EventRule, WatchEvent};
pub use fault::{Fault, Reply, Rule, Turn};
pub use record::SentWrite;

use gate::Gate;
use lag::{Lag, Reads, View};
use record::{Answer, Record};

/// No request of a program under test is larger.
const BODY_BYTES_MAX: usize = 4 << 20;
/// Time until the next attempt when a connection cannot be accepted, for example without a free file descriptor.
const ACCEPT_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// A running proxy. It and its connections end when this is dropped.
pub struct FaultProxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

/// What connections and the test share.
struct Shared {
    client: Client,
    state: Mutex<State>,
    gate: Gate,
    lag: Lag,
}

#[derive(Debug, Default)]
struct State {
    calls: Vec<Rule>,
    events: Vec<EventRule>,
    record: Record,
}

/// The connection ends without a response.
#[derive(Debug)]
struct Cut;

impl FaultProxy {
    /// Starts a proxy that forwards every call to the API server and with the identity of this kubeconfig.
    pub async fn start(kubeconfig: &Path) -> Result<Self> {
        let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
        let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        // kube repeats a call after 429, 503 and 504, for example an eviction that a PodDisruptionBudget refuses.
        config.default_retry = false;
        let client = Client::try_from(config)?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("no free port on 127.0.0.1")?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared { client, state: Mutex::default(), gate: Gate::default(), lag: Lag::default() });
        let task = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Ok(Self { address, shared, task })
    }

    /// Kubeconfig for the program under test. It has no credentials: the proxy adds its own.
    pub fn kubeconfig(&self) -> String {
        let address = self.address;
        format!(
            "{{apiVersion: v1, kind: Config, current-context: a, \
             clusters: [{{name: a, cluster: {{server: 'http://{address}'}}}}], \
             users: [{{name: a, user: {{}}}}], contexts: [{{name: a, context: {{cluster: a, user: a}}}}]}}"
        )
    }

    /// Adds a rule about calls. The first rule whose turn it is decides.
    pub fn add(&self, rule: Rule) {
        self.shared.state().calls.push(rule);
    }

    /// Adds a rule about the events of watches.
    pub fn add_for_events(&self, rule: EventRule) {
        self.shared.state().events.push(rule);
    }

    /// Removes all rules, forgets all calls, and lets new calls pass again. Calls that are held stay held.
    pub fn clear(&self) {
        *self.shared.state() = State::default();
        self.shared.gate.release();
    }

    /// Removes all rules and lets new calls pass again, as [`FaultProxy::clear`] does, and keeps the record of calls.
    pub fn clear_rules(&self) {
        let mut state = self.shared.state();
        state.calls.clear();
        state.events.clear();
        drop(state);
        self.shared.gate.release();
    }

    /// Returns when a rule holds a call. From then on nothing passes.
    pub async fn wait_until_held(&self) {
        self.shared.gate.wait_until_held().await;
    }

    /// Lets nothing pass for this time, from now on: calls, answers and events wait and arrive late, in order.
    pub fn pause_for(&self, time: Duration) {
        self.shared.gate.pause_for(time);
    }

    /// Ends a pause before its time.
    pub fn resume(&self) {
        self.shared.gate.resume();
    }

    /// Shows the state of now from now on: watches send nothing more, and lists that a cache may answer are of this moment.
    /// Writes and consistent reads are as usual.
    pub async fn lag(&self) -> Result<()> {
        self.shared.lag.begin(&self.shared.client, Reads::Cached).await
    }

    /// Takes the guards from the program under test: every read shows the state of now from now on, and its writes reach the server
    /// with tests that always hold. Leases are as usual.
    pub async fn unguard(&self) -> Result<()> {
        self.shared.lag.begin(&self.shared.client, Reads::Unguarded).await
    }

    /// Ends the lag and gives the guards back: watches send what they held back.
    pub fn catch_up(&self) {
        self.shared.lag.end();
    }

    /// The calls since the start or the last [`FaultProxy::clear`], oldest first, and at most 100,000.
    pub fn calls(&self) -> Vec<Call> {
        self.shared.state().record.calls()
    }

    /// The number of writes since then, without Leases and dry runs.
    pub fn writes(&self) -> u64 {
        self.shared.state().record.writes()
    }

    /// Those writes with their bodies and the server's answers, oldest first, and at most 20,000.
    pub fn written(&self) -> Vec<SentWrite> {
        self.shared.state().record.written()
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // A test that panicked while it added a rule has failed already.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers a call, and returns what happens to it.
    fn enter(&self, call: &Call, content_type: &str, body: &Bytes) -> (Option<Fault>, Answer) {
        let mut state = self.state();
        let answer = state.record.enter(call, content_type, body);
        // Every rule counts every call, whichever of them decides.
        let due: Vec<Fault> = state.calls.iter_mut().filter_map(|rule| rule.due(call)).collect();
        (due.into_iter().next(), answer)
    }

    async fn hold(&self) -> Response<Body> {
        self.gate.hold();
        std::future::pending().await
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(connections.spawn(connection(stream, Arc::clone(&shared)))),
            Err(_) => sleep(ACCEPT_AGAIN_AFTER).await,
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn connection(stream: TcpStream, shared: Arc<Shared>) {
    let service = service_fn(|request| {
        let shared = Arc::clone(&shared);
        async move { serve(&shared, request).await.map_err(|Cut| std::io::Error::other("cut by a rule")) }
    });
    // Events are small and must not wait for each other. Without it they are only late.
    let _ = stream.set_nodelay(true);
    // A cut connection is an error here, and a program that was killed leaves one too.
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn serve(shared: &Arc<Shared>, request: Request<Incoming>) -> Result<Response<Body>, Cut> {
    let (parts, body) = request.into_parts();
    let body = match axum::body::to_bytes(Body::new(body), BODY_BYTES_MAX).await {
        Ok(body) => body,
        Err(error) => return Ok((StatusCode::PAYLOAD_TOO_LARGE, error.to_string()).into_response()),
    };
    let call = Call::of(&parts, &body);
    // The identity is the client's alone: without these headers the call would be made as another user than the caller asked for.
    if parts.headers.keys().any(|name| name.as_str().starts_with("impersonate-")) {
        return Ok(Reply::Forbidden.response(&call));
    }
    let (fault, status) = shared.enter(&call, text(&parts.headers, &header::CONTENT_TYPE), &body);
    shared.gate.unpaused().await;
    if shared.gate.is_held() {
        return Ok(shared.hold().await);
    }
    match fault {
        None => {}
        Some(Fault::HoldBefore) => return Ok(shared.hold().await),
        Some(Fault::CutBefore) => return Err(Cut),
        Some(Fault::Answer(reply)) => return Ok(reply.response(&call)),
        Some(Fault::Stall(time)) => sleep(time).await,
        Some(Fault::HoldAfter | Fault::LoseAnswer | Fault::DelayAnswer(_)) => {}
    }
    let answer = forward(shared, &call, &parts, body, &status).await;
    match fault {
        Some(Fault::HoldAfter) => return Ok(shared.hold().await),
        Some(Fault::LoseAnswer) => return Err(Cut),
        Some(Fault::DelayAnswer(time)) => sleep(time).await,
        None | Some(Fault::HoldBefore | Fault::CutBefore | Fault::Answer(_) | Fault::Stall(_)) => {}
    }
    shared.gate.unpaused().await;
    if shared.gate.is_held() {
        return Ok(shared.hold().await);
    }
    Ok(answer.unwrap_or_else(|error| (StatusCode::BAD_GATEWAY, format!("{error:#}")).into_response()))
}

/// Sends a call to the server as the proxy's client. Watches and lists are passed on while they arrive.
async fn forward(
    shared: &Arc<Shared>,
    call: &Call,
    parts: &Parts,
    body: Bytes,
    status: &Answer,
) -> Result<Response<Body>> {
    let (path, is_only_item) = match shared.lag.view(call) {
        View::Forward(path) => (path, false),
        View::OnlyItem(path) => (path, true),
        View::TooNew => return Ok(Reply::Timeout.response(call)),
    };
    let body = shared.lag.sent(&shared.client, call, body).await?;
    let mut onward = Request::builder().method(&parts.method).uri(path);
    // The server takes the field manager from the user agent where a write does not name one.
    for name in [header::ACCEPT, header::CONTENT_TYPE, header::USER_AGENT] {
        if let Some(value) = parts.headers.get(&name) {
            onward = onward.header(name, value);
        }
    }
    let answer = shared.client.send(onward.body(kube::client::Body::from(body))?).await?;
    let (mut parts, body) = answer.into_parts();
    // Set once: each call is forwarded once.
    let _ = status.set(parts.status.as_u16());
    parts.headers.remove(header::TRANSFER_ENCODING);
    let body = Body::new(body);
    if is_only_item && parts.status.is_success() {
        let list = axum::body::to_bytes(body, BODY_BYTES_MAX).await?;
        let (code, item) = lag::only_item(&list)?;
        return Ok((code, [(header::CONTENT_TYPE, "application/json")], item.to_string()).into_response());
    }
    if !call.is_watch() || !parts.status.is_success() {
        return Ok(Response::from_parts(parts, body));
    }
    let content_type = text(&parts.headers, &header::CONTENT_TYPE);
    ensure!(content_type.starts_with("application/json"), "the proxy reads watches as JSON, not {content_type}");
    let body = events::body(shared, call, body);
    Ok(Response::from_parts(parts, body))
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> &'a str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}
