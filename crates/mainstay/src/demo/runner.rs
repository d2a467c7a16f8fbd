//! The task that owns the live fleet: it advances virtual time, applies change requests and publishes snapshots.
//! Virtual time goes in whole seconds, and everything that is kept of it is looked at on its own grid, so that the same
//! seed and the same acts at the same virtual moments give the same story, however fast the machine is.

mod clock;

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use mainstay_api::http::{Fault, Problem, ScriptStep};
use mainstay_model::{NodeName, Span, Timestamp};
use mainstay_sim::{Injection, LiveFleet, Step};
use mainstay_web::error::ErrorResponse;
use mainstay_web::published::{ChangeRequest, FleetAction, GpuGauge, Hub, PendingRequest, PublishedState};
use mainstay_web::render::changes::{Changes, NextSnapshot};
use mainstay_web::snapshot::{DemoStatus, Snapshot};
use tokio::sync::{mpsc, watch};
use tokio::time::MissedTickBehavior;

use super::history::History;
use super::incidents::IncidentTracker;
use super::render::{self, DemoRenderer};
use clock::Clock;

/// How often time is moved on.
const TICK: Duration = Duration::from_millis(100);
/// Of that, so much may be spent on it; a fleet that is too large for its speed falls behind instead of standing still.
const WORK_MAX: Duration = Duration::from_millis(80);
/// A new snapshot and an event of the fleet, at most twice a second.
const SHOW_EVERY: Duration = Duration::from_millis(500);

const STEP: Span = Span::seconds(1);
/// Incidents are looked at so often, in virtual time.
const LOOK_EVERY: Span = Span::seconds(5);

/// Progress of the demo script, for the terminal.
pub(super) enum ScriptEvent {
    /// A step happened.
    Step(ScriptStep),
    /// More is known of a step.
    More(ScriptStep),
    /// All steps have happened.
    Over,
}

/// Virtual time, lost and saved GPU time, and violations when the demo stopped.
pub(super) struct Summary {
    pub(super) now: Timestamp,
    pub(super) lost_gpu_seconds: u64,
    pub(super) saved_gpu_seconds: u64,
    pub(super) violations: u64,
}

/// Owns the live fleet, its clock and its history.
pub(super) struct Runner {
    live: LiveFleet,
    cases: IncidentTracker,
    painter: DemoRenderer,
    history: History,
    clock: Clock,
    /// Where it is to stand still.
    pause_at: Option<Timestamp>,
    board: Arc<Hub>,
    gauges: Arc<[Option<GpuGauge>]>,
    latest: Arc<Snapshot>,
    /// The past that is shown instead.
    past: Option<Arc<Snapshot>>,
    shown_at: Instant,
    changes: Changes,
    /// What was said of each step.
    story: Vec<String>,
    news: mpsc::Sender<ScriptEvent>,
}

impl Runner {
    /// Takes the fleet, and publishes the first snapshot.
    pub(super) fn new(
        live: LiveFleet,
        speed: u32,
        news: mpsc::Sender<ScriptEvent>,
    ) -> (Self, mpsc::Receiver<PendingRequest>) {
        let (mut painter, mut cases) = (DemoRenderer::new(&live), IncidentTracker::new(live.now()));
        cases.look(&live);
        let (latest, gauges) = (painter.render(&live, &cases), render::gauges(&live));
        let mut history = History::default();
        history.keep(latest.clone());
        let clock = Clock::new(speed, Instant::now());
        let demo = demo_shown(&live, &clock, &history, None);
        let (snapshot, series) = (latest.clone(), history.series());
        let shown =
            PublishedState { snapshot, latest: latest.clone(), gauges: gauges.clone(), series, demo: Some(demo) };
        let (board, asked) = Hub::new(shown, Injection::ALL.map(fault).into());
        let changes = Changes::since(latest.clone());
        let story = live.story().iter().map(|_| String::new()).collect();
        let owner = Self {
            live,
            cases,
            painter,
            history,
            clock,
            pause_at: None,
            board,
            gauges,
            latest,
            past: None,
            shown_at: Instant::now(),
            changes,
            story,
            news,
        };
        (owner, asked)
    }

    pub(super) fn board(&self) -> Arc<Hub> {
        self.board.clone()
    }

    /// Lives until it is told to end.
    pub(super) async fn run(
        mut self,
        mut asked: mpsc::Receiver<PendingRequest>,
        mut ends: watch::Receiver<()>,
    ) -> Summary {
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            tokio::select! {
                _ = ends.changed() => break,
                Some(PendingRequest { change, answer }) = asked.recv() => {
                    let done = tokio::task::block_in_place(|| self.handle(change));
                    // Whoever asked may have gone.
                    let _ = answer.send(done);
                }
                _ = ticks.tick() => tokio::task::block_in_place(|| self.tick()),
            }
        }
        let books = self.live.books();
        Summary {
            now: self.live.now(),
            lost_gpu_seconds: books.lost_gpu_seconds,
            saved_gpu_seconds: books.saved_gpu_seconds,
            violations: books.violations,
        }
    }

    fn tick(&mut self) {
        let began = Instant::now();
        let due = self.clock.due(began);
        let mut stands = false;
        for _ in 0..due {
            self.steps();
            stands = self.pauses();
            if stands || began.elapsed() >= WORK_MAX {
                break;
            }
        }
        if stands || (due > 0 && self.shown_at.elapsed() >= SHOW_EVERY) {
            self.shows();
            self.broadcast_changes();
        }
    }

    /// Lets time stand still where that was asked for; whether it just did.
    fn pauses(&mut self) -> bool {
        let is_there = self.pause_at.is_some_and(|at| at <= self.live.now());
        if is_there {
            self.pause_at = None;
            self.clock.changes(Some(true), None, Instant::now());
        }
        is_there
    }

    /// One virtual second.
    fn steps(&mut self) {
        let until = self.live.now() + STEP;
        self.live.advance(until);
        if until.since(LiveFleet::BEGINS_AT).0.is_multiple_of(LOOK_EVERY.0) {
            self.cases.look(&self.live);
        }
        self.follow_script();
        if self.history.wants(until) {
            let snapshot = self.painter.render(&self.live, &self.cases);
            self.gauges = render::gauges(&self.live);
            self.latest = snapshot.clone();
            self.history.keep(snapshot);
        }
    }

    fn follow_script(&mut self) {
        let is_new = |(said, step): (&String, &Step)| step.happened_at.is_some() && *said != step.text;
        if !self.story.iter().zip(self.live.story()).any(is_new) {
            return;
        }
        for (said, step) in self.story.iter_mut().zip(self.live.story()) {
            if !is_new((said, step)) {
                continue;
            }
            let whole = render::step(step);
            self.board.broadcast("script", &whole);
            let news = match step.text.strip_prefix(said.as_str()).filter(|_| !said.is_empty()) {
                Some(more) => {
                    ScriptEvent::More(ScriptStep { at: self.live.now().0, text: more.trim().to_owned(), ..whole })
                }
                None => ScriptEvent::Step(whole),
            };
            // A terminal that does not read misses a line; the fleet does not wait for it.
            let _ = self.news.try_send(news);
            said.clone_from(&step.text);
        }
        if self.live.story().iter().all(|step| step.happened_at.is_some()) {
            let _ = self.news.try_send(ScriptEvent::Over);
        }
    }

    /// Publishes a snapshot of now, or of the past that is shown instead.
    fn shows(&mut self) {
        self.shown_at = Instant::now();
        if self.latest.now != self.live.now() {
            self.latest = self.painter.render(&self.live, &self.cases);
        }
        self.publish();
    }

    fn publish(&self) {
        let demo = demo_shown(&self.live, &self.clock, &self.history, self.past.as_ref());
        self.board.publish(PublishedState {
            snapshot: self.past.as_ref().unwrap_or(&self.latest).clone(),
            latest: self.latest.clone(),
            gauges: self.gauges.clone(),
            series: self.history.series(),
            demo: Some(demo),
        });
    }

    /// Tells streams what has changed. While the past is shown, what happens now is not told.
    fn broadcast_changes(&mut self) {
        let shown = self.board.current();
        self.board.broadcast("fleet", &shown.snapshot.fleet(shown.demo.as_ref()));
        if self.past.is_some() {
            return;
        }
        // While time stands still there is no next time to tell it.
        let next = if self.clock.is_paused() { NextSnapshot::Unknown } else { NextSnapshot::Soon };
        self.changes.publish(&self.board, &self.latest, next);
    }

    /// Does what somebody asks for.
    fn handle(&mut self, change: ChangeRequest) -> Result<Timestamp, ErrorResponse> {
        match change {
            ChangeRequest::Time { paused, speed, pause_at } => {
                self.pause_at = pause_at;
                self.clock.changes(paused, speed, Instant::now());
                self.pauses();
            }
            ChangeRequest::Scrub { at } => self.scrubs(at)?,
            ChangeRequest::Do(deed) => {
                self.is_now()?;
                self.apply(deed)?;
                self.latest = self.painter.render(&self.live, &self.cases);
            }
        }
        // At once, because while time stands still nothing else tells it.
        self.shows();
        self.broadcast_changes();
        Ok(self.live.now())
    }

    fn apply(&mut self, deed: FleetAction) -> Result<(), ErrorResponse> {
        match deed {
            FleetAction::Ask { node, kind, by, reason } => {
                let node = self.node(&node)?;
                self.live.request(&node, kind, by, reason).map_err(refused)?;
            }
            FleetAction::Withdraw { node } => {
                let node = self.node(&node)?;
                self.live.release(&node).map_err(refused)?;
            }
            FleetAction::Acknowledge { id, by } => {
                let known = self.cases.acknowledge(&id, &by);
                known.ok_or_else(|| ErrorResponse::unknown("incident", &id, "incidents?state=All"))?;
            }
            FleetAction::Mode(mode) => {
                self.live.set_mode(mode);
            }
            FleetAction::Inject { fault, node } => {
                let node = self.node(&node)?;
                let injection = Injection::of(&fault).ok_or_else(|| no_fault(&fault))?;
                self.live.inject(injection, &node).map_err(refused)?;
            }
        }
        Ok(())
    }

    fn node(&self, name: &str) -> Result<NodeName, ErrorResponse> {
        let known = self.painter.hall().place(name).and_then(|_| NodeName::parse(name).ok());
        known.ok_or_else(|| ErrorResponse::unknown("node", name, "nodes"))
    }

    /// The past cannot be changed.
    fn is_now(&self) -> Result<(), ErrorResponse> {
        match &self.past {
            None => Ok(()),
            Some(_) => Err(ErrorResponse::new(
                StatusCode::CONFLICT,
                "the demo shows a past time, which cannot be changed",
                "the request would take effect now, outside the time shown.",
                "return to the present first: POST /api/v1/demo/scrub {\"at\": null}.",
            )),
        }
    }

    fn scrubs(&mut self, at: Option<Timestamp>) -> Result<(), ErrorResponse> {
        self.past = match at {
            None => None,
            Some(at) => Some(self.history.at(at).cloned().ok_or_else(|| self.too_old())?),
        };
        // Whatever streams have told so far is of another moment.
        self.changes.skip_to(self.latest.clone());
        self.publish();
        self.board.broadcast("reload", &serde_json::json!({}));
        Ok(())
    }

    fn too_old(&self) -> ErrorResponse {
        let oldest = self.history.bounds().map_or(0, |(oldest, _)| oldest.0);
        ErrorResponse::new(
            StatusCode::NOT_FOUND,
            "no snapshot of that time",
            "the demo keeps one snapshot per minute for two hours.",
            format!("use {oldest} or later."),
        )
    }
}

fn demo_shown(live: &LiveFleet, clock: &Clock, history: &History, past: Option<&Arc<Snapshot>>) -> DemoStatus {
    let (oldest, newest) = history.bounds().unwrap_or((live.now(), live.now()));
    DemoStatus {
        seed: live.options().seed,
        speed: clock.speed(),
        paused: clock.is_paused(),
        oldest,
        newest,
        at: past.map(|snapshot| snapshot.now),
    }
}

fn fault(injection: Injection) -> Fault {
    Fault { fault: injection.word().to_owned(), title: injection.title().to_owned(), text: injection.text().to_owned() }
}

fn no_fault(word: &str) -> ErrorResponse {
    ErrorResponse::new(
        StatusCode::NOT_FOUND,
        "unknown fault",
        format!("{} cannot be injected.", word.escape_debug()),
        format!("use one of {}.", Injection::ALL.map(Injection::word).join(", ")),
    )
}

fn refused(mainstay_text::Problem { what, detail, hint }: mainstay_text::Problem) -> ErrorResponse {
    ErrorResponse::of(StatusCode::CONFLICT, Problem { what, detail, hint })
}
