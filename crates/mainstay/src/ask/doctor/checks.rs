//! The checks, each one line.

use std::collections::BTreeSet;

use mainstay_kube::checkup::{self, Fence, Standing};
use mainstay_kube::people::Act;
use mainstay_kube::{Client, Config, Trouble, UnreadWhy, View};
use mainstay_model::{Epoch, Mode, Timestamp};

use super::{Check, Level};
use crate::ask::leader::{Leader, Leads};
use crate::ask::status::SILENT_AFTER;
use crate::cluster;
use crate::draw::{counted, few, thousands};
use crate::manifests;
use crate::output::Problem;

/// Names in one line.
const NAMES_MAX: usize = 4;
/// The oldest minor version of Kubernetes whose admission policies do what the fence needs.
const OLDEST_MINOR: u32 = 33;

fn ok(what: &'static str, says: impl Into<String>) -> Check {
    Check { level: Level::Ok, what, says: says.into(), hint: None }
}

fn warn(what: &'static str, says: impl Into<String>, hint: impl Into<String>) -> Check {
    Check { level: Level::Warn, what, says: says.into(), hint: Some(hint.into()) }
}

fn fail(what: &'static str, says: impl Into<String>, hint: impl Into<String>) -> Check {
    Check { level: Level::Fail, what, says: says.into(), hint: Some(hint.into()) }
}

pub(super) async fn server(client: &Client) -> Result<Check, Problem> {
    const WHAT: &str = "API server";
    let version = checkup::version(client).await.map_err(|trouble| cluster::problem(&trouble))?;
    let minor = version.trim_start_matches('v').split('.').nth(1).and_then(|minor| minor.parse::<u32>().ok());
    Ok(match minor {
        Some(minor) if minor < OLDEST_MINOR => fail(
            WHAT,
            format!("{version} answers, and is older than 1.{OLDEST_MINOR}"),
            "update the cluster: Mainstay is not tried on it.",
        ),
        Some(_) | None => ok(WHAT, format!("{version} answers")),
    })
}

/// Where several objects stand.
#[derive(Default)]
struct Stood {
    same: u64,
    missing: Vec<String>,
    differ: Vec<String>,
    forbidden: Vec<String>,
}

async fn stood(client: &Client, documents: &[serde_json::Value]) -> Result<Stood, Problem> {
    let mut stood = Stood::default();
    for document in documents {
        let name = document.pointer("/metadata/name").and_then(serde_json::Value::as_str).unwrap_or_default();
        let standing = checkup::compare(client, document).await.map_err(|trouble| cluster::problem(&trouble))?;
        match standing {
            Standing::Same => stood.same += 1,
            Standing::Missing => stood.missing.push(name.to_owned()),
            // The end of the way tells what it is; all of it is longer than a line.
            Standing::Differs(at) => {
                let end: Vec<&str> = at.rsplit('.').take(3).collect();
                stood.differ.push(format!("{name} (…{})", end.into_iter().rev().collect::<Vec<_>>().join(".")));
            }
            Standing::Forbidden => stood.forbidden.push(name.to_owned()),
        }
    }
    Ok(stood)
}

pub(super) async fn definitions(client: &Client) -> Result<Check, Problem> {
    const WHAT: &str = "Definitions";
    let apply = "mainstay render --part crds | kubectl apply --server-side -f -";
    let stood = stood(client, &manifests::crds(None)?).await?;
    Ok(match (stood.missing.as_slice(), stood.differ.as_slice(), stood.forbidden.as_slice()) {
        ([], [], []) => ok(WHAT, format!("all {} are there, as this program knows them", stood.same)),
        ([_, ..] | [], _, _) if !stood.missing.is_empty() => {
            fail(WHAT, format!("missing: {}", few(&stood.missing, NAMES_MAX)), apply)
        }
        (_, [_, ..], _) => fail(
            WHAT,
            format!("another version than this program's: {}", few(&stood.differ, NAMES_MAX)),
            format!("use the program of that version, or {apply}"),
        ),
        (_, [], _) => warn(
            WHAT,
            "this account may not read customresourcedefinitions, so they are not compared",
            "an administrator can: mainstay doctor",
        ),
    })
}

pub(super) async fn fence(
    client: &Client,
    config: Config,
    namespace: &str,
    leader: &Leader,
) -> Result<[Check; 2], Problem> {
    const WHAT: &str = "Fence";
    let apply = "mainstay render --part policy | kubectl apply --server-side -f -";
    let mut documents = manifests::policy(namespace)?;
    documents.retain(|one| one["kind"].as_str().is_some_and(|kind| kind.starts_with("ValidatingAdmissionPolicy")));
    let stood = stood(client, &documents).await?;
    let there = if !stood.missing.is_empty() {
        fail(WHAT, format!("missing: {}", few(&stood.missing, NAMES_MAX)), apply)
    } else if !stood.differ.is_empty() {
        fail(WHAT, format!("another than this program's: {}", few(&stood.differ, NAMES_MAX)), apply)
    } else if stood.forbidden.is_empty() {
        ok(WHAT, format!("all {} policies and bindings are there, as this program knows them", stood.same))
    } else {
        warn(WHAT, "this account may not read admission policies", "an administrator can: mainstay doctor")
    };
    const FORCE: &str = "In force";
    let epoch = Epoch(u64::try_from(leader.epoch).unwrap_or(0));
    let force = match checkup::fence(config, namespace, epoch).await {
        Fence::Refuses => ok(FORCE, "a write of an older leader was refused (dry run)"),
        Fence::LetsThrough => fail(FORCE, "a write of an older leader was let through (dry run)", apply),
        Fence::Untried(_) if leader.epoch > 0 => warn(
            FORCE,
            format!("not tried by this account; the leader tried it before it took epoch {}", leader.epoch),
            "it takes the right to impersonate the controller's account",
        ),
        Fence::Untried(why) => {
            warn(FORCE, format!("could not be tried: {why}"), "an administrator can: mainstay doctor")
        }
    };
    Ok([there, force])
}

pub(super) fn cell(view: &View) -> Check {
    const WHAT: &str = "Cell";
    let forbidden = view.unread().iter().any(|one| one.kind == "cells" && one.why == UnreadWhy::Forbidden);
    match view.cell().map(|cell| cell.spec.mode) {
        Some(Mode::Observe) => ok(WHAT, "mode Observe: nothing is touched"),
        Some(mode) => ok(WHAT, format!("mode {mode:?}")),
        None if forbidden => warn(WHAT, "this account may not read it", "ask for the ClusterRole mainstay-viewer"),
        None => fail(WHAT, "there is none", "mainstay render --part policy | kubectl apply --server-side -f -"),
    }
}

pub(super) fn leader(view: &View, leader: &Leader) -> Check {
    const WHAT: &str = "Leader";
    let says = leader.words(view.now());
    let pods = "look at its pods: kubectl --namespace mainstay-system get pods, and at what they log";
    match leader.leads {
        Leads::Yes => ok(WHAT, says),
        Leads::Silent | Leads::Nobody => fail(WHAT, says, pods),
        Leads::Unknown => warn(WHAT, says, "ask for get on the Lease mainstay-leader"),
    }
}

pub(super) fn agents(view: &View) -> Check {
    const WHAT: &str = "Agents";
    let registered = || view.nodes().iter().filter(|(_, seen)| seen.facts.is_some());
    let is_silent = |at: Option<Timestamp>| at.is_none_or(|at| view.now().since(at) > SILENT_AFTER);
    let silent: Vec<String> =
        registered().filter(|(_, seen)| is_silent(seen.reported_at)).map(|(name, _)| name.to_string()).collect();
    let all = u64::try_from(registered().count()).unwrap_or(u64::MAX);
    if view.unread().iter().any(|one| one.kind == "nodereports") {
        return warn(WHAT, "their reports may not be read", "ask for the ClusterRole mainstay-viewer");
    }
    if silent.is_empty() {
        return ok(WHAT, format!("{} reported within the last {} min", thousands(all), SILENT_AFTER.0 / 60_000));
    }
    let says = format!("{} of {} silent: {}", silent.len(), thousands(all), few(&silent, NAMES_MAX));
    warn(WHAT, says, "look at the agent's pod on one of them; a node without an agent is seen by its kubelet alone")
}

pub(super) async fn versions(client: &Client) -> Result<Check, Problem> {
    const WHAT: &str = "Versions";
    let ours = env!("CARGO_PKG_VERSION");
    match checkup::agents(client).await {
        Ok(versions) if versions.keys().all(|version| version == ours) => {
            Ok(ok(WHAT, format!("this program and every agent that reports are {ours}")))
        }
        Ok(versions) => {
            let told: Vec<String> = versions.iter().map(|(version, count)| format!("{count} of {version}")).collect();
            let says = format!("this program is {ours}, and agents are {}", few(&told, NAMES_MAX));
            Ok(warn(WHAT, says, "update the older ones; one step apart is meant to work"))
        }
        Err(Trouble::Refused { .. } | Trouble::Server(_)) => {
            Ok(warn(WHAT, "what the agents are cannot be read", "ask for the ClusterRole mainstay-viewer"))
        }
        Err(trouble) => Err(cluster::problem(&trouble)),
    }
}

pub(super) fn unfit(view: &View) -> Check {
    const WHAT: &str = "Objects";
    let unfit: Vec<String> = view.unfit().map(|(kind, count)| format!("{count} {kind}")).collect();
    if unfit.is_empty() {
        return ok(WHAT, "all that were read are understood");
    }
    let says = format!("could not be understood, and are passed over: {}", few(&unfit, NAMES_MAX));
    warn(WHAT, says, "another version may have written them")
}

pub(super) fn pools(view: &View) -> Check {
    const WHAT: &str = "Pools";
    if view.unread().iter().any(|one| one.kind == "fleetpolicies") {
        return warn(WHAT, "FleetPolicies may not be read", "ask for the ClusterRole mainstay-viewer");
    }
    let facts = view.nodes().values().filter_map(|seen| seen.facts.as_ref());
    let used: BTreeSet<&str> = facts.map(|facts| facts.pool.as_str()).collect();
    let ruled: BTreeSet<&str> = view.policies().keys().map(|pool| pool.as_str()).collect();
    let told = |set: Vec<&&str>| few(&set.into_iter().map(|pool| (*pool).to_owned()).collect::<Vec<_>>(), NAMES_MAX);
    let [without, empty] = [used.difference(&ruled).collect::<Vec<_>>(), ruled.difference(&used).collect::<Vec<_>>()];
    match (without.is_empty(), empty.is_empty()) {
        (true, true) => {
            let all = u64::try_from(used.len()).unwrap_or(u64::MAX);
            ok(WHAT, format!("{}, each with its FleetPolicy", counted(all, "pool", "pools")))
        }
        (false, _) => warn(
            WHAT,
            format!("without a FleetPolicy, so nothing would ever be done there: {}", told(without)),
            "write one: kubectl explain fleetpolicy.spec; nodes without the label mainstay.dev/pool are in pool unnamed",
        ),
        (true, false) => warn(
            WHAT,
            format!("with a FleetPolicy and without nodes: {}", told(empty)),
            "look for a slip in the policy's pool or in the label mainstay.dev/pool",
        ),
    }
}

pub(super) fn others(view: &View) -> Check {
    const WHAT: &str = "Others";
    let who: BTreeSet<&str> = view.nodes().keys().filter_map(|node| view.others(node)?.remediator).collect();
    if who.is_empty() {
        return ok(WHAT, "no other program repairs these nodes");
    }
    let names: Vec<String> = who.into_iter().map(ToOwned::to_owned).collect();
    warn(
        WHAT,
        format!("also repairs nodes here: {}", few(&names, NAMES_MAX)),
        "in Observe that is fine; before the mode is raised, one of the two has to stop",
    )
}

pub(super) async fn rights(client: &Client, view: &View) -> Result<Check, Problem> {
    const WHAT: &str = "Your rights";
    let mut may = Vec::new();
    for act in Act::ALL {
        if act.is_allowed(client).await.map_err(|trouble| cluster::problem(&trouble))? {
            may.push(match act {
                Act::Acknowledge => "acknowledge incidents".to_owned(),
                Act::Ask => "file requests".to_owned(),
                Act::SetMode => "set the mode".to_owned(),
            });
        }
    }
    let may = if may.is_empty() {
        "you may look and change nothing".to_owned()
    } else {
        format!("you may {}", may.join(", "))
    };
    let forbidden: Vec<String> =
        view.unread().iter().filter(|one| one.why == UnreadWhy::Forbidden).map(|one| one.kind.to_owned()).collect();
    Ok(match forbidden.as_slice() {
        [] => ok(WHAT, may),
        [only] if only == "pods" => {
            warn(WHAT, format!("{may}; you may not read pods"), "without them only the work on nodes is unknown")
        }
        all => {
            warn(WHAT, format!("{may}; you may not read {}", all.join(", ")), "ask for the ClusterRole mainstay-viewer")
        }
    })
}
