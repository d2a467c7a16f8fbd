//! What request handlers and the task that owns the fleet share: the current snapshot, the stream events and the queue
//! of change requests. Nobody waits for anybody: a picture is taken as it hangs there, and a slow stream misses events.

use std::sync::Arc;

use axum::http::StatusCode;
use mainstay_api::http::{Fault, LIMIT_MAX, SeriesPoint};
use mainstay_model::{Mode, Reason, RequestKind, Timestamp, UserName};
use tokio::sync::{broadcast, mpsc, oneshot, watch};

use super::error::ErrorResponse;
use super::snapshot::{DemoStatus, Snapshot};

/// Events that a stream may lag behind; one that lags further is told to read everything anew.
const EVENTS_KEPT: usize = 128;
/// Wishes that wait for the owner, who looks ten times a second.
const WISHES_MAX: usize = 64;

/// The snapshot that calls are answered from, with gauges, time series and demo status.
#[derive(Clone)]
pub(crate) struct PublishedState {
    /// What calls are answered from.
    pub(crate) picture: Arc<Snapshot>,
    /// The newest picture; another one only while a past moment is shown.
    pub(crate) latest: Arc<Snapshot>,
    /// What the GPUs show, by node and GPU.
    pub(crate) gauges: Arc<[Option<GpuGauge>]>,
    /// The time that is kept, a point a minute.
    pub(crate) series: Arc<[SeriesPoint]>,
    pub(crate) demo: Option<DemoStatus>,
}

/// What a GPU shows.
#[derive(Clone, Copy)]
pub(crate) struct GpuGauge {
    pub(crate) celsius: u8,
    pub(crate) watts: u16,
    pub(crate) utilization_percent: u8,
}

/// Something for streams: its name and its body.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) name: &'static str,
    pub(crate) body: Arc<str>,
}

/// A change that a caller requests from the task that owns the fleet.
#[derive(Debug)]
pub(crate) enum ChangeRequest {
    /// That something is done in the fleet.
    Do(FleetAction),
    /// That a demo's time goes otherwise.
    Time { paused: Option<bool>, speed: Option<u32>, pause_at: Option<Timestamp> },
    /// That another moment of a demo is shown.
    Scrub { at: Option<Timestamp> },
}

/// A change to nodes, incidents or the mode that a user requests.
#[derive(Debug)]
pub(crate) enum FleetAction {
    Ask { node: String, kind: RequestKind, by: UserName, reason: Reason },
    Withdraw { node: String },
    Acknowledge { id: String, by: UserName },
    Mode(Mode),
    Inject { fault: String, node: String },
}

/// A queued change request with the channel for its result.
pub(crate) struct PendingRequest {
    pub(crate) wish: ChangeRequest,
    pub(crate) answer: oneshot::Sender<Result<Timestamp, ErrorResponse>>,
}

/// Connects request handlers and streams to the task that owns the fleet.
pub(crate) struct Hub {
    shown: watch::Sender<Arc<PublishedState>>,
    events: broadcast::Sender<Event>,
    wishes: mpsc::Sender<PendingRequest>,
    /// What can be planted; nothing where this is no demo.
    pub(crate) faults: Vec<Fault>,
}

impl Hub {
    /// A board that shows something, and the wishes that will be made.
    pub(crate) fn new(shown: PublishedState, faults: Vec<Fault>) -> (Arc<Self>, mpsc::Receiver<PendingRequest>) {
        let (wishes, asked) = mpsc::channel(WISHES_MAX);
        let (shown, _) = watch::channel(Arc::new(shown));
        let (events, _) = broadcast::channel(EVENTS_KEPT);
        let faults = faults.into_iter().take(LIMIT_MAX).collect();
        (Arc::new(Self { shown, events, wishes, faults }), asked)
    }

    pub(crate) fn current(&self) -> Arc<PublishedState> {
        self.shown.borrow().clone()
    }

    pub(crate) fn publish(&self, shown: PublishedState) {
        self.shown.send_replace(Arc::new(shown));
    }

    pub(crate) fn follow(&self) -> broadcast::Receiver<Event> {
        self.events.subscribe()
    }

    /// Tells all streams; without one nobody hears it.
    pub(crate) fn broadcast(&self, name: &'static str, body: &impl serde::Serialize) {
        if self.events.receiver_count() > 0
            && let Ok(body) = serde_json::to_string(body)
        {
            let _ = self.events.send(Event { name, body: body.into() });
        }
    }

    /// Hands a wish to the owner and waits for the answer.
    pub(crate) async fn submit(&self, wish: ChangeRequest) -> Result<Timestamp, ErrorResponse> {
        let (answer, answered) = oneshot::channel();
        self.wishes.try_send(PendingRequest { wish, answer }).map_err(|_| busy())?;
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
