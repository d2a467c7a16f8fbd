//! The time of the Cell: approvals end when it reaches their expiry, only upwards by the controller, and none is valid without it.

use anyhow::Result;
use serde_json::{Value, json};

use super::approval_claim::{AS_OF, ApprovalClaim, EXPIRES_AT};
use super::fenced_cluster::{FencedCluster, Verb, WriteMode, WriteRequest, send_until};
use super::operation::{self, EPOCH, EpochClaim, Label, prefix};
use super::{Case, ExpectedResponse};

const LOWER: ExpectedResponse = ExpectedResponse::Policy("status.asOf is missing or earlier than the stored time");
const UNAPPROVED: ExpectedResponse = ExpectedResponse::Policy("needs an unexpired approval");

pub(super) async fn run(world: &FencedCluster) -> Result<Vec<Case>> {
    world.set_mode("Propose").await?;
    let mut cases = Vec::new();
    let mut note = async |what: &str, call: &WriteRequest, expected: ExpectedResponse| -> Result<()> {
        let answer = send_until(&world.controller, call, WriteMode::Dry, expected).await?;
        cases.push(Case { what: format!("time of the Cell: {what}"), expected, answer });
        Ok(())
    };
    let time = |as_of: Value| WriteRequest {
        prefix: prefix("cells"),
        name: mainstay_api::CELL_NAME,
        verb: Verb::UpdateStatus,
        body: json!({ "status": { "epoch": EPOCH, "asOf": as_of } }),
    };
    note("the leader raises it", &time(json!("2026-11-15T03:00:10.5Z")), ExpectedResponse::Taken).await?;
    note("the leader writes it again", &time(json!(AS_OF)), ExpectedResponse::Taken).await?;
    note("the leader lowers it", &time(json!("2026-11-15T02:59:59Z")), LOWER).await?;
    note("the leader lowers it in another zone", &time(json!("2026-11-15T03:30:00+01:00")), LOWER).await?;
    note("the leader removes it", &time(Value::Null), LOWER).await?;

    let wanted = |one: &&operation::Operation| one.verb == Verb::UpdateSpec && one.label == Label::Stored;
    let cordon = operation::ALL
        .iter()
        .find(wanted)
        .map(|operation| operation::call(*operation, EpochClaim::Current, ApprovalClaim::Approved, &Value::Null));
    for call in cordon.iter() {
        note("an approved action", call, ExpectedResponse::Taken).await?;
        for (what, as_of, expected) in [
            ("the same action at the expiry", json!(EXPIRES_AT), UNAPPROVED),
            ("the same action a moment before", json!("2026-11-15T03:59:59.999Z"), ExpectedResponse::Taken),
            ("the same action without the time", Value::Null, UNAPPROVED),
            ("the same action at the start again", json!(AS_OF), ExpectedResponse::Taken),
        ] {
            world.admin_patch("cells", Some("status"), &json!({ "status": { "asOf": as_of } })).await?;
            note(what, call, expected).await?;
        }
    }
    Ok(cases)
}
