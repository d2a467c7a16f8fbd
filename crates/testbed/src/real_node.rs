//! Real nodes next to KWOK's: a real kubelet and a real containerd in namespaces of their own, which run real containers. A
//! node can lose its power and boot again with a new boot id. Its network reaches the API server and nothing else, and the
//! machine's network does not change. There is no kube-proxy and no DNS; `docs/contribute/real-nodes.md` has all limits.

mod boot;
mod container_log;
mod control_groups;
mod gpus;
mod machine;
mod programs;
mod settings;

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use k8s_openapi::api::core::v1::Node;
use kube::{Api, Client};
use tokio::process::Command;
use tokio::time::timeout;

use crate::Cluster;
use crate::image::Image;
use crate::problem::problem;
use crate::process::{self, Process};
use crate::wait::eventually_within;

use boot::{Boot, log_end};
use control_groups::ControlGroups;
use machine::Machine;
use settings::Settings;

pub use machine::{CannotRun, Obstacle};
pub use programs::{NodeProgram, NodePrograms};

/// Value of [`crate::kwok::KUBELET_LABEL`] on real nodes.
pub const KUBELET_REAL: &str = "real";

/// Three seconds on an idle machine.
const READY_AT_MOST: Duration = Duration::from_secs(60);
const CONTAINERD_AT_MOST: Duration = Duration::from_secs(60);
const RUN_AT_MOST: Duration = Duration::from_secs(60);
/// The kernel's limit for the path of a socket.
const SOCKET_PATH_MAX: usize = 107;

static STARTED: AtomicU8 = AtomicU8::new(0);

/// A node with a real kubelet. When this value is dropped, the node ends and nothing of it stays on the machine.
pub struct RealNode {
    name: String,
    number: u8,
    cluster: PathBuf,
    folder: PathBuf,
    api_port: String,
    programs: NodePrograms,
    groups: ControlGroups,
    client: Client,
    forwarder: Option<Process>,
    boot: Option<Boot>,
    boot_id: String,
}

impl RealNode {
    /// Starts a node of a cluster, which names it by itself. Fails with [`CannotRun`] where the machine cannot run a node. It
    /// does not wait until the node is Ready.
    pub async fn start(cluster: &Cluster, name: &str) -> Result<Self> {
        let machine = Machine::check().await?;
        let programs = NodePrograms::ensure().await?;
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        ensure!((1..=32).contains(&name.len()) && name.bytes().all(is_plain), "{name:?} is no name of a node");
        let folder = cluster.dir().join("nodes").join(name);
        ensure!(!folder.exists(), "the cluster has a node {name} already");
        ensure!(folder.as_os_str().len() + "/api.sock".len() <= SOCKET_PATH_MAX, "{} is too long", folder.display());
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        // Nodes do not reach each other; their addresses differ for the reader of a list of nodes.
        let number = STARTED.fetch_add(1, Ordering::Relaxed) % 250 + 1;
        let mut node = Self {
            name: name.to_owned(),
            number,
            cluster: cluster.dir().to_owned(),
            api_port: cluster.api_url().rsplit(':').next().unwrap_or_default().to_owned(),
            groups: ControlGroups::listed_in(cluster.dir(), name, number)?,
            client: cluster.client().await?,
            folder,
            programs,
            forwarder: None,
            boot: None,
            boot_id: String::new(),
        };
        node.settings().write(&cluster.kubeconfig_of_node(name)?, &machine, &node.programs)?;
        node.forwarder = Some(node.forward()?);
        node.boot().await?;
        Ok(node)
    }

    /// Name of the node, which is also its host name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Boot id that the kubelet reports since the last boot.
    pub fn boot_id(&self) -> &str {
        &self.boot_id
    }

    fn settings(&self) -> Settings<'_> {
        Settings { folder: &self.folder, number: self.number, control_group: self.groups.name() }
    }

    /// Listens on a socket file that the node sees, and connects to the API server in the machine's network namespace.
    fn forward(&self) -> Result<Process> {
        let words =
            [format!("unix:{}", self.folder.join("api.sock").display()), format!("127.0.0.1:{}", self.api_port)];
        let program = self.programs.path(NodeProgram::Forward);
        process::launch(&format!("forward-{}", self.name), &program, &words, &[], &self.cluster)
    }

    /// Turns a node on after a power cut: with a new boot id, and with the disk as it was.
    pub async fn boot(&mut self) -> Result<()> {
        ensure!(self.boot.is_none(), "node {} is on already", self.name);
        let is_up = self.folder.join("containerd-is-up");
        if is_up.exists() {
            std::fs::remove_file(&is_up).with_context(|| format!("cannot remove {}", is_up.display()))?;
        }
        self.boot_id = self.settings().new_boot_id()?;
        self.groups.create()?;
        let (address, folder, programs) =
            (self.settings().address(), self.folder.to_string_lossy(), self.programs.dir().to_string_lossy());
        let args = [self.name.as_str(), &address, &self.api_port, &folder, &programs];
        self.boot = Some(Boot::start(&self.cluster, &self.name, &self.folder, args).await?);
        self.until(CONTAINERD_AT_MOST, "containerd to be up", async || Ok(is_up.exists())).await
    }

    /// Waits until the API server shows the node as Ready since its last boot.
    pub async fn wait_ready(&self) -> Result<()> {
        let nodes = Api::<Node>::all(self.client.clone());
        let is_ready = async || {
            let node = nodes.get_opt(&self.name).await?;
            Ok(node.is_some_and(|node| is_ready_since(&node, &self.boot_id)))
        };
        self.until(READY_AT_MOST, "the node to be Ready", is_ready).await
    }

    /// Ends everything in the node at once. Its objects in the API stay, and its disk does.
    pub async fn power_cut(&mut self) -> Result<()> {
        let boot = self.boot.take().with_context(|| format!("node {} is off already", self.name))?;
        boot.cut().await?;
        self.groups.remove().await
    }

    /// Gives the node an image: a tar or a folder in OCI layout. Its tag is in the layout; a container names it
    /// `localhost/NAME:TAG`.
    pub async fn import_image(&self, name: &str, layout: &Path) -> Result<()> {
        let base = format!("localhost/{name}");
        let import = ["ctr", "-n", "k8s.io", "images", "import", "--base-name", &base, "-"];
        if layout.is_dir() {
            let mut tar = Command::new("tar");
            tar.arg("-C").arg(layout).args(["-cf", "-", "."]).kill_on_drop(true);
            let mut tar = tar.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().context("cannot run tar")?;
            let output: Stdio = tar.stdout.take().context("tar has no output")?.try_into()?;
            self.run_with_input(&import, output).await?;
            let ended = timeout(RUN_AT_MOST, tar.wait()).await.context("tar does not end")??;
            ensure!(ended.success(), "tar cannot read {}", layout.display());
        } else {
            let file = std::fs::File::open(layout).with_context(|| format!("cannot open {}", layout.display()))?;
            self.run_with_input(&import, file.into()).await?;
        }
        Ok(())
    }

    /// Writes an image and gives it to the node.
    pub async fn add_image(&self, image: &Image) -> Result<()> {
        let tar = self.folder.join(format!("{}.tar", image.name()));
        image.write_tar(&tar)?;
        self.import_image(image.name(), &tar).await
    }

    /// Output of all runs of a container, from the node's disk. It can be read while the node is off.
    pub fn container_log(&self, namespace: &str, pod: &str, container: &str) -> Result<String> {
        container_log::read(&self.folder.join("var-log"), namespace, pod, container)
    }

    /// Runs a command of the machine in the node's namespaces, and returns what it prints.
    pub async fn run(&self, command: &[&str]) -> Result<String> {
        self.run_with_input(command, Stdio::null()).await
    }

    async fn run_with_input(&self, command: &[&str], input: Stdio) -> Result<String> {
        let mut nsenter = Command::new("nsenter");
        nsenter.args(self.enter()?).args(command).stdin(input).kill_on_drop(true);
        let output = timeout(RUN_AT_MOST, nsenter.output());
        let output = output.await.with_context(|| format!("{command:?} does not end within {RUN_AT_MOST:?}"))??;
        if !output.status.success() {
            bail!("{command:?} in node {}: {}", self.name, String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Arguments of `nsenter`, before the command.
    fn enter(&self) -> Result<Vec<String>> {
        let boot = self.boot.as_ref().with_context(|| format!("node {} is off", self.name))?;
        let target = boot.init_pid().to_string();
        let words = ["--target", &target, "--mount", "--net", "--uts", "--ipc", "--pid", "--"];
        Ok(words.map(str::to_owned).to_vec())
    }

    /// Waits for something of the booted node. The error has the last lines of every log.
    async fn until(&self, limit: Duration, what: &str, ask: impl AsyncFn() -> Result<bool>) -> Result<()> {
        let waited = eventually_within(limit, what, async || {
            ensure!(self.boot.as_ref().is_some_and(Boot::is_alive), "the node ended while a test waited for {what}");
            ask().await
        });
        let Err(error) = waited.await else { return Ok(()) };
        let init = self.cluster.join("logs").join(format!("node-{}.log", self.name));
        let logs = ["containerd.log", "forward.log", "kubelet.log"].map(|log| self.folder.join(log));
        let ends: Vec<String> = [init].iter().chain(&logs).map(|path| log_end(path)).collect();
        let what = format!("node {}: {error:#}", self.name);
        Err(problem(what, ends.join("\n          "), "read the logs above; the node removes them when it ends"))
    }
}

impl fmt::Debug for RealNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RealNode").field("name", &self.name).field("boot", &self.boot).finish_non_exhaustive()
    }
}

impl Drop for RealNode {
    fn drop(&mut self) {
        if let Some(boot) = self.boot.take() {
            boot.cut_now();
        }
        process::end_now(self.forwarder.as_slice());
        self.groups.remove_now();
        // A destructor cannot report an error; the folder is in the cluster's, which is removed as well.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn is_ready_since(node: &Node, boot_id: &str) -> bool {
    let Some(status) = &node.status else { return false };
    let is_this_boot = status.node_info.as_ref().is_some_and(|info| info.boot_id == boot_id);
    let mut conditions = status.conditions.iter().flatten();
    is_this_boot && conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True")
}
