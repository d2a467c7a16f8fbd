//! Actions of a user, executed with that user's own identity: acknowledge an incident, file a request for a node, set
//! the mode. The API server authenticates the user and checks permissions, so a user cannot choose another name.

use std::fmt::Debug;

use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use kube::api::{ObjectMeta, Patch, PatchParams, PostParams};
use kube::core::ClusterResourceScope;
use kube::{Api, Client, Resource, ResourceExt as _};
use mainstay_api::{Acknowledgement, CELL_NAME, Cell, GROUP, GpuNode, GpuNodeSpec, Incident};
use mainstay_model::{Mode, NodeName, Reason, RequestKind, UserName};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::error::{CALL_WITHIN, Error, Failure, words};
use crate::permission::{Access, may};

/// Attempts to change an object that other clients also write.
const TRIES_MAX: u32 = 5;

/// An action that a user may be permitted to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum UserAction {
    /// Acknowledge an incident.
    Acknowledge,
    /// File or withdraw a request for a node.
    Ask,
    /// Set the mode of the Cell.
    SetMode,
}

impl UserAction {
    /// All actions a user can take.
    pub const ALL: [Self; 3] = [Self::Acknowledge, Self::Ask, Self::SetMode];

    const fn resource(self) -> &'static str {
        match self {
            Self::Acknowledge => "incidents",
            Self::Ask => "gpunodes",
            Self::SetMode => "cells",
        }
    }

    /// Whether the API server permits the caller to do it.
    ///
    /// # Errors
    /// [`Error::Server`] if the server does not answer.
    pub async fn is_allowed(self, client: &Client) -> Result<bool, Error> {
        let access = Access { verb: "patch", group: Some(GROUP), resource: self.resource(), subresource: None };
        may(client, access).await
    }
}

/// User name of the caller, as the API server reports it.
///
/// # Errors
/// [`Error::Server`] if the server does not answer, [`Error::Refused`] if it reports no usable name.
pub async fn whoami(client: &Client) -> Result<UserName, Error> {
    const WHAT: &str = "asking who the caller is";
    let reviews: Api<SelfSubjectReview> = Api::all(client.clone());
    let answer = with_timeout(WHAT, reviews.create(&PostParams::default(), &SelfSubjectReview::default())).await?;
    let answer = answer.map_err(|error| trouble(WHAT, &error))?;
    let name = answer.status.and_then(|status| status.user_info?.username).unwrap_or_default();
    UserName::parse(&name).map_err(|refused| Error::Refused { what: WHAT, why: refused.to_string() })
}

/// Acknowledges an incident as the caller. Returns who acknowledged it; the first acknowledgement stays.
///
/// # Errors
/// [`Error::Refused`] if the incident does not exist or the caller lacks permission, [`Error::Failed`] if the call
/// fails.
pub async fn acknowledge(client: &Client, incident: &str) -> Result<UserName, Error> {
    const WHAT: &str = "acknowledging the incident";
    let by = whoami(client).await?;
    let written = amend::<Incident>(client, incident, WHAT, |found| {
        let mine = Acknowledgement { by: by.clone(), note: None };
        found.spec.acknowledgement.is_none().then(|| json!({ "spec": { "acknowledgement": mine } }))
    });
    let standing = written.await?.and_then(|incident| incident.spec.acknowledgement);
    standing.map(|known| known.by).ok_or_else(|| absent(WHAT, "Incident", incident))
}

/// Files a request for a node as the caller, replacing any open request. Returns the caller's user name.
///
/// # Errors
/// As [`acknowledge`].
pub async fn file_request(
    client: &Client,
    node: &NodeName,
    kind: RequestKind,
    reason: Reason,
) -> Result<UserName, Error> {
    const WHAT: &str = "filing a request for the node";
    let by = whoami(client).await?;
    let request = mainstay_api::Request { kind, reason, by: by.clone(), resolution: None };
    let change = json!({ "spec": { "request": request } });
    let written = amend::<GpuNode>(client, node.as_str(), WHAT, |_| Some(change.clone())).await?;
    if written.is_none() {
        // Nothing was ever recorded of it: the request is the first that is.
        let nodes: Api<GpuNode> = Api::all(client.clone());
        let new = GpuNode::new(node.as_str(), GpuNodeSpec { request: Some(request) });
        let made = with_timeout(WHAT, nodes.create(&PostParams::default(), &new)).await?;
        made.map_err(|error| trouble(WHAT, &error))?;
    }
    Ok(by)
}

/// Withdraws the open request for a node, of any operator.
///
/// # Errors
/// As [`acknowledge`].
pub async fn withdraw(client: &Client, node: &NodeName) -> Result<(), Error> {
    const WHAT: &str = "withdrawing the request";
    let change = |found: &GpuNode| found.spec.request.as_ref().map(|_| json!({ "spec": { "request": Value::Null } }));
    let written = amend::<GpuNode>(client, node.as_str(), WHAT, change).await?;
    written.map(|_| ()).ok_or_else(|| absent(WHAT, "GpuNode", node.as_str()))
}

/// Sets the mode of the Cell.
///
/// # Errors
/// As [`acknowledge`].
pub async fn set_mode(client: &Client, mode: Mode) -> Result<(), Error> {
    const WHAT: &str = "setting the mode";
    let change = |cell: &Cell| (cell.spec.mode != mode).then(|| json!({ "spec": { "mode": mode } }));
    let written = amend::<Cell>(client, CELL_NAME, WHAT, change).await?;
    written.map(|_| ()).ok_or_else(|| absent(WHAT, "Cell", CELL_NAME))
}

/// Changes an object under the version that was read, and reads it again after a conflict. None if it does not exist.
async fn amend<K>(
    client: &Client,
    name: &str,
    what: &'static str,
    change: impl Fn(&K) -> Option<Value>,
) -> Result<Option<K>, Error>
where
    K: Resource<DynamicType = (), Scope = ClusterResourceScope> + Clone + Debug + Serialize + DeserializeOwned,
{
    let api: Api<K> = Api::all(client.clone());
    for _ in 0..TRIES_MAX {
        let found = with_timeout(what, api.get_opt(name)).await?.map_err(|error| trouble(what, &error))?;
        let Some(found) = found else { return Ok(None) };
        let Some(mut patch) = change(&found) else { return Ok(Some(found)) };
        let as_read = ObjectMeta { resource_version: found.resource_version(), ..ObjectMeta::default() };
        if let (Some(fields), Ok(metadata)) = (patch.as_object_mut(), serde_json::to_value(as_read)) {
            fields.insert("metadata".to_owned(), metadata);
        }
        match with_timeout(what, api.patch(name, &PatchParams::default(), &Patch::Merge(&patch))).await? {
            Ok(written) => return Ok(Some(written)),
            Err(error) if Failure::of(&error) == Failure::Conflict => {}
            Err(error) => return Err(trouble(what, &error)),
        }
    }
    let why = "other clients kept changing the object".to_owned();
    Err(Error::Failed { what, tries: TRIES_MAX, why })
}

pub(crate) async fn with_timeout<T>(
    what: &'static str,
    call: impl Future<Output = Result<T, kube::Error>>,
) -> Result<Result<T, kube::Error>, Error> {
    let late = |_| Error::Failed { what, tries: 1, why: format!("no answer within {} s", CALL_WITHIN.as_secs()) };
    timeout(CALL_WITHIN, call).await.map_err(late)
}

pub(crate) fn trouble(what: &'static str, error: &kube::Error) -> Error {
    match Failure::of(error) {
        Failure::Refused | Failure::Absent | Failure::Conflict | Failure::Expired => {
            Error::Refused { what, why: words(error) }
        }
        Failure::Busy { .. } | Failure::Broken => Error::Failed { what, tries: 1, why: words(error) },
    }
}

fn absent(what: &'static str, kind: &str, name: &str) -> Error {
    Error::Refused { what, why: format!("{kind} {name} does not exist") }
}
