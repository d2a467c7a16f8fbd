//! Reads the service level objectives of a cluster with the caller's permissions.

use kube::api::ListParams;
use kube::{Api, Client};
use mainstay_api::{GROUP, Slo};

use crate::error::{Error, Failure};
use crate::user_actions::{trouble, with_timeout};

/// Kind of the objectives, as `kubectl get` names it.
pub const SLOS: &str = "slos";

/// Lists the Slo objects of a cluster, at most `slos_max` of them.
///
/// # Errors
/// [`Error::Incomplete`] if the cluster does not have the kind, [`Error::Refused`] if the caller may not list them or there are
/// more, [`Error::Failed`] if the call fails.
pub async fn slos(client: &Client, slos_max: u32) -> Result<Vec<Slo>, Error> {
    const WHAT: &str = "listing the objectives";
    let api: Api<Slo> = Api::all(client.clone());
    let page = with_timeout(WHAT, api.list(&ListParams::default().limit(slos_max))).await?;
    let page = page.map_err(|error| match Failure::of(&error) {
        Failure::Absent => Error::Incomplete(format!("the definition {SLOS}.{GROUP}")),
        Failure::Conflict | Failure::Expired | Failure::Busy { .. } | Failure::Broken | Failure::Refused => {
            trouble(WHAT, &error)
        }
    })?;
    if page.metadata.continue_.is_some_and(|token| !token.is_empty()) {
        return Err(Error::Refused { what: WHAT, why: format!("there are more than {slos_max}") });
    }
    Ok(page.items)
}
