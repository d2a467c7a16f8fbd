//! Which controller leads, by its Lease, which is renewed every few seconds. The Cell shows which controller raised the
//! epoch last, and not whether it still runs.

use mainstay_kube::{Client, Error, View, diagnostics};
use mainstay_model::{Span, Timestamp};
use mainstay_text::duration;
use mainstay_web::render::needs::Leadership;
use serde::Serialize;

use crate::kubeconfig;
use crate::output::Problem;

/// A leader that misses one renewal may be busy; after this many lease durations it counts as gone.
const SILENT_AFTER_LEASES: u64 = 3;

#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Leader {
    pub(super) leads: Leadership,
    pub(super) identity: Option<String>,
    pub(super) epoch: i64,
    pub(super) heard_at: Option<i64>,
}

/// Reads the Lease and the Cell.
pub(super) async fn leader(client: &Client, view: &View, namespace: &str) -> Result<Leader, Problem> {
    let status = view.cell().and_then(|cell| cell.status.as_ref());
    let epoch = status.map_or(0, |status| status.epoch);
    let raised = status.and_then(|status| status.leader.as_ref()).map(ToString::to_string);
    let lease = match diagnostics::lease(client, namespace).await {
        Ok(lease) => lease,
        Err(Error::Refused { .. }) => {
            return Ok(Leader { leads: Leadership::Unknown, identity: raised, epoch, heard_at: None });
        }
        Err(trouble) => return Err(kubeconfig::problem(&trouble)),
    };
    let heard_at = lease.as_ref().and_then(|lease| lease.renewed_at);
    let patience = lease.as_ref().map_or(Span::ZERO, |lease| Span(lease.lasts.0.saturating_mul(SILENT_AFTER_LEASES)));
    let holder = lease.and_then(|lease| lease.holder);
    let leads = match (&holder, heard_at) {
        (Some(_), Some(at)) if view.now().since(at) <= patience => Leadership::Held,
        (Some(_), Some(_) | None) => Leadership::Expired,
        (None, _) => Leadership::Vacant,
    };
    Ok(Leader { leads, identity: holder, epoch, heard_at: heard_at.map(|at| at.0) })
}

impl Leader {
    pub(super) fn words(&self, now: Timestamp) -> String {
        let Self { epoch, .. } = self;
        let identity = self.identity.as_deref().unwrap_or("an unknown controller");
        let ago = self.heard_at.map(|at| duration(now.since(Timestamp(at)).0 / 1_000));
        let ago = ago.unwrap_or_else(|| "an unknown time".to_owned());
        match self.leads {
            Leadership::Held => format!("{identity}, epoch {epoch}, last renewal {ago} ago"),
            Leadership::Expired => format!("none: {identity} stopped renewing its Lease {ago} ago"),
            Leadership::Vacant => "none: no new status is written".to_owned(),
            Leadership::Unknown if *epoch == 0 => {
                "unknown: no permission to read the Lease, and no epoch yet".to_owned()
            }
            Leadership::Unknown => format!("unknown: no permission to read the Lease; {identity} raised epoch {epoch}"),
        }
    }
}

/// The state of the leader's Lease in a namespace; unknown where it cannot be read.
pub(crate) async fn leadership(client: &Client, view: &View, namespace: &str) -> Leadership {
    leader(client, view, namespace).await.map_or(Leadership::Unknown, |leader| leader.leads)
}
