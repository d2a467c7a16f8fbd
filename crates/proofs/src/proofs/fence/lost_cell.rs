//! The Cell or its definition is lost or broken: the controller can write nothing but its Lease. Other clients are refused on labelled
//! objects and on our own kinds, and nowhere else.

use anyhow::{Context as _, Result};
use kube::Client;
use kube::api::{GetParams, Patch, PatchParams};
use kube::core::Request;
use serde_json::{Value, json};

use super::fenced_cluster::{FencedCluster, Verb, WriteMode, WriteRequest, send_until};
use super::operation::{EPOCH, LABELLED_NODE, prefix};
use super::other_clients::{self, CellState};
use super::{Case, ExpectedResponse};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const DEFINITION: &str = "cells.mainstay.dev";
const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";

const TAKEN: ExpectedResponse = ExpectedResponse::Taken;
const KEPT: ExpectedResponse = ExpectedResponse::Policy("the Cell holds the epoch");
const UNLABELLED: ExpectedResponse = ExpectedResponse::Policy("needs the label mainstay.dev/fenced");
const NO_PARAMS: ExpectedResponse = ExpectedResponse::Policy("no params found");
/// The server has two messages for a kind of parameter that it does not serve; which one depends on what it tried last.
const UNRESOLVED: ExpectedResponse = ExpectedResponse::Policy("paramKind");

pub(super) async fn run(world: &FencedCluster) -> Result<Vec<Case>> {
    let mut cases = other_clients::run(world, CellState::Present).await?;
    cases.extend(not_served(world).await?);
    cases.extend(lost(world).await?);
    cases.extend(undefined(world).await?);
    Ok(cases)
}

/// Cases in the order in which they are tried.
#[derive(Default)]
struct Cases(Vec<Case>);

impl Cases {
    async fn note(
        &mut self,
        what: &str,
        client: &Client,
        call: &WriteRequest,
        run: WriteMode,
        expected: ExpectedResponse,
    ) -> Result<()> {
        let answer = send_until(client, call, run, expected).await?;
        self.0.push(Case { what: what.to_owned(), expected, answer });
        Ok(())
    }
}

fn on(prefix: impl Into<String>, name: &'static str, verb: Verb, body: Value) -> WriteRequest {
    WriteRequest { prefix: prefix.into(), name, verb, body }
}

/// A write of the controller to a labelled node.
fn labelled() -> WriteRequest {
    let annotations = json!({ "metadata": { "annotations": { (mainstay_api::EPOCH): (EPOCH + 1).to_string() } } });
    on(prefix("nodes"), LABELLED_NODE, Verb::Update, annotations)
}

/// The server serves no version of the definition, as after a mistaken edit.
async fn not_served(world: &FencedCluster) -> Result<Vec<Case>> {
    serve(world, false).await?;
    let mut cases = Cases(other_clients::run(world, CellState::NotServed).await?);
    serve(world, true).await?;
    let what = "once the definition is served again, the controller writes";
    cases.note(what, &world.controller, &labelled(), WriteMode::Dry, TAKEN).await?;
    Ok(cases.0)
}

async fn serve(world: &FencedCluster, is_served: bool) -> Result<()> {
    let request = Request::new(DEFINITIONS).get(DEFINITION, &GetParams::default())?;
    let stored: Value = world.admin.request(request).await?;
    let mut versions = stored["spec"]["versions"].clone();
    versions[0]["served"] = json!(is_served);
    let patch = json!({ "spec": { "versions": versions } });
    let request = Request::new(DEFINITIONS).patch(DEFINITION, &PatchParams::default(), &Patch::Merge(&patch))?;
    world.admin.request::<Value>(request).await.context("the definition is not changed")?;
    Ok(())
}

/// The Cell is deleted, which takes two steps on purpose, and created again.
async fn lost(world: &FencedCluster) -> Result<Vec<Case>> {
    let (mut cases, dry) = (Cases::default(), WriteMode::Dry);
    let delete_cell = on(prefix("cells"), "cell", Verb::Delete, Value::Null);
    let delete_definition = on(DEFINITIONS, DEFINITION, Verb::Delete, Value::Null);
    cases.note("anybody deletes the Cell", &world.admin, &delete_cell, WriteMode::Real, KEPT).await?;
    cases.note("anybody deletes its definition", &world.admin, &delete_definition, WriteMode::Real, KEPT).await?;
    let drop_keeper = on(POLICIES, "mainstay-keep-cell", Verb::Delete, Value::Null);
    let what = "an operator deletes the policy that keeps it";
    cases.note(what, &world.admin, &drop_keeper, WriteMode::Real, TAKEN).await?;
    cases.note("then the Cell can be deleted", &world.admin, &delete_cell, WriteMode::Real, TAKEN).await?;

    let annotations = json!({ "metadata": { "annotations": { (mainstay_api::EPOCH): (EPOCH + 1).to_string() } } });
    let record = on(prefix("gpunodes"), "absent", Verb::Update, annotations.clone());
    let node = on(prefix("nodes"), "n1", Verb::Update, annotations.clone());
    let lease = on(prefix("leases"), "mainstay-leader", Verb::Update, annotations);
    let pod = on(prefix("pods"), "p1", Verb::Delete, Value::Null);
    let config = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "any" } });
    let config = on(prefix("configmaps"), "any", Verb::Create, config);
    let (ours, admin) = (&world.controller, &world.admin);
    for (what, client, call, expected) in [
        ("the controller records", ours, &record, NO_PARAMS),
        ("the controller acts", ours, &labelled(), NO_PARAMS),
        ("the controller acts without the label", ours, &node, UNLABELLED),
        ("the controller keeps its Lease", ours, &lease, TAKEN),
        ("a client writes one of our objects", admin, &record, NO_PARAMS),
        ("a client deletes a pod", admin, &pod, TAKEN),
        ("a client writes a kind that is in no policy", admin, &config, TAKEN),
    ] {
        cases.note(&format!("without the Cell {what}"), client, call, dry, expected).await?;
    }
    cases.0.extend(other_clients::run(world, CellState::Missing).await?);

    let mut cell = world.object("cells")?.clone();
    cell["metadata"] = json!({ "name": mainstay_api::CELL_NAME });
    let make = on(prefix("cells"), "cell", Verb::Create, cell);
    cases.note("an operator creates the Cell again", admin, &make, WriteMode::Real, TAKEN).await?;
    cases.note("and labelled nodes can be written again", admin, &labelled(), dry, TAKEN).await?;
    let refused = ExpectedResponse::Policy("the Cell is at epoch 0");
    cases.note("and the controller must first raise it", ours, &labelled(), dry, refused).await?;
    Ok(cases.0)
}

/// The definition is deleted, and the Cell with it. Then the policies are created again, so that the server looks the definition up.
async fn undefined(world: &FencedCluster) -> Result<Vec<Case>> {
    let mut cases = Cases::default();
    let delete = on(DEFINITIONS, DEFINITION, Verb::Delete, Value::Null);
    cases.note("an operator deletes the definition of the Cell", &world.admin, &delete, WriteMode::Real, TAKEN).await?;
    cases.0.extend(other_clients::run(world, CellState::Undefined).await?);
    for name in ["mainstay-fence", "mainstay-fence-actions"] {
        let delete = on(POLICIES, name, Verb::Delete, Value::Null);
        let what = format!("an operator deletes the policy {name}");
        cases.note(&what, &world.admin, &delete, WriteMode::Real, TAKEN).await?;
    }
    let what = "without its policy a labelled node can be written";
    cases.note(what, &world.admin, &labelled(), WriteMode::Dry, TAKEN).await?;
    for file in ["policy/20-fence.yaml", "allow-actions/10-fence.yaml"] {
        world.cluster.apply(&testbed::deploy().join(file)).await?;
    }
    let what = "with its policy, before the definition, a labelled node cannot be written";
    cases.note(what, &world.admin, &labelled(), WriteMode::Dry, UNRESOLVED).await?;
    cases.0.extend(other_clients::run(world, CellState::Unresolved).await?);
    Ok(cases.0)
}
