//! A lagging cache: watches, and lists that a server may answer from its cache, show the state of one moment. Reads of one
//! object always show the present, because a server can only list the past.

use anyhow::{Context as _, Result};
use kube::Client;
use kube::api::{ListParams, Request};
use serde_json::Value;
use tokio::sync::watch;

use super::Call;
use super::call::Verb;

#[derive(Debug)]
pub(super) struct Lag(watch::Sender<Shown>);

/// The state that lists and watches show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    Present,
    /// The resource version of the moment is being read. Events wait already.
    Choosing,
    At(u64),
}

/// What becomes of a call.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum View {
    /// It is forwarded with this path and query.
    Forward(String),
    /// The list must be newer than the cache is.
    TooNew,
}

impl Default for Lag {
    fn default() -> Self {
        Self(watch::Sender::new(Shown::Present))
    }
}

impl Lag {
    pub(super) async fn begin(&self, client: &Client) -> Result<()> {
        // Held first: an event after the moment must not pass while its resource version is read.
        self.0.send_replace(Shown::Choosing);
        let request = Request::new("/api/v1/namespaces").list(&ListParams::default().limit(1))?;
        let list: Value = client.request(request).await.context("cannot read the present resource version")?;
        let version = list["metadata"]["resourceVersion"].as_str().context("a list without resource version")?;
        let version = version.parse().with_context(|| format!("resource version {version} is not a number"))?;
        self.0.send_replace(Shown::At(version));
        Ok(())
    }

    pub(super) fn end(&self) {
        self.0.send_replace(Shown::Present);
    }

    /// Returns when nothing lags.
    pub(super) async fn over(&self) {
        // The sender lives as long as the proxy.
        let _ = self.0.subscribe().wait_for(|shown| *shown == Shown::Present).await;
    }

    /// A list that the cache may answer becomes the list of the moment. Every other call stays as it is.
    pub(super) fn view(&self, call: &Call) -> View {
        let at = match *self.0.borrow() {
            Shown::Present | Shown::Choosing => None,
            Shown::At(version) => Some(version),
        };
        let with = |query: &str| {
            let mark = if query.is_empty() { "" } else { "?" };
            View::Forward(format!("{}{mark}{query}", call.path))
        };
        let Some((at, wanted)) = at.zip(version_from_cache(call)) else { return with(&call.query) };
        if wanted > at {
            return View::TooNew;
        }
        let kept = call.query.split('&').filter(|pair| !pair.starts_with("resourceVersion"));
        let exact = [format!("resourceVersion={at}"), "resourceVersionMatch=Exact".to_owned()];
        with(&kept.map(str::to_owned).chain(exact).collect::<Vec<_>>().join("&"))
    }
}

/// The oldest version that a list accepts, if a cache may answer it.
fn version_from_cache(call: &Call) -> Option<u64> {
    let version = call.parameter("resourceVersion")?.parse().ok()?;
    let is_any_age = version == 0 || call.parameter("resourceVersionMatch") == Some("NotOlderThan");
    (call.verb == Verb::List && is_any_age && !call.is_next_page()).then_some(version)
}

#[cfg(test)]
mod tests {
    use super::super::call::tests::call;
    use super::*;

    #[test]
    fn only_a_list_from_the_cache_is_of_the_moment() {
        let lag = Lag::default();
        let view = |query: &str| lag.view(&call("GET", &format!("/api/v1/nodes?{query}")));
        let forward = |query: &str| View::Forward(format!("/api/v1/nodes?{query}"));
        assert_eq!(view("resourceVersion=0"), forward("resourceVersion=0"));
        lag.0.send_replace(Shown::At(71));
        let exact = "limit=5&resourceVersion=71&resourceVersionMatch=Exact";
        assert_eq!(view("limit=5&resourceVersion=0&resourceVersionMatch=NotOlderThan"), forward(exact));
        assert_eq!(view("limit=5&resourceVersion=70&resourceVersionMatch=NotOlderThan"), forward(exact));
        assert_eq!(view("resourceVersion=72&resourceVersionMatch=NotOlderThan"), View::TooNew);
        for same in ["limit=5", "watch=true&resourceVersion=0", "resourceVersion=72&resourceVersionMatch=Exact"] {
            assert_eq!(view(same), forward(same));
        }
        assert_eq!(lag.view(&call("GET", "/version")), View::Forward("/version".to_owned()));
    }
}
