//! What a controller needs in its cluster before it waits for the Lease: definitions, the Cell, and permission to read. By reads
//! only, and everything that is missing at once.

use std::collections::BTreeSet;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Namespace, Node};
use kube::api::ListParams;
use kube::{Api, Client};
use mainstay_api::{CELL_NAME, Cell, GROUP};
use tokio::time::timeout;

use crate::error::{CALL_WITHIN, Error, Failure};
use crate::lease;
use crate::view;
use crate::world::Kind;

/// Answers nothing where all is there. A server that is busy is no reason to stop.
pub(crate) async fn check(client: &Client, namespace: &str) -> Result<(), Error> {
    let known = match view::installed(client).await {
        Ok(known) => known,
        Err(Error::Server(_)) => return Ok(()),
        Err(trouble) => return Err(trouble),
    };
    let mut missing = definitions(&known);
    let cells: Api<Cell> = Api::all(client.clone());
    match failure(cells.get(CELL_NAME)).await {
        Some(Failure::Absent) => missing.push(format!("the Cell \"{CELL_NAME}\"")),
        Some(Failure::Refused) => missing.push("permission to read the Cell".to_owned()),
        Some(Failure::Conflict | Failure::Expired | Failure::Busy { .. } | Failure::Broken) | None => {}
    }
    let nodes: Api<Node> = Api::all(client.clone());
    if failure(nodes.list(&ListParams::default().limit(1))).await == Some(Failure::Refused) {
        missing.push("permission to list nodes".to_owned());
    }
    let leases: Api<Lease> = Api::namespaced(client.clone(), namespace);
    if failure(leases.get_opt(lease::NAME)).await == Some(Failure::Refused) {
        missing.push(format!("permission to read the Lease {} in namespace {namespace}", lease::NAME));
    }
    if missing.is_empty() {
        return Ok(());
    }
    // The controller's account may not read namespaces, so they are looked at only when something is missing anyway.
    let namespaces: Api<Namespace> = Api::all(client.clone());
    if failure(namespaces.get(namespace)).await == Some(Failure::Absent) {
        missing.push(format!("the namespace {namespace}"));
    }
    Err(Error::Incomplete(missing.join(", ")))
}

/// The definitions that the server does not serve.
fn definitions(known: &BTreeSet<String>) -> Vec<String> {
    let ours = Kind::ALL.into_iter().filter(|kind| !matches!(kind, Kind::Node | Kind::Pod)).map(Kind::word);
    let absent: Vec<&str> = ours.filter(|kind| !known.contains(*kind)).collect();
    if absent.is_empty() {
        return Vec::new();
    }
    vec![format!("the definitions {} of {GROUP}", absent.join(", "))]
}

async fn failure<T>(call: impl Future<Output = kube::Result<T>>) -> Option<Failure> {
    match timeout(CALL_WITHIN, call).await {
        Ok(Ok(_)) => None,
        Ok(Err(error)) => Some(Failure::of(&error)),
        Err(_) => Some(Failure::Broken),
    }
}
