//! Watches the cluster, renders a snapshot and publishes it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mainstay_account::render::GROUPS_MAX;
use mainstay_api::http::{ClusterAccess, UnreadableReason};
use mainstay_kube::{Client, Error, LiveView};
use mainstay_model::Timestamp;
use mainstay_web::published::{Hub, PendingRequest, PublishedState};
use mainstay_web::render::Points;
use mainstay_web::render::changes::{Changes, NextSnapshot};
use mainstay_web::render::needs::Leadership;
use mainstay_web::snapshot::Snapshot;
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;

use super::render::{ClusterRenderer, Objectives};
use crate::commands;
use crate::manifests;

/// A new snapshot and an event of the fleet, at most twice a second.
const SHOW_EVERY: Duration = Duration::from_millis(500);
/// How often the leader's Lease is read.
const LEADER_EVERY: Duration = Duration::from_secs(10);
/// How often the objectives are read. The controller writes their budgets once a minute at most.
const SLOS_EVERY: Duration = Duration::from_secs(30);
/// A cluster that could not be read anew is tried again after this.
const AGAIN_AFTER: Duration = Duration::from_secs(5);

/// Follows the cluster and publishes a snapshot at most twice per second.
pub(super) struct Watcher {
    following: LiveView,
    painter: ClusterRenderer,
    points: Points,
    board: Arc<Hub>,
    changes: Changes,
    shown_at: Instant,
    leadership: Leadership,
    led_at: Option<Instant>,
    slos: Objectives,
    slos_at: Option<Instant>,
}

impl Watcher {
    /// Takes the view, and publishes the first snapshot.
    pub(super) fn new(
        following: LiveView,
        name: Arc<str>,
        seen: ClusterAccess,
    ) -> (Self, mpsc::Receiver<PendingRequest>) {
        let mut painter = ClusterRenderer::new(name, seen);
        let slos = Ok(Arc::from([]));
        let snapshot = painter.render(following.view(), None, (Leadership::Unknown, &slos));
        let mut points = Points::default();
        points.keep(snapshot.point());
        let (board, asked) = Hub::new(shown(&snapshot, &points), Vec::new());
        let changes = Changes::since(snapshot);
        let looker = Self {
            following,
            painter,
            points,
            board,
            changes,
            shown_at: Instant::now(),
            leadership: Leadership::Unknown,
            led_at: None,
            slos,
            slos_at: None,
        };
        (looker, asked)
    }

    pub(super) fn board(&self) -> Arc<Hub> {
        self.board.clone()
    }

    /// Looks until it is told to end.
    pub(super) async fn run(mut self, client: Client, mut ends: watch::Receiver<()>) {
        loop {
            tokio::select! {
                _ = ends.changed() => return,
                () = self.watch_once(&client) => {}
            }
        }
    }

    async fn watch_once(&mut self, client: &Client) {
        if self.following.next().await.is_err() {
            self.begins_again(client).await;
        }
        if self.led_at.is_none_or(|at| at.elapsed() >= LEADER_EVERY) {
            self.led_at = Some(Instant::now());
            self.leadership = commands::leadership(client, self.following.view(), manifests::NAMESPACE).await;
        }
        if self.slos_at.is_none_or(|at| at.elapsed() >= SLOS_EVERY) {
            self.slos_at = Some(Instant::now());
            self.read_slos(client).await;
        }
        if self.shown_at.elapsed() >= SHOW_EVERY {
            let silent = self.following.silent_since();
            tokio::task::block_in_place(|| self.shows(silent));
        }
    }

    /// Reads the objectives. Where the server does not answer, the previous ones stay.
    async fn read_slos(&mut self, client: &Client) {
        match mainstay_kube::slos(client, u32::try_from(GROUPS_MAX).unwrap_or(u32::MAX)).await {
            Ok(slos) => self.slos = Ok(slos.iter().map(Into::into).collect()),
            Err(Error::Refused { .. }) => self.slos = Err(UnreadableReason::Forbidden),
            Err(Error::Incomplete(_)) => self.slos = Err(UnreadableReason::NotInstalled),
            Err(_) => {}
        }
    }

    /// Everything has to be read anew and cannot be: what was known stays on the board, and how old it is is said.
    async fn begins_again(&mut self, client: &Client) {
        let since = self.following.view().now();
        loop {
            tokio::task::block_in_place(|| self.shows(Some(since)));
            sleep(AGAIN_AFTER).await;
            if let Ok(following) = LiveView::begin(client.clone()).await {
                self.following = following;
                return;
            }
        }
    }

    fn shows(&mut self, silent_since: Option<Timestamp>) {
        self.shown_at = Instant::now();
        let snapshot = self.painter.render(self.following.view(), silent_since, (self.leadership, &self.slos));
        if self.points.wants(snapshot.now) {
            self.points.keep(snapshot.point());
        }
        self.board.publish(shown(&snapshot, &self.points));
        self.board.broadcast("fleet", &snapshot.fleet(None));
        self.changes.publish(&self.board, &snapshot, NextSnapshot::Soon);
    }
}

fn shown(snapshot: &Arc<Snapshot>, points: &Points) -> PublishedState {
    PublishedState {
        snapshot: snapshot.clone(),
        latest: snapshot.clone(),
        gauges: Arc::from([]),
        series: points.series(),
        demo: None,
    }
}
