use serde_json::json;

use super::*;

fn pod(name: &str, node: &str, labels: &serde_json::Value, owner: Option<(&str, &str, &str)>) -> PartialPod {
    let owner = owner.map(|(api_version, kind, name)| {
        json!([{ "apiVersion": api_version, "kind": kind, "name": name, "uid": "u", "controller": true }])
    });
    serde_json::from_value(json!({
        "metadata": { "name": name, "namespace": "a", "labels": labels, "ownerReferences": owner },
        "spec": { "nodeName": node },
    }))
    .unwrap()
}

fn told(gangs: &mut Gangs) -> Vec<String> {
    let words = |fact| {
        if let Fact::GangGone { gang } = &fact {
            return format!("{gang} gone");
        }
        let Fact::Gang { gang, facts } = fact else { panic!("{fact:?}") };
        let nodes: Vec<&str> = facts.nodes.as_slice().iter().map(|node| node.as_str()).collect();
        format!("{gang} on {}", nodes.join(" "))
    };
    gangs.flush().into_iter().map(words).collect()
}

#[test]
fn a_gang_is_known_by_its_label_else_by_its_owner_and_told_once() {
    let mut gangs = Gangs::by(["jobset".to_owned()].into());
    let job = Some(("batch/v1", "Job", "train-0"));
    for at in 0..3 {
        gangs.is(&pod(&format!("p{at}"), &format!("n{at}"), &json!({ "jobset": "train" }), job));
    }
    gangs.is(&pod("q", "n1", &json!({}), Some(("batch/v1", "Job", "other"))));
    gangs.is(&pod("alone", "n1", &json!({}), None));
    assert_eq!(told(&mut gangs), ["a/job/other on n1", "a/pod/alone on n1", "a/train on n0 n1 n2"]);
    assert!(told(&mut gangs).is_empty());
    let gone = |name: &str| Key { namespace: Some("a".into()), name: name.into() };
    gangs.gone(&gone("p1"));
    gangs.gone(&gone("q"));
    assert_eq!(told(&mut gangs), ["a/job/other gone", "a/train on n0 n2"]);
}

#[test]
fn what_belongs_to_the_node_is_nobody_s_work() {
    let mut gangs = Gangs::default();
    gangs.is(&pod("plugin", "n1", &json!({}), Some(("apps/v1", "DaemonSet", "device-plugin"))));
    let mut kubelet = pod("static", "n1", &json!({}), None);
    kubelet.metadata.annotations = Some([(STATIC_POD.to_owned(), "x".to_owned())].into());
    gangs.is(&kubelet);
    gangs.is(&pod("pending", "", &json!({}), None));
    assert!(told(&mut gangs).is_empty());
}

#[test]
fn slurmd_is_work_that_is_not_ours_to_evict() {
    let mut gangs = Gangs::default();
    gangs.is(&pod("slurm-worker-0", "n1", &json!({}), Some(("slinky.slurm.net/v1beta1", "NodeSet", "slurm-worker"))));
    assert_eq!(told(&mut gangs), ["a/slurmd/slurm-worker-0 on n1"]);
    assert_eq!(gangs.slurmd(), 1);
    assert!(gangs.gangs.keys().all(is_slurmd));
}

#[test]
fn a_pod_whose_gang_has_no_name_is_counted_and_left_out() {
    let mut gangs = Gangs::by(["l".to_owned()].into());
    gangs.is(&pod("p", "n1", &json!({ "l": "\u{1b}[2J" }), None));
    assert!(told(&mut gangs).is_empty());
    assert_eq!(gangs.unfit(), 1);
}

fn owner(uid: &str, name: &str, above: Option<(&str, &str, &str)>) -> ObjectMeta {
    let above = above.map(|(uid, kind, name)| {
        json!([{ "apiVersion": "x/v1", "kind": kind, "name": name, "uid": uid, "controller": true }])
    });
    serde_json::from_value(json!({ "name": name, "namespace": "a", "uid": uid, "ownerReferences": above })).unwrap()
}

fn owned(name: &str, node: &str, uid: &str, job: &str) -> PartialPod {
    let mut pod = pod(name, node, &json!({}), Some(("batch/v1", "Job", job)));
    pod.metadata.owner_references.as_mut().unwrap()[0].uid = uid.to_owned();
    pod
}

#[test]
fn the_jobs_of_a_set_are_one_gang_whoever_is_told_first() {
    let mut gangs = Gangs::default();
    gangs.owner_is(0, &owner("u0", "train-0", Some(("s", "JobSet", "train"))));
    gangs.is(&owned("p0", "n0", "u0", "train-0"));
    gangs.is(&owned("p1", "n1", "u1", "train-1"));
    assert_eq!(told(&mut gangs), ["a/job/train-1 on n1", "a/jobset/train on n0"]);
    gangs.owner_is(0, &owner("u1", "train-1", Some(("s", "JobSet", "train"))));
    assert_eq!(told(&mut gangs), ["a/job/train-1 gone", "a/jobset/train on n0 n1"]);
    gangs.owner_is(1, &owner("s", "train", Some(("w", "Workflow", "nightly"))));
    assert_eq!(told(&mut gangs), ["a/jobset/train gone", "a/workflow/nightly on n0 n1"]);
    // Told again, nothing changes; one that goes takes nothing with it.
    gangs.owner_is(1, &owner("s", "train", Some(("w", "Workflow", "nightly"))));
    gangs.owner_gone(0, Key { namespace: Some("a".into()), name: "train-0".into() });
    assert!(told(&mut gangs).is_empty());
}

#[test]
fn owners_in_a_circle_end_somewhere() {
    let mut gangs = Gangs::default();
    gangs.owner_is(0, &owner("u0", "one", Some(("u1", "Job", "two"))));
    gangs.owner_is(0, &owner("u1", "two", Some(("u0", "Job", "one"))));
    gangs.is(&owned("p0", "n0", "u0", "one"));
    assert_eq!(told(&mut gangs).len(), 1);
}

#[test]
fn a_gang_promises_what_the_weakest_of_its_pods_that_promise_does() {
    let promising = |name: &str, saves: &[(&str, &str)]| {
        let mut pod = pod(name, "n0", &json!({}), Some(("batch/v1", "Job", "train")));
        pod.metadata.annotations =
            Some(saves.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect());
        pod
    };
    let contract = |gangs: &mut Gangs| match gangs.flush().pop() {
        Some(Fact::Gang { facts, .. }) => Some(facts.contract),
        _ => None,
    };
    let mut gangs = Gangs::default();
    gangs.is(&promising("launcher", &[]));
    assert_eq!(contract(&mut gangs), Some(Contract::None));
    gangs.is(&promising("r0", &[("mainstay.dev/saves", "on-request")]));
    assert_eq!(contract(&mut gangs), Some(Contract::OnRequest));
    gangs.is(&promising("r1", &[("mainstay.dev/saves", "on-stop"), ("mainstay.dev/saves-within", "90s")]));
    let within = mainstay_model::Span::seconds(90);
    assert_eq!(contract(&mut gangs), Some(Contract::OnStop { within }));
    gangs.gone(&Key { namespace: Some("a".into()), name: "r1".into() });
    assert_eq!(contract(&mut gangs), Some(Contract::OnRequest));
}

#[test]
fn nodes_beyond_the_size_of_a_gang_are_counted() {
    let mut gangs = Gangs::default();
    for number in 0..GANG_NODES_MAX + 2 {
        gangs.is(&pod(&format!("r{number}"), &format!("n{number}"), &json!({}), Some(("batch/v1", "Job", "train"))));
    }
    assert!(
        matches!(gangs.flush().as_slice(), [Fact::Gang { facts, .. }] if facts.nodes.as_slice().len() == GANG_NODES_MAX)
    );
    assert_eq!([gangs.take_lost_nodes(), gangs.take_lost_nodes()], [2, 0]);
}

#[test]
fn a_pod_that_cannot_be_read_is_work_of_its_own_on_its_node_and_a_known_one_keeps_its_gang() {
    let mut gangs = Gangs::default();
    let meta =
        |name: &str| ObjectMeta { name: Some(name.into()), namespace: Some("a".into()), ..ObjectMeta::default() };
    gangs.is_invalid(&meta("broken"), Some("n1"));
    assert_eq!(told(&mut gangs), ["a/pod/broken on n1"]);
    gangs.is(&pod("known", "n2", &json!({}), Some(("batch/v1", "Job", "train"))));
    assert_eq!(told(&mut gangs), ["a/job/train on n2"]);
    gangs.is_invalid(&meta("known"), Some("n2"));
    assert!(told(&mut gangs).is_empty(), "it keeps its gang");
    let mut plugin = meta("plugin");
    plugin.owner_references = pod("p", "n3", &json!({}), Some(("apps/v1", "DaemonSet", "d"))).metadata.owner_references;
    gangs.is_invalid(&plugin, Some("n3"));
    gangs.is_invalid(&meta("nowhere"), None);
    assert!(told(&mut gangs).is_empty());
    assert_eq!(gangs.unfit(), 4);
    gangs.gone(&Key { namespace: Some("a".into()), name: "broken".into() });
    assert_eq!(told(&mut gangs), ["a/pod/broken gone"]);
}
