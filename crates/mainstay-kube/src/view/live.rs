//! A view that stays current: watches deliver changes, and the engine runs again.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use kube::Client;
use mainstay_model::{Span, Timestamp};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::{View, installed};
use crate::error::Error;
use crate::jobs::JobCounts;
use crate::source::{self, NEWS_MAX};
use crate::watch::WatchCounters;
use crate::world::{ClusterMessage, Kind};

/// Time limit of the first read, after which the user gets an error.
const READ_WITHIN: Duration = Duration::from_mins(2);
/// Events within this time of the first are shown together.
const TOGETHER: Duration = Duration::from_millis(100);
/// Largest number of events in one update, so that a flood cannot delay it.
const BATCH_MAX: usize = 20_000;
/// Longest time between two updates.
const LOOK_AT_LEAST: Duration = Duration::from_secs(2);

/// How long a job without pods is remembered: its next attempt usually begins within this time.
const JOB_KEPT: Span = Span::seconds(60);

/// A view of the cluster that watches keep up to date.
pub struct LiveView {
    client: Client,
    view: View,
    news: mpsc::Receiver<ClusterMessage>,
    ears: Vec<WatchHealth>,
    /// Watches end when the view is dropped.
    _watches: JoinSet<()>,
}

/// Failures of one watch since it last received an event.
#[derive(Default)]
struct WatchHealth {
    pulse: Arc<WatchCounters>,
    heard_at: i64,
    failures: u64,
}

impl LiveView {
    /// Reads everything through watches and runs the engine.
    ///
    /// # Errors
    /// As [`View::read`].
    pub async fn begin(client: Client) -> Result<Self, Error> {
        let mut view = View::empty(installed(&client).await?);
        view.world = view.world.with_jobs(JOB_KEPT, JobCounts::default());
        let (out, mut news) = mpsc::channel(NEWS_MAX);
        let (mut watches, mut ears) = (JoinSet::new(), Vec::new());
        let until = Instant::now() + READ_WITHIN;
        let follows_slices = view.may_read_slices(&client, "watch").await?;
        if follows_slices {
            let ear = WatchHealth::default();
            source::follow_slices(&client, &mut watches, &out, ear.pulse.clone());
            ears.push(ear);
        }
        let first = Kind::FIRST.as_slice();
        let others: Vec<Kind> = Kind::ALL.into_iter().filter(|kind| !Kind::FIRST.contains(kind)).collect();
        for (is_first, kinds) in [(true, first), (false, others.as_slice())] {
            if !is_first {
                view.world.begin_reading();
            }
            let owners = if is_first { Vec::new() } else { view.readable_owners(&client, "watch").await? };
            for (place, kind) in &owners {
                source::follow_owners((*place, kind), &client, &mut watches, &out, Arc::default());
            }
            let mut followed = Vec::new();
            for kind in kinds {
                if view.may_read(&client, *kind, "watch").await? {
                    let ear = WatchHealth::default();
                    source::follow(*kind, &client, &mut watches, &out, ear.pulse.clone());
                    ears.push(ear);
                    followed.push(*kind);
                }
            }
            let follows_pods = followed.contains(&Kind::Pod);
            if follows_pods {
                let ear = WatchHealth::default();
                source::follow_pending(&client, &mut watches, &out, ear.pulse.clone());
                ears.push(ear);
            }
            while !view.world.has_listed(&followed)
                || view.world.owners_listed() < owners.len()
                || follows_pods && !view.world.has_listed_pending()
                || follows_slices && !view.world.has_listed_slices()
            {
                let Ok(Some(one)) = timeout_at(until, news.recv()).await else {
                    let why = format!("the first list took longer than {} s", READ_WITHIN.as_secs());
                    return Err(Error::Failed { what: "reading the cluster", tries: 1, why });
                };
                view.take(one.event);
            }
        }
        ears.iter_mut().for_each(WatchHealth::listen);
        view.run_engine();
        Ok(Self { client, view, news, ears, _watches: watches })
    }

    /// The current view of the cluster.
    #[must_use]
    pub const fn view(&self) -> &View {
        &self.view
    }

    /// Waits for a change, at most two seconds, and runs the engine again.
    ///
    /// # Errors
    /// As [`View::read`], where everything had to be read again.
    pub async fn next(&mut self) -> Result<&View, Error> {
        let mut until = Instant::now() + LOOK_AT_LEAST;
        for taken in 0..BATCH_MAX {
            match timeout_at(until, self.news.recv()).await {
                Ok(Some(one)) => {
                    if self.view.take(one.event) {
                        *self = Self::begin(self.client.clone()).await?;
                        return Ok(&self.view);
                    }
                }
                Ok(None) | Err(_) => break,
            }
            if taken == 0 {
                until = Instant::now() + TOGETHER;
            }
        }
        self.ears.iter_mut().for_each(WatchHealth::listen);
        self.view.run_engine();
        Ok(&self.view)
    }

    /// Time since which a failing watch has received no event. None while all watches work.
    #[must_use]
    pub fn silent_since(&self) -> Option<Timestamp> {
        self.ears.iter().filter(|ear| ear.has_failed()).map(|ear| Timestamp(ear.heard_at)).min()
    }
}

impl WatchHealth {
    fn listen(&mut self) {
        let heard_at = self.pulse.heard_at.load(Ordering::Relaxed);
        if heard_at != self.heard_at {
            self.heard_at = heard_at;
            self.failures = self.pulse.failures.load(Ordering::Relaxed);
        }
    }

    /// Whether the watch has failed since its last event.
    fn has_failed(&self) -> bool {
        self.pulse.failures.load(Ordering::Relaxed) > self.failures
    }
}
