//! What a real node is for: a real kubelet runs real containers, ends them with SIGTERM, and loses its power. One node, one
//! test: it fails where the machine cannot run a node, and the error lists what is missing.

#![cfg(test)]

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{EvictParams, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};
use testbed::fleet::labels;
use testbed::real_node::KUBELET_REAL;
use testbed::{Cluster, Fleet, Image, Options, RealNode, eventually_within, kwok};

const SOON: Duration = Duration::from_secs(40);
const NAMESPACE: &str = "default";

/// Prints its last words at SIGTERM, as a program does that saves its work.
const WORK: &str = "trap 'echo saved at SIGTERM; sleep 1; exit 0' TERM; echo working; while :; do sleep 0.1; done";

fn silent(_: testbed::ProgressEvent) {}

/// A cluster with one real node and one of KWOK's.
struct Machines {
    pods: Api<Pod>,
    nodes: Api<Node>,
    node: RealNode,
    // Dropped last: the node ends before its API server.
    cluster: Cluster,
}

impl Machines {
    async fn start() -> Result<Self> {
        let cluster = testbed::own(Options { nodes_max: 100, ..Options::default() }).await?;
        let client = cluster.client().await?;
        // The machine's list of processes is searched for this name in the end.
        let node = RealNode::start(&cluster, &format!("real-{}", std::process::id())).await?;
        let fleet = Fleet::new(1, 8, 7).named("simulated");
        fleet.create(&client, &silent).await?;
        fleet.wait_ready(&client, SOON, &silent).await?;
        node.wait_ready().await?;
        node.import_image("busybox", &unpacked(&cluster, &Image::busybox())?).await?;
        node.add_image(&Image::new("kubectl", &["/kubectl"]).program(&cluster.kubectl(), "kubectl")).await?;
        let pods = Api::namespaced(client.clone(), NAMESPACE);
        Ok(Self { pods, nodes: Api::all(client), node, cluster })
    }

    /// Creates a pod of one container on the real node.
    async fn create_pod(&self, name: &str, container: Value) -> Result<Pod> {
        let mut pod = json!({
            "metadata": { "name": name },
            "spec": {
                "nodeName": self.node.name(), "terminationGracePeriodSeconds": 20, "dnsPolicy": "Default",
                "restartPolicy": "OnFailure", "containers": [container],
            },
        });
        pod["spec"]["containers"][0]["name"] = json!("work");
        pod["spec"]["containers"][0]["imagePullPolicy"] = json!("Never");
        Ok(self.pods.create(&PostParams::default(), &serde_json::from_value(pod)?).await?)
    }

    async fn wait_for_log(&self, pod: &str, line: &str) -> Result<()> {
        let what = format!("{line:?} in the log of {pod}");
        let is_there = async || {
            let log = self.node.container_log(NAMESPACE, pod, "work")?;
            Ok::<_, anyhow::Error>(log.lines().any(|it| it == line))
        };
        eventually_within(SOON, &what, is_there).await
    }

    /// Waits until the API shows that the only container of a pod runs, and returns the id of the container.
    async fn wait_running(&self, pod: &str, other_than: Option<&str>) -> Result<String> {
        let running = async || {
            let status = self.pods.get(pod).await?.status.unwrap_or_default();
            let container = status.container_statuses.unwrap_or_default().into_iter().next();
            let container = container.filter(|it| it.state.as_ref().is_some_and(|state| state.running.is_some()));
            let id = container.and_then(|it| it.container_id);
            Ok::<_, anyhow::Error>(id.filter(|id| Some(id.as_str()) != other_than))
        };
        eventually_within(SOON, &format!("pod {pod} to run"), running).await
    }

    async fn allocatable_gpus(&self) -> Result<Option<String>> {
        let status = self.nodes.get(self.node.name()).await?.status.unwrap_or_default();
        Ok(status.allocatable.and_then(|all| all.get(labels::GPU_RESOURCE).map(|count| count.0.clone())))
    }

    async fn wait_for_gpus(&self, count: &str) -> Result<()> {
        let what = format!("{count} allocatable GPUs");
        eventually_within(SOON, &what, async || {
            Ok::<_, anyhow::Error>(self.allocatable_gpus().await?.as_deref() == Some(count))
        })
        .await
    }
}

#[tokio::test]
async fn a_real_kubelet_runs_ends_and_restarts_containers_and_its_node_survives_a_power_cut() {
    let mut machines = Machines::start().await.unwrap();
    let node = machines.nodes.get(machines.node.name()).await.unwrap();
    assert_eq!(node.labels()[kwok::KUBELET_LABEL], KUBELET_REAL);
    assert!(node.managed_fields().iter().all(|entry| entry.manager.as_deref() != Some("kwok")), "{node:?}");

    a_pod_reaches_the_api_server_with_its_token(&machines).await.unwrap();
    gpus_are_counted_assigned_and_checked(&machines).await.unwrap();
    an_evicted_program_gets_sigterm_and_its_last_words_are_in_the_log(&machines).await.unwrap();
    a_power_cut_leaves_the_objects_and_the_next_boot_restarts_the_containers(&mut machines).await.unwrap();
    let Machines { node, cluster, .. } = machines;
    nothing_stays_on_the_machine(node, &cluster);
}

async fn a_pod_reaches_the_api_server_with_its_token(machines: &Machines) -> Result<()> {
    // kubectl finds address, token and authority as every program in a pod does.
    let args = ["get", "--raw", "/version"];
    machines.create_pod("in-cluster", json!({ "image": "localhost/kubectl:1", "args": args })).await?;
    machines.wait_for_log("in-cluster", r#"  "gitVersion": "v1.37.1","#).await
}

async fn gpus_are_counted_assigned_and_checked(machines: &Machines) -> Result<()> {
    machines.node.offer_gpus(8).await?;
    machines.wait_for_gpus("8").await?;
    let script = "echo $NVIDIA_VISIBLE_DEVICES | tr , '\\n' | wc -l";
    let container = json!({
        "image": "localhost/busybox:1", "args": ["-c", script], "resources": { "limits": { labels::GPU_RESOURCE: "2" } },
    });
    machines.create_pod("two-gpus", container).await?;
    machines.wait_for_log("two-gpus", "2").await?;
    machines.node.set_sick_gpus(&["GPU-3"])?;
    machines.wait_for_gpus("7").await
}

async fn an_evicted_program_gets_sigterm_and_its_last_words_are_in_the_log(machines: &Machines) -> Result<()> {
    machines.create_pod("evicted", json!({ "image": "localhost/busybox:1", "args": ["-c", WORK] })).await?;
    machines.wait_running("evicted", None).await?;
    machines.wait_for_log("evicted", "working").await?;
    machines.pods.evict("evicted", &EvictParams::default()).await?;
    machines.wait_for_log("evicted", "saved at SIGTERM").await?;
    eventually_within(SOON, "the evicted pod to be gone", async || {
        Ok::<_, anyhow::Error>(machines.pods.get_opt("evicted").await?.is_none())
    })
    .await
}

async fn a_power_cut_leaves_the_objects_and_the_next_boot_restarts_the_containers(
    machines: &mut Machines,
) -> Result<()> {
    let pod = machines.create_pod("survivor", json!({ "image": "localhost/busybox:1", "args": ["-c", WORK] })).await?;
    let first_container = machines.wait_running("survivor", None).await?;
    let first_boot = machines.node.boot_id().to_owned();

    machines.node.power_cut().await?;
    assert!(machines.node.run(&["true"]).await.is_err(), "a command runs in a node without power");
    let after = machines.pods.get("survivor").await?;
    assert_eq!((after.uid(), after.metadata.deletion_timestamp.is_some()), (pod.uid(), false));
    let before_boot = machines.nodes.get(machines.node.name()).await?;
    assert_eq!(boot_id(&before_boot), Some(first_boot.clone()));
    let log = machines.node.container_log(NAMESPACE, "survivor", "work")?;
    assert!(!log.contains("SIGTERM"), "a power cut gave a program time for last words: {log}");

    machines.node.boot().await?;
    machines.node.wait_ready().await?;
    let after_boot = machines.nodes.get(machines.node.name()).await?;
    assert_eq!(after_boot.uid(), before_boot.uid());
    assert_ne!(boot_id(&after_boot), Some(first_boot));
    assert_eq!(boot_id(&after_boot).as_deref(), Some(machines.node.boot_id()));
    machines.wait_running("survivor", Some(&first_container)).await?;
    assert_eq!(machines.pods.get("survivor").await?.uid(), pod.uid());
    Ok(())
}

/// An image as a folder, as `cargo xtask images` writes it.
fn unpacked(cluster: &Cluster, image: &Image) -> Result<PathBuf> {
    let folder = cluster.dir().join("layout");
    std::fs::create_dir_all(&folder)?;
    let tar = cluster.dir().join("layout.tar");
    image.write_tar(&tar)?;
    tar::Archive::new(std::fs::File::open(tar)?).unpack(&folder)?;
    Ok(folder)
}

fn boot_id(node: &Node) -> Option<String> {
    Some(node.status.as_ref()?.node_info.as_ref()?.boot_id.clone())
}

fn nothing_stays_on_the_machine(node: RealNode, cluster: &Cluster) {
    let (name, dir) = (node.name().to_owned(), cluster.dir().to_string_lossy().into_owned());
    let groups = std::fs::read_to_string(cluster.dir().join("control-groups")).unwrap();
    let memory = Path::new("/sys/fs/cgroup/memory").join(groups.trim());
    assert!(memory.is_dir(), "no control group {groups} while the node runs");
    let kubelet = format!("--hostname-override {name}");
    assert_eq!(processes_with(&kubelet).len(), 1, "not one kubelet while the node runs");
    drop(node);
    assert!(!memory.exists(), "control group {groups} stayed");
    assert!(!cluster.dir().join("nodes").join(&name).exists(), "the node's folder stayed");
    assert!(!std::fs::read_to_string("/proc/mounts").unwrap().contains(&dir), "a mount stayed");
    assert_eq!(processes_with(&name), [""; 0]);
}

/// Command lines of this machine that contain a text.
fn processes_with(text: &str) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(text)).collect()
}
