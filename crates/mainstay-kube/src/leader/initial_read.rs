//! Start of a leadership: everything is listed, beginning with the objects that the others depend on.

use std::sync::Once;
use std::time::Duration;

use kube::Client;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use tracing::warn;

use super::{Leader, ReadingEnd};
use crate::error::Error;
use crate::resource_slice::{self, SliceAccess};
use crate::source::{self, NEWS_MAX};
use crate::world::{ClusterMessage, Kind};

/// Time limit of the first read. A cluster of 100,000 nodes is listed in about a minute.
const READ_WITHIN: Duration = Duration::from_mins(10);
/// Time limit for listing owners of pods, and for listing ResourceSlices. Without them the controller knows less.
const OWNERS_WITHIN: Duration = Duration::from_secs(10);
/// Facts passed to the engine at once, so that they are not held twice.
const PORTION: usize = 1_000;

impl Leader<'_> {
    /// Reads everything, and returns the channel of later events.
    pub(super) async fn read(
        &mut self,
        client: &Client,
        watches: &mut JoinSet<()>,
    ) -> Result<Result<mpsc::Receiver<ClusterMessage>, ReadingEnd>, Error> {
        let (out, mut news) = mpsc::channel(NEWS_MAX);
        let until = Instant::now() + READ_WITHIN;
        for kind in Kind::FIRST {
            self.begin(kind, client, watches, &out);
        }
        let slices_until = self.begin_slices(client, watches, &out).await?;
        if let Some(ended) = self.read_until(&Kind::FIRST, &mut news, until).await? {
            return Ok(Err(ended));
        }
        if let Some(ended) = self.read_slices(slices_until, &mut news).await? {
            return Ok(Err(ended));
        }
        self.world.begin_reading();
        if let Some(ended) = self.read_owners(client, watches, (&out, &mut news)).await? {
            return Ok(Err(ended));
        }
        for kind in Kind::ALL.into_iter().filter(|kind| !Kind::FIRST.contains(kind)) {
            self.begin(kind, client, watches, &out);
        }
        let [pending, ended] = self.metrics.jobs_pulses();
        source::follow_pending(client, watches, &out, pending);
        source::follow_ended(client, watches, &out, ended);
        let ended = self.read_until(&Kind::ALL, &mut news, until).await?;
        Ok(ended.map_or(Ok(news), Err))
    }

    /// Follows ResourceSlices where that is possible. Returns until when their first list is waited for.
    async fn begin_slices(
        &mut self,
        client: &Client,
        watches: &mut JoinSet<()>,
        out: &mpsc::Sender<ClusterMessage>,
    ) -> Result<Option<Instant>, Error> {
        static SAID: Once = Once::new();
        let why = match resource_slice::access(client, "watch").await? {
            SliceAccess::Readable => {
                source::follow_slices(client, watches, out, self.metrics.slices_pulse());
                return Ok(Some(Instant::now() + OWNERS_WITHIN));
            }
            SliceAccess::NotServed => "the API server does not serve resource.k8s.io/v1",
            SliceAccess::Forbidden => "no permission to watch resourceslices",
        };
        SAID.call_once(|| warn!(why, "GPUs that nodes offer by DRA are not counted"));
        Ok(None)
    }

    /// Reads ResourceSlices before nodes, so that a node has its number of GPUs from the start.
    async fn read_slices(
        &mut self,
        until: Option<Instant>,
        news: &mut mpsc::Receiver<ClusterMessage>,
    ) -> Result<Option<ReadingEnd>, Error> {
        let Some(until) = until else { return Ok(None) };
        while !self.world.has_listed_slices() {
            let Ok(Some(one)) = timeout_at(until, news.recv()).await else { break };
            if let Err(ends) = self.world.receive(one, self.read_at) {
                return self.ended(&ends).map(Some);
            }
        }
        Ok(None)
    }

    /// Reads owners before pods, so that a gang has one name from the start. Kinds without permission are not waited
    /// for: the gang is then named after the owner that its pods name.
    async fn read_owners(
        &mut self,
        client: &Client,
        watches: &mut JoinSet<()>,
        (out, news): (&mpsc::Sender<ClusterMessage>, &mut mpsc::Receiver<ClusterMessage>),
    ) -> Result<Option<ReadingEnd>, Error> {
        let kinds = self.world.owner_kinds();
        for kind in kinds.iter().enumerate() {
            source::follow_owners(kind, client, watches, out, self.metrics.owners_pulse());
        }
        let until = Instant::now() + OWNERS_WITHIN;
        while self.world.owners_listed() < kinds.len() {
            let Ok(Some(one)) = timeout_at(until, news.recv()).await else { break };
            if let Err(ends) = self.world.receive(one, self.read_at) {
                return self.ended(&ends).map(Some);
            }
        }
        Ok(None)
    }

    async fn read_until(
        &mut self,
        kinds: &[Kind],
        news: &mut mpsc::Receiver<ClusterMessage>,
        until: Instant,
    ) -> Result<Option<ReadingEnd>, Error> {
        let mut taken = 0_usize;
        while !self.world.has_listed(kinds) {
            let Ok(Some(one)) = timeout_at(until, news.recv()).await else {
                let missing: Vec<&str> =
                    kinds.iter().filter(|kind| !self.world.has_listed(&[**kind])).map(|kind| kind.word()).collect();
                let why = format!("cannot list {}", missing.join(", "));
                return Err(Error::Failed { what: "reading the cluster", tries: 1, why });
            };
            // What is read first was there when the leadership began.
            if let Err(ends) = self.world.receive(one, self.read_at) {
                return self.ended(&ends).map(Some);
            }
            taken += 1;
            if taken.is_multiple_of(PORTION) {
                self.hand_over();
            }
        }
        self.hand_over();
        Ok(None)
    }

    fn hand_over(&mut self) {
        for observation in self.world.flush(self.read_at) {
            self.engine.observe(observation);
        }
        self.engine.commit();
    }

    fn begin(&self, kind: Kind, client: &Client, watches: &mut JoinSet<()>, out: &mpsc::Sender<ClusterMessage>) {
        source::follow(kind, client, watches, out, self.metrics.pulse(kind));
    }
}
