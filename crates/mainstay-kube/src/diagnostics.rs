//! Checks of an installation with the caller's own permissions: server version, Lease, stored objects and fencing.
//! Test writes are dry runs. The caller interprets the results.

use std::collections::BTreeMap;

use k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicy;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Node;
use kube::api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client, Config};
use mainstay_api::{FENCED, GROUP, NodeReport};
use mainstay_model::{Epoch, Span, Timestamp};
use serde_json::Value;
use tokio::time::timeout;

use crate::error::{CALL_WITHIN, Error, Failure, words};
use crate::{cell, lease};

/// Reports in one page of a list. With the largest number of pages, twice the largest cell.
const PAGE: u32 = 500;
const PAGES_MAX: u32 = 400;
/// Name of the read of one object, in errors.
const READING: &str = "reading an object";
/// Text that every refusal of the fence contains.
const FENCE_MARK: &str = "mainstay fence";

/// Holder, last renewal and duration of the leader's Lease, as stored on the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaderLease {
    /// Identity of the controller that holds it, if any.
    pub holder: Option<String>,
    /// Time of the last renewal, by the leader's clock.
    pub renewed_at: Option<Timestamp>,
    /// Time without a renewal after which another controller may take it.
    pub lasts: Span,
}

/// How a stored object compares with its manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObjectState {
    /// It has every field of the manifest, with the same value.
    Same,
    /// The object does not exist.
    Missing,
    /// This field is absent or has another value.
    Differs(String),
    /// The caller has no permission to read it.
    Forbidden,
}

/// Whether the admission policies reject a write of a stale leader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FenceCheck {
    /// The API server rejected the write.
    Refuses,
    /// The API server accepted the write.
    LetsThrough,
    /// It could not be tried, for the server's reason.
    Untried(String),
}

/// Returns the version that the API server reports.
///
/// # Errors
/// [`Error::Server`] if the server does not answer.
pub async fn version(client: &Client) -> Result<String, Error> {
    Ok(answered("asking for the version", client.apiserver_version()).await?.git_version)
}

/// Returns the leader's Lease, or none if no controller has ever led.
///
/// # Errors
/// [`Error::Refused`] if the caller may not read it, [`Error::Server`] if the server does not answer.
pub async fn lease(client: &Client, namespace: &str) -> Result<Option<LeaderLease>, Error> {
    let leases: Api<Lease> = Api::namespaced(client.clone(), namespace);
    let read = answered("reading the leader's Lease", leases.get_opt(lease::NAME)).await?;
    let lasts = |seconds: Option<i32>| seconds.and_then(|seconds| u32::try_from(seconds).ok()).unwrap_or_default();
    Ok(read.and_then(|lease| lease.spec).map(|spec| LeaderLease {
        holder: spec.holder_identity.filter(|holder| !holder.is_empty()),
        renewed_at: spec.renew_time.map(|time| Timestamp(time.0.as_millisecond())),
        lasts: Span::seconds(lasts(spec.lease_duration_seconds)),
    }))
}

/// Counts the reporting agents by their version.
///
/// # Errors
/// The same as for [`lease`](fn@lease).
pub async fn agents(client: &Client) -> Result<BTreeMap<String, u64>, Error> {
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

/// Compares objects with how they should be. It asks the server once for each kind.
pub struct Comparison {
    client: Client,
    kinds: BTreeMap<(String, String), Option<ApiResource>>,
}

impl Comparison {
    /// A comparison with the permissions of this client.
    #[must_use]
    pub const fn new(client: Client) -> Self {
        Self { client, kinds: BTreeMap::new() }
    }

    /// Whether an object is there and has all that it should have. What the server adds does not matter.
    ///
    /// # Errors
    /// [`Error::Server`] where it does not answer, [`Error::Credentials`] where it does not know the caller.
    pub async fn of(&mut self, wanted: &Value) -> Result<ObjectState, Error> {
        let text = |pointer: &str| wanted.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let Some(resource) = self.kind(text("/apiVersion"), text("/kind")).await? else {
            return Ok(ObjectState::Missing);
        };
        let objects: Api<DynamicObject> = match text("/metadata/namespace") {
            "" => Api::all_with(self.client.clone(), &resource),
            namespace => Api::namespaced_with(self.client.clone(), namespace, &resource),
        };
        let found = match answered(READING, objects.get_opt(text("/metadata/name"))).await {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(ObjectState::Missing),
            Err(Error::Refused { .. }) => return Ok(ObjectState::Forbidden),
            Err(trouble) => return Err(trouble),
        };
        let contents = wanted.as_object().into_iter().flatten();
        let mut contents =
            contents.filter(|(name, _)| !["apiVersion", "kind", "metadata", "status"].contains(&&***name));
        let absent = Value::Null;
        let difference = contents
            .find_map(|(name, wanted)| difference(wanted, found.data.get(name.as_str()).unwrap_or(&absent), name));
        Ok(difference.map_or(ObjectState::Same, ObjectState::Differs))
    }

    /// How the server serves a kind; none where it does not.
    async fn kind(&mut self, api_version: &str, kind: &str) -> Result<Option<ApiResource>, Error> {
        let key = (api_version.to_owned(), kind.to_owned());
        if let Some(known) = self.kinds.get(&key) {
            return Ok(known.clone());
        }
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        let wanted = GroupVersionKind::gvk(group, version, kind);
        let found = match timeout(CALL_WITHIN, kube::discovery::pinned_kind(&self.client, &wanted)).await {
            Ok(Ok((resource, _))) => Some(resource),
            Ok(Err(kube::Error::Discovery(_))) => None,
            Ok(Err(error)) if Failure::of(&error) == Failure::Absent => None,
            Ok(Err(error)) => return Err(Error::of(READING, &error)),
            Err(_) => return Err(Error::late()),
        };
        self.kinds.insert(key, found.clone());
        Ok(found)
    }
}

/// Result of a dry-run write as another client, with the caller's own permissions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OtherWriteCheck {
    /// The server accepts it.
    Accepted,
    /// A policy of Mainstay refuses it, in the server's words.
    Refused(String),
    /// It could not be tried, for the stated reason.
    Untried(String),
}

/// Tries, as a dry run, to annotate a node: one with the fence's label where there is one. Nothing is written.
///
/// # Errors
/// [`Error::Server`] where the server does not answer.
pub async fn other_write(client: &Client) -> Result<OtherWriteCheck, Error> {
    let nodes: Api<Node> = Api::all(client.clone());
    let mut name = None;
    for params in [ListParams::default().labels(FENCED).limit(1), ListParams::default().limit(1)] {
        let listed = answered("listing nodes", nodes.list(&params)).await?;
        name = name.or_else(|| listed.items.into_iter().find_map(|node| node.metadata.name));
    }
    let Some(name) = name else { return Ok(OtherWriteCheck::Untried("there is no node".to_owned())) };
    let params = PatchParams { dry_run: true, ..PatchParams::default() };
    let patch = serde_json::json!({ "metadata": { "annotations": { "mainstay.dev/doctor": "dry-run" } } });
    match timeout(CALL_WITHIN, nodes.patch_metadata(&name, &params, &Patch::Merge(&patch))).await {
        Ok(Ok(_)) => Ok(OtherWriteCheck::Accepted),
        Ok(Err(error)) => {
            let why = words(&error);
            // The server names the policy in the refusal, or its binding, or the parameter's kind.
            let is_ours = why.contains("olicy") && why.contains("mainstay");
            Ok(if is_ours { OtherWriteCheck::Refused(why) } else { OtherWriteCheck::Untried(why) })
        }
        Err(_) => Err(Error::late()),
    }
}

/// Admission policies that take the Cell as their parameter and match kinds of others on objects without the fence's label: while
/// the Cell is missing, the server refuses every client's writes to those. None where they may not be read.
///
/// # Errors
/// [`Error::Server`] where the server does not answer.
pub async fn wide_policies(client: &Client) -> Result<Option<Vec<String>>, Error> {
    let policies: Api<ValidatingAdmissionPolicy> = Api::all(client.clone());
    let listed = match answered("listing admission policies", policies.list(&ListParams::default())).await {
        Ok(listed) => listed.items,
        Err(Error::Refused { .. }) => return Ok(None),
        Err(trouble) => return Err(trouble),
    };
    let is_wide = |policy: &ValidatingAdmissionPolicy| {
        let Some(spec) = &policy.spec else { return false };
        let kind = spec.param_kind.as_ref().and_then(|kind| kind.api_version.as_deref()).unwrap_or_default();
        let matched = spec.match_constraints.as_ref();
        let selects = matched.and_then(|matched| matched.object_selector.as_ref()).is_some_and(|selector| {
            selector.match_expressions.iter().flatten().any(|one| one.key == FENCED && one.operator == "Exists")
        });
        let mut rules = matched.into_iter().flat_map(|matched| matched.resource_rules.iter().flatten());
        let beyond = rules.any(|rule| rule.api_groups.iter().flatten().any(|group| group != GROUP));
        kind.starts_with(GROUP) && beyond && !selects
    };
    Ok(Some(listed.iter().filter(|policy| is_wide(policy)).filter_map(|one| one.metadata.name.clone()).collect()))
}

/// Where the second lacks something of the first.
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

/// Tries, as the controller and without writing anything, to write what an older leader would.
pub async fn fence(mut config: Config, namespace: &str, epoch: Epoch) -> FenceCheck {
    let controller = format!("system:serviceaccount:{namespace}:mainstay-controller");
    config.auth_info.impersonate = Some(controller);
    let client = match Client::try_from(config) {
        Ok(client) => client,
        Err(error) => return FenceCheck::Untried(words(&error)),
    };
    match cell::dry_run(&client, Epoch(epoch.0.saturating_sub(1))).await {
        Ok(()) => FenceCheck::LetsThrough,
        Err(error) => {
            let said = words(&error);
            if said.contains(FENCE_MARK) { FenceCheck::Refuses } else { FenceCheck::Untried(said) }
        }
    }
}

async fn answered<T>(what: &'static str, call: impl Future<Output = kube::Result<T>>) -> Result<T, Error> {
    match timeout(CALL_WITHIN, call).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(Error::of(what, &error)),
        Err(_) => Err(Error::late()),
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
