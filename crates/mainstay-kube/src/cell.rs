//! Takeover: raises the epoch of the Cell by exactly one under the version that was read. Nothing is written until the
//! admission policies reject the previous epoch.

use std::time::Duration;

use kube::Client;
use kube::api::{Api, PostParams};
use mainstay_api::{CELL_NAME, Cell, CellStatus, Conditions, EPOCH, Incident, IncidentSpec};
use mainstay_model::{CellRecord, Epoch, UserName};
use tokio::time::{Instant, sleep, timeout};

use crate::error::{Backoff, CALL_WITHIN, Error, Failure, words};
use crate::write::made_by_us;

/// Attempts to raise the epoch while other clients write the Cell or the server is busy.
const TRIES_MAX: u32 = 8;
/// Time limit for the admission policies to see the new epoch. After it, this controller does not lead.
const FENCE_WITHIN: Duration = Duration::from_secs(20);
const FENCE_ASKED_EVERY: Duration = Duration::from_millis(50);
/// Extra wait, because only one of several API servers was tested.
const FENCE_SETTLES: Duration = Duration::from_millis(500);
/// Name used by the test writes. All of them are dry runs, so the incident never exists.
const PROBE: &str = "mainstay-fence-probe";

/// Raises the epoch of the Cell by one and returns the new epoch.
pub(crate) async fn take_over(client: &Client, identity: &str) -> Result<Epoch, Error> {
    let cells: Api<Cell> = Api::all(client.clone());
    let mut pauses = Backoff::new();
    let mut last = String::new();
    for _ in 0..TRIES_MAX {
        let tried = timeout(CALL_WITHIN, raise(&cells, identity)).await;
        let error = match tried {
            Ok(Ok(epoch)) => return Ok(epoch),
            Ok(Err(error)) => error,
            Err(_) => kube::Error::Service("no answer before the timeout".into()),
        };
        let failure = Failure::of(&error);
        match failure {
            Failure::Absent => {
                let hint = "the cluster has no Cell named cell; install Mainstay first";
                return Err(Error::Cell(hint.to_owned()));
            }
            // The fence lets nobody skip an epoch: somebody was faster.
            Failure::Refused | Failure::Conflict | Failure::Expired | Failure::Busy { .. } | Failure::Broken => {}
        }
        last = words(&error);
        sleep(pauses.after(&failure)).await;
    }
    Err(Error::Failed { what: "raising the epoch of the Cell", tries: TRIES_MAX, why: last })
}

async fn raise(cells: &Api<Cell>, identity: &str) -> kube::Result<Epoch> {
    let mut cell = cells.get(CELL_NAME).await?;
    let before = cell.status.as_ref().map_or(0, |status| status.epoch);
    let epoch = Epoch(u64::try_from(before).unwrap_or(0)).next();
    let leader = UserName::parse(identity).ok();
    cell.status = Some(match cell.status.take() {
        Some(status) => CellStatus { epoch: before.saturating_add(1), leader, ..status },
        None => CellStatus::of(epoch, leader, &CellRecord::default(), Conditions::default()),
    });
    cells.replace_status(CELL_NAME, &made_by_us(), &cell).await?;
    Ok(epoch)
}

/// Waits until the server rejects the previous epoch and accepts ours.
pub(crate) async fn fence_holds(client: &Client, epoch: Epoch) -> Result<(), Error> {
    let begun = Instant::now();
    let mut last = String::from("the API server accepted a write with the previous epoch");
    while begun.elapsed() < FENCE_WITHIN {
        let stale = dry_run(client, Epoch(epoch.0.saturating_sub(1))).await;
        let current = dry_run(client, epoch).await;
        match (stale, current) {
            (Err(stale), Ok(())) if Failure::of(&stale) == Failure::Refused => {
                sleep(FENCE_SETTLES).await;
                return Ok(());
            }
            (Err(stale), Ok(())) => last = words(&stale),
            (_, Err(current)) => last = words(&current),
            (Ok(()), Ok(())) => "the API server accepted a write with the previous epoch".clone_into(&mut last),
        }
        sleep(FENCE_ASKED_EVERY).await;
    }
    Err(Error::Fence(last))
}

/// A complete write as a dry run.
pub(crate) async fn dry_run(client: &Client, epoch: Epoch) -> kube::Result<()> {
    let mut probe = Incident::new(PROBE, IncidentSpec::default());
    probe.metadata.annotations = Some([(EPOCH.to_owned(), epoch.0.to_string())].into());
    let params = PostParams { dry_run: true, ..made_by_us() };
    let incidents: Api<Incident> = Api::all(client.clone());
    match timeout(CALL_WITHIN, incidents.create(&params, &probe)).await {
        Ok(answer) => answer.map(|_| ()),
        Err(_) => Err(kube::Error::Service("no answer before the timeout".into())),
    }
}
