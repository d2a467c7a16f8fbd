//! The board between those who read and the one who owns the fleet: the picture that is shown, what is told to streams, and
//! what people ask for. Nobody waits for anybody: a picture is taken as it hangs there, and a slow stream misses events.

use std::sync::Arc;

use axum::http::StatusCode;
use mainstay_api::http::{Fault, LIMIT_MAX, SeriesPoint};
use mainstay_model::{Mode, Person, Reason, RequestKind, Timestamp};
use tokio::sync::{broadcast, mpsc, oneshot, watch};

use super::picture::{DemoShown, Picture};
use super::refusal::Refusal;

/// Events that a stream may lag behind; one that lags further is told to read everything anew.
const EVENTS_KEPT: usize = 128;
/// Wishes that wait for the owner, who looks ten times a second.
const WISHES_MAX: usize = 64;

/// What is shown.
#[derive(Clone)]
pub(crate) struct Shown {
    /// What calls are answered from.
    pub(crate) picture: Arc<Picture>,
    /// The newest picture; another one only while a past moment is shown.
    pub(crate) latest: Arc<Picture>,
    /// What the GPUs show, by node and GPU.
    pub(crate) gauges: Arc<[Option<GpuGauge>]>,
    /// The time that is kept, a point a minute.
    pub(crate) series: Arc<[SeriesPoint]>,
    pub(crate) demo: Option<DemoShown>,
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

/// Something that people ask for.
#[derive(Debug)]
pub(crate) enum Wish {
    /// That something is done in the fleet.
    Do(Deed),
    /// That a demo's time goes otherwise.
    Time { paused: Option<bool>, speed: Option<u32>, pause_at: Option<Timestamp> },
    /// That another moment of a demo is shown.
    Scrub { at: Option<Timestamp> },
}

/// Something that people do in the fleet.
#[derive(Debug)]
pub(crate) enum Deed {
    Ask { node: String, kind: RequestKind, by: Person, reason: Reason },
    Withdraw { node: String },
    Acknowledge { id: String, by: Person },
    Mode(Mode),
    Inject { fault: String, node: String },
}

/// A wish, and where its answer goes.
pub(crate) struct Asked {
    pub(crate) wish: Wish,
    pub(crate) answer: oneshot::Sender<Result<Timestamp, Refusal>>,
}

/// The board.
pub(crate) struct Board {
    shown: watch::Sender<Arc<Shown>>,
    events: broadcast::Sender<Event>,
    wishes: mpsc::Sender<Asked>,
    /// What can be planted; nothing where this is no demo.
    pub(crate) faults: Vec<Fault>,
}

impl Board {
    /// A board that shows something, and the wishes that will be made.
    pub(crate) fn new(shown: Shown, faults: Vec<Fault>) -> (Arc<Self>, mpsc::Receiver<Asked>) {
        let (wishes, asked) = mpsc::channel(WISHES_MAX);
        let (shown, _) = watch::channel(Arc::new(shown));
        let (events, _) = broadcast::channel(EVENTS_KEPT);
        let faults = faults.into_iter().take(LIMIT_MAX).collect();
        (Arc::new(Self { shown, events, wishes, faults }), asked)
    }

    pub(crate) fn shown(&self) -> Arc<Shown> {
        self.shown.borrow().clone()
    }

    pub(crate) fn show(&self, shown: Shown) {
        self.shown.send_replace(Arc::new(shown));
    }

    pub(crate) fn follow(&self) -> broadcast::Receiver<Event> {
        self.events.subscribe()
    }

    /// Tells all streams; without one nobody hears it.
    pub(crate) fn tell(&self, name: &'static str, body: &impl serde::Serialize) {
        if self.events.receiver_count() > 0
            && let Ok(body) = serde_json::to_string(body)
        {
            let _ = self.events.send(Event { name, body: body.into() });
        }
    }

    /// Hands a wish to the owner and waits for the answer.
    pub(crate) async fn wish(&self, wish: Wish) -> Result<Timestamp, Refusal> {
        let (answer, answered) = oneshot::channel();
        self.wishes.try_send(Asked { wish, answer }).map_err(|_| busy())?;
        answered.await.map_err(|_| busy())?
    }
}

fn busy() -> Refusal {
    Refusal::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "the server accepts no changes at the moment",
        "too many changes are queued, or the server is stopping.",
        "try again in a moment.",
    )
}
