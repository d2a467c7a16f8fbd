//! Judges every write of the controller on nodes and pods, and the order of the steps. The API server's audit log has who, what, when and
//! the answer, and no bodies. The proxy has the bodies. Both must have the same writes.

use std::collections::BTreeMap;

use anyhow::Result;
use jiff::Timestamp;
use serde_json::Value;
use testbed::NAMESPACE;
use testbed::fault_proxy::SentWrite;

use super::trial::{Machine, Trial};
use super::write_rules::{eviction_problem, grants, has_stage, patch_problem, sets_taint};

const READS: [&str; 3] = ["get", "list", "watch"];
/// Place of the stored grants. It is judged together with all places of nodes and pods.
const STATUS: &str = "gpunodes/status";

/// What the controller had to treat in a case.
pub(super) struct Treatment {
    node: String,
    /// Uid of the last registration, the only one that may be changed.
    uid: String,
    /// Uid of each pod that has to leave, by its name: of the last pod of that name.
    pods: BTreeMap<&'static str, String>,
}

/// A write in the API server's audit log.
struct Logged {
    verb: String,
    code: u64,
    received: Timestamp,
    answered: Timestamp,
}

/// A write that the audit log and the proxy have.
struct Judged {
    sent: SentWrite,
    logged: Logged,
}

/// Place and name of an object.
type Object = (String, String);

impl Treatment {
    pub(super) fn of(machine: &Machine) -> Self {
        Self { node: machine.node.name.clone(), uid: machine.node.uid.clone(), pods: BTreeMap::new() }
    }

    /// The node has registered again.
    pub(super) fn registered(&mut self, uid: &str) {
        uid.clone_into(&mut self.uid);
    }

    /// A pod has to leave the node.
    pub(super) fn ends(&mut self, pod: &'static str, uid: &str) {
        self.pods.insert(pod, uid.to_owned());
    }
}

/// Checks every write. Returns the counts in words.
pub(super) fn judge(trial: &Trial<'_>, treatments: &[Treatment]) -> Result<String> {
    let (logged, probes) = logged(trial)?;
    let mut all: BTreeMap<Object, Vec<Judged>> = BTreeMap::new();
    let (mut patches, mut evictions, mut refused) = (0, 0, 0);
    let mut sent = sent(trial);
    for (object, logged) in logged {
        let sent = sent.remove(&object).unwrap_or_default();
        trial.expect(
            sent.len() == logged.len(),
            format_args!("{object:?}: {} writes sent, {} in the audit log", sent.len(), logged.len()),
        );
        let pairs = sent.into_iter().zip(logged).map(|(sent, logged)| Judged { sent, logged });
        all.insert(object, pairs.collect());
    }
    trial.expect(sent.is_empty(), format_args!("the audit log has every write: {:?}", sent.keys()));
    for ((place, name), writes) in &all {
        for write in writes {
            let same = write.sent.status.map(u64::from) == Some(write.logged.code);
            trial.expect(
                same,
                format_args!(
                    "{place} {name}: the audit log has the code {}, the proxy {:?}",
                    write.logged.code, write.sent.status
                ),
            );
            refused += usize::from(place != STATUS && !write.sent.is_carried_out());
        }
        match place.as_str() {
            "nodes" => patches += judge_patches(trial, treatments, name, writes),
            "pods/eviction" => evictions += judge_evictions(trial, treatments, name, writes),
            STATUS => {}
            _ => trial.expect(false, format_args!("the controller writes {place} {name}")),
        }
    }
    for treatment in treatments {
        judge_order(trial, treatment, &all);
    }
    trial.expect(probes > 0, "the new leader has tried the fence");
    Ok(format!(
        "audit log: {patches} patches of nodes, {evictions} evictions, {refused} of both refused, {probes} dry runs"
    ))
}

fn judge_patches(trial: &Trial<'_>, treatments: &[Treatment], name: &str, writes: &[Judged]) -> usize {
    let treatment = treatments.iter().find(|one| one.node == name);
    trial.expect(treatment.is_some(), format_args!("{name} is patched and had no fault"));
    let current = treatment.map_or("", |one| one.uid.as_str());
    for write in writes {
        let problem = patch_problem(&write.sent, current);
        let problem = problem.or_else(|| (write.logged.verb != "patch").then(|| format!("verb {}", write.logged.verb)));
        trial.expect(problem.is_none(), format_args!("patch of {name}: {}", problem.as_deref().unwrap_or_default()));
    }
    writes.len()
}

fn judge_evictions(trial: &Trial<'_>, treatments: &[Treatment], name: &str, writes: &[Judged]) -> usize {
    let uid = treatments.iter().find_map(|one| one.pods.get(name));
    trial.expect(uid.is_some(), format_args!("{name} is evicted and had to stay"));
    for write in writes {
        let problem = eviction_problem(&write.sent, uid.map_or("", String::as_str));
        let problem =
            problem.or_else(|| (write.logged.verb != "create").then(|| format!("verb {}", write.logged.verb)));
        trial.expect(problem.is_none(), format_args!("eviction of {name}: {}", problem.as_deref().unwrap_or_default()));
    }
    writes.len()
}

/// The grant is stored before the first patch of the node is sent. The taint is there, and the drain is stored, before the first eviction
/// is sent.
fn judge_order(trial: &Trial<'_>, treatment: &Treatment, all: &BTreeMap<Object, Vec<Judged>>) {
    let node = &treatment.node;
    let of = |place: &str, name: &str| all.get(&(place.to_owned(), name.to_owned())).map_or(&[][..], Vec::as_slice);
    let done_at = |writes: &[Judged], is_it: &dyn Fn(&Value) -> bool| {
        let done = writes.iter().find(|write| write.sent.is_carried_out() && is_it(&write.sent.json()));
        done.map(|write| write.logged.answered)
    };
    let first = |writes: &[Judged]| writes.iter().map(|write| write.logged.received).min();
    let is_before = |done: Option<Timestamp>, next: Option<Timestamp>| done.zip(next).is_some_and(|(a, b)| a < b);

    let granted = done_at(of(STATUS, node), &|body| has_stage(body, "Quarantined") && grants(body));
    let patched = first(of("nodes", node));
    trial.expect(is_before(granted, patched), format_args!("{node}: the grant is stored before the first patch"));
    let tainted = done_at(of("nodes", node), &sets_taint);
    let drains = done_at(of(STATUS, node), &|body| has_stage(body, "Draining") && grants(body));
    for pod in treatment.pods.keys() {
        let evicted = first(of("pods/eviction", pod));
        trial.expect(is_before(tainted, evicted), format_args!("{pod}: the taint is set before the first eviction"));
        trial.expect(is_before(drains, evicted), format_args!("{pod}: the drain is stored before the first eviction"));
    }
}

/// Writes of the controller's account on nodes, pods and the statuses of GpuNodes, by object in the order of their arrival, and the number
/// of dry runs.
fn logged(trial: &Trial<'_>) -> Result<(BTreeMap<Object, Vec<Logged>>, usize)> {
    let user = format!("system:serviceaccount:{NAMESPACE}:mainstay-controller");
    let (mut all, mut dry_runs): (BTreeMap<Object, Vec<Logged>>, usize) = (BTreeMap::new(), 0);
    for event in trial.bed().cluster.audit_events()? {
        let event = event?;
        let text = |path: &str| event.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let (verb, resource, subresource) =
            (text("/verb"), text("/objectRef/resource"), text("/objectRef/subresource"));
        let place = if subresource.is_empty() { resource.to_owned() } else { format!("{resource}/{subresource}") };
        let is_judged = resource == "nodes" || resource == "pods" || place == STATUS;
        if text("/user/username") != user || READS.contains(&verb) || !is_judged {
            continue;
        }
        if text("/requestURI").contains("dryRun=") {
            dry_runs += 1;
            continue;
        }
        let logged = Logged {
            verb: verb.to_owned(),
            code: event["responseStatus"]["code"].as_u64().unwrap_or(0),
            received: text("/requestReceivedTimestamp").parse()?,
            answered: text("/stageTimestamp").parse()?,
        };
        all.entry((place, text("/objectRef/name").to_owned())).or_default().push(logged);
    }
    all.values_mut().for_each(|writes| writes.sort_by_key(|write| write.received));
    Ok((all, dry_runs))
}

/// The same writes as the proxy has forwarded them, with their bodies.
fn sent(trial: &Trial<'_>) -> BTreeMap<Object, Vec<SentWrite>> {
    let mut all: BTreeMap<Object, Vec<SentWrite>> = BTreeMap::new();
    for write in trial.proxy.written() {
        let resource = write.call.place.split('/').next().unwrap_or_default();
        let is_judged = resource == "nodes" || resource == "pods" || write.call.place == STATUS;
        if is_judged && write.status.is_some() {
            all.entry((write.call.place.clone(), write.call.name.clone())).or_default().push(write);
        }
    }
    all
}
