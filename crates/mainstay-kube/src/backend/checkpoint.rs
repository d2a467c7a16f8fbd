//! Checkpoint requests: created once for each gang and drain, and never changed. The job answers in the status.

use std::time::Duration;

use kube::api::{Api, ListParams, ObjectMeta};
use mainstay_act::Reply;
use mainstay_api::{CheckpointRequest, CheckpointRequestSpec};
use mainstay_model::{Effect, Epoch, GangId, Outcome, Reason, Step, Timestamp, short_digest};

use super::node_patch::signature;
use super::{ClusterBackend, LATER, Read, calls, read, replied};
use crate::error::Failure;

/// Largest number of gangs that save at the same time. Shared storage has to carry them.
const SAVING_MAX: usize = 8;
/// Longest part of a request's name that comes from the action's id.
const NAME_BYTES_MAX: usize = 180;

/// A request that does not exist yet.
pub(crate) type NewRequest = CheckpointRequest;

impl ClusterBackend {
    /// The request of an effect; none if it exists.
    pub(super) async fn new_request(&self, effect: &Effect) -> Read<Option<NewRequest>> {
        let Some(request) = request(effect, self.epoch) else { return Ok(None) };
        let namespace = request.metadata.namespace.as_deref().unwrap_or_default();
        let requests: Api<CheckpointRequest> = Api::namespaced(self.client.clone(), namespace);
        let name = request.metadata.name.as_deref().unwrap_or_default();
        let known = read(requests.get_metadata_opt(name)).await?;
        Ok(known.is_none().then_some(request))
    }

    /// Creates the request, if a gang may save now.
    pub(super) async fn ask(&self, request: &NewRequest, within: Duration) -> Reply {
        let _counted = self.asking.lock().await;
        let requests: Api<CheckpointRequest> = Api::all(self.client.clone());
        let saving = match read(requests.list(&ListParams::default())).await {
            Ok(all) => all.items.iter().filter(|request| is_open(request, now())).count(),
            Err(mainstay_act::Failure(why)) => return Reply::Later { after: LATER, why },
        };
        if saving >= SAVING_MAX {
            let why = format!("{saving} jobs save a checkpoint now; the maximum is {SAVING_MAX}");
            return Reply::Later { after: LATER, why: Reason::lossy(&why) };
        }
        let namespace = request.metadata.namespace.as_deref().unwrap_or_default();
        let path = format!("/apis/mainstay.dev/v1alpha1/namespaces/{namespace}/checkpointrequests");
        let answer = calls::create(&self.client, &path, request, within).await;
        let exists = matches!(&answer, Ok(Err(error)) if Failure::of(error) == Failure::Conflict);
        if exists { Reply::Ended(Outcome::Applied) } else { replied(answer) }
    }
}

fn now() -> Timestamp {
    Timestamp(jiff::Timestamp::now().as_millisecond())
}

/// Whether a gang may be saving because of this request.
fn is_open(request: &CheckpointRequest, now: Timestamp) -> bool {
    request.status.is_none() && Timestamp::from(request.spec.acknowledge_by) > now
}

fn request(effect: &Effect, epoch: Epoch) -> Option<NewRequest> {
    let Step::AskCheckpoint { gang, drain, urgency, answer_by } = &effect.step else { return None };
    let spec = CheckpointRequestSpec {
        gang: gang.name.clone(),
        action: effect.id.clone(),
        node: Some(effect.node.clone()),
        draining_since: Some((*drain).into()),
        reason: Reason::lossy(&format!("node {} has to leave service: rule {}", effect.node, effect.rule)),
        urgency: *urgency,
        acknowledge_by: (*answer_by).into(),
    };
    let mut request = CheckpointRequest::new(&name(effect, gang, *drain), spec);
    let annotations = signature(effect, epoch).map(|(key, value)| (key.to_owned(), value)).into();
    request.metadata =
        ObjectMeta { namespace: Some(gang.namespace.to_string()), annotations: Some(annotations), ..request.metadata };
    Some(request)
}

/// Name of the request of one drain to one gang, the same for every leader. Two gangs of a namespace differ in the last part.
fn name(effect: &Effect, gang: &GangId, drain: Timestamp) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c.to_ascii_lowercase() } else { '-' };
    let action: String = effect.id.to_string().chars().map(plain).take(NAME_BYTES_MAX).collect();
    let action = action.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    format!("{action}-{:x}-{:08x}", drain.0, short_digest(gang.name.as_str()))
}

#[cfg(test)]
mod tests;
