//! A lagging cache: watches, and lists that a server may answer from its cache, show the state of one moment. Consistent reads show
//! the present, unless the program under test shall be without its guards: then they show that moment as well, and its writes no
//! longer test the state.

use anyhow::{Context as _, Result};
use axum::body::Bytes;
use axum::http::StatusCode;
use kube::Client;
use kube::api::{GetParams, ListParams, Request};
use serde_json::{Value, json};
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
    Choosing(Reads),
    At(u64, Reads),
}

/// Which reads show the past.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reads {
    /// Watches, and lists that a cache may answer.
    Cached,
    /// All, and writes do not test the state.
    Unguarded,
}

/// What becomes of a call.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum View {
    /// It is forwarded with this path and query.
    Forward(String),
    /// The list must be newer than the cache is.
    TooNew,
    /// The object is the only item of the list at this path, if it existed.
    OnlyItem(String),
}

impl Default for Lag {
    fn default() -> Self {
        Self(watch::Sender::new(Shown::Present))
    }
}

impl Lag {
    pub(super) async fn begin(&self, client: &Client, reads: Reads) -> Result<()> {
        // Held first: an event after the moment must not pass while its resource version is read.
        self.0.send_replace(Shown::Choosing(reads));
        let request = Request::new("/api/v1/nodes").list(&ListParams::default().limit(1))?;
        let list: Value = client.request(request).await.context("cannot read the present resource version")?;
        let version = list["metadata"]["resourceVersion"].as_str().context("a list without resource version")?;
        let version = version.parse().with_context(|| format!("resource version {version} is not a number"))?;
        self.0.send_replace(Shown::At(version, reads));
        Ok(())
    }

    fn is_unguarded(&self) -> bool {
        matches!(*self.0.borrow(), Shown::Choosing(Reads::Unguarded) | Shown::At(_, Reads::Unguarded))
    }

    /// The body of a write as it reaches the server.
    pub(super) async fn sent(&self, client: &Client, call: &Call, body: Bytes) -> Result<Bytes> {
        if !self.is_unguarded() || !call.is_write() {
            return Ok(body);
        }
        let Ok(mut value) = serde_json::from_slice::<Value>(&body) else { return Ok(body) };
        if call.place == "pods/eviction" {
            // The admission policy demands preconditions. These are true of any pod of this name.
            let pod = Request::new(call.path.trim_end_matches(&format!("/{}/eviction", call.name)));
            let pod: Value = client.request(pod.get(&call.name, &GetParams::default())?).await?;
            let present = |field: &str| pod["metadata"][field].clone();
            value["deleteOptions"]["preconditions"] =
                json!({ "uid": present("uid"), "resourceVersion": present("resourceVersion") });
        } else if let Some(operations) = value.as_array_mut() {
            operations.retain(|operation| operation["op"] != "test");
        }
        Ok(Bytes::from(value.to_string()))
    }

    pub(super) fn end(&self) {
        self.0.send_replace(Shown::Present);
    }

    /// Returns when nothing lags.
    pub(super) async fn over(&self) {
        // The sender lives as long as the proxy.
        let _ = self.0.subscribe().wait_for(|shown| *shown == Shown::Present).await;
    }

    /// A list that the cache may answer becomes the list of the moment, and without guards any read does. Every other call stays as it is.
    pub(super) fn view(&self, call: &Call) -> View {
        let (at, reads) = match *self.0.borrow() {
            Shown::Present | Shown::Choosing(_) => (None, Reads::Cached),
            Shown::At(version, reads) => (Some(version), reads),
        };
        let with = |query: &str| {
            let mark = if query.is_empty() { "" } else { "?" };
            View::Forward(format!("{}{mark}{query}", call.path))
        };
        let Some(at) = at else { return with(&call.query) };
        let exact = format!("resourceVersion={at}&resourceVersionMatch=Exact");
        let is_consistent = reads == Reads::Unguarded && call.parameter("resourceVersion").is_none();
        if is_consistent && call.verb == Verb::Get && is_of_an_object(call) {
            let collection = call.path.trim_end_matches(&call.name).trim_end_matches('/');
            return View::OnlyItem(format!("{collection}?fieldSelector=metadata.name%3D{}&{exact}", call.name));
        }
        match version_from_cache(call) {
            Some(wanted) if wanted > at => return View::TooNew,
            None if !(is_consistent && call.verb == Verb::List && is_of_an_object(call)) => return with(&call.query),
            Some(_) | None => {}
        }
        let kept = call.query.split('&').filter(|pair| !pair.is_empty() && !pair.starts_with("resourceVersion"));
        with(&kept.chain([exact.as_str()]).collect::<Vec<_>>().join("&"))
    }
}

/// Leases, subresources and paths that are no resource are always of the present.
fn is_of_an_object(call: &Call) -> bool {
    !call.place.is_empty() && !call.place.contains('/') && !call.is_lease() && !call.is_next_page()
}

/// The answer to a read of one object, made from the list that contains it alone.
pub(super) fn only_item(list: &[u8]) -> Result<(StatusCode, Value)> {
    let list: Value = serde_json::from_slice(list).context("a list is not JSON")?;
    let Some(item) = list["items"].as_array().and_then(|items| items.first()) else {
        let code = StatusCode::NOT_FOUND;
        let gone =
            json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404 });
        return Ok((code, gone));
    };
    let mut item = item.clone();
    item["apiVersion"] = list["apiVersion"].clone();
    item["kind"] = json!(list["kind"].as_str().unwrap_or_default().trim_end_matches("List"));
    Ok((StatusCode::OK, item))
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
        lag.0.send_replace(Shown::At(71, Reads::Cached));
        let exact = "limit=5&resourceVersion=71&resourceVersionMatch=Exact";
        assert_eq!(view("limit=5&resourceVersion=0&resourceVersionMatch=NotOlderThan"), forward(exact));
        assert_eq!(view("limit=5&resourceVersion=70&resourceVersionMatch=NotOlderThan"), forward(exact));
        assert_eq!(view("resourceVersion=72&resourceVersionMatch=NotOlderThan"), View::TooNew);
        for same in ["limit=5", "watch=true&resourceVersion=0", "resourceVersion=72&resourceVersionMatch=Exact"] {
            assert_eq!(view(same), forward(same));
        }
        assert_eq!(lag.view(&call("GET", "/version")), View::Forward("/version".to_owned()));
    }

    #[test]
    fn without_guards_every_read_is_of_the_moment() {
        let lag = Lag::default();
        lag.0.send_replace(Shown::At(71, Reads::Unguarded));
        let exact = "resourceVersion=71&resourceVersionMatch=Exact";
        let view = |path: &str| lag.view(&call("GET", path));
        assert_eq!(
            view("/api/v1/nodes/n1"),
            View::OnlyItem(format!("/api/v1/nodes?fieldSelector=metadata.name%3Dn1&{exact}"))
        );
        assert_eq!(view("/api/v1/pods?limit=5"), View::Forward(format!("/api/v1/pods?limit=5&{exact}")));
        for same in ["/version", "/apis/coordination.k8s.io/v1/namespaces/a/leases/l"] {
            assert_eq!(view(same), View::Forward(same.to_owned()));
        }
    }

    #[test]
    fn an_object_is_taken_from_its_list() {
        let list = json!({ "apiVersion": "v1", "kind": "NodeList", "items": [{ "metadata": { "name": "n1" } }] });
        let (code, node) = only_item(list.to_string().as_bytes()).unwrap();
        assert_eq!((code, &node["kind"], &node["metadata"]["name"]), (StatusCode::OK, &json!("Node"), &json!("n1")));
        assert_eq!(only_item(br#"{"items":[]}"#).unwrap().0, StatusCode::NOT_FOUND);
    }
}
