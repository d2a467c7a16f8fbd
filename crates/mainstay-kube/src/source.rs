//! Events of each kind: from a watch, or from one list.

use std::fmt::Debug;
use std::sync::Arc;

use kube::core::ApiResource;
use kube::{Api, Client, Resource};
use mainstay_api::OwnerKind;
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::error::Failure;
use crate::pod;
use crate::resource_slice;
use crate::watch::{self, Watch, WatchCounters, WatchEvent};
use crate::world::{ClusterEvent, ClusterMessage, Kind};

/// Largest number of queued events. A faster watch waits.
pub(crate) const NEWS_MAX: usize = 4_096;

/// Says `$then!(wrap, fields)` for the kind.
macro_rules! of_kind {
    ($kind:expr, $then:ident) => {
        match $kind {
            Kind::Cell => $then!(ClusterEvent::Cell, None),
            Kind::Policy => $then!(ClusterEvent::Policy, None),
            Kind::Fabric => $then!(ClusterEvent::Fabric, None),
            Kind::Node => $then!(ClusterEvent::Node, None),
            Kind::Pod => $then!(ClusterEvent::Pod, Some(pod::RUNNING)),
            Kind::Report => $then!(ClusterEvent::Report, None),
            Kind::GpuNode => $then!(ClusterEvent::GpuNode, None),
            Kind::Incident => $then!(ClusterEvent::Incident, None),
            Kind::Checkpoint => $then!(ClusterEvent::Checkpoint, None),
        }
    };
}

/// Follows a kind while a receiver exists.
pub(crate) fn follow(
    kind: Kind,
    client: &Client,
    watches: &mut JoinSet<()>,
    out: &mpsc::Sender<ClusterMessage>,
    pulse: Arc<WatchCounters>,
) {
    let out = out.clone();
    macro_rules! begin {
        ($wrap:expr, $fields:expr) => {{
            let watched = Watch { api: Api::all(client.clone()), fields: $fields, pulse };
            watches.spawn(watch::watch(watched, out, Box::new($wrap)));
        }};
    }
    of_kind!(kind, begin);
}

/// Follows the ResourceSlices of NVIDIA's driver.
pub(crate) fn follow_slices(
    client: &Client,
    watches: &mut JoinSet<()>,
    out: &mpsc::Sender<ClusterMessage>,
    pulse: Arc<WatchCounters>,
) {
    let watched = Watch { api: Api::all(client.clone()), fields: Some(resource_slice::OF_DRIVER), pulse };
    watches.spawn(watch::watch(watched, out.clone(), Box::new(ClusterEvent::Slice)));
}

/// Lists the ResourceSlices of NVIDIA's driver once.
pub(crate) async fn list_slices(client: &Client) -> Result<Vec<ClusterEvent>, Failure> {
    all(&Api::all(client.clone()), Some(resource_slice::OF_DRIVER), ClusterEvent::Slice).await
}

/// Follows pods without a node, for metrics and the web UI.
pub(crate) fn follow_pending(
    client: &Client,
    watches: &mut JoinSet<()>,
    out: &mpsc::Sender<ClusterMessage>,
    pulse: Arc<WatchCounters>,
) {
    let watched = Watch { api: Api::all(client.clone()), fields: Some(pod::PENDING), pulse };
    watches.spawn(watch::watch(watched, out.clone(), Box::new(ClusterEvent::PendingPod)));
}

/// Follows pods that ended, for metrics only.
pub(crate) fn follow_ended(
    client: &Client,
    watches: &mut JoinSet<()>,
    out: &mpsc::Sender<ClusterMessage>,
    pulse: Arc<WatchCounters>,
) {
    let watched = Watch { api: Api::all(client.clone()), fields: Some(pod::ENDED), pulse };
    watches.spawn(watch::watch(watched, out.clone(), Box::new(ClusterEvent::EndedPod)));
}

/// Follows the owners of one kind: the kind at this index of those in the policies.
pub(crate) fn follow_owners(
    (place, kind): (usize, &OwnerKind),
    client: &Client,
    watches: &mut JoinSet<()>,
    out: &mpsc::Sender<ClusterMessage>,
    pulse: Arc<WatchCounters>,
) {
    let api = Api::all_with(client.clone(), &resource(kind));
    let wrap = Box::new(move |told| ClusterEvent::Owner { place, told });
    watches.spawn(watch::watch(Watch { api, fields: None, pulse }, out.clone(), wrap));
}

/// Lists all objects of a kind once.
pub(crate) async fn list(kind: Kind, client: &Client) -> Result<Vec<ClusterEvent>, Failure> {
    macro_rules! list {
        ($wrap:expr, $fields:expr) => {
            all(&Api::all(client.clone()), $fields, $wrap).await
        };
    }
    of_kind!(kind, list)
}

/// Lists the owners of one kind once.
pub(crate) async fn list_owners(
    (place, kind): (usize, &OwnerKind),
    client: &Client,
) -> Result<Vec<ClusterEvent>, Failure> {
    all(&Api::all_with(client.clone(), &resource(kind)), None, |told| ClusterEvent::Owner { place, told }).await
}

async fn all<K>(
    api: &Api<K>,
    fields: Option<&'static str>,
    wrap: impl Fn(WatchEvent<K>) -> ClusterEvent,
) -> Result<Vec<ClusterEvent>, Failure>
where
    K: Resource + Clone + Debug + DeserializeOwned,
{
    let mut news = Vec::new();
    let mut next = None;
    loop {
        let page = watch::page_or_all(api, fields, next, || news.clear()).await?;
        news.extend(page.items.into_iter().map(|object| wrap(WatchEvent::Is(Box::new(object)))));
        next = page.metadata.continue_.filter(|token| !token.is_empty());
        if next.is_none() {
            news.push(wrap(WatchEvent::Listed));
            return Ok(news);
        }
    }
}

/// API resource of a kind. Its kind name is not needed: paths use the plural.
pub(crate) fn resource(kind: &OwnerKind) -> ApiResource {
    let (group, version) = kind.api_version.rsplit_once('/').unwrap_or(("", &kind.api_version));
    ApiResource {
        group: group.to_owned(),
        version: version.to_owned(),
        api_version: kind.api_version.clone(),
        kind: String::new(),
        plural: kind.plural.clone(),
    }
}
