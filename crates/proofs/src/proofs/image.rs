//! Proof that the images are enough: both are unpacked from their layouts and run as they say, in a root of their own, with the
//! accounts that the image's own `mainstay render` made. The server's audit log shows refused calls.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::ListParams;
use serde_json::Value;
use tempfile::TempDir;
use testbed::{Cluster, Fleet, OptionalServer, Options};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep};
use xtask::dist::Architecture;
use xtask::images::{self, layout};
use xtask::output;

use crate::prove::{Context, Measurement, Proof};

const NAMESPACE: &str = "mainstay-system";
const NODES: usize = 2;
const SOON: Duration = Duration::from_mins(2);
/// Long enough for every watch to be begun and every kind of record to be written.
const SETTLES: Duration = Duration::from_secs(8);

pub(super) const PROOF: Proof = Proof { name: "image", run: |context: &Context| Box::pin(measure(context)) };

/// An image unpacked into a folder that can be a root.
struct UnpackedImage {
    root: TempDir,
    runs: layout::RunConfig,
}

impl UnpackedImage {
    fn of(made: &images::BuiltImage) -> anyhow::Result<Self> {
        let root = TempDir::new()?;
        let runs = layout::unpack(&made.layout, Architecture::X86_64, root.path())?;
        // The image's user must be able to enter the root folder.
        std::fs::set_permissions(root.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        ensure!(runs.labels.contains_key("org.opencontainers.image.revision"), "no revision: {:?}", runs.labels);
        Ok(Self { root, runs })
    }

    /// A file that a pod would be given.
    fn put(&self, path: &str, text: &str) -> anyhow::Result<String> {
        let file = self.root.path().join(path);
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(file, text)?;
        Ok(format!("/{path}"))
    }

    /// The image's entry point, in the image's files alone.
    fn command(&self, user: &str, words: &[&str]) -> Command {
        let mut command = Command::new("chroot");
        command.arg(format!("--userspec={user}")).arg(self.root.path()).arg(&self.runs.entrypoint).args(words);
        // Nothing of this machine; the path is for chroot itself.
        command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").stdin(Stdio::null()).kill_on_drop(true);
        command
    }

    async fn says(&self, words: &[&str]) -> anyhow::Result<String> {
        let output = self.command(&self.runs.user, words).output();
        let output = tokio::time::timeout(SOON, output).await.context("it does not end")??;
        ensure!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?)
    }

    fn start(&self, user: &str, words: &[&str], variable: Option<(&str, &str)>) -> anyhow::Result<Child> {
        let mut command = self.command(user, words);
        command.envs(variable).stdout(Stdio::null());
        command.spawn().context("cannot start it; chroot needs root")
    }
}

async fn measure(context: &Context) -> anyhow::Result<Measurement> {
    let out = context.workspace.target_dir.join("images");
    let made = images::build(&context.workspace, &out, &[Architecture::X86_64]).await?;
    let [controller, agent] = [UnpackedImage::of(&made[0])?, UnpackedImage::of(&made[1])?];
    let version = format!("mainstay {} ", env!("CARGO_PKG_VERSION"));
    ensure!(controller.says(&["version"]).await?.starts_with(&version), "another version");
    agent.says(&["--version"]).await?;

    let cluster = installed(&controller).await?;
    let pod = agents_pod(&cluster).await?;
    let node = pod.spec.as_ref().and_then(|spec| spec.node_name.clone()).context("a pod on no node")?;

    let token = cluster.token(NAMESPACE, "mainstay-controller", None).await?;
    let kubeconfig = controller.put("run/kubeconfig", &cluster.kubeconfig_with_token(&token)?)?;
    let words = ["serve", "--listen", "127.0.0.1:0", "--audit-log", "/var/lib/mainstay"];
    let mut serving = controller.start(&controller.runs.user, &words, Some(("KUBECONFIG", &kubeconfig)))?;

    let token = agent.put("run/token", &cluster.token(NAMESPACE, "mainstay-agent", Some(&pod)).await?)?;
    let authority = agent.put("run/ca.crt", &std::fs::read_to_string(cluster.authority())?)?;
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").context("no boot id")?;
    agent.put("host/proc/sys/kernel/random/boot_id", &boot)?;
    agent.put("host/proc/sys/kernel/osrelease", "6.8.0\n")?;
    std::fs::create_dir_all(agent.root.path().join("host/sys"))?;
    let words = [
        "run",
        "--listen",
        "127.0.0.1:0",
        "--disable",
        "kernel-log",
        "--sys",
        "/host/sys",
        "--proc",
        "/host/proc",
        "--root",
        "/host",
        "--server",
        cluster.api_url(),
        "--server-ca",
        &authority,
        "--token",
        &token,
    ];
    // As the DaemonSet has it: it reads what only root may.
    let mut reporting = agent.start("0:0", &words, None)?;

    let begun = Instant::now();
    until(&mut [&mut serving, &mut reporting], &cluster, &node).await?;
    let recorded = begun.elapsed();
    sleep(SETTLES).await;
    for (child, what) in [(&mut serving, "the controller"), (&mut reporting, "the agent")] {
        ensure!(child.try_wait()?.is_none(), "{what} ended");
    }
    let (calls, refused) = told(&cluster.audit_log())?;
    for call in &refused {
        output::note(format_args!("refused: {call}"));
    }
    // Some thirty are usual: a list and a watch for every kind, the Lease, and the writes.
    ensure!(calls > 15, "{calls} calls are on record");
    let sizes: Vec<String> = made.iter().map(|one| format!("{} {} KiB", one.name, one.layer_bytes / 1024)).collect();
    let detail = format!(
        "a GpuNode {} ms after both were started; {calls} calls on record; {}, as {}",
        recorded.as_millis(),
        sizes.join(", "),
        controller.runs.user
    );
    Ok(Measurement { value: i64::try_from(refused.len())?, detail })
}

/// A cluster with what the image itself renders, and agents' pods on its nodes.
async fn installed(controller: &UnpackedImage) -> anyhow::Result<Cluster> {
    let parts = vec![OptionalServer::ControllerManager, OptionalServer::Scheduler, OptionalServer::Kwok];
    let cluster = testbed::own_with_read_audit(Options { nodes_max: 100, parts }).await?;
    let (admin, fleet) = (cluster.client().await?, Fleet::new(NODES, 8, 7).named("image"));
    fleet.create(&admin, &|_| ()).await?;
    let ready = fleet.wait_ready(&admin, SOON, &|_| ()).await?;
    ensure!(ready.ready == NODES, "{ready:?}");
    for part in ["crds", "policy", "workloads"] {
        let file: PathBuf = cluster.dir().join(format!("{part}.yaml"));
        std::fs::write(&file, controller.says(&["render", "--part", part]).await?)?;
        cluster.apply(&file).await?;
        if part == "crds" {
            let wait = ["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"];
            cluster.run_kubectl(&wait).await?;
        }
    }
    Ok(cluster)
}

/// A pod that the DaemonSet's controller made and the scheduler put on a node.
async fn agents_pod(cluster: &Cluster) -> anyhow::Result<Pod> {
    let pods: Api<Pod> = Api::namespaced(cluster.client().await?, NAMESPACE);
    let give_up_at = Instant::now() + SOON;
    loop {
        let found = pods.list(&ListParams::default().labels("app.kubernetes.io/component=agent")).await?;
        let is_bound = |pod: &Pod| pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some());
        if let Some(pod) = found.items.into_iter().find(is_bound) {
            return Ok(pod);
        }
        ensure!(Instant::now() < give_up_at, "no agent's pod within {} s", SOON.as_secs());
        sleep(Duration::from_millis(200)).await;
    }
}

async fn until(children: &mut [&mut Child], cluster: &Cluster, node: &str) -> anyhow::Result<()> {
    let give_up_at = Instant::now() + SOON;
    let ask = ["get", "gpunodes", node, "--ignore-not-found", "-o", "jsonpath={.status.stage}"];
    while cluster.run_kubectl(&ask).await?.is_empty() {
        for child in children.iter_mut() {
            let ended = child.try_wait()?;
            ensure!(ended.is_none(), "it ended with {ended:?}; see its standard error above");
        }
        ensure!(Instant::now() < give_up_at, "no GpuNode of {node} within {} s", SOON.as_secs());
        sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

/// How many calls there were, and those that no role allows.
pub(super) fn told(audit_log: &Path) -> anyhow::Result<(usize, Vec<String>)> {
    let (mut calls, mut refused) = (0, Vec::new());
    for line in std::fs::read_to_string(audit_log)?.lines() {
        let event: Value = serde_json::from_str(line)?;
        calls += 1;
        if event["annotations"]["authorization.k8s.io/decision"] == "forbid" {
            refused.push(format!("{} {} {}", event["user"]["username"], event["verb"], event["requestURI"]));
        }
    }
    Ok((calls, refused))
}
