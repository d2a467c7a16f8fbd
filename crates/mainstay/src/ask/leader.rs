//! Who leads, and when that was last heard. By the Lease, which is renewed every few seconds; the Cell says who raised the
//! epoch last, and nothing of whether that one still lives.

use mainstay_kube::{Client, Trouble, View, checkup};
use mainstay_model::{Span, Timestamp};
use serde::Serialize;

use crate::cluster;
use crate::draw::duration;
use crate::output::Problem;

/// A leader that misses one renewal may be busy; one that misses so many Leases is gone.
const SILENT_AFTER_LEASES: u64 = 3;

/// Whether somebody leads.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) enum Leads {
    /// Somebody does.
    Yes,
    /// Somebody did, and is silent.
    Silent,
    /// Nobody does.
    Nobody,
    /// The Lease may not be read.
    Unknown,
}

#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Leader {
    pub(super) leads: Leads,
    pub(super) identity: Option<String>,
    pub(super) epoch: i64,
    pub(super) heard_at: Option<i64>,
}

/// Asks.
pub(super) async fn leader(client: &Client, view: &View, namespace: &str) -> Result<Leader, Problem> {
    let status = view.cell().and_then(|cell| cell.status.as_ref());
    let epoch = status.map_or(0, |status| status.epoch);
    let raised = status.and_then(|status| status.leader.as_ref()).map(ToString::to_string);
    let lease = match checkup::lease(client, namespace).await {
        Ok(lease) => lease,
        Err(Trouble::Refused { .. }) => {
            return Ok(Leader { leads: Leads::Unknown, identity: raised, epoch, heard_at: None });
        }
        Err(trouble) => return Err(cluster::problem(&trouble)),
    };
    let heard_at = lease.as_ref().and_then(|lease| lease.renewed_at);
    let patience = lease.as_ref().map_or(Span::ZERO, |lease| Span(lease.lasts.0.saturating_mul(SILENT_AFTER_LEASES)));
    let holder = lease.and_then(|lease| lease.holder);
    let leads = match (&holder, heard_at) {
        (Some(_), Some(at)) if view.now().since(at) <= patience => Leads::Yes,
        (Some(_), Some(_) | None) => Leads::Silent,
        (None, _) => Leads::Nobody,
    };
    Ok(Leader { leads, identity: holder, epoch, heard_at: heard_at.map(|at| at.0) })
}

impl Leader {
    pub(super) fn words(&self, now: Timestamp) -> String {
        let Self { epoch, .. } = self;
        let identity = self.identity.as_deref().unwrap_or("somebody");
        let ago = self.heard_at.map(|at| duration(now.since(Timestamp(at)).0 / 1_000));
        let ago = ago.unwrap_or_else(|| "a long time".to_owned());
        match self.leads {
            Leads::Yes => format!("{identity}, epoch {epoch}, heard {ago} ago"),
            Leads::Silent => format!("{identity} has been silent for {ago}, and nobody took over"),
            Leads::Nobody => "nobody leads: nothing new is written down".to_owned(),
            Leads::Unknown if *epoch == 0 => "nobody ever led, as far as this account may see".to_owned(),
            Leads::Unknown => format!("{identity} raised epoch {epoch}; its Lease may not be read by this account"),
        }
    }
}
