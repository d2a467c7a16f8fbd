//! The Cell is lost: the controller can write nothing but its Lease. Other clients are refused on labelled nodes and on our own
//! kinds, and nowhere else.

use std::time::Duration;

use anyhow::Result;
use kube::Client;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::fenced_cluster::{FencedCluster, Verb, WriteMode, WriteRequest, send};
use super::operation::{EPOCH, LABELLED_NODE, prefix};
use super::{Case, ExpectedResponse};

/// Until a deleted policy or a new Cell is seen by admission; checked by polling, at most so often.
const POLLS_MAX: u32 = 200;
const POLL_EVERY: Duration = Duration::from_millis(50);

const KEPT: ExpectedResponse = ExpectedResponse::Policy("the Cell holds the epoch");
const UNLABELLED: ExpectedResponse = ExpectedResponse::Policy("needs the label mainstay.dev/fenced");
const NO_PARAMS: ExpectedResponse = ExpectedResponse::Policy("no params found");

pub(super) async fn run(world: &FencedCluster) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    let on = |prefix: String, name, verb, body| WriteRequest { prefix, name, verb, body };
    let delete_cell = on(prefix("cells"), "cell", Verb::Delete, Value::Null);
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions".to_owned();
    let policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies".to_owned();
    let mut note =
        async |what: &str, client: &Client, call: &WriteRequest, run, expected: ExpectedResponse| -> Result<()> {
            let answer = until(client, call, run, expected).await?;
            cases.push(Case { what: what.to_owned(), expected, answer });
            Ok(())
        };
    let delete_definition = on(definitions, "cells.mainstay.dev", Verb::Delete, Value::Null);
    note("anybody deletes the Cell", &world.admin, &delete_cell, WriteMode::Real, KEPT).await?;
    note("anybody deletes its definition", &world.admin, &delete_definition, WriteMode::Real, KEPT).await?;

    let drop_keeper = on(policies, "mainstay-keep-cell", Verb::Delete, Value::Null);
    note(
        "an operator deletes the policy that keeps it",
        &world.admin,
        &drop_keeper,
        WriteMode::Real,
        ExpectedResponse::Taken,
    )
    .await?;
    note("then the Cell can be deleted", &world.admin, &delete_cell, WriteMode::Real, ExpectedResponse::Taken).await?;

    let annotations = json!({ "metadata": { "annotations": { (mainstay_api::EPOCH): (EPOCH + 1).to_string() } } });
    let record = on(prefix("gpunodes"), "absent", Verb::Update, annotations.clone());
    let node = on(prefix("nodes"), "n1", Verb::Update, annotations.clone());
    let labelled = on(prefix("nodes"), LABELLED_NODE, Verb::Update, annotations.clone());
    let heartbeat = json!({ "status": { "conditions": [{ "type": "Ready", "status": "True" }] } });
    let heartbeat = on(prefix("nodes"), LABELLED_NODE, Verb::UpdateStatus, heartbeat);
    let eviction = json!({
        "apiVersion": "policy/v1", "kind": "Eviction", "metadata": { "name": "p1", "namespace": "default" },
    });
    let eviction = on(prefix("pods"), "p1", Verb::Evict, eviction);
    let pod = on(prefix("pods"), "p1", Verb::Delete, Value::Null);
    let lease = on(prefix("leases"), "mainstay-leader", Verb::Update, annotations);
    let config = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "any" } });
    let config = on(prefix("configmaps"), "any", Verb::Create, config);
    note("without it the controller records", &world.controller, &record, WriteMode::Dry, NO_PARAMS).await?;
    note("without it the controller acts", &world.controller, &labelled, WriteMode::Dry, NO_PARAMS).await?;
    note("without it the controller acts without the label", &world.controller, &node, WriteMode::Dry, UNLABELLED)
        .await?;
    note(
        "without it the controller keeps its Lease",
        &world.controller,
        &lease,
        WriteMode::Dry,
        ExpectedResponse::Taken,
    )
    .await?;
    note("without it a client writes a labelled node", &world.admin, &labelled, WriteMode::Dry, NO_PARAMS).await?;
    note("without it a client writes one of our objects", &world.admin, &record, WriteMode::Dry, NO_PARAMS).await?;
    for (what, call) in [
        ("a node", &node),
        ("the status of a labelled node", &heartbeat),
        ("an eviction", &eviction),
        ("the deletion of a pod", &pod),
        ("a kind that is in no policy", &config),
    ] {
        let what = format!("without it a client writes {what}");
        note(&what, &world.admin, call, WriteMode::Dry, ExpectedResponse::Taken).await?;
    }

    let mut cell = world.object("cells")?.clone();
    cell["metadata"] = json!({ "name": mainstay_api::CELL_NAME });
    let make = on(prefix("cells"), "cell", Verb::Create, cell);
    note("an operator creates the Cell again", &world.admin, &make, WriteMode::Real, ExpectedResponse::Taken).await?;
    note("and labelled nodes can be written again", &world.admin, &labelled, WriteMode::Dry, ExpectedResponse::Taken)
        .await?;
    let refused = ExpectedResponse::Policy("the Cell is at epoch 0");
    note("and the controller must first raise it", &world.controller, &labelled, WriteMode::Dry, refused).await?;
    Ok(cases)
}

/// The first answer as expected, else the last one.
async fn until(
    client: &Client,
    call: &WriteRequest,
    run: WriteMode,
    expected: ExpectedResponse,
) -> Result<super::WriteResponse> {
    let mut answer = send(client, call, run).await?;
    for _ in 0..POLLS_MAX {
        if expected.is_met_by(&answer) {
            break;
        }
        sleep(POLL_EVERY).await;
        answer = send(client, call, run).await?;
    }
    Ok(answer)
}
