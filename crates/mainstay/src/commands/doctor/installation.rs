//! Checks of the installed objects in installation order, and of what the admission policies do to other clients.

use mainstay_kube::diagnostics::{self, Comparison, FenceCheck, ObjectState, OtherWriteCheck};
use mainstay_kube::{Client, Config, SkipReason, View};
use mainstay_model::{Epoch, Mode};
use mainstay_text::few;
use serde_json::Value;

use super::Check;
use super::checks::{NAMES_MAX, fail, ok, unread, warn};
use crate::commands::leader::Leader;
use crate::kubeconfig;
use crate::manifests;
use crate::output::Problem;

const APPLY_DEFINITIONS: &str = "mainstay render --part crds | kubectl apply --server-side -f -";
const APPLY_POLICY: &str = "mainstay render --part policy | kubectl apply --server-side -f -";
const ADMINISTRATOR: &str = "an administrator can check them: mainstay doctor";
/// The role that an installation has that may act.
const ACTING_ROLE: &str = "mainstay-controller-acts";

/// Installed objects compared with the manifests of this version: equal, missing, different or not readable.
#[derive(Default)]
struct ComparisonSummary {
    same: u64,
    missing: Vec<String>,
    differ: Vec<String>,
    forbidden: bool,
}

impl ComparisonSummary {
    async fn of(comparison: &mut Comparison, documents: &[Value]) -> Result<Self, Problem> {
        let mut compared = Self::default();
        for document in documents {
            let name = name(document);
            match comparison.of(document).await.map_err(|trouble| kubeconfig::problem(&trouble))? {
                ObjectState::Same => compared.same += 1,
                ObjectState::Missing => compared.missing.push(name),
                // The end of the path is enough; the whole is longer than a line.
                ObjectState::Differs(at) => {
                    let end: Vec<&str> = at.rsplit('.').take(3).collect();
                    let end = end.into_iter().rev().collect::<Vec<_>>().join(".");
                    compared.differ.push(format!("{name} (…{end})"));
                }
                ObjectState::Forbidden => compared.forbidden = true,
            }
        }
        Ok(compared)
    }

    /// One line, with the worst first.
    fn check(self, what: &'static str, apply: &str) -> Check {
        if !self.missing.is_empty() {
            let says = format!("missing: {}", few(&self.missing, NAMES_MAX));
            return Check { missing: self.missing, ..fail(what, says, apply) };
        }
        if !self.differ.is_empty() {
            let says = format!("different from this version: {}", few(&self.differ, NAMES_MAX));
            return fail(what, says, format!("use the program of the installed version, or {apply}"));
        }
        if self.forbidden {
            return warn(what, "not checked: this account may not read them", ADMINISTRATOR);
        }
        ok(what, format!("all {} are there, as in this version", self.same))
    }
}

/// Kind and name, short for admission policies.
fn name(document: &Value) -> String {
    let text = |pointer: &str| document.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    match text("/kind") {
        "CustomResourceDefinition" => text("/metadata/name").to_owned(),
        kind => format!("{} {}", kind.trim_start_matches("ValidatingAdmission"), text("/metadata/name")),
    }
}

fn is_fence(document: &Value) -> bool {
    document["kind"].as_str().is_some_and(|kind| kind.starts_with("ValidatingAdmissionPolicy"))
}

/// Definitions, roles, policies, the Cell and the workloads.
pub(super) async fn all(client: &Client, view: &View, namespace: &str) -> Result<Vec<Check>, Problem> {
    let mut comparison = Comparison::new(client.clone());
    let definitions = ComparisonSummary::of(&mut comparison, &manifests::crds(None)?).await?;
    let mut checks = vec![definitions.check("Definitions", APPLY_DEFINITIONS)];

    let (mut fences, mut roles): (Vec<Value>, Vec<Value>) =
        manifests::policy(namespace)?.into_iter().partition(is_fence);
    roles.retain(|document| document["kind"] != "Cell");
    let mut apply = APPLY_POLICY.to_owned();
    let (acting_fences, acting_roles): (Vec<Value>, Vec<Value>) =
        manifests::acting(namespace)?.into_iter().partition(is_fence);
    if is_acting(&mut comparison, &acting_roles).await? {
        fences.extend(acting_fences);
        roles.extend(acting_roles);
        apply = APPLY_POLICY.replace("--part policy", "--part policy --allow-actions");
    }
    checks.push(ComparisonSummary::of(&mut comparison, &roles).await?.check("Roles", &apply));
    checks.push(cell(view));
    checks.push(ComparisonSummary::of(&mut comparison, &fences).await?.check("Fence", &apply));
    checks.push(workloads(&mut comparison, namespace).await?);
    Ok(checks)
}

/// Whether the controller has the permission to act.
async fn is_acting(comparison: &mut Comparison, roles: &[Value]) -> Result<bool, Problem> {
    for role in roles.iter().filter(|role| role["metadata"]["name"] == ACTING_ROLE) {
        match comparison.of(role).await.map_err(|trouble| kubeconfig::problem(&trouble))? {
            ObjectState::Same | ObjectState::Differs(_) => return Ok(true),
            ObjectState::Missing | ObjectState::Forbidden => {}
        }
    }
    Ok(false)
}

fn cell(view: &View) -> Check {
    const WHAT: &str = "Cell";
    if let Some(notice) = view.mode_notice() {
        return warn(WHAT, notice, "set spec.mode of the Cell to Observe");
    }
    match (view.cell().map(|cell| cell.spec.mode), unread(view, "cells")) {
        (Some(Mode::Observe), _) => ok(WHAT, "mode Observe: no node, pod or job is changed"),
        (Some(mode), _) => ok(WHAT, format!("mode {mode:?}")),
        (None, Some(SkipReason::Forbidden)) => {
            warn(WHAT, "this account may not read it", "ask an administrator for the ClusterRole mainstay-viewer")
        }
        (None, Some(SkipReason::NotInstalled)) => missing_cell("missing, and so is its definition", APPLY_DEFINITIONS),
        (None, None) => missing_cell("missing", APPLY_POLICY),
    }
}

fn missing_cell(says: &str, hint: &str) -> Check {
    Check { missing: vec!["Cell cell".to_owned()], ..fail("Cell", says, hint) }
}

/// The controller and the agents as workloads of the cluster. Their contents are the operator's to set.
async fn workloads(comparison: &mut Comparison, namespace: &str) -> Result<Check, Problem> {
    const WHAT: &str = "Workloads";
    let mut documents = manifests::workloads(namespace)?;
    documents.retain(|document| ["Deployment", "DaemonSet"].map(Value::from).contains(&document["kind"]));
    let compared = ComparisonSummary::of(comparison, &documents).await?;
    Ok(if !compared.missing.is_empty() {
        let says = format!("missing in namespace {namespace}: {}", few(&compared.missing, NAMES_MAX));
        let apply =
            "mainstay render --part workloads --image IMAGE --agent-image IMAGE | kubectl apply --server-side -f -";
        Check { missing: compared.missing, ..warn(WHAT, says, apply) }
    } else if compared.forbidden {
        warn(WHAT, "not checked: this account may not read them", ADMINISTRATOR)
    } else {
        ok(WHAT, "the controller and the agents are installed")
    })
}

/// Whether the API server refuses other clients' writes because of Mainstay.
pub(super) async fn other_clients(client: &Client, view: &View) -> Result<Check, Problem> {
    const WHAT: &str = "Other writes";
    let remedy = "kubectl delete validatingadmissionpolicybinding";
    let wide = diagnostics::wide_policies(client).await.map_err(|trouble| kubeconfig::problem(&trouble))?;
    let tried = diagnostics::other_write(client).await.map_err(|trouble| kubeconfig::problem(&trouble))?;
    let names = few(wide.as_deref().unwrap_or_default(), NAMES_MAX);
    let no_cell = view.cell().is_none() && unread(view, "cells") != Some(SkipReason::Forbidden);
    Ok(match tried {
        OtherWriteCheck::Refused(why) => fail(
            WHAT,
            format!("REFUSED: the API server refuses a write to a node because of Mainstay: {why}"),
            format!("at once: {remedy} mainstay-fence mainstay-fence-actions; then {APPLY_POLICY}"),
        ),
        OtherWriteCheck::Accepted | OtherWriteCheck::Untried(_) if !names.is_empty() && no_cell => fail(
            WHAT,
            format!(
                "REFUSED: the Cell is missing, so policy {names} makes the API server refuse node or pod writes of every client"
            ),
            format!("at once: {remedy} {}; then {APPLY_POLICY}", wide.unwrap_or_default().join(" ")),
        ),
        OtherWriteCheck::Accepted | OtherWriteCheck::Untried(_) if !names.is_empty() => warn(
            WHAT,
            format!("{names} matches nodes or pods of every client: without the Cell their writes would be refused"),
            APPLY_POLICY,
        ),
        OtherWriteCheck::Accepted => ok(WHAT, "accepted: an annotation on a node (dry run)"),
        OtherWriteCheck::Untried(why) if wide.is_some() => {
            ok(WHAT, format!("no policy of Mainstay matches other clients' nodes or pods; not tried: {why}"))
        }
        OtherWriteCheck::Untried(why) => warn(WHAT, format!("not tried: {why}"), ADMINISTRATOR),
    })
}

/// Whether the fence refuses an older leader, once there has been a leader.
pub(super) async fn in_force(view: &View, config: Config, namespace: &str, leader: &Leader) -> Check {
    const WHAT: &str = "In force";
    let epoch = Epoch(u64::try_from(leader.epoch).unwrap_or(0));
    if epoch.0 == 0 && unread(view, "cells") != Some(SkipReason::Forbidden) {
        return ok(WHAT, "not tried yet: no controller has led, so there is no older leader");
    }
    match diagnostics::fence(config, namespace, epoch).await {
        FenceCheck::Refuses => ok(WHAT, "a write of an older leader was refused (dry run)"),
        FenceCheck::LetsThrough => fail(
            WHAT,
            "the API server accepted a dry-run write of a former leader, so a stale controller could still write",
            APPLY_POLICY,
        ),
        FenceCheck::Untried(_) if leader.epoch > 0 => warn(
            WHAT,
            format!("this account cannot test the fence; the leader tested it before it took epoch {}", leader.epoch),
            "to test it, use an account that may impersonate the controller's account",
        ),
        FenceCheck::Untried(why) => warn(WHAT, format!("not tried: {why}"), ADMINISTRATOR),
    }
}
