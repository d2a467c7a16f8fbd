//! The words that ask a cluster, as people type them: the real binary and the real controller on a real server, with one sick
//! node, one sick leaf and a person's cordon. What is printed is kept as text and shown in docs/reference/cli.md.

#![cfg(test)]

#[path = "commands/test_cluster.rs"]
mod test_cluster;
#[path = "commands/transcript.rs"]
mod transcript;

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};
use test_cluster::{CommandCluster, mainstay};
use testbed::{NAMESPACE, Prometheus, eventually};
use transcript::Transcript;

const NODES: usize = 44;
const SICK: usize = 2;
const CORDONED: usize = 5;
const SHORT: usize = 8;
const DEADLOCKED: usize = 9;

#[tokio::test]
async fn what_people_type_and_see() -> Result<()> {
    let bed = CommandCluster::start(NODES).await?;
    bed.cluster.run_kubectl(&["cordon", &bed.nodes[CORDONED].name]).await?;
    let mut absent = Transcript::new("status-absent");
    absent.run(&bed.cluster.kubeconfig(), "status")?;
    absent.check()?;
    looked_over(&bed).await?;

    bed.install().await?;
    let viewer = bed.cluster.create_account("default", "viewer", &["mainstay-viewer"]).await?;
    let operator = bed.cluster.create_account("default", "operator", &["mainstay-operator"]).await?;
    let admin = bed.cluster.kubeconfig();
    let all: Vec<usize> = (0..NODES).collect();
    bed.report(&all[..NODES - 1], 1, &[]).await?;
    bed.gang("train-7", &[1, SICK, 3, 4]).await?;
    early_in_a_minute().await;
    bed.report(&[SICK], 2, &[("79", 3)]).await?;
    let leaf = &bed.nodes[NODES - 1].leaf;
    let of_leaf: Vec<usize> = all[..NODES - 1].iter().copied().filter(|node| bed.nodes[*node].leaf == *leaf).collect();
    bed.report(&of_leaf, 2, &[("79", 1)]).await?;
    // All of it is there before anybody leads, so that it is found in one decision.
    let record = tempfile::tempdir()?;
    let served = bed.serve(record.path()).await?;
    let (leaf, gpu) = incidents(&bed).await?;
    let sick = &bed.nodes[SICK].name;

    let mut status = Transcript::new("status");
    let seen = status.run(&viewer, "status")?;
    ensure!(seen.lines().count() <= 24, "{seen}");
    status.check()?;
    let mut why = Transcript::new("why");
    why.run(&viewer, &format!("why node {sick}"))?;
    why.run(&viewer, &format!("why node {}", bed.nodes[0].name))?;
    why.run(&viewer, &format!("why incident {leaf}"))?;
    why.run(&admin, "why pod default/train-7-1")?;
    why.run(&viewer, "why pod default/train-7-1")?;
    why.run(&viewer, &format!("why node {sick}x"))?;
    why.check()?;
    on_call(&admin, sick, &gpu)?;
    let mut plan = Transcript::new("plan");
    plan.run(&admin, "plan")?;
    plan.check()?;
    let mut node = Transcript::new("node");
    node.run(&viewer, "node list --stage Suspect")?;
    node.run(&viewer, &format!("node show {sick}"))?;
    node.run(&viewer, &format!("node history {sick}"))?;
    node.check()?;
    let mut limits = Transcript::new("limits");
    limits.run(&viewer, "budget")?;
    limits.run(&viewer, "breaker")?;
    limits.check()?;
    let mut doctor = Transcript::new("doctor");
    doctor.run(&viewer, "doctor")?;
    doctor.run(&admin, "doctor")?;
    doctor.run(&admin, "doctor --fleet")?;
    doctor.check()?;
    let mut review = Transcript::new("review");
    review.run(&viewer, "review --since 7d")?;
    review.run(&viewer, "review --weekly")?;
    review.check()?;
    recorded_week(&viewer).await?;
    let mut gameday = Transcript::new("gameday");
    gameday.run(&admin, "gameday run thermal")?;
    bed.cluster.run_kubectl(&["label", "cell", "cell", "mainstay.dev/test-cluster=true"]).await?;
    gameday.run(&admin, "gameday run leaf-down")?;
    gameday.run(&admin, "gameday list")?;
    gameday.run(&admin, "gameday run leaf-down --demo")?;
    gameday.check()?;
    let mut incident = Transcript::new("incident");
    incident.run(&viewer, "incident list")?;
    incident.run(&viewer, &format!("incident show {gpu}"))?;
    incident.run(&viewer, &format!("incident ack {gpu}"))?;
    incident.run(&operator, &format!("incident ack {gpu}"))?;
    incident.run(&operator, &format!("incident ack {leaf}"))?;
    incident.run(&operator, "incident list")?;
    incident.check()?;
    let written = mainstay(&viewer, &format!("incident postmortem {gpu}"))?;
    let text = String::from_utf8(written.stdout)?;
    for part in
        ["XID 79", "## Cost", "## Evidence", "## Timeline", "Decision: ", "## Open questions", "mainstay runbook "]
    {
        ensure!(written.status.success() && text.contains(part), "no {part:?} in the post-mortem:\n{text}");
    }

    // A missing agent and an incident that is not acknowledged need an operator; without both, no action is needed.
    let missing = mainstay(&viewer, "status -o json")?;
    let json: Value = serde_json::from_slice(&missing.stdout)?;
    ensure!(missing.status.code() == Some(5) && json["needs"][0]["kind"] == "Agents", "{json}");
    bed.report(&[NODES - 1], 1, &[]).await?;
    let calm = mainstay(&viewer, "status -o json")?;
    let json: Value = serde_json::from_slice(&calm.stdout)?;
    ensure!(calm.status.code() == Some(0), "everything was acknowledged: {json}");
    ensure!(json["mode"] == "Observe" && json["incidentsOpen"] == 2 && json["leader"]["leads"] == "Yes", "{json}");
    let words = format!("review --audit-log {} -o json", record.path().display());
    let json: Value = serde_json::from_slice(&mainstay(&viewer, &words)?.stdout)?;
    ensure!(json["rules"][0]["rule"] == "gpu-off-the-bus" && json["rules"][0]["open"] == 1, "{json}");

    only_read(&bed)?;

    drop(served);
    eventually("somebody misses the leader", async || {
        let output = mainstay(&viewer, "status")?;
        let silent = String::from_utf8(output.stdout)?.contains("stopped renewing its Lease");
        Ok(silent && output.status.code() == Some(5))
    })
    .await
}

#[tokio::test]
async fn in_mode_act_no_command_shows_an_action_that_was_not_executed() -> Result<()> {
    let bed = CommandCluster::start(4).await?;
    bed.install().await?;
    let act = r#"{"spec":{"mode":"Act"}}"#;
    let policies = bed.cluster.get_json(&["fleetpolicies"]).await?;
    for policy in policies["items"].as_array().context("no policies")? {
        let name = policy["metadata"]["name"].as_str().context("no name")?;
        bed.cluster.run_kubectl(&["patch", "fleetpolicy", name, "--type=merge", "-p", act]).await?;
    }
    bed.cluster.run_kubectl(&["patch", "cell", "cell", "--type=merge", "-p", act]).await?;
    bed.report(&[0, 1, 2, 3], 1, &[]).await?;
    bed.report(&[SICK], 2, &[("79", 3)]).await?;
    let record = tempfile::tempdir()?;
    let _served = bed.serve(record.path()).await?;
    eventually("an incident", async || Ok(bed.cluster.get_json(&["incidents"]).await?["items"][0].is_object())).await?;
    let (admin, sick) = (bed.cluster.kubeconfig(), &bed.nodes[SICK].name);
    let commands = ["status", "plan", "node list", "review", "doctor", "incident list"].map(ToOwned::to_owned);
    let of_node = ["why node", "node show", "node history"].map(|command| format!("{command} {sick}"));
    for command in commands.into_iter().chain(of_node) {
        let output = mainstay(&admin, &command)?;
        let text = String::from_utf8(output.stdout)?;
        for claim in ["Quarantined", "Draining", "ordered", "within the budgets", "carried out later"] {
            ensure!(!text.contains(claim), "{command} claims {claim:?}:\n{text}");
        }
        if ["status", "plan", "why"].iter().any(|named| command.starts_with(named)) {
            ensure!(text.contains("Act has no effect: the controller has no permission to act"), "{command}:\n{text}");
        }
        ensure!(text.lines().all(|line| line.chars().count() <= 100), "{command}:\n{text}");
    }
    let status: Value = serde_json::from_slice(&mainstay(&admin, "status -o json")?.stdout)?;
    ensure!(status["mode"] == "Act" && status["modeInEffect"] == "Observe", "{status}");
    ensure!(!status["needs"].as_array().context("no needs")?.is_empty(), "an unacknowledged incident: {status}");
    let node = bed.cluster.get_json(&["node", sick]).await?;
    ensure!(node["spec"]["unschedulable"].is_null(), "{node}");
    interrupted_drill(&bed, &admin).await
}

/// A drill that empties a node is interrupted while it waits. The node must take pods again.
async fn interrupted_drill(bed: &CommandCluster, admin: &Path) -> Result<()> {
    let node = &bed.nodes[1].name;
    bed.gang("train", &[1]).await?;
    bed.cluster.run_kubectl(&["label", "cell", "cell", "mainstay.dev/test-cluster=true"]).await?;
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_mainstay"));
    command.args(["gameday", "run", "node-eviction"]).env("KUBECONFIG", admin).kill_on_drop(true);
    let drill = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let is_cordoned =
        async || Ok(bed.cluster.get_json(&["node", node]).await?["spec"]["unschedulable"] == Value::Bool(true));
    eventually("the drill to cordon the node", is_cordoned).await?;
    let id = drill.id().context("the drill has ended")?.to_string();
    ensure!(tokio::process::Command::new("kill").args(["-INT", &id]).status().await?.success());
    let output = drill.wait_with_output().await?;
    let problem = String::from_utf8(output.stderr)?;
    ensure!(output.status.code() == Some(1) && problem.contains("interrupted"), "{:?}: {problem}", output.status);
    ensure!(!is_cordoned().await?, "the node is still cordoned");
    Ok(())
}

/// Type line of a series, its name, and its value by the seconds since a beginning.
type Recorded = (&'static str, String, fn(i64) -> i64);

/// The weekly review and the checks of the fleet, with eight recorded days in a real Prometheus: a job succeeds every hour, one
/// fails every four hours, 16 GPUs are out of service and one GPU is busy by 60 %.
async fn recorded_week(viewer: &Path) -> Result<()> {
    const STEP_SECONDS: i64 = 120;
    let folder = tempfile::tempdir()?;
    let now = jiff::Timestamp::now().as_second();
    let mut text = String::new();
    let jobs = |outcome: &str| format!("mainstay_jobs_total{{queue=\"q\",outcome=\"{outcome}\"}}");
    let series: [Recorded; 5] = [
        ("mainstay_jobs counter", jobs("success"), |seconds| seconds / 3_600),
        ("", jobs("infrastructure"), |seconds| seconds / 14_400),
        ("mainstay_gpus gauge", "mainstay_gpus{state=\"Quarantined\"}".to_owned(), |_| 16),
        ("mainstay:gpu_utilisation_percent gauge", "mainstay:gpu_utilisation_percent{gpu=\"0\"}".to_owned(), |_| 60),
        ("mainstay:node_info gauge", "mainstay:node_info{node=\"n1\"}".to_owned(), |_| 1),
    ];
    for (kind, name, value) in series {
        if !kind.is_empty() {
            text.push_str(&format!("# TYPE {kind}\n"));
        }
        // The newest samples are for the seconds that this takes.
        for step in -8 * 720..=3 {
            let at = now + step * STEP_SECONDS;
            text.push_str(&format!("{name} {} {at}\n", value(at - now + 9 * 86_400)));
        }
    }
    text.push_str("# EOF\n");
    let metrics = folder.path().join("metrics");
    std::fs::write(&metrics, text)?;
    let prometheus = Prometheus::start(folder.path(), &metrics).await?;
    let words = format!("review --weekly --prometheus {} -o json", prometheus.url);
    let json: Value = serde_json::from_slice(&mainstay(viewer, &words)?.stdout)?;
    let days = json["history"].as_array().context("no history")?;
    ensure!(days.len() == 7, "{json}");
    for day in days {
        let all = ["succeeded", "failedByInfrastructure", "utilisationPercent", "gpusOut"].map(|key| day[key].as_u64());
        ensure!(all == [Some(24), Some(6), Some(60), Some(16)], "{day}");
        ensure!(day["failedByUser"].is_null() && day["queueWaitP95Seconds"].is_null(), "no data is not zero: {day}");
    }
    let words = format!("doctor --fleet --prometheus {} -o json", prometheus.url);
    let json: Value = serde_json::from_slice(&mainstay(viewer, &words)?.stdout)?;
    let level = |what: &str| {
        let checks = json["checks"].as_array().into_iter().flatten();
        checks.filter(|check| check["what"] == what).map(|check| check["level"].to_string()).collect::<String>()
    };
    let levels = ["Telemetry", "Sampling", "Alert rules", "Alert routes"].map(level);
    ensure!(levels == ["\"Warn\"", "\"Warn\"", "\"Ok\"", "\"Warn\""], "{json}");
    let wrong = mainstay(viewer, "review --weekly --prometheus http://127.0.0.1:1")?;
    ensure!(wrong.status.code() == Some(1) && String::from_utf8(wrong.stderr)?.contains("cannot read Prometheus"));
    let alone = mainstay(viewer, &format!("review --prometheus {}", prometheus.url))?;
    ensure!(String::from_utf8(alone.stderr)?.contains("add --weekly or --monthly"));
    Ok(())
}

/// Waits for the first seconds of a minute. The incident of a leaf counts from the start of its minute, and the transcripts
/// show ages of less than a minute.
async fn early_in_a_minute() {
    let second = jiff::Timestamp::now().as_second().rem_euclid(60).unsigned_abs();
    if second > 5 {
        tokio::time::sleep(Duration::from_secs(60 - second)).await;
    }
}

/// The commands that answer the questions of docs/operate/on-call.md.
fn on_call(admin: &Path, sick: &str, gpu: &str) -> Result<()> {
    let questions = [
        ("on-call-status", "status".to_owned()),
        ("on-call-list", "incident list".to_owned()),
        ("on-call-why", format!("why incident {gpu}")),
        ("on-call-plan", "plan".to_owned()),
        ("on-call-show", format!("incident show {gpu}")),
        ("on-call-history", format!("node history {sick}")),
    ];
    for (name, words) in questions {
        let mut transcript = Transcript::new(name);
        transcript.run(admin, &words)?;
        transcript.check()?;
    }
    Ok(())
}

/// A cluster without Mainstay, looked over by an account that may list three kinds and nothing else.
async fn looked_over(bed: &CommandCluster) -> Result<()> {
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": { "name": "surveyor" },
        "rules": [{ "apiGroups": [""], "resources": ["nodes", "pods", "events"], "verbs": ["get", "list"] }],
    });
    // In this namespace whatever an account does that is not a read is audited.
    let namespace = json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "mainstay-system" },
    });
    bed.cluster.apply_objects(&[namespace, role]).await?;
    let surveyor = bed.cluster.create_account(NAMESPACE, "surveyor", &["surveyor"]).await?;
    let [short, deadlocked] = [SHORT, DEADLOCKED].map(|place| bed.nodes[place].name.as_str());
    let offers_less = r#"{"status":{"allocatable":{"nvidia.com/gpu":"7"}}}"#;
    let patch = ["patch", "node", short, "--subresource=status", "--type=merge", "-p", offers_less];
    bed.cluster.run_kubectl(&patch).await?;
    let now = jiff::Timestamp::now().to_string();
    let condition = json!({ "status": { "conditions": [{
        "type": "KernelDeadlock", "status": "True", "reason": "DockerHung", "message": "a task hangs",
        "lastTransitionTime": now, "lastHeartbeatTime": now,
    }] } });
    let condition = condition.to_string();
    let patch = ["patch", "node", deadlocked, "--subresource=status", "--type=strategic", "-p", &condition];
    bed.cluster.run_kubectl(&patch).await?;
    bed.failed_pod("batch-1", DEADLOCKED).await?;
    bed.rebooted(DEADLOCKED).await?;

    let mut assess = Transcript::new("assess-cluster");
    assess.run(&surveyor, "assess --cluster")?;
    assess.check()?;
    let json: Value = serde_json::from_slice(&mainstay(&surveyor, "assess --cluster -o json")?.stdout)?;
    let suspects = json["cluster"]["suspects"].as_array().context("no suspects")?;
    let of = |name: &str| suspects.iter().find(|line| line["node"] == name).context(name.to_owned());
    ensure!(of(short)?["gpusOffered"] == 7, "{json}");
    ensure!(of(deadlocked)?["conditions"][0]["condition"] == "KernelDeadlock", "{json}");
    ensure!(of(deadlocked)?["podsFailed"] == 1 && of(deadlocked)?["boots"] == 1, "{json}");
    ensure!(of(&bed.nodes[CORDONED].name)?["keptAwayBy"] == "kubectl", "{json}");
    let found = json["findings"].as_array().context("no findings")?;
    ensure!(found.iter().any(|one| one["rule"] == "gpu-missing" && one["node"] == short), "{json}");
    Ok(())
}

/// By the server's own log: who only looks has asked for nothing but reads, not even whether it may.
fn only_read(bed: &CommandCluster) -> Result<()> {
    let mut by_controller = bed.cluster.audited_writes("mainstay-controller")?;
    ensure!(by_controller.next().is_some(), "the audit log does not know the controller");
    let of_surveyor = |event: &Result<Value>| match event {
        Ok(event) => event["user"]["username"].as_str().is_some_and(|user| user.contains("surveyor")),
        Err(_) => true,
    };
    if let Some(event) = bed.cluster.audit_events()?.find(of_surveyor) {
        bail!("it wrote: {}", event?);
    }
    Ok(())
}

/// The names of the leaf's incident and of the GPU's, once both are there.
async fn incidents(bed: &CommandCluster) -> Result<(String, String)> {
    eventually("two incidents", async || {
        let list = bed.cluster.get_json(&["incidents"]).await?;
        let names = list["items"].as_array().context("no items")?.iter();
        let open = names.filter(|one| one["status"].is_object() && one["status"]["closedAt"].is_null());
        let names: Vec<String> = open.filter_map(|one| Some(one["metadata"]["name"].as_str()?.to_owned())).collect();
        let leaf = names.iter().find(|name| name.starts_with("leaf-")).cloned();
        let gpu = names.iter().find(|name| name.starts_with("gpu-")).cloned();
        Ok(leaf.zip(gpu).filter(|_| names.len() == 2))
    })
    .await
}
