//! Checks of running processes and of objects that operators wrote: server, leader, agents, policies, permissions.
//! `installation.rs` checks the installed objects.

use std::collections::BTreeSet;

use mainstay_engine::PoolLimitsLine;
use mainstay_kube::user_actions::UserAction;
use mainstay_kube::{Client, Error, SkipReason, View, diagnostics};
use mainstay_model::Timestamp;
use mainstay_text::{counted, duration, few, thousands};
use mainstay_web::render::needs::Leadership;

use super::{Check, Level};
use crate::commands::leader::Leader;
use crate::commands::limits::reached;
use crate::commands::status::SILENT_AFTER;
use crate::kubeconfig;
use crate::manifests;
use crate::output::Problem;

/// Names in one line.
pub(super) const NAMES_MAX: usize = 4;
/// The oldest minor version of Kubernetes whose admission policies do what the fence needs.
const OLDEST_MINOR: u32 = 33;
const ASK_FOR_VIEWER: &str = "ask an administrator for the ClusterRole mainstay-viewer";

pub(super) fn ok(what: &'static str, says: impl Into<String>) -> Check {
    Check { level: Level::Ok, what, says: says.into(), hint: None, missing: Vec::new() }
}

pub(super) fn warn(what: &'static str, says: impl Into<String>, hint: impl Into<String>) -> Check {
    Check { level: Level::Warn, what, says: says.into(), hint: Some(hint.into()), missing: Vec::new() }
}

pub(super) fn fail(what: &'static str, says: impl Into<String>, hint: impl Into<String>) -> Check {
    Check { level: Level::Fail, what, says: says.into(), hint: Some(hint.into()), missing: Vec::new() }
}

/// Why a kind could not be read; none where it was.
pub(super) fn unread(view: &View, kind: &str) -> Option<SkipReason> {
    view.unread().iter().find(|one| one.kind == kind).map(|one| one.why)
}

/// The check of a kind that was not read: its definition is missing, or this account has no permission.
fn not_read(what: &'static str, kind: &str, why: SkipReason) -> Check {
    match why {
        SkipReason::NotInstalled => warn(
            what,
            format!("the definition {kind}.mainstay.dev is missing"),
            "apply the definitions first; see Definitions above",
        ),
        SkipReason::Forbidden => warn(what, format!("this account may not list {kind}"), ASK_FOR_VIEWER),
    }
}

pub(super) async fn server(client: &Client) -> Result<Check, Problem> {
    const WHAT: &str = "API server";
    let version = diagnostics::version(client).await.map_err(|trouble| kubeconfig::problem(&trouble))?;
    let minor = version.trim_start_matches('v').split('.').nth(1).and_then(|minor| minor.parse::<u32>().ok());
    Ok(match minor {
        Some(minor) if minor < OLDEST_MINOR => fail(
            WHAT,
            format!("{version} is older than 1.{OLDEST_MINOR}"),
            "upgrade the cluster: Mainstay is not tested on this version",
        ),
        Some(_) | None => ok(WHAT, version),
    })
}

pub(super) fn leader(view: &View, leader: &Leader, namespace: &str) -> Check {
    const WHAT: &str = "Controller";
    let says = leader.words(view.now());
    let pods = format!("check its pods and their logs: kubectl --namespace {namespace} get pods");
    match leader.leads {
        Leadership::Held => ok(WHAT, says),
        Leadership::Expired | Leadership::Vacant => fail(WHAT, says, pods),
        Leadership::Unknown => warn(WHAT, says, "ask an administrator for get on the Lease mainstay-leader"),
    }
}

pub(super) fn agents(view: &View) -> Check {
    const WHAT: &str = "Agents";
    if let Some(why) = unread(view, "nodereports") {
        return not_read(WHAT, "nodereports", why);
    }
    let registered = || view.nodes().iter().filter(|(_, seen)| seen.facts.is_some());
    let is_stale = |at: Option<Timestamp>| at.is_none_or(|at| view.now().since(at) > SILENT_AFTER);
    let stale: Vec<String> =
        registered().filter(|(_, seen)| is_stale(seen.reported_at)).map(|(name, _)| name.to_string()).collect();
    let all = u64::try_from(registered().count()).unwrap_or(u64::MAX);
    let minutes = SILENT_AFTER.0 / 60_000;
    if all == 0 {
        let hint = "the device plugin must offer nvidia.com/gpu on a node before Mainstay counts it as a GPU node";
        return warn(WHAT, "there is no GPU node", hint);
    }
    if stale.is_empty() {
        return ok(WHAT, format!("{} reported within the last {minutes} min", thousands(all)));
    }
    let says = format!(
        "{} of {} sent no report within {minutes} min: {}",
        stale.len(),
        thousands(all),
        few(&stale, NAMES_MAX)
    );
    warn(WHAT, says, "check the agent's pod on one of them; without an agent only the kubelet reports on a node")
}

pub(super) async fn versions(client: &Client, view: &View) -> Result<Check, Problem> {
    const WHAT: &str = "Versions";
    let ours = env!("CARGO_PKG_VERSION");
    if let Some(why) = unread(view, "nodereports") {
        return Ok(not_read(WHAT, "nodereports", why));
    }
    match diagnostics::agents(client).await {
        Ok(versions) if versions.keys().all(|version| version == ours) => {
            Ok(ok(WHAT, format!("this program and every agent that reports have version {ours}")))
        }
        Ok(versions) => {
            let counts: Vec<String> =
                versions.iter().map(|(version, count)| format!("{count} with {version}")).collect();
            let says = format!("this program has version {ours}; agents: {}", few(&counts, NAMES_MAX));
            Ok(warn(WHAT, says, "update the older ones; neighbouring versions are meant to work together"))
        }
        Err(Error::Refused { .. }) => Ok(not_read(WHAT, "nodereports", SkipReason::Forbidden)),
        Err(trouble) => Err(kubeconfig::problem(&trouble)),
    }
}

pub(super) fn invalid(view: &View) -> Check {
    const WHAT: &str = "Objects";
    let invalid: Vec<String> = view.unfit().map(|(kind, count)| format!("{count} {kind}")).collect();
    if invalid.is_empty() {
        return ok(WHAT, "every object that was read is valid");
    }
    let says = format!("invalid, and ignored: {}", few(&invalid, NAMES_MAX));
    warn(WHAT, says, "another version of Mainstay may have written them")
}

pub(super) fn pools(view: &View) -> Check {
    const WHAT: &str = "FleetPolicy";
    if let Some(why) = unread(view, "fleetpolicies") {
        return not_read(WHAT, "fleetpolicies", why);
    }
    let facts = view.nodes().values().filter_map(|seen| seen.facts.as_ref());
    let used: BTreeSet<&str> = facts.map(|facts| facts.pool.as_str()).collect();
    let ruled: BTreeSet<&str> = view.policies().keys().map(|pool| pool.as_str()).collect();
    let names = |set: &[&str]| few(&set.iter().map(|pool| (*pool).to_owned()).collect::<Vec<_>>(), NAMES_MAX);
    let without: Vec<&str> = used.difference(&ruled).copied().collect();
    let empty: Vec<&str> = ruled.difference(&used).copied().collect();
    let create = |pools: &[&str]| {
        let pools: String = pools.iter().take(NAMES_MAX).map(|pool| format!(" --pool {pool}")).collect();
        format!("mainstay render --part defaults{pools} | kubectl create -f -")
    };
    if !without.is_empty() {
        let says = format!("pools without one, so no node may be removed from service: {}", names(&without));
        let missing = without.iter().map(|pool| format!("FleetPolicy of pool {pool}")).collect();
        return Check { missing, ..warn(WHAT, says, create(&without)) };
    }
    if ruled.is_empty() {
        let missing = vec!["FleetPolicy".to_owned()];
        return Check { missing, ..warn(WHAT, "there is none", create(&[manifests::POOL_UNNAMED])) };
    }
    if !empty.is_empty() {
        return warn(
            WHAT,
            format!("pools with a policy and without nodes: {}", names(&empty)),
            "check spec.pool of the policy and the node label mainstay.dev/pool",
        );
    }
    let all = u64::try_from(used.len()).unwrap_or(u64::MAX);
    ok(WHAT, format!("{}, each with its own", counted(all, "pool", "pools")))
}

/// Capacity floors, rate limits and parked nodes; no check where no pool has any of them.
pub(super) fn limits(lines: &[PoolLimitsLine]) -> Option<Check> {
    const WHAT: &str = "Limits";
    let words = |line: &PoolLimitsLine| {
        let floor = line.floor.map(|floor| format!("{} of {} in service, floor {floor}", line.in_service, line.nodes));
        let rate = line.rate.map(|(removals, limit)| {
            format!("{removals} of {} removals within {}", limit.grants, duration(limit.per.0 / 1_000))
        });
        let parked = (line.parked > 0).then(|| format!("{} parked", counted(line.parked.into(), "node", "nodes")));
        let parts: Vec<String> = [floor, rate, parked].into_iter().flatten().collect();
        (!parts.is_empty()).then(|| format!("{}: {}", line.pool, parts.join(", ")))
    };
    // Those that stop removals come first, because only a few are named.
    let (stopped, others): (Vec<_>, Vec<_>) = lines.iter().partition(|line| reached(line).is_some());
    let all: Vec<String> = stopped.iter().chain(&others).filter_map(|line| words(line)).collect();
    if all.is_empty() {
        return None;
    }
    let says = few(&all, NAMES_MAX);
    if stopped.is_empty() {
        return Some(ok(WHAT, says));
    }
    Some(warn(WHAT, says, "no node of a pool at its limit may be removed now; mainstay budget shows which limit"))
}

pub(super) fn fabric(view: &View) -> Check {
    const WHAT: &str = "Fabric";
    if let Some(why) = unread(view, "fabrics") {
        return not_read(WHAT, "fabrics", why);
    }
    let fabrics: Vec<(&str, i32)> = view.fabrics().collect();
    let nodes = view.nodes().values().filter(|seen| seen.facts.is_some()).count();
    let nodes = u64::try_from(nodes).unwrap_or(u64::MAX);
    let Some((name, placed)) = fabrics.into_iter().max_by_key(|(_, placed)| *placed) else {
        let says = "there is none, so faults are not attributed to a rack, a power unit or a switch";
        let hint = "edit and create one: mainstay render --part defaults > defaults.yaml";
        return Check { missing: vec!["Fabric".to_owned()], ..warn(WHAT, says, hint) };
    };
    let says = format!("{name} places {placed} of {} at every level", counted(nodes, "GPU node", "GPU nodes"));
    if placed == 0 && nodes > 0 {
        return warn(WHAT, says, "check that the nodes have the labels it names: kubectl get fabric -o yaml");
    }
    ok(WHAT, says)
}

pub(super) fn others(view: &View) -> Check {
    const WHAT: &str = "Other tools";
    let who: BTreeSet<&str> = view.nodes().keys().filter_map(|node| view.others(node)?.remediator).collect();
    if who.is_empty() {
        return ok(WHAT, "no other tool repairs these nodes");
    }
    let names: Vec<String> = who.into_iter().map(ToOwned::to_owned).collect();
    warn(
        WHAT,
        format!("also repairs nodes here: {}", few(&names, NAMES_MAX)),
        "this is safe in Observe; stop one of the two before you raise the mode",
    )
}

pub(super) async fn permissions(client: &Client, view: &View) -> Result<Check, Problem> {
    const WHAT: &str = "Permissions";
    let mut may = Vec::new();
    for act in UserAction::ALL {
        if act.is_allowed(client).await.map_err(|trouble| kubeconfig::problem(&trouble))? {
            may.push(match act {
                UserAction::Acknowledge => "acknowledge incidents".to_owned(),
                UserAction::Ask => "file requests".to_owned(),
                UserAction::SetMode => "set the mode".to_owned(),
            });
        }
    }
    let may = if may.is_empty() { "read only".to_owned() } else { format!("you may {}", may.join(", ")) };
    let forbidden: Vec<String> =
        view.unread().iter().filter(|one| one.why == SkipReason::Forbidden).map(|one| one.kind.to_owned()).collect();
    Ok(match forbidden.as_slice() {
        [] => ok(WHAT, may),
        [only] if only == "pods" => {
            warn(WHAT, format!("{may}; you may not read pods"), "without pods, only the jobs on nodes are unknown")
        }
        all => warn(WHAT, format!("{may}; you may not read {}", all.join(", ")), ASK_FOR_VIEWER),
    })
}

#[cfg(test)]
mod tests {
    use mainstay_model::{RateLimit, Span};

    use super::*;

    #[test]
    fn a_pool_at_its_floor_is_a_warning_and_parked_nodes_are_named() {
        let rate = RateLimit { grants: 5, per: Span::hours(1) };
        let line = |pool: &str, in_service, floor, parked, rate| PoolLimitsLine {
            pool: pool.parse().unwrap(),
            nodes: 12,
            in_service,
            floor,
            parked,
            rate,
        };
        assert!(limits(&[line("plain", 12, None, 0, None)]).is_none());
        let fine = line("serve", 11, Some(10), 1, Some((2, rate)));
        let check = limits(std::slice::from_ref(&fine)).unwrap();
        let says = "serve: 11 of 12 in service, floor 10, 2 of 5 removals within 1 h, 1 node parked";
        assert_eq!((check.level == Level::Ok, check.says.as_str()), (true, says));
        let check = limits(&[fine, line("train", 10, Some(10), 0, None)]).unwrap();
        assert!(check.level == Level::Warn && check.says.starts_with("train: 10 of 12 in service, floor 10"));
        assert!(check.hint.is_some_and(|hint| hint.contains("mainstay budget")));
    }
}
