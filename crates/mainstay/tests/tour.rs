//! The commands of the tour and of `docs/install`, run as printed on a real API server. The whole tour also builds the
//! programs and starts its own cluster, so it is run by hand; here its sections run on a test cluster.

#![cfg(test)]

#[path = "tour/document.rs"]
mod document;
#[path = "tour/shell.rs"]
mod shell;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use document::Block;
use shell::Shell;
use tempfile::TempDir;
use testbed::{Cluster, Fleet, Helm, OptionalServer, Options};

const TOUR: &str = "docs/get-started/tour.md";
const INSTALL: &str = "docs/install";
/// Sections of the tour that build the programs, and start and remove a cluster of that name.
const OWN_CLUSTER: [&str; 3] = ["1. Build", "2. Start a test cluster", "11. Remove the test cluster"];
const NODES: usize = 32;
const NAMESPACE: &str = "mainstay-system";
const LIMIT: Duration = Duration::from_mins(4);
/// A fresh machine compiles the workspace and the servers first.
const WHOLE_LIMIT: Duration = Duration::from_mins(90);

/// One step through `docs/install`.
#[derive(Clone, Copy)]
enum Step {
    /// Run the commands below this heading of this page.
    Run(&'static str, &'static str),
    /// Start the controller as its pod would: emulated nodes run no program.
    StartController,
    /// Stop the controller, as the deletion of its pod would.
    StopController,
}

const WITH_HELM: [Step; 13] = [
    Step::Run("install.md", "With Helm"),
    Step::StartController,
    Step::Run("install.md", "4. Create a FleetPolicy for each pool, and a Fabric"),
    Step::Run("install.md", "5. Check the installation"),
    Step::Run("doctor.md", "Run it"),
    Step::Run("permissions.md", "Bind them"),
    Step::Run("agent.md", "Set an option"),
    Step::Run("upgrade.md", "With Helm"),
    Step::Run("upgrade.md", "Check the result"),
    Step::Run("uninstall.md", "Export"),
    Step::StopController,
    Step::Run("uninstall.md", "With Helm"),
    Step::Run("uninstall.md", "Check the result"),
];

const WITH_MANIFESTS: [Step; 10] = [
    Step::Run("install.md", "With manifests"),
    Step::StartController,
    Step::Run("install.md", "4. Create a FleetPolicy for each pool, and a Fabric"),
    Step::Run("install.md", "5. Check the installation"),
    Step::Run("upgrade.md", "With manifests"),
    Step::Run("upgrade.md", "Check the result"),
    Step::Run("uninstall.md", "Export"),
    Step::StopController,
    Step::Run("uninstall.md", "With manifests"),
    Step::Run("uninstall.md", "Check the result"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn blocks(page: &str) -> Result<Vec<Block>> {
    let text = std::fs::read_to_string(root().join(page)).with_context(|| page.to_owned())?;
    document::blocks(page, &text)
}

fn programs() -> Result<&'static Path> {
    Path::new(env!("CARGO_BIN_EXE_mainstay")).parent().context("the program is in no directory")
}

/// A cluster with nodes that have the names of the tour.
async fn cluster(nodes: usize, parts: Vec<OptionalServer>) -> Result<Cluster> {
    let cluster = testbed::own(Options { nodes_max: 100, parts }).await?;
    let (admin, fleet) = (cluster.client().await?, Fleet::new(nodes, 8, 1));
    fleet.create(&admin, &|_| ()).await?;
    let ready = fleet.wait_ready(&admin, Duration::from_mins(2), &|_| ()).await?;
    ensure!(ready.ready == nodes, "{ready:?}");
    Ok(cluster)
}

fn shell(folder: &Path, cluster: &Cluster) -> Result<Shell> {
    let kubectl = cluster.kubectl();
    let kubectl = kubectl.parent().context("kubectl is in no directory")?;
    Ok(Shell::new(folder).path(programs()?).path(kubectl).env("KUBECONFIG", cluster.kubeconfig()))
}

#[tokio::test]
async fn the_tour_runs_as_printed() -> Result<()> {
    // A build of the whole workspace has made the agent already.
    if !programs()?.join("mainstay-agent").is_file() {
        let status = Command::new("cargo").args(["build", "-p", "mainstay-agent"]).current_dir(root()).status()?;
        ensure!(status.success(), "the agent does not compile");
    }
    let cluster = cluster(NODES, vec![OptionalServer::ControllerManager, OptionalServer::Kwok]).await?;
    let mut steps = blocks(TOUR)?;
    steps.retain(|block| !OWN_CLUSTER.contains(&block.heading.as_str()));
    shell(&root(), &cluster)?.run(&steps, LIMIT).await
}

#[tokio::test]
#[ignore = "builds the programs and starts the cluster of the tour: run it with `--ignored`"]
async fn the_whole_tour_runs_as_printed() -> Result<()> {
    let result = Shell::new(&root()).run(&blocks(TOUR)?, WHOLE_LIMIT).await;
    // After a failure the cluster is still there.
    let down =
        Command::new("cargo").args(["xtask", "cluster", "down", "--name", "tour"]).current_dir(root()).status()?;
    ensure!(down.success() || result.is_err(), "the cluster of the tour cannot be removed");
    result
}

/// The controller, with the account of its pod; it ends when this is dropped.
struct Controller(Child);

impl Controller {
    async fn start(cluster: &Cluster) -> Result<Self> {
        let arguments = ["create", "token", "mainstay-controller", "--namespace", NAMESPACE];
        let token = cluster.run_kubectl(&arguments).await?;
        let kubeconfig = cluster.dir().join("controller.kubeconfig");
        std::fs::write(&kubeconfig, cluster.kubeconfig_with_token(token.trim())?)?;
        let mut command = Command::new(env!("CARGO_BIN_EXE_mainstay"));
        command.args(["serve", "--listen", "127.0.0.1:0"]).env("KUBECONFIG", kubeconfig);
        let started = Self(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?);
        let give_up_at = Instant::now() + Duration::from_mins(1);
        let epoch = ["get", "cell", "cell", "-o", "jsonpath={.status.epoch}"];
        while cluster.run_kubectl(&epoch).await?.is_empty() {
            ensure!(Instant::now() < give_up_at, "no controller leads");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        Ok(started)
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn selected(page: &str, heading: &str) -> Result<Vec<Block>> {
    let mut found = blocks(&format!("{INSTALL}/{page}"))?;
    found.retain(|block| block.heading == heading);
    ensure!(!found.is_empty(), "{INSTALL}/{page} has no commands below \"{heading}\"");
    Ok(found)
}

async fn walk(steps: &[Step]) -> Result<()> {
    let helm = Helm::ensure().await?;
    let cluster =
        cluster(3, vec![OptionalServer::ControllerManager, OptionalServer::Scheduler, OptionalServer::Kwok]).await?;
    // The commands write files to the current directory and name the chart relative to the checkout.
    let folder = TempDir::new()?;
    std::os::unix::fs::symlink(root().join("deploy").canonicalize()?, folder.path().join("deploy"))?;
    let helm = helm.program().parent().context("helm is in no directory")?;
    let mut controller = None;
    for step in steps {
        match step {
            Step::Run(page, heading) => {
                let shell = shell(folder.path(), &cluster)?.path(helm).env("HOME", folder.path());
                shell.run(&selected(page, heading)?, LIMIT).await?;
            }
            Step::StartController => controller = Some(Controller::start(&cluster).await?),
            Step::StopController => drop(controller.take()),
        }
    }
    Ok(())
}

#[tokio::test]
async fn the_pages_of_an_installation_with_helm_run_as_printed() -> Result<()> {
    walk(&WITH_HELM).await
}

#[tokio::test]
async fn the_pages_of_an_installation_with_manifests_run_as_printed() -> Result<()> {
    walk(&WITH_MANIFESTS).await
}

#[test]
fn every_command_of_the_installation_pages_is_part_of_a_test() -> Result<()> {
    let mut run = BTreeSet::new();
    for step in WITH_HELM.iter().chain(&WITH_MANIFESTS) {
        if let Step::Run(page, heading) = step {
            run.insert((format!("{INSTALL}/{page}"), (*heading).to_owned()));
            selected(page, heading)?;
        }
    }
    for entry in std::fs::read_dir(root().join(INSTALL))? {
        let name = entry?.file_name();
        let page = format!("{INSTALL}/{}", name.to_string_lossy());
        for block in blocks(&page)? {
            let key = (page.clone(), block.heading.clone());
            ensure!(run.contains(&key), "{page}:{} is run by no test: \"{}\"", block.line, block.heading);
        }
    }
    Ok(())
}

#[test]
fn the_tour_has_the_sections_that_the_test_leaves_out() -> Result<()> {
    let blocks = blocks(TOUR)?;
    for section in OWN_CLUSTER {
        ensure!(blocks.iter().any(|block| block.heading == section), "{TOUR} has no section \"{section}\"");
    }
    ensure!(blocks.iter().filter(|block| !OWN_CLUSTER.contains(&block.heading.as_str())).count() >= 12);
    Ok(())
}
