//! The one who follows the cluster, draws what it sees and hangs it on the board.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mainstay_api::http::ClusterSeen;
use mainstay_kube::{Client, Following};
use mainstay_model::Timestamp;
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;

use super::painter::Painter;
use crate::ask;
use crate::http::board::{Asked, Board, Shown};
use crate::http::picture::Picture;
use crate::paint::Points;
use crate::paint::changes::{Changes, Next};
use crate::paint::needs::Leadership;

/// A new picture and an event of the fleet, at most twice a second.
const SHOW_EVERY: Duration = Duration::from_millis(500);
/// How often the leader's Lease is read.
const LEADER_EVERY: Duration = Duration::from_secs(10);
/// A cluster that could not be read anew is tried again after this.
const AGAIN_AFTER: Duration = Duration::from_secs(5);

/// Whoever looks.
pub(super) struct Looker {
    following: Following,
    painter: Painter,
    points: Points,
    board: Arc<Board>,
    changes: Changes,
    shown_at: Instant,
    leadership: Leadership,
    led_at: Option<Instant>,
}

impl Looker {
    /// Takes the view, and hangs up the first picture.
    pub(super) fn new(following: Following, name: Arc<str>, seen: ClusterSeen) -> (Self, mpsc::Receiver<Asked>) {
        let mut painter = Painter::new(name, seen);
        let picture = painter.paint(following.view(), None, Leadership::Unknown);
        let mut points = Points::default();
        points.keep(picture.point());
        let (board, asked) = Board::new(shown(&picture, &points), Vec::new());
        let changes = Changes::since(picture);
        let looker = Self {
            following,
            painter,
            points,
            board,
            changes,
            shown_at: Instant::now(),
            leadership: Leadership::Unknown,
            led_at: None,
        };
        (looker, asked)
    }

    pub(super) fn board(&self) -> Arc<Board> {
        self.board.clone()
    }

    /// Looks until it is told to end.
    pub(super) async fn run(mut self, client: Client, mut ends: watch::Receiver<()>) {
        loop {
            tokio::select! {
                _ = ends.changed() => return,
                () = self.looks(&client) => {}
            }
        }
    }

    async fn looks(&mut self, client: &Client) {
        if self.following.next().await.is_err() {
            self.begins_again(client).await;
        }
        if self.led_at.is_none_or(|at| at.elapsed() >= LEADER_EVERY) {
            self.led_at = Some(Instant::now());
            self.leadership = ask::leadership(client, self.following.view()).await;
        }
        if self.shown_at.elapsed() >= SHOW_EVERY {
            let silent = self.following.silent_since();
            tokio::task::block_in_place(|| self.shows(silent));
        }
    }

    /// Everything has to be read anew and cannot be: what was known stays on the board, and how old it is is said.
    async fn begins_again(&mut self, client: &Client) {
        let since = self.following.view().now();
        loop {
            tokio::task::block_in_place(|| self.shows(Some(since)));
            sleep(AGAIN_AFTER).await;
            if let Ok(following) = Following::begin(client.clone()).await {
                self.following = following;
                return;
            }
        }
    }

    fn shows(&mut self, silent_since: Option<Timestamp>) {
        self.shown_at = Instant::now();
        let picture = self.painter.paint(self.following.view(), silent_since, self.leadership);
        if self.points.wants(picture.now) {
            self.points.keep(picture.point());
        }
        self.board.show(shown(&picture, &self.points));
        self.board.tell("fleet", &picture.fleet(None));
        self.changes.tell(&self.board, &picture, Next::Soon);
    }
}

fn shown(picture: &Arc<Picture>, points: &Points) -> Shown {
    Shown {
        picture: picture.clone(),
        latest: picture.clone(),
        gauges: Arc::from([]),
        series: points.series(),
        demo: None,
    }
}
