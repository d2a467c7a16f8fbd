//! Checks of an installation for `doctor`: server version, Lease, expected objects, and whether the API server rejects
//! a stale leader. All calls use the caller's permissions, and every write is a dry run.

use std::collections::BTreeMap;

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client, Config};
use mainstay_api::NodeReport;
use mainstay_model::{Epoch, Span, Timestamp};
use serde_json::Value;
use tokio::time::timeout;

use crate::trouble::{CALL_WITHIN, Failure, Trouble, words};
use crate::{cell, lease};

/// Reports per page. With the largest number of pages, this covers twice the largest cluster.
const PAGE: u32 = 500;
const PAGES_MAX: u32 = 400;
/// Prefix of every rejection by the admission policies.
const FENCE_SAYS: &str = "mainstay fence";

/// The leader's Lease as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseSeen {
    /// Identity of the holder. None: no controller holds it.
    pub holder: Option<String>,
    /// Time of the last renewal, by the leader's clock.
    pub renewed_at: Option<Timestamp>,
    /// Time without renewal after which another controller may take it.
    pub lasts: Span,
}

/// State of a stored object compared with the expected one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// Every expected field is stored.
    Same,
    /// The object does not exist.
    Missing,
    /// This field is missing or has another value.
    Differs(String),
    /// The caller has no permission to read it.
    Forbidden,
}

/// Whether the API server rejects a write of an older leader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fence {
    /// The write was rejected, as it must be.
    Refuses,
    /// The write was accepted: fencing does not work.
    LetsThrough,
    /// The write could not be tried, with the server's reason.
    Untried(String),
}

/// Version of the API server.
///
/// # Errors
/// [`Trouble::Server`] if it does not answer.
pub async fn version(client: &Client) -> Result<String, Trouble> {
    Ok(answered("reading the server version", client.apiserver_version()).await?.git_version)
}

/// Reads the leader's Lease. None if no controller ever led.
///
/// # Errors
/// [`Trouble::Refused`] without permission to read it, [`Trouble::Server`] if the server does not answer.
pub async fn lease(client: &Client, namespace: &str) -> Result<Option<LeaseSeen>, Trouble> {
    let leases: Api<Lease> = Api::namespaced(client.clone(), namespace);
    let read = answered("reading the leader's Lease", leases.get_opt(lease::NAME)).await?;
    let lasts = |seconds: Option<i32>| seconds.and_then(|seconds| u32::try_from(seconds).ok()).unwrap_or_default();
    Ok(read.and_then(|lease| lease.spec).map(|spec| LeaseSeen {
        holder: spec.holder_identity.filter(|holder| !holder.is_empty()),
        renewed_at: spec.renew_time.map(|time| Timestamp(time.0.as_millisecond())),
        lasts: Span::seconds(lasts(spec.lease_duration_seconds)),
    }))
}

/// Agent versions that report, with the number of nodes of each.
///
/// # Errors
/// As [`lease`].
pub async fn agents(client: &Client) -> Result<BTreeMap<String, u64>, Trouble> {
    let reports: Api<NodeReport> = Api::all(client.clone());
    let mut versions: BTreeMap<String, u64> = BTreeMap::new();
    let mut asked = ListParams::default().limit(PAGE);
    for _ in 0..PAGES_MAX {
        let page = answered("listing the agents' reports", reports.list(&asked)).await?;
        for report in &page.items {
            *versions.entry(report.spec.agent_version.to_string()).or_default() += 1;
        }
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => asked = asked.continue_token(&token),
            None => break,
        }
    }
    Ok(versions)
}

/// Compares a cluster-scoped object with the expected one. Fields that the server adds do not matter.
///
/// # Errors
/// [`Trouble::Server`] if the server does not answer.
pub async fn compare(client: &Client, wanted: &Value) -> Result<Standing, Trouble> {
    const WHAT: &str = "reading an object";
    let text = |pointer: &str| wanted.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (group, version) = text("/apiVersion").rsplit_once('/').unwrap_or(("", text("/apiVersion")));
    let kind = GroupVersionKind::gvk(group, version, text("/kind"));
    let Ok((resource, _)) = answered(WHAT, kube::discovery::pinned_kind(client, &kind)).await else {
        return Ok(Standing::Missing);
    };
    let objects: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let found = match answered(WHAT, objects.get_opt(text("/metadata/name"))).await {
        Ok(Some(found)) => found,
        Ok(None) => return Ok(Standing::Missing),
        Err(Trouble::Refused { .. }) => return Ok(Standing::Forbidden),
        Err(trouble) => return Err(trouble),
    };
    let spec = |object: &Value| object.get("spec").cloned().unwrap_or_default();
    let difference = difference(&spec(wanted), &found.data.get("spec").cloned().unwrap_or_default(), "spec");
    Ok(difference.map_or(Standing::Same, Standing::Differs))
}

/// First field of the expected value that the stored value lacks.
fn difference(wanted: &Value, found: &Value, at: &str) -> Option<String> {
    match (wanted, found) {
        (Value::Object(wanted), Value::Object(found)) => wanted.iter().find_map(|(name, value)| {
            let at = format!("{at}.{name}");
            // What is empty need not be stored.
            let is_empty = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
            match found.get(name) {
                Some(found) => difference(value, found, &at),
                None => (!is_empty).then_some(at),
            }
        }),
        (Value::Array(wanted), Value::Array(found)) if wanted.len() == found.len() => {
            let pairs = wanted.iter().zip(found).enumerate();
            pairs.map(|(place, (one, other))| difference(one, other, &format!("{at}[{place}]"))).find_map(|one| one)
        }
        // A bound of 0 may come back as 0.0.
        (Value::Number(wanted), Value::Number(found)) => (wanted.as_f64() != found.as_f64()).then(|| at.to_owned()),
        (wanted, found) => (wanted != found).then(|| at.to_owned()),
    }
}

/// Tries the write of an older leader as the controller, in a dry run.
pub async fn fence(mut config: Config, namespace: &str, epoch: Epoch) -> Fence {
    let controller = format!("system:serviceaccount:{namespace}:mainstay-controller");
    config.auth_info.impersonate = Some(controller);
    let client = match Client::try_from(config) {
        Ok(client) => client,
        Err(error) => return Fence::Untried(words(&error)),
    };
    match cell::dry_run(&client, Epoch(epoch.0.saturating_sub(1))).await {
        Ok(()) => Fence::LetsThrough,
        Err(error) => {
            let said = words(&error);
            if said.contains(FENCE_SAYS) { Fence::Refuses } else { Fence::Untried(said) }
        }
    }
}

async fn answered<T>(what: &'static str, call: impl Future<Output = kube::Result<T>>) -> Result<T, Trouble> {
    match timeout(CALL_WITHIN, call).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) if Failure::of(&error) == Failure::Refused => Err(Trouble::Refused { what, why: words(&error) }),
        Ok(Err(error)) => Err(Trouble::Server(words(&error))),
        Err(_) => Err(Trouble::Server(format!("no answer within {} s", CALL_WITHIN.as_secs()))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_server_adds_is_no_difference_and_what_it_lacks_is() {
        let wanted = json!({ "rules": [{ "verbs": ["get"] }], "none": [], "mode": "Deny" });
        let found = json!({ "rules": [{ "verbs": ["get"], "scope": "*" }], "mode": "Deny", "more": 1 });
        assert_eq!(difference(&wanted, &found, "spec"), None);
        let other = json!({ "rules": [{ "verbs": ["list"] }], "mode": "Deny" });
        assert_eq!(difference(&wanted, &other, "spec").as_deref(), Some("spec.rules[0].verbs[0]"));
        assert_eq!(difference(&wanted, &json!({ "rules": [] }), "spec").as_deref(), Some("spec.mode"));
    }
}
