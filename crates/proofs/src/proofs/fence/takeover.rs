//! A takeover with real writes: the new leader raises the cell by exactly one, and the old one's writes stop.

use std::time::Duration;

use anyhow::{Result, bail};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::fenced_cluster::{FencedCluster, Verb, WriteMode, WriteRequest, send};
use super::operation::{EPOCH, LABELLED_NODE, prefix, taints};
use super::{Case, ExpectedResponse};

const REFUSED_AT_MOST: Duration = Duration::from_secs(10);

/// The cases, and how long after the answered takeover the first refusal of the old leader came.
pub(super) async fn run(world: &FencedCluster) -> Result<(Vec<Case>, Duration)> {
    world.set_mode("Act").await?;
    let raise = |epoch: i64| WriteRequest {
        prefix: prefix("cells"),
        name: mainstay_api::CELL_NAME,
        verb: Verb::UpdateStatus,
        body: json!({ "status": { "epoch": epoch } }),
    };
    let taint = |epoch: i64| WriteRequest {
        prefix: prefix("nodes"),
        name: LABELLED_NODE,
        verb: Verb::UpdateSpec,
        body: json!({
            "metadata": {
                "annotations": { (mainstay_api::EPOCH): epoch.to_string() }, "labels": { (mainstay_api::FENCED): "" },
            },
            "spec": { "taints": taints(&[(mainstay_api::TAINT, "NoSchedule")]) },
        }),
    };
    let mut cases = Vec::new();
    let mut try_for_real = async |what: &str, call: WriteRequest, expected| -> Result<()> {
        let answer = send(&world.controller, &call, WriteMode::Real).await?;
        cases.push(Case { what: what.to_owned(), expected, answer });
        Ok(())
    };
    try_for_real("the leader cordons", taint(EPOCH), ExpectedResponse::Taken).await?;
    try_for_real("a leader skips an epoch", raise(EPOCH + 2), ExpectedResponse::Policy("this write carries epoch"))
        .await?;
    try_for_real("a new leader raises the cell by one", raise(EPOCH + 1), ExpectedResponse::Taken).await?;

    // The policy sees the new epoch a moment later: that is why a leader waits for a refused dry run before it acts.
    let raised = Instant::now();
    let refused_after = loop {
        if send(&world.controller, &taint(EPOCH), WriteMode::Dry).await?.code == 403 {
            break raised.elapsed();
        }
        if raised.elapsed() > REFUSED_AT_MOST {
            bail!("the old leader was still heard {} s after the takeover", REFUSED_AT_MOST.as_secs());
        }
    };
    try_for_real("the old leader cordons", taint(EPOCH), ExpectedResponse::Policy("this write carries epoch")).await?;
    try_for_real(
        "the old leader lowers the cell",
        raise(EPOCH),
        ExpectedResponse::Invalid("another leader has taken over"),
    )
    .await?;
    try_for_real("the new leader cordons", taint(EPOCH + 1), ExpectedResponse::Taken).await?;
    let delete = WriteRequest { prefix: prefix("incidents"), name: "ahead", verb: Verb::Delete, body: Value::Null };
    try_for_real("the new leader deletes what it announced", delete, ExpectedResponse::Taken).await?;
    let delete = WriteRequest { prefix: prefix("incidents"), name: "current", verb: Verb::Delete, body: Value::Null };
    try_for_real(
        "a deletion announced by the old leader",
        delete,
        ExpectedResponse::Policy("this write carries epoch"),
    )
    .await?;
    Ok((cases, refused_after))
}
