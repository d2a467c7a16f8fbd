//! The controller of JobSet as a process, with the definitions, role and webhooks of its release. Its webhooks are
//! reached on loopback, with the serving certificate of the test cluster: JobSet's own certificates are for a
//! Service, and no pod network exists here.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use kube::config::Kubeconfig;
use serde_json::{Value, json};
use testbed::{TestCluster, eventually_within};
use tokio::process::{Child, Command};
use xtask::command;

use super::gangs;

const NAMESPACE: &str = "jobset-system";
const NAME: &str = "jobset-controller-manager";
const MODULE: &str = "sigs.k8s.io/jobset";
const READY_WITHIN: Duration = Duration::from_mins(2);
/// Time limit of a question to Go.
const GO_LIMIT: Duration = Duration::from_secs(60);

/// A running controller; it is killed when this is dropped.
pub(super) struct JobSetController {
    _process: Child,
}

impl JobSetController {
    /// Installs JobSet, starts its controller, and waits until a gang passes its webhooks. `probe` is such a gang.
    pub(super) async fn start(bed: &TestCluster, root: &Path, folder: &Path, probe: &Value) -> Result<Self> {
        let program = testbed::jobset().await?;
        let source = source(root).await?.join("config/components");
        let [port, health] = [free_port()?, free_port()?];
        let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAMESPACE } });
        bed.cluster.apply_objects(&[namespace]).await?;
        bed.cluster.apply(&source.join("crd/bases/jobset.x-k8s.io_jobsets.yaml")).await?;
        bed.cluster.apply(&source.join("rbac/role.yaml")).await?;
        let kubeconfig = bed.cluster.create_account(NAMESPACE, NAME, &["manager-role"]).await?;
        let pki = bed.cluster.dir().join("pki");
        for (from, to) in [("serving.crt", "tls.crt"), ("serving.key", "tls.key")] {
            std::fs::copy(pki.join(from), folder.join(to))?;
        }
        let config = folder.join("jobset.json");
        std::fs::write(&config, configuration(port, health, folder).to_string())?;
        let log = folder.join("jobset.log");
        let mut command = Command::new(program);
        command.arg("--config").arg(&config).env("KUBECONFIG", kubeconfig).stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(std::fs::File::create(&log)?).kill_on_drop(true);
        let process = command.spawn().context("cannot start JobSet")?;
        bed.cluster.apply_objects(&webhooks(&bed.cluster.kubeconfig(), port)?).await?;
        let passes = async || {
            let created = bed.admin.request::<Value>(gangs::create(probe, true)?).await.ok();
            // A default that the webhook sets.
            Ok(created.is_some_and(|created| !created["spec"]["successPolicy"].is_null()))
        };
        let answer = eventually_within(READY_WITHIN, "the webhooks of JobSet", passes).await;
        answer.with_context(|| std::fs::read_to_string(&log).unwrap_or_default())?;
        Ok(Self { _process: process })
    }
}

/// Folder with the source of the version that `tools/jobset` pins.
async fn source(root: &Path) -> Result<PathBuf> {
    let mut list = command::program("go", &root.join("tools/jobset"));
    list.args(["list", "-m", "-f", "{{.Dir}}", MODULE]).env("GOWORK", "off");
    let folder = PathBuf::from(command::text(&mut list, GO_LIMIT).await?.trim());
    ensure!(folder.is_dir(), "the source of {MODULE} is not in the module cache");
    Ok(folder)
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

fn configuration(port: u16, health: u16, certificates: &Path) -> Value {
    json!({
        "apiVersion": "config.jobset.x-k8s.io/v1alpha1", "kind": "Configuration",
        "webhook": { "host": "127.0.0.1", "port": port, "certDir": certificates },
        "leaderElection": { "leaderElect": false },
        "metrics": { "bindAddress": "0" },
        "health": { "healthProbeBindAddress": format!("127.0.0.1:{health}") },
        "internalCertManagement": { "enable": false },
    })
}

/// The four webhooks of the release, at this port.
fn webhooks(kubeconfig: &Path, port: u16) -> Result<Vec<Value>> {
    let cluster = Kubeconfig::read_from(kubeconfig)?.clusters.into_iter().find_map(|named| named.cluster);
    let authority = cluster.and_then(|cluster| cluster.certificate_authority_data).context("no authority")?;
    let webhook = |name: &str, path: &str, rule: (&str, &str, &[&str], &str)| {
        let (group, version, operations, resource) = rule;
        let mut webhook = json!({
            "name": name, "admissionReviewVersions": ["v1"], "failurePolicy": "Fail", "sideEffects": "None",
            "clientConfig": { "url": format!("https://127.0.0.1:{port}{path}"), "caBundle": authority },
            "rules": [{
                "apiGroups": [group], "apiVersions": [version], "operations": operations, "resources": [resource],
            }],
        });
        if resource == "pods" {
            let of_gang = json!([{ "key": gangs::NAME_LABEL, "operator": "Exists" }]);
            webhook["objectSelector"] = json!({ "matchExpressions": of_gang });
        }
        webhook
    };
    let configuration = |kind: &str, webhooks: [Value; 2]| {
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": { "name": "jobset" },
            "webhooks": webhooks,
        })
    };
    let (jobset, create) = (("jobset.x-k8s.io", "v1alpha2"), &["CREATE"][..]);
    let (gangs, pods) = ("/mutate-jobset-x-k8s-io-v1alpha2-jobset", "/mutate--v1-pod");
    let mutating = [
        webhook("mjobset.kb.io", gangs, (jobset.0, jobset.1, create, "jobsets")),
        webhook("mpod.kb.io", pods, ("", "v1", create, "pods")),
    ];
    let (gangs, pods) = ("/validate-jobset-x-k8s-io-v1alpha2-jobset", "/validate--v1-pod");
    let validating = [
        webhook("vjobset.kb.io", gangs, (jobset.0, jobset.1, &["CREATE", "UPDATE"], "jobsets")),
        webhook("vpod.kb.io", pods, ("", "v1", create, "pods")),
    ];
    Ok(vec![
        configuration("MutatingWebhookConfiguration", mutating),
        configuration("ValidatingWebhookConfiguration", validating),
    ])
}
