//! Reading everything again under the same Lease and epoch, after an edit that changes how the cluster is read.

use std::time::Duration;

use kube::Client;
use mainstay_model::{CellFacts, Fact, Span, Timestamp};
use tokio::task::JoinSet;
use tracing::{error, info};

use super::{CheckTimes, EndReason, Leader, RecentWrites};
use crate::Settings;
use crate::audit_log::Entry;
use crate::error::Error;
use crate::world::World;

/// Time for queued writes before everything is read again. Those that have not begun by then are dropped: the new engine
/// decides them again.
const DRAIN_WITHIN: Duration = Duration::from_secs(10);

/// Why events are no longer handled.
pub(super) enum ReadingEnd {
    /// The leadership ended.
    Leadership(EndReason),
    /// An operator changed how the cluster is read.
    Again(&'static str),
}

impl Leader<'_> {
    /// Reads the cluster and handles events until the leadership ends.
    pub(super) async fn run(&mut self, client: &Client) -> Result<EndReason, Error> {
        loop {
            let mut watches = JoinSet::new();
            let ended = match self.read(client, &mut watches).await? {
                Ok(mut news) => self.handle_events(&mut news).await?,
                Err(ended) => ended,
            };
            // Events of these watches belong to the world of before.
            drop(watches);
            match ended {
                ReadingEnd::Leadership(reason) => return Ok(reason),
                ReadingEnd::Again(why) => {
                    info!(why, "reading everything again");
                    self.withdraw_actions();
                    self.outbox.drain(DRAIN_WITHIN).await;
                    self.begin_again();
                }
            }
        }
    }

    /// A new world and a new engine. What was logged stays known, so that nothing is logged twice.
    fn begin_again(&mut self) {
        if let Some(jobs) = self.world.jobs() {
            self.metrics.show_jobs(jobs.counts().clone());
        }
        self.metrics.reset_watch_counters();
        self.read_at = self.now();
        self.world = World::under(self.epoch, self.world.capability())
            .with_jobs(settle(self.settings), self.metrics.job_counts());
        self.engine.begin_again();
        self.observe_restored(self.read_at);
        self.cases.compare_soon();
        self.looked = CheckTimes::default();
        self.recent = RecentWrites::default();
        (self.shown_at, self.fleet) = (None, None);
    }

    /// Treats the Cell as restored if the reports of enough nodes name an epoch above the highest one seen: the audit log of
    /// this pod does not know every leader.
    pub(super) fn check_reported_epochs(&mut self, now: Timestamp) -> Result<(), Error> {
        let Some(epoch) = self.world.reported_epoch().filter(|epoch| *epoch > self.seen) else { return Ok(()) };
        self.seen = epoch;
        self.journal.keep_epoch(epoch)?;
        self.metrics.restored();
        self.observe_restored(now);
        self.world.repeat_cell(now);
        self.looked = CheckTimes::default();
        error!(epoch = self.epoch.0, reported = epoch.0, "agents report a higher epoch: etcd was restored");
        let what =
            format!("agents report epoch {}, above epoch {} of the Cell: etcd was restored", epoch.0, self.epoch.0);
        self.log(&Entry::Violation { what })
    }

    /// Shows the engine the highest epoch ever seen, if the Cell is below it: etcd was restored while no controller led. The
    /// engine then touches nothing until operators have reviewed the cluster.
    pub(super) fn observe_restored(&mut self, at: Timestamp) {
        if self.seen > self.epoch {
            self.observe(Fact::Cell(CellFacts { epoch: self.seen, ..CellFacts::default() }), at);
        }
    }
}

/// Time after the last pod of a job until the job counts as ended.
pub(super) fn settle(settings: &Settings) -> Span {
    Span(u64::try_from(settings.jobs_settle.as_millis()).unwrap_or(u64::MAX))
}
