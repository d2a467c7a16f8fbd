use mainstay_telemetry::metrics::{Exporter, Format, Samples};
use serde_json::{Value, json};

use super::*;

const NOW: Timestamp = Timestamp(1_800_000_000_000);

fn pod(name: &str, node: &str, queue: Option<&str>, status: Value) -> PartialPod {
    let labels = queue.map(|queue| json!({ "kueue.x-k8s.io/queue-name": queue, "job": name.split('-').next() }));
    let mut pod = json!({
        "metadata": {
            "name": name, "namespace": "team-a", "uid": name, "creationTimestamp": "2027-01-15T07:58:00Z",
            "labels": labels.unwrap_or(json!({ "job": name.split('-').next() })),
        },
        "spec": {
            "nodeName": node,
            "containers": [{ "resources": { "limits": { "nvidia.com/gpu": "8" } } }, {}],
        },
    });
    pod["status"] = status;
    serde_json::from_value(pod).unwrap()
}

fn gangs() -> Gangs {
    Gangs::by(["job".to_owned()].into())
}

fn key(name: &str) -> Key {
    Key { namespace: Some("team-a".into()), name: name.into() }
}

fn jobs() -> Jobs {
    let mut jobs = Jobs::new(Span::seconds(30), JobCounts::default());
    jobs.listed_ended();
    jobs
}

fn healthy(_: &NodeName) -> NodeHealth {
    NodeHealth::NotKnownFaulty
}

fn text(jobs: &Jobs, now: Timestamp) -> String {
    let mut samples = Samples::new(Exporter::Controller);
    jobs.counts().export(&mut samples);
    jobs.gauges(now).export(jobs.counts(), &mut samples);
    samples.encode(Format::Text).unwrap()
}

fn succeeded() -> Value {
    json!({ "phase": "Succeeded" })
}

fn failed() -> Value {
    json!({ "phase": "Failed", "containerStatuses": [{ "state": { "terminated": { "reason": "Error" } } }] })
}

/// The outcome of a job with one pod that ends like this.
fn outcome_of(status: Value, node: NodeHealth) -> String {
    let mut jobs = jobs();
    jobs.running(&pod("train-0", "n1", None, json!({ "phase": "Running" })), &gangs(), NOW);
    jobs.left_running(&key("train-0"));
    jobs.ended(&pod("train-0", "n1", None, status), &gangs(), |_| node);
    jobs.step(NOW, |_| node);
    jobs.step(NOW + Span::seconds(30), |_| node);
    let text = text(&jobs, NOW);
    let line = text.lines().find(|line| line.starts_with("mainstay_jobs_total") && line.ends_with(" 1"));
    line.and_then(|line| line.split('"').nth(3)).unwrap_or_else(|| panic!("{text}")).to_owned()
}

#[test]
fn the_cause_of_an_end_is_what_kubernetes_states_then_the_node_then_the_user() {
    let disrupted = |reason: &str| json!({ "phase": "Failed", "conditions": [{ "type": "DisruptionTarget", "status": "True", "reason": reason }] });
    let reason = |reason: &str| json!({ "phase": "Failed", "reason": reason });
    let container = |reason: &str| json!({ "phase": "Failed", "containerStatuses": [{ "state": { "terminated": { "reason": reason } } }] });
    let not_set = json!({ "phase": "Failed", "conditions": [{ "type": "DisruptionTarget", "status": "False", "reason": "DeletionByPodGC" }] });
    let kueue = |reason: &str| json!({ "phase": "Failed", "conditions": [{ "type": "TerminationTarget", "status": "True", "reason": reason }] });
    for (status, expected) in [
        (succeeded(), "success"),
        (disrupted("PreemptionByScheduler"), "preempted"),
        (kueue("WorkloadEvictedDueToPreempted"), "preempted"),
        (kueue("WorkloadEvictedDueToDeactivated"), "user"),
        (reason("Preempting"), "preempted"),
        (disrupted("DeletionByTaintManager"), "infrastructure"),
        (disrupted("DeletionByPodGC"), "infrastructure"),
        (disrupted("TerminationByKubelet"), "infrastructure"),
        (disrupted("EvictionByEvictionAPI"), "infrastructure"),
        (reason("Evicted"), "infrastructure"),
        (reason("UnexpectedAdmissionError"), "infrastructure"),
        (container("ContainerStatusUnknown"), "infrastructure"),
        (container("OOMKilled"), "user"),
        (container("Error"), "user"),
        (reason("DeadlineExceeded"), "user"),
        (disrupted("Whatever"), "user"),
        (not_set, "user"),
        (json!({ "phase": "Failed" }), "user"),
    ] {
        assert_eq!(outcome_of(status.clone(), NodeHealth::NotKnownFaulty), expected, "{status}");
    }
    // The node decides only where Kubernetes states nothing.
    assert_eq!(outcome_of(failed(), NodeHealth::Faulty), "infrastructure");
    assert_eq!(outcome_of(succeeded(), NodeHealth::Faulty), "success");
    assert_eq!(outcome_of(disrupted("PreemptionByScheduler"), NodeHealth::Faulty), "preempted");
}

#[test]
fn a_fault_that_is_detected_after_the_failure_is_its_cause() {
    let mut jobs = jobs();
    jobs.running(&pod("train-0", "n1", None, json!({})), &gangs(), NOW);
    jobs.ended(&pod("train-0", "n1", None, failed()), &gangs(), healthy);
    jobs.step(NOW, healthy);
    jobs.step(NOW + Span::seconds(30), |_| NodeHealth::Faulty);
    assert!(text(&jobs, NOW).contains("{queue=\"team-a\",outcome=\"infrastructure\"} 1\n"));
}

#[test]
fn a_job_waits_until_all_of_its_pods_have_a_node() {
    let mut jobs = jobs();
    for name in ["train-0", "train-1"] {
        jobs.pending(&pod(name, "", Some("gold"), json!({ "phase": "Pending" })), &gangs(), NOW);
    }
    jobs.step(NOW, healthy);
    let waiting = text(&jobs, NOW + Span::seconds(5));
    for line in [
        "mainstay_pending_gpu_pods{queue=\"team-a/gold\"} 2\n",
        "mainstay_pending_gpus{queue=\"team-a/gold\"} 16\n",
        // Created two minutes before NOW.
        "mainstay_pending_seconds_max{queue=\"team-a/gold\"} 125\n",
    ] {
        assert!(waiting.contains(line), "no {line} in {waiting}");
    }
    let at = |seconds| NOW + Span::seconds(seconds);
    for (name, seconds) in [("train-0", 60), ("train-1", 180)] {
        // The two watches may be in either order.
        jobs.running(&pod(name, "n1", Some("gold"), json!({})), &gangs(), at(seconds));
        jobs.pending(&pod(name, "", Some("gold"), json!({ "phase": "Pending" })), &gangs(), at(seconds));
        jobs.left_pending(&key(name));
        jobs.step(at(seconds), healthy);
    }
    let running = text(&jobs, at(200));
    assert!(running.contains("mainstay_job_wait_seconds_count{queue=\"team-a/gold\"} 1\n"), "{running}");
    assert!(running.contains("mainstay_job_wait_seconds_sum{queue=\"team-a/gold\"} 300.0\n"), "{running}");
    assert!(running.contains("mainstay_pending_gpu_pods{queue=\"team-a/gold\"} 0\n"), "{running}");
    assert_eq!(jobs.gauges(at(200)).used.values().copied().collect::<Vec<_>>(), [16]);
}

#[test]
fn another_attempt_is_a_restart_and_only_the_last_one_counts() {
    let mut jobs = jobs();
    jobs.running(&pod("train-0", "n1", None, json!({})), &gangs(), NOW);
    jobs.running(&pod("train-1", "n2", None, json!({})), &gangs(), NOW);
    for (name, node) in [("train-0", "n1"), ("train-1", "n2")] {
        jobs.ended(&pod(name, node, None, failed()), &gangs(), healthy);
    }
    jobs.step(NOW, healthy);
    let later = NOW + Span::seconds(20);
    jobs.running(&pod("train-2", "n3", None, json!({})), &gangs(), later);
    jobs.running(&pod("train-3", "n4", None, json!({})), &gangs(), later);
    // A container that restarts in its place counts, too.
    let restarted = json!({ "containerStatuses": [{ "restartCount": 2 }] });
    jobs.running(&pod("train-3", "n4", None, restarted), &gangs(), later);
    for (name, node) in [("train-2", "n3"), ("train-3", "n4")] {
        jobs.ended(&pod(name, node, None, succeeded()), &gangs(), healthy);
    }
    jobs.step(later, healthy);
    jobs.step(later + Span::seconds(30), healthy);
    let text = text(&jobs, later);
    assert!(text.contains("{queue=\"team-a\",outcome=\"success\"} 1\n"), "{text}");
    assert!(text.contains("{queue=\"team-a\",outcome=\"user\"} 0\n"), "{text}");
    assert!(text.contains("mainstay_job_restarts_total{queue=\"team-a\"} 3\n"), "{text}");
    assert!(jobs.pods.is_empty() && jobs.jobs.is_empty(), "a job that is over is forgotten");
}

#[test]
fn workers_that_are_deleted_after_a_success_do_not_fail_the_job() {
    let mut deleted = pod("train-1", "n2", None, failed());
    deleted.metadata.deletion_timestamp = deleted.metadata.creation_timestamp.clone();
    for (launcher, expected) in [(Some(succeeded()), "success"), (None, "user")] {
        let mut jobs = jobs();
        jobs.ended(&deleted, &gangs(), healthy);
        if let Some(status) = launcher {
            jobs.ended(&pod("train-0", "n1", None, status), &gangs(), healthy);
        }
        jobs.step(NOW, healthy);
        jobs.step(NOW + Span::seconds(30), healthy);
        let text = text(&jobs, NOW);
        assert!(text.contains(&format!("outcome=\"{expected}\"}} 1\n")), "{text}");
    }
}

#[test]
fn what_ended_before_the_first_list_and_what_is_listed_twice_is_not_counted() {
    let mut jobs = Jobs::new(Span::seconds(30), JobCounts::default());
    jobs.ended(&pod("old-0", "n1", None, failed()), &gangs(), healthy);
    jobs.listed_ended();
    for _ in 0..2 {
        jobs.ended(&pod("old-0", "n1", None, failed()), &gangs(), healthy);
        jobs.ended(&pod("new-0", "n1", None, failed()), &gangs(), healthy);
        jobs.step(NOW, healthy);
        jobs.step(NOW + Span::seconds(30), healthy);
    }
    assert!(text(&jobs, NOW).contains("outcome=\"user\"} 1\n"));
}

#[test]
fn a_watch_that_is_late_does_not_start_an_ended_pod_again() {
    let mut jobs = jobs();
    jobs.ended(&pod("train-0", "n1", None, failed()), &gangs(), healthy);
    jobs.left_ended(key("train-0"), NOW);
    jobs.running(&pod("train-0", "n1", None, json!({ "phase": "Running" })), &gangs(), NOW);
    jobs.pending(&pod("train-0", "", None, json!({ "phase": "Pending" })), &gangs(), NOW);
    jobs.step(NOW, healthy);
    jobs.step(NOW + Span::seconds(30), healthy);
    let text = text(&jobs, NOW);
    assert!(text.contains("{queue=\"team-a\",outcome=\"user\"} 1\n"), "{text}");
    assert!(text.contains("mainstay_job_restarts_total{queue=\"team-a\"} 0\n"), "{text}");
    assert!(jobs.ended.is_empty() && jobs.deleted.is_empty(), "a deleted pod is forgotten");
}

#[test]
fn a_tenant_with_many_queues_cannot_use_the_names_of_others() {
    let mut jobs = jobs();
    for number in 0..200 {
        let pod = pod(&format!("job{number}-0"), "", Some(&format!("queue-{number}")), json!({ "phase": "Pending" }));
        jobs.pending(&pod, &gangs(), NOW);
    }
    for number in 0..200 {
        let mut pod = pod(&format!("job{number}-0"), "", None, json!({ "phase": "Pending" }));
        pod.metadata.namespace = Some(format!("team-{number}"));
        jobs.pending(&pod, &gangs(), NOW);
    }
    let text = text(&jobs, NOW);
    let series: Vec<&str> = text.lines().filter(|line| line.starts_with("mainstay_pending_gpu_pods{")).collect();
    assert_eq!(series.len(), 65, "{series:#?}");
    assert!(text.contains("mainstay_pending_gpu_pods{queue=\"team-a\"} 192\n"), "{series:#?}");
    assert!(text.contains("mainstay_pending_gpu_pods{queue=\"other\"} 145\n"), "{series:#?}");
}

#[test]
fn pods_without_gpus_and_values_that_are_none_are_left_out() {
    let mut jobs = jobs();
    let mut plain = pod("web-0", "", None, json!({ "phase": "Pending" }));
    plain.spec.containers.clear();
    jobs.pending(&plain, &gangs(), NOW);
    let mut odd = pod("odd-0", "", None, json!({ "phase": "Pending" }));
    odd.spec.containers[0].resources.limits = [("nvidia.com/gpu".to_owned(), "many".to_owned())].into();
    jobs.pending(&odd, &gangs(), NOW);
    let mut part = pod("part-0", "", None, json!({ "phase": "Pending" }));
    part.spec.containers[0].resources.limits = [("nvidia.com/mig-1g.10gb".to_owned(), "1".to_owned())].into();
    jobs.pending(&part, &gangs(), NOW);
    let text = text(&jobs, NOW);
    assert!(text.contains("mainstay_pending_gpu_pods{queue=\"team-a\"} 1\n"), "{text}");
    assert!(text.contains("mainstay_pending_gpus{queue=\"team-a\"} 0\n"), "{text}");
}

#[test]
fn the_oldest_checkpoint_of_a_queue_is_that_of_the_job_that_saved_least_recently() {
    let mut jobs = jobs();
    for (name, saved) in [("a-0", "2027-01-15T07:50:00Z"), ("a-1", "2027-01-15T07:59:00Z"), ("b-0", "soon")] {
        let mut pod = pod(name, "n1", None, json!({}));
        pod.metadata.annotations = Some([(SAVED_AT.to_owned(), saved.to_owned())].into());
        jobs.running(&pod, &gangs(), NOW);
    }
    let text = text(&jobs, NOW);
    // 07:59:00 is one minute before NOW, and the newest of job a.
    assert!(text.contains("mainstay_checkpoint_age_seconds_max{queue=\"team-a\"} 60\n"), "{text}");
}

#[test]
fn restarts_of_a_device_plugin_are_counted_from_the_first_event() {
    let plugin = |restarts: u32| {
        let mut pod = pod("plugin-x", "n1", None, json!({ "containerStatuses": [{ "restartCount": restarts }] }));
        pod.metadata.labels = Some([("app".to_owned(), "nvidia-device-plugin-daemonset".to_owned())].into());
        let owner =
            json!([{ "apiVersion": "apps/v1", "kind": "DaemonSet", "name": "p", "uid": "u", "controller": true }]);
        pod.metadata.owner_references = serde_json::from_value(owner).unwrap();
        pod
    };
    let mut jobs = jobs();
    for restarts in [4, 4, 5, 7] {
        jobs.running(&plugin(restarts), &gangs(), NOW);
    }
    assert!(text(&jobs, NOW).contains("mainstay_device_plugin_restarts_total{node=\"n1\"} 3\n"));
}

#[test]
fn a_wait_between_two_steps_is_counted() {
    let mut jobs = jobs();
    jobs.pending(&pod("train-0", "", Some("gold"), json!({ "phase": "Pending" })), &gangs(), NOW);
    let zero = text(&jobs, NOW);
    assert!(
        zero.contains("mainstay_job_wait_seconds_count{queue=\"team-a/gold\"} 0\n"),
        "from the first pod on: {zero}"
    );
    let started = NOW + Span::seconds(1);
    jobs.running(&pod("train-0", "n1", Some("gold"), json!({ "phase": "Running" })), &gangs(), started);
    jobs.left_pending(&key("train-0"));
    jobs.ended(&pod("train-0", "n1", Some("gold"), succeeded()), &gangs(), healthy);
    jobs.left_running(&key("train-0"));
    jobs.step(NOW + Span::seconds(2), healthy);
    let ended = text(&jobs, NOW + Span::seconds(2));
    assert!(ended.contains("mainstay_job_wait_seconds_count{queue=\"team-a/gold\"} 1\n"), "{ended}");
    assert!(ended.contains("mainstay_job_wait_seconds_sum{queue=\"team-a/gold\"} 121.0\n"), "{ended}");
}

#[test]
fn a_job_waits_once_however_many_of_its_pods_wait() {
    let mut jobs = jobs();
    for name in ["train-0", "train-1", "eval-0"] {
        jobs.pending(&pod(name, "", Some("gold"), json!({ "phase": "Pending" })), &gangs(), NOW);
    }
    jobs.running(&pod("train-2", "n1", Some("gold"), json!({ "phase": "Running" })), &gangs(), NOW);
    let gauges = jobs.gauges(NOW);
    let [(queue, pending)] = gauges.pending(jobs.counts()).collect::<Vec<_>>()[..] else { panic!("one queue") };
    assert_eq!((queue, pending.jobs, pending.pods, pending.gpus), ("team-a/gold", 2, 3, 24));
    assert_eq!(gauges.used.values().copied().collect::<Vec<_>>(), [8]);
}
