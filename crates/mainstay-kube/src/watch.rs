//! Lists and follows one kind while a receiver exists: streaming lists where the server supports them, otherwise pages, or
//! everything at once where pages expire; bookmarks; a new list after an expired version; growing pauses. Objects are not
//! interpreted here.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::ops::Range;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{ListParams, ObjectList, WatchEvent as ServerEvent, WatchParams};
use kube::{Api, Resource};
use mainstay_model::Timestamp;
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

use crate::error::{Backoff, CALL_WITHIN, Failure};

/// Objects per page, as the Kubernetes clients use.
const PAGE: u32 = 500;
/// Time limit of a list without pages: the API server's own limit.
const LIST_WITHIN: Duration = Duration::from_mins(1);
/// Range of the watch timeout, so that watches do not end together.
const WATCH_SECONDS: Range<u32> = 240..290;
/// Longest time without an event. The server sends a bookmark about once a minute.
const QUIET_AT_MOST: Duration = Duration::from_secs(90);
/// A watch that the server closes sooner than this is not followed by the next one at once.
const WATCH_AT_LEAST: Duration = Duration::from_secs(1);
/// Annotation of the bookmark that ends the initial list.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// Change of one object, the end of a list, or a bookmark.
#[derive(Debug)]
pub(crate) enum WatchEvent<K> {
    /// The object exists, with this content.
    Is(Box<K>),
    /// The object was deleted.
    Gone(Key),
    /// The list is complete.
    Listed,
    /// Nothing changed until now: every change before it was sent.
    Bookmark,
}

/// One message of a watch. Its time travels with it, because messages may wait in the channel: the time at which the
/// watch received something does not show what the reader of the channel knows.
#[derive(Debug)]
pub(crate) struct Message<N> {
    /// Time until which the reader knows the kind once this message is handled: when the watch received the message, or,
    /// for the end of a list, when the list was requested.
    pub(crate) heard_at: Timestamp,
    pub(crate) phase: Phase,
    pub(crate) event: N,
}

/// Whether a kind is being listed, or its list is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Listing,
    Following,
}

/// Namespace and name of an object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) namespace: Option<Box<str>>,
    pub(crate) name: Box<str>,
}

/// Events, lists, failures and last event time of one watch, for metrics only.
#[derive(Debug, Default)]
pub(crate) struct WatchCounters {
    /// Time of the last event, in milliseconds since the Unix epoch. 0 if there was none.
    pub(crate) heard_at: AtomicI64,
    pub(crate) events: AtomicU64,
    pub(crate) lists: AtomicU64,
    pub(crate) failures: AtomicU64,
}

/// What to watch.
pub(crate) struct Watch<K> {
    pub(crate) api: Api<K>,
    /// Field selector that the server supports for this kind.
    pub(crate) fields: Option<&'static str>,
    pub(crate) pulse: Arc<WatchCounters>,
}

/// Whether the initial list is streamed or requested in pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListMode {
    Streaming,
    Paged,
}

/// Converts an event of one kind into the message type of the receiver.
pub(crate) type EventMapper<K, N> = Box<dyn Fn(WatchEvent<K>) -> N + Send + Sync>;

/// Error of a send: the receiver of the events is gone.
#[derive(Debug)]
struct ChannelClosed;

/// Why following ended.
enum End {
    /// A list in pages is complete.
    Listed,
    /// The server closed the watch after this time, as it does when a watch times out.
    Closed(Duration),
    Failed(Failure),
    Unheard,
}

/// State of one watch: its known objects, its version and its list mode.
struct Watcher<K, N> {
    watch: Watch<K>,
    out: mpsc::Sender<Message<N>>,
    wrap: EventMapper<K, N>,
    known: BTreeSet<Key>,
    version: Option<String>,
    way: ListMode,
    /// Whether the last list or watch delivered an event.
    has_delivered: bool,
}

/// Sends all events of one kind until the receiver is gone. It never fails: errors are retried.
pub(crate) async fn watch<K, N>(watch: Watch<K>, out: mpsc::Sender<Message<N>>, wrap: EventMapper<K, N>)
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    N: Send + 'static,
{
    let mut pauses = Backoff::new();
    let (known, way) = (BTreeSet::new(), ListMode::Streaming);
    let mut follower = Watcher { watch, out, wrap, known, version: None, way, has_delivered: false };
    loop {
        match follower.once().await {
            End::Listed => pauses.reset(),
            End::Closed(after) => {
                // A watch that brings nothing is no success, and neither is half a list. A server that closes every watch at
                // once is not asked in a tight loop.
                let has_listed = follower.version.is_some();
                let is_long = after >= WATCH_AT_LEAST;
                if has_listed && (is_long || follower.has_delivered) {
                    pauses.reset();
                }
                if !has_listed || !is_long {
                    tokio::time::sleep(pauses.after(&Failure::Broken)).await;
                }
            }
            End::Unheard => return,
            End::Failed(failure) => {
                follower.watch.pulse.failures.fetch_add(1, Ordering::Relaxed);
                if failure == Failure::Expired {
                    follower.version = None;
                }
                tokio::time::sleep(pauses.after(&failure)).await;
            }
        }
        if follower.out.is_closed() {
            return;
        }
    }
}

impl<K, N> Watcher<K, N>
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    N: Send + 'static,
{
    async fn tell(&self, told: WatchEvent<K>, heard_at: Timestamp, phase: Phase) -> Result<(), ChannelClosed> {
        self.out.send(Message { heard_at, phase, event: (self.wrap)(told) }).await.map_err(|_| ChannelClosed)
    }

    async fn once(&mut self) -> End {
        self.has_delivered = false;
        match (self.version.clone(), self.way) {
            (Some(version), _) => self.follow(&version, None).await,
            (None, ListMode::Streaming) => {
                let end = self.follow("", Some(BTreeSet::new())).await;
                if let (End::Failed(Failure::Refused), None) = (&end, &self.version) {
                    // An older server has no streaming lists and refuses; so does one that has them switched off.
                    self.way = ListMode::Paged;
                }
                end
            }
            (None, ListMode::Paged) => self.list().await,
        }
    }

    /// Everything in pages.
    async fn list(&mut self) -> End {
        let begun_at = now();
        let mut fresh = BTreeSet::new();
        let mut next = None;
        loop {
            let page = match page_or_all(&self.watch.api, self.watch.fields, next, || fresh.clear()).await {
                Ok(page) => page,
                Err(failure) => return End::Failed(failure),
            };
            let heard_at = self.heard();
            for object in page.items {
                if self.is(object, Some(&mut fresh), heard_at).await.is_err() {
                    return End::Unheard;
                }
            }
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => next = Some(token),
                None => {
                    self.version = page.metadata.resource_version;
                    return if self.listed(fresh, begun_at).await.is_err() { End::Unheard } else { End::Listed };
                }
            }
        }
    }

    /// What changes after a version; where `fresh` is given, what is there comes first.
    async fn follow(&mut self, version: &str, mut fresh: Option<BTreeSet<Key>>) -> End {
        let begun_at = now();
        let mut params = WatchParams::default().timeout(fastrand::u32(WATCH_SECONDS));
        params.field_selector = self.watch.fields.map(str::to_owned);
        params.send_initial_events = fresh.is_some();
        let stream = match timeout(CALL_WITHIN, self.watch.api.watch(&params, version)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return End::Failed(Failure::of(&error)),
            Err(_) => return End::Failed(Failure::Broken),
        };
        // A kind may have no event for a minute; the server was there.
        self.heard_now();
        let opened = Instant::now();
        let mut stream = pin!(stream);
        loop {
            let event = match timeout(QUIET_AT_MOST, stream.next()).await {
                Ok(Some(Ok(event))) => event,
                // What cannot be read has no name; it is counted, and what follows is read.
                Ok(Some(Err(kube::Error::SerdeError(_)))) => {
                    self.watch.pulse.failures.fetch_add(1, Ordering::Relaxed);
                    continue;
                }
                Ok(Some(Err(error))) => return End::Failed(Failure::of(&error)),
                Ok(None) => return End::Closed(opened.elapsed()),
                Err(_) => return End::Failed(Failure::Broken),
            };
            let ServerEvent::Error(status) = event else {
                if self.pass_on(event, &mut fresh, begun_at).await.is_err() {
                    return End::Unheard;
                }
                continue;
            };
            return End::Failed(Failure::of(&kube::Error::Api(status)));
        }
    }

    /// Passes one event of the server on. `fresh` is given while the list is not complete.
    async fn pass_on(
        &mut self,
        event: ServerEvent<K>,
        fresh: &mut Option<BTreeSet<Key>>,
        begun_at: Timestamp,
    ) -> Result<(), ChannelClosed> {
        let heard_at = self.heard();
        self.has_delivered = true;
        match event {
            ServerEvent::Added(object) | ServerEvent::Modified(object) => {
                self.advance(object.meta(), fresh.is_some());
                self.is(object, fresh.as_mut(), heard_at).await
            }
            ServerEvent::Deleted(object) => {
                self.advance(object.meta(), fresh.is_some());
                let key = key(object.meta());
                let phase = Phase::of(fresh.as_ref());
                fresh.as_mut().map(|fresh| fresh.remove(&key));
                self.gone(key, heard_at, phase).await
            }
            ServerEvent::Bookmark(bookmark) => {
                let ends = bookmark.metadata.annotations.contains_key(INITIAL_EVENTS_END);
                let listed = if ends { fresh.take() } else { None };
                if fresh.is_some() {
                    return Ok(());
                }
                self.version = Some(bookmark.metadata.resource_version);
                match listed {
                    Some(fresh) => self.listed(fresh, begun_at).await,
                    None => self.tell(WatchEvent::Bookmark, heard_at, Phase::Following).await,
                }
            }
            // The caller ends the watch.
            ServerEvent::Error(_) => Ok(()),
        }
    }

    /// A version counts only once everything before it was sent.
    fn advance(&mut self, meta: &ObjectMeta, is_listing: bool) {
        if !is_listing {
            self.version.clone_from(&meta.resource_version);
        }
    }

    async fn is(
        &mut self,
        object: K,
        fresh: Option<&mut BTreeSet<Key>>,
        heard_at: Timestamp,
    ) -> Result<(), ChannelClosed> {
        let key = key(object.meta());
        let phase = Phase::of(fresh.as_deref());
        if let Some(fresh) = fresh {
            fresh.insert(key.clone());
        }
        self.known.insert(key);
        self.tell(WatchEvent::Is(Box::new(object)), heard_at, phase).await
    }

    async fn gone(&mut self, key: Key, heard_at: Timestamp, phase: Phase) -> Result<(), ChannelClosed> {
        self.known.remove(&key);
        self.tell(WatchEvent::Gone(key), heard_at, phase).await
    }

    /// A list is complete: what it does not name is gone. It shows the state at its request or later.
    async fn listed(&mut self, fresh: BTreeSet<Key>, requested_at: Timestamp) -> Result<(), ChannelClosed> {
        self.watch.pulse.lists.fetch_add(1, Ordering::Relaxed);
        let gone: Vec<Key> = self.known.difference(&fresh).cloned().collect();
        for key in gone {
            self.gone(key, requested_at, Phase::Listing).await?;
        }
        self.tell(WatchEvent::Listed, requested_at, Phase::Following).await
    }

    /// Counts an event, and returns when it was received.
    fn heard(&self) -> Timestamp {
        self.watch.pulse.events.fetch_add(1, Ordering::Relaxed);
        self.heard_now()
    }

    fn heard_now(&self) -> Timestamp {
        let now = now();
        self.watch.pulse.heard_at.store(now.0, Ordering::Relaxed);
        now
    }
}

impl Phase {
    /// Where the objects of an unfinished list are collected, the kind is being listed.
    const fn of(fresh: Option<&BTreeSet<Key>>) -> Self {
        match fresh {
            Some(_) => Self::Listing,
            None => Self::Following,
        }
    }
}

/// One page of a list, after the page that ended with `token`.
pub(crate) async fn page<K>(
    api: &Api<K>,
    fields: Option<&'static str>,
    token: Option<String>,
) -> Result<ObjectList<K>, Failure>
where
    K: Resource + Clone + Debug + DeserializeOwned,
{
    let mut params = ListParams::default().limit(PAGE);
    params.field_selector = fields.map(str::to_owned);
    params.continue_token = token;
    list_within(CALL_WITHIN, api, &params).await
}

/// One page of a list, or everything at once where the version of the pages before it expired. Pages would only expire
/// again: they take longer than the server keeps a version. `restart` is called before that, because what the pages
/// before it brought is then listed once more.
pub(crate) async fn page_or_all<K>(
    api: &Api<K>,
    fields: Option<&'static str>,
    token: Option<String>,
    restart: impl FnOnce(),
) -> Result<ObjectList<K>, Failure>
where
    K: Resource + Clone + Debug + DeserializeOwned,
{
    let is_first = token.is_none();
    match page(api, fields, token).await {
        Err(Failure::Expired) if !is_first => {
            restart();
            let params = ListParams { field_selector: fields.map(str::to_owned), ..ListParams::default() };
            list_within(LIST_WITHIN, api, &params).await
        }
        answer => answer,
    }
}

async fn list_within<K>(within: Duration, api: &Api<K>, params: &ListParams) -> Result<ObjectList<K>, Failure>
where
    K: Resource + Clone + Debug + DeserializeOwned,
{
    match timeout(within, api.list(params)).await {
        Ok(Ok(list)) => Ok(list),
        Ok(Err(error)) => Err(Failure::of(&error)),
        Err(_) => Err(Failure::Broken),
    }
}

fn key(meta: &ObjectMeta) -> Key {
    let text = |text: &Option<String>| text.as_deref().map(Box::from);
    Key { namespace: text(&meta.namespace), name: text(&meta.name).unwrap_or_default() }
}

fn now() -> Timestamp {
    Timestamp(jiff::Timestamp::now().as_millisecond())
}

#[cfg(test)]
mod tests;
