//! Requests with a deadline that the server keeps as well: it stops working on a write when the client has given up on it.

use std::time::Duration;

use kube::api::{Patch, PatchParams, PostParams};
use kube::core::Request;
use kube::{Client, Error};
use serde::Serialize;
use serde_json::Value;
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use crate::error::Failure;
use crate::write::FIELD_MANAGER;

const JSON_PATCH: &str = "application/json-patch+json";

/// Result of a request that has a deadline.
pub(super) type Answer = Result<kube::Result<()>, Elapsed>;

/// Reads an object as it is, with fields that this version does not know. The read is consistent.
pub(super) async fn get(client: &Client, (collection, name): (&str, &str)) -> kube::Result<Option<Value>> {
    let request = Request::new(collection).get(name, &kube::api::GetParams::default()).map_err(Error::BuildRequest)?;
    match client.request(request).await {
        Ok(found) => Ok(Some(found)),
        Err(error) if Failure::of(&error) == Failure::Absent => Ok(None),
        Err(error) => Err(error),
    }
}

/// Changes an object by a JSON patch.
pub(super) async fn json_patch(
    client: &Client,
    (collection, name): (&str, &str),
    operations: &[Value],
    within: Duration,
) -> Answer {
    let sent = async {
        let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let built = Request::new(collection).patch(name, &params, &Patch::Merge(operations));
        let mut request = built.map_err(Error::BuildRequest)?;
        let content_type = JSON_PATCH.parse().map_err(service)?;
        request.headers_mut().insert("content-type", content_type);
        *request.uri_mut() = limited(request.uri(), within).parse().map_err(service)?;
        client.request_text(request).await.map(|_| ())
    };
    timeout(within, sent).await
}

/// Creates an object, or a subresource whose path is given as the collection.
pub(super) async fn create(client: &Client, collection: &str, object: &impl Serialize, within: Duration) -> Answer {
    create_with(client, collection, object, PostParams::default(), within).await
}

/// Tries to create an object, and stores nothing.
pub(super) async fn dry_run(client: &Client, collection: &str, object: &impl Serialize, within: Duration) -> Answer {
    create_with(client, collection, object, PostParams { dry_run: true, ..PostParams::default() }, within).await
}

async fn create_with(
    client: &Client,
    collection: &str,
    object: &impl Serialize,
    params: PostParams,
    within: Duration,
) -> Answer {
    let sent = async {
        let body = serde_json::to_vec(object).map_err(Error::SerdeError)?;
        let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..params };
        let mut request = Request::new(collection).create(&params, body).map_err(Error::BuildRequest)?;
        *request.uri_mut() = limited(request.uri(), within).parse().map_err(service)?;
        client.request_text(request).await.map(|_| ())
    };
    timeout(within, sent).await
}

/// Applies the status of an object of Mainstay, under the resource version that was read.
pub(super) async fn apply_status(
    client: &Client,
    (collection, name): (&str, &str),
    object: &Value,
    within: Duration,
) -> Answer {
    let sent = async {
        let params = PatchParams::apply(FIELD_MANAGER).force();
        let built = Request::new(collection).patch_subresource("status", name, &params, &Patch::Apply(object));
        let mut request = built.map_err(Error::BuildRequest)?;
        *request.uri_mut() = limited(request.uri(), within).parse().map_err(service)?;
        client.request_text(request).await.map(|_| ())
    };
    timeout(within, sent).await
}

/// The address with the server's own time limit.
fn limited(uri: &impl ToString, within: Duration) -> String {
    let uri = uri.to_string();
    let joint = if uri.contains('?') { '&' } else { '?' };
    format!("{uri}{joint}timeout={}ms", within.as_millis())
}

fn service(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::Service(Box::new(error))
}
