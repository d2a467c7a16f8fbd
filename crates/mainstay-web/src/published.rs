//! What request handlers and the task that owns the fleet share: the current snapshot, the stream events and the queue
//! of change requests. Neither side blocks the other: a handler reads the latest state, and a slow stream misses events.

use std::sync::Arc;

use axum::http::StatusCode;
use mainstay_api::http::{Fault, LIMIT_MAX, SeriesPoint};
use mainstay_model::{Mode, Reason, RequestKind, Timestamp, UserName};
use tokio::sync::{broadcast, mpsc, oneshot, watch};

use super::error::ErrorResponse;
use super::snapshot::{DemoStatus, Snapshot};

/// Events that a stream may lag behind; one that lags further receives `reload`.
const EVENTS_KEPT: usize = 128;
/// Change requests in the queue; the owner of the fleet empties it ten times a second.
const REQUESTS_MAX: usize = 64;

/// The snapshot that calls are answered from, with gauges, time series and demo status.
#[derive(Clone)]
pub struct PublishedState {
    /// Snapshot that calls are answered from.
    pub snapshot: Arc<Snapshot>,
    /// Newest snapshot; differs from `snapshot` only while a demo shows a past moment.
    pub latest: Arc<Snapshot>,
    /// Gauges by node and GPU.
    pub gauges: Arc<[Option<GpuGauge>]>,
    /// Time series, one point per minute.
    pub series: Arc<[SeriesPoint]>,
    /// Status of the demo; none for a cluster.
    pub demo: Option<DemoStatus>,
}

/// Temperature, power and utilization of one GPU.
#[derive(Clone, Copy)]
pub struct GpuGauge {
    /// Temperature in degrees Celsius.
    pub celsius: u8,
    /// Power draw in watts.
    pub watts: u16,
    /// Utilization of the GPU in percent.
    pub utilization_percent: u8,
}

/// An event for streams, with its name and JSON body.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) name: &'static str,
    pub(crate) body: Arc<str>,
}

/// A change that a caller requests from the task that owns the fleet.
#[derive(Debug)]
pub enum ChangeRequest {
    /// A change to the fleet itself.
    Do(FleetAction),
    /// A change to the clock of a demo.
    Time {
        /// Whether the clock is paused.
        paused: Option<bool>,
        /// Virtual seconds per second.
        speed: Option<u32>,
        /// Virtual time at which the clock pauses by itself.
        pause_at: Option<Timestamp>,
    },
    /// Shows another moment of a demo.
    Scrub {
        /// Moment to show; none for the newest.
        at: Option<Timestamp>,
    },
}

/// A change to nodes, incidents or the mode that a user requests.
#[derive(Debug)]
pub enum FleetAction {
    /// Files an operator request for a node.
    Ask {
        /// Name of the node.
        node: String,
        /// Kind of the operator request.
        kind: RequestKind,
        /// User who files it.
        by: UserName,
        /// Reason that the user gave.
        reason: Reason,
    },
    /// Withdraws the operator request of a node.
    Withdraw {
        /// Name of the node.
        node: String,
    },
    /// Acknowledges an open incident.
    Acknowledge {
        /// Id of the incident.
        id: String,
        /// User who acknowledges it.
        by: UserName,
    },
    /// Sets the mode of the Cell.
    Mode(Mode),
    /// Injects a fault into a node of a demo.
    Inject {
        /// Name of the fault.
        fault: String,
        /// Name of the node.
        node: String,
    },
}

/// A queued change request with the channel for its result.
pub struct PendingRequest {
    /// Change that the caller requests.
    pub change: ChangeRequest,
    /// Channel for the time of acceptance, or for the error response.
    pub answer: oneshot::Sender<Result<Timestamp, ErrorResponse>>,
}

/// Connects request handlers and streams to the task that owns the fleet.
pub struct Hub {
    state: watch::Sender<Arc<PublishedState>>,
    events: broadcast::Sender<Event>,
    requests: mpsc::Sender<PendingRequest>,
    /// Faults that can be injected; none outside of a demo.
    pub(crate) faults: Vec<Fault>,
}

impl Hub {
    /// Creates a hub that publishes a first state, and the receiver of the change requests.
    #[must_use]
    pub fn new(state: PublishedState, faults: Vec<Fault>) -> (Arc<Self>, mpsc::Receiver<PendingRequest>) {
        let (requests, pending) = mpsc::channel(REQUESTS_MAX);
        let (state, _) = watch::channel(Arc::new(state));
        let (events, _) = broadcast::channel(EVENTS_KEPT);
        let faults = faults.into_iter().take(LIMIT_MAX).collect();
        (Arc::new(Self { state, events, requests, faults }), pending)
    }

    /// The state that was published last.
    #[must_use]
    pub fn current(&self) -> Arc<PublishedState> {
        self.state.borrow().clone()
    }

    /// Replaces the state that calls are answered from.
    pub fn publish(&self, state: PublishedState) {
        self.state.send_replace(Arc::new(state));
    }

    pub(crate) fn follow(&self) -> broadcast::Receiver<Event> {
        self.events.subscribe()
    }

    /// Sends an event to all streams; without a stream it does nothing.
    pub fn broadcast(&self, name: &'static str, body: &impl serde::Serialize) {
        if self.events.receiver_count() > 0
            && let Ok(body) = serde_json::to_string(body)
        {
            let _ = self.events.send(Event { name, body: body.into() });
        }
    }

    /// Queues a change for the owner of the fleet and waits for the result.
    pub(crate) async fn submit(&self, change: ChangeRequest) -> Result<Timestamp, ErrorResponse> {
        let (answer, answered) = oneshot::channel();
        self.requests.try_send(PendingRequest { change, answer }).map_err(|_| busy())?;
        answered.await.map_err(|_| busy())?
    }
}

fn busy() -> ErrorResponse {
    ErrorResponse::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "the server accepts no changes at the moment",
        "too many changes are queued, or the server is stopping.",
        "try again in a moment.",
    )
}
