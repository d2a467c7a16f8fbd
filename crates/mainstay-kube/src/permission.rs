//! What the API server permits the caller.

use k8s_openapi::api::authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec};
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::time::timeout;

use crate::error::{CALL_WITHIN, Error};

/// A verb on a kind in the whole cluster.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Access<'a> {
    pub(crate) verb: &'a str,
    /// API group; none for the core group.
    pub(crate) group: Option<&'a str>,
    pub(crate) resource: &'a str,
    pub(crate) subresource: Option<&'a str>,
}

/// Asks the API server whether the caller has this access.
pub(crate) async fn may(client: &Client, access: Access<'_>) -> Result<bool, Error> {
    let owned = |text: &str| text.to_owned();
    let attributes = ResourceAttributes {
        group: access.group.map(owned),
        resource: Some(owned(access.resource)),
        subresource: access.subresource.map(owned),
        verb: Some(owned(access.verb)),
        ..ResourceAttributes::default()
    };
    let spec =
        SelfSubjectAccessReviewSpec { resource_attributes: Some(attributes), ..SelfSubjectAccessReviewSpec::default() };
    let asked = SelfSubjectAccessReview { spec, ..SelfSubjectAccessReview::default() };
    let reviews: Api<SelfSubjectAccessReview> = Api::all(client.clone());
    match timeout(CALL_WITHIN, reviews.create(&PostParams::default(), &asked)).await {
        Ok(Ok(answer)) => Ok(answer.status.is_some_and(|status| status.allowed)),
        Ok(Err(error)) => Err(Error::of("asking for the caller's permissions", &error)),
        Err(_) => Err(Error::late()),
    }
}
