//! Orders to nodes: only the controller writes them. An administrator can neither add nor remove one, and can write everything else
//! of a GpuNode.

use anyhow::Result;
use kube::Client;
use serde_json::{Value, json};

use super::fenced_cluster::{FencedCluster, Verb, WriteMode, WriteRequest, send, send_until};
use super::operation::{EPOCH, gpu_node_status, order, prefix};
use super::{Case, ExpectedResponse};

const NOT_THEIRS: ExpectedResponse = ExpectedResponse::Policy("only the controller writes status.orders");
const OLDER: ExpectedResponse = ExpectedResponse::Invalid("another leader has taken over");

pub(super) async fn run(world: &FencedCluster) -> Result<Vec<Case>> {
    world.set_mode("Act").await?;
    let mut cases = Vec::new();
    let mut note =
        async |what: &str, client: &Client, call: &WriteRequest, run, expected: ExpectedResponse| -> Result<()> {
            let answer = match run {
                WriteMode::Dry => send_until(client, call, run, expected).await?,
                WriteMode::Real => send(client, call, run).await?,
            };
            cases.push(Case { what: format!("orders: {what}"), expected, answer });
            Ok(())
        };
    let on = |name, verb, body| WriteRequest { prefix: prefix("gpunodes"), name, verb, body };
    let status = |orders: Value| {
        let mut status = gpu_node_status(&orders, None);
        status["epoch"] = json!(EPOCH);
        on("absent", Verb::Order, json!({ "status": status }))
    };
    let (taken, admin) = (ExpectedResponse::Taken, &world.admin);
    note(
        "an administrator writes a first status with an order",
        admin,
        &status(json!([order("a")])),
        WriteMode::Dry,
        NOT_THEIRS,
    )
    .await?;
    note("an administrator writes a first status without one", admin, &status(json!([])), WriteMode::Dry, taken)
        .await?;
    note("the controller writes an order", &world.controller, &status(json!([order("a")])), WriteMode::Real, taken)
        .await?;
    note(
        "an administrator adds a second order",
        admin,
        &status(json!([order("a"), order("b")])),
        WriteMode::Dry,
        NOT_THEIRS,
    )
    .await?;
    note("an administrator changes an order", admin, &status(json!([order("b")])), WriteMode::Dry, NOT_THEIRS).await?;
    note("an administrator removes the order", admin, &status(json!([])), WriteMode::Dry, NOT_THEIRS).await?;
    let gone = on("absent", Verb::UpdateStatus, json!({ "status": null }));
    note("an administrator removes the status", admin, &gone, WriteMode::Dry, OLDER).await?;
    let message = on("absent", Verb::UpdateStatus, json!({ "status": { "message": "checked by hand" } }));
    note("an administrator writes another field of the status", admin, &message, WriteMode::Dry, taken).await?;
    let hold = json!({ "spec": { "request": { "kind": "Hold", "reason": "vendor case", "by": "ana" } } });
    note("an administrator files a request", admin, &on("absent", Verb::UpdateSpec, hold), WriteMode::Dry, taken)
        .await?;
    note(
        "an administrator deletes the GpuNode",
        admin,
        &on("absent", Verb::Delete, Value::Null),
        WriteMode::Dry,
        taken,
    )
    .await?;
    let mut copy = world.object("gpunodes")?.clone();
    copy["metadata"] = json!({ "name": "copy" });
    copy["status"] = status(json!([order("a")])).body["status"].clone();
    note(
        "a copy with orders is created, which stores no status",
        admin,
        &on("copy", Verb::Create, copy),
        WriteMode::Dry,
        taken,
    )
    .await?;
    note("the controller ends the order", &world.controller, &status(json!([])), WriteMode::Real, taken).await?;
    Ok(cases)
}
