//! Where news of each kind comes from: a watch that follows it, or one list.

use std::sync::Arc;

use kube::{Api, Client};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::chance::Chance;
use crate::pod;
use crate::trouble::Failure;
use crate::watch::{self, Pulse, Watch};
use crate::world::{Kind, News};

/// News that may wait to be taken; a watch that is ahead waits.
pub(crate) const NEWS_MAX: usize = 4_096;

/// Says `$then!(wrap, fields)` for the kind.
macro_rules! of_kind {
    ($kind:expr, $then:ident) => {
        match $kind {
            Kind::Cell => $then!(News::Cell, None),
            Kind::Policy => $then!(News::Policy, None),
            Kind::Fabric => $then!(News::Fabric, None),
            Kind::Node => $then!(News::Node, None),
            Kind::Pod => $then!(News::Pod, Some(pod::RUNNING)),
            Kind::Report => $then!(News::Report, None),
            Kind::GpuNode => $then!(News::GpuNode, None),
            Kind::Incident => $then!(News::Incident, None),
        }
    };
}

/// Follows a kind for as long as somebody listens.
pub(crate) fn follow(
    kind: Kind,
    client: &Client,
    watches: &mut JoinSet<()>,
    out: &mpsc::Sender<News>,
    (pulse, chance): (Arc<Pulse>, &mut Chance),
) {
    chance.next();
    let (chance, out) = (chance.clone(), out.clone());
    macro_rules! begin {
        ($wrap:expr, $fields:expr) => {{
            let watched = Watch { api: Api::all(client.clone()), fields: $fields, pulse };
            watches.spawn(watch::watch(watched, out, $wrap, chance));
        }};
    }
    of_kind!(kind, begin);
}

/// Everything of a kind, told once.
pub(crate) async fn list(kind: Kind, client: &Client) -> Result<Vec<News>, Failure> {
    macro_rules! list {
        ($wrap:expr, $fields:expr) => {{
            let api = Api::all(client.clone());
            let mut news = Vec::new();
            let mut next = None;
            loop {
                let page = watch::page(&api, $fields, next).await?;
                news.extend(page.items.into_iter().map(|object| $wrap(watch::Told::Is(Box::new(object)))));
                next = page.metadata.continue_.filter(|token| !token.is_empty());
                if next.is_none() {
                    news.push($wrap(watch::Told::Listed));
                    return Ok(news);
                }
            }
        }};
    }
    of_kind!(kind, list)
}
