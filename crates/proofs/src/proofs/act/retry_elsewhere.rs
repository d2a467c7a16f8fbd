//! Gangs of the real JobSet, real scheduler and real kube-controller-manager on a fleet in which one node in twenty
//! is bad: a gang with a pod on a bad node fails, and JobSet restarts it. With Mainstay, no pod begins on a node
//! after its first finding is stored. A second run without Mainstay shows what the failures cost. Nodes are KWOK's,
//! and this proof plays hardware, agents and queue.

mod gangs;
mod jobset;
mod run;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, ensure};
use serde_json::json;
use tempfile::TempDir;
use testbed::test_cluster::resource_path;
use testbed::{NAMESPACE, OptionalServer, TestCluster, deploy};
use xtask::{dist, output};

use crate::proofs::observe::controller::Controller;
use crate::prove::{Context, Measurement};
use jobset::JobSetController;
use run::Outcome;

const NODES: usize = 60;
const GANGS: usize = 500;
/// Bad nodes, 5 % of the fleet, in three racks, each with another fault: one fault on many nodes would look like a
/// false alarm.
const BAD: [(usize, &str); 3] = [(7, "79"), (26, "95"), (49, "119")];
/// Nodes of a pool that may be out of service.
const BUDGET: usize = 4;

pub(super) async fn measure(context: &Context) -> Result<Measurement> {
    let root = &context.workspace.root;
    let without = one_run(root, None).await?;
    output::note(format_args!("without Mainstay: {without:?}"));
    let with = one_run(root, Some(&dist::binary(&context.workspace).await?)).await?;
    output::note(format_args!("with Mainstay: {with:?}"));
    ensure!(with.nodes_failed == BAD.len() && with.nodes_found == BAD.len(), "not every bad node was found: {with:?}");
    ensure!(without.after_fault > 0, "no gang returned to a bad node without Mainstay: {without:?}");
    let part = |run: &Outcome| {
        format!(
            "{} gangs, {} pods begun, {} attempts lost, {} GPU-seconds lost, {} pods on a node after its first fault",
            run.gangs, run.pods, run.attempts_lost, run.gpu_seconds_lost, run.after_fault
        )
    };
    let detail = format!(
        "{} of {NODES} nodes are bad; with Mainstay: {}, {} after its first finding was stored; without: {}; \
         a job of 5 s stands for one of hours, and no other time is scaled",
        BAD.len(),
        part(&with),
        with.after_finding,
        part(&without)
    );
    Ok(Measurement { value: i64::try_from(with.after_finding)?, detail })
}

/// Runs all gangs on a new cluster, with this controller if there is one.
async fn one_run(root: &Path, program: Option<&Path>) -> Result<Outcome> {
    let folder = TempDir::new()?;
    let bed = TestCluster::with_nodes(NODES).named("retry").gang_label(gangs::NAME_LABEL).budget(BUDGET);
    let bed = bed.with_servers(&[OptionalServer::Scheduler]).start().await?;
    let _jobset = JobSetController::start(&bed, root, folder.path(), &gangs::gang(0)).await?;
    let controller = match program {
        Some(program) => Some(start_acting(&bed, program, folder.path()).await?),
        None => None,
    };
    let outcome = run::run(&bed, &BTreeMap::from(BAD), GANGS).await?;
    if let Some(controller) = controller {
        controller.kill().await?;
    }
    Ok(outcome)
}

async fn start_acting(bed: &TestCluster, program: &Path, folder: &Path) -> Result<Controller> {
    bed.cluster.apply(&deploy().join("allow-actions")).await?;
    let spec = json!({ "spec": { "mode": "Act" } });
    for policy in bed.list(&resource_path("fleetpolicies")).await? {
        let name = policy["metadata"]["name"].as_str().unwrap_or_default();
        bed.merge(&resource_path("fleetpolicies"), name, &spec).await?;
    }
    bed.merge(&resource_path("cells"), "cell", &spec).await?;
    let kubeconfig = bed.cluster.kubeconfig_of(NAMESPACE, "mainstay-controller").await?;
    let controller = Controller::start(program, &kubeconfig, folder).await?;
    controller.wait_until_leading().await?;
    Ok(controller)
}
