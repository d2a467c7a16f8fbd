//! prometheus-adapter as a process, registered in the API server as its chart and the example register it.

use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use testbed::{deploy, eventually_within};
use tokio::process::{Child, Command};

use super::super::test_cluster::TestCluster;

const NAMESPACE: &str = "monitoring";
const NAME: &str = "prometheus-adapter";
/// The default is 10 minutes, and 1 minute in the chart.
const RELIST: &str = "--metrics-relist-interval=5s";
const AVAILABLE_WITHIN: Duration = Duration::from_mins(2);

/// A running adapter; it is killed when this is dropped.
pub(super) struct Adapter {
    _process: Child,
}

impl Adapter {
    /// Applies the example, starts the adapter with its rules, and waits until the API server forwards to it.
    pub(super) async fn start(program: &Path, bed: &TestCluster, folder: &Path, prometheus: &str) -> Result<Self> {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        register(bed, port).await?;
        let map = bed.cluster.get_json(&["configmap", "-n", NAMESPACE, "mainstay-adapter-rules"]).await?;
        let config = folder.join("adapter.yaml");
        std::fs::write(&config, map["data"]["config.yaml"].as_str().context("no rules in the example")?)?;
        let kubeconfig = bed.cluster.create_account(NAMESPACE, NAME, &["system:auth-delegator"]).await?;
        let kubeconfig = kubeconfig.display();
        let log = folder.join("adapter.log");
        let mut command = Command::new(program);
        command.args([
            RELIST,
            "--bind-address=127.0.0.1",
            &format!("--secure-port={port}"),
            &format!("--cert-dir={}", folder.display()),
            &format!("--config={}", config.display()),
            &format!("--prometheus-url={prometheus}"),
            &format!("--lister-kubeconfig={kubeconfig}"),
            &format!("--authentication-kubeconfig={kubeconfig}"),
            &format!("--authorization-kubeconfig={kubeconfig}"),
        ]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(std::fs::File::create(&log)?).kill_on_drop(true);
        let process = command.spawn().context("cannot start prometheus-adapter")?;
        let available = async || {
            let service = bed.cluster.get_json(&["apiservice", "v1beta1.external.metrics.k8s.io"]).await?;
            let conditions = service["status"]["conditions"].as_array().cloned().unwrap_or_default();
            Ok(conditions.iter().any(|one| one["type"] == "Available" && one["status"] == "True"))
        };
        let answer = eventually_within(AVAILABLE_WITHIN, "the metrics API", available).await;
        answer.with_context(|| std::fs::read_to_string(&log).unwrap_or_default())?;
        Ok(Self { _process: process })
    }
}

/// The example, and what the adapter's chart creates: a Service and a role. No pod network exists here, so that the Service is a name
/// of this machine.
async fn register(bed: &TestCluster, port: u16) -> Result<()> {
    let example = std::fs::read_to_string(deploy().join("examples/scaling/adapter.yaml"))?;
    ensure!(example.contains("port: 443"), "the example has no port");
    let metadata = |namespace: &str| json!({ "name": NAME, "namespace": namespace });
    let namespace: Value = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAMESPACE } });
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": metadata(NAMESPACE),
        "spec": { "type": "ExternalName", "externalName": "localhost" },
    });
    let reader = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": metadata("kube-system"),
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "extension-apiserver-authentication-reader",
        },
        "subjects": [{ "kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE }],
    });
    bed.cluster.apply_objects(&[namespace]).await?;
    bed.cluster.apply_objects(&[service, reader]).await?;
    let applied = bed.cluster.write_file("adapter.yaml", &example.replace("port: 443", &format!("port: {port}")))?;
    bed.cluster.apply(&applied).await.map(drop)
}
